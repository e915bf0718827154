"""Robot in MuJoCo's own format, for comparison with another description: joints are matched by name."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np

from treesim import Inertia, Placement
from treesim.compare import EngineError, EngineModel
from treesim.compare.engine_model import bodies_of
from treesim.errors import UnsupportedError
from treesim.urdf.base import ROOT_JOINT

from .layout import MujocoLayout
from .model import MujocoModel
from .reading import free_of_constraints

if TYPE_CHECKING:
    from treesim import Tree

TYPES = {
    int(mujoco.mjtJoint.mjJNT_HINGE): "revolute",
    int(mujoco.mjtJoint.mjJNT_SLIDE): "prismatic",
    int(mujoco.mjtJoint.mjJNT_BALL): "spherical",
    int(mujoco.mjtJoint.mjJNT_FREE): "floating",
}
MENTIONING = ("actuators", "sensors", "equalities", "tendons", "keys", "excludes")  # elements that may name a joint


class MujocoFile:
    """Robot in a file that MuJoCo reads, and parameters of its joints.

    label: name of the file. joints: their types by name; a free joint is always named "root_joint". parameters:
    by joint, damping, friction, armature, stiffness, and limits and a spring's rest position if there are any. mimics:
    mimicked joint, multiplier and offset of linear equality constraints. Raises UnsupportedError if MuJoCo cannot read
    the file.

    Example:
        >>> from treesim_mujoco.mjcf import MujocoFile
        >>> MujocoFile("no_such_robot.xml")
        Traceback (most recent call last):
            ...
        treesim.errors.UnsupportedError: MuJoCo cannot read no_such_robot.xml ...
    """

    description = None
    tolerance = 1e-5  # MuJoCo, and most converters, write six digits

    def __init__(self, path: str) -> None:
        self.label = path
        if not Path(path).is_file():
            raise UnsupportedError(f"MuJoCo cannot read {path} (there is no such file)")
        mujoco.set_mju_user_warning(lambda text: None)  # else it writes a file into the current directory
        try:
            self.spec: Any = mujoco.MjSpec.from_file(path)
            model = self.spec.compile()
        except ValueError as error:
            raise UnsupportedError(f"MuJoCo cannot read {path} ({str(error).splitlines()[0]})") from error
        self.names = _names(model)
        self.joints = {name: TYPES[int(model.jnt_type[k])] for k, name in enumerate(self.names)}
        self.parameters = {name: _parameters(model, k) for k, name in enumerate(self.names)}
        self.mimics = dict(_mimics(model, self.names))

    def model(self, robot: Tree, joints: Collection[str]) -> MjcfModel:
        """Return MuJoCo's model of the robot; joints that are not named are fixed at their position in the file."""
        spec = self.spec.copy()
        for group in MENTIONING:
            for element in list(getattr(spec, group)):
                spec.delete(element)
        for joint, name in zip(list(spec.joints), self.names, strict=True):
            if name not in joints:
                spec.delete(joint)
        return MjcfModel(robot, spec.compile())


