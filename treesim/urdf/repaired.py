"""Robot descriptions mended in their text: comments, order and formatting of all that is sound stay as they are."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ArgumentError, UrdfError, quoted
from ..system.display import ReprMixin
from ..system.files import write_whole
from .build import tree_of
from .findings import Finding, Findings
from .markup import Edit, Markup, edited
from .read import ODD_DECLARATION, Document, Source, document_of_text, parse, parsed, xacro_allowed
from .repairs import REPAIRS, Fix, wanted_repairs
from .resolve import MeshResolver, open_source

if TYPE_CHECKING:
    from ..types import Base, Mimic, Repairs

CHANGED = "U314"
_WIDE = ("utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be")
_PASSES = 100  # what a repair uncovers is mended in the next


@dataclass(frozen=True, eq=False)
class Repaired(ReprMixin):
    """A repaired robot description: its `text`, the `changes` (treesim.urdf.Finding, code U314, with the line), and the
    `findings` that remain, errors among them; `encoding`: of the source, in which `write` writes.

    Example:
        >>> mended = treesim.repair(treesim.to_urdf(treesim.load("ur5")).replace("0.0 0.0 1.0", "0 0 2", 1))
        >>> mended
        <Repaired <text>: 1 change, no findings remain>
        >>> print(mended.changes[0].remark)
        U314: joint 'shoulder_pan_joint': <axis xyz="0 0 2"> is now xyz="0.0 0.0 1.0" (repair="axes")
    """

    text: str
    changes: tuple[Finding, ...]
    findings: tuple[Finding, ...]
    source: str
    encoding: str = "utf-8"

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the text to a file, whole or not at all; return its path. Raises ArgumentError when it cannot be."""
        data = self.text.encode(self.encoding)
        return write_whole(Path(path), lambda stream: stream.write(data))

    def __repr__(self) -> str:
        changes, doubts = len(self.changes), sum(found.severity != "info" for found in self.findings)
        remaining = f"{_count(doubts, 'finding')} remain{'s' * (doubts == 1)}"
        return f"<Repaired {self.source}: {_count(changes, 'change')}, {remaining}>"

    def _repr_fields(self) -> Iterator[tuple[str, str]]:
        for found in (*self.changes, *self.findings):
            yield f"line {found.line}" if found.line else "", found.remark


def _count(number: int, noun: str) -> str:
    return f"{number or 'no'} {noun}{'s' * (number != 1)}"


def repair(
    source: Source,
    out: str | os.PathLike[str] | None = None,
    *,
    repairs: Repairs = True,
    base: Base = "fixed",
    mimic: Mimic | None = None,
    overwrite: bool = False,
    xacro: bool = False,
) -> Repaired:
    """Return a robot description (URDF) with what can be mended mended, and write it to `out` if that is given.

    source, base, mimic, xacro: as `treesim.load` takes them. out: a file, which is replaced when the new one is whole;
    the source itself only with `overwrite`. Relative names of meshes stay as they are, so they lead somewhere else from
    another folder. repairs: True or "unambiguous" for those that leave no choice, or some of the names

        inertias          negative principal moments are set to zero
        axes              axes are normalised
        default_axes      an axis without xyz gets the standard's 1 0 0
        default_inertials moving links without inertial get one of zero, as the standard has it
        twins             what is given twice, the same both times, is given once
        mimicked          the joint that a mimic names gets the prefix of the mimic joint
        commas            commas between the numbers of xyz and rpy are dropped

    and of those that choose for the user, only done when they are named:

        limits            limits with the lower above the upper are dropped: exchanged for some, none in Bullet's files
        fixed             joints that move nothing with inertia are fixed, and lose their coordinates
        armature          joints that move no inertia, alone or together, get 1e-6 kg m^2 (1e-3 kg) of armature

    NUL bytes behind the robot and odd XML declarations are removed whatever is named.

    The text differs from the source's where something is mended, and nowhere else; no line moves. A source of xacro
    gives the expanded text. What cannot be mended stays, and is told in the result's `findings`.

    Raises UrdfError for what is no URDF at all, ArgumentError for an `out` that cannot be written.

    Example:
        >>> treesim.repair("tiago_no_hand", repairs="inertias").changes[0].link
        'base_antenna_left_link'
    """
    wanted = wanted_repairs(repairs)
    findings = Findings("<source>")
    document = open_source(source, findings)
    findings.file = document.label
    if out is not None and not overwrite and document.path is not None and _same_file(document.path, out):
        raise ArgumentError(f"out is the source itself, {quoted(str(out))}: give overwrite=True to replace it")
    with xacro_allowed(xacro):
        text, encoding, remaining = _mended(document, wanted, base, mimic, findings)
    result = Repaired(
        text, tuple(found for found in findings if found.code == CHANGED), remaining, document.label, encoding
    )
    if out is not None:
        result.write(out)
    return result


