"""Other names for the parts of a tree."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import ArgumentError, ModelError, quoted
from ..validation.values import checked_text, known_name, one_of, short_repr
from .joints import ROOT_JOINT, Joint

if TYPE_CHECKING:
    from .tree import Tree

T = TypeVar("T", bound="Tree")


def renamed_parts(
    tree: Tree, links: Mapping[str, str], joints: Mapping[str, str], loops: Mapping[str, str]
) -> dict[str, Any]:
    """Return the arguments of a tree with other names: {old: new} of all links and frames, joints, and loops."""
    parts = tree._parts()
    return parts | {
        "bodies": [
            replace(body, name=links[body.name], joint=_renamed_joint(body.joint, joints)) for body in tree.bodies
        ],
        "frames": [replace(frame, name=links[frame.name]) for frame in parts["frames"]],
        "visuals": [replace(visual, link=links.get(visual.link, visual.link)) for visual in tree.visuals],
        "shapes": [shape.attached_to(shape.body, links.get(shape.link, shape.link)) for shape in tree.shapes],
        "loops": [
            replace(loop, name=loops[loop.name], first=links[loop.first], second=links[loop.second])
            for loop in tree.loops
        ],
        "welds": [
            replace(
                weld,
                link=links[weld.link],
                joint=joints.get(weld.joint, ""),
                parent=links.get(weld.parent, ""),
                joints=tuple(joints[name] for name in weld.joints),
            )
            for weld in tree.welds
        ],
    }


def fixed_joints(tree: Tree) -> list[str]:
    """Return the names of the fixed joints of a tree."""
    return [weld.joint for weld in tree.welds if weld.joint]


def _renamed_joint(joint: Joint, names: Mapping[str, str]) -> Joint:
    changes: dict[str, Any] = {"name": names[joint.name]}
    if joint.mimic is not None:
        changes["mimic"] = replace(joint.mimic, joint=names[joint.mimic.joint])
    return replace(joint, **changes)


def renamed(tree: T, names: Mapping[str, str] | Callable[[str], str], kind: str) -> T:
    """Return a tree in which parts of a kind have other names, by a mapping or a function of the old names."""
    of = {
        "links": list(tree.frames),
        "joints": [*tree.joint_names, *fixed_joints(tree)],
        "loops": [loop.name for loop in tree.loops],
    }
    wanted = list(of) if one_of("kind", kind, ("all", *of)) == "all" else [kind]
    if isinstance(names, Mapping):
        known = [name for label in wanted for name in of[label]]
        for name in names:
            known_name("name", name, known, of=repr(tree.name))
    elif not callable(names):
        raise ArgumentError(f"names must be a dictionary {{old: new}} or a function, got {short_repr(names)}")
    new = names if callable(names) else lambda name: names.get(name, name)
    if callable(names) and ROOT_JOINT in tree.joint_names:  # by this name, files are read with a floating base
        of["joints"].remove(ROOT_JOINT)
    links, joints, loops = (
        {name: checked_text(f"new name of {quoted(name)}", new(name)) if label in wanted else name for name in found}
        for label, found in of.items()
    )
    taken = [name for name, found in joints.items() if found == ROOT_JOINT != name]
    if taken:
        raise ModelError(f"joint {quoted(taken[0])} cannot be called {quoted(ROOT_JOINT)}, as floating bases are")
    return tree._with(**renamed_parts(tree, links, {ROOT_JOINT: ROOT_JOINT} | joints, loops))
