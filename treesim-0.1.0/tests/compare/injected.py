"""Twenty mistakes made in the file that the other side gets, and the explanation that each should have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from lxml import etree
from scipy.spatial.transform import Rotation

import treesim
from treesim import Tree
from treesim.compare import Causes, EngineModel
from treesim.compare.description import Description, read_description
from treesim.compare.source import without_losses
from treesim.compare.treesim_engine import TreesimModel

Element = Any


@dataclass(frozen=True)
class Injected:
    """A mistake: in which robot, at which link or joint, of which kind, and the edit that makes it. kinds: those that
    name it rightly; base: of the robot."""

    robot: str
    owner: str
    kinds: tuple[str, ...]
    edit: Callable[[Element], None]
    base: str = "floating"

    @property
    def id(self) -> str:
        return f"{self.robot}-{self.kinds[0]}"


def link(name: str, path: str, edit: Callable[[Element], None]) -> Callable[[Element], None]:
    return lambda root: edit(root.find(f"link[@name='{name}']/{path}"))


def joint(name: str, path: str, edit: Callable[[Element], None]) -> Callable[[Element], None]:
    return lambda root: edit(root.find(f"joint[@name='{name}']/{path}"))


def numbers(element: Element, attribute: str) -> np.ndarray:
    return np.array(element.get(attribute).split(), dtype=float)


def put(element: Element, attribute: str, values: np.ndarray) -> None:
    element.set(attribute, " ".join(repr(float(x)) for x in np.atleast_1d(values)))


def scaled(attribute: str, factors: object) -> Callable[[Element], None]:
    return lambda element: put(element, attribute, numbers(element, attribute) * np.asarray(factors))


def assigned(**values: str) -> Callable[[Element], None]:
    return lambda element: element.attrib.update(values)


def removed(element: Element) -> None:
    element.getparent().remove(element)


def products_negated(element: Element) -> None:
    for entry in ("ixy", "ixz", "iyz"):
        element.set(entry, str(-float(element.get(entry))))


def about_the_frame(inertial: Element) -> None:
    """The parallel-axis theorem, though the file's inertia is about the centre of mass; rpy is zero here."""
    m, (x, y, z) = float(inertial.find("mass").get("value")), numbers(inertial.find("origin"), "xyz")
    shift = m * np.array([y * y + z * z, -x * y, -x * z, x * x + z * z, -y * z, x * x + y * y])
    for entry, more in zip(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), shift, strict=True):
        put(inertial.find("inertia"), entry, np.array([float(inertial.find("inertia").get(entry)) + more]))


def one_kilogram(inertial: Element) -> None:
    inertial.find("mass").set("value", "1")
    inertial.find("inertia").attrib.update({"ixx": "1", "iyy": "1", "izz": "1"})


def in_other_order(origin: Element) -> None:
    """Extrinsic x, y, z angles that stand for the intrinsic ones of the file."""
    put(origin, "rpy", Rotation.from_euler("XYZ", numbers(origin, "rpy")).as_euler("xyz"))


class OtherFile(TreesimModel):
    """treesim reading another file; its joints are ours, in our order."""

    engine = "the other file"

    def __init__(self, robot: Tree, other: Tree) -> None:
        super().__init__(other, None)
        assert other.joint_names == robot.joint_names


@cache
def description_of(robot: str, base: str) -> Description:
    if robot != PRINCIPAL:
        return read_description(robot, base)
    panda = treesim.load("panda", mimic="free")
    return read_description(treesim.to_urdf(panda, principal=True, shapes=False), "fixed")


def text_of(injected: Injected, description: Description) -> str:
    return etree.tostring(description.edited(injected.edit).root, encoding="unicode")


def by_treesim(injected: Injected, description: Description) -> EngineModel:
    other = description.edited(injected.edit)
    return OtherFile(description.robot, without_losses(other.robot))


