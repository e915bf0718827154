"""Description of a robot for programs that run its compiled step: names, limits, and settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..actuators.base import BEFORE
from ..kernels.algebra.limits import UNLIMITED
from ..kernels.stepping.rules import RULES
from ..model.tree import Tree
from ..simulation.actuator_memory import ActuatorMemory, is_late
from ..simulation.step_settings import lightest, longest_substep
from ..simulation.world import World

if TYPE_CHECKING:
    from ..policies.policy import Policy

UNITS = {"revolute": "rad", "continuous": "rad", "prismatic": "m"}


def description(robot: Tree) -> dict[str, Any]:
    """Return the data for a program that runs a robot's compiled step, for JSON.

    name, nq, nv, mass [kg], gravity (3,) [m/s^2]. bodies: names, the base first; masses [kg] and centres (3,)
    of mass [m] in each body's axes. joints: see `joints`. For each degree of freedom: damping, stiffness, rest,
    effort, lightest (the smallest inertia that it moves). longest: the longest substep [s] by integrator, where it has
    one. theta: by implicit integrator, the least part of a step after which damping and gains act.

    Example:
        >>> from treesim.export.description import description
        >>> facts = description(treesim.load("ur5"))
        >>> facts["nq"], facts["joints"][0]["name"], facts["joints"][0]["unit"]
        (6, 'shoulder_pan_joint', 'rad')
    """
    spans = {name: longest_substep(robot, rule) for name, rule in RULES.items()}
    return {
        "name": robot.name, "nq": robot.nq, "nv": robot.nv, "mass": robot.mass, "gravity": robot.gravity.tolist(),
        "bodies": ["base", *robot.body_names], "masses": [0.0, *(body.inertia.mass for body in robot.bodies)],
        "centres": [[0.0] * 3, *(np.asarray(body.inertia.com, float).tolist() for body in robot.bodies)],
        "joints": joints(robot), "damping": robot.damping.tolist(),
        "stiffness": robot.stiffness.tolist(), "rest": robot.rest.tolist(),
        "effort": np.minimum(robot.effort_limit, UNLIMITED).tolist(), "lightest": lightest(robot).tolist(),
        "longest": {name: span for name, span in spans.items() if np.isfinite(span)},
        "theta": {name: rule.theta for name, rule in RULES.items() if rule.implicit},
    }  # fmt: skip


def joints(robot: Tree) -> list[dict[str, Any]]:
    """Return the joints with one coordinate, except mimic joints.

    Each has name, kind, unit, lower, upper (None without limit), and the indices q and v of its coordinate and
    velocity.
    """
    return [
        {
            "name": joint.name, "kind": joint.type, "unit": UNITS[joint.type],
            "lower": _finite(robot.lower[robot.q_index[joint.name]][0]),
            "upper": _finite(robot.upper[robot.q_index[joint.name]][0]),
            "q": robot.q_index[joint.name].start, "v": robot.v_index[joint.name].start,
        }
        for joint in (body.joint for body in robot.bodies)
        if joint.type in UNITS and joint.mimic is None
    ]  # fmt: skip


def commands(policy: Policy) -> list[dict[str, Any]]:
    """Return the numbers of a policy's command: name, lower and upper."""
    return [{"name": name, "lower": low, "upper": high} for name, (low, high) in policy.command_ranges.items()]


def actuators(world: World, memory: ActuatorMemory | None = None) -> dict[str, Any] | None:
    """Return the data of a world's actuators for a program that runs its compiled step, for JSON; None without.

    For each degree of freedom: driven, gain, kp, kd, explicit, stall, slope, time_constant (see `ActuatorTable`), and
    position, 1 if the control is a position. pieces: of curves, one number for each degree of freedom and column.
    memory: of these actuators, which is described as `rows`, see `_with_memory`.
    """
    table = world.actuator_table
    if table is None:
        return None
    position = np.zeros(world.robot.nv)
    for name, actuator in table.by_joint.items():
        position[world.robot.v_index[name]] = actuator._takes_position
    columns = ("driven", "gain", "kp", "kd", "explicit", "stall", "slope", "time_constant")
    return {
        **{name: getattr(table, name).tolist() for name in columns}, "position": position.tolist(),
        "pieces": table.pieces.reshape(-1).tolist(), "rows": [] if memory is None else _with_memory(world, memory),
    }  # fmt: skip


def _with_memory(world: World, memory: ActuatorMemory) -> list[dict[str, Any]]:
    """Return the actuators with memory.

    Each has the name, dof and coordinate of its joint; delay [s], interpolate, rate_limit and voltage_limit (None
    without), lag [s], before (a name in BEFORE, None for commands that are not late); period [s], None without, and the
    gain, kp and kd of its law; inductance [H], and force_per_current. Drawn delays are those of rollout 0 and seed 0.
    """
    assert world.actuator_table is not None
    robot, drawn, rows = world.robot, memory.begin(world.robot.neutral()), []
    for name, actuator in world.actuator_table.by_joint.items():
        dof = robot.v_index[name].start
        if dof not in memory.dofs:
            continue
        late, law = actuator._late, actuator._law
        delay = drawn[memory.delays[name][0]] * memory.dt if name in memory.delays else late.most
        rows.append({
            "name": name, "dof": dof, "coordinate": robot.q_index[name].start, "delay": float(delay),
            "interpolate": int(late.interpolate), "rate_limit": _finite(late.rate), "lag": late.lag,
            "before": BEFORE[late.before] if is_late(late) else None, "period": actuator._period,
            "gain": law.gain, "kp": law.kp, "kd": law.kd, "inductance": getattr(actuator, "inductance", 0.0),
            "voltage_limit": getattr(actuator, "voltage_limit", None),
            "force_per_current": law.gain * getattr(actuator, "resistance", 0.0),
        })  # fmt: skip
    return rows


def _finite(limit: float) -> float | None:
    return float(limit) if np.isfinite(limit) else None
