"""Repairs of a robot description: the findings that each repairs, its edits, and whether it is unambiguous."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, get_args

import numpy as np

from ..errors import ArgumentError, plain_text, quoted
from ..kernels.algebra.limits import UNLIMITED
from ..model.matrices import unit_vector
from ..types import Repair as RepairName
from ..validation.values import known_name
from .findings import title
from .inertias import INERTIA_ENTRIES, inertia_matrix, listed_moments, without_negative_moments
from .markup import Edit, Markup
from .numbers import POSE, BadNumberError, attribute_text, number_text, parse_numbers, parse_text
from .validate import moving_without_inertial
from .versions import version_of

if TYPE_CHECKING:
    from lxml.etree import _Element

ARMATURE = {"rotation": 1e-6, "translation": 1e-3}  # [kg m^2] of 1 g at 3 cm, and [kg] 1 g
ALL_UNAMBIGUOUS = "unambiguous"
_LIST_COMMA = re.compile(r",(?=[ \t\r\n])")  # a comma that is no decimal one


class Fix(NamedTuple):
    """One change: the element concerned, a message on the change, and its edits of the text."""

    element: _Element
    message: str
    edits: Iterable[Edit]


MakeFixes = Callable[[Markup, "_Element"], Iterator[Fix]]


@dataclass(frozen=True)
class Repair:
    """Repair of findings with some codes.

    codes: of the findings. about: description. make_fixes: yields the fixes for the place of a finding, none if it
    cannot be repaired. unambiguous: True if the file has no other reading; other repairs are made only if
    named.
    """

    codes: tuple[str, ...]
    about: str
    make_fixes: MakeFixes
    unambiguous: bool = True


def _set_moments(markup: Markup, inertia: _Element) -> Iterator[Fix]:
    given = inertia_matrix([parse_numbers(inertia, name, 1)[0] for name in INERTIA_ENTRIES])
    moments = np.linalg.eigvalsh(given)
    repaired = without_negative_moments(given)
    edits = [
        markup.set(inertia, name, number_text(repaired[i, j]))
        for name, (i, j) in INERTIA_ENTRIES.items()
        if repaired[i, j] != given[i, j]
    ]
    most = np.abs(repaired - given).max()
    change = f"{listed_moments(moments)} are now {listed_moments(np.linalg.eigvalsh(repaired))}"
    if edits:
        owner = title(inertia.getparent().getparent())
        yield Fix(inertia, f"{owner}: principal moments {change}; entries changed by at most {most:.3g}", edits)


def _normalise(markup: Markup, axis: _Element) -> Iterator[Fix]:
    given = parse_numbers(axis, "xyz", 3, np.inf)
    text = " ".join(map(number_text, unit_vector(np.array(given))))
    message = f'{title(axis.getparent())}: {attribute_text(axis, "xyz")} is now xyz="{text}"'
    yield Fix(axis, message, [markup.set(axis, "xyz", text)])


def _default_axis(markup: Markup, axis: _Element) -> Iterator[Fix]:
    message = f'{title(axis.getparent())}: <axis> has the standard\'s xyz="1 0 0" now'
    yield Fix(axis, message, [markup.set(axis, "xyz", "1 0 0")])


def _default_inertials(markup: Markup, link: _Element) -> Iterator[Fix]:
    """Yield a zero inertial for each moving link without one, as the standard has it; other readers use 1 kg."""
    entries = " ".join(f'{name}="0"' for name in INERTIA_ENTRIES)
    xml = f'<inertial><mass value="0"/><inertia {entries}/></inertial>'
    for one in moving_without_inertial(link.getparent()):
        yield Fix(one, f"{title(one)} has an <inertial> of zero now", markup.append(one, xml))


def _drop_twin(markup: Markup, element: _Element) -> Iterator[Fix]:
    """Yield the removal of an element that has an identical sibling."""
    owner = markup.parents[element]
    first = next(other for other in owner.iterfind(element.tag) if other.get("name") == element.get("name"))
    if first is not element and _same(first, element):
        where = f", which is that of line {first.sourceline}"
        yield Fix(element, f"second {title(element)} of {title(owner)} removed{where}", [markup.remove(element)])


def _same(one: _Element, other: _Element) -> bool:
    return (
        one.tag == other.tag
        and dict(one.attrib) == dict(other.attrib)
        and len(one) == len(other)
        and all(_same(*pair) for pair in zip(one, other, strict=True))
    )


def _name_mimicked(markup: Markup, mimic: _Element) -> Iterator[Fix]:
    """Yield the mimicked joint's name with the mimic joint's prefix: `Left_a2` mimics `Left_b1` instead of `b1`."""
    joint, mimicked = mimic.getparent(), mimic.get("joint")
    names = [other.get("name", "") for other in joint.getparent().iterfind("joint")]
    if not mimicked or mimicked in names:
        return
    prefixes = [name.removesuffix(mimicked) for name in names if name.endswith(mimicked)]
    fitting = [prefix for prefix in prefixes if joint.get("name", "").startswith(prefix)]
    if len(fitting) == 1:
        name = fitting[0] + mimicked
        message = f"{title(joint)} mimics {quoted(name)} now, {quoted(mimicked)} with the prefix of its own name"
        yield Fix(mimic, message, [markup.set(mimic, "joint", name)])


def _drop_commas(markup: Markup, element: _Element) -> Iterator[Fix]:
    """Yield the removal of commas followed by spaces, which can only separate numbers."""
    for attribute, count in POSE.items():
        text = element.get(attribute, "")
        plain = _LIST_COMMA.sub("", text)
        if plain == text:
            continue
        try:
            parse_text(plain, count, attribute_text(element, attribute))
        except BadNumberError:
            continue
        message = f'{title(element.getparent())}: {attribute_text(element, attribute)} is now "{plain}"'
        yield Fix(element, message, [markup.set(element, attribute, plain)])


def _drop_limits(markup: Markup, limit: _Element) -> Iterator[Fix]:
    """Yield the removal of limits whose lower exceeds the upper: some mean them exchanged, Bullet's files none.

    URDF 1.2 requires both limits: there they become so large that they are read as infinite.
    """
    lower, upper = limit.get("lower"), limit.get("upper")
    message = f"{title(limit.getparent())}: lower limit {lower} and upper limit {upper} removed: it is unlimited now"
    if version_of(limit.getroottree().getroot()) < "1.2":
        edits = [markup.drop(limit, "lower"), markup.drop(limit, "upper")]
    else:
        edits = [markup.set(limit, "lower", f"{-UNLIMITED:g}"), markup.set(limit, "upper", f"{UNLIMITED:g}")]
    yield Fix(limit, message, edits)


def _fix_joint(markup: Markup, joint: _Element) -> Iterator[Fix]:
    if joint.tag == "joint":
        message = f"{title(joint)} ({joint.get('type')}) is fixed now, in its position zero"
        yield Fix(joint, message, [markup.set(joint, "type", "fixed")])


def _add_armature(markup: Markup, joint: _Element) -> Iterator[Fix]:
    """Yield an armature that is small next to a robot's inertias and large next to rounding errors of M."""
    if joint.tag != "joint":
        return
    motion, unit = ("translation", "kg") if joint.get("type") == "prismatic" else ("rotation", "kg m^2")
    dynamics, value = joint.find("dynamics"), ARMATURE[motion]
    before = 0.0 if dynamics is None else float(dynamics.get("armature", 0))
    if before >= value:
        return
    text = f'<dynamics armature="{value:g}"/>'
    edits = markup.append(joint, text) if dynamics is None else [markup.set(dynamics, "armature", f"{value:g}")]
    yield Fix(joint, f"{title(joint)}: armature {before:g} is now {value:g} {unit}", edits)


