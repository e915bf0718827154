"""Fixed-step integrators, and the interface of the system that they step."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np

from ..model.tree import Tree
from ..system.display import Implementation

Vector = np.ndarray


class System(Protocol):
    """Interface of the system that an integrator steps: a robot with its controller."""

    robot: Tree

    def acceleration(self, t: float, q: Vector, v: Vector) -> Vector:
        """Return qdd (nv,) at time t [s], with joint damping at the velocity v."""
        ...

    def compiled_step(self, rule: str, t: float, q: Vector, v: Vector, dt: float) -> tuple[Vector, Vector]:
        """Return (q, v) at t + dt by a compiled integrator of `treesim.kernels.stepping.step`.

        It includes damping, Coulomb friction and the controller's gains. The controller's torque is that of time t
        [s].
        """
        ...


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
        ...


class FixedStep(Implementation):
    """Base class of treesim's own integrators."""

    what = "integrator"
    order: int
    joint_friction: bool

    def _about(self) -> list[str]:
        return [f"order {self.order}", "with Coulomb friction" if self.joint_friction else ""]


class CompiledRule(FixedStep):
    """Integrator whose step is compiled with the dynamics: one source for simulations, rollouts and steppers.

    rule: its name in `treesim.kernels.stepping.step.RULES`.
    """

    rule: str

    def step(self, system: System, t: float, q: Vector, v: Vector, dt: float) -> tuple[Vector, Vector]:
        """Return (q, v) at t + dt."""
        return system.compiled_step(self.rule, t, q, v, dt)


class BulletRule(CompiledRule):
    """v+ = v + dt qdd(q, v), q+ = q (+) dt v+; the base's translation is integrated at its centre of mass."""

    name = "bullet"
    order = 1
    joint_friction = False
    rule = "bullet"


class ExplicitEuler(CompiledRule):
    """q+ = q (+) dt v, v+ = v + dt qdd(q, v). Gains energy on oscillations: for teaching and comparison."""

    name = "explicit_euler"
    order = 1
    joint_friction = False
    rule = "explicit_euler"


class ImplicitMidpoint(CompiledRule):
    """v+ = v + dt a, q+ = q (+) dt v_m, with a = qdd(q (+) dt/2 v_m, v_m) and v_m = (v + v+) / 2.

    See `treesim.kernels.stepping.step`.
    """

    name = "implicit_midpoint"
    order = 2
    joint_friction = True
    rule = "implicit_midpoint"


class Midpoint(CompiledRule):
    """q+ = q (+) dt v_m, v+ = v + dt qdd(q_m, v_m), with (q_m, v_m) half an Euler step ahead."""

    name = "midpoint"
    order = 2
    joint_friction = False
    rule = "midpoint"


class RungeKutta4(CompiledRule):
    """Classical Runge-Kutta method of order 4: four evaluations a step, weights 1 2 2 1.

    See `treesim.kernels.stepping.explicit_rules`.
    """

    name = "rk4"
    order = 4
    joint_friction = False
    rule = "rk4"


class SemiImplicitEuler(CompiledRule):
    """v+ = v + dt qdd(q, v, v+ in the damping), q+ = q (+) dt v+; see `treesim.kernels.stepping.step`."""

    name = "semi_implicit_euler"
    order = 1
    joint_friction = True
    rule = "semi_implicit_euler"
