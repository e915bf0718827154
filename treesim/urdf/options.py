"""Options of whatever reads a robot description."""

from __future__ import annotations

from ..errors import ArgumentError

ALLOWED = {"base": ("fixed", "floating"), "mimic": (None, "free")}


def check_options(**options: object) -> None:
    """Raise ArgumentError, naming the option and what it may be, unless each is one of those that `load` takes."""
    for name, value in options.items():
        if value not in ALLOWED[name]:
            raise ArgumentError(f"{name} must be {' or '.join(map(repr, ALLOWED[name]))}, got {value!r}")
