"""Strict reading of numbers in a robot description: anything but finite decimal numbers is an error."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..errors import quoted, shortened
from .document import rotation_of
from .findings import Findings, title

if TYPE_CHECKING:
    from lxml.etree import _Element

POSE = {"xyz": 3, "rpy": 3, "quat_xyzw": 4}  # attributes of a pose, and their number of values
LENGTH_TOLERANCE = 1e-6  # a quaternion whose length differs by less from 1 was rounded
LARGEST = 1e40  # [SI units] beyond all robots, and small enough that no product in the dynamics overflows

_HINTS = {"U312": "check unit and exponent", "U402": "without a rotation, write 0 0 0 1"}  # by the code of the finding

_DECIMAL = re.compile(r"[0-9+\-.eE \t\r\n]*")  # of these, float takes decimal numbers only
_SPACES = re.compile(r"[ \t\r\n]+")  # XML's white space; others, such as a no-break space, are invalid in numbers
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[+-]?(?:nan|inf|infinity)", re.IGNORECASE)


def attribute_text(element: _Element, attribute: str) -> str:
    """Return `<tag attribute="value">` as in the file, for messages; long values are shortened."""
    return f'<{element.tag} {attribute}="{shortened(element.get(attribute, ""))}">'


def number_text(value: float) -> str:
    """Return a number as text from which it is read back exactly."""
    return repr(float(value) + 0.0)  # + 0.0 turns -0.0 into 0.0


class BadNumberError(ValueError):
    """Raised if an attribute does not contain the required numbers; `code` is the code of the finding."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def parse_numbers(element: _Element, attribute: str, count: int, largest: float = LARGEST) -> tuple[float, ...]:
    """Return the `count` finite numbers of an attribute, with absolute values up to `largest`.

    Raises BadNumberError if it contains anything else.
    """
    text = element.attrib[attribute]
    if _DECIMAL.fullmatch(text):
        try:
            values = tuple(map(float, text.split()))
        except ValueError:
            values = ()
        if len(values) == count and max(map(abs, values)) <= min(largest, sys.float_info.max):
            return values
    return parse_text(text, count, attribute_text(element, attribute), largest)


def parse_text(text: str, count: int, where: str, largest: float = LARGEST) -> tuple[float, ...]:
    """Parse a text as `parse_numbers` does; where: its name in messages."""
    words = [word for word in _SPACES.split(text) if word]
    if len(words) != count and not (count == 1 and not words):
        raise BadNumberError("U302", f"{where} needs {count} number{'s' * (count > 1)}, found {len(words)}")
    return tuple(_parse(word, where, largest) for word in words or [""])


def _parse(word: str, where: str, largest: float) -> float:
    if not _NUMBER.fullmatch(word) and not _NOT_FINITE.fullmatch(word):
        raise BadNumberError("U301", f"{where} holds {quoted(word)}, which is not a number")
    value = float(word)
    if not math.isfinite(value):
        raise BadNumberError("U303", f"{where} is NaN or infinite")
    if abs(value) > largest:
        raise BadNumberError("U312", f"{where} holds {value:g}; numbers beyond ±{largest:g} are not accepted")
    return value


def read_numbers(
    element: _Element,
    attributes: Iterable[str],
    count: int,
    findings: Findings,
    largest: float = LARGEST,
    required: bool = False,
) -> dict[str, tuple[float, ...]]:
    """Return the `count` finite numbers of each of some attributes of an element, by the attributes' names.

    Attributes with anything else are left out, with a finding; so are missing ones, with a finding if `required`.
    """
    found: dict[str, tuple[float, ...]] = {}
    for attribute in attributes:
        if attribute in element.attrib:
            try:
                found[attribute] = parse_numbers(element, attribute, count, largest)
            except BadNumberError as problem:
                hint = _HINTS.get(problem.code, "write decimal numbers such as 1.5 or 2e-3")
                findings.add(problem.code, f"{_owner(element)}{problem}", element, hint)
        elif required:
            findings.add("U203", f"{_owner(element)}<{element.tag}> has no attribute {attribute!r}", element)
    return found


def checked_pose(element: _Element) -> bool:
    """Return whether the attributes of a pose have numbers other than zero; raises BadNumberError if one is invalid."""
    found = [any(parse_numbers(element, name, POSE[name])) for name in element.attrib if name in POSE]
    if "quat_xyzw" in element.attrib:
        _check_quaternion(element)
    return any(found)


def read_pose(element: _Element, findings: Findings) -> None:
    """Add a finding for everything wrong or doubtful in the attributes of a pose."""
    read_numbers(element, ("xyz", "rpy"), 3, findings)
    if "quat_xyzw" not in element.attrib or not read_numbers(element, ("quat_xyzw",), 4, findings):
        return
    try:
        _check_quaternion(element)
        report_length(element, findings)
    except BadNumberError as problem:
        hint = _HINTS.get(problem.code, "keep one of them")
        findings.add(problem.code, f"{_owner(element)}{problem}", element, hint)


def _check_quaternion(element: _Element) -> None:
    if "rpy" in element.attrib:
        raise BadNumberError("U302", f"<{element.tag}> has both rpy and quat_xyzw")
    try:
        rotation_of(element)
    except ValueError:
        text = f"{attribute_text(element, 'quat_xyzw')} has length zero"
        raise BadNumberError("U402", text) from None


def report_length(element: _Element, findings: Findings) -> None:
    """Warn of a valid quaternion whose length is not 1."""
    length = math.hypot(*parse_numbers(element, "quat_xyzw", 4))
    if abs(length - 1) > LENGTH_TOLERANCE:
        text = f"{attribute_text(element, 'quat_xyzw')} has length {length:.9g}; normalised"
        findings.add("U415", f"{_owner(element)}{text}", element)


def _owner(element: _Element) -> str:
    """Return the title of the link or joint that contains an element, as a prefix for messages."""
    for ancestor in element.iterancestors("link", "joint"):
        return f"{title(ancestor)}: "
    return ""
