"""Edits of trees that map each part on its own: other names, and mirror images, such as a left arm from a right one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np

from ..errors import ArgumentError, ModelError, quoted, text_of
from ..types import Renaming
from ..validation.values import checked_text, known_name, one_of, short_repr
from .inertia import Inertia, Placement
from .joints import ROOT_JOINT, Joint
from .loops import Loop
from .matrices import product
from .pack import axis_rotation
from .parts import Body, Visual
from .shapes import reflected
from .welds import Weld

if TYPE_CHECKING:
    from .tree import Tree

T = TypeVar("T", bound="Tree")
PLANES = {"xy": (1.0, 1.0, -1.0), "xz": (1.0, -1.0, 1.0), "yz": (-1.0, 1.0, 1.0)}  # diagonal of the reflection S


def renamed_parts(
    tree: Tree, links: Mapping[str, str], joints: Mapping[str, str], loops: Mapping[str, str]
) -> dict[str, Any]:
    """Return the arguments of a tree with other names: {old: new} of all links and frames, joints, and loops."""

    def body(x: Body) -> Body:
        mimic = None if x.joint.mimic is None else replace(x.joint.mimic, joint=joints[x.joint.mimic.joint])
        return replace(x, name=links[x.name], joint=replace(x.joint, name=joints[x.joint.name], mimic=mimic))

    def loop(x: Loop) -> Loop:
        return replace(x, name=loops[x.name], first=links[x.first], second=links[x.second])

    def weld(x: Weld) -> Weld:
        link, joint, parent = links[x.link], joints.get(x.joint, ""), links.get(x.parent, "")
        return replace(x, link=link, joint=joint, parent=parent, joints=tuple(joints[name] for name in x.joints))

    parts = tree._parts()
    return parts | {
        "bodies": [body(x) for x in tree.bodies],
        "frames": [replace(x, name=links[x.name]) for x in parts["frames"]],
        "visuals": [replace(x, link=links.get(x.link, x.link)) for x in tree.visuals],
        "shapes": [x.attached_to(x.body, links.get(x.link, x.link)) for x in tree.shapes],
        "loops": [loop(x) for x in tree.loops],
        "welds": [weld(x) for x in tree.welds],
    }


def part_names(tree: Tree) -> dict[str, list[str]]:
    """Return the names of a tree's links and frames, of its joints, fixed ones included, and of its loops, by kind."""
    fixed = [weld.joint for weld in tree.welds if weld.joint]
    loops = [loop.name for loop in tree.loops]
    return {"link": list(tree.frames), "joint": [*tree.joint_names, *fixed], "loop": loops}


def renamed(self: T, names: Renaming, *, kind: Literal["all", "links", "joints", "loops"] = "all") -> T:
    """Return a copy of the tree whose parts have other names.

    Parameters
    ----------
    names : mapping or callable
        {old name: new name}, or a function that returns the new name for an old one, except for the joint
        "root_joint" of a floating base. Names may be swapped.
    kind : str
        Parts that are renamed: "links" (bodies, welded links and frames), "joints", "loops", or "all" of them.

    Returns
    -------
    Tree
        The tree.

    Raises
    ------
    ModelError
        If two parts have the same name then, or if another joint than that of a floating base is called
        "root_joint".
    UnknownNameError
        If the mapping contains a name that no part has.

    Examples
    --------
    >>> arm = treesim.load("ur5").renamed({"tool0": "flange"})
    >>> arm.renamed(lambda name: "left_" + name, kind="joints").joint_names[0], "flange" in arm.frames
    ('left_shoulder_pan_joint', True)
    """
    of = part_names(self)
    one_of("kind", kind, ("all", *(f"{label}s" for label in of)))
    wanted = [label for label in of if kind in ("all", f"{label}s")]
    if isinstance(names, Mapping):
        known = [name for label in wanted for name in of[label]]
        for name in names:
            known_name("name", name, known, of=repr(self.name))
    elif not callable(names):
        raise ArgumentError(f"names must be a dictionary {{old: new}} or a function, got {short_repr(names)}")

    def new(name: str) -> Any:
        try:
            return names(name) if callable(names) else names.get(name, name)
        except Exception as error:  # whatever a user's function raises
            raise ArgumentError(f"the function of names fails for {quoted(name)}: {text_of(error, str)}") from None

    if callable(names) and ROOT_JOINT in self.joint_names:  # by this name, files are read with a floating base
        of["joint"].remove(ROOT_JOINT)
    links, joints, loops = (
        {name: checked_text(f"new name of {quoted(name)}", new(name)) if label in wanted else name for name in found}
        for label, found in of.items()
    )
    taken = [name for name, found in joints.items() if found == ROOT_JOINT != name]
    if taken:
        raise ModelError(f"joint {quoted(taken[0])} cannot be called {quoted(ROOT_JOINT)}, as floating bases are")
    return self._with(**renamed_parts(self, links, {ROOT_JOINT: ROOT_JOINT} | joints, loops))


