"""Benchmark cases of the operational space: Λ^-1 and the full operational space."""

from __future__ import annotations

from collections.abc import Sequence

import treesim
from treesim.compare.cases import OURS, BenchmarkCase, Call, States, inverse_inertia, operational_space
from treesim.compare.engine_model import EngineModel
from treesim.model.topology import Topology
from treesim.model.tree import Tree

from .engine_choice import GENERIC, engine_of_bound

COUNTS = (1, 2, 4)  # frames of six rows


def spread_leaves(topology: Topology, count: int) -> list[int]:
    """Return up to `count` leaf bodies that are far apart.

    The deepest is first; each further one shares the fewest degrees of freedom with those chosen. Ties are
    resolved by depth, then by number.
    """
    leaves = [i for i in range(1, topology.n_bodies + 1) if i not in set(topology.parent.tolist())]

    def depth(body: int) -> int:
        last = topology.last_dof[body]
        return int(topology.dof_depth[last - 1]) if last else 0

    chosen: list[int] = []
    while leaves and len(chosen) < count:
        shared = {i: max((depth(topology.nearest_common_ancestor(i, j)) for j in chosen), default=0) for i in leaves}
        chosen.append(min(leaves, key=lambda i: (shared[i], -depth(i), i)))
        leaves.remove(chosen[-1])
    return chosen


def frames_of(tree: Tree) -> dict[int, tuple[str, ...]]:
    """Return the frames of 1, 2 and 4 leaf bodies, by number of rows, as far as the robot has this many leaves."""
    chosen = [tree.body_names[i - 1] for i in spread_leaves(tree.topology, max(COUNTS))]
    return {6 * k: tuple(chosen[:k]) for k in COUNTS if k <= len(chosen)}


def regular_frames_of(tree: Tree, state: States) -> dict[int, tuple[str, ...]]:
    """Return those of `frames_of` whose Λ^-1 is invertible."""

    def rank(frames: tuple[str, ...]) -> int:
        return treesim.operational_space(tree, state.q, state.v, frames).rank

    return {m: frames for m, frames in frames_of(tree).items() if rank(frames) == m}


def our_cases(tree: Tree, state: States) -> list[BenchmarkCase]:
    """Return treesim's calls: Λ^-1, and the full operational space, whose last quantity N is the result."""

    def inverse(frames: tuple[str, ...]) -> Call:
        return lambda: treesim.inverse_operational_inertia(tree, state.q, frames, reference="local")

    def bound_inverse(frames: tuple[str, ...]) -> Call:
        return lambda: bound.inverse_operational_inertia(state.q, frames, reference="local")

    def whole(frames: tuple[str, ...]) -> Call:
        return lambda: treesim.operational_space(tree, state.q, state.v, frames).nullspace

    bound, special = treesim.Dynamics(tree), treesim.Dynamics(tree, engine="specialized")
    found = []
    for m, frames in frames_of(tree).items():
        call, name = inverse(frames), "inverse_operational_inertia"
        found.append(BenchmarkCase(OURS, name, inverse_inertia(m), call, call, "a new array", served=GENERIC))
        served = engine_of_bound(special.inverse_operational_inertia, state.q, frames, "pv_osim", "local")
        call = bound_inverse(frames)
        found.append(
            BenchmarkCase(OURS, f"Dynamics.{name}", inverse_inertia(m), call, call, "a new array", served=served)
        )
    for m, frames in regular_frames_of(tree, state).items():
        call = whole(frames)
        found.append(
            BenchmarkCase(
                OURS, "operational_space", operational_space(m), call, call, "J, Λ, its rank, J̄, N, β", served=GENERIC
            )
        )
    return found


def their_cases(models: Sequence[EngineModel], tree: Tree, state: States) -> list[BenchmarkCase]:
    """Return the calls of the other engines."""
    regular = regular_frames_of(tree, state)
    found = []
    for model in models:
        for rows, frames in frames_of(tree).items():
            found += model.operational(state, frames, rows in regular)
    return found
