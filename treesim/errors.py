"""Errors and warnings of treesim; each message contains what is wrong, where, and what would be right."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from difflib import get_close_matches
from itertools import takewhile
from operator import eq
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

LONGEST = 80  # characters of a name or value that a message quotes
_BEGINNINGS = tuple("_.~<(['\"/-+")  # of names, besides letters and digits
COMPARED = 1000  # names compared with a misspelt one, at 50 us each


class TreesimError(Exception):
    """Base class of all errors that a user of treesim can cause.

    Examples
    --------
    >>> try:
    ...     treesim.load("ur55")
    ... except treesim.TreesimError as error:
    ...     print(type(error).__name__)
    UnknownNameError
    """


class ModelError(TreesimError, ValueError):
    """Raised for a kinematic tree that is not well formed; the message names the body, joint or frame.

    Examples
    --------
    >>> hinge = treesim.Joint("hinge", "revolute", lower=2, upper=1)
    Traceback (most recent call last):
        ...
    treesim.errors.ModelError: joint 'hinge': lower limit [2.] is above the upper limit [1.]
    """


class UrdfError(ModelError):
    """Raised for a robot description that cannot be read correctly; the message lists each finding with its line.

    Parameters
    ----------
    message : str
        The message.
    findings : tuple
        The findings.

    Examples
    --------
    >>> treesim.load("<robot name='r'><link/></robot>")
    Traceback (most recent call last):
        ...
    treesim.errors.UrdfError: <text>: 2 errors
      line 1: U201: <link> has no name
      line 1: U207: the robot has no link
    """

    def __init__(self, message: str, findings: tuple = ()) -> None:
        super().__init__(message)
        self.findings = findings


class ArgumentError(TreesimError, ValueError):
    """Raised for an argument of the wrong type, shape or value; the message names the argument.

    Examples
    --------
    >>> treesim.frame_pose(treesim.load("ur5"), [0, 0, 0], "ee_link")
    Traceback (most recent call last):
        ...
    treesim.errors.ArgumentError: q has shape (3,), but (6) or (..., 6) is needed
    """


class UnknownNameError(ArgumentError, KeyError):
    """Raised for an unknown name; the message lists similar and known ones.

    Examples
    --------
    >>> treesim.load("ur5").joint("elbow")
    Traceback (most recent call last):
        ...
    treesim.errors.UnknownNameError: unknown joint 'elbow' of 'ur5': did you mean 'elbow_joint'? known are: ...
    """

    def __str__(self) -> str:  # KeyError would print the repr of the message
        return str(self.args[0])


class PluginError(TreesimError):
    """Raised for a plugin that is missing or broken, or whose name two distributions claim.

    Examples
    --------
    >>> issubclass(treesim.PluginError, treesim.TreesimError)
    True
    """


class SingularInertiaError(TreesimError, ArithmeticError):
    """Raised for a singular mass matrix; the message names the joint whose motion moves no inertia.

    Examples
    --------
    >>> treesim.ltdl([0, 1], [[1, 2], [2, 1]])
    Traceback (most recent call last):
        ...
    treesim.errors.SingularInertiaError: H is not positive definite: the pivot of degree of freedom 1 ...
    """


class AccuracyError(TreesimError, ArithmeticError):
    """Raised if a method has lost so many digits that its result would be wrong.

    The message names the place and a better method.

    Examples
    --------
    >>> issubclass(treesim.AccuracyError, ArithmeticError)  # as are all numerical errors
    True
    """


class NonFiniteError(TreesimError, ArithmeticError):
    """Raised for a state or an input with NaN or infinity; the message names the argument and the joint.

    Examples
    --------
    >>> treesim.frame_pose(treesim.load("ur5"), np.full(6, np.nan), "ee_link")
    Traceback (most recent call last):
        ...
    treesim.errors.NonFiniteError: q[0] is nan, not a finite number
    """


class ConstraintError(TreesimError, ArithmeticError):
    """Raised for linearly dependent constraints; the message names a redundant row, and a row that it depends on.

    Examples
    --------
    >>> still, held = np.zeros(6), treesim.FrameConstraint("ee_link", rows="linear")
    >>> treesim.constrained_dynamics(treesim.load("ur5"), np.full(6, 0.5), still, still, [held, held])
    Traceback (most recent call last):
        ...
    treesim.errors.ConstraintError: row 0 of the constraint on frame 'ee_link' depends on row 0 of ...
    """


class ConvergenceError(TreesimError, ArithmeticError):
    """Raised if an iteration does not reach its tolerance; the message names robot, residual and a remedy.

    Parameters
    ----------
    message : str
        The message.
    qdd : ndarray, shape (..., nv), optional
        Last iterate of every state, including those that converged.
    iterations : ndarray of int, shape (...), optional
        Iterations of every state.
    residual : ndarray, optional
        Residual of every state.

    Examples
    --------
    >>> robot, q, still = treesim.load("ur5"), np.full(6, 0.5), np.zeros(6)
    >>> held = treesim.FrameConstraint("ee_link")
    >>> treesim.constrained_dynamics(robot, q, still, still, held, method="proximal", max_iterations=1)
    Traceback (most recent call last):
        ...
    treesim.errors.ConvergenceError: 'ur5': after 1 iterations with mu = 0.0001 the constrained acceleration ...
    """

    def __init__(
        self,
        message: str,
        qdd: np.ndarray | None = None,
        iterations: np.ndarray | None = None,
        residual: np.ndarray | None = None,
    ) -> None:
        super().__init__(message)
        self.qdd, self.iterations, self.residual = qdd, iterations, residual


class UnsupportedError(TreesimError):
    """Raised for a valid request that the chosen backend, integrator or viewer does not support.

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> treesim.mass_matrix(robot, robot.neutral(), method="direct", packed=True)
    Traceback (most recent call last):
        ...
    treesim.errors.UnsupportedError: method 'direct' writes full matrices only: packed=True needs method='crba'
    """


class SweepError(TreesimError):
    """Raised if a sweep with valid arguments cannot continue: a lost scheduler, or chunks that cannot be computed.

    Finished results stay in the store, and the same call continues from there.

    Examples
    --------
    >>> issubclass(treesim.SweepError, treesim.TreesimError)
    True
    """


class TreesimWarning(UserWarning):
    """Base class of all warnings of treesim: a result differs from the request, or is doubtful.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(action="error", category=treesim.TreesimWarning):
    ...     robot = treesim.load("ur5")
    >>> robot.n_bodies
    6
    """


class ContactWarning(TreesimWarning):
    """Warning of contacts, joint limits or joint friction that are not solved to tolerance, left out, or add energy.

    Contacts are left out if there are more than the step has memory for. The warning is also issued if a step moves a
    body deep into what it touches.

    Examples
    --------
    >>> issubclass(treesim.ContactWarning, treesim.TreesimWarning)
    True
    """


class ContinuationWarning(TreesimWarning):
    """Warning that a run continues without the contact impulses of the step before; its last bits may differ.

    Examples
    --------
    >>> issubclass(treesim.ContinuationWarning, treesim.TreesimWarning)
    True
    """


class ConversionWarning(TreesimWarning):
    """Warning of parts of a robot or recording without a counterpart in the model or file that it is converted to.

    Examples
    --------
    >>> issubclass(treesim.ConversionWarning, treesim.TreesimWarning)
    True
    """


class DivergedWarning(TreesimWarning):
    """Warning of runs and rollouts that reached states which are not finite, or whose dynamics failed.

    Examples
    --------
    >>> issubclass(treesim.DivergedWarning, treesim.TreesimWarning)
    True
    """


class EffortWarning(TreesimWarning):
    """Warning of a robot whose effort limits are all 0, so controls have no effect.

    Examples
    --------
    >>> issubclass(treesim.EffortWarning, treesim.TreesimWarning)
    True
    """


class EnergyWarning(TreesimWarning):
    """Warning of a large integration error: the energy changed by more than the work done.

    Examples
    --------
    >>> issubclass(treesim.EnergyWarning, treesim.TreesimWarning)
    True
    """


class FrictionWarning(TreesimWarning):
    """Warning of joint friction that the chosen integrator does not simulate.

    Examples
    --------
    >>> issubclass(treesim.FrictionWarning, treesim.TreesimWarning)
    True
    """


class LightJointWarning(TreesimWarning):
    """Warning of a joint with so little effective inertia that it needs more substeps than chosen automatically.

    Examples
    --------
    >>> issubclass(treesim.LightJointWarning, treesim.TreesimWarning)
    True
    """


class LimitWarning(TreesimWarning):
    """Warning of a run that starts with joints beyond their position limits; the correction changes the energy.

    Examples
    --------
    >>> issubclass(treesim.LimitWarning, treesim.TreesimWarning)
    True
    """


class ReachWarning(TreesimWarning):
    """Warning of inverse kinematics that do not reach their targets; it names the targets and the joints at limits.

    Examples
    --------
    >>> issubclass(treesim.ReachWarning, treesim.TreesimWarning)
    True
    """


class ShapeWarning(TreesimWarning):
    """Warning of a collision shape that is not used, or whose geometry is not completely covered.

    Examples
    --------
    >>> issubclass(treesim.ShapeWarning, treesim.TreesimWarning)
    True
    """


class SlowWarning(TreesimWarning):
    """Warning of a player that is slower than the requested speed.

    Examples
    --------
    >>> issubclass(treesim.SlowWarning, treesim.TreesimWarning)
    True
    """


class StoppedWarning(TreesimWarning):
    """Warning of rollouts or a sweep ended early by Ctrl-C; the results so far are returned.

    Examples
    --------
    >>> issubclass(treesim.StoppedWarning, treesim.TreesimWarning)
    True
    """


class UrdfWarning(TreesimWarning):
    """Warning of doubtful contents of a robot description; one warning lists all findings.

    Examples
    --------
    >>> import warnings
    >>> axle = '<joint name="axle" type="continuous"><parent link="base"/><child link="blade"/></joint>'
    >>> text = f'<robot name="fan"><link name="base"/><link name="blade"/>{axle}</robot>'
    >>> with warnings.catch_warnings(action="ignore", category=treesim.UrdfWarning):
    ...     robot = treesim.load(text)
    >>> [note.code for note in robot.notes]
    ['U309', 'U310']
    """


def shortened(text: str, limit: int = LONGEST) -> str:
    """Return a text, or its beginning and end if it has more than `limit` characters."""
    return text if len(text) <= limit else f"{text[: limit // 2]} ... {text[-(limit // 2) :]}"


def quoted(name: object) -> str:
    """Return the quoted repr of a name or value for messages: unprintable characters escaped, length limited."""
    return repr(shortened(name)) if isinstance(name, str) else shortened(text_of(name))


def text_of(value: object, as_text: Callable[[object], str] = repr) -> str:
    """Return the repr of a value; if that fails, as for integers of thousands of digits, a description."""
    try:
        return as_text(value)
    except Exception:  # whatever a user's class raises
        return f"<an object of type {type(value).__name__}>"


def named(name: str) -> str:
    """Return a name, or a line of names, for lists and tables.

    It is quoted if it does not print, or its beginning could be mistaken for something else.
    """
    plain = name.isprintable() and name == name.strip() and (name[:1].isalnum() or name[:1] in _BEGINNINGS)
    return shortened(name) if plain else quoted(name)


def listed(names: Sequence[str], limit: int = 8, separator: str = ", ") -> str:
    """Return the first `limit` names, quoted, and the total number if there are more."""
    more = f"{separator}... ({len(names)} in all)" if len(names) > limit else ""
    return separator.join(map(quoted, names[:limit])) + more


def unknown_name(kind: str, name: object, known: Iterable[str], limit: int = 12, of: str = "") -> UnknownNameError:
    """Return the error for an unknown `name` of a `kind`, which lists similar names first, at most `limit` names.

    of: the thing that has names of this kind, such as the quoted name of a robot.
    """
    names = list(known)
    near = " or ".join(map(quoted, _near(text_of(name, str)[:LONGEST], names)))
    more = f", ... ({len(names)} in all)" if len(names) > limit else ""
    some = ", ".join(map(named, names[:limit])) + more
    hint = f"did you mean {near}? " if near else ""
    owner = f" of {shortened(of, 2 * LONGEST)}" if of else ""
    return UnknownNameError(
        f"unknown {shortened(kind, 2 * LONGEST)} {quoted(name)}{owner}: {hint}known are: {some or 'none'}"
    )


def _near(name: str, names: list[str]) -> list[str]:
    """Return up to three similar names; of very many, those with the longest common prefix are compared."""
    if len(names) > COMPARED:
        names = sorted(names, key=lambda known: sum(takewhile(bool, map(eq, known, name))), reverse=True)[:COMPARED]
    return get_close_matches(name, names, n=3)


def keep_with(error: BaseException, label: str, value: Any, what: str) -> None:
    """Attach `value`, computed before an error of a user's function, to the error as its attribute `label`.

    A note under the traceback states this; what: a few words for the value.
    """
    with suppress(Exception):  # an exception of a class that takes no further attributes
        setattr(error, label, value)
        error.add_note(f"treesim: {what} computed before this error: see the attribute {label!r} of the exception")
