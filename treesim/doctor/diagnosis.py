"""Result of the checks of one robot description."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from .. import plugins
from ..model.tree import Tree
from ..system.display import ReprMixin
from ..urdf.document import Document
from ..urdf.findings import CODES, Finding, Severity
from .advice import ADVICE, TIER_OF
from .element_usage import Entry

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")


@dataclass(frozen=True, repr=False)
class Diagnosis(ReprMixin):
    """Result of `treesim.check` for one robot description.

    Parameters
    ----------
    file : str
        Name of the source in messages.
    findings : tuple of Finding
        Findings, by tier, then by line.
    element_usage : tuple of Entry
        Element usage report: how `load` uses every element and attribute (`treesim.doctor.element_usage.Entry`).
    robot : Tree, optional
        The tree; None if it cannot be built.
    tiers : sequence of str
        Checked tiers.
    skipped : tuple of str
        Skipped checks, with reasons.
    strict : bool
        True if doubtful physics are errors.
    document : Document, optional
        Parsed robot description; None if it is not URDF.

    Examples
    --------
    >>> treesim.check("<robot name='r'><link/></robot>")
    <Diagnosis of '<text>': 2 errors, 0 warnings, 0 notes>
    """

    file: str
    findings: tuple[Finding, ...]
    element_usage: tuple[Entry, ...] = ()
    robot: Tree | None = field(default=None, compare=False)
    tiers: Sequence[str] = ()
    skipped: tuple[str, ...] = ()
    strict: bool = False
    document: Document | None = field(default=None, compare=False)

    @property
    def passed(self) -> bool:
        """True if the robot description has no errors."""
        return not self.of("error")

    def of(self, severity: str) -> tuple[Finding, ...]:
        """Return the findings of the diagnosis that have a given severity, sorted by tier and line.

        Parameters
        ----------
        severity : {"error", "warning", "info"}
            Severity.

        Returns
        -------
        tuple of Finding
            Findings.
        """
        return tuple(found for found in self.findings if found.severity == severity)

    def without_notes(self) -> Diagnosis:
        """Return a copy of the diagnosis without notes.

        Returns
        -------
        Diagnosis
            Copy without findings of severity "info".
        """
        return replace(self, findings=tuple(found for found in self.findings if found.severity != "info"))

    @property
    def counts(self) -> dict[str, int]:
        """Numbers of findings in the diagnosis, a mapping {severity: number}."""
        found = Counter(one.severity for one in self.findings)
        return {severity: found[severity] for severity in SEVERITIES}

    @property
    def summary(self) -> str:
        """Numbers of the diagnosis's findings as text, such as "1 error, 0 warnings, 2 notes"."""
        words = zip(("error", "warning", "note"), self.counts.values(), strict=True)
        return ", ".join(f"{count} {word}{'s' * (count != 1)}" for word, count in words)

    def __repr__(self) -> str:
        return f"<Diagnosis of {self.file!r}: {self.summary}>"

    def _repr_fields(self) -> Iterable[Sequence[Any]]:
        return [(found.code, found.line or "", found.message) for found in self.findings]

    def plot(self, *, axes: Axes | None = None, path: str | os.PathLike[str] | None = None) -> Figure:
        """Plot how often each finding occurs, coloured by severity.

        Parameters
        ----------
        axes, path
            As in `treesim.Trajectory.plot`, whose errors this method raises.

        Returns
        -------
        matplotlib.figure.Figure
            The figure, which a notebook shows.
        """
        figure: Figure = plugins.get("plots", "diagnosis")(self, axes, path)
        return figure

    def to_dict(self) -> dict[str, Any]:
        """Return the diagnosis as a dictionary for JSON, without the robot's tree.

        Returns
        -------
        dict
            The fields; each finding with its tier, why it matters, and how to fix it.
        """
        return {
            "file": self.file,
            "robot": None if self.robot is None else self.robot.name,
            "passed": self.passed,
            "strict": self.strict,
            "tiers": list(self.tiers),
            "counts": self.counts,
            "findings": [finding_facts(found) for found in self.findings],
            "element_usage": [entry.to_dict() for entry in self.element_usage],
            "skipped": list(self.skipped),
        }


def finding_facts(found: Finding) -> dict[str, Any]:
    """Return a finding ready for JSON, with its tier, its code's summary, why it matters, and how to fix it."""
    advice = ADVICE[found.code]
    more = {
        "tier": TIER_OF[found.code],
        "summary": CODES[found.code].summary,
        "why": advice.why_of(found),
        "fix": advice.fix,
    }
    return {**asdict(found), **more}
