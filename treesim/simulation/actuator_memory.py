"""Memory of actuators: commands on their way, filters, held forces and currents, as part of the state of a world."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..actuators.actuators import DCMotor
from ..actuators.base import BEFORE, Actuator, Late
from ..dynamics.tables import constants_of
from ..engine.call.batched import BatchedTables
from ..engine.call.bound_entry import BoundEntry
from ..engine.call.evaluate import run_states
from ..engine.call.generic import bound_call
from ..errors import ArgumentError, UnsupportedError, quoted
from ..kernels.stepping.command import ABSENT, Numbers, Places, commands_states
from ..kernels.stepping.rules import RULES, Rule
from ..kernels.stepping.step import Settings
from ..states.states import run_bound
from .sensor_draws import Draws
from .step_settings import StepSettings

if TYPE_CHECKING:
    from .world import World

LONGEST_DELAY = 256  # steps
NEAR = 1e-9  # of a whole number of steps, or of substeps


class ActuatorMemory:
    """Layout of the memory (..., size) of a world's actuators, and the commands that they get in each substep.

    rule, dt [s], substeps, settings: of the steps. Raises UnsupportedError for inductance with explicit integrators,
    and ArgumentError for a delay of too many steps, or a period that is no multiple of the substep.
    """

    def __init__(self, world: World, rule: Rule, dt: float, substeps: int, settings: StepSettings) -> None:
        assert world.actuator_table is not None
        self.robot, self.dt, self.substeps, self.size = world.robot, dt, substeps, 0
        columns = settings.columns[:, self.robot.kept()[1]]
        self._theta, h = columns[Settings._fields.index("theta") - 1], dt / substeps
        self.delays: dict[str, tuple[int, Late]] = {}  # place of own delays of rollouts, by joint
        self.starts: list[tuple[slice, int]] = []  # parts of the memory that start at a coordinate, and its place
        self._currents: list[tuple[int, int, float, float]] = []  # place, joint, force per current, theta
        self.reads_states = False  # as digital controllers do
        rows, numbers = [], []
        for name, actuator in world.actuator_table.by_joint.items():
            if has_memory(actuator):
                self._check(name, actuator, rule)
                rows.append(self._places(name, actuator))
                numbers.append(self._numbers(actuator, rows[-1], h))
        self.dofs = [row.dof for row in rows]  # of the actuators with memory
        q, v = (self.robot.nq,), (self.robot.nv,)
        table = np.array([q[0], v[0], self.size, len(rows), *(x for row in rows for x in row)], np.int64)
        constants = *constants_of(self.robot.spanning), table, np.array([x for row in numbers for x in row], float)
        inputs, results = ((1,), (self.size,), q, v, v), ((self.size,), v)
        self.bound = BoundEntry(commands_states, constants, inputs, results, engine="generic")
        self._numbers_of_substeps = [np.full(1, float(k)) for k in range(substeps)]

    def _check(self, name: str, actuator: Actuator, rule: Rule) -> None:
        steps = actuator._late.most / self.dt
        if steps > LONGEST_DELAY:
            raise ArgumentError(
                f"actuator of joint {quoted(name)}: a delay of {actuator._late.most:g} s is {steps:g} steps of "
                f"{self.dt:g} s: at most {LONGEST_DELAY} are stored"
            )
        if actuator._time_constant and not rule.implicit:
            raise UnsupportedError(
                f"actuator of joint {quoted(name)}: integrator {rule.name!r} does not simulate inductance: take "
                f"{' or '.join(quoted(name) for name, known in RULES.items() if known.implicit)}"
            )
        if actuator._period is not None:
            parts = actuator._period * self.substeps / self.dt
            if abs(parts - max(1, round(parts))) > NEAR * parts:
                raise ArgumentError(
                    f"actuator of joint {quoted(name)}: period {actuator._period:g} s must be a multiple of the "
                    f"substep, which is {self.dt / self.substeps:g} s"
                )

    def _take(self, count: int) -> int:
        """Return the place of `count` more numbers."""
        self.size += count
        return self.size - count

    def _places(self, name: str, actuator: Actuator) -> Places:
        """Return the places of an actuator's parts in the memory, which grows by them."""
        late, dof, coordinate = actuator._late, self.robot.v_index[name].start, self.robot.q_index[name].start
        parts: dict[str, Any] = dict.fromkeys(Places._fields, ABSENT)
        parts |= {"dof": dof, "coordinate": coordinate, "count": 0}
        if late.before == BEFORE.index("first") and is_late(late):
            parts["begun"] = self._take(1)
        begun = self.size
        if late.most:
            parts["count"] = math.ceil(late.most / self.dt - NEAR) + 1
            parts["commands"] = self._take(parts["count"])
        if late.rate < math.inf:
            parts["slow"] = self._take(1)
        if late.lag:
            parts["filtered"] = self._take(1)
        if late.before == BEFORE.index("start"):
            self.starts.append((slice(begun, self.size), coordinate))
        if late.most > late.least:
            parts["delay"] = self._take(1)
            self.delays[name] = parts["delay"], late
        if actuator._period is not None:
            parts["held"], self.reads_states = self._take(2), True
        if isinstance(actuator, DCMotor) and actuator.inductance:
            parts["current"] = self._take(1)
            force = actuator.gear * actuator.torque_constant
            self._currents.append((parts["current"], dof, force, float(self._theta[dof])))
        return Places(**parts)

    def _numbers(self, actuator: Actuator, places: Places, h: float) -> Numbers:
        """Return the numbers of an actuator in substeps of h [s]."""
        late, law = actuator._late, actuator._law
        decay, mean = filter_shares(np.float64(late.lag), h)
        period = 0 if actuator._period is None else round(actuator._period / h)
        voltage, ahead = getattr(actuator, "voltage_limit", None), getattr(actuator, "inductance", 0.0)
        return Numbers(
            delay=late.most / self.dt, substep=1 / self.substeps, interpolate=late.interpolate, change=late.rate * h,
            decay=float(decay), mean=float(mean), gain=law.gain, kp=law.kp, kd=law.kd, period=period,
            voltage=math.inf if voltage is None else voltage, ahead=ahead / (float(self._theta[places.dof]) * h),
        )  # fmt: skip

    def begin(self, q: np.ndarray, seed: int | np.ndarray = 0, rollouts: Any = None, episodes: Any = 0) -> np.ndarray:
        """Return the memory (..., size) of states that start at q (..., nq), before the first command.

        seed, rollouts (B,), episodes: key of the random delays; by default, states are rollouts 0, 1, ...
        """
        memory = np.zeros((*q.shape[:-1], self.size))
        for part, coordinate in self.starts:
            memory[..., part] = q[..., coordinate, None]
        if self.delays:
            flat = memory.reshape(-1, self.size)
            numbers = np.arange(len(flat)) if rollouts is None else rollouts
            draws = Draws(seed, numbers, np.broadcast_to(episodes, len(flat)), np.zeros(len(flat), np.int64))
            shares = draws.first_uniforms([f"delay of the actuator of {name}" for name in self.delays])
            for share, (place, late) in zip(shares.T, self.delays.values(), strict=True):
                flat[:, place] = (late.least + share * (late.most - late.least)) / self.dt
        return memory

    def command(
        self, k: int, memory: np.ndarray, q: np.ndarray, v: np.ndarray, control: np.ndarray,
        batched: BatchedTables | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
        """Return the memory (..., size) after the commands of the k-th substep, and these commands (..., nv).

        batched: numbers of delays, lags and rate limits of each state.
        """
        after, command, number = np.empty(memory.shape), np.empty(v.shape), self._numbers_of_substeps[k]
        substep = number if v.ndim == 1 else np.broadcast_to(number, (len(v), 1))
        if batched is not None:
            entry, constants = batched.taken_by(self.bound.entry, self.bound.constants, 7, 5)
            given = [substep, memory, q, v, control, batched.numbers]
            run_states(entry, constants, given, [after, command], "generic")
            return after, command
        run_bound(self.bound, [substep, memory, q, v, control], [after, command], "generic" if v.ndim > 1 else None)
        return after, command

    def put_currents(self, memory: np.ndarray, force: np.ndarray) -> None:
        """Overwrite the currents in a memory by those at the end of a substep with the mean forces (..., nv)."""
        for place, dof, of_current, theta in self._currents:
            mean = force[..., dof] / of_current  # i at the time theta h
            memory[..., place] += (mean - memory[..., place]) / theta

    @property
    def has_feedback(self) -> bool:
        """Whether commands depend on states or forces within a step."""
        return self.reads_states or bool(self._currents)

    def dof_of(self, coordinate: int) -> int:
        """Return the degree of freedom of a joint's coordinate."""
        index = self.robot.q_index
        return next(self.robot.v_index[name].start for name in index if index[name].start == coordinate)


class StepCommands:
    """Commands of the substeps of one step under a control (..., nv), of a state or a batch.

    memory (..., size): at the start, then after the latest substep. batched: as of `ActuatorMemory.command`.
    """

    def __init__(
        self, of: ActuatorMemory, memory: np.ndarray, control: np.ndarray, batched: BatchedTables | None = None
    ) -> None:
        self.of, self.memory, self.control, self._batched = of, memory, control, batched

    def __call__(self, k: int, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the commands (..., nv) of the k-th substep, which starts at (q, v)."""
        nv = v.shape[-1]
        self.memory, command = self.of.command(k, self.memory, q, v, self.control[..., :nv], self._batched)
        if self.control.shape[-1] == nv:
            return command
        return np.concatenate([command, self.control[..., nv:]], axis=-1)  # with the table of external forces

    def of_all(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the commands of all substeps of one state, one after the other, where they depend on nothing within.

        The table of external forces follows.
        """
        nv, parts = v.shape[-1], self.of.substeps
        found = np.empty(parts * nv + self.control.size - nv)
        found[parts * nv :] = self.control[nv:]
        for k in range(parts):
            self.memory, found[k * nv : (k + 1) * nv] = self.of.command(k, self.memory, q, v, self.control[:nv])
        return found

    def end(self, force: np.ndarray) -> None:
        """Continue after a substep with the mean forces (..., nv)."""
        self.of.put_currents(self.memory, force)


class BatchCommands:
    """Commands of the substeps of a batch, as `StepCommands`, in arrays that exist for all steps.

    command (count, nv): where commands are written. batched: see `ActuatorMemory.command`; its numbers are read when
    each step begins.
    """

    def __init__(self, of: ActuatorMemory, command: np.ndarray, batched: BatchedTables | None) -> None:
        count, robot = len(command), of.robot
        self.of, self.command, self.places, self._turn = of, command, batched and batched.places, 0
        self._control, self._states = np.empty(command.shape), (np.zeros((count, robot.nq)), np.zeros(command.shape))
        self._memories = np.empty((2, count, of.size))
        self._rates = None if batched is None else np.empty(batched.numbers.shape)
        entry, constants = of.bound.entry, of.bound.constants
        if batched is not None:
            entry, constants = batched.taken_by(entry, constants, 7, 5)
        fixed = [*self._states, self._control, *([] if self._rates is None else [self._rates])]
        self._calls = [
            [
                bound_call(entry, *constants, *(x.reshape(-1) for x in (number, before, *fixed, after, command)))
                for before, after in (self._memories, self._memories[::-1])
            ]
            for number in (np.full((count, 1), float(k)) for k in range(of.substeps))
        ]

    def serves(self, of: ActuatorMemory, command: np.ndarray, batched: BatchedTables | None) -> bool:
        """Return whether these commands are written to an array, with batched numbers at these places."""
        return self.of is of and self.command is command and self.places is (batched and batched.places)

    def begin(self, memory: np.ndarray, control: np.ndarray, batched: BatchedTables | None) -> None:
        """Begin a step under a control (count, nv) with a memory (count, size)."""
        self._turn, self._memories[0], self._control[...] = 0, memory, control
        if batched is not None and self._rates is not None:
            self._rates[...] = batched.numbers

    @property
    def memory(self) -> np.ndarray:
        """Memory (count, size) at the start of the step, then after the latest substep."""
        return self._memories[self._turn]

    def __call__(self, k: int, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the commands (count, nv) of the k-th substep, which starts at (q, v)."""
        if self.of.reads_states:
            self._states[0][...], self._states[1][...] = q, v
        self._calls[k][self._turn]()
        self._turn = 1 - self._turn
        return self.command

    def end(self, force: np.ndarray) -> None:
        """Continue after a substep with the mean forces (count, nv)."""
        self.of.put_currents(self.memory, force)


def commands_of(every: np.ndarray, parts: int, table: np.ndarray | None) -> Callable[..., np.ndarray]:
    """Return the function (k, q, v) that returns the controls of part k, from those of all parts (`of_all`)."""
    end = every.size - (0 if table is None else table.size)
    controls, external = every[:end].reshape(parts, -1), every[end:]
    return lambda k, q, v: np.concatenate([controls[k], external])


def filter_shares(lag: np.ndarray | np.float64, h: float) -> tuple[np.ndarray, np.ndarray]:
    """Return `decay` and `mean` (see `Numbers`) of filters with time constants lag [s] in substeps of h [s]."""
    ratio = np.divide(h, lag, out=np.full(np.shape(lag), math.inf), where=lag > 0)
    return np.exp(-ratio), -np.expm1(-ratio) / ratio


def is_late(late: Late) -> bool:
    """Return whether commands do not reach an actuator at once."""
    return bool(late.most or late.lag or late.rate < math.inf)


def has_memory(actuator: Actuator) -> bool:
    """Return whether an actuator's force depends on earlier commands or states."""
    return bool(is_late(actuator._late) or actuator._time_constant or actuator._period)


def actuator_memory(
    world: World, rule: Rule, dt: float, substeps: int, settings: StepSettings
) -> ActuatorMemory | None:
    """Return the memory of a world's actuators in its steps; None if they have none."""
    table = world.actuator_table
    if table is None or not any(map(has_memory, table.by_joint.values())):
        return None
    return ActuatorMemory(world, rule, dt, substeps, settings)
