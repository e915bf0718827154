"""Contents of the files that policies consist of."""

from __future__ import annotations

import os

from ..errors import ArgumentError, quoted, reason_of
from ..system.input_files import read_input


def contents(what: str, file: str | os.PathLike[str] | bytes, largest: int) -> tuple[bytes, str]:
    """Return the contents of a file, or bytes, with at most `largest` bytes, and its name for messages.

    Raises ArgumentError if that is not possible; what: kind of file in messages.
    """
    label = f"the {what}"
    if not isinstance(file, bytes):
        if not isinstance(file, (str, os.PathLike)):
            raise ArgumentError(f"{what} must be the name of a file, or bytes, got {type(file).__name__}")
        label = os.fspath(file)
        try:
            file = read_input(file, largest)
        except (OSError, ValueError) as error:
            raise ArgumentError(f"cannot read {quoted(label)}: {reason_of(error)}") from None
    if len(file) > largest:
        raise ArgumentError(f"cannot read {label}: it has {len(file):,} bytes, and {largest:,} at most")
    return file, label
