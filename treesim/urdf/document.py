"""Robot description as linked XML elements: links and joints by name, with their lines; it may contain errors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ..model.inertia import Placement
from ..model.matrices import rotation_from_quaternion, rotation_from_rpy

if TYPE_CHECKING:
    from lxml.etree import _Element

ZERO = (0.0, 0.0, 0.0)
Self = TypeVar("Self", bound="Document")


@dataclass(frozen=True, eq=False)
class Document:
    """Parsed robot description.

    root: its root element. file: name in messages. path: of the file, if it has one. codes: of the findings at
    parsing.
    """

    root: _Element
    file: str
    path: Path | None = None
    codes: tuple[str, ...] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        lines = [element.sourceline for element in self.root.iter()]
        return _of_lines, (self.to_text(), lines, self.file, self.path, self.codes)

    @classmethod
    def of_text(cls, text: str) -> Document:
        """Return the document of a well-formed text, such as `treesim.to_urdf` returns; comments are left out."""
        from lxml import etree

        parser = etree.XMLParser(resolve_entities=False, remove_comments=True, remove_pis=True)
        return Document(etree.fromstring(text.encode(), parser), "<text>")

    def to_text(self) -> str:
        """Return the XML text."""
        from lxml import etree

        return etree.tostring(self.root, encoding="unicode")

    @cached_property
    def links(self) -> list[_Element]:
        """Links, in the order of the file."""
        return list(self.root.iterfind("link"))

    @cached_property
    def joints(self) -> list[_Element]:
        """Joints, in the order of the file."""
        return list(self.root.iterfind("joint"))

    @cached_property
    def link(self) -> dict[str, _Element]:
        """First link of each name."""
        return _first_by(name_of, self.links)

    @cached_property
    def joint(self) -> dict[str, _Element]:
        """First joint of each name."""
        return _first_by(name_of, self.joints)

    @cached_property
    def parent_joint(self) -> dict[str, _Element]:
        """First parent joint of each link, by the link's name."""
        return _first_by(child_of, self.joints)

    @cached_property
    def roots(self) -> list[str]:
        """Links without a parent joint."""
        return [name for name in self.link if name not in self.parent_joint]

    @property
    def root_link(self) -> str:
        """First link without a parent joint; "" if there is none."""
        return self.roots[0] if self.roots else ""

    def path_to(self, link: str) -> Iterator[_Element]:
        """Yield the joints from a link to the root, the nearest first; ends at a cycle."""
        seen: set[str] = set()
        while link in self.parent_joint and link not in seen:
            seen.add(link)
            yield self.parent_joint[link]
            link = parent_of(self.parent_joint[link])

    def fixed_path_to(self, link: str) -> Iterator[_Element]:
        """Yield the joints from a link to the first link of its rigid group, the nearest first."""
        return takewhile(lambda joint: joint.get("type") == "fixed", self.path_to(link))

    def first_of_group(self, link: str) -> str:
        """Return the first link of a link's rigid group: the nearest towards the root whose joint moves."""
        for joint in self.fixed_path_to(link):
            link = parent_of(joint)
        return link

    def subtree(self, link: str) -> list[str]:
        """Return a link and all links below it."""
        return [name for name in self.link if name == link or link in map(parent_of, self.path_to(name))]

    def place(self, tag: str, name: str, *inner: str) -> str:
        """Return file:line of the innermost existing element on the path `inner` within a link or joint, "" if none."""
        element = (self.link if tag == "link" else self.joint).get(name)
        for step in inner:
            below = None if element is None else element.find(step)
            if below is None:
                break
            element = below
        return "" if element is None else f"{self.file}:{element.sourceline}"

    def tagged(self, tags: Iterable[str]) -> Iterator[_Element]:
        """Yield all elements with some tags, tag by tag."""
        return (element for tag in tags for element in self.root.iter(tag))

    def copy(self: Self) -> Self:
        """Return a document with copies of the elements."""
        return replace(self, root=deepcopy(self.root))

    def edited(self: Self, edit: Callable[[_Element], object]) -> Self:
        """Return the document with an edit applied to a copy of its elements."""
        copy = self.copy()
        edit(copy.root)
        return copy


def _of_lines(text: str, lines: Sequence[int | None], *others: Any) -> Document:
    """Return an unpickled document, whose elements have the lines of the file."""
    root = Document.of_text(text).root
    for element, line in zip(root.iter(), lines, strict=True):
        element.sourceline = line
    return Document(root, *others)


def _first_by(key: Callable[[_Element], str], elements: Iterable[_Element]) -> dict[str, _Element]:
    table: dict[str, _Element] = {}
    for element in elements:
        table.setdefault(key(element), element)
    return table


def remove(elements: Iterable[_Element]) -> list[str]:
    """Remove elements from their document; return their numbers by tag: "2 <visual>"."""
    removed = Counter[str]()
    for element in list(elements):
        element.getparent().remove(element)
        removed[str(element.tag)] += 1
    return [f"{count} <{tag}>" for tag, count in removed.items()]


def name_of(element: _Element) -> str:
    """Return an element's name, "" if it has none."""
    return element.get("name") or ""


def end_of(joint: _Element, role: str) -> str:
    """Return the link that a joint's `<parent>` or `<child>`, or a loop's `<link1>`, names; "" if there is none."""
    element = joint.find(role)
    return "" if element is None else element.get("link") or ""


parent_of: Callable[[_Element], str] = partial(end_of, role="parent")  # the name of a joint's parent link
child_of: Callable[[_Element], str] = partial(end_of, role="child")


def numbers(owner: _Element | None, tag: str, attribute: str, default: Sequence[float]) -> np.ndarray:
    """Return the numbers in an attribute of a child element; the default if the child or the attribute is missing.

    Raises ValueError if the attribute contains anything else.
    """
    element = None if owner is None else owner.find(tag)
    text = None if element is None else element.get(attribute)
    return np.array(default if text is None else text.split(), dtype=float)


def origin_of(owner: _Element) -> Placement:
    """Return the placement in the `<origin>` of an element; raises ValueError or ModelError if it is invalid."""
    return pose_in(owner.find("origin"))


def pose_in(element: _Element | None) -> Placement:
    """Return the placement that the attributes of an element describe; raises ValueError or ModelError if invalid."""
    xyz = "0 0 0" if element is None else element.get("xyz", "0 0 0")
    return Placement(rotation_of(element), np.array(xyz.split(), dtype=float))


def rotation_of(element: _Element | None) -> np.ndarray:
    """Return the rotation (3, 3) in the attribute `quat_xyzw` or `rpy` of an element; raises ValueError if invalid.

    Without these attributes, it is the identity. A quaternion is scaled to length 1.
    """
    given = {} if element is None else element.attrib
    if "quat_xyzw" in given:
        if "rpy" in given:
            raise ValueError("rpy and quat_xyzw")
        return rotation_from_quaternion([*map(float, given["quat_xyzw"].split())])
    return rotation_from_rpy([*map(float, given.get("rpy", "0 0 0").split())])
