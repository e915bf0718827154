"""Fixed-step integrators, and what one knows of the system that it steps."""

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


class BulletRule(CompiledRule):
    """v+ = v + dt qdd(q, v), q+ = q (+) dt v+, the base moving with its centre of mass."""

    name = "bullet"
    order = 1
    friction = False
    rule = "bullet"


class ExplicitEuler(CompiledRule):
    """q+ = q (+) dt v, v+ = v + dt qdd(q, v). Gains energy on oscillations: for teaching and comparison."""

    name = "explicit_euler"
    order = 1
    friction = False
    rule = "explicit_euler"


class ImplicitMidpoint(CompiledRule):
    """v+ = v + dt a, q+ = q (+) dt v_m, a = qdd(q (+) dt/2 v_m, v_m), v_m = (v + v+) / 2:
    `treesim.kernels.stepping.step`."""

    name = "implicit_midpoint"
    order = 2
    friction = True
    rule = "implicit_midpoint"


class Midpoint(CompiledRule):
    """q+ = q (+) dt v_m, v+ = v + dt qdd(q_m, v_m), with (q_m, v_m) half an Euler step ahead."""

    name = "midpoint"
    order = 2
    friction = False
    rule = "midpoint"


class RungeKutta4(CompiledRule):
    """Four evaluations a step, weights 1 2 2 1; see `treesim.kernels.stepping.explicit_rules`."""

    name = "rk4"
    order = 4
    friction = False
    rule = "rk4"


class SemiImplicitEuler(CompiledRule):
    """v+ = v + dt qdd(q, v, v+ in the damping), q+ = q (+) dt v+; see `treesim.kernels.stepping.step`."""

    name = "semi_implicit_euler"
    order = 1
    friction = True
    rule = "semi_implicit_euler"
