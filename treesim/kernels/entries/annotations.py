"""Types of an entry's arguments, which determine its compiled signature."""

from typing import Any

Integer = int
TableOfIntegers = Any  # read-only int64 array
TableOfReals = Any  # read-only float64 array
Reals = Any  # float64 array of the caller, contiguous
Integers = Any  # int64 array of the caller, contiguous
