"""Vector environments for stable-baselines3, which has an interface of its own for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from stable_baselines3.common.vec_env import VecEnv

from treesim.errors import ArgumentError

from .network import Network, checked
from .vector import TreesimVectorEnv


def network_of(model: Any, normalized: Any = None) -> Network:
    """Return the mean action of a trained PPO or A2C model with an MlpPolicy, and tanh or ELU, as a network.

    normalized: VecNormalize whose statistics it was trained with, None for none. Raises ArgumentError for policies of
    other kinds.
    """
    actor = getattr(model.policy.mlp_extractor, "policy_net", None)
    if actor is None or not hasattr(model.policy.action_net, "weight"):
        raise ArgumentError(f"{type(model.policy).__name__} is no MlpPolicy with continuous actions")
    kinds = [type(each).__name__ for each in actor]
    activation = kinds[-1] if kinds else "Tanh"
    if activation not in ("Tanh", "ELU") or kinds != ["Linear", activation] * (len(kinds) // 2):
        raise ArgumentError(f"the network must be linear layers with tanh or ELU after each, not {', '.join(kinds)}")
    layers = [
        (each.weight.detach().double().cpu().numpy(), each.bias.detach().double().cpu().numpy())
        for each in (*(each for each in actor if hasattr(each, "weight")), model.policy.action_net)
    ]
    count = layers[0][0].shape[1]
    mean, scale = np.zeros(count), np.ones(count)
    if normalized is not None:
        mean, scale = normalized.obs_rms.mean, np.sqrt(normalized.obs_rms.var + normalized.epsilon)
    return checked(Network(layers, np.asarray(mean, float), np.asarray(scale, float), activation.lower()))


class StableBaselinesEnv(VecEnv):
    """Adapter of a TreesimVectorEnv with autoreset mode SAME_STEP to stable-baselines3.

    Raises ArgumentError for another mode.

    Examples
    --------
    >>> from treesim_gymnasium import TreesimVectorEnv
    >>> from treesim_gymnasium.stable_baselines import StableBaselinesEnv
    >>> env = StableBaselinesEnv(TreesimVectorEnv("reach", 64, 100, "SameStep"))
    >>> env.reset().shape
    (64, 15)
    """

    def __init__(self, environments: TreesimVectorEnv) -> None:
        if environments.autoreset_mode is not AutoresetMode.SAME_STEP:
            raise ArgumentError(f'autoreset_mode must be "SameStep", got {environments.autoreset_mode.value!r}')
        self.environments = environments
        self.render_mode = None
        spaces = environments.single_observation_space, environments.single_action_space
        super().__init__(environments.num_envs, *spaces)
        self._actions = np.zeros(environments.action_space.shape or ())

    def reset(self) -> np.ndarray:
        """Begin new episodes of all environments, with the seeds set before; return their observations."""
        given = any(seed is not None for seed in self._seeds)
        observations, _ = self.environments.reset(seed=self._seeds if given else None)
        self._reset_seeds()
        return observations

    def step_async(self, actions: np.ndarray) -> None:
        """Store the actions for `step_wait`."""
        self._actions = actions

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Step; return observations, rewards, whether episodes have ended, and an info dict for each."""
        observations, rewards, terminated, truncated, solver_info = self.environments.step(self._actions)
        infos: list[dict[str, Any]] = [{"TimeLimit.truncated": False} for _ in range(self.num_envs)]
        ended = terminated | truncated
        for k in np.flatnonzero(ended):
            cut_off = bool(truncated[k] and not terminated[k])
            infos[k] = {"terminal_observation": solver_info["final_obs"][k], "TimeLimit.truncated": cut_off}
        return observations, rewards, ended, infos

    def close(self) -> None:
        """Close the environments."""
        self.environments.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return a shared attribute of the environments, once for each."""
        return [getattr(self.environments, attr_name)] * self._count(indices)

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Set an attribute of all environments."""
        setattr(self.environments, attr_name, value)

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        """Call a method of all environments at once; return its result once for each."""
        return [getattr(self.environments, method_name)(*args, **kwargs)] * self._count(indices)

    def env_is_wrapped(self, wrapper_class: type, indices: Any = None) -> list[bool]:
        """Return False for each environment: none has a wrapper."""
        return [False] * self._count(indices)

    def _count(self, indices: int | Sequence[int] | None) -> int:
        return len(list(self._get_indices(indices)))
