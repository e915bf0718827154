"""Repair of robot descriptions in their text: comments, order and formatting elsewhere are unchanged."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ..errors import ArgumentError, UrdfError, quoted
from ..system.display import ReprMixin
from ..system.files import path_of, writable, write_whole
from ..types import BaseChoice, Mimic, Repairs
from ..validation.values import checked_flag
from .build import check_options, tree_of
from .findings import Finding, Findings
from .markup import Edit, Markup, edited
from .read import ODD_DECLARATION, Source, SourceBytes, bytes_of_text, parse, parsed, xacro_allowed
from .repairs import REPAIRS, Fix, wanted_repairs
from .resolve import MeshResolver, open_source

CHANGED = "U314"
_WIDE = ("utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be")
_PASSES = 100  # a repair may reveal findings, which the next pass repairs


@dataclass(frozen=True, eq=False)
class Repaired(ReprMixin):
    """Repaired robot description.

    Parameters
    ----------
    text : str
        Repaired URDF text.
    changes : tuple of Finding
        Changes made, with code U314 and their lines.
    findings : tuple of Finding
        Findings that remain, including errors.
    source : str
        Name of the source in messages.
    encoding : str
        Encoding of the source, in which `write` writes.

    Examples
    --------
    >>> repaired = treesim.repair(treesim.to_urdf(treesim.load("ur5")).replace("0.0 0.0 1.0", "0 0 2", 1))
    >>> repaired
    <Repaired <text>: 1 change, no findings remain>
    >>> print(repaired.changes[0].remark)
    U314: joint 'shoulder_pan_joint': <axis xyz="0 0 2"> is now xyz="0.0 0.0 1.0" (repair="axes")
    """

    text: str
    changes: tuple[Finding, ...]
    findings: tuple[Finding, ...]
    source: str
    encoding: str = "utf-8"

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the text of the repaired description to a file atomically.

        Parameters
        ----------
        path : path
            File to write.

        Returns
        -------
        Path
            Path of the file.

        Raises
        ------
        ArgumentError
            If the file cannot be written.
        """
        data = self.text.encode(self.encoding)
        return write_whole(writable(path_of(path)), lambda stream: stream.write(data))

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
    base: BaseChoice = "fixed",
    mimic: Mimic | None = None,
    overwrite: bool = False,
    xacro: bool = False,
) -> Repaired:
    """Repair the text of a robot description (URDF), and optionally write the text to a file.

    Only repaired parts of the text change, and every line keeps its number. If the source is xacro, the expanded text
    is repaired. NUL bytes after the end tag of the robot, and malformed XML declarations, are removed with any
    `repairs`. Errors that have no repair remain in the text; the result lists them in its attribute `findings`.

    Parameters
    ----------
    source : str, path, file or bytes
        As for `treesim.load`.
    out : path, optional
        File to write atomically. Relative names of mesh files are not adjusted to the folder of this file.
    repairs : bool, str or iterable of str
        True or "unambiguous" for all unambiguous repairs, or names of repairs. The Notes list the names.
    base, mimic
        As for `treesim.load`.
    overwrite : bool
        Allow `out` to be the source itself.
    xacro : bool
        As for `treesim.load`.

    Returns
    -------
    Repaired
        Repaired text, its changes, and remaining findings.

    Raises
    ------
    UrdfError
        If the source is not URDF.
    ArgumentError
        If `out` cannot be written.

    Notes
    -----
    Unambiguous repairs:

        inertias          set negative principal moments to zero
        axes              normalise axes
        default_axes      set an axis without xyz to 1 0 0, as the standard does
        default_inertials give moving links without <inertial> a mass of zero, as the standard does
        twins             remove one of two identical elements
        mimicked          add the mimic joint's prefix to the name of the mimicked joint
        commas            remove commas between the numbers of poses

    Repairs with alternatives, which are made only if named:

        limits            remove limits whose lower exceeds the upper (some programs exchange them, Bullet ignores them)
        fixed             fix joints that move no inertia; their coordinates disappear
        armature          give joints that move no inertia, alone or combined, an armature of 1e-6 kg m^2 (1e-3 kg)

    Examples
    --------
    >>> treesim.repair("tiago_no_hand", repairs="inertias").changes[0].link
    'base_antenna_left_link'
    """
    wanted, overwrite = wanted_repairs(repairs), checked_flag("overwrite", overwrite)
    check_options(base=base, mimic=mimic)
    out = None if out is None else writable(path_of(out, "out"))
    findings = Findings("<source>")
    given = open_source(source, findings)
    if out is not None and not overwrite and given.path is not None and _same_file(given.path, out):
        raise ArgumentError(f"out is the source itself, {quoted(str(out))}: give overwrite=True to replace it")
    with xacro_allowed(xacro):
        text, encoding, remaining = _with_repairs(given, wanted, base, mimic, findings)
    result = Repaired(
        text, tuple(found for found in findings if found.code == CHANGED), remaining, given.label, encoding
    )
    if out is not None:
        result.write(out)
    return result


