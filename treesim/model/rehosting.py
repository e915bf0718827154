"""Moving the parts of a tree to other bodies: each old body lies on a new body at a constant pose.

All edits that merge, remove or attach bodies are such moves (`treesim.model.editing`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ModelError, quoted
from .inertia import IDENTITY, NOTHING, Inertia, Placement
from .links import LinkJoints, depth_first, link_children, link_inertias, link_joints, summed, welds_on
from .loops import Loop
from .matrices import product
from .parts import Body, Frame
from .shapes import CollisionShape
from .welds import Weld

if TYPE_CHECKING:
    from .tree import Tree

LISTS = ("bodies", "frames", "visuals", "shapes", "loops", "welds", "notes")  # arguments of a tree
CLOSED = 1e-6  # largest distance [m], or difference of rotations, of the frames of a loop that counts as closed
Place = dict[int, tuple[int, Placement]]  # {old body: (new body, pose of the old one's frame in the new one's)}


def rehosted(
    tree: Tree,
    place: Place,
    bodies: Sequence[Body],
    without: Collection[str] = (),
    count: int = 0,
    fixed: LinkJoints | None = None,
) -> dict[str, Any]:
    """Return the arguments of a tree in which each old body lies on a new one.

    A body whose name is no longer that of a body becomes a frame and a weld. Loops within one body are dropped, with a
    note, if they are closed. Raises ModelError, naming the loop, for one that is not, or that loses one end.

    place: of all old bodies that remain, and of 0, the base. bodies: new bodies, whose inertias are set here; the name
    of each is that of an old body, or of a weld whose frame becomes the body's, or new. without: links and frames to
    leave out. count: number of bodies before these on the new tree. fixed: {link: (its joint if it is fixed, its parent
    link)}, if other than on the old tree.
    """
    own, numbers = {body.name for body in bodies}, {body.name: n for n, body in enumerate(tree.bodies, start=1)}

    def stays(part: Any, name: str) -> bool:
        return part.body in place and name not in without

    operational = list(tree.frames.values())[tree.n_bodies :]
    frames = [moved(frame, place) for frame in operational if stays(frame, frame.name) and frame.name not in own]
    frames += [Frame(name, *place[n]) for name, n in numbers.items() if n in place and name not in {*own, *without}]
    inertias = link_inertias(tree.bodies, tree.welds, tree.frames)
    welds = _moved_welds(tree, bodies, frames, inertias, fixed or link_joints(tree.bodies, tree.welds))
    poses = {frame.name: frame for frame in frames}
    made, unchanged = list[Body](), dict[str, Inertia]()
    for number, body in enumerate(bodies, start=count + 1):
        old = numbers.get(body.name, 0)
        _, pose = place[old] if old else (number, IDENTITY)
        on, before = welds_on(number, welds, poses), welds_on(old, tree.welds, tree.frames) if old else []
        if old and pose is IDENTITY and [weld.link for weld in before] == [weld.link for weld in on]:
            made.append(replace(body, inertia=tree.bodies[old - 1].inertia, own=tree.bodies[old - 1].own))
            unchanged |= {weld.link: weld.inertia for weld in before}
        else:
            link = inertias.get(body.name, NOTHING)
            made.append(summed(body, link if pose is IDENTITY else link.in_frame(pose), on, poses))
    welds = [replace(weld, inertia=unchanged.get(weld.link, weld.inertia)) for weld in welds]
    own_frames = {body.name: Frame(body.name, number) for number, body in enumerate(made, start=count + 1)}
    loops, notes = _kept_loops(tree, own_frames | poses)
    return {
        "bodies": made, "frames": frames, "welds": welds, "loops": loops, "gravity": tree.gravity,
        "notes": [*tree.notes, *notes],
        "shapes": [moved(shape, place) for shape in tree.shapes if stays(shape, owner(tree, shape))],
        "visuals": [moved(visual, place) for visual in tree.visuals if stays(visual, owner(tree, visual))],
    }  # fmt: skip


def renumbered(numbers: Iterable[int], count: int = 0) -> Place:
    """Return the place of bodies that remain bodies: in this order, after `count` others."""
    return {old: (new, IDENTITY) for new, old in enumerate(numbers, start=count + 1)}


def kept_bodies(tree: Tree, place: Place, numbers: Iterable[int]) -> list[Body]:
    """Return the bodies of some numbers with their parents and the placements of their joints on a new tree."""
    found = []
    for body in (tree.bodies[number - 1] for number in numbers):
        parent, pose = place[body.parent]
        joint = body.joint if pose is IDENTITY else replace(body.joint, placement=pose @ body.joint.placement)
        found.append(replace(body, parent=parent, joint=joint))
    return found


def moved(part: Any, place: Place) -> Any:
    """Return a frame, visual or shape on the new body."""
    body, pose = place[part.body]
    placement = part.placement if pose is IDENTITY else pose @ part.placement
    if isinstance(part, CollisionShape):
        return part.attached_to(body, part.link, placement)
    return replace(part, body=body, placement=placement)


def moved_parts(parts: Mapping[str, Sequence[Any]], place: Place) -> dict[str, list[Any]]:
    """Return the frames, visuals and shapes among the arguments of a tree, on their new bodies."""
    return {label: [moved(part, place) for part in parts[label]] for label in ("frames", "visuals", "shapes")}


def owner(tree: Tree, part: Any) -> str:
    """Return the link or frame to which a shape or visual belongs: the body's own link if no other is named."""
    frame = tree.frames.get(part.link)
    if frame is not None and frame.body == part.body:
        return str(part.link)
    return tree.body_names[part.body - 1] if part.body else ""


