"""glTF files of trajectories."""

from ..viewing.gltf import write_gltf

__all__ = ["write_gltf"]
