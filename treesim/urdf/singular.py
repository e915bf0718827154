"""Robots whose mass matrix is singular in every configuration: joints that can move without moving inertia."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..errors import quoted
from ..kernels.dynamics.pivots import pivots_states
from ..model.inertia import Inertia
from ..model.mimic import carry_inertia
from ..model.tree import Body, Tree
from ..states.pivots import first_massless_dof
from .findings import Findings

if TYPE_CHECKING:
    from lxml.etree import _Element

ROUNDING = 1e-14  # principal moments below this part of the largest are none
REACH = 3.0  # rad or m, in which joints are looked at: at kilometres rounding hides small inertias


def report_singular(bodies: Sequence[Body], elements: Mapping[str, _Element], findings: Findings) -> None:
    """Add a note on joints that move no inertia, or on a joint that moves none if other joints compensate.

    elements: joints of the document, by name. O(N); 0.1 ms per body if some inertias are singular.
    """
    bodies = _with_shared_rotors(bodies)
    idle = _moving_nothing(bodies)
    for body in idle:
        text = f"joint {quoted(body.joint.name)} moves nothing that has inertia (link {quoted(body.name)})"
        hint = 'dynamics raise an error: give the link an <inertial>, or load with repair="fixed" or repair="armature"'
        findings.add("U310", text, elements[body.joint.name], hint)
    if idle or _solid([body.inertia for body in bodies]):
        return
    name = _massless_joint(Tree("", bodies))
    if name is not None:
        text = f"joint {quoted(name)} and joints further out can move so that no inertia moves"
        hint = 'dynamics raise an error: give the links between mass, fix a joint, or load with repair="armature"'
        findings.add("U311", text, elements[name], hint)


def _with_shared_rotors(bodies: Sequence[Body]) -> Sequence[Body]:
    """Return the spanning tree's bodies with the effective rotor inertias of mimic joints."""
    if not any(body.joint.mimic for body in bodies):
        return bodies
    return Tree("", bodies).with_shared_rotors().bodies


def _moving_nothing(bodies: Sequence[Body]) -> list[Body]:
    """Return the bodies, leaves first, whose subtrees have no inertia and whose joints have no armature."""
    loaded = carry_inertia(bodies)
    return [
        body for body, some in zip(bodies[::-1], loaded[::-1], strict=True) if not (some or np.all(body.joint.armature))
    ]


def _solid(inertias: Sequence[Inertia]) -> bool:
    """Return whether every motion of each body has inertia; the joints' pivots then are positive."""
    moments = np.linalg.eigvalsh(np.array([inertia.rotational for inertia in inertias]).reshape(-1, 3, 3))
    masses = [inertia.mass for inertia in inertias]
    return min(masses, default=1.0) > 0 and bool(np.logical_and.reduce(moments[:, 0] > ROUNDING * moments[:, 2]))


def _massless_joint(tree: Tree) -> str | None:
    """Return the last joint with a zero pivot in a generic configuration; None if there is none.

    Runs the kernel uncompiled, as compiling it would take seconds.
    """
    D, H = np.empty(tree.nv), np.empty(tree.nv)
    q = np.fmod(tree.random(0), REACH)
    with np.errstate(all="ignore"):  # behind a pivot of zero, or nearly so, there is nothing to be trusted
        pivots_states(tree.ints, tree.reals, q, D, H)
    k = first_massless_dof(D, H)
    return None if k is None else next(name for name, where in tree.v_index.items() if k < where.stop)