def _moved_welds(
    tree: Tree, bodies: Sequence[Body], frames: Sequence[Frame], inertias: Mapping[str, Inertia], fixed: LinkJoints
) -> list[Weld]:
    """Return the welds of all links that are frames now, in the order of a depth-first walk."""
    carried: dict[str, list[str]] = {}
    for body in bodies:
        carried.setdefault(fixed.get(body.name, ("", ""))[1], []).append(body.joint.name)
    linked, own = {frame.name for frame in frames}, {body.name for body in bodies}
    welds = []
    for link in depth_first(link_children(tree.bodies, tree.welds), ""):
        if link in linked:
            joint, parent = fixed[link]
            ends = ("", "") if parent and parent not in linked | own else (joint, parent)
            welds.append(Weld(link, *ends, inertia=inertias[link], joints=tuple(carried.get(link, ()))))
    return welds


def _kept_loops(tree: Tree, frames: Mapping[str, Frame]) -> tuple[list[Loop], list[str]]:
    """Return the loops whose ends remain on two bodies, and a note on each that is dropped; frames: of the new tree."""
    loops, notes = [], []
    for loop in tree.loops:
        ends, what = (loop.first, loop.second), f"loop {quoted(loop.name)}"
        both = f"{quoted(loop.first)} and {quoted(loop.second)}"
        lost = [end for end in ends if end not in frames]
        if len(lost) == 1:
            advice = "remove the loop first, with Tree(..., loops=...)"
            raise ModelError(f"{what} joins {both}, but {quoted(lost[0])} is removed: {advice}")
        if lost:
            continue
        first, second = (frames[end] for end in ends)
        if first.body != second.body or tree.frames[loop.first].body == tree.frames[loop.second].body:
            loops.append(loop)
        elif (gap := _gap(loop, first.placement, second.placement)) > CLOSED:
            where = f"{both} are parts of one body now, and {gap:.3g} apart"
            raise ModelError(f"{what} is not closed: {where}: lock the joints elsewhere")
        else:
            notes.append(f"{what} is dropped: both its frames are parts of one body, where it is closed")
    return loops, notes


def _gap(loop: Loop, first: Placement, second: Placement) -> float:
    """Return the largest distance [m] and difference of directions by which a loop is open."""
    gaps = [first.translation - second.translation]
    if loop.type == "revolute":
        gaps.append(product(first.rotation, loop.axis) - product(second.rotation, loop.axis))
    elif loop.type == "fixed":
        gaps.append(first.rotation - second.rotation)
    return float(max(np.abs(gap).max() for gap in gaps))
