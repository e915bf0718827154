"""Robot descriptions mended in their text: comments, order and formatting of all that is sound stay as they are."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..display import Shown
from ..errors import ArgumentError, UrdfError, quoted
from ..files import write_whole
from .build import tree_of
from .findings import Finding, Findings
from .markup import Edit, Markup, edited
from .read import ODD_DECLARATION, Document, Source, document_of_text, parse, parsed
from .repairs import REPAIRS, Fix, wanted_repairs
from .resolve import MeshResolver, open_source
from .visuals import MeshFinder

if TYPE_CHECKING:
    from ..types import Base, Mimic, Repairs

CHANGED = "U314"
_PASSES = 100  # what a repair uncovers is mended in the next


@dataclass(frozen=True, eq=False)
class Repaired(Shown):
    """A repaired robot description: its `text`, the `changes` (treesim.urdf.Finding, code U314, with the line), and the
    `findings` that remain, errors among them; `encoding`: of the source, in which `write` writes.

    Example:
        >>> mended = treesim.repair(treesim.to_urdf(treesim.load("ur5")).replace("0.0 0.0 1.0", "0 0 2"))
        >>> mended
        <Repaired <text>: 3 changes, nothing remains>
        >>> print(mended.changes[0])
        <text>:70: U314: joint 'shoulder_pan_joint': <axis xyz="0 0 2"> is now xyz="0.0 0.0 1.0" (repair="axes")
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
        doubts = [found for found in self.findings if found.severity != "info"]
        return f"<Repaired {self.source}: {_count(self.changes, 'change')}, {_count(doubts, 'finding')} remain>"

    def _facts(self) -> Iterator[tuple[str, str]]:
        for found in (*self.changes, *self.findings):
            yield f"line {found.line}" if found.line else "", found.remark


def _count(found: Iterable[Finding], noun: str) -> str:
    number = len([*found])
    return f"{number or 'no'} {noun}{'s' * (number != 1)}"


def repair(
    source: Source,
    out: str | os.PathLike[str] | None = None,
    repairs: Repairs = True,
    base: Base = "fixed",
    mimic: Mimic | None = None,
    overwrite: bool = False,
) -> Repaired:
    """Return a robot description (URDF) with what can be mended mended, and write it to `out` if that is given.

    source, base, mimic: as `treesim.load` takes them. out: a file, which is replaced when the new one is whole; the
    source itself only with `overwrite`. Relative names of meshes stay as they are, so they lead somewhere else from
    another folder. repairs: True for all that are unambiguous, or names of them, as for `treesim.load`.

    The text differs from the source's where something is mended, and nowhere else; no line moves. A source of xacro
    gives the expanded text. What cannot be mended stays, and is told in the result's `findings`.

    Raises UrdfError for what is no URDF at all, ArgumentError for an `out` that cannot be written.

    Example:
        >>> treesim.repair("tiago", repairs="inertias").changes[0].link
        'base_antenna_left_link'
    """
    wanted = wanted_repairs(repairs)
    findings = Findings("<source>")
    document = open_source(source, findings)
    if out is not None and not overwrite and document.path is not None and _same_file(document.path, out):
        raise ArgumentError(f"out is the source itself, {quoted(str(out))}: give overwrite=True to replace it")
    text, encoding, remaining = _mended(document, wanted, base, mimic, findings)
    result = Repaired(text, tuple(found for found in findings if found.code == CHANGED), remaining, document.label, encoding)
    if out is not None:
        result.write(out)
    return result


def _same_file(path: Path, out: str | os.PathLike[str]) -> bool:
    return os.path.exists(out) and os.path.samefile(path, out)


def mended(
    document: Document, repairs: Repairs, base: Base, mimic: Mimic | None, findings: Findings
) -> Document:
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
        markup, found = _examined(replace(document, text=text), base, mimic, find_mesh)
        edits = list(_edits(markup, found, wanted, findings))
        if not edits:
            break
        text = edited(text, edits)
    return text, encoding, tuple(found)


def _plain_text(document: Document, findings: Findings) -> tuple[str, str]:
    """A document's text, expanded, and without bytes and declarations that are no XML, and its encoding."""
    noted = Findings(document.label)
    root, data = parsed(document, noted)
    encoding = root.getroottree().docinfo.encoding or "utf-8"
    if any(note.code == "U105" for note in noted):
        findings.add("U105", next(note.message for note in noted if note.code == "U105"))
        return data.decode(encoding), encoding
    if document.text is not None:
        text, encoding = document.text, "utf-8"
    else:
        text = _decoded(document.data, encoding, findings)
    plain = text.rstrip("\0 \t\r\n")
    end = text[len(plain) :]
    if "\0" in end:
        line = plain.count("\n") + 1
        findings.add(CHANGED, f"{end.count(chr(0))} NUL bytes at the end removed", line)
    plain += end.replace("\0", "")
    if any(note.code == "U106" for note in noted):
        odd = re.match(ODD_DECLARATION, plain)
        findings.add(CHANGED, f"XML declaration {odd[0].strip()} removed", odd[0].count("\n") + 1)
        plain = "\n" * odd[0].count("\n") + plain[odd.end() :]
    return plain, encoding


def _decoded(data: bytes, encoding: str, findings: Findings) -> str:
    try:
        return data.decode(encoding)
    except (LookupError, UnicodeError):
        hint = "convert the file to UTF-8"
        raise findings.fail("U100", f"cannot repair a file in the encoding {quoted(encoding)}", hint=hint) from None


def _examined(document: Document, base: Base, mimic: Mimic | None, find_mesh: MeshFinder) -> tuple[Markup, Findings]:
    """Where the elements of a text stand, and what is found in it."""
    found = Findings(document.label)
    root = parse(document_of_text(document.text, found, document.label, document.path), found)
    markup = Markup(document.text, list(root.iter("*")))
    with suppress(UrdfError):
        tree_of(root, find_mesh, base, mimic, found)
    return markup, found


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
