"""Choice of the base of a robot: fixed to the world, or floating."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from ..model.joints import ROOT_JOINT as ROOT_JOINT
from ..types import Base
from .document import Document
from .inertias import inertia_in

if TYPE_CHECKING:
    import yourdfpy

WORLD = "world"


def base_of(document: Document, children: Mapping[str, Sequence[yourdfpy.Joint]], still: Collection[str]) -> Base:
    """Return the base that "auto" selects: "floating", unless the file bolts the root link to the world.

    children: joints by parent link. still: names of joints that do not move, besides those of type "fixed". The base is
    fixed if

    1. the root link is called "world", or
    2. a joint is called "root_joint", so that the file has a floating base of its own, or
    3. the root body, which is the root link with all links fixed to it, has no mass, or
    4. exactly one joint moves relative to the root body, as on the pedestal of an arm.
    """
    root = document.root_link
    if root == WORLD or ROOT_JOINT in document.joint:
        return "fixed"
    mass, moving, pending = 0.0, 0, [root]
    while pending:
        name = pending.pop()
        inertial = document.link[name].find("inertial")
        mass += 0.0 if inertial is None else inertia_in(inertial).mass
        for joint in children[name]:
            if joint.type == "fixed" or joint.name in still:
                pending.append(joint.child)
            else:
                moving += 1
    return "fixed" if mass == 0 or moving == 1 else "floating"
