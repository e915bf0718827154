"""Single environment of a task."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from numpy.typing import DTypeLike

from treesim.types import Engine

from .episodes import Episodes, copied
from .spaces import action_space, number_of, observation_space, refuse_rendering
from .task import Task
from .tasks import task_of
from .vector import key_of

FIRST = np.zeros(1, int)


class TreesimEnv(gymnasium.Env):
    """Single environment; reset(seed=s) begins the episodes of environment 0 of a TreesimVectorEnv with that seed.

    A state that is not finite truncates the episode, with reward 0, the observation before, and
    info["diverged"]. Time limits are applied by a wrapper, which `gymnasium.make` adds. Copies and pickles
    continue within the episode, with the same bits, and share no mutable data with the original. Cost of a
    step: about 50 us plus the steps and the functions; use TreesimVectorEnv for many environments.

    Parameters
    ----------
    task : Task or str
        A task, or the name of a registered one.
    dtype : dtype
        Type of observations: float32 or float64.
    engine : str
        As in `treesim.rollout`.

    Raises
    ------
    TreesimError
        Whatever TreesimVectorEnv raises.

    Examples
    --------
    >>> import gymnasium, treesim_gymnasium
    >>> env = gymnasium.make("treesim/Balance-v0")
    >>> observation, info = env.reset(seed=7)
    >>> observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
    >>> observation.shape, terminated
    ((8,), False)
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012

    def __init__(
        self,
        task: Task | str,
        dtype: DTypeLike = np.float32,
        engine: Engine = "auto",
        render_mode: None = None,
    ) -> None:
        refuse_rendering(render_mode)
        self.task = task_of(task)
        self._number = number_of(dtype)
        self.episodes = Episodes(self.task, 1, engine, 1)
        self.action_space = action_space(self.task)
        self.observation_space = observation_space(self.task, self.episodes.sizes, self._number)
        self._observation = np.zeros(sum(self.episodes.sizes), self._number)
        self._seeded = False

    __copy__ = copied

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin a new episode; return its observation and {}."""
        super().reset(seed=seed)
        if seed is not None or not self._seeded:
            self.episodes.seed(FIRST, key_of(self.np_random_seed), 0)
            self._seeded = True
        self.episodes.begin(FIRST)
        self._observation = self.episodes.look().observation[0].astype(self._number)
        return self._observation.copy(), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Step under an action (n,); return observation, reward, terminated, truncated and info."""
        self.episodes.step(np.asarray(action)[None])
        if not self.episodes.finite[0]:
            return self._observation.copy(), 0.0, False, True, {"diverged": True}
        seen = self.episodes.look()
        self._observation = seen.observation[0].astype(self._number)
        return self._observation.copy(), float(seen.reward[0]), bool(seen.terminated[0]), False, {}
