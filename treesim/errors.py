"""Every error treesim raises on purpose: each says what is wrong, where, and what would be right."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from difflib import get_close_matches
from itertools import takewhile
from operator import eq
from typing import Any

LONGEST = 80  # characters of a name or value that a message quotes
COMPARED = 1000  # names that a misspelt one is compared with, at 50 us each


class TreesimError(Exception):
    """Base of all errors that a user of treesim can cause."""


class ModelError(TreesimError, ValueError):
    """A kinematic tree is not well formed: the message names the body, joint or frame."""


class UrdfError(ModelError):
    """A robot description cannot be read rightly: the message lists each finding with its line."""

    def __init__(self, message: str, findings: tuple = ()) -> None:
        super().__init__(message)
        self.findings = findings


class ArgumentError(TreesimError, ValueError):
    """An argument has the wrong type, shape or value: the message names the argument."""


class UnknownNameError(ArgumentError, KeyError):
    """A name is not known: the message lists the near and the known ones."""

    def __str__(self) -> str:  # KeyError would print the repr of the message
        return str(self.args[0])


class PluginError(TreesimError):
    """A plugin is missing, broken, or two distributions claim its name."""


class SingularInertiaError(TreesimError, ArithmeticError):
    """The mass matrix is singular: the message names the joint whose motion carries no inertia."""


class AccuracyError(TreesimError, ArithmeticError):
    """A method has lost so many digits that its result would mislead: the message names where, and a better method."""


class NonFiniteError(TreesimError, ArithmeticError):
    """A state or an input holds NaN or infinity: the message names the argument and the joint."""


class ConstraintError(TreesimError, ArithmeticError):
    """Constraints depend on each other: the message names the row that says nothing new, and what it repeats."""


class ConvergenceError(TreesimError, ArithmeticError):
    """An iteration did not reach its tolerance: the message names the robot, the residual left, and a way out.

    qdd, iterations, residual: what was reached in every state, those that did converge included.
    """

    def __init__(self, message: str, qdd: Any = None, iterations: Any = None, residual: Any = None) -> None:
        super().__init__(message)
        self.qdd, self.iterations, self.residual = qdd, iterations, residual


class UnsupportedError(TreesimError):
    """A valid request lies outside what the chosen backend, integrator or viewer declares."""


def installed_by(what: str) -> str:
    """Return how to install what comes with treesim's sources: an extra such as ".[plot]", or a plugin's folder."""
    return f'from the folder of the sources, `python -m pip install "{what}"` brings it'


def shortened(text: str, limit: int = LONGEST) -> str:
    """Return a text, or its beginning and its end where it is longer than `limit` characters."""
    return text if len(text) <= limit else f"{text[: limit // 2]} ... {text[-(limit // 2) :]}"


def quoted(name: object) -> str:
    """Return a name, or any other value, as messages quote it: what does not print is escaped, and length bounded."""
    return repr(shortened(name)) if isinstance(name, str) else shortened(repr(name))


def listed(names: Sequence[str], limit: int = 8, separator: str = ", ") -> str:
    """Return the first `limit` of some names, quoted, and how many there are if that is not all of them."""
    more = f"{separator}... ({len(names)} in all)" if len(names) > limit else ""
    return separator.join(map(quoted, names[:limit])) + more


def unknown_name(kind: str, name: object, known: Iterable[str], limit: int = 12) -> UnknownNameError:
    """Return the error for an unknown `name` of a `kind`, with near misses first and at most `limit` names."""
    names = list(known)
    near = " or ".join(map(quoted, _near(str(name)[:LONGEST], names)))
    more = f", ... ({len(names)} in all)" if len(names) > limit else ""
    some = ", ".join(map(shortened, names[:limit])) + more
    hint = f"did you mean {near}? " if near else ""
    return UnknownNameError(f"unknown {shortened(kind, 2 * LONGEST)} {quoted(name)}: {hint}known are: {some or 'none'}")


def _near(name: str, names: list[str]) -> list[str]:
    """Up to three names that resemble one; of very many, those with the most letters of its beginning are compared."""
    if len(names) > COMPARED:
        names = sorted(names, key=lambda known: sum(takewhile(bool, map(eq, known, name))), reverse=True)[:COMPARED]
    return get_close_matches(name, names, n=3)


def keep_with(error: BaseException, label: str, value: Any, what: str) -> None:
    """Attach `value`, computed before it, to an error of a user's own function, as its attribute `label`, and say so
    under its traceback; what: a few words for the value."""
    with suppress(Exception):  # an exception of a class that takes no further attributes
        setattr(error, label, value)
        error.add_note(f"treesim: {what} computed before this error: see the attribute {label!r} of the exception")
