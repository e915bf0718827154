"""The closing account of a simulation: speed, and what should have stayed constant."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table

    from ..model.tree import Tree
    from ..trajectory import Trajectory


def summary(robot: Tree, trajectory: Trajectory, controller: str, wall_s: float, first_call_s: float) -> dict[str, Any]:
    """Return what the closing table shows: times [s], speed, energy [J] and momentum [N s, N m s].

    wall_s: duration of the run alone. first_call_s: what came before it, compiling included.
    """
    simulated = float(trajectory.t[-1] - trajectory.t[0])
    steps = len(trajectory) - 1
    return {
        "robot": robot.name,
        "backend": trajectory.metadata.get("backend"),
        "integrator": trajectory.metadata.get("integrator"),
        "controller": controller,
        "dt": trajectory.metadata.get("dt"),
        "steps": steps,
        "simulated_s": simulated,
        "wall_s": wall_s,
        "first_call_s": first_call_s,
        "steps_per_s": steps / wall_s if wall_s > 0 else None,
        "real_time_factor": simulated / wall_s if wall_s > 0 else None,
        "energy": _energy(robot, trajectory, controller),
        "momentum": _momentum(robot, trajectory),
        "stopped": trajectory.stopped,
    }


def _energy(robot: Tree, trajectory: Trajectory, controller: str) -> dict[str, Any]:
    import numpy as np

    start, end = float(trajectory.energy[0]), float(trajectory.energy[-1])
    exchange = []
    if controller != "none":
        exchange.append(f"the {controller} controller works on the joints")
    if robot.damping.any() or robot.friction.any():
        lossy = int(((robot.damping != 0) | (robot.friction != 0)).sum())
        exchange.append(f"{lossy} degrees of freedom have damping or friction")
    with np.errstate(invalid="ignore"):  # states whose energy overflows
        largest_change = float(abs(trajectory.energy - start).max())
    note = "; ".join(exchange) or "no damping, friction or controller: a change is the integrator's error"
    return {
        "start": start,
        "end": end,
        "change": end - start,
        "largest_change": largest_change,
        "conserved_in_theory": not exchange,
        "note": note,
    }


def _momentum(robot: Tree, trajectory: Trajectory) -> dict[str, Any]:
    """The change of momentum of a floating robot beyond what gravity gives it."""
    import numpy as np

    import treesim

    from ..engine.call.evaluate import specialized_first

    floating = [body.joint.type for body in robot.bodies if body.parent == 0] == ["floating"]
    if not floating:
        return {"linear_drift": None, "angular_drift": None, "note": "not conserved: the base is held by the world"}
    ends = trajectory.q[[0, -1]], trajectory.v[[0, -1]]
    first, last = specialized_first(treesim.momentum, robot, *ends)
    elapsed = trajectory.t[-1] - trajectory.t[0]
    gravity = np.asarray(trajectory.metadata["gravity"])
    linear = last[:3] - first[:3] - robot.mass * gravity * elapsed
    drift = {"linear_drift": float(np.linalg.norm(linear))}
    if gravity.any():
        note = "after subtracting m g t; angular momentum about the origin changes with gravity's moment"
        return {**drift, "angular_drift": None, "note": note}
    angular = float(np.linalg.norm(last[3:] - first[3:]))
    return {**drift, "angular_drift": angular, "note": "no outside force: a change is the integrator's error"}


def summary_table(account: dict[str, Any], files: Sequence[str]) -> Table:
    """Return the table of an account as `summary` gives it, with the files written."""
    from rich.table import Table

    energy, momentum = account["energy"], account["momentum"]
    rows = [
        ("simulated", f"{account['simulated_s']:.6g} s in {account['steps']} steps of {account['dt']:g} s"),
        ("method", f"{account['backend']}, {account['integrator']}, controller {account['controller']}"),
        ("first call", f"{account['first_call_s']:.3g} s (loads or compiles kernels)"),
        ("run", f"{account['wall_s']:.4g} s"),
    ]
    if account["steps_per_s"] is not None and account["steps"]:
        rows.append(("speed", f"{account['steps_per_s']:,.0f} steps/s, {account['real_time_factor']:.4g} x real time"))
    rows.append(("energy", _energy_text(energy)))
    rows.append(("momentum", _momentum_text(momentum)))
    if account["stopped"]:
        rows.append(("stopped", account["stopped"]))
    rows += [("wrote", file) for file in files]
    table = Table(title=account["robot"], show_header=False, title_justify="left")
    for label, value in rows:
        table.add_row(label, value)
    return table


def _energy_text(energy: dict[str, Any]) -> str:
    if not math.isfinite(energy["largest_change"]):
        return "too large for a number"
    changes = f"change {energy['change']:+.3e} J, at most {energy['largest_change']:.3e} J on the way"
    return f"{energy['start']:.6g} J, {changes}\n({energy['note']})"


def _momentum_text(momentum: dict[str, Any]) -> str:
    parts = []
    if momentum["linear_drift"] is not None:
        parts.append(f"linear drift {momentum['linear_drift']:.3e} N s")
    if momentum["angular_drift"] is not None:
        parts.append(f"angular drift {momentum['angular_drift']:.3e} N m s")
    return f"{', '.join(parts)}\n({momentum['note']})" if parts else momentum["note"]
