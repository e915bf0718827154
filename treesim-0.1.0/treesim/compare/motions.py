"""Comparison of free motion: trajectories by the same integrator, conservation, and convergence."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .. import plugins
from .adapter import EngineAdapter
from .conservation import conservation
from .convergence import COARSEST, LONGEST, REFERENCE, SHORTEST, Refinement, convergence, refinement_for
from .measures import PERTURBATION, distance, valid_steps, worst
from .report import Conservation, Convergence, Row, TrajectoryCurves, as_curve
from .results import CANONICAL, Results, StateBatch
from .treesim_engine import TreesimModel

TRAJECTORY_TOLERANCE = 1e-10  # or 100 times the perturbed run's divergence, whichever is larger
NO_HORIZON = (
    f"on no horizon of {1e3 * SHORTEST * COARSEST:g} to {1e3 * LONGEST * COARSEST:g} ms do errors of treesim's own run "
    "by this rule, and of its extrapolation, fall as powers of dt: the robot whips, or nothing but rounding is left"
)


class Motions(NamedTuple):
    """Results of comparing free motions; skipped: quantities left out, and the reasons."""

    row: Row
    trajectory: TrajectoryCurves
    conservation: tuple[Conservation, ...]
    convergence: Convergence | None
    skipped: dict[str, str]


def refinement(ours: TreesimModel, engine: EngineAdapter, batch: StateBatch) -> Refinement | None:
    """Return the motion on which the engine's convergence is measured; None if there is none."""
    if not batch.steps or engine.integrator is None:
        return None
    return refinement_for(ours, plugins.get("integrators", engine.integrator).order, batch.q0, batch.v0)


def compare_motions(
    name: str, batch: StateBatch, ours: TreesimModel, theirs: Results, refined: Refinement | None
) -> Motions | None:
    """Compare an engine's free motion with treesim's; None if the engine returned none.

    name: label of the engine.
    """
    given = theirs.values
    if "trajectory_q" not in given or "trajectory_v" not in given:
        return None
    start = batch.q0, batch.v0, batch.steps, batch.dt
    own, other = ours.trajectory(*start), (given["trajectory_q"], given["trajectory_v"])
    accurate = TreesimModel(ours.robot, REFERENCE, "generic").trajectory(*start)
    curves = _curves(ours, batch, own, other)
    runs = {name: other, f"treesim, {ours.integrator}": own, f"treesim, {REFERENCE}": accurate}
    kept = tuple(conservation(run, ours.robot, q, v, batch.dt) for run, (q, v) in runs.items())
    skipped = {} if refined else {"convergence": NO_HORIZON}
    if refined and not {"ends_q", "ends_v"} <= given.keys():
        refined, skipped = None, {"convergence": "the adapter returns no motions of several dt"}
    found = convergence(ours.robot, refined, theirs) if refined else None
    return Motions(trajectory_row(curves), curves, kept, found, skipped)


def _curves(
    ours: TreesimModel, batch: StateBatch, own: tuple[np.ndarray, np.ndarray], other: tuple[np.ndarray, np.ndarray]
) -> TrajectoryCurves:
    """Return the distances of the engine's run, and of a perturbed run of treesim, from treesim's run."""
    perturbed = ours.trajectory(batch.q0, batch.v0 * (1 + PERTURBATION), batch.steps, batch.dt)
    divergence = distance(ours.robot, *perturbed, *own)
    return curves_of(distance(ours.robot, *own, *other), divergence, batch.dt)


def curves_of(apart: np.ndarray, divergence: np.ndarray, dt: float, least: float = 0.0) -> TrajectoryCurves:
    """Return the curves of distances (K,) at each step; least: smallest tolerance."""
    allowed = np.maximum(max(TRAJECTORY_TOLERANCE, least), 100 * divergence)
    kept = as_curve(dt * np.arange(len(apart))), as_curve(apart), as_curve(divergence), as_curve(allowed)
    return TrajectoryCurves(*kept, valid_steps(divergence))


def trajectory_row(
    curves: TrajectoryCurves, quantity: str = "trajectory", level: str = CANONICAL, about: str = "same integrator"
) -> Row:
    """Return the row of a trajectory, over the steps that are not chaotic."""
    valid, steps = curves.valid, len(curves.t) - 1
    apart, allowed = np.array(curves.apart[:valid]), np.array(curves.allowed[:valid])
    k = worst(apart / allowed)
    note = f"{about}; valid for {valid - 1} of {steps} steps, perturbed run apart by {curves.divergence[valid - 1]:.1e}"
    return Row(
        quantity, level, valid - 1, float(apart[k]), float(np.median(apart)), float(allowed[k]),
        bool(apart[k] <= allowed[k]) and valid > 1, f"step {k}", note,
    )  # fmt: skip
