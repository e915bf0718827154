"""Conformance checks of an integrator (`treesim.simulation.integrators.Integrator`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import plugins
from ..model.generators import chain_with_side_branches
from ..model.inertia import Inertia
from ..model.joints import Joint
from ..model.tree import Body, Tree
from ..simulation.controlled import ControlledRobot
from ..simulation.options import StepOptions
from .report import Conformance, begin, demand, demand_array
from .samples import on_floating_base

REFERENCE_STEPS, DURATION = 1024, 0.25  # of RK4, and [s]: its error is below that of any step tried
STEPS_BY_ORDER = {1: 512, 2: 256}  # the finest of three resolutions, which the others halve
STEPS, ORDER_TOLERANCE = 64, 0.15
UNIT = 1e-12  # allowed error of a quaternion's length
MASS, FRICTION, SPEED, DT = 2.0, 3.0, 1.5, 1e-3  # [kg], [N], [m/s], [s]: the sliding block


def check_integrator(integrator: str | Any) -> Conformance:
    """Check that an integrator meets the protocol `Integrator`.

    The robot of the check has a floating base and spherical, prismatic and revolute joints. The error of a motion is
    its difference from a motion by RK4 with much smaller steps. If the step is reduced, the error must decrease with
    the declared order. Quaternions must keep unit length, arguments must not change, and steps must not depend on
    earlier steps. After a free fall of one second, a body must have the right speed and height. If the integrator
    declares support for Coulomb friction, friction must stop a sliding block.

    Parameters
    ----------
    integrator : str or Integrator
        Name in `available("integrators")`, or an object.

    Returns
    -------
    Conformance
        All requirements, which are met.

    Raises
    ------
    ConformanceError
        If a requirement is not met. The message lists all such requirements.

    Examples
    --------
    >>> from treesim import testing
    >>> testing.check_integrator("rk4")
    <Conformance of integrator 'rk4': 7 requirements met>
    """
    integrator, checks = begin("integrators", integrator)
    if not hasattr(integrator, "step"):
        with checks.require("has the method 'step'"):
            demand(False, f"{type(integrator).__name__} has none")
        return checks.report()
    if checks.has(integrator, name=str, order=int, joint_friction=bool):
        robot = on_floating_base(chain_with_side_branches(2, ("spherical", "revolute", "prismatic", "revolute")))
        with checks.require("converges at its order", robot.name):
            _demand_order(integrator, robot)
        with checks.require("keeps quaternions of length 1", robot.name):
            _demand_unit(integrator, robot)
        with checks.require("leaves its arguments alone and remembers nothing", robot.name):
            _demand_stateless(integrator, robot)
        with checks.require("lets a body fall"):
            _demand_fall(integrator)
        if integrator.joint_friction:
            with checks.require("stops a sliding block by its Coulomb friction"):
                _demand_friction(integrator)
    return checks.report()


def motion(
    integrator: Any, robot: Tree, steps: int, duration: float, q: np.ndarray, v: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return (q, v) after `steps` steps over `duration` [s]."""
    system, dt = ControlledRobot(robot, StepOptions(substeps=1)), duration / steps
    for k in range(steps):
        q, v = integrator.step(system, k * dt, q, v, dt)
    return q, v


def start_of(robot: Tree, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Return a random state (nq,), (nv,)."""
    rng = np.random.default_rng(seed)
    return robot.random(rng), rng.normal(size=robot.nv)


def _demand_order(integrator: Any, robot: Tree) -> None:
    start = start_of(robot)
    q_end, v_end = motion(plugins.get("integrators", "rk4"), robot, REFERENCE_STEPS, DURATION, *start)
    finest = STEPS_BY_ORDER.get(integrator.order, STEPS)
    resolutions, errors = (finest // 4, finest // 2, finest), []
    for count in resolutions:
        q, v = motion(integrator, robot, count, DURATION, *start)
        errors.append(float(np.linalg.norm([*robot.difference(q_end, q), *(v - v_end)])))
    demand(all(np.isfinite(errors)), "the motion is not finite")
    fitted = -np.polyfit(np.log(resolutions), np.log(errors), 1)[0]
    listed, steps = (", ".join(map(str, numbers)) for numbers in ([f"{x:.2g}" for x in errors], resolutions))
    demand(
        abs(fitted - integrator.order) < ORDER_TOLERANCE,
        f"errors {listed} with {steps} steps are of order {fitted:.2f}, not {integrator.order}",
    )


def _demand_unit(integrator: Any, robot: Tree) -> None:
    q, v = motion(integrator, robot, 200, 0.4, *start_of(robot, 2))
    demand_array(q, (robot.nq,), "q")
    demand_array(v, (robot.nv,), "v")
    ends = [robot.q_index[x.joint.name].stop for x in robot.bodies if x.joint.type in ("spherical", "floating")]
    lengths = [float(np.linalg.norm(q[end - 4 : end])) for end in ends]
    worst = max(abs(length - 1) for length in lengths)
    demand(worst < UNIT, f"a length differs from 1 by {worst:.2g} after 200 steps")


def _demand_stateless(integrator: Any, robot: Tree) -> None:
    system = ControlledRobot(robot, StepOptions(substeps=1))
    (q, v), other = start_of(robot, 3), start_of(robot, 4)
    q.setflags(write=False)
    v.setflags(write=False)
    first = integrator.step(system, 0.0, q, v, DT)
    integrator.step(system, 5.0, *other, 2 * DT)
    second = integrator.step(system, 0.0, q, v, DT)
    same = all(np.array_equal(x, y) for x, y in zip(first, second, strict=True))
    demand(same, "the same step gives other bits after a step from another state")


def _one_body(joint: Joint, gravity: tuple[float, ...]) -> Tree:
    return Tree("one body", [Body("body", 0, joint, Inertia(MASS, rotational=np.eye(3)))], gravity=gravity)


def _demand_fall(integrator: Any) -> None:
    g, steps = 9.81, 200
    body = _one_body(Joint("free", "floating"), (0.0, 0.0, -g))
    q, v = motion(integrator, body, steps, 1.0, body.neutral(), np.zeros(6))
    demand(abs(v[2] + g) < 1e-9, f"after 1 s the speed is {-v[2]:.6g} m/s, {g} is right")
    allowed = g / steps if integrator.order == 1 else 1e-9
    demand(abs(q[2] + g / 2) < allowed, f"after 1 s it fell {-q[2]:.6g} m, {g / 2} is right")


def _demand_friction(integrator: Any) -> None:
    block = _one_body(Joint("slide", "prismatic", axis=(1, 0, 0), joint_friction=FRICTION), (0.0, 0.0, 0.0))
    deceleration = FRICTION / MASS
    duration = 1.5 * SPEED / deceleration
    q, v = motion(integrator, block, int(duration / DT), duration, np.zeros(1), np.array([SPEED]))
    reached = SPEED**2 / (2 * deceleration)
    demand(abs(v[0]) < 1e-3, f"it still moves at {v[0]:.2g} m/s")
    demand(abs(q[0] - reached) < SPEED * 2 * DT, f"it slid {q[0]:.4g} m, {reached:.4g} is right")
