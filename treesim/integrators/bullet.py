"""The stepping rule of Bullet's multibody solver, for comparisons step by step; order 1.

It is semi-implicit Euler with the base's velocity taken at its centre of mass, and damping taken explicitly.
Coulomb friction is not simulated, as in Bullet.
"""

from __future__ import annotations

from .base import CompiledRule


class BulletRule(CompiledRule):
    """v+ = v + dt qdd(q, v), q+ = q (+) dt v+, the base moving with its centre of mass."""

    name = "bullet"
    order = 1
    friction = False
    rule = "bullet"
