"""A rule: what another program does with something that may stand in a URDF, with the evidence and the cure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from lxml.etree import _Element

    from .outcome import Outcome

Action = Literal["refuses", "drops", "alters", "ignores", "adds", "differs"]
Find = Callable[["Outcome"], "Iterable[_Element]"]
Change = Callable[["Outcome", "list[_Element]"], None]
Measure = Callable[["list[_Element]"], str]


def nothing(outcome: Outcome, elements: list[_Element]) -> None:
    """Change nothing in an outcome: what the rule is about shows in no mass and in no degree of freedom."""


def unmeasured(elements: list[_Element]) -> str:
    """Return no numbers."""
    return ""


def refuse(outcome: Outcome, elements: list[_Element]) -> None:
    """Note that the reader refuses the file."""
    outcome.refused = True


@dataclass(frozen=True)
class Rule:
    """What a reader does with elements of a URDF.

    code: stable name, two letters for the reader and a number. action: refuses the file; drops, alters or ignores what
    it says; adds what it does not say; or "differs", where the program did what no rule says. when: what triggers the
    rule. effect: what the reader does. cure: what to write, or to call, instead. find: the elements that trigger it, in
    an outcome as the rules before left it. change: what that does to the outcome. example: replacements that make
    `examples.SOUND` trigger it (none: it does so as it stands). source: the page or thread that says so, for what was
    not measured; empty for what was. measure: numbers of the elements, beside what shows in the outcome.

    Example:
        >>> from treesim_importers import READERS
        >>> rule = READERS["pinocchio"].rules[8]
        >>> rule.code, rule.action, rule.when, rule.cure
        ('PI09', 'adds', 'a mass below zero', 'repair the mass')
    """

    code: str
    action: Action
    when: str
    effect: str
    cure: str
    find: Find
    change: Change = nothing
    example: tuple[tuple[str, str], ...] = ()
    source: str = ""
    measure: Measure = unmeasured


@dataclass(frozen=True)
class Reader:
    """A program that reads URDF: its `name` on the command line, its `title`, the `prefix` of its rules' codes, the
    `version` that the rules were measured with (empty: by documentation), how it is called, and the rules in the order
    in which they act.

    Example:
        >>> from treesim_importers import READERS
        >>> reader = READERS["pinocchio"]
        >>> reader.title, reader.evidence(reader.rules[0])
        ('Pinocchio', 'measured, Pinocchio 4.1.0')
    """

    name: str
    title: str
    prefix: str
    version: str
    call: str
    rules: tuple[Rule, ...]

    def evidence(self, rule: Rule) -> str:
        """Return what a rule rests on: a measured version, or a page."""
        return f"by documentation: {rule.source}" if rule.source else f"measured, {self.title} {self.version}"
