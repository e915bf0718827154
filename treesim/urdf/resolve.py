"""Where things are: the document that a source names, and the mesh files that a document names."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

from ..errors import ArgumentError
from .findings import Findings
from .installed import data_roots, find_robot
from .read import Document, Source, document_of_file, document_of_stream, document_of_text


def open_source(source: Source, findings: Findings) -> Document:
    """Return the document that a source names.

    source: a path; XML text (a str that contains "<", or bytes); an open file; or the short name of an installed
    robot (see treesim.urdf.installed_robots). Raises UrdfError for an unreadable file, UnknownNameError with the
    candidates for an unknown or ambiguous name, ArgumentError for another type.
    """
    if isinstance(source, (bytes, bytearray)):
        return document_of_text(bytes(source))
    if isinstance(source, str) and "<" in source:
        return document_of_text(source)
    if isinstance(source, (str, os.PathLike)):
        path = _path_of(source)
        findings.file = str(path)
        return document_of_file(path, findings)
    if hasattr(source, "read"):
        return document_of_stream(source)
    raise ArgumentError(f"source must be a path, XML text, an open file or a robot's name, got {type(source).__name__}")


def _path_of(source: str | os.PathLike[str]) -> Path:
    path = Path(source).expanduser()
    looks_like_path = isinstance(source, os.PathLike) or path.suffix in (".urdf", ".xacro", ".xml")
    return path if looks_like_path or path.is_file() else find_robot(str(source))


class MeshResolver:
    """Finds the files behind `package://`, `file://`, absolute and relative mesh names of one document.

    path: the document's file; None for text, whose relative names are taken from the working directory.
    """

    def __init__(self, path: Path | None) -> None:
        self.directory = Path.cwd() if path is None else path.resolve().parent
        self.find = cache(self._find)

    def _find(self, name: str) -> tuple[str, bool]:
        """Return the file of a mesh name and whether it exists; a name that leads nowhere is returned as it is."""
        for candidate in self._candidates(name):
            if candidate.is_file():
                return str(candidate), True
        return name, False

    def _candidates(self, name: str) -> Iterator[Path]:
        scheme, _, rest = name.partition("://")
        if not rest:
            yield self.directory / name
        elif scheme == "file":
            yield Path(url2pathname(unquote(urlsplit(name).path)))
        elif scheme in ("package", "model"):
            package, _, inside = rest.partition("/")
            for root in self._package_roots():
                yield root / package / inside
                if root.name == package:
                    yield root / inside
            for root in (self.directory, *self.directory.parents):  # meshes kept beside a file without its package
                yield root / inside

    def _package_roots(self) -> Iterator[Path]:
        yield self.directory
        yield from self.directory.parents
        yield from _roots_of_environment()
        yield from data_roots()


def _roots_of_environment() -> Iterator[Path]:
    """Folders of packages that ROS and ROS 2 announce."""
    for entry in os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep):
        if entry:
            yield Path(entry)
    for entry in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep):
        if entry:
            yield Path(entry) / "share"
