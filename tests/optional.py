"""Optional distributions and installed commands that tests need."""

import os
import shutil
import sys
import sysconfig
from importlib import metadata
from pathlib import Path

import pytest

# skips that a strict run allows (TREESIM_TESTS_STRICT=1), by the beginning of their reason: where the test runs instead
ALLOWED_SKIPS = {
    "called from here, kernels are plain Python": "with -m nojit, where nothing is compiled",
    "root can read everything": "as a user without root, in the step of .ci/run",
    "root may write anywhere": "as a user without root, in the step of .ci/run",
    "only root": "as root, in the main step of .ci/run",
    "needs stable-baselines3": "in the nightly workflow: it brings PyTorch, of several GB",
    "could not import 'stable_baselines3'": "in the nightly workflow",
    "needs basedpyright": "by hand: it brings Node.js, of 280 MB",
    "needs torch": "in the nightly workflow: PyTorch takes several GB",
    "could not import 'torch'": "in the nightly workflow",
    "could not import 'lerobot": "by hand: it brings PyTorch, and pins old versions of other packages",
    "does not load": "nowhere: a robot of a package with an error, of which other tests tell",
    "has no collision shapes": "nowhere: a robot of a package that has nothing to collide with",
}


def is_allowed_skip(reason: str) -> bool:
    """Return whether a test may be skipped for a reason in a strict run."""
    return reason.removeprefix("Skipped: ").startswith(tuple(ALLOWED_SKIPS))


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
