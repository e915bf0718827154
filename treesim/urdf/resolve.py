"""Locate the file that a source names, and the mesh files that a document names."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache, cached_property
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit
from urllib.request import url2pathname

from ..errors import ArgumentError, UnknownNameError, plain_text, quoted
from .findings import Findings
from .installed import data_roots, find_robot
from .read import Source, SourceBytes, bytes_of_file, bytes_of_stream, bytes_of_text, label_of

URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
PACKAGE_SCHEMES = ("package", "model")


def open_source(source: Source, findings: Findings) -> SourceBytes:
    """Return the bytes of the document that a source names, which becomes the file of the findings.

    source: a path; a `file://` or `package://` URL; XML text (a str that contains "<", or bytes); an open file;
    or the short name of an installed robot (see treesim.urdf.installed_robots). Raises UrdfError if it cannot
    be read, UnknownNameError with candidates for an unknown or ambiguous name, ArgumentError for another type
    and for an empty name.
    """
    if isinstance(source, (bytes, bytearray)):
        return bytes_of_text(bytes(source), findings)
    if isinstance(source, str) and "<" in source:
        return bytes_of_text(source, findings)
    if isinstance(source, (str, os.PathLike)):
        path = _file_of_url(cast(str, source), findings) if is_url(source) else path_of(source)
        findings.file = label_of(path)
        return bytes_of_file(path, findings)
    if hasattr(source, "read"):
        return bytes_of_stream(source, findings)
    raise ArgumentError(f"source must be a path, XML text, an open file or a robot's name, got {type(source).__name__}")


def path_of(source: str | os.PathLike[str]) -> Path:
    """Return the file of a path or of a robot's name; existing files take precedence over robot names.

    Raises ArgumentError for an empty name, UnknownNameError for an unknown robot.
    """
    name = os.fsdecode(plain_text(source))
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
    """Return whether a source may be the name of an installed robot: not XML, not like a path, not an existing file."""
    if not isinstance(source, str) or "<" in source or is_url(source):
        return False
    path = Path(os.path.expanduser(source))
    is_path = path.suffix in (".urdf", ".xacro", ".xml") or (os.path.exists(path) and not os.path.isdir(path))
    return not is_path


def is_url(source: object) -> bool:
    """Return whether a source is text that begins like a URL."""
    return isinstance(source, str) and URL.match(source) is not None


def _file_of_url(url: str, findings: Findings) -> Path:
    """Return the file that a URL names; raises UrdfError, with the searched places, if there is none."""
    findings.file = label_of(url)
    scheme, _, rest = url.partition("://")
    if scheme == "file":
        return _file_here(url, findings)
    if scheme in PACKAGE_SCHEMES:
        return _file_of_package(rest, findings)
    message = f"cannot read the robot: nothing is read from {scheme}://"
    raise findings.fail("U100", message, hint="save it, and name the file")


def _file_here(url: str, findings: Findings) -> Path:
    paths = list(_path_of_url(url))
    if paths:
        return next(filter(os.path.isfile, paths), paths[0])
    message = "cannot read the robot: this names no file of this computer"
    raise findings.fail("U100", message, hint="a file's URL has three slashes: file:///folder/robot.urdf")


def _file_of_package(rest: str, findings: Findings) -> Path:
    package, inside = _package_and_file(rest)
    if not inside:
        message = "cannot read the robot: this names no file in a package"
        raise findings.fail("U100", message, hint="write package://PACKAGE/FOLDER/ROBOT.urdf")
    resolver = MeshResolver(None)
    for candidate in resolver.in_packages(package, inside):
        if os.path.isfile(candidate):
            return Path(candidate)
    roots = dict.fromkeys(label_of(root) for root, _ in resolver.package_roots)
    message = f"cannot read the robot: package {quoted(package)} with this file is in none of {', '.join(roots)}"
    raise findings.fail("U100", message, hint="set ROS_PACKAGE_PATH to the folder in which the package is")


LARGEST_MESHES = 1 << 32  # bytes of all files of meshes and textures of a robot


def check_meshes(files: Iterable[str | None], findings: Findings) -> None:
    """Raise UrdfError if the files of a robot's meshes and textures are too large together; equal files count once.

    Files that are missing or not regular are not read, and do not count.
    """
    sizes: dict[tuple[int, int], int] = {}
    for file in filter(None, dict.fromkeys(files)):
        try:
            found = os.stat(file)
        except (OSError, ValueError):
            continue
        if stat.S_ISREG(found.st_mode):
            sizes[found.st_dev, found.st_ino] = found.st_size
    total = sum(sizes.values())
    if total > LARGEST_MESHES:
        raise findings.fail(
            "U100",
            f"cannot read the robot: its {len(sizes)} files of meshes and textures have {total:,} bytes together, and "
            f"{LARGEST_MESHES:,} are read at most",
        )


NEAR = 4  # folders: that of the document and those above it


class MeshResolver:
    """Locates mesh files by `package://`, `file://`, absolute and relative names of one document.

    path: the document's file; None for text, whose relative names start at the working directory. If the file
    is a symbolic link, names are searched next to the link, then next to its target. A `package://` name cannot
    leave its package by `..`; links inside a package are followed. Invalid names count as missing files;
    nothing is raised.
    """

    def __init__(self, path: Path | None) -> None:
        files = () if path is None else (os.path.abspath(path), os.path.realpath(path))
        self.directories = tuple(dict.fromkeys(Path(file).parent for file in files)) or (_working_directory(),)
        self.find, self.folders_of = cache(self._find), cache(self._folders_of)

    def _find(self, name: str) -> tuple[str, bool]:
        """Return the file of a mesh name and whether it exists; an unresolved name is returned unchanged."""
        for candidate in self._candidates(name):
            if os.path.isfile(candidate):  # False, where Path.is_file raises, for names that no file can have
                return candidate, True
        return name, False

    def _candidates(self, name: str) -> Iterator[str]:
        """Yield the possible files of a name, in order."""
        scheme, _, rest = name.partition("://")
        if not rest:
            for directory in self.directories:
                yield str(directory / name)
        elif scheme == "file":
            yield from map(str, _path_of_url(name))
        elif scheme in PACKAGE_SCHEMES:
            package, inside = _package_and_file(rest)
            if inside:
                yield from self.in_packages(package, inside)
                for one in self.directories:  # meshes next to a file without its package
                    yield from (os.path.join(root, inside) for root in _above(one)[:NEAR])

    def in_packages(self, package: str, inside: str) -> Iterator[str]:
        """Yield the possible locations of a package's file, in order."""
        for folder in self.folders_of(package):
            yield os.path.join(folder, inside)

    def _folders_of(self, package: str) -> list[str]:
        """Return the existing folders of a package, in order."""
        folders = []
        for root, name in self.package_roots:
            folders += [os.path.join(root, package), *([root] if name == package else ())]
        return [*filter(os.path.isdir, folders)]

    @cached_property
    def package_roots(self) -> list[tuple[str, str]]:
        """Folders that may contain packages, each with its own name."""
        above = [(root, root.rpartition(os.sep)[2]) for one in self.directories for root in _above(one)]
        others = [*_roots_of_environment(), *data_roots()]
        return above + [("" if root == Path() else str(root), root.name) for root in others]


