"""Other names for the parts of a tree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from ..errors import ArgumentError, ModelError, quoted
from ..types import Renaming
from ..validation.values import checked_text, known_name, one_of, short_repr
from .joints import ROOT_JOINT
from .loops import Loop
from .parts import Body
from .welds import Weld

if TYPE_CHECKING:
    from .tree import Tree

T = TypeVar("T", bound="Tree")


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
    new = names if callable(names) else lambda name: names.get(name, name)
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