class MjcfModel(MujocoModel):
    """MuJoCo's model of a file of its own, without damping, friction, armature and springs of joints, and constraints.

    Contacts are off, too. Gravity is that of the file. Raises EngineError if its joints are not those of the robot.
    """

    def __init__(self, robot: Tree, model: Any) -> None:
        EngineModel.__init__(self, robot)
        numbers = {name: k for k, name in enumerate(_names(model))}
        if set(numbers) != set(robot.joint_names) or model.nv != robot.nv:
            raise EngineError("the file's joints are not those of the robot")
        self.changes = (
            "joint damping, friction, armature and springs set to zero; constraints, contacts and actuators off",
        )
        model.dof_damping[:] = model.dof_armature[:] = model.dof_frictionloss[:] = model.jnt_stiffness[:] = 0.0
        free_of_constraints(model)
        model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_ACTUATION
        self.model, self.data = model, mujoco.MjData(model)
        joints = [numbers[name] for name in robot.joint_names]
        self.layout = MujocoLayout(robot, model, joints)
        self._bodies = [int(model.jnt_bodyid[k]) for k in joints]
        self.single = len(set(self._bodies)) == len(self._bodies)

    def body_poses(self, q: np.ndarray) -> np.ndarray:
        """Return the poses (N, 4, 4) of MuJoCo's bodies, matched by the joint that moves them.

        Raises UnsupportedError if a body has several joints.
        """
        self._check_single()
        return super().body_poses(q)

    def bodies(self) -> dict[str, np.ndarray]:
        """Return mass (N,), com (N, 3) and inertia (N, 3, 3); bodies without joints are merged into their parents.

        Raises UnsupportedError if a body has several joints.
        """
        self._check_single()
        mujoco.mj_resetData(self.model, self.data)
        mujoco.mj_kinematics(self.model, self.data)
        return bodies_of([self._welded(body) for body in self._bodies])

    def _check_single(self) -> None:
        if not self.single:
            raise UnsupportedError("bodies with several joints have no counterparts")

    def _welded(self, body: int) -> Inertia:
        """Return the inertia of a body and of all bodies welded to it, in its frame."""
        whole, frame = Inertia(), self._frame(self.data.xpos, self.data.xmat, body)
        for k in np.flatnonzero(self.model.body_weldid == body):
            place = frame.inverse() @ self._frame(self.data.xipos, self.data.ximat, int(k))
            moments = np.diag(self.model.body_inertia[k])
            whole += Inertia(float(self.model.body_mass[k]), rotational=moments).in_frame(place)
        return whole

    @staticmethod
    def _frame(positions: np.ndarray, rotations: np.ndarray, body: int) -> Placement:
        return Placement(rotations[body].reshape(3, 3), positions[body])


def _names(model: Any) -> list[str]:
    """Return the joints' names; a free joint is named as the floating base's."""
    free = mujoco.mjtJoint.mjJNT_FREE
    return [ROOT_JOINT if model.jnt_type[k] == free else model.joint(k).name or f"joint {k}" for k in range(model.njnt)]


def _parameters(model: Any, k: int) -> dict[str, float]:
    if TYPES[int(model.jnt_type[k])] not in ("revolute", "prismatic"):
        return {}
    dof = model.jnt_dofadr[k]
    lower, upper = model.jnt_range[k] if model.jnt_limited[k] else (-np.inf, np.inf)
    found = {
        "damping": model.dof_damping[dof], "joint_friction": model.dof_frictionloss[dof],
        "armature": model.dof_armature[dof], "stiffness": model.jnt_stiffness[k], "lower": lower, "upper": upper,
    }  # fmt: skip
    if model.jnt_stiffness[k]:
        found["rest"] = model.qpos_spring[model.jnt_qposadr[k]]
    if model.jnt_actfrclimited[k]:
        found["effort_limit"] = model.jnt_actfrcrange[k][1]
    return {name: float(value) for name, value in found.items()}


def _mimics(model: Any, names: list[str]) -> Iterator[tuple[str, tuple[str, float, float]]]:
    """Yield the mimic joints by linear equality constraints: q_b - q_b0 = a0 + a1 (q_a - q_a0)."""
    start = model.qpos0[model.jnt_qposadr]
    for k in np.flatnonzero((model.eq_type == mujoco.mjtEq.mjEQ_JOINT) & (model.eq_obj2id >= 0) & model.eq_active0):
        mimic_joint, mimicked = model.eq_obj1id[k], model.eq_obj2id[k]
        offset, multiplier, *higher = model.eq_data[k, :5].tolist()
        if not any(higher):
            yield (
                names[mimic_joint],
                (names[mimicked], multiplier, offset + start[mimic_joint] - multiplier * start[mimicked]),
            )
