"""What rules do to an outcome, besides nothing and refusing: each takes the elements that its rule has found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .description import child_of, name_of
from .predicates import mass_of_shapes

if TYPE_CHECKING:
    from lxml.etree import _Element

    from .outcome import Outcome


def merge_fixed(outcome: Outcome, joints: list[_Element]) -> None:
    """Make one body of each link with what fixed joints hold to it."""
    outcome.merge_fixed()


def drop_links(outcome: Outcome, links: list[_Element]) -> None:
    """Take links away, and leave what they carry."""
    outcome.drop(map(name_of, links))


def drop_with_carried(outcome: Outcome, links: list[_Element]) -> None:
    """Take links away with all that they carry."""
    for link in links:
        outcome.drop(outcome.description.carried_by(name_of(link)))


def let_fly(outcome: Outcome, links: list[_Element]) -> None:
    """Give links 6 degrees of freedom."""
    for link in links:
        outcome.dofs[name_of(link)] = 6


def weld(outcome: Outcome, joints: list[_Element]) -> None:
    """Take the degrees of freedom of joints away."""
    for joint in joints:
        outcome.dofs.pop(child_of(joint), None)


def take_mass(outcome: Outcome, links: list[_Element]) -> None:
    """Take the mass of links away."""
    for link in links:
        outcome.masses[name_of(link)] = 0.0


def give_one_kilogram(outcome: Outcome, links: list[_Element]) -> None:
    """Give links a mass of 1 kg."""
    for link in links:
        outcome.masses[name_of(link)] = 1.0


def weigh_shapes(outcome: Outcome, links: list[_Element]) -> None:
    """Give links the mass of their collision shapes."""
    for link in links:
        outcome.masses[name_of(link)] = mass_of_shapes(link)
