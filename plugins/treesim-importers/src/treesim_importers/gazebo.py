"""Rules of Gazebo, which converts URDF to SDF by sdformat (`gz sdf -p FILE` prints it)."""

from __future__ import annotations

from collections.abc import Iterator

from lxml.etree import _Element

from treesim.urdf.document import child_of, name_of, parent_of

from . import changes as c
from . import examples as ex
from . import predicates as p
from . import urdfdom
from .description import WORLD
from .outcome import Outcome
from .rule import Reader, Trigger, adds, alters, drops, refusal
from .triggers import ARMATURE, MIMIC, NEGATIVE_MASS, WORLD_LINK

SMALLEST = 1e-6  # [kg] sdformat treats smaller masses as zero
KEEPING = ("preserveFixedJoint", "disableFixedJointLumping")
SHAPES = ("box", "sphere", "cylinder", "mesh")
TWO_WELDS = (
    (ex.ARM_INERTIAL, ""),
    ('<mass value="0.5"/>', '<mass value="0"/>'),
    *ex.more(
        '<joint name="zweld" type="fixed"><parent link="arm"/><child link="load"/></joint>'
        f'<link name="load">{ex.BASE_INERTIAL}</link>'
    ),
)


def _kept(outcome: Outcome) -> set[str]:
    """Return the fixed joints that remain: those marked in the file, and those on the world."""
    said = {
        str(tag.get("reference"))
        for tag in outcome.description.root.iterfind("gazebo")
        if any((tag.findtext(name) or "").strip() in ("true", "1") for name in KEEPING)
    }
    return said | {name_of(joint) for joint in outcome.description.joints if parent_of(joint) == WORLD}


def _lumped(outcome: Outcome) -> Iterator[_Element]:
    kept = _kept(outcome)
    return (joint for joint in p.joints_of("fixed")(outcome) if name_of(joint) not in kept)


def _lump(outcome: Outcome, joints: list[_Element]) -> None:
    outcome.merge_fixed(_kept(outcome))


def _weigh_lumps(outcome: Outcome) -> tuple[dict[str, float], list[_Element]]:
    """Return the mass of each link with the links lumped into it, and links that cause a division by zero.

    The division occurs in sdformat if a link has an <inertial> without mass, and so has its parent so far.
    """
    description, divided = outcome.description, []
    lumped = {child_of(joint): joint for joint in _lumped(outcome)}
    masses, depths = dict(outcome.masses), {link: len(list(description.path_to(link))) for link in lumped}
    stated = {name for name, link in description.link.items() if not p.bare(link)}
    for link in sorted(lumped, key=lambda link: (-depths[link], name_of(lumped[link]))):
        parent = parent_of(lumped[link])
        if link in stated and parent in masses:
            masses[parent] += masses[link]
            stated.add(parent)
            if masses[parent] == 0:
                divided.append(description.link[link])
    return masses, divided


def _divided_by_zero(outcome: Outcome) -> Iterator[_Element]:
    """Yield the links that cause a division by zero.

    Links are left out if the link into which they are lumped is dropped for lack of mass.
    """
    masses, divided = _weigh_lumps(outcome)
    lumped = {child_of(joint) for joint in _lumped(outcome)}
    for link in divided:
        holder = name_of(link)
        while holder in lumped:
            holder = parent_of(outcome.description.parent_joint[holder])
        if abs(masses.get(holder, 0.0)) > SMALLEST:
            yield link


def _light(outcome: Outcome) -> Iterator[_Element]:
    """Yield the links without mass that would remain, or have child links that would."""
    masses, _ = _weigh_lumps(outcome)
    lumped = {child_of(joint) for joint in _lumped(outcome)}
    holding = {parent_of(joint) for joint in outcome.description.joints if child_of(joint) not in lumped}
    for name, mass in masses.items():
        if name != WORLD and abs(mass) <= SMALLEST and (name not in lumped or name in holding):
            yield outcome.description.link[name]


def _free(outcome: Outcome) -> Iterator[_Element]:
    root = outcome.description.root_link
    if root != WORLD and root in outcome.masses:
        yield outcome.description.link[root]


def _cut(outcome: Outcome, joints: list[_Element]) -> None:
    for joint in joints:
        if child_of(joint) in outcome.masses:
            outcome.dofs[child_of(joint)] = 6


RULES = (
    *urdfdom.rules("GZ"),
    refusal("GZ08", Trigger("two links that are fixed to a massless link: first a link with an <inertial> of mass 0, "
            "then a link with mass", _divided_by_zero, TWO_WELDS),
        "remove the <inertial> of massless links",
        effect="merging the links divides by zero, and the file is refused: Pose values must be finite"),
    drops("GZ09", Trigger("a link that, together with the links merged into it, has a mass of at most 1e-6 kg", _light,
            ex.BARE_ARM),
        "the link is dropped without a message, with all links that are connected to it by joints that are "
        "not fixed. A massless frame between two links loses all links behind it",
        "give the link a mass of 1e-5 kg or more", c.drop_with_carried),
    alters("GZ10", Trigger("a fixed joint", _lumped),
        "the child link is merged into its parent, and the child's name and frame are lost",
        '<gazebo reference="JOINT"><preserveFixedJoint>true</preserveFixedJoint></gazebo>', _lump),
    drops("GZ11", Trigger("a floating or planar joint", p.joints_of("floating", "planar"), ex.of_type("planar")),
        "the joint is dropped, so its link is a free body",
        "use prismatic and revolute joints, or write a separate model for the free body", _cut),
    adds("GZ12", Trigger('a root link whose name is not "world"', _free),
        "the base is floating: the robot has 6 more degrees of freedom",
        '<link name="world"/> and a fixed joint from it to the root', c.let_fly),
    drops("GZ13", WORLD_LINK, "the link becomes the world", "no change is needed", c.drop_links),
    adds("GZ14", NEGATIVE_MASS, "the mass is copied into the SDF unchanged", "repair the mass"),
    drops("GZ15", MIMIC,
        "sdformat 12 drops the element, so the joint moves independently",
        "use a plugin, or a later version of sdformat"),
    drops("GZ16", Trigger("a visual or collision without a shape, or with a shape that urdfdom does not know",
            p.any_of(p.without_geometry(), p.with_unknown_geometry(SHAPES)),
            ex.shape("collision", '<capsule radius="0.1" length="0.2"/>')),
        "the shape is dropped, with an error on the terminal; capsules have no contact, for example",
        "use cylinders and spheres"),
    alters("GZ17", Trigger("<gazebo>", p.each("gazebo"), ex.more('<gazebo reference="arm"><mu1>0.9</mu1></gazebo>')),
        "its content is copied into the SDF, although other programs ignore these settings",
        "write physics that all programs should read outside of <gazebo>"),
    drops("GZ18", ARMATURE,
        "the rotor inertia is omitted, so the mass matrix is too small",
        "add the armature to the link's inertia about the joint axis"),
)  # fmt: skip

GAZEBO = Reader("gazebo", "Gazebo", "GZ", "sdformat 12.3.0", "gz sdf -p FILE", RULES)