def _same_file(path: Path, out: str | os.PathLike[str]) -> bool:
    return os.path.exists(out) and os.path.samefile(path, out)


def mended(document: Document, repairs: Repairs, base: Base, mimic: Mimic | None, findings: Findings) -> Document:
    """Return a document with what can be mended mended, and add a finding for each change; `repairs` as `repair` takes
    it. Raises UrdfError for what is no URDF at all."""
    wanted = wanted_repairs(repairs)
    if not wanted:
        return document
    text, _, _ = _mended(document, wanted, base, mimic, findings)
    return document_of_text(text, findings, document.label, document.path)


def _mended(
    document: Document, wanted: frozenset[str], base: Base, mimic: Mimic | None, findings: Findings
) -> tuple[str, str, tuple[Finding, ...]]:
    """The text, its encoding, and what remains to be found in it; changes are added to the findings."""
    text, encoding = _plain_text(document, findings)
    find_mesh = MeshResolver(document.path).find
    for _ in range(_PASSES):
        found = Findings(document.label)
        root = parse(document_of_text(text, found, document.label, document.path), found)
        try:
            markup = Markup(text, list(root.iter("*")))
        except ValueError as error:
            raise findings.fail("U100", f"cannot repair this text: {error}") from None
        with suppress(UrdfError):
            tree_of(root, find_mesh, base, mimic, found)
        edits = list(_edits(markup, found, wanted, findings))
        if not edits:
            break
        text = edited(text, edits)
    return text, encoding, tuple(found)


def _plain_text(document: Document, findings: Findings) -> tuple[str, str]:
    """A document's text and encoding: expanded, without NUL bytes behind the robot and without an odd declaration."""
    noted = Findings(document.label)
    root, data = parsed(document, noted)
    encoding = _wide_encoding(data) or root.getroottree().docinfo.encoding or "utf-8"
    expanded = next((note for note in noted if note.code == "U105"), None)
    if expanded is not None:
        findings.add(expanded.code, expanded.message)
        return _decoded(data, encoding, findings), encoding
    malformed = next((note for note in noted if note.code == "U107"), None)
    if malformed is not None:
        findings.add(CHANGED, malformed.message, malformed.line)
        return _decoded(data, encoding, findings), encoding
    if document.text is not None and encoding.upper() == "UTF-8":
        text = document.text
    else:  # a text may be the bytes of a wider encoding, character by character
        text = _decoded(document.data, encoding, findings)
    text = _without_nuls(text, findings)
    odd = re.match(ODD_DECLARATION, text)
    if odd is None or all(note.code != "U106" for note in noted):
        return text, encoding
    lines = "\n" * odd[0].count("\n")
    findings.add(CHANGED, f"odd declaration {odd[0].strip()} removed", len(lines) + 1)
    return lines + text[odd.end() :], encoding


def _wide_encoding(data: bytes) -> str | None:
    """The encoding of a document of two or four bytes a character, declared or not; None for others."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff") and data[2:4] != b"\0\0":
        return "utf-16"
    return next((encoding for encoding in _WIDE if data.startswith("<".encode(encoding))), None)


def _decoded(data: bytes, encoding: str, findings: Findings) -> str:
    try:
        return data.decode(encoding)
    except (LookupError, UnicodeError):
        hint = "convert the file to UTF-8"
        raise findings.fail("U100", f"cannot repair a file in the encoding {quoted(encoding)}", hint=hint) from None


def _without_nuls(text: str, findings: Findings) -> str:
    robot = text.rstrip("\0 \t\r\n")
    end = text[len(robot) :]
    if "\0" in end:
        findings.add(CHANGED, f"{_count(end.count(chr(0)), 'NUL byte')} at the end removed", robot.count("\n") + 1)
    return robot + end.replace("\0", "")


def _edits(markup: Markup, found: Findings, wanted: frozenset[str], findings: Findings) -> Iterator[Edit]:
    """The edits that mend what is found, each fix noted; what overlaps with others waits for the next pass."""
    taken: list[Edit] = []
    for finding, place in zip(found, found.places, strict=True):
        for name, fix in _fixes(markup, finding, place, wanted):
            edits = list(fix.edits)
            if any(_overlap(edit, other) for edit in edits for other in taken):
                continue
            findings.add(CHANGED, fix.message, fix.element, f'repair="{name}"')
            taken += edits
            yield from edits


def _fixes(markup: Markup, finding: Finding, place: object, wanted: frozenset[str]) -> Iterator[tuple[str, Fix]]:
    """The fixes of the first repair that is wanted and can mend a finding."""
    for name, one in REPAIRS.items():
        if name in wanted and finding.code in one.codes and place in markup:
            fixes = list(one.mend(markup, place))
            if fixes:
                yield from ((name, fix) for fix in fixes)
                return


def _overlap(one: Edit, other: Edit) -> bool:
    return one.start <= other.end and other.start <= one.end
