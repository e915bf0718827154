"""Parts of a converted model, on which the whole is checked in a time linear in the number of bodies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby

import numpy as np
import pinocchio as pin

import treesim
from treesim import Placement
from treesim.compare import EngineError
from treesim.errors import quoted

from .model import PinocchioModel
from .reading import se3

PART = 64  # degrees of freedom; `pinocchio.Data` has four tensors of the third power: 8 MB


def parts(whole: PinocchioModel) -> Iterator[PinocchioModel]:
    """Yield models of consecutive bodies of a model that `from_tree` built, which have its joints and inertias.

    A body whose parent is in another part is on the part's base, in the parent's frame. Mimic joints may mimic joints
    of other parts: their robots are one part. Raises EngineError for a joint that has another parent in the model.
    """
    robot, parents = whole.robot, whole.model.parents
    if robot.nv <= PART or robot.mimic_map is not None:
        yield whole
        return
    for body, number in zip(robot.bodies, whole.numbers, strict=True):
        if parents[number] != (whole.numbers[body.parent - 1] if body.parent else 0):
            raise EngineError(f"{quoted(robot.name)}: joint {quoted(body.joint.name)} has another parent in Pinocchio")
    for _, some in groupby(range(robot.n_bodies), lambda i: robot.v_index[robot.joint_names[i]].start // PART):
        yield _part(whole, list(some))


def _part(whole: PinocchioModel, places: list[int]) -> PinocchioModel:
    """Return the model of the bodies at consecutive places (from 0) of the robot's list."""
    source, model, first = whole.model, pin.Model(), places[0]
    bodies, armature = [], []
    for i in places:
        body, number = whole.robot.bodies[i], whole.numbers[i]
        parent, joint, placement = body.parent - first, source.joints[number], source.jointPlacements[number]
        if parent < 1:  # on the part's base, in the parent's frame
            turn = whole.turned[whole.robot.joint_names[body.parent - 1]] if body.parent else np.eye(3)
            parent, placement = 0, se3(Placement(turn)) * placement
        index = model.addJoint(parent, joint, placement, source.names[number])
        model.appendBodyToJoint(index, source.inertias[number], pin.SE3.Identity())
        bodies.append(replace(body, parent=parent))
        armature.append(source.armature[joint.idx_v : joint.idx_v + joint.nv])
    model.armature = np.concatenate(armature)
    part = treesim.Tree(whole.robot.name, bodies, gravity=whole.robot.gravity)
    return PinocchioModel(part, model, whole.turned)
