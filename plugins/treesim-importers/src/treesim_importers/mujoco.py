"""Rules of MuJoCo, for `MjModel.from_xml_path(path)`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from lxml.etree import _Element

from treesim.urdf.document import child_of, name_of

from . import changes as c
from . import examples as ex
from . import predicates as p
from .description import WORLD, folder_of, mass_of, moments_of, number
from .effects import moments_text
from .outcome import Outcome
from .rule import Reader, Trigger, adds, alters, drops, ignores, refusal
from .triggers import (
    ARMATURE_ALONE,
    INERTIA_ALONE,
    MIMIC,
    MOTION_LIMITS,
    NEGATIVE_DAMPING,
    NEGATIVE_MASS,
    PLANAR_JOINT,
    QUATERNION,
    SHAPES_ALONE,
)

JOINTS = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar", "spherical")
SHAPES = ("box", "sphere", "cylinder", "capsule", "mesh")
ONCE = ("inertial", "origin", "mass", "inertia", "axis", "limit", "dynamics", "parent", "child", "mimic")
SMALLEST = 1e-15  # mjMINVAL
FLAT = 1e-14  # [kg m^2] mjEPS, the least principal moment next to products of inertia
MESHES = (".stl", ".obj", ".msh")
KEEP_FIXED = '<mujoco><compiler fusestatic="false"/></mujoco>'
KEEP_VISUALS = '<mujoco><compiler discardvisual="false"/></mujoco>'


def _compiler(outcome: Outcome, attribute: str) -> str:
    """Return a setting of the file's own <mujoco><compiler>."""
    found = outcome.description.root.find("mujoco/compiler")
    return "" if found is None else str(found.get(attribute) or "")


def _merges(outcome: Outcome) -> bool:
    return _compiler(outcome, "fusestatic") != "false"


def _fixed_joints(outcome: Outcome) -> Iterator[_Element]:
    return (joint for joint in outcome.description.joints if joint.get("type") == "fixed" and _merges(outcome))


def _roots(outcome: Outcome) -> Iterator[_Element]:
    for name in outcome.description.roots:
        if _merges(outcome) and name in outcome.masses:
            yield outcome.description.link[name]


def _unmoved(outcome: Outcome) -> Iterator[_Element]:
    """Yield the moving links that, with the links fixed to them, have no mass or no inertia."""
    for name in outcome.dofs:
        if name in outcome.masses and (outcome.masses[name] < SMALLEST or _is_point(outcome, name)):
            yield outcome.description.link[name]


def _is_point(outcome: Outcome, name: str) -> bool:
    """Return whether all mass of a rigid group is that of one link without rotational inertia."""
    description = outcome.description
    group = [link for link in description.links if description.first_of_group(name_of(link)) == name and mass_of(link)]
    return len(group) == 1 and not any(moments_of(group[0]) or (1.0,))


def _unreadable_meshes(outcome: Outcome) -> Iterator[_Element]:
    """Yield the collision meshes that MuJoCo does not find or cannot read.

    They must be below the file's folder (or the file's own meshdir), and of a format that MuJoCo reads.
    """
    folder = folder_of(outcome.description) / _compiler(outcome, "meshdir")
    strip = _compiler(outcome, "strippath") == "true"
    for mesh in p.meshes(outcome, "collision"):
        name = mesh.get("filename") or ""
        path = folder / (Path(name).name if strip else name)
        if not path.is_file() or path.suffix.lower() not in MESHES:
            yield mesh


def _wrong_scales(outcome: Outcome) -> Iterator[_Element]:
    for mesh in p.meshes(outcome, "collision"):
        if len((mesh.get("scale") or "1 1 1").split()) != 3:
            yield mesh


def _is_flat(link: _Element) -> bool:
    """Return whether a link's inertia has products and a principal moment that is not positive."""
    entries, moments = moments_of(link), p.principal_moments(link)
    return (
        entries is not None and moments is not None and bool(any(entries[k] for k in (1, 2, 4)) and moments[0] < FLAT)
    )


def _given_twice(outcome: Outcome) -> Iterator[_Element]:
    """Yield the second of two elements where one is allowed."""
    for owner in outcome.description.root.xpath("link | link/inertial | joint"):
        tags = [child.tag for child in owner]
        for k, child in enumerate(owner):
            if child.tag in ONCE and child.tag in tags[:k]:
                yield child


def _spherical_with_range(joint: _Element) -> bool:
    limit = joint.find("limit")
    return joint.get("type") == "spherical" and bool(number(limit, "lower"))


def _carried_world(outcome: Outcome) -> Iterator[_Element]:
    return (joint for joint in outcome.description.joints if child_of(joint) == WORLD)


def _closed_shapes(outcome: Outcome) -> Iterator[_Element]:
    """Yield the <axis> elements without xyz, which MuJoCo requires."""
    return (axis for axis in outcome.description.root.iterfind("joint/axis") if "xyz" not in axis.attrib)


