"""Cache folder of the user, and the parts of a cache folder that several users share.

$TREESIM_CACHE_DIR, or else the folder `treesim` where the system keeps caches (`platformdirs`). The owner of
$TREESIM_CACHE_DIR writes to the folder itself, every other user to a folder below, named by the user's number.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

VARIABLE = "TREESIM_CACHE_DIR"
ROOT = 0  # the administrator's number


def cache_folder() -> Path | None:
    """Return the folder to which this user writes, which need not exist; None for a user without a home directory."""
    if shared := os.environ.get(VARIABLE):
        owner, user = _owner(shared), _user()
        return Path(shared) if owner in (user, None) else _part(shared, user)
    return _of_the_system()


def readable_folders() -> list[Path]:
    """Return the folders that this user reads: the own one, then those of root and of the owner, if that is root.

    Files there must be checked one by one: others may be able to write to these folders.
    """
    own, shared = cache_folder(), os.environ.get(VARIABLE)
    if own is None or not shared or _user() is None:
        return [] if own is None else [own]
    parts = [own, _part(shared, ROOT), *([Path(shared)] if _owner(shared) == ROOT else [])]
    return list(dict.fromkeys(parts))


def make_cache_folder() -> Path | None:
    """Return `cache_folder` after creating it; raises PermissionError if it is another user's.

    Whoever may write to a shared folder could have made it, with links to other places.
    """
    folder = cache_folder()
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        if folder.name == f"user-{_user()}" and folder.lstat().st_uid != _user():
            raise PermissionError(0, "another user owns it", str(folder))
    return folder


def _part(shared: str, user: int | None) -> Path:
    return Path(shared, f"user-{user}")


def _user() -> int | None:
    """Return the user's number, None on systems without."""
    return os.geteuid() if hasattr(os, "geteuid") else None


def _owner(folder: str) -> int | None:
    """Return the number of a folder's owner, None if there is no such folder or no owner."""
    try:
        return os.stat(folder).st_uid if _user() is not None else None
    except (OSError, ValueError):  # ValueError: an invalid path
        return None


def _of_the_system() -> Path | None:
    """Return the folder where the system keeps the user's cache; None if it is unknown.

    An empty $HOME counts as none: Python would take the root of the file system.
    """
    from platformdirs import user_cache_path

    try:
        folder = user_cache_path("treesim", appauthor=False)
    except RuntimeError:  # of newer versions of the library
        return None
    empty = os.environ.get("HOME") == "" and sys.platform != "win32"
    return folder if folder.is_absolute() and not empty else None
