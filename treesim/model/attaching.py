"""Attachment of one tree to another, such as a hand to an arm."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from numpy.typing import ArrayLike

from ..errors import ArgumentError, ModelError, listed, quoted
from ..validation.values import checked_part, checked_text, is_name_of, short_repr
from .base_pose import placement_of
from .editing import reduced
from .inertia import IDENTITY, Placement
from .joints import Joint
from .links import depth_first_order, in_walk_order, is_depth_first, link_inertias, summed, unused, welds_on
from .part_maps import part_names, renamed
from .parts import Body
from .rehosting import LISTS, kept_bodies, rehosted, renumbered

if TYPE_CHECKING:
    from .tree import Tree

T = TypeVar("T", bound="Tree")


def attach(
    self: T,
    other: Tree,
    *,
    at: str,
    placement: Placement | ArrayLike = IDENTITY,
    prefix: str = "",
    joint: Literal["fixed"] | Joint = "fixed",
) -> T:
    """Return the tree with another one attached to it, such as an arm with a hand.

    If bodies are numbered depth-first, as in loaded robots, the result's are, too: those of the other tree follow
    the link `at` and what it moves, and `load` reads the same order from `to_urdf`. Otherwise they follow those of
    this tree. Name and gravity are those of this tree.

    Parameters
    ----------
    other : Tree
        Tree to attach. The floating joint of a floating base is left out.
    at : str
        Name of the link or frame to which it is attached.
    placement : Placement or array_like, shape (4, 4)
        Pose of the other tree's base in the frame `at`. Identity by default.
    prefix : str
        Text before all names of the other tree, such as ``"left_"``.
    joint : str or Joint
        "fixed": the root link is welded to the link `at`, by a fixed joint "ROOT_fixed". With a Joint, the root
        link moves on that joint, whose placement follows `placement`.

    Returns
    -------
    Tree
        The tree.

    Raises
    ------
    ModelError
        If both trees have a link, joint or loop of the same name. If `joint` is a Joint, and the other tree has no
        single root link.
    UnknownNameError
        If there is no link or frame `at`.

    Examples
    --------
    >>> hand = treesim.load("panda").subtree("panda_hand")
    >>> arm = treesim.load("ur5").attach(hand, at="tool0", prefix="hand_")
    >>> arm
    <Tree 'ur5': 8 bodies, nq 7, nv 7, 17.7539 kg>
    """
    if not (isinstance(joint, Joint) or is_name_of(joint, ("fixed",))):
        raise ArgumentError(f'joint must be "fixed" or a Joint, got {short_repr(joint)}')
    from .tree import Tree

    frame = self.frame(at)
    pose = frame.placement @ placement_of("placement", placement)
    other = checked_part("other", other, Tree)
    if checked_text("prefix", prefix):
        other = renamed(other, {name: prefix + name for names in part_names(other).values() for name in names})
    alone = (other.parent[1:] > 0).all() and all(frame.body for frame in other.frames.values())
    floating = other.bodies[0].joint.name if other.base == "floating" and alone else ""
    _refuse_taken(self, other, {floating}, {joint.name} if isinstance(joint, Joint) else set())
    if floating and not isinstance(joint, Joint):
        other = reduced(other, {floating: other.neutral()[other.q_index[floating]]})
    parts = _parts_on(other, joint, frame.body, pose, self.n_bodies)
    both = self._with(**_merged(self, parts, frame.name))
    order = depth_first_order(both.parent.tolist())
    if order == sorted(order) or not is_depth_first(self.parent.tolist()):
        return both
    place = renumbered(order) | {0: (0, IDENTITY)}
    return both._with(**rehosted(both, place, kept_bodies(both, place, order)))


def _refuse_taken(tree: Tree, other: Tree, gone: set[str], new: set[str]) -> None:
    """Raise ModelError if two trees have common names; gone, new: joints that the other tree loses and gets."""
    theirs = part_names(other)
    for kind, names in part_names(tree).items():
        both = sorted({*names} & ({*theirs[kind]} - gone | new if kind == "joint" else {*theirs[kind]}))
        if both:
            what = f"{kind}{'s' * (len(both) > 1)} {listed(both)}"
            raise ModelError(f"both trees have {what}: pass a prefix for the names of {quoted(other.name)}")


def _parts_on(other: Tree, joint: str | Joint, host: int, pose: Placement, count: int) -> dict[str, Any]:
    """Return the parts of a tree whose base lies at a pose on a body of the host, or whose root link moves on a joint.

    count: number of bodies of the host.
    """
    numbers, roots = range(1, other.n_bodies + 1), [weld.link for weld in other.welds if not weld.parent]
    if not isinstance(joint, Joint) or (not roots and other.parent.tolist().count(0) == 1):
        place = renumbered(numbers, count) | {0: (host, pose)}
        bodies = kept_bodies(other, place, numbers)
        if isinstance(joint, Joint):
            bodies[0] = replace(bodies[0], joint=replace(joint, placement=pose @ joint.placement))
    elif len(roots) == 1:
        frame = other.frames[roots[0]]
        place = renumbered(numbers, count + 1) | {0: (count + 1, frame.placement.inverse())}
        moving = replace(joint, placement=pose @ joint.placement @ frame.placement)
        bodies = [Body(frame.name, host, moving), *kept_bodies(other, place, numbers)]
    else:
        raise ModelError(f"{quoted(other.name)} has several root links, or none: joint {quoted(joint.name)} moves one")
    return rehosted(other, place, bodies, count=count)


def _merged(tree: Tree, parts: dict[str, Any], at: str) -> dict[str, Any]:
    """Return the parts of the host and of the other tree, whose links without a parent are on the link at `at`."""
    number, names = tree.frames[at].body, {weld.link for weld in tree.welds}
    roots = [weld.link for weld in tree.welds if not weld.parent]
    link = at if at in names or at in tree.links else tree.body_names[number - 1] if number else "".join(roots[:1])
    merged = {label: [*tree._parts()[label], *parts[label]] for label in LISTS}
    joints = {body.joint.name for body in merged["bodies"]} | {weld.joint for weld in merged["welds"]}
    carried = {joint for weld in parts["welds"] for joint in weld.joints}
    hung = [x.joint.name for x in parts["bodies"] if x.parent == number and x.joint.name not in carried]
    for k, weld in enumerate(merged["welds"]):
        if k >= len(tree.welds) and not weld.parent and link:
            merged["welds"][k] = replace(weld, parent=link, joint=unused(f"{weld.link}_fixed", joints))
        elif weld.link == link:
            merged["welds"][k] = replace(weld, joints=(*weld.joints, *hung))
    merged["welds"] = in_walk_order(merged["bodies"], merged["welds"])
    if number:
        frames = dict(tree.frames) | {frame.name: frame for frame in parts["frames"]}
        body, on = tree.bodies[number - 1], welds_on(number, merged["welds"], frames)
        own = link_inertias(tree.bodies, tree.welds, tree.frames)[body.name]
        merged["bodies"][number - 1] = summed(body, own, on, frames)
    return merged
