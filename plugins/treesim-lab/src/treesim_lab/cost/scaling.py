"""Growth of costs with the number of bodies: families of trees, orders as exponents, and fits to measured times."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from treesim.model import generators
from treesim.model.tree import Tree


class Family(NamedTuple):
    """Trees of one shape: `make(N)` has about N bodies; depth grows as N^depth_exponent (0: as log N)."""

    name: str
    make: Callable[[int], Tree]
    depth_exponent: float


FAMILIES = (
    Family("chain", generators.chain, 1.0),
    Family("binary tree", lambda n: generators.balanced_binary_tree(max(1, round(np.log2(n + 1)))), 0.0),
    Family("side branches", lambda n: generators.chain_with_side_branches(max(1, n // 2)), 1.0),
    Family("square grid", lambda n: generators.square_grid(max(1, round(n**0.5))), 0.5),
)
SIZES = (10, 30, 100, 300, 1000, 3000, 10000)
UPPER = 10  # an exponent is fitted to sizes within this factor of the largest


def expected_exponent(order: str, family: Family) -> float | None:
    """Return the exponent of N for an order such as "O(n d^2)" in a family, logarithms as 0.

    The largest term of a sum counts. None if the order has other variables than n, N, and d, or is that of one
    iteration.
    """
    inside = re.search(r"O\((.*?)\)", order)
    if inside is None or "iteration" in order:
        return None
    exponents = [_term_exponent(term, family) for term in inside.group(1).split("+")]
    known = [exponent for exponent in exponents if exponent is not None]
    return max(known) if len(known) == len(exponents) else None


def _term_exponent(term: str, family: Family) -> float | None:
    total = 0.0
    for factor in re.sub(r"log\s*\w+", "", term).split():
        found = re.fullmatch(r"([nNd])(?:\^(\d+))?", factor)
        if found is None:
            return None
        total += float(found[2] or 1) * (family.depth_exponent if found[1] == "d" else 1.0)
    return total


def fitted_exponent(sizes: Sequence[int], seconds: Sequence[float]) -> float | None:
    """Return p of seconds ~ N^p by least squares in logarithms over the upper part of the sizes.

    None for fewer than two sizes there.
    """
    upper = [k for k, n in enumerate(sizes) if n * UPPER >= max(sizes)]
    if len(upper) < 2:
        return None
    x, y = np.log([sizes[k] for k in upper]), np.log([seconds[k] for k in upper])
    return float(np.polyfit(x, y, 1)[0])


def next_seconds(sizes: Sequence[int], seconds: Sequence[float], size: int) -> float:
    """Return the time expected at `size`, from the growth between the last two sizes; cubic after one size."""
    if len(sizes) < 2:
        return seconds[-1] * (size / sizes[-1]) ** 3
    slope = np.log(seconds[-1] / seconds[-2]) / np.log(sizes[-1] / sizes[-2])
    return float(seconds[-1] * (size / sizes[-1]) ** max(1.0, slope + 0.5))
