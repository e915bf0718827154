"""Semi-implicit (symplectic) Euler: velocity first, then position with the new velocity; order 1.

Joint damping, Coulomb friction and a controller's gains enter implicitly, as additions to the mass matrix's diagonal.
A floating base is stepped in axes that do not turn during the step: stepping its body-frame velocity instead adds
(omega dt)^2 / 2 of speed in every step. Of free bodies the gyroscopic term is implicit
(`treesim.kernels.stepping.gyroscopic`), and it is their centre of mass that is stepped. The cheapest rule, and the one
of games and of most simulators' defaults; it diverges where velocity products are large: undamped light links,
tumbling bases.
"""

from __future__ import annotations

from .base import CompiledRule


class SemiImplicitEuler(CompiledRule):
    """v+ = v + dt qdd(q, v, v+ in the damping), q+ = q (+) dt v+; see `treesim.kernels.stepping.step`."""

    name = "semi_implicit_euler"
    order = 1
    friction = True
    rule = "semi_implicit_euler"
