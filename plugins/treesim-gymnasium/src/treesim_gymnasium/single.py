"""One environment of a task."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from numpy.typing import DTypeLike

from treesim.types import Engine

from .episodes import Episodes, copied
from .spaces import action_space, number_of, observation_space
from .task import Task
from .tasks import task_of
from .vector import key_of

FIRST = np.zeros(1, int)


class TreesimEnv(gymnasium.Env):
    """One environment: reset(seed=s) begins the episodes that environment 0 of a TreesimVectorEnv has with that seed.

    task: a Task, or the name of one that is registered. dtype: of observations. engine: as in `treesim.rollout`. A
    state that is no longer finite truncates the episode, with no reward and the observation before, and
    info["diverged"]. Time limits are a wrapper's, as `gymnasium.make` adds it. Raises what TreesimVectorEnv raises.
    Copies and pickles go on within the episode, with the same bits, and share nothing that changes with the original.
    Cost of a step: some 50 us besides the steps and the functions; many environments are stepped by TreesimVectorEnv.

    Example:
        >>> import gymnasium, treesim_gymnasium
        >>> env = gymnasium.make("treesim/Balance-v0")
        >>> observation, info = env.reset(seed=7)
        >>> observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
        >>> observation.shape, terminated
        ((8,), False)
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012

    def __init__(self, task: Task | str, dtype: DTypeLike = np.float32, engine: Engine = "auto") -> None:
        self.task = task_of(task)
        self._number = number_of(dtype)
        self.episodes = Episodes(self.task, 1, engine, 1)
        self.action_space = action_space(self.task)
        self.observation_space = observation_space(self.task, self.episodes.functions.size, self._number)
        self._observation = np.zeros(self.episodes.functions.size, self._number)
        self._seeded = False

    __copy__ = copied

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin a new episode; return what is seen, and {}."""
        super().reset(seed=seed)
        if seed is not None or not self._seeded:
            self.episodes.seed(FIRST, key_of(self.np_random_seed), 0)
            self._seeded = True
        self.episodes.begin(FIRST)
        self._observation = self.episodes.look().observation[0].astype(self._number)
        return self._observation.copy(), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Take an action (n,); return observation, reward, whether the episode is over, whether it is cut off, and
        what else there is to tell."""
        self.episodes.step(np.asarray(action)[None])
        if not self.episodes.finite[0]:
            return self._observation.copy(), 0.0, False, True, {"diverged": True}
        seen = self.episodes.look()
        self._observation = seen.observation[0].astype(self._number)
        return self._observation.copy(), float(seen.reward[0]), bool(seen.terminated[0]), False, {}
