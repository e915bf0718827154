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
from .rule import Reader, Rule, refuse

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
    Rule(
        "DR01",
        "refuses",
        "a joint of another type than the standard's, spherical among them",
        "the file is refused",
        '<drake:joint type="ball">',
        p.joints_other_than(*JOINTS),
        refuse,
        ex.of_type("spherical"),
    ),
    Rule(
        "DR02",
        "refuses",
        "too few numbers in an attribute, or NaN",
        "the file is refused",
        "write all numbers",
        _wrong_counts,
        refuse,
        (('<origin xyz="0.3 0 0"/>', '<origin xyz="0.3 0"/>'),),
    ),
    Rule(
        "DR03",
        "refuses",
        "a robot without a name",
        "the file is refused",
        "name the robot",
        p.unnamed_robot,
        refuse,
        ex.NAMELESS,
    ),
    Rule(
        "DR04",
        "refuses",
        "a name that two links or joints have, or a joint that names no link",
        "the file is refused",
        "rename one; declare the link",
        lambda outcome: (
            *p.repeated_links(outcome),
            *p.repeated_joints(outcome),
            *p.loose_ends(outcome),
            *p.carried_twice(outcome),
        ),
        refuse,
        ex.more('<link name="tool"/>'),
    ),
    Rule(
        "DR05",
        "refuses",
        "a zero axis",
        "the file is refused",
        "write a unit axis",
        p.joints_where(p.zero_axis),
        refuse,
        ((ex.AXIS, '<axis xyz="0 0 0"/>'),),
    ),
    Rule(
        "DR06",
        "refuses",
        "damping below zero",
        "the file is refused",
        "repair the damping",
        p.joints_where(p.negatively_damped),
        refuse,
        ex.dynamics('damping="-0.7"'),
    ),
    Rule(
        "DR07",
        "refuses",
        "a lower limit above the upper one",
        "the process ends",
        "exchange the limits",
        p.joints_where(_crossed),
        refuse,
        ((ex.LIMIT, ex.LIMIT.replace("-1", "2")),),
    ),
    Rule(
        "DR08",
        "refuses",
        "<mimic> of a joint that does not exist",
        "the file is refused",
        "name a joint of the file",
        p.mimics_of_nobody,
        refuse,
        ex.second_joint(inside='<mimic joint="nobody"/>'),
    ),
    Rule(
        "DR09",
        "refuses",
        "<loop_joint>",
        "the file is refused",
        "<drake:linear_bushing_rpy> or a constraint in code",
        p.each("loop_joint"),
        refuse,
        ex.more('<loop_joint name="l" type="spherical"><link1 link="base"/><link2 link="tool"/></loop_joint>'),
    ),
    Rule(
        "DR10",
        "refuses",
        "a mesh, seen or touched, that is not found: package:// of a package that is not known",
        "with a SceneGraph the file is refused; without one shapes are not read",
        "parser.package_map().Add(name, folder)",
        _unresolved,
        refuse,
        ex.shape("visual", '<mesh filename="package://robot/arm.obj"/>'),
    ),
    Rule(
        "DR11",
        "refuses",
        "a collision mesh that is not a .obj, .vtk or .gltf, such as .stl and .dae",
        "with a SceneGraph the file is refused; without one shapes are not read",
        "convert the mesh to .obj",
        _without_hull,
        refuse,
        ex.shape("collision", '<mesh filename="cube.stl"/>'),
    ),
    Rule(
        "DR12",
        "refuses",
        "a visual or collision without a shape, or with a shape that Drake does not know",
        "with a SceneGraph the file is refused; without one shapes are not read",
        "remove the empty element",
        lambda outcome: (*p.without_geometry()(outcome), *p.with_unknown_geometry(SHAPES)(outcome)),
        refuse,
        ex.shape("collision", ""),
    ),
    Rule(
        "DR13",
        "refuses",
        "a material of a visual that has no colour, by a name that nothing before defines",
        "with a SceneGraph the file is refused; without one shapes are not read",
        "give the first use of the name its colour, or define it in <robot>",
        _colourless,
        refuse,
        ((ex.ARM, f'{ex.ARM}<visual><geometry><sphere radius="0.1"/></geometry><material name="red"/></visual>'),),
    ),
    Rule(
        "DR14",
        "alters",
        "a number with anything behind it",
        "read up to the first character that does not fit: 2kg is 2",
        "write numbers alone",
        p.bad_numbers,
        example=ex.UNIT_BEHIND,
    ),
    Rule(
        "DR15",
        "alters",
        "an <inertial> with inertia and no mass, or with a mass below zero",
        "replaced by a body of 1 kg, with a warning",
        "state the mass, or leave the inertia out",
        p.links_where(_weightless),
        c.give_one_kilogram,
        ex.WEIGHTLESS,
    ),
    Rule(
        "DR16",
        "alters",
        "an inertia that no rigid body has",
        "replaced by an ellipsoid's of the same mass, with a warning",
        "repair the inertia",
        p.links_where(lambda link: p.impossible_inertia(link) and mass_of(link) > 0),
        example=ex.IMPOSSIBLE,
        measure=moments_text,
    ),
    Rule(
        "DR17",
        "adds",
        'a root link that is not called "world"',
        "it flies: 6 more degrees of freedom",
        "plant.WeldFrames(plant.world_frame(), body.body_frame())",
        _free_roots,
        c.let_fly,
    ),
    Rule(
        "DR18",
        "drops",
        'a link called "world"',
        "it is the world: its inertial is dropped",
        "call it otherwise",
        p.named_world,
        c.drop_links,
        ex.WORLD,
    ),
    Rule(
        "DR19",
        "alters",
        "<mimic>",
        "a coupler constraint, which the solver SAP keeps; nv counts the joint",
        "a plant in steps of time, with an approximation of contact that SAP solves",
        p.joints_where(p.mimicking),
        example=ex.second_joint(inside='<mimic joint="hinge" multiplier="2"/>'),
    ),
    Rule(
        "DR20",
        "ignores",
        "friction of a joint",
        "not simulated, with a warning",
        "a force of your own",
        p.joints_where(p.rubbing),
        example=ex.dynamics('damping="0" friction="0.3"'),
    ),
    Rule(
        "DR21",
        "ignores",
        "armature of a joint",
        "no rotor: smaller mass matrix",
        "<drake:rotor_inertia> and <drake:gear_ratio> in a <transmission>",
        p.joints_where(p.with_rotor),
        example=ex.dynamics('armature="0.3"'),
    ),
    Rule(
        "DR22",
        "drops",
        "a joint without <transmission>",
        "it has no actuator: nothing drives it",
        "add a <transmission>, or plant.AddJointActuator",
        _undriven,
    ),
)

DRAKE = Reader("drake", "Drake", "DR", "1.51.1", "Parser(plant).AddModels(path), with a SceneGraph", RULES)
