"""Observation and action spaces of a task, for one environment."""

from __future__ import annotations

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import DTypeLike

from treesim.errors import ArgumentError, quoted

from .task import Task


def number_of(dtype: DTypeLike) -> type[np.floating]:
    """Return np.float32 or np.float64; raises ArgumentError for any other."""
    for number in (np.float32, np.float64):
        if np.dtype(dtype) == number:
            return number
    raise ArgumentError(f"dtype must be float32 or float64, got {dtype!r}")


def action_space(task: Task) -> Box:
    """Return the space of actions, [-1, 1] for each actuated joint."""
    return Box(-1.0, 1.0, (len(task.driven),), np.float32)


def observation_space(task: Task, sizes: tuple[int, int], number: type[np.floating]) -> Box:
    """Return the space of observations, within the task's bounds.

    sizes: of what the task's function returns, and of what follows, which needs no bounds. Raises ArgumentError if the
    bounds have another length.
    """
    (own, more), size = sizes, sum(sizes)
    bounds = []
    for label in ("observation_low", "observation_high"):
        try:
            given = np.asarray(getattr(task, label), number)
        except (TypeError, ValueError):
            raise ArgumentError(f"{label} must be numbers, got {quoted(getattr(task, label))}") from None
        if np.isnan(given).any():
            raise ArgumentError(f"{label} must be numbers or infinite, got {quoted(getattr(task, label))}")
        if given.shape == (own,):
            given = np.append(given, np.full(more, -np.inf if label == "observation_low" else np.inf, number))
        if given.shape not in ((), (size,)):
            raise ArgumentError(f"{label} has shape {given.shape}, but {size} numbers are observed")
        bounds.append(np.broadcast_to(given, (size,)))
    if (bounds[0] > bounds[1]).any():
        raise ArgumentError("observation_low must not be above observation_high")
    return Box(*bounds, (size,), number)


def refuse_rendering(render_mode: object) -> None:
    """Raise ArgumentError for a render mode other than None: environments do not render."""
    if render_mode is not None:
        raise ArgumentError(
            f"render_mode must be None, got {quoted(render_mode)}: environments draw nothing; `treesim.viewer` shows "
            "their robot, `env.unwrapped.task.robot`, in states `env.unwrapped.episodes.stepper.q`"
        )
