"""Export of a Tree as canonical URDF: one link per body, exact numbers, unit axes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np

from ..errors import ConversionWarning, UnsupportedError, listed, quoted
from ..kernels.algebra.limits import UNLIMITED
from ..model.inertia import IDENTITY, NOTHING, Inertia, Placement
from ..model.joints import MOTION_LIMITS, POSITIONS, Joint
from ..model.links import depth_first, link_children, link_inertias, link_parents, unused
from ..model.loops import Loop
from ..model.matrices import principal_axes
from ..model.parts import changed_joints
from ..model.shapes import CollisionShape
from ..model.tree import Tree, Visual
from ..model.welds import Weld
from ..states.arguments import checked_robot
from ..system.user_warnings import warn
from ..types import UrdfVersion
from ..validation.values import checked_flag, known_name
from .base import ROOT_JOINT
from .geometry import SIZES
from .numbers import number_text
from .origins import origin_text
from .schema import ATTRIBUTES
from .versions import LATER_LIMITS, VERSIONS

NEEDS_LIMITS = ("revolute", "prismatic")
NO_XML = re.compile("[^\\t\\n\\r\\x20-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]")  # XML 1.0, section 2.2


def to_urdf(
    tree: Tree,
    *,
    principal: bool = False,
    shapes: bool = True,
    visuals: bool = False,
    welds: bool = True,
    version: UrdfVersion | None = None,
) -> str:
    """Return a tree as URDF text from which `load` reads the same bodies, joints, frames and physical parameters.

    Each body becomes a link with the inertia of its own link about its centre of mass. Each weld becomes a link with
    its own inertia and its fixed joint, each other frame a massless link on a fixed joint. Each loop becomes a
    `<loop_joint>` between two such links. Numbers have all digits, so they are read back exactly. Revolute joints
    without position limits become continuous. Other infinite limits are written as 1e30, which `load` reads as
    infinite: other programs refuse joints without limits, or read missing limits as zero. Gravity is not written. If
    the only joint on the world is a floating joint "root_joint", its child body becomes the root link. Load the text of
    such a robot with base="floating". Rotations are written as roll, pitch and yaw in every version, because programs
    that ignore the attribute quat_xyzw leave them out.

    Parameters
    ----------
    tree : Tree
        Robot.
    principal : bool
        Rotate inertial frames to the principal axes, so that products of inertia are zero.
    shapes : bool
        Write the collision shapes, each in the link that declares it. A convex hull is written as the name of its mesh
        file.
    visuals : bool
        Write the visuals, each in the link that has it.
    welds : bool
        Write welded links with their own inertias, joints and parents. Without `welds`, each body's link has the
        inertia of the whole body, and welded links are massless links on it. Some programs change the inertias of
        links which no rigid body can have, although those of whole bodies are possible.
    version : {"1.0", "1.1", "1.2"}, optional
        Version of URDF to declare. By default, it is the lowest that has all that is written: 1.1 for capsules, 1.2 for
        limits of acceleration, deceleration and jerk. The text is the same in each version. urdfdom ignores what is of
        a later version than the declared one, and before urdfdom 5.1 it refuses all versions but 1.0.

    Returns
    -------
    str
        URDF text.

    Raises
    ------
    UnsupportedError
        If a hull has no file. If limits, damping, friction or rotor inertia differ between the degrees of freedom of
        one joint. If a name has characters that XML does not allow.
    ArgumentError
        If `tree` is not a robot.
    UnknownNameError
        If the version is unknown.

    Warns
    -----
    ConversionWarning
        If joints have springs, which URDF does not have.

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> text = treesim.to_urdf(robot)
    >>> np.array_equal(treesim.load(text).reals, robot.reals)
    True
    """
    tree = checked_robot(tree)
    lost = [joint.name for joint in tree.joints.values() if np.any(joint.stiffness)]
    if lost:
        details = listed(lost, limit=3)
        warn(
            f"{tree.name!r} as URDF: the springs of joints are lost, which URDF does not have: {details}",
            ConversionWarning,
        )
    shapes, visuals = checked_flag("shapes", shapes), checked_flag("visuals", visuals)
    principal, held = checked_flag("principal", principal), tree.welds if checked_flag("welds", welds) else ()
    if version is not None:
        known_name("version", version, VERSIONS)
    floating = _has_floating_base(tree)
    base = tree.body_names[0] if floating else _base_name(tree)
    names = (base, *tree.body_names)
    drawn: dict[str, list[str]] = {}
    shown: list[CollisionShape | Visual] = [*(tree.shapes if shapes else ()), *(tree.visuals if visuals else ())]
    for shape in shown:
        link, within = _link_of(tree, shape, names)
        drawn.setdefault(link, []).extend(_shape(shape, within))
    root = "" if floating else base
    links = depth_first(link_children(tree.bodies, held, root), root)
    links += [name for name in tree.frames if name not in {*links, base}]
    inertias = link_inertias(tree.bodies, held, tree.frames)
    lines: list[str] = []
    for link in filter(None, links):
        lines += _link(link, inertias.get(link, NOTHING), drawn, principal)
    lines += _joints(tree, held, names, [link for link in links if link not in ("", base)])
    for loop in tree.loops:
        lines += _loop(loop)
    declared = _lowest_version(lines) if version is None else version
    given = "" if declared == VERSIONS[0] else f' version="{declared}"'
    text = "\n".join([f"<robot name={quoteattr(tree.name)}{given}>", *lines, "</robot>", ""])
    wrong = NO_XML.search(text)
    if wrong is not None:
        where = text[max(0, wrong.start() - 30) : wrong.end()].rpartition("\n")[2].strip()
        raise UnsupportedError(f"URDF cannot hold the character {wrong.group()!r}, which ends {where!r}: rename that")
    return text


def without_springs(tree: Tree) -> Tree:
    """Return the robot without the springs of joints, which URDF does not have."""
    if not tree.spanning.stiffness.any():
        return tree
    return tree._with(bodies=changed_joints(tree.bodies, lambda joint: {"stiffness": 0.0}))


def _lowest_version(lines: Sequence[str]) -> str:
    """Return the lowest version that has all written elements and attributes."""
    if any(line.startswith("    <limit") and f' {name}="' in line for line in lines for name in LATER_LIMITS):
        return "1.2"
    return "1.1" if any("<capsule " in line for line in lines) else "1.0"


def _joints(tree: Tree, welds: Sequence[Weld], names: Sequence[str], links: Sequence[str]) -> list[str]:
    """Return the lines of the joints of links, in order; names: links of the base and of the bodies.

    A frame that is no weld gets a fixed joint on its body.
    """
    parents = link_parents(tree.bodies, welds, names[0])
    moving = {body.name: body.joint for body in tree.bodies}
    fixed = {weld.link: weld.joint for weld in welds}
    taken, lines = {*tree.joint_names, *filter(None, fixed.values())}, []
    for link in links:
        frame = tree.frames[link]
        parent = parents.get(link, names[frame.body])
        within = IDENTITY if parent in names else tree.frames[parent].placement
        if link in moving:
            lines += _joint(moving[link], parent, link, within)
        else:
            name = fixed.get(link) or unused(f"{link}_fixed", taken)
            lines += [*_joint_head(name, "fixed", parent, link, frame.placement, within), "  </joint>"]
    return lines


def _link_of(tree: Tree, shape: CollisionShape | Visual, names: Sequence[str]) -> tuple[str, Placement]:
    """Return the link in which a shape is written, and the link's pose in the shape's body.

    It is the link that has the shape if this is a frame of the shape's body, else the body's link in `names`.
    """
    frame = tree.frames.get(shape.link)
    if frame is not None and frame.body == shape.body and shape.link not in names:
        return shape.link, frame.placement
    return names[shape.body], IDENTITY


def _shape(shape: CollisionShape | Visual, within: Placement) -> list[str]:
    """Return the lines of a collision or visual; within: pose of its link in the frame of its body."""
    tag, material = "collision", list[str]()
    if isinstance(shape, Visual):
        color = "" if shape.color is None else f'<color rgba="{_numbers(shape.color)}"/>'
        texture = "" if shape.texture is None else f"<texture filename={quoteattr(_url(shape.texture))}/>"
        material = [f'      <material name="">{color}{texture}</material>'] if color or texture else []
        tag = "visual"
    geometry = f"      <geometry>{_geometry(shape)}</geometry>"
    return [f"    <{tag}>", f"      {origin_text(shape.placement, within)}", geometry, *material, f"    </{tag}>"]


def _url(file: str | None) -> str:
    path = Path(str(file))
    return path.as_uri() if path.is_absolute() else str(file)


def _geometry(shape: CollisionShape | Visual) -> str:
    if shape.kind in SIZES:
        values, parts = iter(shape.size), SIZES[shape.kind].items()
        words = [f'{name}="{_numbers(islice(values, count))}"' for name, count in parts]
        return f"<{shape.kind} {' '.join(words)}/>"
    if isinstance(shape, Visual):
        return f'<mesh filename={quoteattr(_url(shape.file))} scale="{_numbers(shape.size)}"/>'
    if shape.file is None:
        hint = "give it a mesh file, or write the tree without its shapes: to_urdf(tree, shapes=False)"
        raise UnsupportedError(f"URDF has no hulls of vertices, as link {quoted(shape.link)} has: {hint}")
    return f'<mesh filename={quoteattr(shape.file)} scale="{_numbers(shape.scale)}"/>'


def _has_floating_base(tree: Tree) -> bool:
    on_world = [body.joint for body in tree.bodies if body.parent == 0]
    return (
        len(on_world) == 1
        and (on_world[0].name, on_world[0].type) == (ROOT_JOINT, "floating")
        and _is_identity(on_world[0].placement)
        and not any(frame.body == 0 for frame in tree.frames.values())
    )


def _base_name(tree: Tree) -> str:
    """Return the name of a link or frame at the world's origin, if it is on no other link, or an unused name."""
    on_links = {weld.link for weld in tree.welds if weld.parent}
    for frame in tree.frames.values():
        if frame.body == 0 and frame.name not in on_links and _is_identity(frame.placement):
            return frame.name
    return unused("world", set(tree.frame_names))


