"""State of a robot between steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..system.display import ReprMixin, arrays


@dataclass(frozen=True, repr=False)
class State(ReprMixin):
    """One state or a batch of states.

    Parameters
    ----------
    t : float
        Time [s], the same for all states.
    q : ndarray, shape (..., nq)
        Configurations.
    v : ndarray, shape (..., nv)
        Velocities.
    impulses : ndarray, shape (..., m)
        Impulses of a world's constrained rows in the step before [N s, N m s]; 0 at the start.
    contact : ndarray, shape (..., R)
        Impulses of contacts, joint limits and joint friction in the step before, in the order of the world's
        rows.

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> treesim.Stepper(robot).reset(np.zeros((10, 6)))
    <State: t = 0 s, 10 states>
    """

    t: float
    q: np.ndarray
    v: np.ndarray
    impulses: np.ndarray
    contact: np.ndarray

    def __repr__(self) -> str:
        many = f"{self.q.shape[0]} states" if self.q.ndim > 1 else "one state"
        return f"<State: t = {self.t:g} s, {many}>"

    def __setstate__(self, kept: dict[str, Any]) -> None:
        for name, x in kept.items():  # with NumPy's own dtype object, which the fast code of one state requires
            object.__setattr__(self, name, x.astype(float) if isinstance(x, np.ndarray) else x)

    def _repr_fields(self) -> list[tuple[str, Any]]:
        return [*arrays(self, "q", "v", "impulses", "contact")]


def new_state(t: float, q: np.ndarray, v: np.ndarray, impulses: np.ndarray, contact: np.ndarray) -> State:
    """Return the state with these values, in a third of the time that the constructor of a frozen class takes."""
    state: State = object.__new__(State)
    values = state.__dict__
    values["t"], values["q"], values["v"], values["impulses"], values["contact"] = t, q, v, impulses, contact
    return state
