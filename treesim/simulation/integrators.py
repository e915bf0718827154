"""Fixed-step integrators, and the interface of the system that they step."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np

from ..kernels.stepping.rules import RULES, Rule
from ..model.tree import Tree
from ..system.display import Implementation

Vector = np.ndarray


class System(Protocol):
    """Interface of the system that an integrator steps: a robot with its controller."""

    robot: Tree

    def acceleration(self, t: float, q: Vector, v: Vector) -> Vector:
        """Return qdd (nv,) at time t [s], with joint damping at the velocity v."""

    def compiled_step(self, rule: str, t: float, q: Vector, v: Vector, dt: float) -> tuple[Vector, Vector]:
        """Return (q, v) at t + dt by a compiled integrator (`treesim.kernels.stepping.rules`).

        It includes damping, Coulomb friction and the controller's gains. The controller's torque is that of time t
        [s].
        """


@runtime_checkable
class Integrator(Protocol):
    """Interface of a fixed-step integrator, registered under its name in the entry-point group `treesim.integrators`.

    order: order of convergence in dt. joint_friction: whether the integrator simulates Coulomb friction of joints.
    The class is instantiated once, without arguments; the object must not have a state.
    """

    name: str
    order: int
    joint_friction: bool

    def step(self, system: System, t: float, q: Vector, v: Vector, dt: float) -> tuple[Vector, Vector]:
        """Return (q, v) at t + dt; the arguments must not be changed."""


class CompiledRule(Implementation):
    """Integrator whose step is compiled with the dynamics: one source for simulations, rollouts and steppers."""

    what = "integrator"
    order: int
    joint_friction: bool
    rule: Rule

    def _about(self) -> list[str]:
        return [f"order {self.order}", "with Coulomb friction" if self.joint_friction else ""]

    def step(self, system: System, t: float, q: Vector, v: Vector, dt: float) -> tuple[Vector, Vector]:
        """Return (q, v) at t + dt."""
        return system.compiled_step(self.rule.name, t, q, v, dt)


# the class of each, by whose name the registry of plugins imports it
globals().update({
    name: type(name, (CompiledRule,), {"name": name, "order": rule.order, "joint_friction": rule.contact, "rule": rule})
    for name, rule in RULES.items()
})  # fmt: skip
