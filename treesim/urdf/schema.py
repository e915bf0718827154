"""Elements of URDF: those that are read, those that are ignored with a note, and unknown ones."""

from __future__ import annotations

from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import lru_cache
from typing import TYPE_CHECKING

from ..errors import quoted, shortened
from .findings import Findings, title
from .geometry import SIZES
from .numbers import POSE
from .versions import LATER_LIMITS

if TYPE_CHECKING:
    from lxml.etree import _Element


@dataclass(frozen=True)
class Element:
    """Allowed content of an element.

    attributes: read. once, many: children that may occur once, or any number of times. idle: known attributes
    that have no effect.
    """

    attributes: tuple[str, ...] = ()
    once: tuple[str, ...] = ()
    many: tuple[str, ...] = ()
    idle: tuple[str, ...] = ()

    known: tuple[str, ...] = field(init=False)  # all known attributes

    def __post_init__(self) -> None:
        object.__setattr__(self, "known", self.attributes + self.idle)


HONOURED: dict[str, Element] = {
    "robot": Element(("name", "version"), many=("link", "joint", "loop_joint", "material")),
    "link": Element(("name",), once=("inertial",), many=("visual",), idle=("type",)),
    "inertial": Element(once=("origin", "mass", "inertia")),
    "mass": Element(("value",)),
    "inertia": Element(("ixx", "ixy", "ixz", "iyy", "iyz", "izz")),
    "origin": Element(tuple(POSE)),
    "joint": Element(("name", "type"), once=("origin", "parent", "child", "axis", "limit", "dynamics", "mimic")),
    "parent": Element(("link",)),
    "child": Element(("link",)),
    "axis": Element(("xyz",)),
    "limit": Element(("lower", "upper", "effort", "velocity", *LATER_LIMITS)),
    "dynamics": Element(("damping", "friction", "armature")),
    "mimic": Element(("joint", "multiplier", "offset")),
    "loop_joint": Element(("name", "type"), once=("link1", "link2", "axis")),
    "link1": Element(("link", *POSE)),
    "link2": Element(("link", *POSE)),
}

# Arguments of a `Joint` whose attributes have other names.
ATTRIBUTES = {"joint_friction": "friction"} | {f"{name}_limit": name for name in ("effort", "velocity", *LATER_LIMITS)}

# Names of attributes in other formats.
ALIASES = {"roll": "rpy", "pitch": "rpy", "yaw": "rpy", "stiction": "friction"}

# Attributes that other programs read, without meaning for the dynamics of rigid bodies.
EXTENSIONS = ("comment", "description", "dont_collapse", "drake_ignore", "group", "mask", "role")

MOST_PLACES = 3  # to which a misplaced attribute may belong that a message lists

ZEROS = "0. \t\r\n"  # characters of numbers that have no effect

# Unknown content is an error here: it cannot be another reader's extension, and would change the loop.
STRICT = ("loop_joint", "link1", "link2")

# Read by the reader of shapes, which never raises.
SHAPES = ("visual", "material")

# Elements read there, and in links' `<collision>`.
SHAPE_ELEMENTS: dict[str, Element] = {
    "visual": Element(once=("origin", "geometry", "material"), idle=("name",)),
    "collision": Element(once=("origin", "geometry"), idle=("name",)),
    "geometry": Element(once=(*SIZES, "mesh")),
    **{kind: Element(tuple(sizes)) for kind, sizes in SIZES.items()},
    "mesh": Element(("filename", "scale")),
    "material": Element(("name",), once=("color",)),
    "color": Element(("rgba",)),
}

LINK = Element(("name",), once=("inertial",), many=("visual", "collision"), idle=("type",))

KNOWN = {**HONOURED, **SHAPE_ELEMENTS, "link": LINK}

# Used in URDF files, without meaning for the dynamics of rigid bodies.
IGNORED = frozenset({
    "audio_source", "calibration", "capability", "collision", "collision_capsule", "collision_checking", "contact",
    "contact_coefficients", "disable_collisions", "gazebo", "hardwareInterface", "joint_properties", "mujoco", "plugin",
    "ros2_control", "safety_controller", "self_collision", "self_collision_checking", "self_filter", "sensor",
    "transmission", "verbose",
})  # fmt: skip


def clean(root: _Element, findings: Findings) -> None:
    """Remove ignored elements from the document, with a finding for each kind.

    Known elements without meaning for treesim give one note per kind. Unknown elements and attributes give a
    warning each, with a similar known name. A second element where one is allowed is an error.
    """
    ignored: dict[str, list[_Element]] = {}
    for material in root.iterfind("material"):
        report_attributes(material, findings)
    _check_attributes(root, HONOURED["robot"], findings)
    _clean(root, findings, ignored)
    for tag, elements in ignored.items():
        count = f"{len(elements)} " if len(elements) > 1 else ""
        findings.add("U209", f"ignored: {count}<{shortened(tag)}>", elements[0])


