"""A robot as a specification and a model of MuJoCo's that programs use: with limits, losses, names and sites."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np

from treesim.compare.source import without_losses
from treesim.errors import UnsupportedError

from .model import MujocoModel
from .reading import bodies_alone, free_of_constraints, model_of

if TYPE_CHECKING:
    from treesim import Joint, Tree

VELOCITY_LIMIT = "velocity_limit"  # a custom number of the model: MuJoCo's joints have no such limit


class ConvertedModel(MujocoModel):
    """The robot in MuJoCo, asked as for a comparison, and what it was compiled from.

    specification: MuJoCo's MjSpec, with limits of position and effort, damping, dry friction and armature in its
    joints, a site for every frame that is no body's, and the velocity limits as the custom number "velocity_limit".
    `model` is asked, without constraints and losses; `compiled` makes one with them.
    """

    def __init__(self, robot: Tree) -> None:
        model = model_of(robot, bodies_alone(without_losses(robot)), lambda spec: self._furnish(robot, spec))
        model.dof_damping[:], model.dof_frictionloss[:] = 0.0, 0.0
        free_of_constraints(model)
        self._serve(robot, model, ())

    def compiled(self) -> Any:
        """Return a new MjModel with constraints and losses."""
        return self.specification.compile()

    def _furnish(self, robot: Tree, spec: Any) -> None:
        self.specification = spec
        spec.option.gravity = robot.gravity
        for body in robot.bodies:
            (joint,) = spec.body(body.name).joints
            joint.name = body.joint.name
            _furnish_joint(joint, body.joint)
        if np.isfinite(robot.velocity_limit).any():
            most = np.where(np.isfinite(robot.velocity_limit), robot.velocity_limit, mujoco.mjMAXVAL)
            spec.add_numeric(name=VELOCITY_LIMIT, data=most, size=robot.nv)
        _add_sites(robot, spec)


def _furnish_joint(joint: Any, given: Joint) -> None:
    """Give a joint its limits and losses; raises UnsupportedError for those that differ between its directions."""
    for label, name in (("damping", "damping"), ("friction", "frictionloss"), ("armature", "armature")):
        values = np.unique(getattr(given, label))
        if values.size != 1:
            raise UnsupportedError(f"joint {given.name!r}: MuJoCo has one {label} for all directions of a joint")
        if name == "damping":
            joint.damping[0] = values[0]  # linear; those behind it are of higher powers of the velocity
        else:
            setattr(joint, name, values[0])
    if given.nv == 1:
        lower, upper, effort = (float(x[0]) for x in map(np.atleast_1d, (given.lower, given.upper, given.effort)))
        if np.isfinite([lower, upper]).any():
            joint.range = np.clip([lower, upper], -mujoco.mjMAXVAL, mujoco.mjMAXVAL)
            joint.limited = mujoco.mjtLimited.mjLIMITED_TRUE
        if np.isfinite(effort):
            joint.actfrcrange = [-effort, effort]


def _add_sites(robot: Tree, spec: Any) -> None:
    for frame in list(robot.frames.values())[robot.n_bodies :]:
        owner = spec.worldbody if frame.body == 0 else spec.body(robot.body_names[frame.body - 1])
        quaternion = np.empty(4)
        mujoco.mju_mat2Quat(quaternion, np.ascontiguousarray(frame.placement.rotation).ravel())
        owner.add_site(name=frame.name, pos=frame.placement.translation, quat=quaternion)
