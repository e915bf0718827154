"""Optional libraries of the file formats, imported on demand."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ..errors import ArgumentError
from ..system.installation import installed_by


def required(module: str, what: str) -> Any:
    """Import a module; raises ArgumentError with the install command if it is missing.

    what: the format that needs it, for the message.
    """
    try:
        return import_module(module)
    except ImportError:
        raise ArgumentError(f"{what} need {module.partition('.')[0]}: {installed_by('.[io]')}") from None
