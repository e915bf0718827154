"""Rules of urdfdom, the parser of ROS, which Pinocchio and Gazebo use."""

from __future__ import annotations

from collections.abc import Iterator

from lxml.etree import _Element

from treesim.urdf.document import name_of

from . import examples as ex
from . import predicates as p
from .description import number
from .outcome import Outcome
from .rule import Rule, Trigger, drops, refusal
from .triggers import EMPTY_DYNAMICS, NAMELESS_ROBOT

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
        refusal(f"{prefix}01", Trigger("a joint whose type is not in the URDF standard, such as spherical",
                p.joints_other_than(*JOINTS), ex.of_type("spherical")),
            "use three revolute joints, or add the joint after loading the file"),
        refusal(f"{prefix}02", Trigger("a revolute or prismatic joint without <limit> or, before URDF 1.2, without "
                "effort or velocity in it",
                p.joints_where(p.without_effort_or_velocity), ((ex.LIMIT, '<limit lower="-1" upper="1"/>'),)),
            'write effort and velocity, or write type="continuous"'),
        refusal(f"{prefix}03", EMPTY_DYNAMICS, 'add damping="0"'),
        refusal(f"{prefix}04", Trigger("an attribute of a joint that is not a number, or has too few numbers",
                _in_joints, ((ex.AXIS, '<axis xyz="0 1"/>'),)),
            "write numbers only, without units"),
        refusal(f"{prefix}05", NAMELESS_ROBOT, "give the robot a name"),
        refusal(f"{prefix}06", Trigger("two links or joints with the same name, a joint that names an unknown link, no "
                "root link, or several root links", p.any_of(p.repeated_links, p.repeated_joints, p.loose_ends,
                                                             p.carried_twice, p.further_roots, p.rootless),
                ex.more('<link name="stray"/>')),
            "rename one of the links or joints; add the missing link; connect the root links by joints"),
        drops(f"{prefix}07", Trigger("an <inertial> in which an element or number is missing, or an attribute is not a "
                "number, such as 2kg", _broken_inertials, ex.UNIT_BEHIND),
            "the content after the mistake is dropped, and the only message is an error on the terminal",
            "write the mass and all six numbers of the inertia, without units", _read_to_the_mistake),
    )  # fmt: skip
