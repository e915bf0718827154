"""Warnings of steps whose contact problem was not solved, one for each run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import ContactWarning, listed, quoted
from ..kernels.contact.layout import INFO
from ..system.user_warnings import warn
from .history import ContactHistory
from .report import ContactStep

UNSOLVED = 1e-5  # m/s, rad/s: residual of a step above which it is not solved; solvers stop near 1e-9
ENERGY = 1e-6  # fraction of the energy range that impulses may add in a step by rounding
NAMED = 3  # bodies that a warning names
REMEDY = (
    "take a smaller dt, or look whether bodies are squeezed from two sides (overlapping shapes, joint limits against "
    "a wall)"
)


def all_solved(substeps: Sequence[ContactStep]) -> bool:
    """Return whether the contact problems of all states are solved in all substeps."""
    return all(is_solved(each.solver_info).all() for each in substeps)


def is_solved(solver_info: np.ndarray) -> np.ndarray:
    """Return whether the contact problems of steps (...) are solved, from diagnostics (..., 7) (`ContactReport`)."""
    return np.all([solver_info[..., k] <= largest for k, largest in bounds_if_solved()], axis=0)


def bounds_if_solved() -> Sequence[tuple[int, float]]:
    """Return the diagnostics that have a bound in problems that are solved: the index of each and its largest value."""
    return (INFO.residual, UNSOLVED), (INFO.position_residual, UNSOLVED), (INFO.left_out, 0.0)


def worst_residual(solver_info: np.ndarray) -> np.ndarray:
    """Return the larger residual (...) of velocities and positions [m/s, rad/s]."""
    return np.maximum(solver_info[..., INFO.residual], solver_info[..., INFO.position_residual])


def misses(solver_info: np.ndarray) -> list[str]:
    """Return texts that describe the residuals of unsolved steps, from diagnostics (K, 7)."""
    facts = []
    for k, what in ((INFO.residual, "contact law violated"), (INFO.position_residual, "position constraints violated")):
        worst = solver_info[:, k].max()
        facts += [f"{what} by up to {worst:.3g} m/s or rad/s"] * (not worst <= UNSOLVED)  # so that NaN is reported
    left_out = int(solver_info[:, INFO.left_out].max())
    return facts + [f"up to {left_out} contacts beyond the capacity"] * bool(left_out)


def warn_of_run(history: ContactHistory | None, t: np.ndarray, energy_range: float) -> None:
    """Warn once of a simulation with unsolved steps, naming the bodies that touched in the worst of them.

    t (K,): start times of the steps [s]. energy_range: of the run [J].
    """
    if history is None or not len(history):
        return
    solver_info = history.solver_info
    with np.errstate(invalid="ignore"):
        gave = solver_info[:, INFO.certificate] > ENERGY * energy_range
    wrong = ~is_solved(solver_info) | gave
    if not wrong.any():
        return
    residual, left_out = worst_residual(solver_info), solver_info[:, INFO.left_out]
    solved = is_solved(solver_info).all()
    worst = int(np.argmax(solver_info[:, INFO.certificate] if solved else np.where(left_out > 0, np.inf, residual)))
    facts = misses(solver_info)
    facts += [f"up to {solver_info[:, INFO.certificate].max():.3g} J of energy gained in a step"] * bool(gave.any())
    warn(
        f"contact was not solved in {int(wrong.sum())} of {max(len(t) - 1, 1)} steps: {', '.join(facts)}; worst in the "
        f"step at t = {t[worst]:.6g} s, in which {_touching(history, worst)}: {REMEDY}",
        ContactWarning,
    )


def _touching(history: ContactHistory, step: int) -> str:
    """Return a text that names the bodies with the largest contact forces in a step."""
    size = np.linalg.norm(history.wrench_array[step, :, :3], axis=1)
    names = [history.bodies[b] for b in np.argsort(-size)[:NAMED] if size[b] > 0]
    return f"{listed(names)} had the largest contact forces" if names else "nothing but joints was at its limits"


def warn_of_states(residual: np.ndarray, what: str) -> None:
    """Warn once of states or rollouts (B,) with steps of too large residual; `what` names them in the message."""
    wrong = (residual > UNSOLVED).nonzero()[0]
    if len(wrong):
        worst = int(np.argmax(residual))
        warn(
            f"contact was not solved in some step of {len(wrong)} of {len(residual)} {what}, number {worst} the worst: "
            f"residual {residual[worst]:.3g} m/s or rad/s, above {UNSOLVED:g}: {REMEDY}",
            ContactWarning,
        )


def warn_of_step(
    solver_info: np.ndarray, wrench: np.ndarray, bodies: Sequence[str], islands: Sequence[str] = ()
) -> None:
    """Warn of an unsolved step of one state or a batch.

    solver_info (..., 7): diagnostics. wrench (..., N + 1, 6): contact wrenches of the bodies. islands:
    `ContactReport.worst_islands`.
    """
    flat, forces = solver_info.reshape(-1, solver_info.shape[-1]), wrench.reshape(-1, *wrench.shape[-2:])
    worst = int(np.argmax(np.where(flat[:, INFO.left_out] > 0, np.inf, worst_residual(flat))))
    size = np.linalg.norm(forces[worst, 1:, :3], axis=1)
    names = listed([bodies[b] for b in np.argsort(-size)[:NAMED] if size[b] > 0])
    which = f" of state {worst}" if solver_info.ndim > 1 else ""
    facts = misses(flat[worst : worst + 1])
    facts += [f"largest contact forces on {names}"] * bool(names)
    if islands and islands[worst]:
        facts.append(f"largest residual in the island of {quoted(islands[worst])}")
    warn(
        f"contact was not solved in a step{which}: {', '.join(facts)}: {REMEDY}; `report.ok` is False after such "
        "steps, of which this is the first",
        ContactWarning,
    )
