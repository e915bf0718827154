"""Conversion of a robot to MuJoCo's specification and model, with limits, forces of joints, names and sites."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np

from treesim.compare.source import without_losses
from treesim.errors import UnsupportedError, quoted

from .model import MujocoModel
from .reading import WORLD, bodies_alone, body_name, free_of_constraints, model_of

if TYPE_CHECKING:
    from treesim import Joint, Tree
    from treesim.model.mimic import MimicMap

IMPEDANCE = 0.9999  # of MuJoCo's stiffest constraint, mjMAXIMP
STEPS = 2  # time constant of a constraint, in time steps: MuJoCo's minimum
VELOCITY_LIMIT = "velocity_limit"  # a custom number of the model: MuJoCo's joints have no such limit


class ConvertedModel(MujocoModel):
    """The robot's spanning tree in MuJoCo, with the interface of comparisons, and its specification.

    specification: MuJoCo's MjSpec. It contains limits of position and effort, damping, dry friction, armature and
    springs of joints; an equality constraint for every mimic joint, with the joint's name; a site for every
    frame other than bodies; and the velocity limits as the custom number "velocity_limit". `model` is evaluated
    without constraints, damping, friction and springs; `compiled` returns one with them.
    """

    def __init__(self, robot: Tree) -> None:
        whole, self.mimic_map = robot.spanning, robot.mimic_map
        model = model_of(whole, bodies_alone(without_losses(whole)), lambda spec: self._furnish(whole, spec))
        model.dof_damping[:] = model.dof_frictionloss[:] = model.jnt_stiffness[:] = 0.0
        free_of_constraints(model)
        renamed = WORLD in whole.body_names
        self._serve(whole, model, (f"body {WORLD!r} is called {body_name(WORLD)!r}",) if renamed else ())

    def compiled(self) -> Any:
        """Return a new MjModel with constraints, damping, friction and springs."""
        return self.specification.compile()

    def held(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the acceleration (nv,) with mimic constraints, and MuJoCo's R [1/kg, 1/(kg m^2)] of each.

        R is the acceleration by which a constraint yields to a unit force. Limits, damping, friction and springs are
        off.
        """
        model = self.compiled()
        model.dof_damping[:] = model.dof_frictionloss[:] = model.jnt_stiffness[:] = 0.0
        free_of_constraints(model, but=("CONSTRAINT", "EQUALITY"))
        model.opt.tolerance = 0.0
        data, to = mujoco.MjData(model), self.layout
        data.qpos[:], data.qvel[:] = to.configuration_to_engine(q), to.velocity_to_engine(q, v)
        data.qfrc_applied[:] = to.force_to_engine(q, tau)
        mujoco.mj_forward(model, data)
        return to.acceleration_from_engine(q, v, np.array(data.qacc)), np.array(data.efc_R)

    def _furnish(self, robot: Tree, spec: Any) -> None:
        self.specification = spec
        spec.option.gravity = robot.gravity
        furnish_joints(robot, spec)
        if np.isfinite(robot.velocity_limit).any():
            most = np.where(np.isfinite(robot.velocity_limit), robot.velocity_limit, mujoco.mjMAXVAL)
            spec.add_numeric(name=VELOCITY_LIMIT, data=most, size=robot.nv)
        _add_sites(robot, spec)
        if self.mimic_map is not None:
            constrain_mimic_joints(self.mimic_map, spec)


def constrain_mimic_joints(mimic_map: MimicMap, spec: Any) -> None:
    """Enforce q_b = k q_a + o by MuJoCo's equality constraints, as stiff as its soft constraints can be."""
    for mimic_joint, (mimicked, multiplier, offset) in mimic_map.lines().items():
        held = spec.add_equality(name=mimic_joint, name1=mimic_joint, name2=mimicked)
        held.type, held.objtype = mujoco.mjtEq.mjEQ_JOINT, mujoco.mjtObj.mjOBJ_JOINT
        held.data[:5] = [offset, multiplier, 0.0, 0.0, 0.0]  # polynomial of the mimicked joint's position
        held.solref[:] = [STEPS * spec.option.timestep, 1.0]
        held.solimp[:2] = IMPEDANCE


def furnish_joints(robot: Tree, spec: Any) -> None:
    """Set the joints' names, limits, damping, friction, armature and springs.

    Raises UnsupportedError if they differ between a joint's degrees of freedom.
    """
    for body in robot.bodies:
        (joint,) = spec.body(body_name(body.name)).joints
        joint.name = body.joint.name
        _furnish_joint(joint, body.joint)


def _furnish_joint(joint: Any, given: Joint) -> None:
    for label, name in (
        ("damping", "damping"),
        ("joint_friction", "frictionloss"),
        ("armature", "armature"),
        ("stiffness", "stiffness"),
    ):
        values = np.unique(getattr(given, label))
        if values.size != 1:
            raise UnsupportedError(f"joint {quoted(given.name)}: MuJoCo has one {label} for all directions of a joint")
        if name in ("damping", "stiffness"):
            getattr(joint, name)[0] = values[0]  # linear; the others are for higher powers
        else:
            setattr(joint, name, values[0])
    if given.nv == 1:
        joint.springref = float(np.ravel(given.rest)[0])
        lower, upper, effort = (float(x[0]) for x in map(np.atleast_1d, (given.lower, given.upper, given.effort_limit)))
        if np.isfinite([lower, upper]).any():
            joint.range = np.clip([lower, upper], -mujoco.mjMAXVAL, mujoco.mjMAXVAL)
            joint.limited = mujoco.mjtLimited.mjLIMITED_TRUE
        if np.isfinite(effort):
            joint.actfrcrange = [-effort, effort]


def _add_sites(robot: Tree, spec: Any) -> None:
    for frame in list(robot.frames.values())[robot.n_bodies :]:
        owner = spec.worldbody if frame.body == 0 else spec.body(body_name(robot.body_names[frame.body - 1]))
        quaternion = np.empty(4)
        mujoco.mju_mat2Quat(quaternion, np.ascontiguousarray(frame.placement.rotation).ravel())
        owner.add_site(name=frame.name, pos=frame.placement.translation, quat=quaternion)
