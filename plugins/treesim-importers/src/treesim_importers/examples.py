"""A small robot that is valid for every reader, and the pieces of it that examples of rules replace."""

from __future__ import annotations

from treesim.errors import quoted

from .rule import Rule

BASE_INERTIA = '<inertia ixx="0.04" ixy="0" ixz="0" iyy="0.04" iyz="0" izz="0.04"/>'
ARM_INERTIA = '<inertia ixx="0.02" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.03"/>'
TOOL_INERTIA = '<inertia ixx="0.001" ixy="0" ixz="0" iyy="0.001" iyz="0" izz="0.001"/>'
BASE_INERTIAL = f'<inertial><origin xyz="0 0 0.1"/><mass value="4"/>{BASE_INERTIA}</inertial>'
ARM_INERTIAL = f'<inertial><origin xyz="0.3 0 0"/><mass value="2"/>{ARM_INERTIA}</inertial>'
TOOL_INERTIAL = f'<inertial><mass value="0.5"/>{TOOL_INERTIA}</inertial>'
ARM_MASS = '<mass value="2"/>'
HINGE = '<joint name="hinge" type="revolute">'
AXIS = '<axis xyz="0 1 0"/>'
LIMIT = '<limit lower="-1" upper="1" effort="10" velocity="3"/>'
ARM = '<link name="arm">'
TOOL = '<link name="tool">'
END = "</robot>"

SOUND = f"""<robot name="sound">
  <link name="base">
    {BASE_INERTIAL}
  </link>
  {HINGE}
    <origin xyz="0 0 0.2"/><parent link="base"/><child link="arm"/>{AXIS}
    {LIMIT}
  </joint>
  {ARM}
    {ARM_INERTIAL}
  </link>
  <joint name="weld" type="fixed"><origin xyz="0.5 0 0"/><parent link="arm"/><child link="tool"/></joint>
  {TOOL}
    {TOOL_INERTIAL}
  </link>
{END}
"""

Pieces = tuple[tuple[str, str], ...]


# replacements that several readers have a rule for
IMPOSSIBLE: Pieces = ((ARM_INERTIA, ARM_INERTIA.replace('izz="0.03"', 'izz="0.08"')),)
NEGATIVE: Pieces = ((ARM_MASS, '<mass value="-2"/>'),)
WEIGHTLESS: Pieces = ((ARM_MASS, '<mass value="0"/>'),)
UNIT_BEHIND: Pieces = ((ARM_MASS, '<mass value="2kg"/>'),)
BARE_TOOL: Pieces = ((TOOL_INERTIAL, ""),)
BARE_ARM: Pieces = ((ARM_INERTIAL, ""), (TOOL_INERTIAL, ""))
NAMELESS: Pieces = (('<robot name="sound">', "<robot>"),)
WORLD_LINK = '<link name="world"/><joint name="f" type="fixed"><parent link="world"/><child link="base"/></joint>'
WORLD: Pieces = (('<link name="base">', WORLD_LINK + '<link name="base">'),)


def dynamics(text: str) -> Pieces:
    """Return the replacement that gives the hinge <dynamics> with these attributes."""
    return ((LIMIT, f"{LIMIT}<dynamics {text}/>"),)


def weighing(geometry: str) -> Pieces:
    """Return the replacement that gives the tool a collision shape instead of its inertial."""
    return ((TOOL_INERTIAL, f"<collision><geometry>{geometry}</geometry></collision>"),)


def of_type(kind: str) -> Pieces:
    """Return the replacement that gives the hinge another type."""
    return ((HINGE, HINGE.replace("revolute", kind)),)


def of_version(version: str, *more: tuple[str, str]) -> Pieces:
    """Return the replacement that declares a version of URDF, and more."""
    return (('<robot name="sound">', f'<robot name="sound" version="{version}">'), *more)


def inside(opening: str, text: str) -> Pieces:
    """Return the replacement that inserts text after an opening tag."""
    return ((opening, opening + text),)


def more(text: str) -> Pieces:
    """Return the replacement that appends text to the robot."""
    return ((END, text + END),)


def shape(kind: str, geometry: str) -> Pieces:
    """Return the replacement that gives the arm a visual or collision."""
    return inside(ARM, f"<{kind}><geometry>{geometry}</geometry></{kind}>")


def second_joint(name: str = "second", child: str = "paw", inside: str = "") -> Pieces:
    """Return the replacement that adds a second joint to the base, with a child link."""
    limit = LIMIT + inside
    joint = f'<joint name="{name}" type="revolute"><parent link="base"/><child link="{child}"/>{AXIS}{limit}</joint>'
    return more(f'{joint}<link name="{child}">{TOOL_INERTIAL}</link>')


def example_of(rule: Rule) -> str:
    """Return the URDF text of a rule's example; raises ValueError if a replaced piece is missing."""
    text = SOUND
    for old, new in rule.example:
        if old not in text:
            raise ValueError(f"{rule.code}: no {quoted(old)} in the example")
        text = text.replace(old, new, 1)
    return text


def snippet(rule: Rule) -> str:
    """Return the change of a rule's example to the valid robot, on one line; "" if there is none."""
    return "; ".join(_change(old, new) for old, new in rule.example)


def _change(old: str, new: str) -> str:
    if not new:
        return f"no {old if len(old) < 60 else old[: old.index('>') + 1] + '...'}"
    return new.replace(old, "", 1) if old in new else new
