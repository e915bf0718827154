"""Archives of arrays, and limits on the unpacked size of a file, checked before memory is allocated."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO

import numpy as np

from .input_files import open_input, size_of_stream
from .memory import check_memory

ALWAYS = 1 << 27  # bytes that any file may unpack to
STORED, COMPRESSED = (
    4,
    1000,
)  # times a file's size: of formats that are written plain, and of numbers that hardly change


def check_unpacked(needed: int, size: int, times: int) -> None:
    """Raise ValueError if a file of `size` bytes would unpack to more than `times` its size.

    needed: unpacked size in bytes.
    """
    if needed > max(ALWAYS, times * size):
        raise ValueError(
            f"its {size:,} bytes announce {needed:,} bytes of numbers, more than treesim writes into as many"
        )


@contextmanager
def open_arrays(source: str | os.PathLike[str] | BytesIO, largest: int) -> Iterator[np.lib.npyio.NpzFile]:
    """Context with an archive of arrays that NumPy wrote, of at most `largest` bytes; nothing in it is executed.

    Raises OSError if there is no such file, and errors in `files.DAMAGED` for another file or a hostile one.
    """
    with source if isinstance(source, BytesIO) else open_input(source, largest) as stream:
        loaded = np.load(stream, allow_pickle=False)
        if not isinstance(loaded, np.lib.npyio.NpzFile):
            raise ValueError("it is no archive")
        with loaded as archive:
            members = archive.zip.infolist()  # type: ignore[union-attr]
            if any(member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for member in members):
                raise ValueError("it is packed by a method that NumPy does not write")
            needed = sum(member.file_size for member in members)
            check_unpacked(needed, size_of_stream(stream), STORED)
            check_memory(needed, "its arrays", "read it on a machine with more memory")
            yield archive
