"""Images of meshes: opened within limits, scaled, and re-encoded."""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from ..system.input_files import read_input
from .files import LARGEST, NOT_FOUND, Files

PNG, JPEG, POINTER = b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"version https://git-lfs"
MOST_PIXELS = 1 << 26  # of an image that is decoded, 8192 x 8192
LARGEST_SIDE = 2048  # pixels, to which larger images are scaled down
LARGEST_PNG = 1 << 20  # bytes: longer ones become JPEG
QUALITY = 90  # of JPEG
MOST_IMAGES = 64  # of one mesh file
DAMAGED = "it is damaged; save it anew as PNG or JPEG"
NO_CHILD = "images are decoded by a child process, and this program cannot start Python"


class Image(NamedTuple):
    """Image: its name in the mesh file, "image/png" or "image/jpeg", and the bytes of such a file."""

    name: str
    kind: str
    data: bytes


class Source(NamedTuple):
    """Origin of an opened image: its name, the digest of its bytes, and why it cannot be drawn, "" if it can."""

    name: str
    digest: bytes
    fault: str


class UnusableError(ValueError):
    """Raised if an image cannot be drawn; the message gives the reason."""


class Images:
    """Images of one mesh file.

    decode: decode images, which only a child process may do. faults: ordered set of messages, one for each
    image that a part uses and that is not drawn.
    """

    def __init__(self, files: Files, decode: bool) -> None:
        self.faults: dict[str, None] = {}
        self._files, self._decode = files, decode
        self._embedded = 0
        self._coded: dict[bytes, Image | None] = {}  # by the digest of the bytes from which each was decoded

    @contextmanager
    def opening(self) -> Iterator[None]:
        """Context in which trimesh opens images by `_open`; by itself it accepts all formats and ignores errors."""
        if not self._decode:
            yield
            return
        import PIL.Image

        pillow: Any = PIL.Image
        original, pillow.open = pillow.open, lambda stream: self._open(stream.read())
        try:
            yield
        finally:
            pillow.open = original

    def _open(self, data: bytes) -> Any:
        """Return an image with only its header read, or a one-pixel image in place of an unusable one."""
        from PIL import Image as pillow

        name, read = self._files.last
        if read != data:
            self._embedded += 1
            name = f"{self._embedded} of the file"
        try:
            image, fault = opened(data), ""
        except UnusableError as error:
            image, fault = pillow.new("RGB", (1, 1)), str(error)
        image.source = Source(name, hashlib.sha256(data).digest(), fault)
        return image

    def in_file(self, path: str) -> Image | None:
        """Return the image in a file; None, with a message in `faults`, if it cannot be drawn."""
        name = os.path.basename(path)
        if not self._decode:
            return self.without(name, NO_CHILD)
        try:
            if not os.path.isfile(path):  # pipes and devices are no files
                raise UnusableError("it is not found")
            data = read_input(path, LARGEST)
            image = opened(data)
        except (OSError, UnusableError) as error:
            return self.without(name, getattr(error, "strerror", None) or str(error))
        image.source = Source(name, hashlib.sha256(data).digest(), "")
        return self.coded(image)

    def coded(self, image: Any, obstacle: str = "") -> Image | None:
        """Return an opened image re-encoded; None, with a message in `faults`, if it cannot be drawn.

        obstacle: reason why the mesh cannot show it.
        """
        name, digest, fault = getattr(image, "source", None) or Source("", b"", NO_CHILD)
        if fault or obstacle:
            return self.without(name, fault or obstacle)
        if digest not in self._coded:
            if len(self._coded) == MOST_IMAGES:
                return self.without(name, f"{MOST_IMAGES} images of a mesh file are drawn at most")
            self._coded[digest] = None
            if _moves(name):
                self.faults[f"image {name.split()[-1]!r} is drawn without its options {name!r}: give it none"] = None
            try:
                self._coded[digest] = Image(name, *coded(image))
            except MemoryError:
                raise
            except Exception:  # of a decoder, for damaged data
                return self.without(name, DAMAGED)
        return self._coded[digest]

    def without(self, name: str, fault: str) -> Image | None:
        """Add a message on an image that is not drawn, and return None in its place."""
        self.faults[f"image {name!r} is not drawn: {fault}"] = None
        return None


def opened(data: bytes) -> Any:
    """Return an image of PIL with only its header read; raises UnusableError if it is unusable.

    Unusable are images other than PNG or JPEG, and damaged or too large ones.
    """
    from PIL.JpegImagePlugin import JpegImageFile
    from PIL.PngImagePlugin import PngImageFile

    if data.startswith(NOT_FOUND):
        raise UnusableError(data.removeprefix(NOT_FOUND).decode(errors="replace"))
    if data.startswith(POINTER):
        raise UnusableError("it is a pointer of Git LFS; run `git lfs pull`")
    if not data.startswith((PNG, JPEG)):
        raise UnusableError("it is neither PNG nor JPEG; convert it to one of these")
    try:
        image = (PngImageFile if data.startswith(PNG) else JpegImageFile)(io.BytesIO(data))
    except Exception:  # of a decoder, for damaged data
        raise UnusableError(DAMAGED) from None
    if image.width * image.height > MOST_PIXELS:
        size = f"{image.width:,} x {image.height:,}"
        raise UnusableError(f"it has {size} pixels, and {MOST_PIXELS:,} are read at most; scale it down")
    return image


def coded(image: Any) -> tuple[str, bytes]:
    """Return kind and bytes of an image as RGB, at most `LARGEST_SIDE` pixels wide and high.

    Opacity, profiles, locations and other data are removed. Raises any exception of a decoder.
    """
    lossy = image.format == "JPEG"
    image.draft("RGB", (LARGEST_SIDE, LARGEST_SIDE))  # JPEG alone is decoded smaller
    if image.mode.startswith("I"):  # 16 bits of grey
        from PIL import Image as pillow

        image = pillow.fromarray((np.asarray(image) >> 8).astype(np.uint8))
    image = image.convert("RGB")
    image.thumbnail((LARGEST_SIDE, LARGEST_SIDE))
    data = b"" if lossy else _saved(image, "PNG")
    if lossy or len(data) > LARGEST_PNG:
        return "image/jpeg", _saved(image, "JPEG", quality=QUALITY)
    return "image/png", data


def _moves(name: str) -> bool:
    """Return whether a name in an .mtl file begins with options that shift or scale the image."""
    words, neutral = name.split(), {"-s": 1.0, "-o": 0.0}
    option = ""
    for word in words[:-1] if name.startswith("-") else ():
        try:
            moved = float(word) != neutral.get(option, float(word))
        except ValueError:
            option, moved = word, False
        if moved:
            return True
    return False


def _saved(image: Any, kind: str, **options: Any) -> bytes:
    stream = io.BytesIO()
    image.info.clear()
    image.save(stream, kind, **options)
    return stream.getvalue()
