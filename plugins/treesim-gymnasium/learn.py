"""Train a registered task by PPO of stable-baselines3, and print the learning curve.

python plugins/treesim-gymnasium/learn.py balance 1000000
python plugins/treesim-gymnasium/learn.py velocity --out go2_velocity.onnx
"""

import argparse
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecMonitor, VecNormalize
from treesim_gymnasium import Task, TreesimVectorEnv, velocity
from treesim_gymnasium.stable_baselines import StableBaselinesEnv, network_of
from treesim_gymnasium.tasks import STEPS

RATE = 1e-3  # at the start; it falls to 0
EASY = 5 / 8  # part of the steps with an easier task


class Training(NamedTuple):
    """Settings of PPO for a task.

    steps: default number, of all environments together. rollout: steps of each environment between two updates, each of
    which takes `epochs` times all samples, in batches. deviation: logarithm of that of actions at the start.
    easier: task of the first part of the steps.
    """

    discount: float
    steps: int = 1_000_000
    environments: int = 64
    rollout: int = 64
    batch: int = 512
    epochs: int = 10
    units: tuple[int, ...] = (64, 64)
    activation: type[torch.nn.Module] = torch.nn.Tanh
    deviation: float = 0.0
    easier: Callable[[], Task] | None = None


TRAININGS = {
    "balance": Training(0.99),
    "reach": Training(0.95),
    "stand": Training(0.97),
    "walk": Training(0.99, 4_000_000),
    "velocity": Training(
        0.99, 8_000_000, 256, 24, 1536, 4, (128, 128), torch.nn.ELU, -0.7, partial(velocity, delay=0.0)
    ),
}


class Curve(BaseCallback):
    """Callback that regularly prints steps, seconds, and the mean return and length of the last 100 episodes.

    out: file to which the network is written each time, None for none.
    """

    def __init__(self, lines: int, total: int, out: Path | None) -> None:
        super().__init__()
        self.every, self.next, self.began, self.out = total // lines, 0, time.perf_counter(), out

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        if self.num_timesteps >= self.next and self.model.ep_info_buffer:
            self.next += self.every
            episodes = self.model.ep_info_buffer
            means = [float(np.mean([episode[key] for episode in episodes])) for key in ("r", "l")]
            seconds = time.perf_counter() - self.began
            print(f"{self.num_timesteps:9d} {seconds:8.0f} {means[0]:10.1f} {means[1]:8.1f}", flush=True)
            write(self.model, self.out)


class Harder(BaseCallback):
    """Callback that replaces the environments by those of another task after a number of steps."""

    def __init__(self, adapted: StableBaselinesEnv, task: str, after: int, seed: int) -> None:
        super().__init__()
        self.adapted, self.task, self.after, self.own_seed = adapted, task, after, seed

    def _on_step(self) -> bool:
        return True

    def _on_rollout_start(self) -> None:
        if not self.task or self.num_timesteps < self.after:
            return
        self.adapted.environments = environments(self.task, self.adapted.num_envs, STEPS[self.task]).environments
        self.task = ""
        self.model.env.seed(self.own_seed)
        self.model._last_obs = self.model.env.reset()
        self.model._last_episode_starts = np.ones(self.adapted.num_envs, bool)


def write(model: PPO, out: Path | None) -> None:
    """Write the network of the mean action to a file .onnx or .npz, if there is one."""
    if out is not None:
        network = network_of(model, model.get_vec_normalize_env())
        if out.suffix == ".onnx":
            out.write_bytes(network.to_onnx())
        else:
            network.save(out)


def environments(task: Task | str, count: int, steps: int) -> StableBaselinesEnv:
    """Return `count` environments of a task with at most so many steps, for stable-baselines3."""
    return StableBaselinesEnv(TreesimVectorEnv(task, count, steps, "SameStep"))


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
    parser.add_argument("task", choices=TRAININGS)
    parser.add_argument("steps", type=int, nargs="?")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--out", type=Path, help="write the network to this file: .npz for treesim_gymnasium.network, or .onnx"
    )
    given = parser.parse_args()
    torch.set_num_threads(1)
    how = TRAININGS[given.task]
    steps = how.steps if given.steps is None else given.steps
    first = given.task if how.easier is None else how.easier()
    adapted = environments(first, how.environments, STEPS[given.task])
    normalized = VecNormalize(VecMonitor(adapted), gamma=how.discount)
    model = PPO(
        "MlpPolicy", normalized, n_steps=how.rollout, batch_size=how.batch, n_epochs=how.epochs, seed=given.seed,
        device="cpu", learning_rate=lambda left: RATE * left, gamma=how.discount,
        policy_kwargs={
            "net_arch": list(how.units), "activation_fn": how.activation, "log_std_init": how.deviation
        },
    )  # fmt: skip
    print(f"{'steps':>9} {'seconds':>8} {'return':>10} {'length':>8}")
    callbacks: list[BaseCallback] = [Curve(16, steps, given.out)]
    if how.easier is not None:
        callbacks.append(Harder(adapted, given.task, round(EASY * steps), given.seed))
    model.learn(steps, callback=callbacks)
    normalized.training = False
    returns, lengths = evaluated(model, normalized, given.task)
    print(f"100 new episodes by the mean action: return {returns.mean():.1f} +- {returns.std():.1f}, ", end="")
    print(f"{lengths.mean():.1f} steps of at most {STEPS[given.task]}")
    write(model, given.out)


if __name__ == "__main__":
    main()