def _clean(element: _Element, findings: Findings, ignored: dict[str, list[_Element]]) -> None:
    """Check the children of an element, and remove those that are not read."""
    allowed = HONOURED[element.tag]
    seen: set[str] = set()
    for child in list(element):
        tag = str(child.tag)
        if tag in allowed.once and tag in seen:
            hint = "call the second end <link2>" if tag == "link1" else "keep one"
            findings.add("U208", f"{title(element)} has a second <{tag}>", child, hint)
        elif tag in allowed.once or tag in allowed.many:
            seen.add(tag)
            if tag not in SHAPES:
                if not set(HONOURED[tag].known).issuperset(child.attrib):
                    _check_attributes(child, HONOURED[tag], findings)
                if len(child):
                    _clean(child, findings, ignored)
            continue
        elif tag in IGNORED or tag.startswith("{"):
            ignored.setdefault(tag.rpartition("}")[2], []).append(child)
        else:
            near = _nearest(tag, allowed.once + allowed.many)
            hint = f"did you mean <{near}>?" if near else ""
            if element.tag in STRICT:
                findings.add("U214", f"{title(element)}: unknown <{shortened(tag)}>", child, hint)
            else:
                findings.add("U210", f"{title(element)}: unknown <{shortened(tag)}> ignored", child, hint)
        element.remove(child)


def _check_attributes(element: _Element, allowed: Element, findings: Findings) -> None:
    for name in element.attrib:
        if name in allowed.known or name.startswith("{"):
            continue
        if place := _belongs_to(element, name):
            what = f"{title(element)}: attribute {name}={quoted(element.get(name))} ignored"
            findings.add("U215", what, element, f"it belongs to {place}")
        else:
            _report_unknown(element, name, allowed, findings)


def report_attributes(shape: _Element, findings: Findings) -> None:
    """Warn of attributes of the elements of a visual, collision or material that are not read."""
    for element in shape.iter(*SHAPE_ELEMENTS, "origin"):
        allowed = KNOWN[str(element.tag)]
        if not set(allowed.known).issuperset(element.attrib):
            _check_attributes(element, allowed, findings)


def _report_unknown(element: _Element, name: str, allowed: Element, findings: Findings) -> None:
    """Report an attribute that no element has; it is a note where it has no effect on what treesim computes."""
    likeness = 0.6 if len(name) <= 4 else 0.8  # two of three letters of short names
    near = alias if (alias := ALIASES.get(name)) in allowed.known else _nearest(name, allowed.known, likeness)
    hint = f"did you mean {near!r}?" if near else ""
    read = f"<{element.tag}> has " + (
        f"the attributes {', '.join(allowed.attributes)}" if allowed.attributes else "none"
    )
    if element.tag in STRICT:
        known = hint or f"allowed are {', '.join(allowed.attributes)}"
        findings.add("U214", f"{title(element)}: unknown attribute {quoted(name)}", element, known)
        return
    idle = name in EXTENSIONS or not (element.get(name) or "").strip(ZEROS)
    code = "U211" if near else "U212" if idle else "U216"
    findings.add(code, f"{title(element)}: attribute {quoted(name)} ignored", element, read if code == "U216" else hint)


def _belongs_to(element: _Element, name: str) -> str:
    """Return the elements to which a misplaced attribute belongs, as text for messages; "" if there are none.

    These are elements inside the element, or else inside its parent, that have such an attribute, or its name: those
    that are nested least. Names that many elements have are left out, and so are zeros, which would have no effect
    there either.
    """
    tag, parent, value = str(element.tag), element.getparent(), element.get(name) or ""
    if name in ("name", "type", "value", "link") or not value.strip(ZEROS):
        return ""
    for known in (name, ALIASES[name]) if name in ALIASES else (name,):
        found = _inside(tag, known) or (() if parent is None else _inside(str(parent.tag), known, tag))
        if found:
            return " or ".join(found[:MOST_PLACES]) + (" or others" if len(found) > MOST_PLACES else "")
    return ""


@lru_cache(1000)
def _inside(owner: str, name: str, apart_from: str = "") -> tuple[str, ...]:
    """Return the elements with an attribute inside an owner, as text; one of its children may be left out."""
    level = [("", child) for child in _children(owner) if child != apart_from]
    while level:
        found = [f"{path}{as_text}" for path, child in level if (as_text := _with_attribute(child, name))]
        if found:
            return tuple(found)
        level = [(f"{path}<{child}>", inner) for path, child in level for inner in _children(child)]
    return ()


def _children(tag: str) -> tuple[str, ...]:
    return KNOWN[tag].once + KNOWN[tag].many if tag in KNOWN else ()


def _with_attribute(tag: str, name: str) -> str:
    """Return an element with the attribute `name`, or of that name, as text; "" if there is none."""
    attributes = KNOWN[tag].attributes if tag in KNOWN else ()
    if name in attributes or (name == tag and attributes):
        return f'<{tag} {name if name in attributes else attributes[0]}="..."/>'
    return ""


@lru_cache(1000)
def _nearest(name: str, known: tuple[str, ...], likeness: float = 0.6) -> str | None:
    """Return the most similar known name; None if the similarity is below `likeness`."""
    near = get_close_matches(name.lower(), known, n=1, cutoff=likeness)
    return near[0] if near else None
