"""Reading of mesh files as triangles with colours."""

from ..viewing.meshes import read_mesh

__all__ = ["read_mesh"]
