"""Comparison of the advised algorithms with the fastest ones, measured on many trees."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple

import treesim
from treesim.dynamics.advice import advise
from treesim.dynamics.operational.advice import advise as advise_operational
from treesim.errors import TreesimError
from treesim.model import generators as make
from treesim.model.tree import Tree
from treesim.system.progress import counted
from treesim.types import Base, PluginKind

from ..cost.robot import AUTO, limb_tips
from .robots import random_states
from .timing import interleaved

ROBOTS: tuple[tuple[str, Base], ...] = (
    ("ur5", "fixed"),
    ("anymal", "floating"),
    ("simple_humanoid", "floating"),
    ("talos_full_v2", "floating"),
)
MOST_FRAMES = (1, 4)  # of the tasks that Λ⁻¹ is measured on


def advice_rows(repeats: int) -> list[dict[str, Any]]:
    """Return the rows of `compared` for generated trees and installed robots."""
    return [row for label, robot in counted(list(_robots()), itemgetter(0)) for row in compared(label, robot, repeats)]


def _robots() -> Iterator[tuple[str, Tree]]:
    generated = [make.chain(n) for n in (2, 7, 20, 100, 500)]
    generated += [make.balanced_binary_tree(k) for k in (3, 5, 8)]
    generated += [make.chain_with_side_branches(k) for k in (5, 50)]
    generated += [make.square_grid(k) for k in (4, 10)]
    generated += [make.featherstone_2005_humanoid(), make.asimo()]
    for robot in generated:
        yield robot.name, robot
    for name, base in ROBOTS:
        try:
            yield f"{name}, {base}", treesim.load(name, base=base, mimic="free")
        except TreesimError:  # not installed
            continue


class _Task(NamedTuple):
    """Task of several implementations of one kind; `call` takes an implementation's name as argument `keyword`."""

    label: str
    kind: PluginKind
    call: Callable[..., object]
    keyword: str
    advised: str


def compared(label: str, robot: Tree, repeats: int) -> Iterator[dict[str, Any]]:
    """Yield the advised and the fastest implementation, for forward dynamics and for each number of frames."""
    facts = {"robot": label, "nv": robot.nv, "depth": int(robot.topology.dof_depth.max())}
    for task in _tasks(robot):
        timed = _times(task, repeats)
        fastest = min(timed, key=lambda name: timed[name])
        yield {
            **facts,
            "task": task.label,
            "advised": task.advised,
            "advised_us": timed[task.advised],
            "fastest": fastest,
            "fastest_us": timed[fastest],
            "times_us": timed,
        }


def _tasks(robot: Tree) -> Iterator[_Task]:
    q, v, _, tau = random_states(robot, 0)
    forward = partial(treesim.forward_dynamics, robot, q, v, tau)
    yield _Task("forward dynamics", "dynamics", forward, "backend", advise(robot).name)
    for most in MOST_FRAMES:
        frames = tuple(robot.body_names[i - 1] for i in limb_tips(robot.topology, most))
        if len(frames) == most:
            inverse = partial(treesim.inverse_operational_inertia, robot, q, frames)
            advised = advise_operational(robot, frames).name
            yield _Task(f"Λ⁻¹, m = {6 * most}", "operational", inverse, "method", advised)


def _times(task: _Task, repeats: int) -> dict[str, float]:
    """Return the times [us] of all implementations that support the robot, by name."""
    calls = {}
    for name in treesim.available(task.kind):
        call = partial(task.call, **{task.keyword: name})
        try:
            if name != AUTO:
                call()
                calls[name] = call
        except TreesimError:  # unusable methods cannot be advised
            continue
    return {name: timing.min_us for name, timing in interleaved(calls, repeats).items()}
