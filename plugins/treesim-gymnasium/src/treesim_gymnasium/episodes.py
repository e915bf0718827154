"""Episodes of many environments of one task, stepped together; used by all environments of this package."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

import treesim
from treesim.errors import ArgumentError, NonFiniteError, quoted
from treesim.simulation.sensor_draws import Draws
from treesim.types import Engine

from .functions import WRENCH, Seen, functions_of
from .noise import PARAMETERS, ObservationNoise, RandomParameters
from .perception import Perception
from .philox import uniform
from .task import Task

EPISODES = np.uint64(1 << 31)  # whose sensors have random numbers of their own
Copied = TypeVar("Copied")


class Episodes:
    """Episodes of B environments: states, elapsed steps, and keys of random numbers.

    An episode depends on the task, its key (seed, stream), its number, and the actions only: neither on the
    number of environments nor on others' actions. elapsed (B,): steps taken in the episode.
    """

    def __init__(
        self,
        task: Task,
        count: int,
        engine: Engine,
        threads: int | None,
        model_parameters: Mapping[str, Any] | None = None,
    ) -> None:
        self.task, self.count = task, count
        self.functions, self.perception = functions_of(task, engine), Perception(task, engine, model_parameters)
        self._noise = ObservationNoise(task.noise, task.noise_kind, self.functions.size)
        self._random = RandomParameters(task.randomize)
        parameters = {**(model_parameters or {}), **self._random.at(np.full((count, self._random.count), 0.5))}
        if model_parameters is not None and not task.randomize.keys().isdisjoint(model_parameters):
            both = quoted(min(task.randomize.keys() & model_parameters.keys()))
            raise ArgumentError(f"the task draws {both} for each episode: leave it out of model_parameters")
        kp, kd = task.gains
        self.stepper = treesim.BatchStepper(
            self.perception.world, count, task.dt, steps=task.steps, kp=kp, kd=kd, integrator=task.integrator,
            backend=task.backend, substeps=task.substeps, contact_solver=task.contact_solver, engine=engine,
            threads=threads, model_parameters=parameters or None, contact_wrenches=bool(task.contact_links),
        )  # fmt: skip
        self._driven, (low, high) = task.driven, task.range
        self._middle, self._half = (low + high) / 2, (high - low) / 2
        self._control = np.zeros((count, task.robot.nv))
        self._touched = task.touched
        if task.pushes is not None:
            task.robot.frame(task.pushes.link)  # raises UnknownNameError
        self._p = np.zeros((count, task.parameters))
        self._a = np.zeros((count, 2, len(self._driven)))  # last action, and the one before
        self.elapsed = np.zeros(count, int)
        self._seeds, self._streams, self._episodes = np.zeros((3, count), np.uint64)

    @property
    def sizes(self) -> tuple[int, int]:
        """Numbers of observations that the task's function returns, and that follow them."""
        return self.functions.size, self.task.observed_actions + self.perception.size

    @property
    def finite(self) -> np.ndarray:
        """Mask (B,) of finite states."""
        return self.stepper.finite

    def seed(self, rows: np.ndarray, seeds: ArrayLike, streams: ArrayLike) -> None:
        """Set the keys of environments' random numbers, by index; their next episode is number 0."""
        self._seeds[rows], self._streams[rows], self._episodes[rows] = seeds, streams, 0

    def begin(self, rows: np.ndarray) -> None:
        """Begin the next episode of environments, by index."""
        key = self._seeds[rows], self._streams[rows], self._episodes[rows]
        drawn = None
        if self._random.count:  # one call for all random numbers
            count = max(self.task.random, self._random.count)
            twice = (np.concatenate([part, part]) for part in key)
            both = uniform(*twice, count, np.repeat(np.array([0, PARAMETERS], np.uint64), len(key[0])))
            x, shares = both[: len(key[0]), : self.task.random], both[len(key[0]) :, : self._random.count]
            drawn = self._random.at(shares)
        else:
            x = uniform(*key, self.task.random)
        q, v, self._p[rows] = self.functions.begin(x)
        self.stepper.put(rows, q, v, (*key[:2], key[2] % EPISODES), model_parameters=drawn)
        self._episodes[rows] += np.uint64(1)
        self.elapsed[rows], self._a[rows] = 0, 0.0

    def step(self, actions: np.ndarray) -> None:
        """Step all environments under actions (B, n), which are clipped to [-1, 1].

        Raises ArgumentError for another shape, or a number that is not finite.
        """
        if actions.shape != self._a[:, 0].shape or not np.isfinite(actions).all():
            raise ArgumentError(f"actions must be {self._a[:, 0].shape} finite numbers, got {_actions_text(actions)}")
        self._a[:, 1] = self._a[:, 0]
        np.clip(actions, -1.0, 1.0, out=self._a[:, 0])
        self._control[:, self._driven] = self._middle + self._half * self._a[:, 0]
        self.stepper.step(self._control, self._forces())
        self.elapsed += 1

    def _forces(self) -> dict[tuple[str, str], np.ndarray] | None:
        """Return the random pushes in the next steps; also where none acts, so that all steps take the same code."""
        task, pushes = self.task, self.task.pushes
        if pushes is None:
            return None
        t = task.dt * (task.steps * self.elapsed[:, None] + np.arange(task.steps))
        wrenches = np.zeros((self.count, task.steps, WRENCH))
        wrenches[..., :3] = pushes.forces(self._seeds, self._streams, self._episodes, t)
        return {(pushes.link, "world"): wrenches}

    def look(self, rows: slice | np.ndarray = slice(None)) -> Seen:
        """Return observation, reward and termination of environments.

        Raises NonFiniteError if one is not finite although the state is.
        """
        t = self.task.dt * self.task.steps * self.elapsed[rows]
        stepper, wrench = self.stepper, self.stepper.contact_wrench
        c = np.empty((len(t), 0, WRENCH)) if wrench is None else np.asarray(wrench)[rows][:, self._touched]
        seen = self.functions.look(t, stepper.q[rows], stepper.v[rows], self._p[rows], self._a[rows], c)
        draws = Draws(
            self._seeds[rows], self._streams[rows], (self._episodes[rows] % EPISODES).astype(int), self.elapsed[rows]
        )
        self._noise.add(seen.observation, draws)
        if self.perception.size:
            more = self.perception.look(stepper, rows)
            seen = seen._replace(observation=np.concatenate([seen.observation, more], axis=1))
        for what, values in (("observe", seen.observation.T), ("reward", seen.reward)):
            if not np.isfinite(values).all():
                self._check_finite(what, values, np.arange(self.count)[rows])
        return seen

    def _check_finite(self, what: str, values: np.ndarray, rows: np.ndarray) -> None:
        """Raise NonFiniteError if a task's function returned a number that is not finite for a finite state."""
        wrong = np.flatnonzero(~np.isfinite(np.atleast_2d(values)).all(axis=0) & self.finite[rows])
        if wrong.size:
            value = quoted(np.atleast_2d(values)[:, wrong[0]].tolist())
            raise NonFiniteError(f"{what} of environment {rows[wrong[0]]} is {value}, though its state is finite")


def copied(environment: Copied) -> Copied:
    """Return a copy of an environment with its own states, which a shallow copy would share."""
    return copy.deepcopy(environment)


def _actions_text(actions: np.ndarray) -> str:
    wrong = np.argwhere(~np.isfinite(actions))
    place = f", with {actions[tuple(wrong[0])]} at {tuple(map(int, wrong[0]))}" if len(wrong) else ""
    return f"shape {actions.shape}{place}"
