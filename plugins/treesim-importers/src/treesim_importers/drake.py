"""Rules of Drake, for `Parser(plant).AddModels(path)` with a SceneGraph, in a discrete-time plant."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

from lxml.etree import _Element

from treesim.urdf.document import name_of

from . import changes as c
from . import examples as ex
from . import predicates as p
from .description import WORLD, folder_of, mass_of, moments_of, number
from .effects import moments_text
from .outcome import Outcome
from .rule import Reader, Trigger, adds, alters, drops, ignores, refusal
from .triggers import (
    ARMATURE_ALONE,
    FRICTION,
    MIMIC,
    MOTION_LIMITS,
    NAMELESS_ROBOT,
    NEGATIVE_DAMPING,
    QUATERNION,
    WORLD_LINK,
)

JOINTS = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")
SHAPES = ("box", "sphere", "cylinder", "capsule", "mesh")
BY_SCENE_GRAPH = "with a SceneGraph the file is refused; without a SceneGraph shapes are not read"
HULLS = (".obj", ".vtk", ".gltf")


def _wrong_counts(outcome: Outcome) -> Iterator[_Element]:
    """Yield the elements with too few numbers, or with NaN."""
    for element in p.bad_numbers(outcome):
        for name, count in (("xyz", 3), ("rpy", 3), ("value", 1)):
            words = element.get(name, "0 " * count).split()
            if len(words) != count or "nan" in map(str.lower, words):
                yield element
                break


def _unresolved(outcome: Outcome) -> Iterator[_Element]:
    """Yield the visual and collision meshes that Drake does not find: it knows no packages by default."""
    for mesh in p.meshes(outcome):
        scheme, _, rest = (mesh.get("filename") or "").rpartition("://")
        if scheme in ("package", "model") or not rest or not (folder_of(outcome.description) / rest).is_file():
            yield mesh


def _colourless(outcome: Outcome) -> Iterator[_Element]:
    """Yield the materials without colour or texture that neither the robot nor an earlier visual defines."""
    known = {name_of(material) for material in outcome.description.root.findall("material")}
    for material in outcome.description.root.iterfind("link/visual/material"):
        if material.find("color") is not None or material.find("texture") is not None:
            known.add(name_of(material))
        elif name_of(material) not in known:
            yield material


def _without_hull(outcome: Outcome) -> Iterator[_Element]:
    for mesh in p.meshes(outcome, "collision"):
        if Path(mesh.get("filename") or "").suffix.lower() not in HULLS:
            yield mesh


def _weightless(link: _Element) -> bool:
    """Return whether a link has an inertial with a mass that is not positive, unless all its numbers are zero."""
    entries = moments_of(link) or (0.0,)
    return not p.bare(link) and mass_of(link) <= 0 and (mass_of(link) < 0 or any(entries))


def _free_roots(outcome: Outcome) -> Iterator[_Element]:
    for name in outcome.description.roots:
        if name != WORLD:
            yield outcome.description.link[name]


def _crossed(joint: _Element) -> bool:
    limit = joint.find("limit")
    lower, upper = (number(limit, name) for name in ("lower", "upper"))
    return p.is_moving(joint) and (-math.inf if lower is None else lower) > (math.inf if upper is None else upper)


def _undriven(outcome: Outcome) -> Iterator[_Element]:
    """Yield the joints without a <transmission>."""
    driven = {name_of(joint) for joint in outcome.description.root.iterfind("transmission/joint")}
    for joint in outcome.description.joints:
        if joint.get("type") in p.AXIAL and name_of(joint) not in driven:
            yield joint


RULES = (
    refusal("DR01", Trigger("a joint whose type is not in the URDF standard, such as spherical",
            p.joints_other_than(*JOINTS), ex.of_type("spherical")),
        '<drake:joint type="ball">'),
    refusal("DR02", Trigger("too few numbers in an attribute, or NaN", _wrong_counts,
            (('<origin xyz="0.3 0 0"/>', '<origin xyz="0.3 0"/>'),)),
        "write all numbers of the attribute"),
    refusal("DR03", NAMELESS_ROBOT, "give the robot a name"),
    refusal("DR04", Trigger("two links or joints with the same name, or a joint that names an unknown link",
            p.any_of(p.repeated_links, p.repeated_joints, p.loose_ends, p.carried_twice),
            ex.more('<link name="tool"/>')),
        "rename one of the links or joints; add the missing link"),
    refusal("DR05", Trigger("a zero axis", p.joints_where(p.zero_axis), ((ex.AXIS, '<axis xyz="0 0 0"/>'),)),
        "write an axis of length 1"),
    refusal("DR06", NEGATIVE_DAMPING, "write a damping that is not negative"),
    refusal("DR07", Trigger("a lower limit above the upper limit", p.joints_where(_crossed),
            ((ex.LIMIT, ex.LIMIT.replace("-1", "2")),)),
        "exchange the limits", effect="the process ends"),
    refusal("DR08", Trigger("<mimic> of a joint that does not exist", p.mimics_of_nobody,
            ex.second_joint(inside='<mimic joint="nobody"/>')),
        "write the name of a joint in the file"),
    refusal("DR09", Trigger("<loop_joint>", p.each("loop_joint"),
            ex.more('<loop_joint name="l" type="spherical"><link1 link="base"/><link2 link="tool"/></loop_joint>')),
        "<drake:linear_bushing_rpy> or a constraint in code"),
    refusal("DR10", Trigger("a mesh of a visual or collision that is not found, such as package:// with an unknown "
            "package", _unresolved, ex.shape("visual", '<mesh filename="package://robot/arm.obj"/>')),
        "parser.package_map().Add(name, folder)", effect=BY_SCENE_GRAPH),
    refusal("DR11", Trigger("a collision mesh that is not a .obj, .vtk or .gltf, such as .stl and .dae", _without_hull,
            ex.shape("collision", '<mesh filename="cube.stl"/>')),
        "convert the mesh to .obj", effect=BY_SCENE_GRAPH),
    refusal("DR12", Trigger("a visual or collision without a shape, or with a shape that Drake does not know",
            p.any_of(p.without_geometry(), p.with_unknown_geometry(SHAPES)), ex.shape("collision", "")),
        "remove the empty element", effect=BY_SCENE_GRAPH),
    refusal("DR13", Trigger("a material of a visual without a colour, whose name is not defined earlier in the file",
            _colourless,
            ((ex.ARM, f'{ex.ARM}<visual><geometry><sphere radius="0.1"/></geometry><material name="red"/></visual>'),)),
        "write the colour where the name is used first, or define the material in <robot>", effect=BY_SCENE_GRAPH),
    alters("DR14", Trigger("a number that is followed by other characters", p.bad_numbers, ex.UNIT_BEHIND),
        "the number is read up to the first character that is not part of it: 2kg is read as 2",
        "write numbers only, without units"),
    alters("DR15", Trigger("an <inertial> with inertia and no mass, or with a mass below zero",
            p.links_where(_weightless), ex.WEIGHTLESS),
        "the link is replaced by a body of 1 kg, with a warning", "write the mass, or remove the inertia",
        c.give_one_kilogram),
    alters("DR16", Trigger("an inertia that no rigid body has",
            p.links_where(lambda link: p.impossible_inertia(link) and mass_of(link) > 0), ex.IMPOSSIBLE, moments_text),
        "the inertia is replaced by that of an ellipsoid with the same mass, with a warning", "correct the inertia"),
    adds("DR17", Trigger('a root link whose name is not "world"', _free_roots),
        "the base is floating: the robot has 6 more degrees of freedom",
        "plant.WeldFrames(plant.world_frame(), body.body_frame())", c.let_fly),
    drops("DR18", WORLD_LINK,
        "the link becomes the world, so its inertial is dropped", "give the link another name", c.drop_links),
    alters("DR19", MIMIC,
        "the <mimic> becomes a coupler constraint, which only the solver SAP satisfies; nv includes the joint",
        "use a plant with discrete time, and a contact approximation that the solver SAP supports"),
    ignores("DR20", FRICTION,
        "friction is not simulated, and a warning is printed", "apply the friction force yourself"),
    ignores("DR21", ARMATURE_ALONE,
        "the rotor inertia is omitted, so the mass matrix is too small",
        "write <drake:rotor_inertia> and <drake:gear_ratio> in a <transmission>"),
    drops("DR22", Trigger("a joint without <transmission>", _undriven),
        "the joint has no actuator, so no control can drive it",
        "add a <transmission>, or call plant.AddJointActuator"),
    alters("DR23", QUATERNION,
        "the rotation is left out; a warning only says that the version is not supported",
        "write the rotation as rpy; treesim.to_urdf does so"),
    ignores("DR24", MOTION_LIMITS,
        "the joint's acceleration limits are infinite", "joint.set_acceleration_limits(lower, upper)"),
)  # fmt: skip

DRAKE = Reader("drake", "Drake", "DR", "1.51.1", "Parser(plant).AddModels(path), with a SceneGraph", RULES)