def explains(injected: Injected, causes: Causes) -> bool:
    """Whether everything is explained by one cause, of the right kind, at the right link or joint, with its line."""
    if not causes.complete or len(causes.explanations) != 1:
        return False
    (found,) = causes.explanations
    return found.owner == injected.owner and found.kind in injected.kinds and bool(found.place)


G1, TALOS, PRINCIPAL = "g1_29dof_rev_1_0", "talos_reduced", "panda along principal axes"
INERTIA, MASS, ORIGIN = "inertial/inertia", "inertial/mass", "inertial/origin"

INJECTED = [
    Injected(PRINCIPAL, "link 'panda_link4'", ("inertia_not_rotated",),
             link("panda_link4", ORIGIN, lambda origin: origin.attrib.pop("rpy"))),
    Injected(TALOS, "link 'arm_left_4_link'", ("products_flipped",),
             link("arm_left_4_link", INERTIA, products_negated)),
    Injected(G1, "link 'left_knee_link'", ("ixz_flipped",), link("left_knee_link", INERTIA, scaled("ixz", -1))),
    Injected(G1, "link 'left_elbow_link'", ("products_dropped",),
             link("left_elbow_link", INERTIA, assigned(ixy="0", ixz="0", iyz="0"))),
    Injected("ur5", "link 'forearm_link'", ("com_not_moved", "inertial_origin_ignored"),
             link("forearm_link", ORIGIN, removed), "fixed"),
    Injected(TALOS, "link 'gripper_left_inner_double_link'", ("mass_dropped",),
             link("gripper_left_inner_double_link", "inertial", removed)),
    Injected("a1", "link 'FR_foot'", ("mass_dropped",), link("FR_foot", "inertial", removed)),
    Injected("panda", "link 'panda_link8'", ("one_kilogram",), link("panda_link8", "inertial", one_kilogram), "fixed"),
    Injected("panda", "joint 'panda_hand_joint'", ("rpy_ignored",),
             joint("panda_hand_joint", "origin", assigned(rpy="0 0 0")), "fixed"),
    Injected("a1", "joint 'FL_calf_joint'", ("axis_flipped",), joint("FL_calf_joint", "axis", scaled("xyz", -1))),
    Injected(G1, "joint 'waist_yaw_joint'", ("axis_x",), joint("waist_yaw_joint", "axis", removed)),
    Injected(G1, "joint 'left_shoulder_pitch_joint'", ("rpy_order",),
             joint("left_shoulder_pitch_joint", "origin", in_other_order)),
    Injected(G1, "joint 'right_hip_roll_joint'", ("rpy_ignored",),
             joint("right_hip_roll_joint", "origin", assigned(rpy="0 0 0"))),
    Injected("ur5", "joint 'elbow_joint'", ("xyz_in_millimetres",),
             joint("elbow_joint", "origin", scaled("xyz", 1000)), "fixed"),
    Injected("panda", "joint 'panda_joint4'", ("rpy_in_degrees",),
             joint("panda_joint4", "origin", scaled("rpy", 180 / np.pi)), "fixed"),
    Injected(TALOS, "link 'leg_left_3_link'", ("parallel_axis_twice",),
             link("leg_left_3_link", "inertial", about_the_frame)),
    Injected("a1", "link 'FL_thigh'", ("mass",), link("FL_thigh", MASS, scaled("value", 1.1))),
    Injected("a1", "joint 'RL_hip_joint'", ("xyz_y_flipped",),
             joint("RL_hip_joint", "origin", scaled("xyz", [1, -1, 1]))),
    Injected(G1, "link 'head_link'", ("inertia_times_1e+3",),
             lambda root: [link("head_link", INERTIA, scaled(entry, 1000))(root)
                           for entry in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")]),
    Injected(TALOS, "link 'head_2_link'", ("com",), link("head_2_link", ORIGIN, scaled("xyz", 1.2))),
]  # fmt: skip
