"""Which method for Λ^-1 to take for a robot and its frames, and why."""

from __future__ import annotations

from collections.abc import Sequence

from ..dynamics.advice import Advice
from ..model.topology import Topology
from ..model.tree import Tree

# nanoseconds, fitted to `treesim cost --advice`; products over shared paths are common to both ways and left out
FACTORED_BODY, FACTORED_ROW, FACTORED_UPDATE = 50.0, 5.0, 0.7
PROPAGATED_BODY, PROPAGATED_STEP = 115.0, 20.0


def advise(robot: Tree, frames: Sequence[str]) -> Advice:
    """Return the method that suits Λ^-1 of `frames`. Cost O(N), once: callers keep the answer.

    Sparse factors of H cost what D1 and D2 say, whatever the task; articulated inertias cost the same for every body,
    but carrying six columns of a task along its path costs more than dividing them by a factor. Both are estimated
    with measured coefficients. Raises UnknownNameError for an unknown frame.
    """
    bodies = [robot.frame(name).body for name in frames]
    factored, propagated = _factored(robot.topology, bodies), _propagated(robot.topology, bodies)
    told = f"by estimate {1e-3 * factored:.1f} us with factors of H, {1e-3 * propagated:.1f} us with propagated forces"
    if factored <= propagated:
        return Advice("ltdl", f"paths are short: {told}")
    return Advice("pv_osim", f"O(N) articulated inertias beat factors with D2 = {robot.topology.D2}: {told}")


def _factored(tree: Topology, bodies: Sequence[int]) -> float:
    rows = sum(6 * d * (d + 1) // 2 for d in _depths(tree, bodies))
    return FACTORED_BODY * tree.n_bodies + FACTORED_ROW * tree.D1 + FACTORED_UPDATE * (tree.D2 + rows)


def _propagated(tree: Topology, bodies: Sequence[int]) -> float:
    return PROPAGATED_BODY * tree.n_bodies + PROPAGATED_STEP * sum(_depths(tree, bodies))


def _depths(tree: Topology, bodies: Sequence[int]) -> list[int]:
    """Degrees of freedom that move each body."""
    return [int(tree.dof_depth[tree.last_dof[body] - 1]) if tree.last_dof[body] else 0 for body in bodies]
