"""Rules of Newton, for `ModelBuilder().add_urdf(path)`."""

from __future__ import annotations

from collections.abc import Iterator

from lxml.etree import _Element

from treesim.urdf.document import child_of, name_of, parent_of

from . import changes as c
from . import examples as ex
from . import predicates as p
from .description import number
from .outcome import Outcome
from .rule import Reader, Trigger, adds, alters, drops, ignores, refusal
from .triggers import ARMATURE_ALONE, IMPOSSIBLE_INERTIA, INERTIA_ALONE, MIMIC, PLANAR_JOINT, SHAPES_ALONE

ODD_DECLARATION = "U106"  # the finding of treesim's parser
JOINTS = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")


def _unreadable(outcome: Outcome) -> Iterator[_Element]:
    """Yield the elements with numbers that Python's float rejects, or too few numbers; NaN is accepted."""
    for element in p.bad_numbers(outcome):
        if not any(value.strip().lower() in ("nan", "inf", "-inf") for value in element.attrib.values()):
            yield element


def _oddly_declared(outcome: Outcome) -> Iterator[_Element]:
    if ODD_DECLARATION in outcome.description.codes:
        yield outcome.description.root


def _odd_mimics(outcome: Outcome) -> Iterator[_Element]:
    """Yield the mimic joints, and mimicked ones, with other than one degree of freedom."""
    types = {name_of(joint): joint.get("type") for joint in outcome.description.joints}
    for joint in outcome.description.joints:
        mimic = joint.find("mimic")
        if mimic is not None and not {joint.get("type"), types.get(mimic.get("joint"), "revolute")} <= set(p.AXIAL):
            yield joint


def _flatten(outcome: Outcome, joints: list[_Element]) -> None:
    for joint in joints:
        outcome.dofs[child_of(joint)] = 2


def _unjoined(outcome: Outcome) -> Iterator[_Element]:
    """Yield the links that no joint names, if there are joints."""
    joints = outcome.description.joints
    named = {end for joint in joints for end in (parent_of(joint), child_of(joint))}
    return (link for link in outcome.description.links if joints and name_of(link) not in named)


def _capsules(outcome: Outcome) -> Iterator[_Element]:
    """Yield the capsules with URDF's attribute `length` instead of `height`."""
    for owner in p.shapes(outcome, "collision"):
        yield from (capsule for capsule in owner.iterfind("geometry/capsule") if "height" not in capsule.attrib)


def _lengthen(outcome: Outcome, capsules: list[_Element]) -> None:
    """Compute the mass of links from their shapes with capsules of length 1 m."""
    for capsule in capsules:
        link = next(capsule.iterancestors("link"))
        radius, length = number(capsule, "radius"), number(capsule, "length")
        if p.bare(link) and radius is not None and length is not None:
            added = p.capsule_volume(radius, 1.0) - p.capsule_volume(radius, length)
            outcome.masses[name_of(link)] += p.DENSITY * added


RULES = (
    refusal("NE01", Trigger("a joint whose type is not in the URDF standard, such as spherical",
            p.joints_other_than(*JOINTS), ex.of_type("spherical")),
        "add the joint in your program", effect="the file is refused: Unsupported joint type"),
    refusal("NE02", Trigger("an attribute that is not a number, or has too few numbers", _unreadable, ex.UNIT_BEHIND),
        "write numbers only, without units"),
    refusal("NE03", Trigger("a joint that names an unknown link, or a link that is the child of two joints",
            p.any_of(p.loose_ends, p.carried_twice), (('<parent link="base"/>', '<parent link="nobody"/>'),)),
        "add the missing link; use one joint for each child link"),
    refusal("NE04", Trigger("a <mimic> whose joint or mimicked joint is not revolute, continuous or prismatic",
            _odd_mimics,
            ex.more('<joint name="dead" type="fixed"><parent link="arm"/><child link="pad"/><mimic joint="hinge"/>'
                    '</joint><link name="pad"/>')),
        "remove the <mimic>"),
    adds("NE05", SHAPES_ALONE,
        "the link gets the mass of its shapes, with a density of 1000 kg/m^3",
        'write an <inertial> with <mass value="0"/> and an inertia of six zeros', c.weigh_shapes),
    alters("NE06", Trigger("a capsule's length", _capsules, ex.weighing('<capsule radius="0.1" length="0.2"/>')),
        "Newton reads the attribute height instead of length: the capsule is 1 m long between its centres",
        'add height="..." with the same number', _lengthen),
    drops("NE07", Trigger("a mass below zero, or NaN", p.links_where(p.negative_mass), ex.NEGATIVE),
        "the link has no mass", "repair the mass", c.take_mass),
    alters("NE08", IMPOSSIBLE_INERTIA,
        "a number is added to all three moments, so that they are those of a rigid body", "correct the inertia"),
    drops("NE09", INERTIA_ALONE, "the link gets neither mass nor inertia", "move it to a link with mass"),
    alters("NE10", Trigger("mass without rotational inertia", p.links_where(p.point_mass),
            ((ex.ARM_INERTIA, '<inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/>'),)),
        "moments of inertia of 1e-6 kg m^2 are added", "write the inertia"),
    drops("NE11", Trigger("a link that no joint names", _unjoined, ex.more('<link name="stray"/>')),
        "the link is dropped, without a message", "connect the link by a joint", c.drop_links),
    alters("NE12", PLANAR_JOINT,
        "the joint becomes two translations, and its rotation is lost", "use prismatic and revolute joints", _flatten),
    drops("NE13", Trigger("a mesh that is not found, or model:// without resolve-robotics-uri-py", p.missing_meshes,
            ex.shape("collision", '<mesh filename="nowhere.stl"/>')),
        "the shape is dropped, with a warning", "`pip install 'newton[importers]'`, or package_dirs=[...]"),
    ignores("NE14", ARMATURE_ALONE,
        "the joint gets the builder's default armature", "set builder.joint_armature after loading the file"),
    alters("NE15", MIMIC,
        "the <mimic> becomes a constraint, which only some solvers support; nv includes the joint",
        "choose a solver that supports this constraint"),
    adds("NE16", Trigger("any revolute, continuous or prismatic joint", p.joints_of(*p.AXIAL)),
        "the joint gets an actuator in the mode POSITION, with gains of zero",
        "set builder.joint_target_mode and joint_target_ke after loading the file"),
    refusal("NE17", Trigger("an XML declaration that is not at the beginning of the file, or has the version 0.0",
            _oddly_declared, (('<robot name="sound">', ' <?xml version="1.0"?><robot name="sound">'),)),
        "remove the text before the declaration, or the declaration"),
)  # fmt: skip

NEWTON = Reader("newton", "Newton", "NE", "1.8.0", "ModelBuilder().add_urdf(path)", RULES)
