"""A task's functions on all environments at once: compiled, or as NumPy functions of arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

import treesim
from treesim.errors import ArgumentError
from treesim.types import Engine

from .task import Task


class Seen(NamedTuple):
    """What n environments show: observation (n, m), reward (n,), and whether the episode ends (n,)."""

    observation: np.ndarray
    reward: np.ndarray
    terminated: np.ndarray


class TaskFunctions(Protocol):
    """size: how many numbers an observation has."""

    size: int

    def look(self, t: np.ndarray, q: np.ndarray, v: np.ndarray, p: np.ndarray, a: np.ndarray) -> Seen:
        """Return what is seen of states (n, ...) at times t (n,)."""
        ...

    def begin(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return q (n, nq), v (n, nv) and p (n, k) of episodes that begin, from random numbers (n, r)."""
        ...


def functions_of(task: Task, engine: Engine) -> TaskFunctions:
    """Return a task's functions, compiled or not, as it says."""
    return Compiled(task, engine) if task.compiled else OnArrays(task)


class Compiled:
    """Functions that are traced and run on the lanes of vectors: what is seen by one call, starts by another.

    Raises what `treesim.BatchFunction` raises."""

    def __init__(self, task: Task, engine: Engine) -> None:
        robot = task.robot
        sizes = {"t": 1, "q": robot.nq, "v": robot.nv, "p": task.parameters, "a": len(task.driven)}
        parts = {"observe": task.observe, "terminated": task.terminated, "reward": task.reward}
        self._look = self._batch(
            _seen_of(*parts.values()), sizes, "what is seen, by observe, reward and terminated,", engine
        )
        self._begin = self._batch(_start_of(task), {"x": task.random}, "the start, by reset,", engine)
        self._ends = np.cumsum([robot.nq, robot.nv])
        self.size = self._look.count - 2

    @staticmethod
    def _batch(function: Callable[..., Any], sizes: dict[str, int], what: str, engine: Engine) -> treesim.BatchFunction:
        return treesim.BatchFunction(function, tuple(sizes.values()), what, tuple(sizes), engine)

    def look(self, t: np.ndarray, q: np.ndarray, v: np.ndarray, p: np.ndarray, a: np.ndarray) -> Seen:
        """Return what is seen of states (n, ...) at times t (n,)."""
        found = self._look(t[:, None], q, v, p, a)
        return Seen(found[:, :-2], found[:, -2].copy(), found[:, -1] != 0)

    def begin(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return q (n, nq), v (n, nv) and p (n, k) of episodes that begin, from random numbers (n, r)."""
        q, v, p = np.split(self._begin(x), self._ends, axis=1)
        return q, v, p


def _seen_of(
    observe: Callable[..., Any], terminated: Callable[..., Any], reward: Callable[..., Any]
) -> Callable[..., list[Any]]:
    """One function of what is seen: the observation, the reward, and whether the episode ends."""

    def look(t: Any, q: Any, v: Any, p: Any, a: Any) -> list[Any]:
        return [*observe(t[0], q, v, p), reward(t[0], q, v, p, a), terminated(t[0], q, v, p)]

    return look


def _start_of(task: Task) -> Callable[..., list[Any]]:
    """One function of the start of an episode: q, v and p."""
    robot = task.robot

    def begin(x: Any) -> list[Any]:
        q, v, p = (np.array(y, object) for y in (robot.neutral(), np.zeros(robot.nv), np.zeros(task.parameters)))
        task.reset(x, q, v, p)
        return [*q, *v, *p]

    return begin


class OnArrays:
    """Functions of NumPy arrays with a leading axis, called as they are."""

    def __init__(self, task: Task) -> None:
        self.task = task
        q, v, p = self.begin(np.full((1, task.random), 0.5))
        self.size = self.look(np.zeros(1), q, v, p, np.zeros((1, len(task.driven)))).observation.shape[1]

    def look(self, t: np.ndarray, q: np.ndarray, v: np.ndarray, p: np.ndarray, a: np.ndarray) -> Seen:
        """Return what is seen of states (n, ...) at times t (n,)."""
        task, n = self.task, len(t)
        observation = np.asarray(task.observe(t, q, v, p), float)
        if observation.ndim != 2 or len(observation) != n:
            raise ArgumentError(
                f"observe returned shape {observation.shape}, but ({n}, ...) is needed: one row for each environment"
            )
        reward = _column("reward", task.reward(t, q, v, p, a), n).astype(float)
        return Seen(observation, reward, _column("terminated", task.terminated(t, q, v, p), n) != 0)

    def begin(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return q (n, nq), v (n, nv) and p (n, k) of episodes that begin, from random numbers (n, r)."""
        task, robot, n = self.task, self.task.robot, len(x)
        q, v, p = np.tile(robot.neutral(), (n, 1)), np.zeros((n, robot.nv)), np.zeros((n, task.parameters))
        task.reset(x, q, v, p)
        return q, v, p


def _column(what: str, value: Any, n: int) -> np.ndarray:
    """One number for each of n environments; one for all may be given."""
    array = np.asarray(value)
    if array.shape not in ((), (n,)):
        raise ArgumentError(f"{what} returned shape {array.shape}, but ({n},) is needed: a number for each environment")
    return np.broadcast_to(array, (n,))
