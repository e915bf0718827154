"""`treesim edit ROBOT --lock elbow=0.3 -o new.urdf`: a changed robot as a URDF file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, cast

import typer

from ..errors import ArgumentError, quoted, unknown_name
from .common import (
    BaseOption,
    JsonOption,
    MimicOption,
    RobotArgument,
    examples,
    guarded,
    load_robot,
    option,
    output,
    print_json,
)

if TYPE_CHECKING:
    from ..model.inertia import Placement
    from ..model.tree import Tree


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
    lock: list[str] | None = None,
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
        Place of each robot of --attach, and of each frame of --frame, in their order: 'at=LINK,xyz=0 0 0.1,rpy=0 0
        1.57,prefix=hand_' and 'parent=LINK,xyz=0 0 0.1,rpy=0 0 0'. All but the link or frame is optional (m, rad).
    --out
        URDF file to write.
    --subtree
        Link: removes everything but this link and what it moves.
    --without
        Link to remove, with what it moves. May be given several times.
    --lock
        JOINT=POSITION: removes a joint, whose links stay as at this position (rad, m; several numbers with commas for
        joints of several coordinates). May be given several times.
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
    from ..system.files import checked_output

    checked_output(out, (".urdf", ".xml"))
    for text in places or ():
        if text.partition("=")[0] not in ("at", "parent"):
            raise ArgumentError(f"{quoted(text)} is no place: it must begin with at= or parent=")
    tree = load_robot(robot, base, mimic)
    if subtree is not None:
        tree = tree.subtree(subtree, base=_base_of(tree))
    for link in without or ():
        tree = tree.without(link)
    if lock:
        tree = tree.reduced(dict(_position(text) for text in lock))
    if reroot is not None:
        tree = tree.rerooted(reroot)
    if mirror is not None:
        tree = tree.mirrored(cast(Any, mirror))
    if rename:
        tree = tree.renamed(dict(_pair("--rename", "OLD=NEW", text) for text in rename))
    for name, place in _placed("--attach", attach, "at", places):
        other = load_robot(name, "auto", None)
        tree = tree.attach(other, at=place.host, placement=place.placement, prefix=place.prefix)
    for name, place in _placed("--frame", frame, "parent", places):
        tree = tree.with_frame(name, place.host, place.placement)
    _write(tree, to_urdf(tree, visuals=True), out, json)


class Place(NamedTuple):
    """Place of a frame or robot: the link or frame, a placement in it, and a prefix of names."""

    host: str
    placement: Placement
    prefix: str


def _base_of(tree: Tree) -> Any:
    """Return how a tree stands in the world."""
    return "floating" if tree.bodies and tree.bodies[0].joint.type == "floating" else "fixed"


def _pair(name: str, form: str, text: str) -> tuple[str, str]:
    """Return the two parts of an option of the form A=B."""
    first, equals, second = text.partition("=")
    if not (first and equals and second):
        raise ArgumentError(f"{name} is {quoted(text)}, but must be {form}")
    return first, second


def _position(text: str) -> tuple[str, Any]:
    """Return the joint and the position of an option --lock."""
    joint, numbers = _pair("--lock", "JOINT=POSITION", text)
    values = _numbers("--lock", numbers.split(","))
    return joint, values if len(values) > 1 else values[0]


def _numbers(name: str, words: list[str]) -> list[float]:
    """Return the numbers in the words of an option."""
    numbers = []
    for word in words:
        try:
            numbers.append(float(word))
        except ValueError:
            raise ArgumentError(f"{name}: {quoted(word)} is no number") from None
    return numbers


def _placed(name: str, values: list[str] | None, host: str, places: list[str] | None) -> list[tuple[str, Place]]:
    """Return the values of an option with their places, those that begin with the word `host`."""
    texts = [text for text in places or () if text.partition("=")[0] == host]
    times = len(values or ())
    if len(texts) != times:
        given, begin = "once" if times == 1 else f"{times} times", "place begins" if len(texts) == 1 else "places begin"
        raise ArgumentError(f"{name} is given {given}, but {len(texts)} {begin} with {host}=")
    return [(value, _place(name, text, host)) for value, text in zip(values or (), texts, strict=True)]


def _place(name: str, text: str, host: str) -> Place:
    """Return the place in an option; host: the word before its link or frame."""
    from ..model.inertia import Placement

    known = (host, "xyz", "rpy", *(("prefix",) if host == "at" else ()))
    given = dict(_pair(name, f"{host}=LINK,xyz=X Y Z,rpy=R P Y", part.strip()) for part in text.split(","))
    for word in given:
        if word not in known:
            raise unknown_name(f"word of {name}", word, known)
    xyz, rpy = (_numbers(name, given.get(word, "0 0 0").split()) for word in ("xyz", "rpy"))
    for word, numbers in (("xyz", xyz), ("rpy", rpy)):
        if len(numbers) != 3:
            raise ArgumentError(f"{name}: {word} must be three numbers, got {len(numbers)}")
    return Place(given[host], Placement.from_xyz_rpy(xyz, rpy), given.get("prefix", ""))


def _write(tree: Tree, text: str, path: Path, json: bool) -> None:
    """Write the file, and print what it contains."""
    from ..model.joints import ROOT_JOINT
    from ..system.files import write_whole

    write_whole(path, lambda stream: stream.write(text.encode()))
    links = len(tree.bodies) + len(tree.welds)
    joints = sum(name != ROOT_JOINT for name in tree.joint_names)
    if json:
        print_json({"robot": tree.name, "file": str(path), "links": links, "joints": joints})
    else:
        output().print(f"wrote {path}: {links} links, {joints} moving joints", soft_wrap=True, highlight=False)
