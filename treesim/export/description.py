"""Description of a robot for programs that run its compiled step: names, limits, and settings."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..kernels.algebra.limits import UNLIMITED
from ..kernels.stepping.rules import RULES
from ..model.tree import Tree
from ..simulation.step_settings import lightest, longest_substep

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


def _finite(limit: float) -> float | None:
    return float(limit) if np.isfinite(limit) else None
