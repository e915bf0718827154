"""Element usage report: how each element and attribute of a file is used, by the reader's own tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ..model.joints import JOINT_TYPES
from ..model.shapes import MISSING_MESH
from ..urdf.findings import Finding, path_of
from ..urdf.schema import KNOWN
from ..urdf.visuals import MeshFinder

if TYPE_CHECKING:
    from lxml.etree import _Element

Fate = Literal["honoured", "altered", "ignored"]
ALTERING = {"U306", "U314", "U403", "U415", "U509"}  # findings on changed numbers
DROPPING = {"U409", "U501", "U503", "U505"}  # ... and on elements that were left out
BOUNDED = ("revolute", "prismatic")  # types of joints whose positions have limits


@dataclass(frozen=True)
class Entry:
    """Usage of all elements, or attributes, at one path of the format.

    path: as in "link/inertial/mass@value". fate: "honoured", "altered" or "ignored". lines: of the file.
    inside: number of elements and attributes inside them, which are ignored with them.
    """

    path: str
    fate: Fate
    lines: tuple[int, ...]
    inside: int = 0

    @property
    def count(self) -> int:
        """Number of these elements or attributes."""
        return len(self.lines)

    def to_dict(self) -> dict[str, Any]:
        """Return the entry ready for JSON."""
        return {"path": self.path, "fate": self.fate, "count": self.count, "inside": self.inside, "lines": self.lines}


def element_usage(root: _Element, findings: Iterable[Finding], find_mesh: MeshFinder) -> tuple[Entry, ...]:
    """Return the usage of a parsed document's elements, in the order of their first occurrence.

    findings: the reader's. find_mesh: name -> (file, whether it exists); a collision without its mesh counts as
    ignored.
    """
    details = {(found.element, found.line): found.code for found in findings if found.code in ALTERING | DROPPING}
    for mesh in root.iterfind("link/collision/geometry[1]/mesh[1]"):
        if not find_mesh(mesh.get("filename", ""))[1]:
            collision = mesh.getparent().getparent()
            details[path_of(collision), collision.sourceline] = MISSING_MESH
    rows: dict[tuple[str, Fate], tuple[list[int], int]] = {}
    for path, fate, line, inside in _walk(root, "", "robot", details):
        lines, held = rows.setdefault((path, fate), ([], 0))
        lines.append(line)
        rows[path, fate] = lines, held + inside
    return tuple(Entry(path, fate, tuple(lines), held) for (path, fate), (lines, held) in rows.items())


def _walk(
    element: _Element, above: str, tag: str, details: dict[tuple[str, int | None], str]
) -> Iterator[tuple[str, Fate, int, int]]:
    """Yield (path, fate, line, number of contents ignored with it) of a known element and everything in it."""
    path, line = f"{above}/{tag}".removeprefix("/robot/").removeprefix("/"), element.sourceline or 0
    code = details.get((path_of(element), element.sourceline))
    fate: Fate = "altered" if code in ALTERING else "honoured"
    yield path, fate, line, 0
    allowed, idle = KNOWN[tag], _idle(element)
    for name in element.attrib:
        acts = name in allowed.attributes and name not in idle
        yield f"{path}@{name.rpartition('}')[2]}", fate if acts else "ignored", line, 0
    seen: set[str] = set()
    for child in element:
        inner = str(child.tag)
        once = inner in allowed.once and inner not in seen and not (tag == "geometry" and seen)
        dropped = details.get((path_of(child), child.sourceline)) in DROPPING | {MISSING_MESH}
        if inner not in idle and not dropped and (once or inner in allowed.many):
            yield from _walk(child, f"{above}/{tag}", inner, details)
        else:
            below = sum(1 + len(one.attrib) for one in child.iter("*")) - 1
            place = inner.rpartition("}")[2]
            yield (place if path == "robot" else f"{path}/{place}"), "ignored", child.sourceline or 0, below
        seen.add(inner)


def _idle(element: _Element) -> tuple[str, ...]:
    """Return the children and attributes that have no effect for this type of joint."""
    joint = element if element.tag == "joint" else element.getparent()
    if joint is None or joint.tag != "joint":
        return ()
    kind = joint.get("type", "")
    if element.tag == "joint":
        if kind == "fixed":
            return ("axis", "limit", "dynamics", "mimic")
        return () if kind not in JOINT_TYPES or JOINT_TYPES[kind].has_axis else ("axis",)
    return ("lower", "upper") if element.tag == "limit" and kind not in BOUNDED else ()
