"""Other names for the parts of a tree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .joints import Joint

if TYPE_CHECKING:
    from .tree import Tree


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
