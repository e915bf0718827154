"""Methods of trees that return a copy with another frame, shape, inertia or joint, or with fewer links or joints.

Every other part of the tree is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ModelError, quoted, shortened
from ..types import Base, CollisionKind, ShapeKind
from ..validation.values import checked_flag, checked_part, checked_text, known_name, one_of
from .base_pose import placement_of
from .inertia import IDENTITY, Inertia, Placement
from .joints import ROOT_JOINT, Joint, displacement
from .links import depth_first, link_children, link_inertias, summed, welds_on
from .parts import Body, Frame, Visual
from .rehosting import kept_bodies, rehosted, renumbered
from .shapes import CollisionShape

if TYPE_CHECKING:
    from .tree import Tree

T = TypeVar("T", bound="Tree")


def with_frame(self: T, name: str, parent: str, placement: Placement | ArrayLike = IDENTITY) -> T:
    """Return a copy of the tree with one more operational frame.

    Parameters
    ----------
    name : str
        Name of the frame.
    parent : str
        Name of the link or frame on which the new frame is.
    placement : Placement or array_like, shape (4, 4)
        Pose of the new frame in the frame `parent`. Identity by default.

    Returns
    -------
    Tree
        The tree.

    Raises
    ------
    ModelError
        If a frame has this name already, or `placement` is not a pose.
    UnknownNameError
        If there is no frame `parent`.

    Examples
    --------
    >>> arm = treesim.load("ur5").with_frame("tip", "tool0", treesim.Placement(translation=(0, 0, 0.1)))
    >>> arm.frame("tip").body == arm.frame("tool0").body
    True
    """
    on = self.frame(parent)
    at = on.placement @ placement_of(f"placement of frame {quoted(name)}", placement)
    return self._with(frames=[*self._parts()["frames"], Frame(name, on.body, at)])


def with_shape(
    self: T,
    link: str,
    kind: CollisionKind | ShapeKind,
    size: tuple[float, ...] = (),
    *,
    placement: Placement | ArrayLike = IDENTITY,
    file: str | None = None,
    visual: bool = False,
) -> T:
    """Return a copy of the tree with one more collision shape or visual.

    Parameters
    ----------
    link : str
        Name of the link or frame that gets the shape.
    kind : str
        Kind as in `treesim.CollisionShape` or, for a visual, in `treesim.Visual`. A collision shape of the kind
        "mesh" is the convex hull of the file.
    size : tuple of float
        Lengths as in these classes; scale factors of a mesh.
    placement : Placement or array_like, shape (4, 4)
        Pose of the shape in the frame `link`. Identity by default.
    file : str, optional
        Mesh file.
    visual : bool
        Add a visual instead of a collision shape.

    Returns
    -------
    Tree
        The tree.

    Raises
    ------
    ModelError
        If the arguments do not describe a shape.
    UnknownNameError
        If there is no link `link`.

    Examples
    --------
    >>> arm = treesim.load("ur5").with_shape("tool0", "sphere", (0.05,))
    >>> arm.shapes[-1]
    <CollisionShape: sphere (0.05) of link 'tool0', on body 6 at (0, 0.0823, 0)>
    """
    on, form = self.frame(link), cast(Any, checked_text("kind of a shape", kind))
    at = on.placement @ placement_of(f"placement of a {shortened(form)} of {quoted(link)}", placement)
    lengths = size if form != "mesh" else size or (1.0, 1.0, 1.0)
    if checked_flag("visual", visual):
        return self._with(visuals=[*self.visuals, Visual(on.body, at, form, lengths, file=file, link=on.name)])
    made: dict[str, Any] = {"kind": "hull", "scale": lengths} if form == "mesh" else {"kind": form, "size": lengths}
    return self._with(shapes=[*self.shapes, CollisionShape(on.body, at, link=on.name, file=file, **made)])


def with_inertia(self: T, link: str, inertia: Inertia) -> T:
    """Return a copy of the tree in which a link has another inertia.

    Parameters
    ----------
    link : str
        Name of a body or of a welded link.
    inertia : Inertia
        Inertia of this link alone, in its own frame. The inertia of its body is summed again.

    Returns
    -------
    Tree
        The tree.

    Raises
    ------
    ModelError
        If `link` is a frame without a link.
    UnknownNameError
        If there is no such link.

    Examples
    --------
    >>> arm = treesim.load("ur5")
    >>> loaded = arm.with_inertia("tool0", treesim.Inertia(2.0))
    >>> round(loaded.mass - arm.mass, 12)
    2.0
    """
    link, number = self.frame(link).name, self.frame(link).body
    inertias = link_inertias(self.bodies, self.welds, self.frames)
    if link not in inertias:
        raise ModelError(f"frame {quoted(link)} is no link: give the inertia to the link that it is on")
    inertias[link] = checked_part(f"inertia of link {quoted(link)}", inertia, Inertia)
    on = [replace(weld, inertia=inertias[weld.link]) for weld in welds_on(number, self.welds, self.frames)]
    new, bodies = {weld.link: weld for weld in on}, list(self.bodies)
    if number:
        body = bodies[number - 1]
        bodies[number - 1] = summed(body, inertias[body.name], on, self.frames)
    return self._with(bodies=bodies, welds=[new.get(weld.link, weld) for weld in self.welds])


def with_joint(self: T, name: str, /, **changes: Any) -> T:
    """Return a copy of the tree with changes to one joint.

    Parameters
    ----------
    name : str
        Name of the joint.
    **changes : object
        Arguments of `treesim.Joint` by name, such as `damping`, `lower`, `axis`, `placement` or `type`. With
        `mimic=None`, a mimic joint moves freely.

    Returns
    -------
    Tree
        The tree.

    Raises
    ------
    ModelError
        If the arguments do not describe a joint, or joints mimic each other in a cycle.
    UnknownNameError
        If there is no such joint or argument.

    Examples
    --------
    >>> arm = treesim.load("ur5").with_joint("elbow_joint", damping=0.5, upper=2.0)
    >>> arm.joint("elbow_joint").damping, arm.joint("elbow_joint").upper
    (array([0.5]), array([2.]))
    """
    joint = self.joint(name)
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
    bodies = [replace(body, joint=changed) if body.joint.name == name else body for body in self.bodies]
    return self._with(bodies=bodies)


def reduced(self: T, positions: Mapping[str, ArrayLike]) -> T:
    """Return a copy of the tree in which some joints are locked.

    The body of a locked joint becomes a part of its parent body: a frame and a weld. Mimic joints of a locked joint
    are locked, too. Armature, damping and friction of locked joints have no effect.

    Parameters
    ----------
    positions : mapping
        {joint: position} as in `configuration`. Positions beyond the limits are allowed.

    Returns
    -------
    Tree
        The tree.

    Raises
    ------
    ModelError
        If a joint is a mimic joint, or if a loop joins two frames that are parts of one body then and does not
        close to 1e-6 there. A loop that does is dropped; the notes of the tree list it.
    UnknownNameError
        If a joint does not exist.
    ArgumentError
        If a position does not fit its joint.

    Examples
    --------
    >>> arm = treesim.load("ur5").reduced({"wrist_3_joint": 0.5})
    >>> arm.nv, arm.frame("wrist_3_link").body, round(arm.mass, 4)
    (5, 5, 16.9939)
    """
    lines = {} if self.mimic_map is None else self.mimic_map.lines()
    for name in positions if isinstance(positions, Mapping) else ():
        joint = self.joint(name).name
        if joint in lines:
            mimicked = quoted(lines[joint][0])
            raise ModelError(f"joint {quoted(joint)} of {quoted(self.name)}: lock {mimicked}, which it mimics")
    q = self.configuration(positions)
    locked = {*positions, *(name for name, line in lines.items() if line[0] in positions)}
    if not locked:
        return self
    full, where = self.expand(q), self.spanning.q_index
    place, numbers = {0: (0, IDENTITY)}, []
    for number, body in enumerate(self.bodies, start=1):
        host, pose = place[body.parent]
        if body.joint.name in locked:
            place[number] = host, pose @ body.joint.placement @ displacement(body.joint, full[where[body.joint.name]])
        else:
            numbers.append(number)
            place[number] = len(numbers), IDENTITY
    return self._with(**rehosted(self, place, kept_bodies(self, place, numbers)))


def without(self: T, link: str) -> T:
    """Return a copy of the tree without a link and all links that it carries.

    Parameters
    ----------
    link : str
        Name of a body, of a welded link, or of another frame, which carries no links.

    Returns
    -------
    Tree
        The tree.

    Raises
    ------
    ModelError
        If the link carries one end of a loop only, or a joint that joints elsewhere mimic. If no link is left.
    UnknownNameError
        If there is no such link.

    Examples
    --------
    >>> arm = treesim.load("ur5").without("wrist_2_link")
    >>> arm.body_names
    ('shoulder_link', 'upper_arm_link', 'forearm_link', 'wrist_1_link')
    """
    gone = _carried(self, link)
    numbers = [number for number, body in enumerate(self.bodies, start=1) if body.name not in gone]
    if not numbers and not any(weld.link not in gone for weld in self.welds):
        raise ModelError(f"{quoted(self.name)} without {quoted(link)} has no links")
    place = {0: (0, IDENTITY)} | renumbered(numbers)
    return self._with(**rehosted(self, place, kept_bodies(self, place, numbers), gone))


def subtree(self: T, link: str, *, base: Base = "fixed") -> T:
    """Return a link and all links that it carries as a tree of their own.

    Parameters
    ----------
    link : str
        Name of a body or of a welded link. Its frame becomes the base's frame.
    base : str
        "fixed": the link is fixed to the world. "floating": the link has a floating joint "root_joint".

    Returns
    -------
    Tree
        The tree.

    Raises
    ------
    ModelError
        If one end of a loop, or a joint that one of the links' joints mimics, is not part of the subtree. If
        `link` is a frame without a link.
    UnknownNameError
        If there is no such link.

    Examples
    --------
    >>> hand = treesim.load("panda").subtree("panda_hand")
    >>> hand.body_names, hand.nv
    (('panda_leftfinger', 'panda_rightfinger'), 1)
    """
    floating = one_of("base", base, ("fixed", "floating")) == "floating"
    kept = _carried(self, link)
    frame = self.frame(link)
    if frame.name not in {*self.body_names, *(weld.link for weld in self.welds)}:
        raise ModelError(f"frame {quoted(link)} is no link, so it carries nothing")
    numbers = [number for number, body in enumerate(self.bodies, start=1) if body.name in kept and body.name != link]
    first = int(floating)
    own = frame.name in self.links
    place = {frame.body: (first, IDENTITY if own else frame.placement.inverse())} | renumbered(numbers, first)
    bodies = kept_bodies(self, place, numbers)
    if floating:
        if ROOT_JOINT in (body.joint.name for body in bodies):
            raise ModelError(f"joint {quoted(ROOT_JOINT)} is part of the subtree: its name is that of a floating base")
        root = self.bodies[frame.body - 1] if own else Body(link, 0, Joint(ROOT_JOINT, "floating"))
        bodies.insert(0, replace(root, parent=0, joint=Joint(ROOT_JOINT, "floating")))
    gone = () if own else {"", *self.frames} - kept
    return self._with(**rehosted(self, place, bodies, gone))


def _carried(tree: Tree, link: str) -> set[str]:
    """Return a link or frame and all links that it carries; raises UnknownNameError for another name."""
    frame = tree.frame(link)
    children = link_children(tree.bodies, tree.welds)
    return set(depth_first(children, frame.name)) if frame.name in children else {frame.name}


def without_fixed_joints(made: Callable[..., Tree], name: str, bodies: Sequence[Body], **parts: Any) -> dict[str, Any]:
    """Return the arguments of a tree, made by `made`, with welds instead of bodies on fixed joints."""

    def moving(joint: Joint) -> Joint:
        return Joint(joint.name, "revolute", placement=joint.placement) if joint.type == "fixed" else joint

    free = [replace(body, joint=moving(body.joint)) for body in bodies]
    fixed = {body.joint.name: 0.0 for body in bodies if body.joint.type == "fixed"}
    return reduced(made(name, free, **parts), fixed)._parts()
