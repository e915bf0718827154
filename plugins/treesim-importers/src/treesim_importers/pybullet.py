"""Rules of PyBullet, for `loadURDF(path)` with its default flags."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from treesim.compare.inertial_candidates import BOX
from treesim.urdf.document import name_of

from . import changes as c
from . import examples as ex
from . import predicates as p
from .description import WORLD, folder_of, mass_of, moments_of
from .effects import moments_text
from .rule import Reader, adds, alters, ignores, refusal

if TYPE_CHECKING:
    from lxml.etree import _Element

    from .outcome import Outcome

JOINTS = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar", "spherical")
SHAPES = ("box", "sphere", "cylinder", "capsule", "mesh", "plane", "cdf")


def _massive_roots(outcome: Outcome) -> Iterator[_Element]:
    """Yield the root link if it has mass, or no inertial and another name than "world"."""
    root = outcome.description.link.get(outcome.description.root_link)
    if root is not None and outcome.masses[name_of(root)] > 0:
        yield root


def _massless_roots(outcome: Outcome) -> Iterator[_Element]:
    root = outcome.description.link.get(outcome.description.root_link)
    if root is not None and name_of(root) != WORLD and outcome.masses[name_of(root)] == 0:
        yield root


def _unfound_meshes(outcome: Outcome) -> Iterator[_Element]:
    """Yield the meshes that Bullet does not find below the file's folder and all folders above it.

    The scheme of the name is ignored.
    """
    folder = folder_of(outcome.description)
    for mesh in (*p.meshes(outcome), *outcome.description.root.iterfind("link/collision/geometry/cdf")):
        name = (mesh.get("filename") or "").rpartition("://")[2]
        if not name or not any(Path(f"{place}/{name}").is_file() for place in (folder, *folder.parents)):
            yield mesh


def _lost_moments(links: list[_Element]) -> str:
    """Return the largest principal moment of the links without shapes, and the moment of a 1 mm box in its place."""
    bodies = [link for link in links if link.find("collision") is None]
    found = [(moments[-1], mass_of(link)) for link in bodies if (moments := p.principal_moments(link)) is not None]
    if not found:
        return ""
    moment, mass = max(found)
    return f"{moment:.3g} kg m^2 becomes {mass * BOX:.3g}"


RULES = (
    refusal(
        "PB01",
        "a joint of a type that Bullet does not know",
        "use a type of the URDF standard, in lower-case letters",
        p.joints_other_than(*JOINTS),
        ex.of_type("Revolute"),
        effect="the file is refused: 'Cannot load URDF file.'",
    ),
    refusal(
        "PB02",
        "a revolute or prismatic joint without <limit>",
        'add <limit>, or write type="continuous"',
        p.joints_where(p.without_limit),
        ((ex.LIMIT, ""),),
    ),
    refusal(
        "PB03",
        "<dynamics> with neither damping nor friction",
        'add damping="0"',
        p.joints_where(p.dynamics_without_losses),
        ex.dynamics('armature="0.3"'),
    ),
    refusal(
        "PB04",
        "an <inertial> without <mass>, <inertia>, or one of ixx, iyy, izz",
        "write the mass and all six numbers of the inertia",
        p.links_where(lambda link: p.incomplete(link) and _lacks_diagonal(link)),
        ((ex.ARM_MASS, ""),),
    ),
    refusal(
        "PB05",
        "a mesh of a visual or collision that is not found below the file's folder or below a folder above it",
        "remove <visual> and <collision>, or move the file below the folder that contains the packages",
        _unfound_meshes,
        ex.shape("visual", '<mesh filename="nowhere.stl"/>'),
        effect="the complete file is refused; Bullet removes package:// and model:// from names and searches for the "
        "rest",
    ),
    refusal(
        "PB06",
        "a visual or collision without a shape, or with a shape that Bullet does not know",
        "remove the empty element",
        p.any_of(p.without_geometry(), p.with_unknown_geometry(SHAPES)),
        ex.shape("visual", ""),
    ),
    refusal("PB07", "a robot without a name", "give the robot a name", p.unnamed_robot, ex.NAMELESS),
    refusal(
        "PB08",
        "two links with the same name, a joint that names an unknown link, or a robot without a root link",
        "rename one of the links or joints; add the missing link",
        p.any_of(p.repeated_links, p.loose_ends, p.rootless, p.carried_twice),
        ex.more('<link name="tool"/>'),
    ),
    refusal(
        "PB09",
        "two joints with the same name, or several root links",
        "rename one of the joints; connect the root links by joints",
        p.any_of(p.repeated_joints, p.further_roots),
        ex.more('<link name="stray"/>'),
        effect="the file is refused, or the process ends",
    ),
    adds(
        "PB10",
        'a link without <inertial> whose name is not "world"',
        "the link gets a mass of 1 kg and, with the flag URDF_USE_INERTIA_FROM_FILE, moments of inertia of 1 kg m^2",
        'write an <inertial> with <mass value="0"/> and an inertia of six zeros',
        p.links_where(p.bare_but_world),
        c.give_one_kilogram,
        ex.BARE_TOOL,
    ),
    alters(
        "PB11",
        "every <inertia>, unless the flag URDF_USE_INERTIA_FROM_FILE is given",
        "the inertia is replaced by that of the box around the collision shapes or, without collision shapes, of "
        "a box of about 1 mm",
        "loadURDF(path, flags=pybullet.URDF_USE_INERTIA_FROM_FILE)",
        p.links_where(lambda link: moments_of(link) is not None and mass_of(link) != 0),
        measure=_lost_moments,
    ),
    alters(
        "PB12",
        "an inertia that no rigid body has, with the flag URDF_USE_INERTIA_FROM_FILE",
        "all three moments are set to zero, with a warning on the terminal",
        "correct the inertia",
        p.links_where(p.impossible_inertia),
        example=ex.IMPOSSIBLE,
        measure=moments_text,
    ),
    alters(
        "PB13",
        "a number that is followed by other characters, or too few numbers",
        "the number is read up to the first character that is not part of it: 2kg and 2,5 are read as 2",
        "write numbers only, without units",
        p.bad_numbers,
        example=ex.UNIT_BEHIND,
    ),
    alters(
        "PB14",
        "a massless root link",
        "the base is fixed to the world, although the option useFixedBase is not set",
        "give the root link the inertial of a link that is fixed to it",
        _massless_roots,
        example=((ex.BASE_INERTIAL, ex.BASE_INERTIAL.replace('value="4"', 'value="0"')),),
    ),
    adds(
        "PB15",
        "a root link with mass",
        "the base is floating: the robot has 6 more degrees of freedom",
        "to fix the base, call loadURDF(path, useFixedBase=True)",
        _massive_roots,
        c.let_fly,
    ),
    alters(
        "PB16",
        "a joint of type floating",
        "the joint is fixed: 6 degrees of freedom are lost",
        "make the floating body the root link",
        p.joints_of("floating"),
        c.weld,
        ex.of_type("floating"),
    ),
    ignores(
        "PB17",
        "<mimic>",
        "the joint moves independently of the mimicked joint",
        "add a gear by createConstraint(..., JOINT_GEAR), or set the joint's position",
        p.joints_where(p.mimicking),
        example=ex.second_joint(inside='<mimic joint="hinge" multiplier="2"/>'),
    ),
    alters(
        "PB18",
        "damping of a joint",
        "the damping is computed explicitly, from the velocity before the step: with large values the simulation "
        "diverges",
        "use shorter steps, or set the damping to 0 and write your own controller",
        p.joints_where(p.damped),
        example=ex.dynamics('damping="0.7"'),
    ),
    ignores(
        "PB19",
        "friction of a joint",
        "getJointInfo returns the friction, but it is not simulated",
        "add a velocity motor with a small force",
        p.joints_where(p.rubbing),
        example=ex.dynamics('damping="0" friction="0.3"'),
    ),
    ignores(
        "PB20",
        "armature of a joint",
        "the rotor inertia is omitted, so the mass matrix is too small",
        "add the armature to the link's inertia about the joint axis",
        p.joints_where(p.with_rotor),
        example=ex.dynamics('damping="0" armature="0.3"'),
    ),
    alters(
        "PB21",
        "an axis whose length is not 1",
        "the length scales the joint's velocity, but not the mass matrix",
        "write an axis of length 1",
        p.joints_where(p.skew_axis),
        example=((ex.AXIS, '<axis xyz="0 2 0"/>'),),
    ),
    adds(
        "PB22",
        "any joint with limits",
        "limits are constraints of the solver, active from the first step",
        "to switch the limits off, write a lower limit above the upper limit",
        p.joints_where(p.limited),
    ),
    adds(
        "PB23",
        "any joint that moves",
        "velocity motors are on, velocities are limited to 100 rad/s or m/s, and links are damped with 0.04 1/s",
        "setJointMotorControl2(force=0); changeDynamics(linearDamping=0, angularDamping=0, maxJointVelocity=1e9)",
        p.joints_of(*p.AXIAL, "planar", "spherical"),
    ),
)


def _lacks_diagonal(link: _Element) -> bool:
    inertia = link.find("inertial/inertia")
    diagonal = {"ixx", "iyy", "izz"}
    return link.find("inertial/mass") is None or inertia is None or not diagonal <= set(inertia.attrib)


PYBULLET = Reader("pybullet", "PyBullet", "PB", "3.2.7", "loadURDF(path)", RULES)
