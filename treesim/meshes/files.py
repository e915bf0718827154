"""Files that a mesh file names: materials, buffers and images."""

from __future__ import annotations

import os
from collections.abc import Iterator
from urllib.parse import unquote

from ..errors import quoted
from ..system.input_files import read_input

PACKAGE_FILES = ("package.xml", "model.config")  # of ROS and of Gazebo
PACKAGE_DEPTH = 5  # folders: that of the mesh file and those above it
LARGEST = 1 << 28  # bytes
IMAGE_SUFFIXES = (
    ".png", ".jpg", ".jpeg", ".tga", ".tif", ".tiff", ".bmp", ".gif", ".webp", ".dds", ".exr", ".hdr", ".ktx", ".ktx2",
    ".psd", ".svg", ".avif",
)  # fmt: skip
NOT_FOUND = b"no image: "


class Files:
    """Resolver for trimesh that reads files named by a mesh file, from its folder and its package only.

    The package is the nearest folder at or above the mesh file that has a package.xml or model.config. If the
    mesh file is a symbolic link, folder and package of its target are included. Links that lead outside are not
    followed, and nothing is read from the network.
    """

    def __init__(self, file: str) -> None:
        self.file_name = os.path.basename(file)
        self.last = ("", b"")  # name and bytes of the file that was read last
        paths = dict.fromkeys((os.path.abspath(file), os.path.realpath(file)))
        self._folders = [os.path.dirname(path) for path in paths]
        self._roots = [os.path.realpath(_package(folder)) for folder in self._folders]

    def __getitem__(self, name: str) -> bytes:
        return self.get(name)

    def get(self, name: str) -> bytes:
        """Return the bytes of a file; raises OSError or ValueError if it cannot be read.

        For an unreadable image returns NOT_FOUND and the reason, since trimesh ignores errors silently.
        """
        try:
            data = self._read(name)
        except (OSError, ValueError) as error:
            if not name.lower().rstrip().endswith(IMAGE_SUFFIXES):
                raise
            data = NOT_FOUND + (getattr(error, "strerror", None) or str(error)).encode(errors="replace")
        self.last = (name, data)
        return data

    def _read(self, name: str) -> bytes:
        outside = False
        for path in self._candidates(name):
            if not self._is_inside(path):
                outside = True
                continue
            if os.path.isfile(path):  # pipes and devices are no files
                return read_input(path, LARGEST)
        if outside:
            raise ValueError(f"{quoted(name)} escapes the folder and package of the mesh; put it next to the mesh file")
        raise FileNotFoundError("it is not found; put it next to the mesh file")

    def _is_inside(self, path: str) -> bool:
        real = os.path.realpath(path)
        return any(os.path.commonpath([real, root]) == root for root in self._roots)

    def _candidates(self, name: str) -> Iterator[str]:
        """Yield the possible files of a name, in order: as written, its last part next to the mesh file, URL-decoded.

        The last part serves absolute paths of another computer.
        """
        name = name.strip()
        if name.startswith("-"):  # options of an .mtl file
            name = name.split()[-1]
        for text in dict.fromkeys((name, unquote(name))):
            path = text.replace("\\", "/")
            if "\0" in path:
                continue
            for folder in self._folders:
                if not path.startswith("/") and ":" not in path:
                    yield os.path.join(folder, path)
                yield os.path.join(folder, path.rpartition("/")[2])


def _package(folder: str) -> str:
    """Return the package's folder at or above a folder; the folder itself if there is none."""
    above = [folder]
    while len(above) < PACKAGE_DEPTH and os.path.dirname(above[-1]) != above[-1]:
        above.append(os.path.dirname(above[-1]))
    marked = (one for one in above if any(os.path.isfile(os.path.join(one, name)) for name in PACKAGE_FILES))
    return next(marked, folder)
