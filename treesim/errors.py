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
LONGEST_REASON = 300  # characters of another library's message in a message
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
    """Raised if a part of a tree is invalid or does not fit the others; the message names the body, joint or frame.

    Examples
    --------
    >>> hinge = treesim.Joint("hinge", "revolute", lower=2, upper=1)
    Traceback (most recent call last):
        ...
    treesim.errors.ModelError: joint 'hinge': lower limit [2.] is above the upper limit [1.]
    """


class UrdfError(ModelError):
    """Raised if a robot description has errors; the message lists each error with its line.

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
    """Raised if an argument has a wrong type, shape or value; the message names the argument.

    Examples
    --------
    >>> treesim.frame_pose(treesim.load("ur5"), [0, 0, 0], "ee_link")
    Traceback (most recent call last):
        ...
    treesim.errors.ArgumentError: q has shape (3,), but (6) or (..., 6) is needed
    """


class UnknownNameError(ArgumentError, KeyError):
    """Raised if a name is unknown; the message lists similar names and all known names.

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
    """Raised if a plugin is missing or broken, or two installed distributions register a plugin of the same name.

    Examples
    --------
    >>> issubclass(treesim.PluginError, treesim.TreesimError)
    True
    """


class SingularInertiaError(TreesimError, ArithmeticError):
    """Raised if a mass matrix is singular; the message names a joint that moves no inertia.

    Examples
    --------
    >>> treesim.ltdl([0, 1], [[1, 2], [2, 1]])
    Traceback (most recent call last):
        ...
    treesim.errors.SingularInertiaError: H is not positive definite: the pivot of degree of freedom 1 ...
    """


class AccuracyError(TreesimError, ArithmeticError):
    """Raised if a method has lost so many digits that its result would be wrong.

    The message names the robot or joint, and a backend that is accurate.

    Examples
    --------
    >>> issubclass(treesim.AccuracyError, ArithmeticError)  # as are all numerical errors
    True
    """


class NonFiniteError(TreesimError, ArithmeticError):
    """Raised if an argument contains NaN or infinity, or a state or result overflows; the message names the quantity.

    Examples
    --------
    >>> treesim.frame_pose(treesim.load("ur5"), np.full(6, np.nan), "ee_link")
    Traceback (most recent call last):
        ...
    treesim.errors.NonFiniteError: q[0] is nan, not a finite number
    """


class ConstraintError(TreesimError, ArithmeticError):
    """Raised if constraint rows are linearly dependent; the message names a redundant row, and one on which it depends.

    Examples
    --------
    >>> still, held = np.zeros(6), treesim.FrameConstraint("ee_link", rows="linear")
    >>> treesim.constrained_dynamics(treesim.load("ur5"), np.full(6, 0.5), still, still, [held, held])
    Traceback (most recent call last):
        ...
    treesim.errors.ConstraintError: row 0 of the constraint on frame 'ee_link' depends on row 0 of ...
    """


