"""State layout of a pinocchio.Model that the user made, for example by `pinocchio.buildModelFromUrdf`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pinocchio as pin

import treesim
from treesim.compare.layouts import Layout, SpanningLayout
from treesim.errors import ArgumentError, listed, quoted

from .layout import PinocchioLayout, joint_numbers

if TYPE_CHECKING:
    from treesim import Tree

TOLERANCE = 1e-6  # of poses [m, rad]: Pinocchio rounds angles of URDF files otherwise than treesim
FREE = pin.JointModelFreeFlyer().shortname()
SHOWN = 5  # joints that an error lists


def user_layout(robot: Tree, model: Any) -> Layout:
    """Return the layout of a robot's states in a user's model; raises ArgumentError if the joints differ.

    Mimic joints may or may not have coordinates in the model. Joints are matched by name, a floating base by its type.
    """
    if not isinstance(model, pin.Model):
        raise ArgumentError(f"model must be a pinocchio.Model, got {type(model).__name__}")
    ids = _joint_ids(robot, model)
    _check_joints(robot, model, ids)
    layout = cast(Layout, SpanningLayout(robot, cast(Layout, UserLayout(robot.spanning, model, ids))))
    _check_motion(robot, model, ids, layout)
    return layout


class UserLayout(PinocchioLayout):
    """Layout of a spanning tree in a user's model; joints without coordinates there are zero on the way back."""

    def __init__(self, robot: Tree, model: Any, ids: dict[str, int]) -> None:
        super().__init__(robot, model, {name: k for name, k in ids.items() if model.joints[k].nq})
        self.nv = robot.nv

    def velocity_from_engine(self, q: np.ndarray, theirs: np.ndarray) -> np.ndarray:
        """Return Pinocchio's velocity as v (..., nv)."""
        v = np.zeros((*theirs.shape[:-1], self.nv))
        v[..., self.v_order] = theirs
        return v


def _joint_ids(robot: Tree, model: Any) -> dict[str, int]:
    """Return the number of every joint of the robot in the model."""
    ours, theirs = dict.fromkeys(robot.joint_names), joint_numbers(model)
    bases = [name for name in ours if name not in theirs and robot.joint(name).type == "floating"]
    roots = [name for name, k in theirs.items() if name not in ours and model.joints[k].shortname() == FREE]
    renamed = dict(zip(bases, roots, strict=True)) if len(bases) == len(roots) == 1 else {}
    missing = [name for name in ours if renamed.get(name, name) not in theirs]
    more = [name for name in theirs if name not in ours and name not in renamed.values()]
    parts = [
        f"{of} {listed(names[:SHOWN])}{' and others' * (len(names) > SHOWN)}"
        for of, names in (("the model lacks", missing), (f"{robot.name!r} lacks", more)) if names
    ]  # fmt: skip
    if parts:
        raise ArgumentError(
            f"the model has other joints than {quoted(robot.name)}: {'; '.join(parts)}; make both from the same URDF, "
            "with the same base (JointModelFreeFlyer here, base='floating' in treesim.load)"
        )
    return {name: theirs[renamed.get(name, name)] for name in ours}


def _check_joints(robot: Tree, model: Any, ids: dict[str, int]) -> None:
    """Raise ArgumentError for a joint with other numbers of coordinates than the robot's."""
    whole = robot.spanning
    for name, k in ids.items():
        joint, nq = model.joints[k], whole.joint(name).nq
        angular = whole.joint(name).type in ("revolute", "continuous", "planar")  # as cosine and sine in Pinocchio
        fits = joint.nv == whole.joint(name).nv and joint.nq in ((nq, nq + 1) if angular else (nq,))
        dependent = joint.nq == 0 and name in robot.mimic_joints
        if not (fits or dependent):
            raise ArgumentError(
                f"joint {quoted(name)} has nq {joint.nq} and nv {joint.nv} in the model ({joint.shortname()}), but it "
                "is "
                f"{whole.joint(name).type} in {quoted(robot.name)}, with nq {nq} and nv {whole.joint(name).nv}"
            )


def _check_motion(robot: Tree, model: Any, ids: dict[str, int], layout: Layout) -> None:
    """Raise ArgumentError for the first joint that moves otherwise than in the robot, at two random states.

    Axes of joint frames may differ by a constant rotation: rotations are compared from state to state.
    """
    data, ours, theirs = model.createData(), [], []
    for seed in (0, 1):
        q = robot.random(seed)
        pin.forwardKinematics(model, data, layout.configuration_to_engine(q))
        theirs.append(np.array([data.oMi[k].homogeneous for k in ids.values()]))
        ours.append(treesim.body_poses(robot, q)[1:])
    turns = [b[:, :3, :3] @ np.swapaxes(a[:, :3, :3], -1, -2) for a, b in (ours, theirs)]
    apart = np.abs(turns[0] - turns[1]).max(axis=(1, 2), initial=0.0)
    for a, b in zip(ours, theirs, strict=True):
        apart = np.maximum(apart, np.abs(a[:, :3, 3] - b[:, :3, 3]).max(axis=1, initial=0.0))
    for name, difference in zip(ids, apart, strict=True):
        if not difference <= TOLERANCE:
            raise ArgumentError(
                f"joint {quoted(name)} moves otherwise in the model than in {quoted(robot.name)}: poses of its body "
                "differ by "
                f"{difference:.2g} at the same state; make both from the same URDF"
            )