def _is_identity(placement: Placement) -> bool:
    return bool(np.array_equal(placement.matrix(), np.eye(4)))


def _link(name: str, inertia: Inertia, drawn: Mapping[str, Sequence[str]], principal: bool = False) -> list[str]:
    """Return the lines of a link with its inertial, even if it is zero: some readers replace a missing one by 1 kg."""
    rotational, rotation = _principal(inertia) if principal else (inertia.rotational, np.eye(3))
    entries = {f"i{'xyz'[i]}{'xyz'[j]}": rotational[i, j] for i in range(3) for j in range(i, 3)}
    return [
        f"  <link name={quoteattr(name)}>",
        "    <inertial>",
        f"      {origin_text(Placement(rotation, inertia.com))}",
        f'      <mass value="{number_text(inertia.mass)}"/>',
        f"      {_element('inertia', entries)}",
        "    </inertial>",
        *drawn.get(name, ()),
        "  </link>",
    ]


def _principal(inertia: Inertia) -> tuple[np.ndarray, np.ndarray]:
    """Return the diagonal matrix of principal moments and the rotation to their axes.

    A diagonal inertia is returned unchanged.
    """
    rotational = inertia.rotational
    if np.array_equal(rotational, np.diag(np.diag(rotational))):
        return rotational, np.eye(3)
    moments, axes = principal_axes(rotational)
    return np.diag(moments), axes


