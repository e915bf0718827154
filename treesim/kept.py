"""Errors of a user's own functions in the middle of a run: raised as they are, with what was computed before."""

from __future__ import annotations

from contextlib import suppress
from typing import Any


def keep_with(error: BaseException, label: str, value: Any, what: str) -> None:
    """Attach `value` to an error as its attribute `label`, and say so under its traceback; what: a few words for it."""
    with suppress(Exception):  # an exception of a class that takes no further attributes
        setattr(error, label, value)
        error.add_note(f"treesim: {what} computed before this error: see the attribute {label!r} of the exception")
