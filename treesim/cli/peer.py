"""Pinocchio as a peer for `treesim bench`: the same URDF, the same states, its own reader."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import UnsupportedError
from ..urdf.findings import Findings
from ..urdf.resolve import open_source

if TYPE_CHECKING:
    from ..model.tree import Tree


class PinocchioPeer:
    """Pinocchio's model of a URDF, with states carried over by joint name.

    robot: treesim's tree of the same text. xml: the URDF. Raises UnsupportedError if Pinocchio is not installed,
    cannot read the URDF, or reads other joints.
    """

    def __init__(self, robot: Tree, xml: str) -> None:
        try:
            import pinocchio
        except ImportError as error:
            raise UnsupportedError("Pinocchio is not installed (pip install pin): no comparison") from error
        if any(body.joint.type == "spherical" for body in robot.bodies):
            raise UnsupportedError("Pinocchio does not read spherical joints from URDF: no comparison")
        self.pin: Any = pinocchio
        floating = robot.joint_names[:1] == ("root_joint",)
        base = (pinocchio.JointModelFreeFlyer(),) if floating else ()
        try:
            self.model: Any = pinocchio.buildModelFromXML(xml, *base)
        except Exception as error:  # Pinocchio raises bare RuntimeErrors and ValueErrors
            raise UnsupportedError(f"Pinocchio cannot read this URDF ({error}): no comparison") from error
        if set(self.model.names[1:]) != set(robot.joint_names) or self.model.nv != robot.nv:
            raise UnsupportedError("Pinocchio reads other joints from this URDF than treesim: no comparison")
        self.data: Any = self.model.createData()
        self._robot = robot
        self._order = self._velocity_order()

    def _velocity_order(self) -> np.ndarray:
        """For each of Pinocchio's degrees of freedom, treesim's index of it (nv,)."""
        order = np.empty(self._robot.nv, dtype=int)
        for name, where in self._robot.v_index.items():
            joint = self.model.joints[self.model.getJointId(name)]
            order[joint.idx_v : joint.idx_v + joint.nv] = range(where.start, where.stop)
        return order

    def configuration(self, q: np.ndarray) -> np.ndarray:
        """Return treesim's q (nq,) in Pinocchio's order; a continuous joint becomes a cosine and a sine there."""
        theirs = np.empty(self.model.nq)
        for name, where in self._robot.q_index.items():
            joint = self.model.joints[self.model.getJointId(name)]
            ours = q[where]
            if joint.nq == 2 and len(ours) == 1:
                ours = np.array([np.cos(ours[0]), np.sin(ours[0])])
            theirs[joint.idx_q : joint.idx_q + joint.nq] = ours
        return theirs

    def velocity(self, v: np.ndarray) -> np.ndarray:
        """Return treesim's v, a or tau (nv,) in Pinocchio's order."""
        theirs: np.ndarray = v[self._order]
        return theirs

    def difference(self, ours: np.ndarray, theirs: np.ndarray, over_dofs: bool = True) -> float:
        """Return the largest difference between a vector or matrix of treesim's and Pinocchio's, over the largest
        entry; of a matrix only the upper triangle counts, all that `pin.crba` promises. over_dofs: whether its axes are
        degrees of freedom."""
        if over_dofs:
            ours = ours[np.ix_(*(self._order,) * ours.ndim)]
        if ours.ndim == 2:
            ours, theirs = np.triu(ours), np.triu(theirs)
        return float(np.abs(ours - theirs).max() / np.abs(theirs).max())


def urdf_text(source: str) -> str:
    """Return the URDF text that `source`, a path or a robot's name, stands for."""
    return open_source(source, Findings(source)).data.decode()
