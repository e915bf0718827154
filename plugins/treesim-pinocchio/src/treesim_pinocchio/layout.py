"""State layout of Pinocchio, with joints in another order, and cosine and sine for an angle without limits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from treesim.compare.layouts import Reordered, put_back

if TYPE_CHECKING:
    from treesim import Tree


def joint_numbers(model: Any) -> dict[str, int]:
    """Return the number of every joint of a model, from 1; `getJointId` searches all names for each."""
    return {name: k for k, name in enumerate(model.names) if k}


class PinocchioLayout(Reordered):
    """Layout of one robot in a Pinocchio model; joints are matched by name.

    The angle of a continuous or planar joint is (cos, sin) in Pinocchio, and comes back between -pi and pi.
    Velocities, forces and matrices are only reordered. ids: the joints' numbers in the model, by default those of
    their names.
    """

    def __init__(self, robot: Tree, model: Any, ids: Mapping[str, int] | None = None) -> None:
        q_order, v_order = np.empty(model.nq, dtype=int), np.empty(model.nv, dtype=int)
        cosines = []
        if ids is None:
            numbers_of = joint_numbers(model)
            ids = {name: numbers_of[name] for name in robot.q_index}
        for name, k in ids.items():
            where, joint = robot.q_index[name], model.joints[k]
            numbers = list(range(where.start, where.stop))
            if joint.nq == len(numbers) + 1:
                cosines.append(joint.idx_q + joint.nq - 2)
                numbers.append(numbers[-1])
            q_order[joint.idx_q : joint.idx_q + joint.nq] = numbers
            v = robot.v_index[name]
            v_order[joint.idx_v : joint.idx_v + joint.nv] = range(v.start, v.stop)
        super().__init__(q_order, v_order)
        self.nq = robot.nq
        self.cosines = np.array(cosines, dtype=int)

    def configuration_to_engine(self, q: np.ndarray) -> np.ndarray:
        """Return q (..., nq) in Pinocchio's layout."""
        theirs = q[..., self.q_order]
        angles = theirs[..., self.cosines]
        theirs[..., self.cosines], theirs[..., self.cosines + 1] = np.cos(angles), np.sin(angles)
        return theirs

    def configuration_from_engine(self, theirs: np.ndarray) -> np.ndarray:
        """Return Pinocchio's configuration as q (..., nq)."""
        q = np.zeros((*theirs.shape[:-1], self.nq))  # zero where a model has no coordinates of a joint
        q[..., self.q_order] = theirs
        cosines = theirs[..., self.cosines]
        q[..., self.q_order[self.cosines]] = np.arctan2(theirs[..., self.cosines + 1], cosines)
        return q

    def columns_from_engine(self, theirs: np.ndarray) -> np.ndarray:
        """Return a Jacobian (..., nv) in treesim's order."""
        return put_back(theirs, self.v_order)
