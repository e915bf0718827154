"""Result of a conformance check: requirements that are met, and those that are not, with reasons."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from .. import plugins
from ..errors import TreesimError, quoted
from ..system.display import ReprMixin
from ..types import PluginKind

MOST_FAILURES = 20  # that a message lists
OWN_FILES = str(Path(__file__).parent)


class ConformanceError(TreesimError, AssertionError):
    """Raised if an implementation violates its protocol; the message lists each requirement that is not met.

    Parameters
    ----------
    report : Conformance
        Result of the check, with all requirements.

    Examples
    --------
    >>> from treesim import testing
    >>> try:
    ...     testing.check_integrator(object())
    ... except testing.ConformanceError as error:
    ...     print(error.report)
    <Conformance of integrator <class 'object'>: 1 of 1 requirements not met>
    """

    def __init__(self, report: Conformance) -> None:
        failures = report.failures
        lines = [f"  {finding}" for finding in failures[:MOST_FAILURES]]
        more = [f"  ... ({len(failures)} in all)"] if len(failures) > MOST_FAILURES else []
        super().__init__("\n".join([f"{report.kind} {report.name} does not keep its promises:", *lines, *more]))
        self.report = report


@dataclass(frozen=True)
class Finding:
    """Outcome of the check of one requirement.

    Parameters
    ----------
    requirement : str
        Text of the requirement.
    robot : str
        Name of the robot on which the requirement was checked; "" if none.
    problem : str or None
        Reason why the requirement is not met; None if it is met.

    Examples
    --------
    >>> from treesim import testing
    >>> print(testing.check_integrator("rk4").findings[0])
    has the attribute 'name': met
    """

    requirement: str
    robot: str
    problem: str | None

    def __str__(self) -> str:
        where = f" [{self.robot}]" if self.robot else ""
        return f"{self.requirement}{where}: {self.problem or 'met'}"


@dataclass(frozen=True, repr=False)
class Conformance(ReprMixin):
    """Result of a conformance check of an implementation.

    Parameters
    ----------
    kind : str
        Kind of the implementation, such as "integrator".
    name : str
        Name of the implementation.
    findings : tuple of Finding
        Outcome of each checked requirement.

    Examples
    --------
    >>> from treesim import testing
    >>> testing.check_integrator("midpoint").failures
    ()
    """

    kind: str
    name: str
    findings: tuple[Finding, ...]

    @property
    def failures(self) -> tuple[Finding, ...]:
        """Outcomes (`Finding`) of those checked requirements that the implementation does not meet."""
        return tuple(finding for finding in self.findings if finding.problem is not None)

    def __repr__(self) -> str:
        failed, all_of_them = len(self.failures), len(self.findings)
        outcome = f"{failed} of {all_of_them} requirements not met" if failed else f"{all_of_them} requirements met"
        return f"<Conformance of {self.kind} {self.name}: {outcome}>"

    def _repr_fields(self) -> list[tuple[str, str, str]]:
        return [(x.requirement, x.robot, x.problem or "met") for x in self.findings]


class Unmet(Exception):
    """Raised if a requirement is not met; the message gives the reason."""


@dataclass
class Checks:
    """Requirements checked so far on an implementation."""

    kind: str
    name: str
    findings: list[Finding] = field(default_factory=list)

    @contextmanager
    def require(self, requirement: str, robot: str = "") -> Iterator[None]:
        """Context that records a requirement: met if the block raises no exception."""
        problem = None
        try:
            yield
        except Unmet as error:
            problem = str(error)
        except Exception as error:
            problem = f"raises {type(error).__name__} ({_place(error)}): {error}"
        self.findings.append(Finding(requirement, robot, problem))

    def has(self, implementation: Any, **attributes: type | tuple[type, ...]) -> bool:
        """Require attributes of given types; return whether all are present."""
        before = len(self.findings)
        for label, kind in attributes.items():
            with self.require(f"has the attribute {label!r}"):
                demand(hasattr(implementation, label), f"{type(implementation).__name__} has none")
                value = getattr(implementation, label)
                demand(isinstance(value, kind), f"it is {quoted(value)}, a {type(value).__name__}")
        return all(finding.problem is None for finding in self.findings[before:])

    def report(self) -> Conformance:
        """Return the result; raises ConformanceError if a requirement is not met."""
        found = Conformance(self.kind, self.name, tuple(self.findings))
        if found.failures:
            raise ConformanceError(found)
        return found


def _place(error: Exception) -> str:
    """Return where an error was raised: the last line outside of this package."""
    frames = [x for x in traceback.extract_tb(error.__traceback__) if not x.filename.startswith(OWN_FILES)]
    return f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "here"


def begin(kind: PluginKind, implementation: Any) -> tuple[Any, Checks]:
    """Return an implementation, given by its registered name or itself, and its empty Checks."""
    if isinstance(implementation, str):
        implementation = plugins.get(kind, implementation)
    return implementation, Checks(plugins.SINGULAR[kind], named(implementation))


def named(implementation: Any) -> str:
    """Return the name of an implementation in messages."""
    name = getattr(implementation, "__name__" if isinstance(implementation, ModuleType) else "name", None)
    return repr(name) if isinstance(name, str) else str(type(implementation))


def demand(condition: bool, problem: str) -> None:
    """Raise Unmet with the problem unless a condition holds."""
    if not condition:
        raise Unmet(problem)


def demand_array(found: Any, shape: Sequence[int], what: str) -> np.ndarray:
    """Return `found` if it is a finite float64 array of this shape; raises Unmet otherwise."""
    demand(isinstance(found, np.ndarray), f"{what} is a {type(found).__name__}, not a numpy array")
    demand(found.shape == tuple(shape), f"{what} has the shape {found.shape}, {tuple(shape)} is needed")
    demand(found.dtype == np.float64, f"{what} holds {found.dtype}, float64 is needed")
    demand(bool(np.isfinite(found).all()), f"{what} is not finite")
    return found


def demand_near(found: np.ndarray, truth: np.ndarray, bound: float, what: str) -> None:
    """Raise Unmet unless arrays differ by at most `bound`, relative to the largest number of `truth`."""
    error = farthest(found, truth)
    demand(error <= bound, f"{what} is off by {error:.2g} of its largest number, {bound:.2g} is allowed")


def demand_error(kind: type[Exception], call: Callable[[], Any], mentions: str, what: str) -> None:
    """Raise Unmet unless a call raises an error of this kind whose message contains `mentions`."""
    try:
        call()
    except kind as error:
        demand(mentions in str(error), f"{what}: the message does not name {mentions!r}: {error}")
    except Exception as error:
        raise Unmet(f"{what}: raises {type(error).__name__}, not {kind.__name__}: {error}") from error
    else:
        raise Unmet(f"{what}: raises nothing, {kind.__name__} is needed")


def farthest(found: np.ndarray, truth: np.ndarray) -> float:
    """Return the largest deviation of an array from `truth`, relative to the largest number of `truth`.

    Parameters
    ----------
    found, truth : ndarray
        Arrays of the same shape.

    Returns
    -------
    float
        Relative deviation; infinite if an array contains NaN or infinity.

    Raises
    ------
    ValueError
        If the shapes differ.

    Examples
    --------
    >>> from treesim import testing
    >>> testing.farthest(np.array([1.0, 4.5]), np.array([1.0, 5.0]))
    0.1
    """
    if np.shape(found) != np.shape(truth):
        raise ValueError(f"arrays of shapes {np.shape(found)} and {np.shape(truth)} cannot be compared")
    error = np.abs(np.asarray(found) - truth).max(initial=0.0)
    return float(error) / float(np.abs(truth).max(initial=1e-300)) if np.isfinite(error) else np.inf
