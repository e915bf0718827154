"""Values that must not change: the papers' numbers and worked cases, in golden/*.json, and the trees they belong to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from treesim import Body, Inertia, Joint, Placement, Tree

FOLDER = Path(__file__).parent / "golden"
TREE_1 = (0, 1, 1, 2, 2, 3, 3)
TREE_1_PATTERN = ({1, 2, 3, 4, 5, 6, 7}, {1, 2, 4, 5}, {1, 3, 6, 7}, {1, 2, 4}, {1, 2, 5}, {1, 3, 6}, {1, 3, 7})


def load(name: str) -> dict[str, Any]:
    """Return golden/<name>.json, lists of numbers as arrays."""
    values = json.loads((FOLDER / f"{name}.json").read_text())
    return {key: np.array(value) if key[0].isupper() or key in ("qdd", "tau", "qd") else value
            for key, value in values.items()}  # fmt: skip


def worked_tree_1(first_joint: str) -> Tree:
    """Return Tree 1 with the parameters of the worked cases: joints revolute about z, but the first of `first_joint`.

    Frame i in its parent: Rz(0.3 i) Rx(0.2 i), (0.1 i, 0.05, -0.02 i); mass 1 + 0.1 i; centre of mass
    (0.05 i, -0.03, 0.02); rotational inertia about it diag(0.01 i, 0.02 i, 0.025 i).
    """
    bodies = []
    for i, parent in enumerate(TREE_1, start=1):
        placement = Placement.from_xyz_rpy((0.1 * i, 0.05, -0.02 * i), (0.2 * i, 0, 0.3 * i))
        inertia = Inertia(1 + 0.1 * i, (0.05 * i, -0.03, 0.02), np.diag([0.01 * i, 0.02 * i, 0.025 * i]))
        joint = Joint(f"joint_{i}", first_joint if i == 1 else "revolute", placement=placement)
        bodies.append(Body(f"body_{i}", parent, joint, inertia))
    return Tree(f"tree_1_{first_joint}", bodies)


def swap_halves(matrix: np.ndarray, first: int = 6) -> np.ndarray:
    """Exchange angular and linear part of the `first` (a multiple of 6) rows, and columns of a matrix."""
    order = np.arange(len(matrix))
    order[:first] = order[:first].reshape(-1, 2, 3)[:, ::-1].ravel()
    return matrix[order] if matrix.ndim == 1 else matrix[np.ix_(order, order)]
