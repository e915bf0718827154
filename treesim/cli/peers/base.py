"""What `treesim bench` asks of another engine, and a robot's bodies as a URDF that any of them reads."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

import numpy as np

from ...compare.own import without_losses
from ...model.joints import Joint
from ...model.tree import Tree
from ...urdf import to_urdf
from ...urdf.build import ROOT_JOINT
from ..contenders import Contender, Motion, States

FORWARD, INVERSE, MASS, SOLVE, ROLLOUT = (
    "forward dynamics", "inverse dynamics", "mass matrix", "M⁻¹ τ", "rollout",
)  # fmt: skip
SAMPLE = 8  # states of a batch whose results are looked at


class Peer(Protocol):
    """Another engine with a robot in it. Its constructor takes treesim's tree and the URDF text that was read, and
    raises UnsupportedError, saying why, if the engine is not installed or cannot take the robot."""

    name: str
    version: str

    def __init__(self, robot: Tree, xml: str) -> None: ...

    def calls(self, state: States) -> list[Contender]:
        """Return the calls on one state."""
        ...

    def batches(self, states: States, threads: int) -> list[Contender]:
        """Return the calls on many states, on so many threads."""
        ...

    def rollouts(self, motion: Motion, threads: int) -> list[Contender]:
        """Return the calls that simulate from many states, on so many threads."""
        ...


def bodies_alone(robot: Tree) -> str:
    """Return a robot's bodies and joints as URDF: no frames, shapes, limits, damping, friction, or armature.

    A floating base hangs on a joint of its own, of type floating, below a massless root.
    """
    bare = without_losses(robot)
    bodies = [replace(body, joint=_unlimited(body.joint)) for body in bare.bodies]
    return to_urdf(Tree(robot.name, bodies, gravity=robot.gravity.tolist()), principal=True)


def _unlimited(joint: Joint) -> Joint:
    name = f"{ROOT_JOINT}_" if joint.name == ROOT_JOINT else joint.name  # by its own name it would not be written
    return replace(joint, name=name, lower=-np.inf, upper=np.inf)
