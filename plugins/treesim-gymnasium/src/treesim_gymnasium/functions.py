"""Functions of a task on all environments at once: compiled, or as NumPy functions of arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

import treesim
from treesim.errors import ArgumentError, NonFiniteError, quoted
from treesim.types import Engine

from .task import Task

WRENCH = 6  # numbers of a contact wrench


class Seen(NamedTuple):
    """Observation (n, m), reward (n,), and termination (n,) of n environments."""

    observation: np.ndarray
    reward: np.ndarray
    terminated: np.ndarray


class TaskFunctions(Protocol):
    """Interface of a task's functions; size: length of what `observe` returns."""

    size: int

    def look(self, t: np.ndarray, q: np.ndarray, v: np.ndarray, p: np.ndarray, a: np.ndarray, c: np.ndarray) -> Seen:
        """Return observation, reward and termination of states (n, ...) at times t (n,).

        a (n, 2, m): the last action and the one before. c (n, m, 6): contact wrenches.
        """

    def begin(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return q (n, nq), v (n, nv) and p (n, k) at the start of episodes, from random numbers (n, r)."""


def functions_of(task: Task, engine: Engine) -> TaskFunctions:
    """Return a task's functions, compiled or not, as the task requests."""
    return Compiled(task, engine) if task.compiled else OnArrays(task)


class Compiled:
    """Functions that are traced and run by SIMD code: one call for observation, reward and termination, one for starts.

    Raises what `treesim.BatchFunction` raises.
    """

    def __init__(self, task: Task, engine: Engine) -> None:
        self._given = task, engine
        robot = task.robot
        sizes = {"t": 1, "q": robot.nq, "v": robot.nv, "p": task.parameters, "a": len(task.driven)}
        if task.last_action:
            sizes["b"] = len(task.driven)
        if task.contact_links:
            sizes["c"] = WRENCH * len(task.contact_links)
        self._look = self._batch(_seen_of(task), sizes, "what is seen, by observe, reward and terminated,", engine)
        self._begin = self._batch(_start_of(task), {"x": task.random}, "the start, by reset,", engine)
        self._ends = np.cumsum([robot.nq, robot.nv])
        self.size = self._look.count - 2 - task.observed_actions

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._given  # compiled code is in the disk cache

    def __deepcopy__(self, memo: dict[int, Any]) -> Compiled:
        return self  # it never changes

    @staticmethod
    def _batch(function: Callable[..., Any], sizes: dict[str, int], what: str, engine: Engine) -> treesim.BatchFunction:
        return treesim.BatchFunction(function, tuple(sizes.values()), what=what, named=tuple(sizes), engine=engine)

    def look(self, t: np.ndarray, q: np.ndarray, v: np.ndarray, p: np.ndarray, a: np.ndarray, c: np.ndarray) -> Seen:
        """Return observation, reward and termination of states (n, ...) at times t (n,); c (n, m, 6): wrenches."""
        actions = [a[:, k] for k in range(1 + self._given[0].last_action)]
        found = self._look(t[:, None], q, v, p, *actions, *([c.reshape(len(c), -1)] if c.size else []))
        return Seen(found[:, :-2], found[:, -2].copy(), _ends(found[:, -1], q))

    def begin(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return q (n, nq), v (n, nv) and p (n, k) at the start of episodes, from random numbers (n, r)."""
        q, v, p = np.split(self._begin(x), self._ends, axis=1)
        return q, v, p


def _seen_of(task: Task) -> Callable[..., list[Any]]:
    """Return one function of t, q, v, p, a and, if there are, b and c: observation, reward and termination."""
    actions = 1 + task.last_action

    def look(*given: Any) -> list[Any]:
        t, *others = given[: 4 + actions]
        wrenches = [c.reshape(-1, WRENCH) for c in given[4 + actions :]]

        def called(function: Callable[..., Any], count: int) -> Any:
            return function(t[0], *(x.copy() for x in (*others[:count], *wrenches)))  # copies, which it may modify

        seen = called(task.observe, 3)
        if isinstance(seen, str) or not isinstance(seen, Sequence | np.ndarray) or getattr(seen, "ndim", 1) != 1:
            raise ArgumentError(f"observe must return a list of numbers, got {quoted(seen)}")
        last = others[3] if task.last_action else []
        reward, ends = called(task.reward, 3 + actions), called(task.terminated, 3)
        return [*seen, *last, _one("reward", reward), _one("terminated", ends)]

    return look


def _one(what: str, value: Any) -> Any:
    """Return a traced number or a finite number; raises ArgumentError for anything else."""
    number = value[()] if isinstance(value, np.ndarray) and value.ndim == 0 else value
    known = isinstance(number, bool | int | float | np.bool_ | np.integer | np.floating)
    if isinstance(number, str | Sequence | np.ndarray) or number is None or (known and not np.isfinite(number)):
        raise ArgumentError(f"{what} must return one finite number, got {quoted(value)}")
    return number


def _start_of(task: Task) -> Callable[..., list[Any]]:
    """Return one function that computes q, v and p at the start of an episode."""
    robot = task.robot

    def begin(x: Any) -> list[Any]:
        q, v, p = (np.array(y, object) for y in (robot.neutral(), np.zeros(robot.nv), np.zeros(task.parameters)))
        _reset(task, x, q, v, p)
        return [*q, *v, *p]

    return begin


def _reset(task: Task, *given: Any) -> None:
    returned = task.reset(*given)
    if returned is not None:
        raise ArgumentError(
            f"reset must write the start to q, v and p and return nothing, but returned {quoted(returned)}"
        )


class OnArrays:
    """Functions of NumPy arrays with a leading axis, called without compilation."""

    def __init__(self, task: Task) -> None:
        self.task, self.size = task, -1
        q, v, p = self.begin(np.full((1, task.random), 0.5))
        a, c = np.zeros((1, 2, len(task.driven))), np.zeros((1, len(task.contact_links), WRENCH))
        self.size = self.look(np.zeros(1), q, v, p, a, c).observation.shape[1] - task.observed_actions

    def look(self, t: np.ndarray, q: np.ndarray, v: np.ndarray, p: np.ndarray, a: np.ndarray, c: np.ndarray) -> Seen:
        """Return observation, reward and termination of states (n, ...) at times t (n,); c (n, m, 6): wrenches."""
        task, n = self.task, len(t)
        t, q, v, p, a, c = (_read_only(x) for x in (t, q, v, p, a, c))
        wrenches = [c] if task.contact_links else []
        observation = _array("observe", task.observe(t, q, v, p, *wrenches)).astype(float)
        if observation.ndim != 2 or len(observation) != n or self.size not in (-1, observation.shape[1]):
            columns = "..." if self.size < 0 else self.size
            raise ArgumentError(
                f"observe returned shape {observation.shape}, but ({n}, {columns}) is needed: "
                "one row for each environment"
            )
        actions = [a[:, k] for k in range(1 + task.last_action)]
        reward = _column("reward", task.reward(t, q, v, p, *actions, *wrenches), n).astype(float)
        if task.last_action:
            observation = np.concatenate([observation, a[:, 0]], axis=1)
        return Seen(observation, reward, _ends(_column("terminated", task.terminated(t, q, v, p, *wrenches), n), q))

    def begin(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return q (n, nq), v (n, nv) and p (n, k) at the start of episodes, from random numbers (n, r)."""
        task, robot, n = self.task, self.task.robot, len(x)
        q, v, p = np.tile(robot.neutral(), (n, 1)), np.zeros((n, robot.nv)), np.zeros((n, task.parameters))
        _reset(task, x, q, v, p)
        return q, v, p


def _ends(terminated: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return whether episodes end (n,); raises NonFiniteError for NaN although q (n, nq) is finite."""
    wrong = np.flatnonzero(np.isnan(terminated) & np.isfinite(q).all(axis=1)) if np.isnan(terminated).any() else ()
    if len(wrong):
        raise NonFiniteError("terminated is nan, though the state is finite")
    return terminated != 0


def _read_only(array: np.ndarray) -> np.ndarray:
    """Return a read-only view for a user's function."""
    view = array.view()
    view.flags.writeable = False
    return view


def _array(what: str, value: Any) -> np.ndarray:
    """Return the result of a function as an array of numbers."""
    try:
        array = np.asarray(value)
    except ValueError:  # of rows of different lengths
        array = np.empty(0, object)
    if array.dtype.kind not in "biuf":
        raise ArgumentError(f"{what} must return numbers, got {quoted(value)}")
    return array


def _column(what: str, value: Any, n: int) -> np.ndarray:
    """Return one number for each of n environments; a single number is repeated."""
    array = _array(what, value)
    if array.shape not in ((), (n,)):
        raise ArgumentError(f"{what} returned shape {array.shape}, but ({n},) is needed: a number for each environment")
    return np.broadcast_to(array, (n,))
