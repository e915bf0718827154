"""Optional distributions and installed commands that tests need."""

import os
import shutil
import sys
import sysconfig
from importlib import metadata
from pathlib import Path

import pytest


def is_installed(distribution: str) -> bool:
    """Return whether a distribution is installed, by the name that pip knows: not all can be imported."""
    try:
        metadata.distribution(distribution)
    except metadata.PackageNotFoundError:
        return False
    return True


def need(distribution: str) -> None:
    """Skip a test where a distribution is not installed."""
    if not is_installed(distribution):
        pytest.skip(f"needs {distribution}")


def script_folders() -> list[str]:
    """Return where pip puts commands: beside the interpreter, for all users, or for this user alone."""
    user = sysconfig.get_preferred_scheme("user")
    folders = str(Path(sys.executable).parent), sysconfig.get_path("scripts"), sysconfig.get_path("scripts", user)
    return list(dict.fromkeys(folders))


def script(name: str) -> str:
    """Return the path of an installed command; skip a test without it, as with packages on PYTHONPATH."""
    found = shutil.which(name, path=os.pathsep.join([*script_folders(), os.environ.get("PATH", "")]))
    if found is None:
        pytest.skip(f"needs the command {name}")
    return found
