"""`treesim cache`: the folder of compiled code, its size, and how to empty it."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..errors import ArgumentError, reason_of
from .common import JsonOption, examples, guarded, output, print_json


@guarded
@examples(
    "treesim cache",
    "treesim cache --clear",
)
def cache(
    clear: bool = False,
    json: JsonOption = False,
) -> None:
    """Print the folder and the size of the cache of compiled code. With --clear, empty the cache first.

    Options
    -------
    --clear
        Delete the compiled code of all versions of treesim.
    """
    if clear:
        for path in _versions():
            try:
                shutil.rmtree(path)
            except OSError as error:
                raise ArgumentError(f"cannot delete {path}: {reason_of(error)}") from error
    found = usage()
    if json:
        print_json(found)
        return
    size = f"{found['bytes'] / 2**20:.1f} MiB in {found['files']} files"
    output().print(
        f"{found['folder']}: {size}" if found["folder"] else "there is no cache: no home directory", soft_wrap=True
    )


def usage() -> dict[str, Any]:
    """Return the cache's folder, and number and bytes of its files, of all versions of treesim."""
    sizes = []
    for path in (path for version in _versions() for path in version.rglob("*")):
        with suppress(FileNotFoundError):  # another process replaced or removed it meanwhile
            if path.is_file():
                sizes.append(path.stat().st_size)
    root = _root()
    return {"folder": root and str(root), "files": len(sizes), "bytes": sum(sizes)}


def _root() -> Path | None:
    from ..engine.llvm.object_cache import cache_directory

    directory = cache_directory()
    return None if directory is None else directory.parent


def _versions() -> list[Path]:
    """Return the folders of compiled code in the cache: one for each version, named by a hash of its sources."""
    root = _root()
    if root is None or not root.is_dir():
        return []
    return [path for path in sorted(root.iterdir()) if path.is_dir() and len(path.name) == 16 and _is_hash(path.name)]


def _is_hash(name: str) -> bool:
    return all(letter in "0123456789abcdef" for letter in name)
