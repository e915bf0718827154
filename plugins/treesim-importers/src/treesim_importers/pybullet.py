"""Rules of PyBullet, for `loadURDF(path)` with its default flags."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from lxml.etree import _Element

from treesim.compare.inertial_candidates import BOX
from treesim.urdf.document import name_of

from . import changes as c
from . import examples as ex
from . import predicates as p
from .description import WORLD, folder_of, mass_of, moments_of
from .effects import moments_text
from .outcome import Outcome
from .rule import Reader, Trigger, adds, alters, ignores, refusal
from .triggers import ARMATURE, EMPTY_DYNAMICS, FRICTION, MIMIC, MOTION_LIMITS, NAMELESS_ROBOT, QUATERNION

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
    refusal("PB01", Trigger("a joint of a type that Bullet does not know", p.joints_other_than(*JOINTS),
            ex.of_type("Revolute")),
        "use a type of the URDF standard, in lower-case letters",
        effect="the file is refused: 'Cannot load URDF file.'"),
    refusal("PB02", Trigger("a revolute or prismatic joint without <limit>", p.joints_where(p.without_limit),
            ((ex.LIMIT, ""),)),
        'add <limit>, or write type="continuous"'),
    refusal("PB03", EMPTY_DYNAMICS, 'add damping="0"'),
    refusal("PB04", Trigger("an <inertial> without <mass>, <inertia>, or one of ixx, iyy, izz",
            p.links_where(lambda link: p.incomplete(link) and _lacks_diagonal(link)), ((ex.ARM_MASS, ""),)),
        "write the mass and all six numbers of the inertia"),
    refusal("PB05", Trigger("a mesh of a visual or collision that is not found below the file's folder or below a "
            "folder above it",
            _unfound_meshes, ex.shape("visual", '<mesh filename="nowhere.stl"/>')),
        "remove <visual> and <collision>, or move the file below the folder that contains the packages",
        effect="the complete file is refused; Bullet removes package:// and model:// from names and searches for the"
        " rest"),
    refusal("PB06", Trigger("a visual or collision without a shape, or with a shape that Bullet does not know",
            p.any_of(p.without_geometry(), p.with_unknown_geometry(SHAPES)), ex.shape("visual", "")),
        "remove the empty element"),
    refusal("PB07", NAMELESS_ROBOT, "give the robot a name"),
    refusal("PB08", Trigger("two links with the same name, a joint that names an unknown link, or a robot without a "
            "root link",
            p.any_of(p.repeated_links, p.loose_ends, p.rootless, p.carried_twice), ex.more('<link name="tool"/>')),
        "rename one of the links or joints; add the missing link"),
    refusal("PB09", Trigger("two joints with the same name, or several root links",
            p.any_of(p.repeated_joints, p.further_roots), ex.more('<link name="stray"/>')),
        "rename one of the joints; connect the root links by joints",
        effect="the file is refused, or the process ends"),
    adds("PB10", Trigger('a link without <inertial> whose name is not "world"', p.links_where(p.bare_but_world),
            ex.BARE_TOOL),
        "the link gets a mass of 1 kg and, with the flag URDF_USE_INERTIA_FROM_FILE, moments of inertia of 1 " "kg m^2",
        'write an <inertial> with <mass value="0"/> and an inertia of six zeros', c.give_one_kilogram),
    alters("PB11", Trigger("every <inertia>, unless the flag URDF_USE_INERTIA_FROM_FILE is given",
            p.links_where(lambda link: moments_of(link) is not None and mass_of(link) != 0), measure=_lost_moments),
        "the inertia is replaced by that of the box around the collision shapes or, without collision shapes,"
        " of a box of about 1 mm", "loadURDF(path, flags=pybullet.URDF_USE_INERTIA_FROM_FILE)"),
    alters("PB12", Trigger("an inertia that no rigid body has, with the flag URDF_USE_INERTIA_FROM_FILE",
            p.links_where(p.impossible_inertia), ex.IMPOSSIBLE, moments_text),
        "all three moments are set to zero, with a warning on the terminal", "correct the inertia"),
    alters("PB13", Trigger("a number that is followed by other characters, or too few numbers", p.bad_numbers,
            ex.UNIT_BEHIND),
        "the number is read up to the first character that is not part of it: 2kg and 2,5 are read as 2",
        "write numbers only, without units"),
    alters("PB14", Trigger("a massless root link", _massless_roots,
            ((ex.BASE_INERTIAL, ex.BASE_INERTIAL.replace('value="4"', 'value="0"')),)),
        "the base is fixed to the world, although the option useFixedBase is not set",
        "give the root link the inertial of a link that is fixed to it"),
    adds("PB15", Trigger("a root link with mass", _massive_roots),
        "the base is floating: the robot has 6 more degrees of freedom",
        "to fix the base, call loadURDF(path, useFixedBase=True)", c.let_fly),
    alters("PB16", Trigger("a joint of type floating", p.joints_of("floating"), ex.of_type("floating")),
        "the joint is fixed: 6 degrees of freedom are lost", "make the floating body the root link", c.weld),
    ignores("PB17", MIMIC,
        "the joint moves independently of the mimicked joint",
        "add a gear by createConstraint(..., JOINT_GEAR), or set the joint's position"),
    alters("PB18", Trigger("damping of a joint", p.joints_where(p.damped), ex.dynamics('damping="0.7"')),
        "the damping is computed explicitly, from the velocity before the step: with large values the "
        "simulation diverges", "use shorter steps, or set the damping to 0 and write your own controller"),
    ignores("PB19", FRICTION,
        "getJointInfo returns the friction, but it is not simulated", "add a velocity motor with a small force"),
    ignores("PB20", ARMATURE,
        "the rotor inertia is omitted, so the mass matrix is too small",
        "add the armature to the link's inertia about the joint axis"),
    alters("PB21", Trigger("an axis whose length is not 1", p.joints_where(p.skew_axis),
            ((ex.AXIS, '<axis xyz="0 2 0"/>'),)),
        "the length scales the joint's velocity, but not the mass matrix", "write an axis of length 1"),
    adds("PB22", Trigger("any joint with limits", p.joints_where(p.limited)),
        "limits are constraints of the solver, active from the first step",
        "to switch the limits off, write a lower limit above the upper limit"),
    adds("PB23", Trigger("any joint that moves", p.joints_of(*p.AXIAL, "planar", "spherical")),
        "velocity motors are on, velocities are limited to 100 rad/s or m/s, and links are damped with 0.04 " "1/s",
        "setJointMotorControl2(force=0); changeDynamics(linearDamping=0, angularDamping=0, " "maxJointVelocity=1e9)"),
    alters("PB24", QUATERNION,
        "the rotation is left out, without a message", "write the rotation as rpy; treesim.to_urdf does so"),
    ignores("PB25", MOTION_LIMITS,
        "the limits are not read", "limit the motion in your controller"),
)  # fmt: skip


def _lacks_diagonal(link: _Element) -> bool:
    inertia = link.find("inertial/inertia")
    diagonal = {"ixx", "iyy", "izz"}
    return link.find("inertial/mass") is None or inertia is None or not diagonal <= set(inertia.attrib)


PYBULLET = Reader("pybullet", "PyBullet", "PB", "3.2.7", "loadURDF(path)", RULES)
