"""The implicit midpoint rule on the configuration manifold, with implicit damping, friction and gains; order 2, the
default.

It is symmetric in time and keeps quadratic invariants, so that energies do not drift; its equation is solved by a fixed
number of fixed-point passes, which errs on the losing side. Damping, friction and gains act in the middle of the step,
or, where they are stiff, at its end.
"""

from __future__ import annotations

from .base import CompiledRule


class ImplicitMidpoint(CompiledRule):
    """v+ = v + dt a, q+ = q (+) dt v_m, a = qdd(q (+) dt/2 v_m, v_m), v_m = (v + v+) / 2:
    `treesim.kernels.stepping.step`."""

    name = "implicit_midpoint"
    order = 2
    friction = True
    rule = "implicit_midpoint"
