"""Final report of a simulation: speed, and errors of conserved quantities."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..errors import named

if TYPE_CHECKING:
    from rich.table import Table

    from ..contact.history import ContactHistory
    from ..simulation.trajectory import Trajectory
    from ..simulation.world import World


def summary(
    world: World, trajectory: Trajectory, controller: str, wall_s: float, first_call_s: float
) -> dict[str, Any]:
    """Return the content of the final table: times [s], speed, energy [J] and momentum [N s, N m s].

    wall_s: duration of the run alone. first_call_s: duration of the preparation, including compilation.
    """
    simulated = float(trajectory.t[-1] - trajectory.t[0])
    steps = len(trajectory) - 1
    return {
        "robot": world.robot.name,
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
        "energy": _energy(trajectory),
        "momentum": _momentum(world, trajectory),
        "contact": _contact(trajectory),
        "stopped": trajectory.stopped,
    }


def _energy(trajectory: Trajectory) -> dict[str, Any]:
    """Return the change of energy, its parts, and the integrator's error."""
    import numpy as np

    error, work = trajectory.energy_error, trajectory.work
    energy_range = float(trajectory.metadata["energy_range"])
    with np.errstate(invalid="ignore"):  # states whose energy overflows
        change = float(trajectory.energy[-1] - trajectory.energy[0])
    largest = float(abs(error).max())
    return {
        "start": float(trajectory.energy[0]),
        "change": change,
        "work_of_controls": float(work[-1, 0]),
        "work_of_damping_and_friction": float(work[-1, 1]),
        "error": float(error[-1]),
        "largest_error": largest,
        "energy_range": energy_range,
        "relative_error": largest / energy_range if energy_range > 0 and np.isfinite(largest) else None,
    }


def _contact(trajectory: Trajectory) -> dict[str, Any] | None:
    """Return the worst contact diagnostics; None without contact."""
    from ..contact.unsolved import UNSOLVED, worst_residual
    from ..kernels.contact.layout import INFO

    if trajectory.contact is None or not trajectory.contact.solver_info[:, INFO.iterations].any():
        return None
    solver_info = trajectory.contact.solver_info
    return {
        "most_contacts": int(solver_info[:, INFO.contacts].max()),
        "largest_penetration": float(solver_info[:, INFO.penetration].max()),
        "largest_residual": float(solver_info[:, INFO.residual].max()),
        "largest_position_residual": float(solver_info[:, INFO.position_residual].max()),
        "missed": int((worst_residual(solver_info) > UNSOLVED).sum()),
        "largest_certificate": float(solver_info[:, INFO.certificate].max()),
        "left_out": int(solver_info[:, INFO.left_out].max()),
    }


def _momentum(world: World, trajectory: Trajectory) -> dict[str, Any]:
    """Return the change of the momentum of floating robots beyond that caused by gravity."""
    import numpy as np

    import treesim

    from ..engine.call.evaluate import specialized_first

    robot, pusher = world.robot, _pusher(world, trajectory)
    if pusher is not None:
        return {"linear_drift": None, "angular_drift": None, "note": f"not conserved: {pusher}"}
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


def _pusher(world: World, trajectory: Trajectory) -> str | None:
    """Return what other than gravity changes the momentum; None in free flight."""
    from ..dynamics.constrained.constraints import FrameConstraint

    roots = [body.joint for body in world.robot.bodies if body.parent == 0]
    if any(joint.type != "floating" for joint in roots):
        return "the base is fixed to the world" if len(roots) == 1 else "a base is fixed to the world"
    if trajectory.contact is not None and _ground_pushes(trajectory.contact):
        return "the ground pushes"
    if world.kinematic:
        return "kinematic bodies push"
    if any(isinstance(constraint, FrameConstraint) for constraint in world.constraints):
        return "constraints hold frames in the world"
    if trajectory.metadata.get("external_forces"):
        return "external forces act"
    if any(trajectory.tau[:, world.robot.v_index[joint.name]].any() for joint in roots):
        return "the controller pushes the root link"
    return None


def _ground_pushes(contact: ContactHistory) -> bool:
    """Return whether a surface, or a link on a fixed base, pushed a body in any step."""
    outside = [k for k, (_, other) in enumerate(contact.pairs) if other in contact.surfaces]
    return bool(contact.pair_wrench_array[:, outside].any())


def summary_table(account: dict[str, Any], files: Sequence[str]) -> Table:
    """Return the table of a `summary`, with the written files."""
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
    if account["contact"] is not None:
        rows.append(("contact", _contact_text(account["contact"], account["steps"])))
    if account["stopped"]:
        rows.append(("stopped", account["stopped"]))
    rows += [("wrote", file) for file in files]
    table = Table(title=named(account["robot"]), show_header=False, title_justify="left")
    for label, value in rows:
        table.add_row(label, value)
    return table


def _energy_text(energy: dict[str, Any]) -> str:
    if not math.isfinite(energy["largest_error"]):
        return "too large for a number"
    share = "" if energy["relative_error"] is None else f", {100 * energy['relative_error']:.2g} %"
    return (
        f"{energy['start']:.6g} J, change {energy['change']:+.4g} J: controls {energy['work_of_controls']:+.4g} J, "
        f"damping, friction and contact {energy['work_of_damping_and_friction']:+.4g} J\n"
        f"error {energy['error']:+.2e} J, at most {energy['largest_error']:.2e} J on the way{share} of the "
        f"energy range of {energy['energy_range']:.3g} J"
    )


def _contact_text(contact: dict[str, Any], steps: int) -> str:
    from ..contact.unsolved import UNSOLVED

    missed = f", above {UNSOLVED:g} in {contact['missed']} of {steps} steps" if contact["missed"] else ""
    lines = [
        f"at most {contact['most_contacts']} contacts, penetration {contact['largest_penetration']:.2e} m",
        f"largest residual {contact['largest_residual']:.2e} m/s, of positions "
        f"{contact['largest_position_residual']:.2e} m/s{missed}",
        f"energy added by impulses: {contact['largest_certificate']:.2e} J a step at most",
    ]
    if contact["left_out"]:
        lines.append(f"no room for {contact['left_out']} contacts")
    return "\n".join(lines)


def _momentum_text(momentum: dict[str, Any]) -> str:
    parts = []
    if momentum["linear_drift"] is not None:
        parts.append(f"linear drift {momentum['linear_drift']:.3e} N s")
    if momentum["angular_drift"] is not None:
        parts.append(f"angular drift {momentum['angular_drift']:.3e} N m s")
    return f"{', '.join(parts)}\n({momentum['note']})" if parts else momentum["note"]
