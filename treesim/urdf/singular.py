"""Robots whose mass matrix is singular in every configuration: joints that can move without moving any inertia."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..kernels.pivots import pivots_states
from ..model.inertia import Inertia
from ..model.pivots import first_massless_dof
from ..model.tree import Body, Tree
from .findings import Findings

if TYPE_CHECKING:
    from lxml.etree import _Element

ROUNDING = 1e-14  # principal moments below this part of the largest are none


def report_singular(bodies: Sequence[Body], joints: Mapping[str, _Element], findings: Findings) -> None:
    """Note the joints that move no inertia, or else one that moves none where those it carries make up for it.

    joints: their elements by name, for lines. O(N); with bodies that are no solid ones, 0.1 ms for each body.
    """
    idle = list(_moving_nothing(bodies))
    for body in idle:
        text = f"joint {body.joint.name!r} moves nothing that has inertia (link {body.name!r})"
        hint = "dynamics will refuse it: give the link an <inertial>"
        findings.add("U310", text, joints.get(body.joint.name), hint)
    name = None if idle or all(_solid(body.inertia) for body in bodies) else _unfelt(Tree("", bodies))
    if name is not None:
        text = f"joint {name!r}, with those it carries, can move without moving anything that has inertia"
        hint = "forward dynamics have no answer: give the links between them mass, fix a joint, or add armature"
        findings.add("U311", text, joints.get(name.partition("[")[0]), hint)


def _moving_nothing(bodies: Sequence[Body]) -> list[Body]:
    """Bodies without inertia, leaves first, that carry none either, and whose joints have no rotors."""
    loaded = [bool(body.inertia.mass or body.inertia.rotational.any()) for body in bodies]
    for i in range(len(bodies), 0, -1):
        parent = bodies[i - 1].parent
        if loaded[i - 1] and parent:
            loaded[parent - 1] = True
    return [
        body for body, some in zip(bodies[::-1], loaded[::-1], strict=True) if not (some or np.all(body.joint.armature))
    ]


def _solid(inertia: Inertia) -> bool:
    """Whether whatever way the body moves, inertia moves: its joint's pivot then is positive, whatever it carries."""
    moments = np.linalg.eigvalsh(inertia.rotational)
    return bool(inertia.mass > 0 and moments[0] > ROUNDING * moments[-1])


def _unfelt(tree: Tree) -> str | None:
    """The last degree of freedom whose pivot vanishes in a configuration like any other, by the kernel's own text:
    compiling it would take seconds."""
    D, H = np.empty(tree.nv), np.empty(tree.nv)
    with np.errstate(divide="ignore", invalid="ignore"):  # behind a pivot of zero there is nothing to be trusted
        pivots_states(tree.ints, tree.reals, tree.random(0), D, H)
    k = first_massless_dof(D, H)
    return None if k is None else tree.dof_name(k)