class ConvergenceError(TreesimError, ArithmeticError):
    """Raised if an iteration does not reach its tolerance; the message names the robot, the residual and a remedy.

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
    """Raised if a request is valid, but the chosen backend, integrator or viewer does not support it.

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> treesim.mass_matrix(robot, robot.neutral(), method="direct", packed=True)
    Traceback (most recent call last):
        ...
    treesim.errors.UnsupportedError: method 'direct' writes full matrices only: packed=True needs method='crba'
    """


class SweepError(TreesimError):
    """Raised if a sweep cannot continue, for example because workers are lost or stored results are damaged.

    Finished results remain in the store. Repeat the call to continue the sweep.

    Examples
    --------
    >>> issubclass(treesim.SweepError, treesim.TreesimError)
    True
    """


class TreesimWarning(UserWarning):
    """Base class of all warnings of treesim, which report that a result differs from the request, or is doubtful.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(action="error", category=treesim.TreesimWarning):
    ...     robot = treesim.load("ur5")
    >>> robot.n_bodies
    6
    """


class ContactWarning(TreesimWarning):
    """Issued if a step does not solve contacts, joint limits or joint friction correctly.

    For example, the solver does not reach its tolerance, or impulses increase the energy. A step may also omit
    contacts, because the memory for contacts is full, or move a body deep into another body or surface.

    Examples
    --------
    >>> issubclass(treesim.ContactWarning, treesim.TreesimWarning)
    True
    """


class ContinuationWarning(TreesimWarning):
    """Issued if a run continues without its last contact impulses. Last digits of states may differ from one long run.

    Examples
    --------
    >>> issubclass(treesim.ContinuationWarning, treesim.TreesimWarning)
    True
    """


class ConventionWarning(TreesimWarning):
    """Issued if a configuration looks like degrees, or like quaternions with w first; once for each joint of a robot.

    Examples
    --------
    >>> issubclass(treesim.ConventionWarning, treesim.TreesimWarning)
    True
    """


class ConversionWarning(TreesimWarning):
    """Issued if a conversion drops parts of a robot or recording, because the target cannot represent them.

    Examples
    --------
    >>> issubclass(treesim.ConversionWarning, treesim.TreesimWarning)
    True
    """


class DivergedWarning(TreesimWarning):
    """Issued if a run or rollout reached a state with NaN or infinity, or if the dynamics failed.

    Examples
    --------
    >>> issubclass(treesim.DivergedWarning, treesim.TreesimWarning)
    True
    """


class EffortWarning(TreesimWarning):
    """Issued if all effort limits of a robot are 0, so that controls have no effect.

    Examples
    --------
    >>> issubclass(treesim.EffortWarning, treesim.TreesimWarning)
    True
    """


class EnergyWarning(TreesimWarning):
    """Issued if the integration error is large: the change of energy differs from the work on the robot.

    Examples
    --------
    >>> issubclass(treesim.EnergyWarning, treesim.TreesimWarning)
    True
    """


class FrictionWarning(TreesimWarning):
    """Issued if the robot has joint friction that the chosen integrator does not simulate.

    Examples
    --------
    >>> issubclass(treesim.FrictionWarning, treesim.TreesimWarning)
    True
    """


class LayoutWarning(TreesimWarning):
    """Issued if an integer selects a body in an array whose rows a later version will order in another way.

    Examples
    --------
    >>> issubclass(treesim.LayoutWarning, treesim.TreesimWarning)
    True
    """


class LightJointWarning(TreesimWarning):
    """Issued if steps, or the period of explicit gains, are too long for the little effective inertia of a joint.

    Examples
    --------
    >>> issubclass(treesim.LightJointWarning, treesim.TreesimWarning)
    True
    """


class LimitWarning(TreesimWarning):
    """Issued if a run starts with joints beyond position limits; the limits push the joints back and change the energy.

    Examples
    --------
    >>> issubclass(treesim.LimitWarning, treesim.TreesimWarning)
    True
    """


class ReachWarning(TreesimWarning):
    """Issued if inverse kinematics do not reach a target; the message names the targets and the joints at limits.

    Examples
    --------
    >>> issubclass(treesim.ReachWarning, treesim.TreesimWarning)
    True
    """


class ShapeWarning(TreesimWarning):
    """Issued if a collision shape is not used, or if only a part of its geometry can collide.

    Examples
    --------
    >>> issubclass(treesim.ShapeWarning, treesim.TreesimWarning)
    True
    """


class SlowWarning(TreesimWarning):
    """Issued if a player is slower than the requested speed.

    Examples
    --------
    >>> issubclass(treesim.SlowWarning, treesim.TreesimWarning)
    True
    """


class StoppedWarning(TreesimWarning):
    """Issued if Ctrl-C ends rollouts or a sweep early; the finished results are returned.

    Examples
    --------
    >>> issubclass(treesim.StoppedWarning, treesim.TreesimWarning)
    True
    """


class UrdfWarning(TreesimWarning):
    """Issued if a robot description has doubtful contents. One warning lists all findings of a file.

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


def reason_of(error: BaseException) -> str:
    """Return an error's message, or reason, as a part of another message: shortened, unless it is treesim's."""
    text = getattr(error, "strerror", None) or text_of(error, str) or type(error).__name__
    return text if isinstance(error, TreesimError) else shortened(text, LONGEST_REASON)


def quoted(name: object) -> str:
    """Return the quoted repr of a name or value for messages: unprintable characters escaped, length limited."""
    if type(name) is str and len(name) <= LONGEST:
        return repr(name)
    return repr(shortened(name)) if isinstance(name, str) else shortened(text_of(name))


def plain_text(value: Any) -> Any:
    """Return a text of a subclass of str as a str, so that no method of the subclass is called; other values as is."""
    return str.__str__(value) if isinstance(value, str) else value


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


def out_of_memory(what: str, size: int) -> ArgumentError:
    """Return the error for `what`, an array of so many bytes, for which there is no memory."""
    return ArgumentError(f"{what} takes {size:,} bytes, and there is not so much memory: give fewer states at once")


def unknown_name(kind: str, name: object, known: Iterable[str], limit: int = 12, of: str = "") -> UnknownNameError:
    """Return the error for an unknown `name` of a `kind`, which lists similar names first, at most `limit` names.

    of: the thing that has names of this kind, such as the quoted name of a robot.
    """
    names = list(known)
    near = " or ".join(map(quoted, similar(text_of(name, str)[:LONGEST], names)))
    more = f", ... ({len(names)} in all)" if len(names) > limit else ""
    some = ", ".join(map(named, names[:limit])) + more
    hint = f"did you mean {near}? " if near else ""
    owner = f" of {shortened(of, 2 * LONGEST)}" if of else ""
    return UnknownNameError(
        f"unknown {shortened(kind, 2 * LONGEST)} {quoted(name)}{owner}: {hint}known are: {some or 'none'}"
    )


def similar(name: str, names: list[str]) -> list[str]:
    """Return up to three similar names; of very many, those with the longest common prefix are compared.

    Names that are words of the name come first, as g1 in unitree_g1.
    """
    words = {*name.replace("-", "_").split("_")} - {name}
    if found := [known for known in names if known in words]:
        return found[:3]
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


def __dir__() -> list[str]:
    """Return the names of errors and warnings, without the functions that write their messages."""
    return [name for name, kind in globals().items() if isinstance(kind, type) and issubclass(kind, Exception)]
