"""Optional distributions that tests need."""

from importlib import metadata

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
