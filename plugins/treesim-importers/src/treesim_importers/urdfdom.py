"""Rules of urdfdom, the parser of ROS, which Pinocchio and Gazebo use."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from treesim.urdf.document import name_of

from . import examples as ex
from . import predicates as p
from .description import number
from .rule import Rule, refuse

if TYPE_CHECKING:
    from lxml.etree import _Element

    from .outcome import Outcome

JOINTS = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")


def _in_joints(outcome: Outcome) -> Iterator[_Element]:
    return (element for element in p.bad_numbers(outcome) if element.getparent().tag == "joint")  # type: ignore[union-attr]


def _broken_inertials(outcome: Outcome) -> Iterator[_Element]:
    broken = {element.getparent() for element in p.bad_numbers(outcome)}
    for link in outcome.description.links:
        if link.find("inertial") in broken or p.incomplete(link):
            yield link


def _read_to_the_mistake(outcome: Outcome, links: list[_Element]) -> None:
    """Set masses as read up to the first error: a mass remains if the origin and itself can be read."""
    broken = set(p.bad_numbers(outcome))
    for link in links:
        mass = link.find("inertial/mass")
        if link.find("inertial/origin") in broken or number(mass, "value") is None:
            outcome.masses[name_of(link)] = 0.0


def rules(prefix: str) -> tuple[Rule, ...]:
    """Return the rules of urdfdom, with codes 01 to 07 after a reader's prefix."""
    return (
        Rule(
            f"{prefix}01",
            "refuses",
            "a joint of another type than the standard's, spherical among them",
            "the file is refused",
            "three revolute joints, or a joint added after loading",
            p.joints_other_than(*JOINTS),
            refuse,
            ex.of_type("spherical"),
        ),
        Rule(
            f"{prefix}02",
            "refuses",
            "a revolute or prismatic joint without effort or velocity in a <limit>",
            "the file is refused",
            "state effort and velocity, or call the joint continuous",
            p.joints_where(p.without_effort_or_velocity),
            refuse,
            ((ex.LIMIT, '<limit lower="-1" upper="1"/>'),),
        ),
        Rule(
            f"{prefix}03",
            "refuses",
            "<dynamics> with neither damping nor friction",
            "the file is refused",
            'add damping="0"',
            p.joints_where(p.dynamics_without_losses),
            refuse,
            ex.dynamics('armature="0.3"'),
        ),
        Rule(
            f"{prefix}04",
            "refuses",
            "an attribute of a joint that is no number, or too few numbers",
            "the file is refused",
            "write numbers alone",
            _in_joints,
            refuse,
            ((ex.AXIS, '<axis xyz="0 1"/>'),),
        ),
        Rule(
            f"{prefix}05",
            "refuses",
            "a robot without a name",
            "the file is refused",
            "name the robot",
            p.unnamed_robot,
            refuse,
            ex.NAMELESS,
        ),
        Rule(
            f"{prefix}06",
            "refuses",
            "a name that two links or joints have, a joint that names no link, or no link or several without a parent",
            "the file is refused",
            "rename one; declare the link; join the links",
            lambda outcome: (
                *p.repeated_links(outcome),
                *p.repeated_joints(outcome),
                *p.loose_ends(outcome),
                *p.carried_twice(outcome),
                *p.further_roots(outcome),
                *p.rootless(outcome),
            ),
            refuse,
            ex.more('<link name="stray"/>'),
        ),
        Rule(
            f"{prefix}07",
            "drops",
            "an <inertial> in which something is missing or is no number, such as 2kg",
            "what follows the mistake is dropped, mass first, with an error on the terminal only",
            "state mass and all six numbers of the inertia, numbers alone",
            _broken_inertials,
            _read_to_the_mistake,
            ex.UNIT_BEHIND,
        ),
    )
