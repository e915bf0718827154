"""Robots as models of other engines, and states between their conventions and treesim's; the work is
`compare.conversion`'s."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ArgumentError
from ..model.quaternions import refuse_lengths
from ..model.tree import Tree
from ..states.arguments import checked_robot
from ..validation.arrays import Argument, coerce


def to_pinocchio(robot: Tree) -> Any:
    """Return the robot as a pinocchio.Model, for whatever takes one (pink, crocoddyl, tsid).

    Joints are numbered as the bodies are; joints of every type, limits of position, velocity and effort, damping, dry
    friction, armature and gravity are carried over; frames have the names that they have here, bodies' of type BODY,
    others' OP_FRAME. Before it is returned, bodies, poses, mass matrix, bias and forward dynamics are compared with
    treesim's on random states. States: `convert_state(robot, q, v, to="pinocchio")`. Joints that follow others are
    mimic joints, exactly; leaders are numbered before them. Pinocchio's `aba`, `computeMinverse`, energies and
    derivatives do not take such models; `rnea`, `crba`, kinematics and Jacobians do.
    Raises PluginError, saying how to install the plugin; UnsupportedError for followers that carry their leaders
    (load the robot with mimic="free", or take `robot.spanning`); EngineError naming the body or joint that is not the
    same. Loops are left open, which a ConversionWarning tells. Some milliseconds.

    Example:
        >>> robot = treesim.load("ur5")
        >>> model = treesim.to_pinocchio(robot)
        >>> model.nv, model.getJointId("elbow_joint"), model.existFrame("ee_link")
        (6, 3, True)
    """
    from ..compare.conversion import converted

    return converted(checked_robot(robot), "pinocchio").model


def to_mujoco(robot: Tree) -> Any:
    """Return the robot as a mujoco.MjModel, for whatever takes one (mink).

    Bodies and joints have the names that they have here, frames that are no body's are sites. Limits of position and
    effort, damping, dry friction, armature and gravity are carried over; velocity limits, which MuJoCo has not, are the
    custom number "velocity_limit". No shapes, and no actuators. A body called "world", as MuJoCo calls its own, is
    "world_that_moves", which a ConversionWarning tells. Checks, errors and warnings as `to_pinocchio`;
    UnsupportedError, too, for joints that MuJoCo does not know (planar, and floating ones within a robot).
    Joints that follow others have coordinates of their own there, and are held by equality constraints of their names,
    which MuJoCo has soft only: as hard as they come, they let 1e-4 to 1e-3 pass of the acceleration with which
    followers would leave their leaders. Accelerations are held to what such constraints should give, as exactly as all
    others.
    `to_mujoco_spec` returns what can be edited before it is compiled, and written as XML.

    Example:
        >>> robot = treesim.load("ur5")
        >>> model = treesim.to_mujoco(robot)
        >>> model.nv, model.joint("elbow_joint").qposadr[0].item(), model.site("ee_link").name
        (6, 2, 'ee_link')
    """
    from ..compare.conversion import converted

    return converted(checked_robot(robot), "mujoco").compiled()


def to_mujoco_spec(robot: Tree) -> Any:
    """Return the robot as a mujoco.MjSpec: `to_xml()` writes it, `compile()` makes what `to_mujoco` returns.

    Example:
        >>> spec = treesim.to_mujoco_spec(treesim.load("ur5"))
        >>> '<joint name="elbow_joint"' in spec.to_xml()
        True
    """
    from ..compare.conversion import converted

    return converted(checked_robot(robot), "mujoco").specification


def convert_state(
    robot: Tree, q: ArrayLike, v: ArrayLike, to: str = "treesim", source: str = "treesim"
) -> tuple[np.ndarray, np.ndarray]:
    """Return configuration and velocity (..., n) of an engine, for q and v (..., n) of another, or of the same.

    to, source: "treesim", "pinocchio", "mujoco", "pybullet" or "drake"; docs/conventions.md has them side by side. The
    numbers of an engine are those of the model that `to_pinocchio` and `to_mujoco` return, of a MultibodyPlant that
    holds the robot alone, and of PyBullet the base's position and orientation, then the joints, in its order; all take
    leading axes of states. An angle that Pinocchio has as cosine and sine comes back between -pi and pi.
    Raises PluginError, saying how to install what is missing ("drake" needs nothing), UnsupportedError for joints that
    an engine does not know, ArgumentError. Joints that follow others have no coordinates here, nor in Pinocchio;
    elsewhere they have, which are what their leaders' make them, and do not count on the way back.

    Example:
        >>> robot = treesim.load("g1_29dof_rev_1_0", base="floating")
        >>> q, v = robot.random(0), np.arange(35.0)
        >>> qpos, qvel = treesim.convert_state(robot, q, v, to="mujoco")
        >>> qpos[3] == q[6], np.array_equal(qvel[3:], v[3:])  # w comes first; angular velocities are the base's own
        (np.True_, True)
        >>> again = treesim.convert_state(robot, qpos, qvel, source="mujoco")
        >>> all(np.allclose(*pair) for pair in zip(again, (q, v), strict=True))
        True
    """
    from ..compare.conversion import layout_of

    robot = checked_robot(robot)
    there, here = layout_of(robot, to), layout_of(robot, source)
    neutral = robot.neutral()
    sizes = here.configuration_to_engine(neutral).size, here.velocity_to_engine(neutral, np.zeros(robot.nv)).size
    given = [coerce(Argument(label, x, (n,))) for label, x, n in zip(("q", "v"), (q, v), sizes, strict=True)]
    if given[0].shape[:-1] != given[1].shape[:-1]:
        raise ArgumentError(f"q and v have the leading axes {given[0].shape[:-1]} and {given[1].shape[:-1]}")
    own = here.configuration_from_engine(given[0])
    refuse_lengths(robot, "q", own)
    velocity = here.velocity_from_engine(own, given[1])
    return there.configuration_to_engine(own), there.velocity_to_engine(own, velocity)
