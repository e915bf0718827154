"""Rules: what other programs do with certain elements of a URDF, the evidence, and the fix."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple

from lxml.etree import _Element

from .outcome import Outcome

Action = Literal["refuses", "drops", "alters", "ignores", "adds", "differs"]
Find = Callable[["Outcome"], "Iterable[_Element]"]
Change = Callable[["Outcome", "list[_Element]"], None]
Measure = Callable[["list[_Element]"], str]


def nothing(outcome: Outcome, elements: list[_Element]) -> None:
    """Change nothing: the rule has no effect on masses and degrees of freedom."""


def unmeasured(elements: list[_Element]) -> str:
    """Return no numbers."""
    return ""


def refuse(outcome: Outcome, elements: list[_Element]) -> None:
    """Mark the file as refused by the reader."""
    outcome.refused = True


@dataclass(frozen=True)
class Rule:
    """What a reader does with certain elements of a URDF.

    code: stable name, two letters for the reader and a number. action: "refuses" the file; "drops", "alters" or
    "ignores" content; "adds" content; or "differs", if the program did something that no rule predicts. when:
    condition of the rule. effect: what the reader does. fix: what to write, or to call, instead. find: the
    elements that trigger it, in the import result of the previous rules. change: its effect on the import
    result. example: replacements that make `examples.SOUND` trigger it (none: it does so unchanged). source:
    the page or thread as evidence, if it was not measured; else empty. measure: numbers of the elements in
    addition to the import result.

    Example:
        >>> from treesim_importers import READERS
        >>> rule = READERS["pinocchio"].rules[8]
        >>> rule.code, rule.action, rule.when, rule.fix
        ('PI09', 'adds', 'a mass below zero', 'repair the mass')
    """

    code: str
    action: Action
    when: str
    effect: str
    fix: str
    find: Find
    change: Change = nothing
    example: tuple[tuple[str, str], ...] = ()
    source: str = ""
    measure: Measure = unmeasured


class Trigger(NamedTuple):
    """Condition of a rule, which several rules may share; for the fields see `Rule`."""

    when: str
    find: Find
    example: tuple[tuple[str, str], ...] = ()
    measure: Measure = unmeasured


def _rule(
    action: Action, code: str, trigger: Trigger, effect: str, fix: str, change: Change = nothing, source: str = ""
) -> Rule:
    when, find, example, measure = trigger
    return Rule(code, action, when, effect, fix, find, change, example, source, measure)


drops, alters = partial(_rule, "drops"), partial(_rule, "alters")
ignores, adds = partial(_rule, "ignores"), partial(_rule, "adds")


def refusal(code: str, trigger: Trigger, fix: str, effect: str = "the file is refused") -> Rule:
    """Return a rule on elements for which a reader refuses the file; for the arguments see `Rule`."""
    return _rule("refuses", code, trigger, effect, fix, refuse)


@dataclass(frozen=True)
class Reader:
    """A program that reads URDF.

    name: on the command line. title: in tables. prefix: of its rules' codes. version: with which the rules were
    measured (empty: from documentation). call: how it is called. rules: in the order in which they act.

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
        """Return the evidence of a rule: a measured version, or a page."""
        return f"by documentation: {rule.source}" if rule.source else f"measured, {self.title} {self.version}"
