"""Mesh files to arrays: supported formats, checks before reading, and limits of time and memory."""

from .contents import MeshContents, MeshPart
from .images import Image
from .reader import FORMATS, read_colored, read_parts, read_triangles

__all__ = ["FORMATS", "Image", "MeshContents", "MeshPart", "read_colored", "read_parts", "read_triangles"]
