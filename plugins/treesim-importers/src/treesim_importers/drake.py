"""Rules of Drake, for `Parser(plant).AddModels(path)` with a SceneGraph, in a discrete-time plant."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from treesim.urdf.document import name_of

from . import changes as c
from . import examples as ex
from . import predicates as p
from .description import WORLD, folder_of, mass_of, moments_of, number
from .effects import moments_text
from .rule import Reader, adds, alters, drops, ignores, refusal

if TYPE_CHECKING:
    from lxml.etree import _Element

    from .outcome import Outcome

JOINTS = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")
SHAPES = ("box", "sphere", "cylinder", "capsule", "mesh")
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
    refusal(
        "DR01",
        "a joint whose type is not in the URDF standard, such as spherical",
        '<drake:joint type="ball">',
        p.joints_other_than(*JOINTS),
        ex.of_type("spherical"),
    ),
    refusal(
        "DR02",
        "too few numbers in an attribute, or NaN",
        "write all numbers of the attribute",
        _wrong_counts,
        (('<origin xyz="0.3 0 0"/>', '<origin xyz="0.3 0"/>'),),
    ),
    refusal("DR03", "a robot without a name", "give the robot a name", p.unnamed_robot, ex.NAMELESS),
    refusal(
        "DR04",
        "two links or joints with the same name, or a joint that names an unknown link",
        "rename one of the links or joints; add the missing link",
        p.any_of(p.repeated_links, p.repeated_joints, p.loose_ends, p.carried_twice),
        ex.more('<link name="tool"/>'),
    ),
    refusal(
        "DR05",
        "a zero axis",
        "write an axis of length 1",
        p.joints_where(p.zero_axis),
        ((ex.AXIS, '<axis xyz="0 0 0"/>'),),
    ),
    refusal(
        "DR06",
        "damping below zero",
        "write a damping that is not negative",
        p.joints_where(p.negatively_damped),
        ex.dynamics('damping="-0.7"'),
    ),
    refusal(
        "DR07",
        "a lower limit above the upper limit",
        "exchange the limits",
        p.joints_where(_crossed),
        ((ex.LIMIT, ex.LIMIT.replace("-1", "2")),),
        effect="the process ends",
    ),
    refusal(
        "DR08",
        "<mimic> of a joint that does not exist",
        "write the name of a joint in the file",
        p.mimics_of_nobody,
        ex.second_joint(inside='<mimic joint="nobody"/>'),
    ),
    refusal(
        "DR09",
        "<loop_joint>",
        "<drake:linear_bushing_rpy> or a constraint in code",
        p.each("loop_joint"),
        ex.more('<loop_joint name="l" type="spherical"><link1 link="base"/><link2 link="tool"/></loop_joint>'),
    ),
    refusal(
        "DR10",
        "a mesh of a visual or collision that is not found, such as package:// with an unknown package",
        "parser.package_map().Add(name, folder)",
        _unresolved,
        ex.shape("visual", '<mesh filename="package://robot/arm.obj"/>'),
        effect="with a SceneGraph the file is refused; without a SceneGraph shapes are not read",
    ),
    refusal(
        "DR11",
        "a collision mesh that is not a .obj, .vtk or .gltf, such as .stl and .dae",
        "convert the mesh to .obj",
        _without_hull,
        ex.shape("collision", '<mesh filename="cube.stl"/>'),
        effect="with a SceneGraph the file is refused; without a SceneGraph shapes are not read",
    ),
    refusal(
        "DR12",
        "a visual or collision without a shape, or with a shape that Drake does not know",
        "remove the empty element",
        p.any_of(p.without_geometry(), p.with_unknown_geometry(SHAPES)),
        ex.shape("collision", ""),
        effect="with a SceneGraph the file is refused; without a SceneGraph shapes are not read",
    ),
    refusal(
        "DR13",
        "a material of a visual without a colour, whose name is not defined earlier in the file",
        "write the colour where the name is used first, or define the material in <robot>",
        _colourless,
        ((ex.ARM, f'{ex.ARM}<visual><geometry><sphere radius="0.1"/></geometry><material name="red"/></visual>'),),
        effect="with a SceneGraph the file is refused; without a SceneGraph shapes are not read",
    ),
    alters(
        "DR14",
        "a number that is followed by other characters",
        "the number is read up to the first character that is not part of it: 2kg is read as 2",
        "write numbers only, without units",
        p.bad_numbers,
        example=ex.UNIT_BEHIND,
    ),
    alters(
        "DR15",
        "an <inertial> with inertia and no mass, or with a mass below zero",
        "the link is replaced by a body of 1 kg, with a warning",
        "write the mass, or remove the inertia",
        p.links_where(_weightless),
        c.give_one_kilogram,
        ex.WEIGHTLESS,
    ),
    alters(
        "DR16",
        "an inertia that no rigid body has",
        "the inertia is replaced by that of an ellipsoid with the same mass, with a warning",
        "correct the inertia",
        p.links_where(lambda link: p.impossible_inertia(link) and mass_of(link) > 0),
        example=ex.IMPOSSIBLE,
        measure=moments_text,
    ),
    adds(
        "DR17",
        'a root link whose name is not "world"',
        "the base is floating: the robot has 6 more degrees of freedom",
        "plant.WeldFrames(plant.world_frame(), body.body_frame())",
        _free_roots,
        c.let_fly,
    ),
    drops(
        "DR18",
        'a link with the name "world"',
        "the link becomes the world, so its inertial is dropped",
        "give the link another name",
        p.named_world,
        c.drop_links,
        ex.WORLD,
    ),
    alters(
        "DR19",
        "<mimic>",
        "the <mimic> becomes a coupler constraint, which only the solver SAP satisfies; nv includes the joint",
        "use a plant with discrete time, and a contact approximation that the solver SAP supports",
        p.joints_where(p.mimicking),
        example=ex.second_joint(inside='<mimic joint="hinge" multiplier="2"/>'),
    ),
    ignores(
        "DR20",
        "friction of a joint",
        "friction is not simulated, and a warning is printed",
        "apply the friction force yourself",
        p.joints_where(p.rubbing),
        example=ex.dynamics('damping="0" friction="0.3"'),
    ),
    ignores(
        "DR21",
        "armature of a joint",
        "the rotor inertia is omitted, so the mass matrix is too small",
        "write <drake:rotor_inertia> and <drake:gear_ratio> in a <transmission>",
        p.joints_where(p.with_rotor),
        example=ex.dynamics('armature="0.3"'),
    ),
    drops(
        "DR22",
        "a joint without <transmission>",
        "the joint has no actuator, so no control can drive it",
        "add a <transmission>, or call plant.AddJointActuator",
        _undriven,
    ),
)

DRAKE = Reader("drake", "Drake", "DR", "1.51.1", "Parser(plant).AddModels(path), with a SceneGraph", RULES)
