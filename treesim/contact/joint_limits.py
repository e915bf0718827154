"""Tables of the position limits and speed limits of a robot's joints."""

from __future__ import annotations

import math

import numpy as np

from ..kernels.algebra.limits import UNLIMITED
from ..model.tree import Tree


def speed_limits_of(robot: Tree) -> tuple[list[list[int]], list[float], list[float]]:
    """Return the speed limits: rows (degree of freedom, side), speeds, and the efforts that enforce them."""
    limited = np.flatnonzero(np.isfinite(robot.velocity_limit) & (robot.velocity_limit > 0)).tolist()
    _, independent_v = robot.kept()
    rows = [[int(independent_v[k]), side] for k in limited for side in (1, -1)]
    efforts = np.minimum(robot.effort_limit, UNLIMITED)
    pairs = [(float(robot.velocity_limit[k]), float(efforts[k])) for k in limited for _ in range(2)]
    return rows, [speed for speed, _ in pairs], [effort for _, effort in pairs]


def position_limits_of(robot: Tree) -> tuple[list[list[int]], list[float]]:
    """Return the position limits of joints with one coordinate: rows (degree of freedom, coordinate, side), and bounds.

    Indices are those of the spanning tree. Limits of mimic joints are included in those of their mimicked joints.
    """
    independent_q, independent_v = robot.kept()
    rows, found = [], []
    for name, where in robot.q_index.items():
        if where.stop - where.start == 1:
            for side, bounds in ((1, robot.lower), (-1, robot.upper)):
                if math.isfinite(bound := float(bounds[where.start])):
                    dof = int(independent_v[robot.v_index[name].start])
                    rows.append([dof, int(independent_q[where.start]), side])
                    found.append(bound)
    return rows, found
