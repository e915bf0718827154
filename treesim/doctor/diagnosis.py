"""What the doctor says of one robot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ..system.display import ReprMixin
from ..urdf.findings import CODES, Finding, Severity
from .advice import ADVICE, TIER_OF
from .ledger import Entry

if TYPE_CHECKING:
    from ..model.tree import Tree

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")


@dataclass(frozen=True, repr=False)
class Diagnosis(ReprMixin):
    """What `treesim.check` found in one robot description.

    file: the source's name in messages. findings: by tier, then by line. ledger: what becomes of every element and
    attribute (`treesim.doctor.ledger.Entry`). robot: the tree, None where none can be built. tiers: those looked at.
    skipped: what could not be looked at, and why. strict: whether doubts are errors.

    Example:
        >>> treesim.check("<robot name='r'><link/></robot>")
        <Diagnosis of '<text>': 2 errors, 0 warnings, 0 notes>
    """

    file: str
    findings: tuple[Finding, ...]
    ledger: tuple[Entry, ...] = ()
    robot: Tree | None = field(default=None, compare=False)
    tiers: Sequence[str] = ()
    skipped: tuple[str, ...] = ()
    strict: bool = False

    @property
    def passed(self) -> bool:
        """Whether there is no error."""
        return not self.of("error")

    def of(self, severity: str) -> tuple[Finding, ...]:
        """Return the findings of one severity, "error", "warning" or "info", in order."""
        return tuple(found for found in self.findings if found.severity == severity)

    def without_notes(self) -> Diagnosis:
        """Return it without the findings that are neither errors nor warnings."""
        return replace(self, findings=tuple(found for found in self.findings if found.severity != "info"))

    @property
    def counts(self) -> dict[str, int]:
        """How many findings of each severity there are."""
        found = Counter(one.severity for one in self.findings)
        return {severity: found[severity] for severity in SEVERITIES}

    @property
    def summary(self) -> str:
        """How many findings of each severity there are, in words."""
        words = zip(("error", "warning", "note"), self.counts.values(), strict=True)
        return ", ".join(f"{count} {word}{'s' * (count != 1)}" for word, count in words)

    def __repr__(self) -> str:
        return f"<Diagnosis of {self.file!r}: {self.summary}>"

    def _repr_fields(self) -> Iterable[Sequence[Any]]:
        return [(found.code, found.line or "", found.message) for found in self.findings]

    def to_dict(self) -> dict[str, Any]:
        """Return all of it but the tree, as JSON has it; each finding with its tier, why it matters, and its cure."""
        return {
            "file": self.file,
            "robot": None if self.robot is None else self.robot.name,
            "passed": self.passed,
            "strict": self.strict,
            "tiers": list(self.tiers),
            "counts": self.counts,
            "findings": [finding_facts(found) for found in self.findings],
            "ledger": [entry.to_dict() for entry in self.ledger],
            "skipped": list(self.skipped),
        }


def finding_facts(found: Finding) -> dict[str, Any]:
    """Return a finding as JSON has it, with its tier, its code's summary, why it matters, and its cure."""
    advice = ADVICE[found.code]
    more = {"tier": TIER_OF[found.code], "summary": CODES[found.code].summary, "why": advice.why, "cure": advice.cure}
    return {**asdict(found), **more}
