"""Table of the operations of kernels and traces, for engines and operation counts.

To add an operation, add its entry here, a function of its name to `kernels.algebra.numbers` and
`graph.trace.Functions`, its derivatives to `graph.derivatives.RULES`, and, if no instruction of LLVM does it, a
function to `llvm.elementary.HELPERS`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..kernels.algebra import numbers
from . import reproducible_math

Emit = Callable[..., Any]


class Primitive(NamedTuple):
    """Operation.

    python: function of numbers of any type. numpy: function of arrays. llvm: appends it to a function on lanes
    (`llvm.builder`) and returns its value. cost: the kind that it is counted as, "" for none. scalar: LLVM's
    function of doubles for the generic engine, which LLVM vectorizes. It is "" for operators and choices, which
    that engine also generates for integers and folds for constants, and for functions that it compiles from their
    source (`frontend.calls`).
    """

    name: str
    arity: int
    python: Callable[..., Any]
    numpy: Callable[..., Any]
    llvm: Emit
    cost: str
    commutes: bool = False
    scalar: str = ""


def _instruction(word: str) -> Emit:
    return lambda code, x, y: code.arithmetic(word, x, y)


def _intrinsic(word: str) -> Emit:
    return lambda code, *values: code.intrinsic(word, *values)


def _helper(word: str) -> Emit:
    return lambda code, *values: code.helper(word, *values)


def _one_of_a_pair(index: int) -> Emit:
    """Return the generator of sine or cosine; both are computed at once, and one is selected."""
    return lambda code, x: code.helper_pair("sine_and_cosine", x)[index]


def _less(code: Any, x: Any, y: Any) -> Any:
    return code.cast("uitofp", code.fcmp("olt", x, y), code.vector)


def _select(code: Any, condition: Any, x: Any, y: Any) -> Any:
    return code.select(code.fcmp("une", condition, 0.0), x, y)


def _fma(a: Any, b: Any, c: Any) -> Any:
    return a * b + c


def _fms(a: Any, b: Any, c: Any) -> Any:
    return a * b - c


def _fnma(a: Any, b: Any, c: Any) -> Any:
    return c - a * b


def _no_operation(*_: Any) -> Any:
    raise NotImplementedError


def _leaf(name: str) -> Primitive:
    """Return a primitive without operation: an input, a constant, or an entry of a table."""
    return Primitive(name, 0, _no_operation, _no_operation, _no_operation, "")


PRIMITIVES = (
    _leaf("input"),
    _leaf("constant"),
    _leaf("table"),
    Primitive("add", 2, operator.add, operator.add, _instruction("fadd"), "add", True),
    Primitive("sub", 2, operator.sub, operator.sub, _instruction("fsub"), "add"),
    Primitive("mul", 2, operator.mul, operator.mul, _instruction("fmul"), "mul", True),
    Primitive("div", 2, operator.truediv, operator.truediv, _instruction("fdiv"), "div"),
    Primitive("neg", 1, operator.neg, operator.neg, lambda code, x: code.fneg(x), ""),
    Primitive("sqrt", 1, numbers.sqrt, np.sqrt, _intrinsic("sqrt"), "sqrt", scalar="llvm.sqrt.f64"),
    Primitive("sin", 1, numbers.sin, reproducible_math.sine, _one_of_a_pair(0), "trig", scalar="llvm.sin.f64"),
    Primitive("cos", 1, numbers.cos, reproducible_math.cosine, _one_of_a_pair(1), "trig", scalar="llvm.cos.f64"),
    Primitive("max", 2, numbers.maximum, np.maximum, lambda code, x, y: code.maximum(x, y), "compare"),
    Primitive("min", 2, numbers.minimum, np.minimum, lambda code, x, y: code.minimum(x, y), "compare"),
    Primitive("less", 2, numbers.less, lambda a, b: (a < b) * 1.0, _less, "compare"),
    Primitive("exp", 1, numbers.exp, reproducible_math.exponential, _helper("exponential"), "exp"),
    Primitive("select", 3, numbers.select, np.where, _select, "compare"),
    Primitive("atan2", 2, numbers.atan2, reproducible_math.angle, _helper("arctangent"), "trig"),
    # fused product and sum of graph.fusion: one rounding (two in Python and NumPy); counted before fusion
    Primitive("fma", 3, _fma, _fma, lambda code, a, b, c: code.multiply_add(a, b, c), ""),
    Primitive("fms", 3, _fms, _fms, lambda code, a, b, c: code.multiply_add(a, b, code.fneg(c)), ""),
    Primitive("fnma", 3, _fnma, _fnma, lambda code, a, b, c: code.multiply_add(code.fneg(a), b, c), ""),
)
INPUT, CONSTANT, TABLE, *OPERATIONS = range(len(PRIMITIVES))
ADD, SUB, MUL, DIV, NEG, SQRT, SIN, COS, MAX, MIN, LESS, EXP, SELECT, ATAN2, FMA, FMS, FNMA = OPERATIONS
ARITY = [primitive.arity for primitive in PRIMITIVES]
COMMUTES = [primitive.commutes for primitive in PRIMITIVES]
