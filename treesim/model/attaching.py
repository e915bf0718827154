"""Attachment of one tree to another, such as a hand to an arm."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from numpy.typing import ArrayLike

from ..errors import ArgumentError, ModelError, listed, quoted
from ..validation.values import checked_part, checked_text, is_name_of, short_repr
from .base_pose import placement_of
from .editing import reduced
from .inertia import IDENTITY, Placement
from .joints import Joint
from .links import in_walk_order, link_inertias, unused
from .parts import Body
from .rehosting import kept_bodies, rehosted, summed
from .renaming import fixed_joints, renamed_parts

if TYPE_CHECKING:
    from .tree import Tree

T = TypeVar("T", bound="Tree")
LISTS = ("bodies", "frames", "visuals", "shapes", "loops", "welds", "notes")


def attached(tree: T, other: Tree, at: str, placement: Placement | ArrayLike, prefix: str, joint: str | Joint) -> T:
    """Return a tree with another one whose base lies at a pose in the frame `at`, welded or on a joint."""
    if not (isinstance(joint, Joint) or is_name_of(joint, ("fixed",))):
        raise ArgumentError(f'joint must be "fixed" or a Joint, got {short_repr(joint)}')
    from .tree import Tree

    frame = tree.frame(at)
    pose = frame.placement @ placement_of("placement", placement)
    other = _prefixed(checked_part("other", other, Tree), checked_text("prefix", prefix))
    alone = (other.parent[1:] > 0).all() and all(frame.body for frame in other.frames.values())
    floating = other.bodies[0].joint.name if other.base == "floating" and alone else ""
    if isinstance(joint, Joint):
        _refuse_taken(tree, other, {*other.joint_names} - {floating} | {joint.name})
        parts = _on_joint(other, joint, frame.body, pose, tree.n_bodies)
    else:
        _refuse_taken(tree, other, {*other.joint_names} - {floating})
        parts = _welded(other, floating, frame.body, pose, tree.n_bodies)
    both = tree._with(**_merged(tree, parts, at))
    return numbered_depth_first(both) if _depth_first(tree) == [*range(1, tree.n_bodies + 1)] else both


def numbered_depth_first(tree: T) -> T:
    """Return a tree with its bodies numbered as in files: each followed by what it moves, siblings in their order."""
    order = _depth_first(tree)
    if order == [*range(1, tree.n_bodies + 1)]:
        return tree
    place = {0: (0, IDENTITY)} | {old: (new, IDENTITY) for new, old in enumerate(order, start=1)}
    return tree._with(**rehosted(tree, place, kept_bodies(tree, place, order)))


def _depth_first(tree: Tree) -> list[int]:
    """Return the numbers of the bodies in the order of a depth-first walk."""
    children: dict[int, list[int]] = {}
    for number, parent in enumerate(tree.parent.tolist(), start=1):
        children.setdefault(parent, []).append(number)
    order, left = list[int](), [0]
    while left:
        number = left.pop()
        order.append(number)
        left += reversed(children.get(number, ()))
    return order[1:]


def _welded(other: Tree, floating: str, host: int, pose: Placement, count: int) -> dict[str, Any]:
    """Return the parts of a tree whose base, without its floating joint, lies at a pose on a body of the host."""
    if floating:
        other = reduced(other, {floating: other.neutral()[other.q_index[floating]]})
    numbers = range(1, other.n_bodies + 1)
    place = {0: (host, pose)} | {n: (count + n, IDENTITY) for n in numbers}
    return rehosted(other, place, kept_bodies(other, place, numbers), count=count)


def _on_joint(other: Tree, joint: Joint, host: int, pose: Placement, count: int) -> dict[str, Any]:
    """Return the parts of a tree whose root link moves on a joint; count: number of bodies of the host."""
    numbers, welds = range(1, other.n_bodies + 1), [weld for weld in other.welds if not weld.parent]
    on_base = [body for body in other.bodies if body.parent == 0]
    if len(on_base) == 1 and not welds:
        place = {0: (host, pose)} | {n: (count + n, IDENTITY) for n in numbers}
        root, *bodies = kept_bodies(other, place, numbers)
        at = pose @ joint.placement
    elif len(welds) == 1:
        frame = other.frames[welds[0].link]
        place = {0: (count + 1, frame.placement.inverse())} | {n: (count + 1 + n, IDENTITY) for n in numbers}
        root, bodies = Body(frame.name, host, joint), kept_bodies(other, place, numbers)
        at = pose @ joint.placement @ frame.placement
    else:
        raise ModelError(f"{quoted(other.name)} has several root links, or none: joint {quoted(joint.name)} moves one")
    root = replace(root, joint=replace(joint, placement=at))
    return rehosted(other, place, [root, *bodies], count=count)


def _prefixed(other: Tree, prefix: str) -> Tree:
    """Return a tree with a text before all its names."""
    if not prefix:
        return other
    names = other.frames, [*other.joint_names, *fixed_joints(other)], [loop.name for loop in other.loops]
    links, joints, loops = ({name: prefix + name for name in of} for of in names)
    return other._with(**renamed_parts(other, links, joints, loops))


def _refuse_taken(tree: Tree, other: Tree, moving: set[str]) -> None:
    """Raise ModelError if two trees have common names; moving: names of the other tree's moving joints."""
    pairs = (
        ("link", set(tree.frames), set(other.frames)),
        ("joint", {*tree.joint_names, *fixed_joints(tree)}, {*moving, *fixed_joints(other)}),
        ("loop", {loop.name for loop in tree.loops}, {loop.name for loop in other.loops}),
    )
    for kind, ours, theirs in pairs:
        if ours & theirs:
            what = f"{kind}{'s' * (len(ours & theirs) > 1)} {listed(sorted(ours & theirs))}"
            raise ModelError(f"both trees have {what}: pass a prefix for the names of {quoted(other.name)}")


def _merged(tree: Tree, parts: dict[str, Any], at: str) -> dict[str, Any]:
    """Return the parts of the host and of the other tree, whose links without a parent are on the link at `at`."""
    number, names = tree.frames[at].body, {weld.link for weld in tree.welds}
    roots = [weld.link for weld in tree.welds if not weld.parent]
    link = at if at in names or at in tree.links else tree.body_names[number - 1] if number else "".join(roots[:1])
    merged = {label: [*tree._parts()[label], *parts[label]] for label in LISTS}
    joints = {body.joint.name for body in merged["bodies"]} | {*fixed_joints(tree)} | {x.joint for x in parts["welds"]}
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
        on, body = [weld for weld in merged["welds"] if frames[weld.link].body == number], tree.bodies[number - 1]
        own = link_inertias(tree.bodies, tree.welds, tree.frames)[body.name]
        merged["bodies"][number - 1] = summed(body, own, on, frames)
    return merged
