"""`treesim cache`: the folder of compiled code and convex parts, its size, and how to empty it."""

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
    """Print the folder and the size of the cache of compiled code and convex parts. With --clear, empty it first.

    Options
    -------
    --clear
        Delete the compiled code of all versions of treesim, and the files of the convex parts of meshes.
    """
    if clear:
        for path in _folders():
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
    for path in (path for folder in _folders() for path in folder.rglob("*")):
        with suppress(FileNotFoundError):  # another process replaced or removed it meanwhile
            if path.is_file():
                sizes.append(path.stat().st_size)
    root = _root()
    return {"folder": root and str(root), "files": len(sizes), "bytes": sum(sizes)}


def _root() -> Path | None:
    from ..engine.llvm.object_cache import cache_directory

    directory = cache_directory()
    return None if directory is None else directory.parent


def _folders() -> list[Path]:
    """Return the folders in the cache: of convex parts, and of each version, named by a hash of its sources."""
    from ..model.convex_parts import FOLDER

    root = _root()
    if root is None or not root.is_dir():
        return []
    return [path for path in sorted(root.iterdir()) if path.is_dir() and (path.name == FOLDER or _is_hash(path.name))]


def _is_hash(name: str) -> bool:
    return len(name) == 16 and all(letter in "0123456789abcdef" for letter in name)
