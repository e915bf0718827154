"""Elementary functions of numbers of any type, for policies, measures and batch functions that treesim compiles."""

from .kernels.algebra.numbers import absolute, atan2, cos, exp, less, maximum, minimum, select, sin, sqrt, tanh

__all__ = ["absolute", "atan2", "cos", "exp", "less", "maximum", "minimum", "select", "sin", "sqrt", "tanh"]
__dir__ = __all__.copy
