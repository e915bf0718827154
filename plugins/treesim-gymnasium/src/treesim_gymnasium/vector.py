"""Vector environment: many environments of a task, stepped by one call in compiled code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import DTypeLike

from treesim.errors import ArgumentError, quoted
from treesim.types import Engine

from .episodes import Episodes, copied
from .spaces import action_space, number_of, observation_space, refuse_rendering
from .task import Task
from .tasks import task_of

MASK = "reset_mask"


class TreesimVectorEnv(VectorEnv):
    """Vector environment of `num_envs` environments of a task, each with its own episodes.

    Episodes do not depend on num_envs. reset(seed=s) gives environment i the key (s, i), which determines the
    random numbers of its episodes by their number. A list of seeds gives it (seeds[i], 0), the key of a single
    environment reset with that seed. Without a seed, environments continue with their next episodes.

    An environment whose state is not finite is truncated, with reward 0, the observation before, and
    infos["diverged"]. Copies and pickles continue within the episodes, as those of TreesimEnv. There is no
    rendering.

    Parameters
    ----------
    task : Task or str
        A task, or the name of a registered one ("balance", "reach").
    num_envs : int
        Number of environments.
    max_episode_steps : int, optional
        Steps after which an episode is truncated; None for no limit.
    autoreset_mode : AutoresetMode or str
        NEXT_STEP: an ended episode is followed by a new one at the next step, whose action is ignored.
        SAME_STEP: at once; the last observation is `infos["final_obs"]`. DISABLED: the caller resets, with
        options={"reset_mask": (num_envs,)}.
    dtype : dtype
        Type of observations, float32 or float64; states are always float64.
    engine : str
        As in `treesim.rollout`.
    threads : int, optional
        As in `treesim.rollout`; results do not depend on it.
    model_parameters : mapping, optional
        Model parameters of each environment for all its episodes, as in `treesim.rollout`, for example
        {"mass": (num_envs, n_bodies)}.

    Raises
    ------
    ArgumentError
        For an invalid argument.
    TreesimError
        Whatever `treesim.BatchStepper` and `treesim.BatchFunction` raise.

    Examples
    --------
    >>> import treesim_gymnasium
    >>> envs = treesim_gymnasium.TreesimVectorEnv("balance", num_envs=1024, max_episode_steps=500)
    >>> observations, infos = envs.reset(seed=7)
    >>> observations, rewards, terminations, truncations, infos = envs.step(envs.action_space.sample())
    >>> observations.shape, rewards.shape
    ((1024, 8), (1024,))
    """

    def __init__(
        self,
        task: Task | str,
        num_envs: int = 1,
        max_episode_steps: int | None = None,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        dtype: DTypeLike = np.float32,
        engine: Engine = "auto",
        threads: int | None = None,
        model_parameters: Mapping[str, Any] | None = None,
        render_mode: None = None,
    ) -> None:
        refuse_rendering(render_mode)
        self.task, self.num_envs = task_of(task), num_envs
        self.max_episode_steps = max_episode_steps
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {"render_modes": [], "autoreset_mode": self.autoreset_mode}
        self._number = number_of(dtype)
        self.episodes = Episodes(self.task, num_envs, engine, threads, model_parameters)
        self.single_action_space = action_space(self.task)
        self.single_observation_space = observation_space(self.task, self.episodes.sizes, self._number)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self._observations = np.zeros((num_envs, sum(self.episodes.sizes)), self._number)
        self._ended = np.zeros(num_envs, bool)
        self._seeded = False

    __copy__ = copied

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin new episodes of all environments, or of those in options["reset_mask"] (num_envs,).

        Returns the observations of all environments, and {}.
        """
        rows = self._to_reset(options)
        super().reset(seed=seed if isinstance(seed, int) else None)
        self._seed(rows, seed)
        self.episodes.begin(rows)
        self._ended[rows] = False
        self._observations[rows] = self.episodes.look(rows).observation
        return self._observations.copy(), {}

    def _to_reset(self, options: dict[str, Any] | None) -> np.ndarray:
        if not options or MASK not in options:
            return np.arange(self.num_envs)
        mask = np.asarray(options[MASK])
        if mask.dtype != bool or mask.shape != (self.num_envs,) or not mask.any():
            raise ArgumentError(f"{MASK} must be ({self.num_envs},) booleans, one of them true, got {quoted(mask)}")
        return np.flatnonzero(mask)

    def _seed(self, rows: np.ndarray, seed: int | Sequence[int | None] | None) -> None:
        """Set the keys of environments, if seeds are given or there are no keys yet."""
        if seed is None and not self._seeded:
            seed = self.np_random_seed
        if isinstance(seed, (int, np.integer)):
            self.episodes.seed(rows, key_of(seed), rows)
        elif seed is not None:
            if len(seed) != self.num_envs:
                raise ArgumentError(f"{len(seed)} seeds are given for {self.num_envs} environments")
            for row in rows:
                if seed[row] is not None:
                    self.episodes.seed(row, key_of(seed[row]), 0)
        self._seeded = True

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Step under actions (num_envs, n); return observations, rewards, terminations, truncations and infos.

        Cost: about 30 us plus the steps and the functions.
        """
        if self.autoreset_mode is AutoresetMode.DISABLED and self._ended.any():
            raise ArgumentError(f"episodes of environments {np.flatnonzero(self._ended)} have ended: reset them first")
        episodes, ended = self.episodes, self._ended
        episodes.step(np.asarray(actions))
        again = np.flatnonzero(ended) if self.autoreset_mode is AutoresetMode.NEXT_STEP else ended[:0].nonzero()[0]
        if again.size:
            episodes.begin(again)
        observed, rewards, terminations = episodes.look()
        diverged = ~episodes.finite
        truncations = diverged.copy()
        if self.max_episode_steps is not None:
            truncations |= episodes.elapsed >= self.max_episode_steps
        rewards[again], terminations[again] = 0.0, False
        observations = observed.astype(self._number)
        infos: dict[str, Any] = {}
        if diverged.any():
            observations[diverged], rewards[diverged], terminations[diverged] = self._observations[diverged], 0.0, False
            infos |= {"diverged": diverged, "_diverged": diverged.copy()}
        self._ended = terminations | truncations
        if self.autoreset_mode is AutoresetMode.SAME_STEP and self._ended.any():
            infos = self._begin_at_once(observations, infos)
        self._observations = observations
        return observations.copy(), rewards, terminations, truncations, infos

    def _begin_at_once(self, observations: np.ndarray, infos: dict[str, Any]) -> dict[str, Any]:
        """Begin the next episodes after ended ones; return the infos, with the last observations and infos as final.

        Overwrites the observations of these environments.
        """
        rows, mask = np.flatnonzero(self._ended), self._ended.copy()
        final = np.full(self.num_envs, None, dtype=object)
        for row in rows:
            final[row] = observations[row].copy()
        self.episodes.begin(rows)
        observations[rows] = self.episodes.look(rows).observation
        return {"final_obs": final, "_final_obs": mask, "final_info": infos, "_final_info": mask.copy()}


def key_of(seed: int) -> np.uint64:
    """Return a seed as a word of a key: its lower 64 bits."""
    return np.uint64(int(seed) % (1 << 64))