def mirrored(self: T, plane: Literal["xy", "xz", "yz"] = "xz", *, rename: Renaming | None = None) -> T:
    """Return the mirror image of the tree in a plane of its base.

    All frames are mirrored in the same plane of their own axes. Joints of one coordinate have the same position,
    velocity, force and limits as the original. Of spherical and floating joints, positions and linear velocities
    are mirrored; of quaternions, angular velocities and planar joints, the other signs change. Gravity is
    mirrored, too.

    Parameters
    ----------
    plane : str
        "xz": left and right are exchanged, "xy" or "yz".
    rename : mapping or callable, optional
        Other names, as in `renamed`.

    Returns
    -------
    Tree
        The tree.

    Raises
    ------
    ModelError
        If the image of a planar joint has other directions x and y, as for most axes but z.

    Examples
    --------
    >>> arm = treesim.load("ur5")
    >>> image, q = arm.mirrored(), np.full(6, 0.5)
    >>> pose, mirror = treesim.frame_pose(arm, q, "tool0"), np.diag([1, -1, 1, 1])
    >>> np.allclose(treesim.frame_pose(image, q, "tool0"), mirror @ pose @ mirror)
    True
    """
    S = np.array(PLANES[known_name("plane", plane, PLANES)])

    def pose(placement: Placement) -> Placement:
        return Placement(_both_sides(S, placement.rotation), _signed(S, placement.translation))

    def inertia(x: Inertia) -> Inertia:
        return Inertia(x.mass, _signed(S, x.com), _both_sides(S, x.rotational))

    def body(x: Body) -> Body:
        joint, own = _mirrored_joint(x.joint, S, pose(x.joint.placement)), None if x.own is None else inertia(x.own)
        return replace(x, joint=joint, inertia=inertia(x.inertia), own=own)

    def visual(x: Visual) -> Visual:
        return replace(x, placement=pose(x.placement), size=reflected(S, x.size) if x.kind == "mesh" else x.size)

    found = self._with(
        bodies=[body(x) for x in self.bodies],
        frames=[replace(x, placement=pose(x.placement)) for x in self._parts()["frames"]],
        visuals=[visual(x) for x in self.visuals],
        shapes=[x._reflected(S, pose(x.placement)) for x in self.shapes],
        loops=[replace(x, axis=_signed(S, x.axis)) for x in self.loops],
        welds=[replace(x, inertia=inertia(x.inertia)) for x in self.welds],
        gravity=_signed(S, self.gravity),
    )
    return found if rename is None else renamed(found, rename)


def _mirrored_joint(joint: Joint, S: np.ndarray, placement: Placement) -> Joint:
    """Return a joint whose coordinates are those of the original: a rotation S R S about a is one about -S a."""
    if not joint.kind.has_axis:
        return replace(joint, placement=placement)
    axis = _signed(S if joint.type == "prismatic" else -S, np.asarray(joint.axis))
    if joint.type == "planar":  # its x and y may change their signs only
        D = product(axis_rotation(axis).T, S[:, None] * axis_rotation(np.asarray(joint.axis)))
        if not np.array_equal(np.abs(D), np.eye(3)):
            why = "the directions x and y of its image are other ones; those of an axis z are not"
            raise ModelError(f"planar joint {quoted(joint.name)} cannot be mirrored: {why}")
    return replace(joint, placement=placement, axis=axis)


def _signed(S: np.ndarray, values: np.ndarray) -> np.ndarray:
    return np.asarray(S * values + 0.0)  # no negative zeros


def _both_sides(S: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    return _signed(S[:, None] * S, matrix)
