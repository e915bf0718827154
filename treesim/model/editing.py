"""Edits of trees: functions that return a changed copy, or its parts, with every other part kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ArgumentError, ModelError, quoted
from ..validation.values import checked_flag, checked_part, checked_text, known_name, one_of
from .base_pose import placement_of
from .inertia import IDENTITY, Inertia, Placement
from .joints import ROOT_JOINT, Joint, displacement
from .links import depth_first, link_children, link_inertias
from .parts import Body, Frame, Visual
from .rehosting import kept_bodies, rehosted, summed
from .shapes import CollisionShape

if TYPE_CHECKING:
    from .tree import Tree

T = TypeVar("T", bound="Tree")


def with_frame(tree: T, name: str, parent: str, placement: Placement | ArrayLike) -> T:
    """Return a tree with one more frame at a pose in another frame."""
    on = tree.frame(parent)
    at = on.placement @ placement_of(f"placement of frame {quoted(name)}", placement)
    return tree._with(frames=[*tree._parts()["frames"], Frame(name, on.body, at)])


def with_shape(
    tree: T,
    link: str,
    kind: Any,
    size: tuple[float, ...],
    placement: Placement | ArrayLike,
    file: str | None,
    visual: bool,
) -> T:
    """Return a tree with one more collision shape or visual."""
    on, kind = tree.frame(link), checked_text("kind of a shape", kind)
    at = on.placement @ placement_of(f"placement of a {kind} of {quoted(link)}", placement)
    if checked_flag("visual", visual):
        lengths = (size or (1.0, 1.0, 1.0)) if kind == "mesh" else size
        return tree._with(visuals=[*tree.visuals, Visual(on.body, at, kind, lengths, file=file, link=on.name)])
    made: dict[str, Any] = {"kind": kind, "size": size}
    if kind == "mesh":
        made = {"kind": "hull", "scale": size or (1.0, 1.0, 1.0)}
    return tree._with(shapes=[*tree.shapes, CollisionShape(on.body, at, link=on.name, file=file, **made)])


def with_inertia(tree: T, link: str, inertia: Inertia) -> T:
    """Return a tree in which a link has another inertia of its own."""
    number, inertias = tree.frame(link).body, link_inertias(tree.bodies, tree.welds, tree.frames)
    if link not in inertias:
        raise ModelError(f"frame {quoted(link)} is no link: give the inertia to the link that it is on")
    inertias[link] = checked_part(f"inertia of link {quoted(link)}", inertia, Inertia)
    on = [k for k, weld in enumerate(tree.welds) if tree.frames[weld.link].body == number]
    bodies, welds = list(tree.bodies), list(tree.welds)
    for k in on:
        welds[k] = replace(welds[k], inertia=inertias[welds[k].link])
    if number:
        body = bodies[number - 1]
        bodies[number - 1] = summed(body, inertias[body.name], [welds[k] for k in on], tree.frames)
    return tree._with(bodies=bodies, welds=welds)


def with_joint(tree: T, name: str, changes: Mapping[str, Any]) -> T:
    """Return a tree with other arguments of one joint."""
    joint = tree.joint(name)
    known = [field.name for field in fields(Joint) if field.name != "name"]
    for label in changes:
        known_name("argument of a joint", label, known)
    kept: dict[str, Any] = {}
    if changes.get("type", joint.type) != joint.type:  # an equal number for each coordinate fits any type
        arrays = {label: np.asarray(getattr(joint, label)) for label in known if label not in ("type", "axis")}
        kept = {label: x[0] for label, x in arrays.items() if x.ndim == 1 and x.size and (x == x[0]).all()}
    limits = np.asarray(joint.acceleration_limit), np.asarray(joint.deceleration_limit)
    if "acceleration_limit" in changes and np.array_equal(*limits):
        kept["deceleration_limit"] = None  # that of acceleration, as before
    changed = replace(joint, **{**kept, **changes})
    bodies = [replace(body, joint=changed) if body.joint.name == name else body for body in tree.bodies]
    return tree._with(bodies=bodies)


def reduced(tree: T, positions: Mapping[str, ArrayLike]) -> T:
    """Return a tree in which joints are locked at positions."""
    q = tree.configuration(_without_mimics(tree, positions))
    lines = {} if tree.mimic_map is None else tree.mimic_map.lines()
    locked = {*positions, *(name for name, line in lines.items() if line[0] in positions)}
    if not locked:
        return tree
    full, where = tree.expand(q), tree.spanning.q_index
    place, numbers = {0: (0, IDENTITY)}, []
    for number, body in enumerate(tree.bodies, start=1):
        host, pose = place[body.parent]
        if body.joint.name in locked:
            place[number] = host, pose @ body.joint.placement @ displacement(body.joint, full[where[body.joint.name]])
        else:
            numbers.append(number)
            place[number] = len(numbers), IDENTITY
    return tree._with(**rehosted(tree, place, kept_bodies(tree, place, numbers)))


def without(tree: T, link: str) -> T:
    """Return a tree without a link or frame, and without all links that it carries."""
    gone = _carried(tree, link)
    numbers = [number for number, body in enumerate(tree.bodies, start=1) if body.name not in gone]
    if not numbers and not any(weld.link not in gone for weld in tree.welds):
        raise ModelError(f"{quoted(tree.name)} without {quoted(link)} has no links")
    place = {0: (0, IDENTITY)} | {number: (k, IDENTITY) for k, number in enumerate(numbers, start=1)}
    return tree._with(**rehosted(tree, place, kept_bodies(tree, place, numbers), gone))


def subtree(tree: T, link: str, base: str) -> T:
    """Return a link and all links that it carries, on a base of their own at the link's frame."""
    floating = one_of("base", base, ("fixed", "floating")) == "floating"
    kept = _carried(tree, link)
    frame = tree.frame(link)
    if frame.name not in {*tree.body_names, *(weld.link for weld in tree.welds)}:
        raise ModelError(f"frame {quoted(link)} is no link, so it carries nothing")
    numbers = [number for number, body in enumerate(tree.bodies, start=1) if body.name in kept and body.name != link]
    first = int(floating)
    own = frame.name in tree.links
    place = {frame.body: (first, IDENTITY if own else frame.placement.inverse())}
    place |= {number: (k, IDENTITY) for k, number in enumerate(numbers, start=first + 1)}
    bodies = kept_bodies(tree, place, numbers)
    if floating:
        if ROOT_JOINT in (body.joint.name for body in bodies):
            raise ModelError(f"joint {quoted(ROOT_JOINT)} is part of the subtree: its name is that of a floating base")
        root = tree.bodies[frame.body - 1] if own else Body(link, 0, Joint(ROOT_JOINT, "floating"))
        bodies.insert(0, replace(root, parent=0, joint=Joint(ROOT_JOINT, "floating")))
    gone = () if own else {"", *tree.frames} - kept
    return tree._with(**rehosted(tree, place, bodies, gone))


def _carried(tree: Tree, link: str) -> set[str]:
    """Return a link or frame and all links that it carries; raises UnknownNameError for another name."""
    frame = tree.frame(link)
    children = link_children(tree.bodies, tree.welds)
    return set(depth_first(children, frame.name)) if frame.name in children else {frame.name}


def _without_mimics(tree: Tree, positions: Any) -> Mapping[str, ArrayLike]:
    """Return the positions; raises ModelError for one of a mimic joint, ArgumentError if they are no mapping."""
    if not isinstance(positions, Mapping):
        raise ArgumentError(f"positions must be a dictionary {{joint: position}}, got {quoted(positions)}")
    lines = {} if tree.mimic_map is None else tree.mimic_map.lines()
    for name in positions:
        joint = tree.joint(name).name
        if joint in lines:
            raise ModelError(
                f"joint {quoted(joint)} of {quoted(tree.name)}: lock {quoted(lines[joint][0])}, which it mimics"
            )
    return positions
