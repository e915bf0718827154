"""Changes that rules make to an import result; each is applied to the elements that its rule found."""

from __future__ import annotations

from lxml.etree import _Element

from treesim.urdf.document import child_of, name_of

from .outcome import Outcome
from .predicates import mass_of_shapes


def merge_fixed(outcome: Outcome, joints: list[_Element]) -> None:
    """Merge each link with the links fixed to it."""
    outcome.merge_fixed()


def drop_links(outcome: Outcome, links: list[_Element]) -> None:
    """Remove links, but not the links below them."""
    outcome.drop(map(name_of, links))


def drop_with_carried(outcome: Outcome, links: list[_Element]) -> None:
    """Remove links and all links below them."""
    for link in links:
        outcome.drop(outcome.description.subtree(name_of(link)))


def let_fly(outcome: Outcome, links: list[_Element]) -> None:
    """Give links six degrees of freedom."""
    for link in links:
        outcome.dofs[name_of(link)] = 6


def weld(outcome: Outcome, joints: list[_Element]) -> None:
    """Remove the degrees of freedom of joints."""
    for joint in joints:
        outcome.dofs.pop(child_of(joint), None)


def take_mass(outcome: Outcome, links: list[_Element]) -> None:
    """Set the mass of links to zero."""
    for link in links:
        outcome.masses[name_of(link)] = 0.0


def give_one_kilogram(outcome: Outcome, links: list[_Element]) -> None:
    """Set the mass of links to 1 kg."""
    for link in links:
        outcome.masses[name_of(link)] = 1.0


def weigh_shapes(outcome: Outcome, links: list[_Element]) -> None:
    """Set the mass of links to that of their collision shapes."""
    for link in links:
        outcome.masses[name_of(link)] = mass_of_shapes(link)
