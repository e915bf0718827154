"""Errors of readers that merge links on fixed joints into one body."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from ..model.inertia import Inertia
from ..model.tree import Tree
from ..urdf.document import parent_of
from .candidates import Candidate, Side, TreeChange
from .description import Description
from .inertial_candidates import inertial_of
from .source import with_inertias


def merging_candidates(side: Side) -> Iterator[Candidate]:
    """Yield candidates that merge links wrongly: at each body with several links, and at all of them."""
    description = side.description
    masses = [sum(inertial_of(description.link[name]).mass > 0 for name in links) for links in description.members]
    massive = [i for i, count in enumerate(masses, start=1) if count > 1]
    massless = [i for i, links in enumerate(description.members, start=1) if _counts_massless(description, links)]
    several = [i for i, links in enumerate(description.members, start=1) if len(links) > 1]
    for kind, cause, bodies, change in (
        ("merged_axes_dropped", "the principal axes of the merged links are lost", massive, _without_axes),
        ("merged_massless_dropped", "links without mass are merged without their inertia", massless, partial(
            _massive_alone, description)),
        ("merged_unturned", "links are merged as their principal moments add up, unturned and without products; that "
         "into which others are merged loses the <origin> of its own inertial", several,
         partial(_unturned, description)),
    ):  # fmt: skip
        for chosen in [[i] for i in bodies] + ([bodies] if len(bodies) > 1 else []):
            yield _candidate(side, kind, cause, chosen, partial(change, chosen))


def _candidate(side: Side, kind: str, cause: str, bodies: Sequence[int], change: TreeChange) -> Candidate:
    name = side.robot.body_names[bodies[0] - 1]
    several = len(bodies) > 1
    owner, first = (f"{len(bodies)} links", f" ({name!r} first)") if several else (f"link {name!r}", "")
    place = side.description.place("link", name)
    return Candidate(kind, owner, cause + first, lambda side: side.with_tree(change), place, ("link", name))


def _without_axes(chosen: Sequence[int], robot: Tree) -> Tree:
    found = {}
    for i in chosen:
        part = robot.bodies[i - 1].inertia
        found[i] = Inertia(part.mass, part.com, np.diag(np.linalg.eigvalsh(part.rotational)))
    return with_inertias(found, robot)


def _counts_massless(description: Description, links: Sequence[str]) -> bool:
    """Return whether any link merged into the first has rotational inertia but no mass."""
    parts = [inertial_of(description.link[name]) for name in links[1:]]
    return any(part.mass == 0 and part.inertia.any() for part in parts)


def _massive_alone(description: Description, chosen: Sequence[int], robot: Tree) -> Tree:
    """Merge as MuJoCo does with fusestatic: massless links are ignored."""
    found = {}
    for i in chosen:
        own, *merged = description.members[i - 1]
        found[i] = inertial_of(description.link[own]).in_link
        for name in merged:
            part = inertial_of(description.link[name])
            if part.mass > 0:
                found[i] += part.in_link.in_frame(description.placement(i, name))
    return with_inertias(found, robot)


def _unturned(description: Description, chosen: Sequence[int], robot: Tree) -> Tree:
    """Merge as Bullet does with URDF_MERGE_FIXED_LINKS: principal moments are added without rotation."""
    into = {parent_of(joint) for joint in description.joint.values() if joint.get("type") == "fixed"}
    found = {}
    for i in chosen:
        whole = Inertia()
        for name in description.members[i - 1]:
            part, place = inertial_of(description.link[name]), description.placement(i, name)
            com = place.translation + (0.0 if name in into else place.rotation @ part.xyz)
            whole += Inertia(part.mass, com, np.diag(_moments(part.inertia)))
        found[i] = Inertia(whole.mass, whole.com, np.diag(np.diag(whole.rotational)))
    return with_inertias(found, robot)


def _moments(inertia: np.ndarray) -> np.ndarray:
    diagonal = np.diag(inertia)
    return diagonal if np.array_equal(np.diag(diagonal), inertia) else np.asarray(np.linalg.eigvalsh(inertia))
