"""Every error treesim raises on purpose: each says what is wrong, where, and what would be right."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any


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


def unknown_name(kind: str, name: object, known: Iterable[str], limit: int = 12) -> UnknownNameError:
    """Return the error for an unknown `name` of a `kind`, with near misses first and at most `limit` names."""
    names = list(known)
    near = get_close_matches(str(name), names, n=3)
    listed = ", ".join(names[:limit]) + (f", ... ({len(names)} in all)" if len(names) > limit else "")
    hint = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
    return UnknownNameError(f"unknown {kind} {name!r}: {hint}known are: {listed or 'none'}")