def _joint_head(name: str, kind: str, parent: str, child: str, placement: Placement, within: Placement) -> list[str]:
    return [
        f'  <joint name={quoteattr(name)} type="{kind}">',
        f"    <parent link={quoteattr(parent)}/>",
        f"    <child link={quoteattr(child)}/>",
        f"    {origin_text(placement, within)}",
    ]


def _joint(joint: Joint, parent: str, child: str, within: Placement) -> list[str]:
    """Return the lines of a moving joint; within: pose of the parent link in the frame of the parent body."""
    unlimited = joint.type == "revolute" and np.isinf([*np.asarray(joint.lower), *np.asarray(joint.upper)]).all()
    kind = "continuous" if unlimited else joint.type
    limits = _values(joint, (*(POSITIONS if kind in NEEDS_LIMITS else ()), "effort_limit", "velocity_limit"))
    later = _values(joint, MOTION_LIMITS)
    if later["deceleration"] == later["acceleration"]:
        del later["deceleration"]  # it is the acceleration limit by default
    if kind in NEEDS_LIMITS or np.isfinite([*limits.values(), *later.values()]).any():
        # other readers want every attribute of URDF 1.0, or take a missing bound for zero
        limits |= {name: value for name, value in later.items() if name == "deceleration" or np.isfinite(value)}
        limits = {name: min(max(value, -UNLIMITED), UNLIMITED) for name, value in limits.items()}
    else:
        limits = {}
    resistance = _values(joint, ("damping", "joint_friction", "armature"))
    resistance = {name: value for name, value in resistance.items() if value}
    lines = _joint_head(joint.name, kind, parent, child, joint.placement, within)
    if joint.kind.has_axis:
        lines.append(f'    <axis xyz="{_numbers(np.asarray(joint.axis))}"/>')
    lines += [f"    {_element(tag, values)}" for tag, values in (("limit", limits), ("dynamics", resistance)) if values]
    if joint.mimic is not None:
        numbers = {"multiplier": joint.mimic.multiplier, "offset": joint.mimic.offset}
        lines.append(f"    {_element('mimic', numbers, joint=joint.mimic.joint)}")
    return [*lines, "  </joint>"]


def _loop(loop: Loop) -> list[str]:
    axis = [f'    <axis xyz="{_numbers(loop.axis)}"/>'] if loop.type == "revolute" else []
    return [
        f'  <loop_joint name={quoteattr(loop.name)} type="{loop.type}">',
        f"    <link1 link={quoteattr(loop.first)}/>",
        f"    <link2 link={quoteattr(loop.second)}/>",
        *axis,
        "  </loop_joint>",
    ]


def _values(joint: Joint, names: Sequence[str]) -> dict[str, float]:
    """Return some of a joint's arguments by the names of URDF's attributes."""
    return {ATTRIBUTES.get(name, name): _uniform(joint, name) for name in names}


def _uniform(joint: Joint, name: str) -> float:
    values = np.asarray(getattr(joint, name))
    if (values != values[0]).any():
        raise UnsupportedError(
            f"URDF has one {ATTRIBUTES.get(name, name)} per joint, but joint {quoted(joint.name)} has {values.tolist()}"
        )
    return float(values[0])


def _element(tag: str, values: dict[str, float], **names: str) -> str:
    words = [f"{label}={quoteattr(name)}" for label, name in names.items()]
    words += [f'{name}="{number_text(value)}"' for name, value in values.items()]
    return f"<{tag} {' '.join(words)}/>"


def _numbers(values: Iterable[float]) -> str:
    return " ".join(map(number_text, values))
