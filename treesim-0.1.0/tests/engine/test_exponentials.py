"""Elementary functions of the generic engine, from their sources, against exact digits."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from treesim.engine.call import generic
from treesim.engine.call.generic import runs_compiled
from treesim.engine.exponentials import LEAST, MOST, NEAR, exponential, hyperbolic_tangent
from treesim.engine.frontend.module import DECLARATIONS, FUNCTIONS
from treesim.engine.trigonometry import arctangent
from treesim.kernels.algebra.numbers import atan2, exp, tanh
from treesim.kernels.entries.annotations import Reals, TableOfReals
from treesim.kernels.entries.status import FINE

RNG = np.random.default_rng(3)
EXPONENTS = np.concatenate([RNG.uniform(LEAST, MOST, 200), RNG.normal(size=200), [0.0, -0.0, 1e-300, 709.7, -708.3]])
ANGLES = np.concatenate([RNG.normal(size=200), 10.0 ** RNG.uniform(-300, 2, 200), [NEAR, -NEAR, 0.0, 19.0, -1e300]])
FUNCTIONS_OF_ONE = {
    "exp": (EXPONENTS, exponential, mpmath.exp, 2),
    "tanh": (ANGLES, hyperbolic_tangent, mpmath.tanh, 3),
}


def every(x: TableOfReals, e: Reals, t: Reals, a: Reals) -> int:
    for k in range(x.size):
        e[k], t[k] = exp(x[k]), tanh(x[k])
        a[k] = atan2(x[k], x[x.size - 1 - k])
    return FINE


def compiled(x):
    results = [np.empty(len(x)) for _ in range(3)]
    assert generic.compiled(every)(np.array(x, float), *results) == FINE
    return dict(zip(("exp", "tanh", "atan2"), results, strict=True))


def units(found, x, exact):
    """Errors in units of the last place."""
    with mpmath.workdps(40):
        pairs = [(mpmath.mpf(float(a)), exact(mpmath.mpf(float(b)))) for a, b in zip(found, x, strict=True)]
        return max(float(abs(one - other) / float(np.spacing(float(abs(other))))) for one, other in pairs)


@pytest.mark.parametrize("name", FUNCTIONS_OF_ONE)
def test_sources_are_accurate(name):
    x, source, exact, most = FUNCTIONS_OF_ONE[name]
    assert units([source(value) for value in x.tolist()], x, exact) < most


@pytest.mark.skipif(not runs_compiled(), reason="kernels run as plain Python")
@pytest.mark.parametrize("name", FUNCTIONS_OF_ONE)
def test_compiled_sources_are_accurate(name):
    x, _, exact, most = FUNCTIONS_OF_ONE[name]
    assert units(compiled(x)[name], x, exact) < most


@pytest.mark.skipif(not runs_compiled(), reason="kernels run as plain Python")
def test_the_generic_engine_takes_no_function_of_the_c_library_but_for_large_angles():
    """What it declares is LLVM's; sine and cosine are called beyond the range of `trigonometry`."""
    declared = FUNCTIONS + DECLARATIONS
    assert all(line.partition("@")[2].startswith("llvm.") for line in declared.splitlines() if line)
    x = ANGLES.tolist()
    expected = [arctangent(y, x) for y, x in zip(x, x[::-1], strict=True)]
    np.testing.assert_array_equal(compiled(x)["atan2"], expected)


@pytest.mark.skipif(not runs_compiled(), reason="kernels run as plain Python")
def test_beyond_the_range():
    found = compiled([np.inf, -np.inf, np.nan, 1e5, -1e5, MOST, LEAST])
    np.testing.assert_array_equal(found["exp"], [np.inf, 0, np.nan, np.inf, 0, np.inf, 0])
    np.testing.assert_array_equal(found["tanh"], [1, -1, np.nan, 1, -1, 1, -1])
    assert math.isnan(found["atan2"][2])
