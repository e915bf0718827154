"""Mesh files to arrays: formats that are read, what is refused before reading, and limits of time and memory."""

from .reader import FORMATS, MeshPart, read_parts

__all__ = ["FORMATS", "MeshPart", "read_parts"]
