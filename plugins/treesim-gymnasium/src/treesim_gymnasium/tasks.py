"""Tasks that are registered with Gymnasium."""

from __future__ import annotations

from collections.abc import Callable

import gymnasium

from treesim.errors import ArgumentError
from treesim.validation.values import known_name

from .balance import balance
from .quadruped import stand, walk
from .reach import reach
from .task import Task
from .velocity import velocity

TASKS: dict[str, Callable[[], Task]] = {
    "balance": balance,
    "reach": reach,
    "stand": stand,
    "walk": walk,
    "velocity": velocity,
}
STEPS = {"balance": 1000, "reach": 100, "stand": 200, "walk": 500, "velocity": 500}  # time limit of an episode
IDS = {"velocity": "Go2Velocity"}  # names in Gymnasium, if they are others


def task_of(task: Task | str) -> Task:
    """Return the task of a name, or a task unchanged; raises UnknownNameError, ArgumentError for anything else."""
    if isinstance(task, Task):
        return task
    if not isinstance(task, str):
        raise ArgumentError(f"task must be a Task, or the name of one, got {type(task).__name__}")
    return TASKS[known_name("task", task, TASKS)]()


def register() -> None:
    """Register the tasks with Gymnasium as "treesim/Balance-v0" and so on, once."""
    for name, steps in STEPS.items():
        environment = f"treesim/{IDS.get(name, name.capitalize())}-v0"
        if environment not in gymnasium.registry:
            gymnasium.register(
                environment,
                "treesim_gymnasium:TreesimEnv",
                vector_entry_point="treesim_gymnasium:TreesimVectorEnv",
                max_episode_steps=steps,
                kwargs={"task": name},
            )
