"""Choice of a method for Λ^-1 for a robot and its frames."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ... import plugins
from ...model.tree import Tree
from ..advice import Advice

# multiply-adds, roughly; checked by `treesim cost --advice`
CARRY_COLUMN = 25  # one task column past one degree of freedom
COMPRESS_DOF = 180  # one degree of freedom of a path without branches into a 6 x 6 propagator
JOIN_PAIR = 600  # two tasks by their propagators


def advise(robot: Tree, frames: Sequence[str]) -> Advice:
    """Return the method that suits Λ^-1 of `frames`. Cost O(N + k depth); callers should store the result.

    Both candidates need the same articulated inertias. `pv_osim` propagates every task's columns along its path. Where
    tasks share a path, it multiplies all of them with each other at every degree of freedom. `pv_osim_r` first replaces
    stretches without branches by propagators. The installed one of lower estimated cost is returned.
    Raises UnknownNameError for an unknown frame.
    """
    carried = 6 * _tasks_carried(robot, [robot.frame(name).body for name in frames])
    pairs = len(frames) * (len(frames) + 1) // 2
    estimates = {
        "pv_osim": int((carried**2 // 2 + CARRY_COLUMN * carried).sum()),
        "pv_osim_r": COMPRESS_DOF * int((carried > 0).sum()) + JOIN_PAIR * pairs,
    }
    installed = plugins.available("operational")
    name = min((name for name in estimates if name in installed), key=lambda name: estimates[name])
    return Advice(
        name,
        "O(N) articulated inertias, then by estimate "
        f"{estimates['pv_osim']} multiply-adds for carrying the tasks along their paths, "
        f"{estimates['pv_osim_r']} for joining them by propagators",
    )


def _tasks_carried(robot: Tree, bodies: Sequence[int]) -> np.ndarray:
    """Return the number of tasks on or beyond each degree of freedom (nv,)."""
    tree = robot.topology
    tasks = np.zeros(tree.n_dofs, dtype=np.int64)
    for body in bodies:
        k = tree.last_dof[body]
        while k:
            tasks[k - 1] += 1
            k = int(tree.dof_parent[k - 1])
    return tasks
