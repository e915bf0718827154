"""Export of trajectories as glTF files."""

from ..viewing.gltf import write_gltf

__all__ = ["write_gltf"]
