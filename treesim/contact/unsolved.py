"""Warnings of steps in which contact was not solved, one for each run."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from ..errors import listed
from .history import ContactHistory

UNSOLVED = 1e-5  # m/s, rad/s: residual of a step above which it is not solved; solvers stop near 1e-9
ENERGY = 1e-6  # share of the energy range that impulses may add in a step: rounding
NAMED = 3  # bodies that a warning names
REMEDY = (
    "take a smaller dt, or look whether bodies are squeezed from two sides (overlapping shapes, joint limits against "
    "a wall)"
)


class ContactWarning(UserWarning):
    """Steps of a run whose contacts, joint limits or joint friction were not solved, found no room, or gave energy.

    Example:
        >>> issubclass(treesim.ContactWarning, UserWarning)
        True
    """


def is_solved(told: np.ndarray) -> np.ndarray:
    """Return whether steps (...) are solved, of which `told` (..., 6) is reported (`ContactReport`)."""
    if told.ndim == 1:  # of one state, many thousand times a second
        return np.array(told.item(1) <= UNSOLVED and told.item(5) == 0)
    return (told[..., 1] <= UNSOLVED) & (told[..., 5] == 0)


def warn_of_run(history: ContactHistory | None, t: np.ndarray, energy_range: float, stacklevel: int) -> None:
    """Warn once of a simulation whose steps, which start at times t (K,) [s], were not all solved, naming the bodies
    that touched in the worst of them; energy_range: of the run [J]."""
    if history is None or not len(history):
        return
    told = history.told
    with np.errstate(invalid="ignore"):
        gave = told[:, 2] > ENERGY * energy_range
    wrong = ~is_solved(told) | gave
    if not wrong.any():
        return
    worst = int(np.argmax(np.where(told[:, 5] > 0, np.inf, told[:, 1]) if not is_solved(told).all() else told[:, 2]))
    facts = [f"complementarity residual up to {told[:, 1].max():.3g} m/s or rad/s"]
    facts += [f"up to {int(told[:, 5].max())} contacts without room"] * bool(told[:, 5].any())
    facts += [f"up to {told[:, 2].max():.3g} J given in a step"] * bool(gave.any())
    warnings.warn(
        f"contact was not solved in {int(wrong.sum())} of {max(len(t) - 1, 1)} steps: {', '.join(facts)}; worst in the "
        f"step at t = {t[worst]:.6g} s, in which {_touching(history, worst)}: {REMEDY}",
        ContactWarning,
        stacklevel=stacklevel + 1,
    )


def _touching(history: ContactHistory, step: int) -> str:
    """The bodies with the largest contact forces in a step, in words."""
    size = np.linalg.norm(history.wrench[step, :, :3], axis=1)
    names = [history.bodies[b] for b in np.argsort(-size)[:NAMED] if size[b] > 0]
    return f"{listed(names)} had the largest contact forces" if names else "nothing but joints was at its limits"


def warn_of_states(residual: np.ndarray, what: str, stacklevel: int) -> None:
    """Warn once of states or rollouts (B,) with steps whose residual is too large; what: as messages call them."""
    wrong = np.flatnonzero(residual > UNSOLVED)
    if len(wrong):
        worst = int(np.argmax(residual))
        warnings.warn(
            f"contact was not solved in some step of {len(wrong)} of {len(residual)} {what}, number {worst} the worst: "
            f"complementarity residual {residual[worst]:.3g} m/s or rad/s, above {UNSOLVED:g}: {REMEDY}",
            ContactWarning,
            stacklevel=stacklevel + 1,
        )


def warn_of_step(told: np.ndarray, wrench: np.ndarray, bodies: Sequence[str], stacklevel: int) -> None:
    """Warn of a step of one state or a batch that was not solved, of which `told` (..., 6) and wrenches (..., N + 1, 6)
    are reported."""
    flat, forces = told.reshape(-1, told.shape[-1]), wrench.reshape(-1, *wrench.shape[-2:])
    worst = int(np.argmax(np.where(flat[:, 5] > 0, np.inf, flat[:, 1])))
    size = np.linalg.norm(forces[worst, 1:, :3], axis=1)
    names = listed([bodies[b] for b in np.argsort(-size)[:NAMED] if size[b] > 0])
    which = f" of state {worst}" if told.ndim > 1 else ""
    room = f", {int(flat[worst, 5])} contacts without room" if flat[worst, 5] else ""
    warnings.warn(
        f"contact was not solved in a step{which}: complementarity residual {flat[worst, 1]:.3g} m/s or rad/s{room}"
        f"{f', largest contact forces on {names}' if names else ''}: {REMEDY}; `report.ok` is False after such "
        "steps, of which this is the first",
        ContactWarning,
        stacklevel=stacklevel + 1,
    )
