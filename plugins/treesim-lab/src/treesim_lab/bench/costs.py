"""Formula, counted operations and time of every algorithm on one robot, and the advised one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import treesim
from treesim import plugins
from treesim.dynamics import advice as dynamics_advice
from treesim.dynamics.operational import advice as operational_advice
from treesim.errors import TreesimError
from treesim.model.tree import Tree
from treesim.system.progress import counted

from ..cost import robot as costs
from ..cost.factorization import sparse_factors
from ..cost.robot import Entry
from .robots import random_states
from .timing import Timing, interleaved


def robot_costs(robot: Tree, base: str, frames: Sequence[str] | None, repeats: int) -> dict[str, Any]:
    """Return formula, counted operations and time of every algorithm on a robot, and the advised one.

    This is the output of `treesim cost ROBOT --json`. repeats: rounds of the timing; 0 for none.
    """
    tree = robot.dof_topology
    chosen = [robot.body_names[i - 1] for i in costs.limb_tips(robot.topology)] if frames is None else list(frames)
    parts, dynamics = costs.parts(robot), costs.dynamics(robot)
    operational, space = costs.operational(robot, chosen), costs.space(robot, chosen)
    timings, failures = _timings(robot, (*parts, *dynamics, *operational, *space), chosen, repeats)
    advised = {
        "forward dynamics": dynamics_advice.advise(robot),
        "forward dynamics with the mass matrix": dynamics_advice.advise(robot, "mass_matrix"),
        "inverse operational inertia": operational_advice.advise(robot, chosen),
    }
    dynamics_name, _, operational_name = (advice.name for advice in advised.values())
    return {
        "robot": robot.name,
        "base": base,
        "n_bodies": robot.n_bodies,
        "nv": robot.nv,
        "D1": tree.D1,
        "D2": tree.D2,
        "nonzeros": int(robot.sparsity().sum()),
        "limits": costs.limits(robot),
        "frames": chosen,
        "parts": [_row(entry, timings, "") for entry in parts],
        "dynamics": [_row(entry, timings, dynamics_name) for entry in dynamics],
        "operational": [_row(entry, timings, operational_name) for entry in operational],
        "space": [_row(entry, timings, "") for entry in space],
        "advice": {purpose: {"name": advice.name, "reason": advice.reason} for purpose, advice in advised.items()},
        "notes": [
            *failures,
            *costs.differences(robot, [*parts, *dynamics]),
            *costs.assumptions(robot.topology),
            *costs.followed(robot),
        ],
    }


def _row(entry: Entry, timings: dict[tuple[str, str], Timing], advised: str) -> dict[str, Any]:
    timing = timings.get((entry.kind, entry.name))
    seconds: dict[str, float | None] = {"seconds": None, "seconds_median": None}
    if timing is not None:
        seconds = {"seconds": 1e-6 * timing.min_us, "seconds_median": 1e-6 * timing.median_us}
    return {**entry.as_dict(), **seconds, "advised": entry.name == advised}


def _timings(
    robot: Tree, entries: Sequence[Entry], frames: Sequence[str], repeats: int
) -> tuple[dict[tuple[str, str], Timing], list[str]]:
    """Return times by kind and name, and messages on calls that failed."""
    if repeats == 0:
        return {}, []
    calls, failures = {}, []
    of = _calls(robot, entries, frames)
    for key in counted(list(of), lambda key: f"first call: {key[1]}"):
        call = of[key]
        try:
            call()
        except Exception as error:
            if isinstance(error, TreesimError):
                failures.append(f"{key[1]!r} is not timed: {error}")
            elif plugins.is_built_in(key[1]):
                raise
            else:  # another package's may raise anything
                failures.append(f"{key[1]!r} is not timed: {type(error).__name__}: {error}")
        else:
            calls[" ".join(key)] = (key, call)
    timed = interleaved({label: call for label, (_, call) in calls.items()}, repeats)
    return {key: timed[label] for label, (key, _) in calls.items()}, failures


def _calls(robot: Tree, entries: Sequence[Entry], frames: Sequence[str]) -> dict[tuple[str, str], Callable[[], object]]:
    if robot.nv == 0:
        return {}
    q, v, _, tau = random_states(robot, 0)
    calls: dict[tuple[str, str], Callable[[], object]] = {
        ("part", "mass_matrix"): lambda: treesim.mass_matrix(robot, q),
        ("part", "bias_forces"): lambda: treesim.bias_forces(robot, q, v),
    }
    for name in ("ltdl", "ltl"):
        factors = sparse_factors(robot, q, name)
        calls["part", name] = factors.factorize
        calls["part", f"{name} solve"] = factors.solve
    for entry in entries:
        if entry.kind == "dynamics":
            call = partial(treesim.forward_dynamics, robot, q, v, tau, backend=entry.name)
            calls[entry.kind, entry.name] = call
        elif entry.kind == "operational":
            call = partial(treesim.inverse_operational_inertia, robot, q, frames, method=entry.name)
            calls[entry.kind, entry.name] = call
        elif entry.name == "operational_space":
            calls[entry.kind, entry.name] = partial(treesim.operational_space, robot, q, v, frames)
    return calls
