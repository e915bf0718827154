"""Rules of Pinocchio, for `buildModelFromUrdf(path)`."""

from __future__ import annotations

from collections.abc import Iterator

from lxml.etree import _Element

from treesim.urdf.document import parent_of

from . import changes as c
from . import examples as ex
from . import predicates as p
from . import urdfdom
from .description import mass_of
from .outcome import Outcome
from .rule import Reader, Trigger, adds, alters, drops, ignores, refusal
from .triggers import ARMATURE, FIXED_JOINT, IMPOSSIBLE_INERTIA, MIMIC, MOTION_LIMITS, NEGATIVE_MASS, PLANAR_JOINT


def _idle(outcome: Outcome) -> Iterator[_Element]:
    """Yield the joints that move no mass."""
    description = outcome.description
    massive = {name for name, link in description.link.items() if mass_of(link)}
    massive |= {parent_of(joint) for link in massive for joint in description.path_to(link)}
    return (description.parent_joint[link] for link in outcome.dofs if link not in massive)


RULES = (
    *urdfdom.rules("PI"),
    alters("PI08", FIXED_JOINT,
        "its two links become one body; each link remains a frame", "no change is needed", c.merge_fixed),
    adds("PI09", NEGATIVE_MASS, "the mass is used unchanged: the mass matrix may be indefinite", "repair the mass"),
    adds("PI10", IMPOSSIBLE_INERTIA, "the inertia is used unchanged, without a message", "correct the inertia"),
    adds("PI11", Trigger("a joint that moves no mass", _idle, ex.BARE_ARM),
        "the mass matrix is singular, without a message: forward dynamics return NaN or infinity",
        "give the link mass and inertia, or make the joint fixed"),
    ignores("PI12", MIMIC,
        "the joint moves independently of the mimicked joint", "buildModelFromUrdf(path, mimic=True)"),
    alters("PI13", Trigger("a continuous joint", p.joints_of("continuous"), ex.of_type("continuous")),
        "the joint has two numbers in q, cosine and sine, for one degree of freedom: nq > nv",
        "use pinocchio.integrate and pinocchio.difference instead of sums and differences"),
    alters("PI14", PLANAR_JOINT,
        "the joint has four numbers in q, among them cosine and sine of the angle, for three degrees of " "freedom",
        "use pinocchio.integrate and pinocchio.difference instead of sums and differences"),
    alters("PI15", Trigger("several joints on one link that are not in alphabetical order in the file",
            p.out_of_alphabet, ex.second_joint("aaa")),
        "q and v are in the alphabetical order of the joints", "look up joints by name: model.getJointId(name)"),
    ignores("PI16", Trigger("damping or friction of a joint",
            p.joints_where(lambda joint: p.damped(joint) or p.rubbing(joint)), ex.dynamics('damping="0.7"')),
        "the values are stored in model.damping and the limits of dry friction, but aba and rnea do not use " "them",
        "subtract the damping force from tau"),
    ignores("PI17", ARMATURE,
        "the rotor inertia is omitted, so the mass matrix is too small", "set model.armature after loading the file"),
    refusal("PI18", Trigger("a version of URDF other than 1.0, 1.1 and 1.2", p.unknown_version, ex.of_version("1.3")),
        "write one of these versions"),
    refusal("PI19", Trigger("in a file of URDF 1.2, a revolute or prismatic joint without lower or upper limit or with "
            "the lower above the upper, or a limit of acceleration, deceleration or jerk that is negative or infinite",
            p.joints_where(p.bad_limits), ex.of_version("1.2", (ex.LIMIT, ex.LIMIT.replace('lower="-1" ', "")))),
        'write both limits, or type="continuous"'),
    refusal("PI20", Trigger("from URDF 1.1 on, an <origin> of a joint with both rpy and quat_xyzw, or with a quat_xyzw "
            "that has not four numbers", p.bad_quaternions,
            ex.of_version("1.1", ('<origin xyz="0 0 0.2"/>', '<origin xyz="0 0 0.2" quat_xyzw="0 0 1"/>'))),
        "write one of the two, with all its numbers"),
    drops("PI21", Trigger("a quaternion, a capsule, or a limit of acceleration, deceleration or jerk in a file of an "
            "earlier version of URDF", p.later_features, ex.shape("collision", '<capsule radius="0.1" length="0.2"/>')),
        "a rotation is left out, a capsule disappears, and the only message is a line on the terminal",
        'write <robot version="1.1"> for quaternions and capsules'),
    ignores("PI22", MOTION_LIMITS,
        "the model of Pinocchio has no such limits", "read them from treesim.load(path)"),
)  # fmt: skip

PINOCCHIO = Reader("pinocchio", "Pinocchio", "PI", "4.1.0", "buildModelFromUrdf(path)", RULES)