def _above(folder: Path) -> list[str]:
    """Return a folder and those that contain it, the nearest first, without the root of the file system."""
    parts = str(folder).split(os.sep)
    return [os.sep.join(parts[:k]) for k in range(len(parts), 1, -1)]


def _working_directory() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:  # the folder was deleted: no relative name exists
        return Path()


def _package_and_file(rest: str) -> tuple[str, str]:
    """Split the part after `package://`; the file is empty if it would be outside of its package."""
    package, _, inside = rest.lstrip("/").partition("/")
    inside = os.path.normpath(inside.lstrip("/"))  # doubled slashes are one
    outside = package in ("", ".", "..") or inside.split(os.sep)[0] in (".", "..")
    return package, "" if outside else inside


def _path_of_url(url: str) -> Iterator[Path]:
    """Yield the possible paths of a file:// URL: decoded, as defined, and verbatim, as many programs write it.

    Yields none if the URL is malformed or names another host.
    """
    host, slash, raw = url.removeprefix("file://").partition("/")
    if host in ("", "localhost") and slash:
        with suppress(ValueError):
            yield Path(url2pathname(urlsplit(url).path))
        yield Path(slash + raw)


def _roots_of_environment() -> Iterator[Path]:
    """Yield the package folders in the environment variables of ROS and ROS 2."""
    for variable, inside in (("ROS_PACKAGE_PATH", ""), ("AMENT_PREFIX_PATH", "share")):
        for entry in filter(None, os.environ.get(variable, "").split(os.pathsep)):
            yield Path(entry, inside)
