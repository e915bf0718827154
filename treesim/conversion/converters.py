"""Public functions that convert robots and states for other engines; `compare.conversion` implements them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ArgumentError
from ..model.named_axes import coordinate_argument, velocity_argument
from ..model.quaternions import refuse_lengths
from ..model.tree import Tree
from ..states.arguments import checked_robot
from ..validation.arrays import Argument, coerce
from ..validation.values import checked_text


def to_pinocchio(robot: Tree) -> Any:
    """Return the robot as a pinocchio.Model, for use in Pinocchio, pink, crocoddyl or tsid.

    A joint has the same number (from 1) as its body in treesim. Position, velocity and effort limits, damping, dry
    friction, armature and gravity are included for joints of every type. Frames keep their names; frames of bodies have
    type BODY, others OP_FRAME. Before the function returns the model, it compares the model's bodies, poses and
    dynamics with treesim's at random states. `convert_state(robot, q, v, to="pinocchio")` converts states. A call takes
    about 1 ms for each body. Robots with mimic joints and more than 64 degrees of freedom take longer.

    Mimic joints become Pinocchio's mimic joints, which follow their mimicked joints exactly. Mimicked joints are
    numbered before their mimic joints. Pinocchio's functions `rnea`, `crba`, kinematics and Jacobians support models
    with mimic joints. Pinocchio's functions `aba`, `computeMinverse`, energies and derivatives do not support such
    models.

    Parameters
    ----------
    robot : Tree
        Robot.

    Returns
    -------
    pinocchio.Model
        Model of the robot.

    Raises
    ------
    PluginError
        If the plugin is missing; the message contains the install command.
    UnsupportedError
        If a mimic joint is an ancestor of its mimicked joint; load the robot with mimic="free", or pass
        `robot.spanning`.
    EngineError
        If results of the model differ from treesim's; the message names the body or joint.

    Warns
    -----
    ConversionWarning
        If loops are left open, or joints have springs, which Pinocchio does not have.

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> model = treesim.to_pinocchio(robot)
    >>> model.nv, model.getJointId("elbow_joint"), model.existFrame("ee_link")
    (6, 3, True)
    """
    from ..compare.conversion import converted

    return converted(checked_robot(robot), "pinocchio").model


def to_mujoco(robot: Tree) -> Any:
    """Return the robot as a mujoco.MjModel, for use in MuJoCo or mink, without shapes and actuators.

    Bodies and joints keep their names; frames other than bodies become sites. Position and effort limits, damping, dry
    friction, armature, springs and gravity are included. MuJoCo has no velocity limits; velocity limits become the
    custom number "velocity_limit". Before the model is returned, its dynamics are compared with treesim's at random
    states. `to_mujoco_spec` returns a specification, which can be edited before compilation and written as XML.

    In MuJoCo, mimic joints have coordinates of their own. An equality constraint with the name of the mimic joint
    couples it to the mimicked joint. MuJoCo's equality constraints are always soft. Even the hardest setting leaves
    a fraction of 1e-4 to 1e-3 of the acceleration that violates the constraint. The comparison of accelerations
    allows for this compliance.

    Parameters
    ----------
    robot : Tree
        Robot.

    Returns
    -------
    mujoco.MjModel
        Model of the robot.

    Raises
    ------
    PluginError
        If the plugin is missing; the message contains the install command.
    UnsupportedError
        If MuJoCo lacks a joint's type: planar joints, and floating joints other than the base.
    EngineError
        If results of the model differ from treesim's; the message names the body or joint.

    Warns
    -----
    ConversionWarning
        If loops are left open. If a body "world" is renamed to "world_that_moves", because MuJoCo's own world has the
        name "world".

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> model = treesim.to_mujoco(robot)
    >>> model.nv, model.joint("elbow_joint").qposadr[0].item(), model.site("ee_link").name
    (6, 2, 'ee_link')
    """
    from ..compare.conversion import converted

    return converted(checked_robot(robot), "mujoco").compiled()


def to_mujoco_spec(robot: Tree) -> Any:
    """Return the robot as a mujoco.MjSpec, which can be edited, compiled, and written as XML.

    Parameters
    ----------
    robot : Tree
        Robot.

    Returns
    -------
    mujoco.MjSpec
        Specification: `to_xml()` returns XML, `compile()` returns the model of `to_mujoco`. Errors and warnings are
        those of `to_mujoco`.

    Examples
    --------
    >>> spec = treesim.to_mujoco_spec(treesim.load("ur5"))
    >>> '<joint name="elbow_joint"' in spec.to_xml()
    True
    """
    from ..compare.conversion import converted

    return converted(checked_robot(robot), "mujoco").specification


def convert_state(
    robot: Tree, q: ArrayLike, v: ArrayLike, *, to: str = "treesim", source: str = "treesim", model: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """Convert a configuration and a velocity from the convention of one engine to that of another.

    The conventions "pinocchio" and "mujoco" are those of the models that `to_pinocchio` and `to_mujoco` return. The
    convention "drake" is that of a MultibodyPlant that contains only this robot. The convention "pybullet" is the pose
    of the base, followed by the joints in PyBullet's order. The page "Conventions" compares all of them.
    Pinocchio represents some angles by cosine and sine; such an angle is between -pi and pi after the conversion to
    treesim.

    A model that Pinocchio itself built from the URDF has its joints in another order than `to_pinocchio(robot)`, which
    equal array sizes often conceal. To convert states of such a model, pass it as the argument `model`.

    Mimic joints have no coordinates in treesim and in the models of `to_pinocchio`. In other models, mimic joints can
    have coordinates. The conversion from treesim computes these coordinates from the mimicked joints; the conversion to
    treesim ignores them.

    Parameters
    ----------
    robot : Tree
        Robot.
    q : array_like, shape (..., n)
        Configuration in the convention of `source`.
    v : array_like, shape (..., m)
        Velocity in the convention of `source`.
    to, source : {"treesim", "pinocchio", "mujoco", "pybullet", "drake"}
        Target and source convention.
    model : pinocchio.Model, optional
        Model that defines the convention "pinocchio"; `to_pinocchio(robot)` by default. Joints of the model are matched
        by name, and a floating base by its type. The motion of every joint of the model is compared with treesim's at
        random states.

    Returns
    -------
    q : ndarray
        Configuration in the convention of `to`.
    v : ndarray
        Velocity in the convention of `to`.

    Raises
    ------
    PluginError
        If the engine's plugin is missing; the message contains the install command. "drake" needs no plugin.
    UnsupportedError
        If an engine lacks a joint's type.
    ArgumentError
        If an array has another shape. If `model` is the model of another robot; the message names the joints that do
        not fit.

    Examples
    --------
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
    to, source = checked_text("to", to), checked_text("source", source)
    if model is not None and "pinocchio" not in (to, source):
        raise ArgumentError(
            'model= is for a pinocchio.Model: add to="pinocchio" or source="pinocchio", or leave it out'
        )
    there, here = (layout_of(robot, name, model if name == "pinocchio" else None) for name in (to, source))
    neutral = robot.neutral()
    sizes = here.configuration_to_engine(neutral).size, here.velocity_to_engine(neutral, np.zeros(robot.nv)).size
    arguments = [Argument(label, x, (n,)) for label, x, n in zip(("q", "v"), (q, v), sizes, strict=True)]
    if source == "treesim":
        arguments = [coordinate_argument(robot, "q", q), velocity_argument(robot, "v", v)]
    given = [coerce(argument) for argument in arguments]
    if given[0].shape[:-1] != given[1].shape[:-1]:
        raise ArgumentError(f"q and v have the leading axes {given[0].shape[:-1]} and {given[1].shape[:-1]}")
    own = here.configuration_from_engine(given[0])
    refuse_lengths(robot, "q", own)
    velocity = here.velocity_from_engine(own, given[1])
    return there.configuration_to_engine(own), there.velocity_to_engine(own, velocity)
