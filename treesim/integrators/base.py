"""What an integrator is, and what it sees of the system that it steps."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np

from ..model.tree import Tree
from ..system.display import Implementation

Vector = np.ndarray


class System(Protocol):
    """A robot under control: what an integrator may ask."""

    robot: Tree

    def acceleration(self, t: float, q: Vector, v: Vector) -> Vector:
        """Return qdd (nv,) at time t [s], with joint damping taken at the velocity v."""
        ...

    def compiled_step(self, rule: str, t: float, q: Vector, v: Vector, dt: float) -> tuple[Vector, Vector]:
        """Return (q, v) at t + dt by a rule of `treesim.kernels.stepping.step`, with damping, Coulomb friction and a
        controller's gains in it, and the controller's torque at time t [s] held through the step."""
        ...


@runtime_checkable
class Integrator(Protocol):
    """A fixed-step method, registered under its name in the entry-point group `treesim.integrators`.

    order: of convergence in dt. friction: whether Coulomb friction of the joints is simulated.
    The class is called without arguments, once; the object must hold no state of its own.
    """

    name: str
    order: int
    friction: bool

    def step(self, system: System, t: float, q: Vector, v: Vector, dt: float) -> tuple[Vector, Vector]:
        """Return (q, v) at t + dt; the arguments must not be changed."""
        ...


class FixedStep(Implementation):
    """What treesim's own integrators share: how they show themselves."""

    what = "integrator"
    order: int
    friction: bool

    def _about(self) -> list[str]:
        return [f"order {self.order}", "with Coulomb friction" if self.friction else ""]


class CompiledRule(FixedStep):
    """An integrator whose step is compiled with the dynamics: one text for simulations, rollouts and steppers.

    rule: its name in `treesim.kernels.stepping.step.RULES`.
    """

    rule: str

    def step(self, system: System, t: float, q: Vector, v: Vector, dt: float) -> tuple[Vector, Vector]:
        """Return (q, v) at t + dt."""
        return system.compiled_step(self.rule, t, q, v, dt)
