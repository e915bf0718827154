"""Train a registered task by PPO of stable-baselines3, and print the learning curve.

python plugins/treesim-gymnasium/learn.py balance 1000000
"""

import argparse
import time

import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecMonitor, VecNormalize
from treesim_gymnasium import TreesimVectorEnv
from treesim_gymnasium.stable_baselines import StableBaselinesEnv, network_of
from treesim_gymnasium.tasks import STEPS

ENVIRONMENTS, ROLLOUT = 64, 64
RATE = 1e-3  # at the start; it falls to 0
DISCOUNT = {"balance": 0.99, "reach": 0.95, "stand": 0.97, "walk": 0.99}


class Curve(BaseCallback):
    """Callback that regularly prints steps, seconds, and the mean return and length of the last 100 episodes."""

    def __init__(self, lines: int, total: int) -> None:
        super().__init__()
        self.every, self.next, self.began = total // lines, 0, time.perf_counter()

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        if self.num_timesteps >= self.next and self.model.ep_info_buffer:
            self.next += self.every
            episodes = self.model.ep_info_buffer
            means = [float(np.mean([episode[key] for episode in episodes])) for key in ("r", "l")]
            seconds = time.perf_counter() - self.began
            print(f"{self.num_timesteps:9d} {seconds:8.0f} {means[0]:10.1f} {means[1]:8.1f}", flush=True)


def environments(task: str, count: int) -> StableBaselinesEnv:
    """Return `count` environments of a task, for stable-baselines3."""
    return StableBaselinesEnv(TreesimVectorEnv(task, count, STEPS[task], "SameStep"))


def evaluated(model: PPO, normalized: VecNormalize, task: str, count: int = 100) -> tuple[np.ndarray, np.ndarray]:
    """Return returns and lengths of the first episodes of `count` environments of another seed, by the mean action."""
    envs = TreesimVectorEnv(task, count, STEPS[task])
    observations, _ = envs.reset(seed=12345)
    returns, lengths, running = np.zeros(count), np.zeros(count, int), np.ones(count, bool)
    while running.any():
        actions, _ = model.predict(normalized.normalize_obs(observations), deterministic=True)
        observations, rewards, terminated, truncated, _ = envs.step(actions)
        returns[running] += rewards[running]
        lengths[running] += 1
        running &= ~(terminated | truncated)
    return returns, lengths


def main() -> None:
    """Train, print the curve, and the returns of 100 new episodes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("task", choices=DISCOUNT)
    parser.add_argument("steps", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", help="write the network to this .npz file, for treesim_gymnasium.network")
    given = parser.parse_args()
    torch.set_num_threads(1)
    normalized = VecNormalize(VecMonitor(environments(given.task, ENVIRONMENTS)), gamma=DISCOUNT[given.task])
    model = PPO(
        "MlpPolicy", normalized, n_steps=ROLLOUT, batch_size=512, n_epochs=10, seed=given.seed, device="cpu",
        learning_rate=lambda left: RATE * left, gamma=DISCOUNT[given.task],
    )  # fmt: skip
    print(f"{'steps':>9} {'seconds':>8} {'return':>10} {'length':>8}")
    model.learn(given.steps, callback=Curve(16, given.steps))
    normalized.training = False
    returns, lengths = evaluated(model, normalized, given.task)
    print(f"100 new episodes by the mean action: return {returns.mean():.1f} +- {returns.std():.1f}, ", end="")
    print(f"{lengths.mean():.1f} steps of at most {STEPS[given.task]}")
    if given.out:
        network_of(model, normalized).save(given.out)


if __name__ == "__main__":
    main()
