"""Where things are: the document that a source names, and the mesh files that a document names."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache, cached_property
from pathlib import Path
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

from ..errors import ArgumentError, UnknownNameError
from .findings import Findings
from .installed import data_roots, find_robot
from .read import Document, Source, document_of_file, document_of_stream, document_of_text, label_of


def open_source(source: Source, findings: Findings) -> Document:
    """Return the document that a source names.

    source: a path; XML text (a str that contains "<", or bytes); an open file; or the short name of an installed
    robot (see treesim.urdf.installed_robots). Raises UrdfError for what cannot be read, UnknownNameError with the
    candidates for an unknown or ambiguous name, ArgumentError for another type and for an empty name.
    """
    if isinstance(source, (bytes, bytearray)):
        return document_of_text(bytes(source), findings)
    if isinstance(source, str) and "<" in source:
        return document_of_text(source, findings)
    if isinstance(source, (str, os.PathLike)):
        path = path_of(source)
        findings.file = label_of(path)
        return document_of_file(path, findings)
    if hasattr(source, "read"):
        return document_of_stream(source, findings)
    raise ArgumentError(f"source must be a path, XML text, an open file or a robot's name, got {type(source).__name__}")


def path_of(source: str | os.PathLike[str]) -> Path:
    """Return the file of a path or of a robot's name; what exists goes before a robot's name, except for folders.

    Raises ArgumentError for an empty name, UnknownNameError for one that no robot has."""
    name = os.fsdecode(source)
    if not name.strip():
        raise ArgumentError("source is empty: name a URDF file or an installed robot")
    path = Path(os.path.expanduser(name))
    if not is_robot_name(source):
        return path
    try:
        return find_robot(name)
    except UnknownNameError:
        if os.path.isdir(path):
            return path
        raise


def is_robot_name(source: object) -> bool:
    """Return whether a source is to be looked for among the names of installed robots: it is no XML text, does not
    look like a path, and no file has its name."""
    if not isinstance(source, str) or "<" in source:
        return False
    path = Path(os.path.expanduser(source))
    is_path = path.suffix in (".urdf", ".xacro", ".xml") or (os.path.exists(path) and not os.path.isdir(path))
    return not is_path


NEAR = 4  # folders: that of the document and those above it


class MeshResolver:
    """Finds the files behind `package://`, `file://`, absolute and relative mesh names of one document.

    path: the document's file; None for text, whose relative names are taken from the working directory. Where the file
    is a symbolic link, names are looked for beside the link, then beside the file that it leads to. A `package://` name
    leads nowhere outside its package, by `..` or otherwise; what a package itself links to belongs to it. Names that
    lead nowhere, or cannot be names of files at all, are found not to exist: nothing is raised.
    """

    def __init__(self, path: Path | None) -> None:
        files = () if path is None else (os.path.abspath(path), os.path.realpath(path))
        self.directories = tuple(dict.fromkeys(Path(file).parent for file in files)) or (_working_directory(),)
        self.find = cache(self._find)

    def _find(self, name: str) -> tuple[str, bool]:
        """Return the file of a mesh name and whether it exists; a name that leads nowhere is returned as it is."""
        for candidate in self._candidates(name):
            if os.path.isfile(candidate):  # False, where Path.is_file raises, for names that no file can have
                return str(Path(candidate)), True
        return name, False

    def _candidates(self, name: str) -> Iterator[str | Path]:
        """Where a name may lead, in order; joined as text, since making paths takes longer than looking."""
        scheme, _, rest = name.partition("://")
        if not rest:
            for directory in self.directories:
                yield os.path.join(directory, name)
        elif scheme == "file":
            yield from _path_of_url(name)
        elif scheme in ("package", "model"):
            package, _, inside = rest.lstrip("/").partition("/")
            inside = os.path.normpath(inside.lstrip("/"))  # doubled slashes are one
            if package in ("", ".", "..") or inside.split(os.sep)[0] in (".", ".."):
                return
            for root, folder in self._package_roots:
                yield os.path.join(root, package, inside)
                if folder == package:
                    yield os.path.join(root, inside)
            for root in self._near:  # meshes kept beside a file without its package
                yield os.path.join(root, inside)

    @cached_property
    def _above(self) -> list[str]:
        """The folders in which the document is, without the root of the disk, which is nobody's package."""
        return [str(root) for one in self.directories for root in (one, *one.parents) if root.parent != root]

    @property
    def _near(self) -> list[str]:
        """The folders of a package in which the document may be, at its usual depth."""
        return [str(root) for one in self.directories for root in (one, *one.parents)[:NEAR] if root.parent != root]

    @cached_property
    def _package_roots(self) -> list[tuple[str, str]]:
        """Folders that may hold packages, each with its own name."""
        roots = [*map(Path, self._above), *_roots_of_environment(), *data_roots()]
        return [(str(root), root.name) for root in roots]


def _working_directory() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:  # deleted since; no relative name leads anywhere then
        return Path()


def _path_of_url(url: str) -> Iterator[Path]:
    """The path in a file:// URL; none if it is malformed."""
    try:
        yield Path(url2pathname(unquote(urlsplit(url).path)))
    except ValueError:
        return


def _roots_of_environment() -> Iterator[Path]:
    """Folders of packages that ROS and ROS 2 announce."""
    for entry in os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep):
        if entry:
            yield Path(entry)
    for entry in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep):
        if entry:
            yield Path(entry) / "share"
