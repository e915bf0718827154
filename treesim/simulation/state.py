"""State of a robot between steps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import quoted
from ..model.frozen import frozen
from ..system.display import ReprMixin, arrays

if TYPE_CHECKING:
    from .step_sequence import StepSequence

NO_MEMORY = frozen(np.empty(0))


@dataclass(frozen=True, repr=False)
class State(ReprMixin):
    """State of a robot, or a batch of states: time, configuration, velocity, and impulses of the step before.

    Parameters
    ----------
    t : float
        Time [s]. All states of a batch have the same time.
    q : ndarray, shape (..., nq)
        Configurations.
    v : ndarray, shape (..., nv)
        Velocities.
    impulses : ndarray, shape (..., m)
        Impulses of the world's constrained rows in the step before [N s, N m s]; 0 at the start.
    contact : ndarray, shape (..., R)
        Impulses in the step before, from which the contact solver starts: the number of stored contacts, a number and
        the impulses of each contact, room for more contacts, and the impulses of joint limits, joint friction and
        constraints.
    seed : int
        Seed of the random numbers of the world's sensors, and of delays of actuators.
    actuators : ndarray, shape (..., na)
        Memory of the world's actuators: commands on their way, outputs of filters, and currents; empty without.

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
    seed: int = 0
    actuators: np.ndarray = field(default_factory=lambda: NO_MEMORY)

    def __repr__(self) -> str:
        many = f"{self.q.shape[0]} states" if self.q.ndim > 1 else "one state"
        return f"<State: t = {self.t:g} s, {many}>"

    def __getattr__(self, name: str) -> np.ndarray:
        """Return an array of a state that consists of parts of a block, when it is read for the first time."""
        values = self.__dict__
        if name not in FIELDS or "_block" not in values:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {quoted(name)}", name=name, obj=self)
        x: np.ndarray = values["_block"][getattr(values["_sequence"], name)]
        values[name] = x
        return x

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in FIELDS}

    def _repr_fields(self) -> list[tuple[str, Any]]:
        return [*arrays(self, "q", "v", "impulses", "contact", "actuators")]


FIELDS = tuple(State.__dataclass_fields__)
State.actuators = NO_MEMORY  # of states that are made without the constructor


def new_state(
    t: float, q: np.ndarray, v: np.ndarray, impulses: np.ndarray, contact: np.ndarray, actuators: np.ndarray
) -> State:
    """Return the state with these values, in a third of the time that the constructor of a frozen class takes."""
    state: State = object.__new__(State)
    values = state.__dict__
    values["t"], values["q"], values["v"], values["impulses"], values["contact"] = t, q, v, impulses, contact
    if actuators.size:
        values["actuators"] = actuators
    return state


def state_in(block: np.ndarray, sequence: StepSequence, t: float, impulses: np.ndarray, before: State) -> State:
    """Return the state at the end of a step whose results are `block`; its arrays are made when they are read."""
    state: State = object.__new__(State)
    values = state.__dict__
    values["t"], values["impulses"], values["_block"], values["_sequence"] = t, impulses, block, sequence
    if sequence.contact is None:
        values["contact"] = before.contact
    return state