def _same_file(path: Path, out: str | os.PathLike[str]) -> bool:
    return os.path.exists(out) and os.path.samefile(path, out)


def with_repairs(
    source: SourceBytes, repairs: Repairs, base: BaseChoice, mimic: Mimic | None, findings: Findings
) -> SourceBytes:
    """Return the bytes of a repaired document, and add a finding for each change; `repairs` as for `repair`.

    Raises UrdfError if it is not URDF.
    """
    wanted = wanted_repairs(repairs)
    if not wanted:
        return source
    text, _, _ = _with_repairs(source, wanted, base, mimic, findings)
    return bytes_of_text(text, findings, source.label, source.path)


def _with_repairs(
    source: SourceBytes, wanted: frozenset[str], base: BaseChoice, mimic: Mimic | None, findings: Findings
) -> tuple[str, str, tuple[Finding, ...]]:
    """Return the repaired text, its encoding, and the findings that remain; changes are added to `findings`."""
    text, encoding = _plain_text(source, findings)
    find_mesh = MeshResolver(source.path).find
    for _ in range(_PASSES):
        found = Findings(source.label)
        document = parse(bytes_of_text(text, found, source.label, source.path), found)
        try:
            markup = Markup(text, list(document.root.iter("*")))
        except ValueError as error:
            raise findings.fail("U100", f"cannot repair this text: {error}", hint="edit the file by hand") from None
        with suppress(UrdfError):
            tree_of(document, find_mesh, base, mimic, found)
        edits = list(_edits(markup, found, wanted, findings))
        if not edits:
            break
        text = edited(text, edits)
    return text, encoding, tuple(found)


def _plain_text(source: SourceBytes, findings: Findings) -> tuple[str, str]:
    """Return a document's text and encoding: xacro expanded, trailing NUL bytes and an odd declaration removed."""
    noted = Findings(source.label)
    document, data = parsed(source, noted)
    encoding = _wide_encoding(data) or document.root.getroottree().docinfo.encoding or "utf-8"
    notes = {note.code: note for note in noted}
    for code, reported in (("U105", "U105"), ("U107", CHANGED)):
        if code in notes:
            findings.add(reported, notes[code].message, notes[code].line)
            return _decoded(data, encoding, findings), encoding
    if source.text is not None and encoding.upper() == "UTF-8":
        text = source.text
    else:  # a text may be the bytes of a wider encoding, character by character
        text = _decoded(source.data, encoding, findings)
    text = _without_nuls(text, findings)
    odd = re.match(ODD_DECLARATION, text)
    if odd is None or "U106" not in notes:
        return text, encoding
    lines = "\n" * odd[0].count("\n")
    findings.add(CHANGED, f"odd declaration {odd[0].strip()} removed", len(lines) + 1)
    return lines + text[odd.end() :], encoding


def _wide_encoding(data: bytes) -> str | None:
    """Return the encoding of a document with two or four bytes per character, even if undeclared; None for others."""
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
    """Yield the edits that repair findings, and add each change; overlapping edits are left to the next pass."""
    taken: list[Edit] = []
    for finding, place in zip(found, found.places, strict=True):
        for name, fix in _fixes(markup, finding, place, wanted):
            edits = list(fix.edits)
            if any(edit.start <= other.end and other.start <= edit.end for edit in edits for other in taken):
                continue
            findings.add(CHANGED, fix.message, fix.element, f'repair="{name}"')
            taken += edits
            yield from edits


def _fixes(markup: Markup, finding: Finding, place: object, wanted: frozenset[str]) -> Iterator[tuple[str, Fix]]:
    """Yield the fixes of the first requested repair that applies to a finding."""
    for name, one in REPAIRS.items():
        if name in wanted and finding.code in one.codes and place in markup:
            fixes = list(one.make_fixes(markup, place))
            if fixes:
                yield from ((name, fix) for fix in fixes)
                return
