"""What an integrator is, and what it sees of the system that it steps."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ..display import Implementation
from ..engine.call.bound_entry import BoundEntry
from ..engine.call.evaluate import Argument, evaluate
from ..kernels.configuration import chart_rate_states, semi_implicit_states
from ..kernels.status import FINE
from ..model.quaternions import configuration
from ..model.tree import Tree

Vector = np.ndarray


class System(Protocol):
    """A robot under control: what an integrator may ask."""

    robot: Tree

    def acceleration(self, t: float, q: Vector, v: Vector) -> Vector:
        """Return qdd (nv,) at time t [s], with joint damping taken at the velocity v."""
        ...

    def compiled_step(self, rule: str, t: float, q: Vector, v: Vector, dt: float) -> tuple[Vector, Vector]:
        """Return (q, v) at t + dt by a rule of `treesim.kernels.step`, with damping, Coulomb friction and a
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

    rule: its name in `treesim.kernels.step.RULES`.
    """

    rule: str

    def step(self, system: System, t: float, q: Vector, v: Vector, dt: float) -> tuple[Vector, Vector]:
        """Return (q, v) at t + dt."""
        return system.compiled_step(self.rule, t, q, v, dt)


def chart_rate(robot: Tree, displacement: Vector, v: Vector) -> Vector:
    """Return d/dt of the displacement d of a motion q0 (+) d whose velocity is v, all (nv,), exact to fourth order."""
    arguments = (Argument("displacement", displacement, (robot.nv,)), Argument("v", v, (robot.nv,)))
    return evaluate(chart_rate_states, (robot.ints, robot.reals), arguments, [(robot.nv,)])[0]


def semi_implicit_step(robot: Tree, q: Vector, v: Vector, a: Vector, dt: float, points: Vector) -> Any:
    """Return (q, v) after v += dt a, q (+)= dt v, stepping the velocity of `points` (n_bodies + 1, 3) on freely moving
    bodies (own axes [m]) in axes that do not turn during the step."""
    q_new, v_new = np.empty(robot.nq), np.empty(robot.nv)
    if _stepper(robot).call(q, v, a, np.array([dt]), points, q_new, v_new) == FINE:
        return q_new, v_new  # anything but one state in float arrays is coerced or explained below
    arguments = (
        configuration(robot, q),
        Argument("v", v, (robot.nv,)),
        Argument("a", a, (robot.nv,)),
        Argument("dt", [dt], (1,)),
        Argument("points", points, points.shape),
    )
    return evaluate(semi_implicit_states, (robot.ints, robot.reals), arguments, [(robot.nq,), (robot.nv,)])


@lru_cache(maxsize=64)
def _stepper(robot: Tree) -> BoundEntry:
    n, points = (robot.nv,), (robot.n_bodies + 1, 3)
    inputs, results = ((robot.nq,), n, n, (1,), points), ((robot.nq,), n)
    return BoundEntry(semi_implicit_states, (robot.ints, robot.reals), inputs, results)
