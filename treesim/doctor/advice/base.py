"""Structure of a code's advice."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...urdf.findings import Finding


@dataclass(frozen=True)
class Advice:
    """Advice on a code: why it matters, and how to fix its cause. why_in: why it matters in elements with some tags."""

    why: str
    fix: str
    why_in: dict[str, str] = field(default_factory=dict)

    def why_of(self, found: Finding) -> str:
        """Return why a finding with this code matters."""
        return self.why_in.get(found.element.rpartition("/")[2].partition("[")[0], self.why)

    @property
    def reasons(self) -> str:
        """All reasons why findings with this code matter."""
        return " ".join(dict.fromkeys((self.why, *self.why_in.values())))
