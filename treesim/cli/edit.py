"""`treesim edit ROBOT --lock elbow=0.3 -o new.urdf`: a changed robot as a URDF file."""

from __future__ import annotations

from collections.abc import Iterator
from operator import methodcaller
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from ..errors import ArgumentError, quoted
from ..validation.values import finite_vector
from .common import (
    BaseOption,
    JsonOption,
    MimicOption,
    RobotArgument,
    checked_name,
    completed,
    examples,
    finite_number,
    guarded,
    load_robot,
    option,
    output,
    print_json,
    split_pair,
)


@guarded
@examples(
    "treesim edit panda --lock panda_finger_joint1=0.02 -o locked.urdf",
    "treesim edit ur5 --frame tcp 'parent=tool0,xyz=0 0 0.12' -o tool.urdf",
    "treesim edit ur5 --attach allegro_right_hand at=tool0,prefix=hand_ -o arm_with_hand.urdf",
)
def edit(
    robot: RobotArgument,
    places: Annotated[list[str] | None, typer.Argument(metavar="[PLACE]...", show_default=False)] = None,
    *,
    out: Annotated[Path, option("--out", "-o")],
    subtree: str | None = None,
    without: list[str] | None = None,
    lock: Annotated[list[str] | None, option(autocompletion=completed("joints"))] = None,
    reroot: str | None = None,
    mirror: str | None = None,
    rename: list[str] | None = None,
    attach: list[str] | None = None,
    frame: list[str] | None = None,
    base: BaseOption = "auto",
    mimic: MimicOption = None,
    json: JsonOption = False,
) -> None:
    """Change a robot and write the result as a URDF file. Options apply in the order in which they are listed below.

    Options
    -------
    places
        Place of each robot of --attach, then of each frame of --frame. Robots: 'at=LINK,xyz=0 0 0.1,rpy=0 0
        1.57,prefix=hand_'; frames: 'parent=LINK,xyz=0 0 0.1,rpy=0 0 0'. All but the link or frame is optional (m, rad).
    --out
        URDF file to write.
    --subtree
        Link to keep, with what it moves.
    --without
        Link to remove, with what it moves. May be given several times.
    --lock
        JOINT=POSITION: fixes a joint there (rad, m; several numbers with commas for joints of several coordinates).
        May be given several times.
    --reroot
        Link that becomes the root.
    --mirror
        Plane of a reflection: xy, xz or yz. The reflected robot has the same names.
    --rename
        OLD=NEW: new name of a link, joint or frame. May be given several times.
    --attach
        Robot to attach at its PLACE. May be given several times.
    --frame
        Name of a frame to add at its PLACE. May be given several times.
    """
    from .. import to_urdf
    from ..model.joints import ROOT_JOINT
    from ..system.files import checked_output, write_whole

    checked_output(out, (".urdf", ".xml"))
    for text in places or ():
        if text.partition("=")[0] not in ("at", "parent"):
            raise ArgumentError(f"{quoted(text)} is no place: it must begin with at= or parent=")
    tree = load_robot(robot, base, mimic)
    if subtree is not None:
        tree = tree.subtree(subtree, base=tree.base)
    for link in without or ():
        tree = tree.without(link)
    if lock:
        tree = tree.reduced(dict(_position(text) for text in lock))
    if reroot is not None:
        tree = tree.rerooted(reroot)
    if mirror is not None:
        tree = tree.mirrored(cast(Any, mirror))
    if rename:
        tree = tree.renamed(dict(split_pair("--rename", text, "OLD=NEW") for text in rename))
    for name, place in _placed("--attach", attach, "at", places, ("prefix",)):
        tree = tree.attach(load_robot(name, "auto", None), **place)
    for name, place in _placed("--frame", frame, "parent", places):
        tree = tree.with_frame(name, **place)
    write_whole(out, methodcaller("write", to_urdf(tree, visuals=True).encode()))
    links = len(tree.bodies) + len(tree.welds)
    joints = sum(name != ROOT_JOINT for name in tree.joint_names)
    if json:
        print_json({"robot": tree.name, "file": str(out), "links": links, "joints": joints})
    else:
        output().print(f"wrote {out}: {links} links, {joints} moving joints", soft_wrap=True, highlight=False)


def _position(text: str) -> tuple[str, list[float]]:
    """Return the joint and the position of an option --lock."""
    joint, numbers = split_pair("--lock", text, "JOINT=POSITION")
    return joint, [finite_number("--lock", word) for word in numbers.split(",")]


def _placed(
    name: str, values: list[str] | None, host: str, places: list[str] | None, more: tuple[str, ...] = ()
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the values of an option, each with the arguments in its place.

    host: the word with which places of this option begin, before a link or frame. more: other words that are texts.
    """
    from ..model.inertia import Placement

    values, texts = values or [], [text for text in places or () if text.partition("=")[0] == host]
    times = len(values)
    if len(texts) != times:
        given, begin = "once" if times == 1 else f"{times} times", "place begins" if len(texts) == 1 else "places begin"
        raise ArgumentError(f"{name} is given {given}, but {len(texts)} {begin} with {host}=")
    form = f"{host}=LINK,xyz=X Y Z,rpy=R P Y"
    for value, text in zip(values, texts, strict=True):
        place: dict[str, Any] = dict(split_pair(name, part, form) for part in text.split(","))
        for word in place:
            checked_name(f"word of {name}", word, (host, "xyz", "rpy", *more))
        pose = {key: [finite_number(name, word) for word in place.pop(key, "0 0 0").split()] for key in ("xyz", "rpy")}
        for key, numbers in pose.items():
            finite_vector(f"{name}: {key}", numbers, 3)
        yield value, place | {"placement": Placement.from_xyz_rpy(**pose)}
