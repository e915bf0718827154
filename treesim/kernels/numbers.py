"""Elementary functions on any number type.

A number type brings its own functions in an attribute `context`, as mpmath's numbers do; floats use `math`. The
generic engine puts math's functions in the place of these when it compiles.
"""

from __future__ import annotations

import math
from typing import Any


def _library(x: Any) -> Any:
    return getattr(x, "context", math)


def sin(x):
    """Sine."""
    return _library(x).sin(x)


def cos(x):
    """Cosine."""
    return _library(x).cos(x)


def sincos(x):
    """Sine and cosine."""
    return sin(x), cos(x)


def sqrt(x):
    """Square root."""
    return _library(x).sqrt(x)


def atan2(y, x):
    """Angle of the point (x, y)."""
    return _library(y).atan2(y, x)
