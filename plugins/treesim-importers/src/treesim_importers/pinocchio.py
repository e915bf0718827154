"""Rules of Pinocchio, for `buildModelFromUrdf(path)`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from treesim.urdf.document import parent_of

from . import changes as c
from . import examples as ex
from . import predicates as p
from . import urdfdom
from .description import mass_of
from .effects import moments_text
from .rule import Reader, adds, alters, ignores

if TYPE_CHECKING:
    from lxml.etree import _Element

    from .outcome import Outcome


def _idle(outcome: Outcome) -> Iterator[_Element]:
    """Yield the joints that move no mass."""
    description = outcome.description
    massive = {name for name, link in description.link.items() if mass_of(link)}
    massive |= {parent_of(joint) for link in massive for joint in description.path_to(link)}
    return (description.parent_joint[link] for link in outcome.dofs if link not in massive)


RULES = (
    *urdfdom.rules("PI"),
    alters(
        "PI08",
        "a fixed joint",
        "its two links become one body; each link remains a frame",
        "no change is needed",
        p.joints_of("fixed"),
        c.merge_fixed,
    ),
    adds(
        "PI09",
        "a mass below zero",
        "the mass is used unchanged: the mass matrix may be indefinite",
        "repair the mass",
        p.links_where(p.negative_mass),
        example=ex.NEGATIVE,
    ),
    adds(
        "PI10",
        "an inertia that no rigid body has",
        "the inertia is used unchanged, without a message",
        "correct the inertia",
        p.links_where(p.impossible_inertia),
        example=ex.IMPOSSIBLE,
        measure=moments_text,
    ),
    adds(
        "PI11",
        "a joint that moves no mass",
        "the mass matrix is singular, without a message: forward dynamics return NaN or infinity",
        "give the link mass and inertia, or make the joint fixed",
        _idle,
        example=ex.BARE_ARM,
    ),
    ignores(
        "PI12",
        "<mimic>",
        "the joint moves independently of the mimicked joint",
        "buildModelFromUrdf(path, mimic=True)",
        p.joints_where(p.mimicking),
        example=ex.second_joint(inside='<mimic joint="hinge" multiplier="2"/>'),
    ),
    alters(
        "PI13",
        "a continuous joint",
        "the joint has two numbers in q, cosine and sine, for one degree of freedom: nq > nv",
        "use pinocchio.integrate and pinocchio.difference instead of sums and differences",
        p.joints_of("continuous"),
        example=ex.of_type("continuous"),
    ),
    alters(
        "PI14",
        "a planar joint",
        "the joint has four numbers in q, among them cosine and sine of the angle, for three degrees of freedom",
        "use pinocchio.integrate and pinocchio.difference instead of sums and differences",
        p.joints_of("planar"),
        example=ex.of_type("planar"),
    ),
    alters(
        "PI15",
        "several joints on one link that are not in alphabetical order in the file",
        "q and v are in the alphabetical order of the joints",
        "look up joints by name: model.getJointId(name)",
        p.out_of_alphabet,
        example=ex.second_joint("aaa"),
    ),
    ignores(
        "PI16",
        "damping or friction of a joint",
        "the values are stored in model.damping and the limits of dry friction, but aba and rnea do not use them",
        "subtract the damping force from tau",
        p.joints_where(lambda joint: p.damped(joint) or p.rubbing(joint)),
        example=ex.dynamics('damping="0.7"'),
    ),
    ignores(
        "PI17",
        "armature of a joint",
        "the rotor inertia is omitted, so the mass matrix is too small",
        "set model.armature after loading the file",
        p.joints_where(p.with_rotor),
        example=ex.dynamics('damping="0" armature="0.3"'),
    ),
)

PINOCCHIO = Reader("pinocchio", "Pinocchio", "PI", "4.1.0", "buildModelFromUrdf(path)", RULES)