RULES = (
    refusal("MJ01", Trigger("a joint of a type that MuJoCo does not know", p.joints_other_than(*JOINTS),
            ex.of_type("Revolute")),
        "use a type of the URDF standard, in lower-case letters"),
    refusal("MJ02", Trigger("an attribute that is not a number, or has too few numbers", p.bad_numbers, ex.UNIT_BEHIND),
        "write numbers only, without units", effect="the file is refused: bad format"),
    refusal("MJ03", Trigger("an <inertial> without <mass>, <inertia> or one of its six numbers, or a second "
            "<inertial>, <axis> or similar element", p.any_of(p.links_where(p.incomplete), _given_twice),
            ((ex.ARM_MASS, ""),)),
        "write the mass and all six numbers exactly once"),
    refusal("MJ04", Trigger("an inertia that no rigid body has (A + B < C), or an inertia with products and a zero "
            "moment; also of links on fixed joints",
            p.links_where(lambda link: mass_of(link) > 0 and (p.impossible_inertia(link) or _is_flat(link))),
            ((ex.TOOL_INERTIA, ex.TOOL_INERTIA.replace('izz="0.001"', 'izz="0.004"')),), moments_text),
        "correct the inertia; <compiler balanceinertia> would replace it by the inertia of a sphere"),
    refusal("MJ05", Trigger("two links with the same name, a joint that names an unknown link, or a joint whose child "
            'link is "world"', p.any_of(p.repeated_links, p.loose_ends, p.carried_twice, _carried_world),
            ex.more('<link name="tool"/>')),
        "rename one of the links or joints; add the missing link"),
    refusal("MJ06", Trigger("a zero axis, or an <axis> without xyz",
            p.any_of(p.joints_where(p.zero_axis), _closed_shapes), ((ex.AXIS, '<axis xyz="0 0 0"/>'),)),
        "write an axis of length 1"),
    refusal("MJ07", Trigger("a spherical joint whose lower limit is not 0", p.joints_where(_spherical_with_range),
            ex.of_type("spherical")),
        "remove <limit> from spherical joints"),
    refusal("MJ08", Trigger("a collision mesh that is not a .stl, .obj or .msh file below the file's folder, such as "
            "package://, file:// and .dae", _unreadable_meshes,
            ex.shape("collision", '<mesh filename="package://robot/arm.stl"/>')),
        'write relative names, or <mujoco><compiler meshdir="..." strippath="true"/></mujoco> in the file',
        effect="the complete file is refused; meshes of visuals are ignored and may be missing"),
    refusal("MJ09", Trigger("a collision without a shape or with an unknown shape, or a mesh whose scale does not have"
            " three factors",
            p.any_of(p.without_geometry("collision"), p.with_unknown_geometry(SHAPES, "collision"), _wrong_scales),
            ex.shape("collision", "")),
        "remove the empty element; write three factors"),
    adds("MJ10", SHAPES_ALONE,
        "the link gets the mass of its shapes, with a density of 1000 kg/m^3",
        'write an <inertial> with <mass value="0"/> and an inertia of six zeros', c.weigh_shapes),
    drops("MJ11", NEGATIVE_MASS, "mass and inertia are set to zero, without a message", "repair the mass", c.take_mass),
    drops("MJ12", INERTIA_ALONE,
        "the inertia is lost when the link is merged, without a message", "move it to a link with mass"),
    alters("MJ13", Trigger("a fixed joint", _fixed_joints),
        "its two links become one body, and the child link's name is lost", KEEP_FIXED + " in the file keeps them",
        c.merge_fixed),
    drops("MJ14", Trigger("the root link", _roots),
        "the link becomes the world, so its mass is lost",
        'for a floating base, add a link "world" and a joint of type floating between it and the root link',
        c.drop_links),
    refusal("MJ15", Trigger("a moving link that, together with the links fixed to it, has no mass or no rotational "
            "inertia",
            _unmoved, ex.BARE_ARM),
        "give the link mass and inertia, or make its joint fixed",
        effect="the file is refused: mass and inertia of moving bodies must be larger than mjMINVAL"),
    alters("MJ16", MIMIC,
        "a soft equality constraint replaces the <mimic>: the joint has a degree of freedom, and its position"
        " has an error", "set stiffer solref and solimp for this constraint"),
    drops("MJ17", Trigger("two joints with the same name", p.repeated_joints, ex.second_joint("hinge")),
        "the second joint has no name", "rename one of the joints"),
    alters("MJ18", PLANAR_JOINT,
        "the joint becomes three joints: NAME_TX, NAME_TY and NAME_RZ", "use these names of joints in your program"),
    ignores("MJ19", ARMATURE_ALONE,
        "the rotor inertia is omitted, so the mass matrix is too small", "set dof_armature after loading the file"),
    adds("MJ20", NEGATIVE_DAMPING,
        "the damping is used unchanged, and adds energy to the robot", "write a damping that is not negative"),
    drops("MJ21", Trigger("visuals", lambda outcome: p.shapes(outcome, "visual"),
            ex.shape("visual", '<box size="0.1 0.1 0.1"/>')),
        "the model contains no visuals", KEEP_VISUALS + " in the file"),
    ignores("MJ22", Trigger("velocity limits of joints",
            lambda outcome: (x for x in outcome.description.root.iterfind("joint/limit") if "velocity" in x.attrib)),
        "joints can move faster than their limits", "limit the velocity in your controller"),
    alters("MJ23", QUATERNION,
        "the rotation is left out, without a message", "write the rotation as rpy; treesim.to_urdf does so"),
    ignores("MJ24", MOTION_LIMITS,
        "the limits are not read", "limit the motion in your controller"),
)  # fmt: skip


MUJOCO = Reader("mujoco", "MuJoCo", "MJ", "4.0.0", "MjModel.from_xml_path(path)", RULES)
