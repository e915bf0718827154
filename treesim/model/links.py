"""The links of a tree: its bodies' own links and the welds, each on its parent link and with its own inertia."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from .inertia import IDENTITY, NOTHING, Inertia, nearly_equal, welded
from .parts import Body, Frame
from .welds import Weld

K = TypeVar("K", str, int)
LinkJoints = dict[str, tuple[str, str]]  # {link: (name of its joint, its parent link)}
ROUNDING = 1e-9  # largest relative difference between a body's inertia and the sum over its links


def link_inertias(bodies: Sequence[Body], welds: Sequence[Weld], frames: Mapping[str, Frame]) -> dict[str, Inertia]:
    """Return {link: its inertia in its own frame} of all bodies and welds, whose sums are the inertias of the bodies.

    If the links of a body do not add up to its inertia, the body's own link has it all.
    """
    found = {weld.link: weld.inertia for weld in welds}
    for number, body in enumerate(bodies, start=1):
        own, on = body.inertia if body.own is None else body.own, welds_on(number, welds, frames)
        if nearly_equal(summed(body, own, on, frames).inertia, body.inertia, ROUNDING):
            found[body.name] = own
        else:
            found |= {body.name: body.inertia} | {weld.link: NOTHING for weld in on}
    return found


def welds_on(number: int, welds: Sequence[Weld], frames: Mapping[str, Frame]) -> list[Weld]:
    """Return the welds on a body."""
    return [weld for weld in welds if frames[weld.link].body == number]


def summed(body: Body, own: Inertia, welds: Sequence[Weld], frames: Mapping[str, Frame]) -> Body:
    """Return a body with the inertia `own` of its own link, and with those of the welds on it, in their order."""
    total = welded(NOTHING, own, IDENTITY)
    for weld in welds:
        total = welded(total, weld.inertia, frames[weld.link].placement)
    return replace(body, inertia=total, own=own)


def link_children(bodies: Sequence[Body], welds: Sequence[Weld], base: str = "") -> dict[str, list[str]]:
    """Return {link: its child links} of all bodies and welds; links on the world are children of `base`.

    A depth-first walk through these lists meets the bodies in their order and the welds in theirs, if there is such a
    walk. base: name of the root link of a fixed base, which may be a weld.
    """
    parents = link_parents(bodies, welds, base)
    first: dict[str, tuple[float, float]] = {body.name: (number, math.inf) for number, body in enumerate(bodies)}
    first |= {weld.link: (math.inf, number) for number, weld in enumerate(welds)}
    children: dict[str, list[str]] = {name: [] for name in (base, *first)}
    for link, parent in parents.items():
        children[parent].append(link)
    for link in reversed(depth_first(children, base)[1:]):  # whose own children have been included
        own, other = first.get(parents[link], (math.inf, math.inf)), first[link]
        first[parents[link]] = min(own[0], other[0]), min(own[1], other[1])
    return {link: _in_order(found, first) for link, found in children.items()}


def link_parents(bodies: Sequence[Body], welds: Sequence[Weld], base: str = "") -> dict[str, str]:
    """Return {link: its parent link} of all bodies and welds but the link `base`, which stands for the world."""
    names = [base, *(body.name for body in bodies)]
    carrier = {joint: weld.link for weld in welds for joint in weld.joints}
    parents = {body.name: carrier.get(body.joint.name, names[body.parent]) for body in bodies}
    return parents | {weld.link: weld.parent or base for weld in welds if weld.link != base}


def link_joints(bodies: Sequence[Body], welds: Sequence[Weld]) -> LinkJoints:
    """Return {link: (name of its joint, its parent link)} of all bodies and welds."""
    joints = {weld.link: weld.joint for weld in welds} | {body.name: body.joint.name for body in bodies}
    return {link: (joints[link], parent) for link, parent in link_parents(bodies, welds).items()}


def in_walk_order(bodies: Sequence[Body], welds: Sequence[Weld]) -> list[Weld]:
    """Return welds in the order in which a depth-first walk through all links meets them."""
    order = {link: k for k, link in enumerate(depth_first(link_children(bodies, welds), ""))}
    return sorted(welds, key=lambda weld: order[weld.link])


def unused(name: str, taken: set[str]) -> str:
    """Return a name, with underscores if it is taken, and add it to those that are."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def depth_first(children: Mapping[K, Sequence[K]], root: K) -> list[K]:
    """Return links, or numbers of bodies, in the order of a depth-first walk from a root, which comes first."""
    found: list[K] = []
    pending = [root]
    while pending:
        found.append(pending.pop())
        pending.extend(reversed(children[found[-1]]))
    return found


def depth_first_order(parent: Sequence[int]) -> list[int]:
    """Return the numbers of bodies with parents λ(1) ... λ(N) in the order of a depth-first walk, siblings in order."""
    children: dict[int, list[int]] = {number: [] for number in range(len(parent) + 1)}
    for number, above in enumerate(parent, start=1):
        children[above].append(number)
    return depth_first(children, 0)[1:]


def is_depth_first(parent: Sequence[int]) -> bool:
    """Return whether the numbering `parent` = (λ(1) ... λ(N)) is depth-first."""
    return depth_first_order(parent) == [*range(1, len(parent) + 1)]


def _in_order(links: Sequence[str], first: Mapping[str, tuple[float, float]]) -> list[str]:
    """Return sibling links in the order of the first bodies, and of the first welds, of their subtrees."""
    ordered = sorted((link for link in links if first[link][0] < math.inf), key=lambda link: first[link][0])
    for link in sorted((link for link in links if first[link][0] == math.inf), key=lambda link: first[link][1]):
        later = (k for k, other in enumerate(ordered) if first[link][1] < first[other][1] < math.inf)
        ordered.insert(next(later, len(ordered)), link)
    return ordered
