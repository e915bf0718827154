"""Readings of a robot's file by other programs: the rules that it triggers, where, and their effect."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from treesim.urdf.document import Document
from treesim.urdf.findings import title
from treesim.validation.values import checked_parts, known_name

from .description import describe
from .effects import effect
from .engines import is_installed
from .outcome import Outcome
from .rule import Reader, Rule
from .table import READERS
from .verify import TIME_LIMIT, Verification
from .verify import verify as verified

if TYPE_CHECKING:
    from lxml.etree import _Element

    from treesim.urdf.read import Source

    AnySource: TypeAlias = Source | Document


@dataclass(frozen=True)
class Place:
    """Element of a file: its title and its `line`.

    Example:
        >>> from treesim_importers import Place
        >>> print(Place("robot.urdf", 12, "joint 'hinge'"))
        robot.urdf:12: joint 'hinge'
    """

    file: str
    line: int | None
    name: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.name}"


@dataclass(frozen=True)
class Reading:
    """What one reader does with some elements of a file.

    reader: its name. rule: what it does, the evidence, and the fix. places: the elements. effect: the change in
    this robot, in numbers where they can be computed: mass [kg], nv, bodies, torque at rest [N m]; may be
    empty.

    Example:
        >>> from treesim_importers import readings
        >>> print(readings('<robot name="fan"><link name="base"/></robot>', ["pybullet"])[0])
        <text>:1: link 'base': PB10: PyBullet adds: the link gets a mass of 1 kg and, ...inertia of 1 kg m^2
    """

    reader: str
    rule: Rule
    places: tuple[Place, ...]
    effect: str

    def __str__(self) -> str:
        where = f"{self.places[0]}: " if self.places else ""
        return f"{where}{self.rule.code}: {READERS[self.reader].title} {self.rule.action}: {self.rule.effect}"


@dataclass(frozen=True)
class Examination:
    """Result of one reader for a file.

    reader: the reader. readings: of the rules that apply. refused: True if rules predict a refusal.
    verification: result of the installed program, if it was run.

    Example:
        >>> from treesim_importers import examine
        >>> (found,) = examine("<robot><link name='base'/></robot>", ["pinocchio"])
        >>> found.refused, found.verification
        (True, None)
    """

    reader: Reader
    readings: tuple[Reading, ...]
    refused: bool
    verification: Verification | None = None


def readings(
    source: AnySource,
    readers: str | Iterable[str] | None = None,
    verify: bool = False,
    time_limit: float = TIME_LIMIT,
) -> tuple[Reading, ...]:
    """Return what other programs refuse, drop, alter, ignore or add when they read a robot's file.

    Readings of a reader are in the order in which it acts; those after a refusal would apply next. Takes some
    10 ms for each reader on a humanoid; verification about a second for each program.

    Parameters
    ----------
    source : str, path, file or bytes
        As for `treesim.load`, or a parsed document. Files that treesim refuses are read too, if they are URDF in
        well-formed XML.
    readers : str or iterable of str, optional
        Names of READERS; all of them by default.
    verify : bool
        Let each installed program load the file, in a process of its own. Differences that no rule predicts
        become readings of the action "differs".
    time_limit : float
        Time limit [s] of each program.

    Returns
    -------
    tuple of Reading
        Readings of all readers.

    Raises
    ------
    UrdfError
        If the source is not URDF.
    UnknownNameError
        For an unknown reader.

    Examples
    --------
    >>> from treesim_importers import readings
    >>> bare = '<robot name="fan"><link name="base"/></robot>'
    >>> [(reading.rule.code, reading.effect) for reading in readings(bare, ["pybullet"])]
    [('PB10', '+1 kg'), ('PB15', 'nv 0 -> 6')]
    """
    return tuple(found for each in examine(source, readers, verify, time_limit) for found in each.readings)


def verifications(
    source: AnySource, readers: str | Iterable[str] | None = None, time_limit: float = TIME_LIMIT
) -> tuple[Verification, ...]:
    """Load a robot's file in each installed program, and compare the results with the rules' predictions.

    Arguments and errors are those of `readings`.

    Example:
        >>> from treesim_importers import verifications
        >>> verifications('<robot name="fan"><link name="base"/></robot>', ["isaac"])  # none is installed
        ()
    """
    examined = examine(source, readers, True, time_limit)
    return tuple(each.verification for each in examined if each.verification is not None)


def examine(
    source: AnySource,
    readers: str | Iterable[str] | None = None,
    verify: bool = False,
    time_limit: float = TIME_LIMIT,
) -> tuple[Examination, ...]:
    """Return the results of `readings` and `verifications`, reader by reader.

    Arguments and errors are those of `readings`.

    Example:
        >>> from treesim_importers import examine
        >>> (found,) = examine('<robot name="fan"><link name="base"/></robot>', ["drake"])
        >>> found.reader.title, found.refused
        ('Drake', False)
    """
    description = describe(source)
    return tuple(_examined(reader, description, verify, time_limit) for reader in chosen(readers))


def _examined(reader: Reader, description: Document, verify: bool, time_limit: float) -> Examination:
    outcome = Outcome(description)
    found = apply_rules(reader, outcome)
    if not (verify and is_installed(reader.name)):
        return Examination(reader, tuple(found), outcome.refused)
    verification = verified(reader.name, outcome, time_limit)
    found += _unexplained(reader, verification, description)
    return Examination(reader, tuple(found), outcome.refused, verification)


def chosen(readers: str | Iterable[str] | None) -> list[Reader]:
    """Return the readers of these names; raises UnknownNameError for an unknown one."""
    names = tuple(READERS) if readers is None else checked_parts("readers", readers, str)
    return [READERS[known_name("reader", name, READERS)] for name in names]


def apply_rules(reader: Reader, outcome: Outcome) -> list[Reading]:
    """Return the readings of one reader; its rules change the import result one after the other."""
    found = []
    for rule in reader.rules:
        elements = list(dict.fromkeys(rule.find(outcome)))
        if elements:
            before = outcome.copy()
            rule.change(outcome, elements)
            places = tuple(_place(outcome.description, element) for element in elements)
            details = "; ".join(filter(None, (effect(before, outcome), rule.measure(elements))))
            found.append(Reading(reader.name, rule, places, details))
    return found


def _place(description: Document, element: _Element) -> Place:
    owner = next(element.iterancestors("link", "joint"), None)
    name = title(element) if owner is None or element.get("name") else f"{title(owner)}: <{element.tag}>"
    return Place(description.file, element.sourceline, name)


def _unexplained(reader: Reader, verification: Verification, description: Document) -> list[Reading]:
    root = (_place(description, description.root),)
    return [
        Reading(reader.name, _difference(reader, verification, text), root, text) for text in verification.differences
    ]


def _difference(reader: Reader, verification: Verification, text: str) -> Rule:
    """Return the rule for differences that no rule predicts."""
    version = f"{reader.title} {verification.version}".strip()
    return Rule(
        f"{reader.prefix}00", "differs", f"{version} reads this file otherwise than the rules say", text,
        "compare the versions; the rules may be wrong for this file", lambda outcome: (),
    )  # fmt: skip