REPAIRS: dict[str, Repair] = {
    "inertias": Repair(("U305", "U306", "U313"), "negative principal moments are set to zero", _set_moments),
    "axes": Repair(("U403",), "axes are normalised", _normalise),
    "default_axes": Repair(("U412",), "an axis without xyz gets the standard's 1 0 0", _default_axis),
    "default_inertials": Repair(
        ("U309",), "moving links without inertial get one of zero, as the standard has it", _default_inertials
    ),
    "twins": Repair(("U202", "U208"), "what is given twice, the same both times, is given once", _drop_twin),
    "mimicked": Repair(("U407",), "the joint that a mimic names gets the prefix of the mimic joint", _name_mimicked),
    "commas": Repair(("U301", "U302"), "commas between the numbers of a pose are dropped", _drop_commas),
    "limits": Repair(("U404",), "limits with the lower above the upper are dropped", _drop_limits, False),
    "fixed": Repair(("U310",), "joints that move nothing with inertia are fixed", _fix_joint, False),
    "armature": Repair(
        ("U310", "U311"), "joints whose inertia is singular get 1e-6 kg m^2 (1e-3 kg) of armature", _add_armature, False
    ),
}
UNAMBIGUOUS = frozenset(name for name, repair in REPAIRS.items() if repair.unambiguous)


def wanted_repairs(asked: bool | str | Iterable[str]) -> frozenset[str]:
    """Return the names of the requested repairs; True requests all unambiguous ones.

    The name "unambiguous" stands for all unambiguous ones too. Raises UnknownNameError for other names,
    ArgumentError for other types.
    """
    if isinstance(asked, bool):
        return UNAMBIGUOUS if asked else frozenset()
    try:
        names = {plain_text(name) for name in ((asked,) if isinstance(asked, str) else asked)}
    except Exception:  # whatever a user's class raises
        raise ArgumentError(f"repair must be True, False, or names of repairs, got {type(asked).__name__}") from None
    for name in names:
        known_name("repair", name, get_args(RepairName))
    return frozenset(names - {ALL_UNAMBIGUOUS}) | (UNAMBIGUOUS if ALL_UNAMBIGUOUS in names else frozenset())
