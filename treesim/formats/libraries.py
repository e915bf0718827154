"""Libraries that formats are written with, imported when they are called for."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ..errors import ArgumentError, installed_by


def required(module: str, what: str) -> Any:
    """Return a module; raises ArgumentError, saying that `what` needs it and how to install it, if it is missing."""
    try:
        return import_module(module)
    except ImportError:
        raise ArgumentError(f"{what} need {module.partition('.')[0]}: {installed_by('.[formats]')}") from None
