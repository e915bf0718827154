"""Rollouts with contact or external forces, step by step.

In each step the unconstrained motion of all rollouts is computed by SIMD code, then their contact is solved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from functools import lru_cache, partial
from typing import Any

import numpy as np

from ..contact.checks import ContactChecks, begin_checks
from ..contact.deep_overlaps import deepest_bodies
from ..contact.lanes import begin_info, begin_lanes
from ..contact.stored_impulses import clear_unlisted, current_impulses
from ..contact.unsolved import worst_residual
from ..engine.call.batched import BatchedTables
from ..engine.call.evaluate import run_states
from ..engine.call.expression_code import columns_of
from ..engine.call.specialized import BatchCode
from ..engine.call.steps import Arrays, Carried, Measured, all_finite
from ..engine.graph.policies import Policy
from ..engine.threads import over_threads, use_threads
from ..errors import ContinuationWarning
from ..kernels.contact.layout import INFO
from ..kernels.entries.status import FINE
from ..kernels.stepping.command import commands_states
from ..kernels.stepping.measured_step import ENDED
from ..policies.noise import noise_of
from ..simulation.actuator_memory import BatchCommands, StepCommands
from ..simulation.batch_steps import UnconstrainedEntry
from ..simulation.kinematic import StepMotion, Times
from ..simulation.step import StepCall, StepCode
from ..simulation.step_result import StepResult
from ..system.user_warnings import warn
from .arguments import Method, Start
from .contact_lanes import LaneMemory, LaneResult, LaneSteps, begin_memory
from .parameters import Physics

STATES_PER_THREAD = 16  # fewer are stepped by the calling thread


@lru_cache(maxsize=16)  # as many as cached methods
def free_code(code: StepCode, engine: str) -> BatchCode | None:
    """Return the SIMD code of unconstrained steps, None if there is none."""
    return UnconstrainedEntry.of(code, None).on_lanes(engine)


class ContactSteps:
    """Steps with contact or external forces of many rollouts in double precision, and the impulses of their warm start.

    A rollout's bits depend neither on other rollouts nor on their number.
    """

    def __init__(
        self, method: Method, start: Start, policy: Policy | None, engine: str, checks: ContactChecks | None,
        physics: Physics | None = None, measured: Measured | None = None, wrenches: bool = False,
        controls: bool = False,
    ) -> None:  # fmt: skip
        assert method.code is not None
        assert method.code.bound is not None
        self.measured = measured
        self.method, self.start, self.policy, self.code = method, start, policy, method.code
        self.policy_columns = None if policy is None else columns_of(policy, engine)
        self.noise = noise_of(start.law)
        self.reports_controls = controls
        self.recorded: tuple[str, ...] = ()  # attributes that records contain after the states
        self.checks = begin_checks(len(start.q)) if checks is None else checks
        self.forces = start.forces
        if self.code.forces is not None and engine != "generic":
            self.code.forces.use_simd()
        self.free, self.touching = self._batched(physics)
        self.gains = None
        if physics is not None and self.code.effort is not None:
            self.gains = physics.within(self.code.effort.bound.entry, "settings", count=len(start.q))
        # delays, lags and rate limits of each rollout, and of the current ones
        self.rates = None if physics is None else physics.within(commands_states, "rates", count=len(start.q))
        self.own_rates: BatchedTables | None = None
        fields = {} if physics is None else physics.fields
        self.gravity = fields["gravity"].values[..., 0, :] if "gravity" in fields else None
        # parameters of the current rollouts: inputs of unconstrained steps, and constants of the contact solve
        self.own: list[np.ndarray] = []
        self.own_touching: BatchedTables | None = None
        self.own_gains: BatchedTables | None = None
        self.moves = bool(method.world.kinematic)
        self.elapsed: int | np.ndarray = 0  # steps before the step of number 0, of all or of each rollout (B,)
        moving = self.moves and method.work
        self.wrenches = wrenches or moving or (measured is not None and measured.reduction.contact)
        self.wrenches = self.wrenches or (policy is not None and policy.takes_contact)
        stage = method.code.stage
        on_lanes = stage is not None and engine != "generic"
        self.lanes = None if engine == "generic" else self._lane_code(engine)
        self.touch = begin_lanes(stage, self.touching is not None) if stage is not None and on_lanes else None
        self.part: LaneSteps | None = None  # of the rollouts that are stepped, if these are on SIMD lanes
        # first of the current rollouts, their impulses, and memory for those of the next step
        self.first, self.kept, self.next = -1, np.empty((0, 0)), np.empty((0, 0))
        self.actuators = np.empty((0, 0))  # memory of the current rollouts' actuators
        self.commands: dict[int, BatchCommands] = {}  # of parts of the rollouts, by their first one
        self.info = begin_info(0)  # diagnostics of the current rollouts, see `ContactLanes.bound`
        # whether their growth is measured
        self.overlaps = stage is not None and method.world.touching.largest_overlap < np.inf
        self.memory: LaneMemory | None = None  # of the current rollouts, if these are on SIMD lanes
        self.wrench = np.zeros(1)  # mean wrenches in the current step, times substeps
        self.control = np.empty((0, 0))  # of a policy that takes it, in the last step
        self.policy_memory = np.empty((0, 0))  # of the current rollouts
        self.force: np.ndarray = np.empty((0, 0))  # mean forces (count, nv) of the controls in the last substep
        self.applied: np.ndarray = np.empty((0, 0))  # and in the last step, if requested

    def _batched(self, physics: Physics | None) -> tuple[BatchedTables | None, BatchedTables | None]:
        """Return the batched model parameters in the constants of unconstrained steps, and of the contact solve."""
        if physics is None:
            return None, None
        bound, stage, count = self.code.bound, self.code.stage, len(self.start.q)
        assert bound is not None
        free = physics.within(bound.entry, "reals", "settings", count=count)
        if stage is None:
            return free, None
        return free, physics.within(stage.entry, "reals", "settings", "geometry", count=count)

    def _lane_code(self, engine: str) -> BatchCode | None:
        """Return the SIMD code of unconstrained steps, None if there is none."""
        if self.free is None:
            return free_code(self.code, engine)
        return UnconstrainedEntry.of(self.code, self.free).on_lanes(engine)

    def carry(self, rows: slice, steps: slice, states: Arrays, results: Arrays, every: int) -> Carried:
        """Step the rollouts `rows` through `steps`, see `engine.call.steps.RolloutSegment`."""
        carried = self._carry(rows, steps, states, results, every)
        finite = self.policy is not None or all_finite(self.start.u[rows, steps])
        return carried if finite else carried._replace(finite=False)

    def _carry(self, rows: slice, steps: slice, states: Arrays, results: Arrays, every: int) -> Carried:
        """Step rollouts as `carry`, which then checks the controls that are given."""
        count = len(states[0])
        self._begin(rows, steps, states[0])
        if self.touch is None:
            controls, measured = partial(self._control, rows), self.measured and self.measured.of(rows)
            carried = self._walk(controls, self.checks.residual[rows], steps, states, results, every, measured)
            self._put_checks(rows)
            return carried
        done, own = dict[tuple[int, int], Carried](), dict[tuple[int, int], ContactSteps]()
        memory = self.memory
        assert memory is not None
        memory.complete = False

        def carry_part(first: int, last: int) -> int:
            with use_threads(1):
                part = first, last
                done[part], own[part] = self._carry_part(slice(first, last), rows, steps, states, results, every)
            return FINE

        over_threads(carry_part, count, STATES_PER_THREAD)
        memory.complete = True
        self._put_checks(rows)
        if (steps.stop - steps.start) * self.method.substeps % 2:
            self.kept, self.next = self.next, self.kept
        parts = [done[part] for part in sorted(done)]
        ends = [np.concatenate(x) for x in zip(*(part.states for part in parts), strict=True)]
        if self.reports_controls:
            self.applied = np.concatenate([own[part].applied for part in sorted(done)])
        if self.wrenches:
            self.wrench = np.concatenate([own[part].wrench for part in sorted(done)])
        if self.policy is not None and self.policy.takes_control:
            self.control = np.concatenate([own[part].control for part in sorted(done)])
        return Carried(ends, all(part.finite for part in parts))

    def _carry_part(
        self, part: slice, rows: slice, steps: slice, states: Arrays, results: Arrays, every: int
    ) -> tuple[Carried, ContactSteps]:
        """Step a part of the rollouts `rows`, with arrays of its own: parts run on different threads.

        Returns also what took these steps.
        """
        own, one = slice(rows.start + part.start, rows.start + part.stop), copy(self)
        one.first = own.start
        one.own = [x[part] for x in self.own]
        one.own_gains = None if self.own_gains is None else self.own_gains.of(part)
        one.own_touching = None if self.own_touching is None else self.own_touching.of(part)
        one.own_rates = None if self.own_rates is None else self.own_rates.of(part)
        one.actuators = self.actuators[part]
        if self.policy is not None and self.policy.takes_control:
            one.wrench, one.control, one.policy_memory = self.wrench[part], self.control[part], self.policy_memory[part]
        measured = self.measured and self.measured.of(own)
        given = [x[part] for x in states], [x[part] for x in results]
        one.part = one._lane_steps(part)
        how = self.checks.residual[own], steps, *given, every, measured
        one.part.few = one._few_steps
        try:
            return one._walk(partial(one._control, own), *how), one
        finally:
            one.part.few = None  # which refers to the controls of all steps

    def _lane_steps(self, part: slice) -> LaneSteps:
        """Return the substeps of a part of the current rollouts, of which the model parameters are selected."""
        assert self.memory is not None
        parts, key = self.memory.parts, (part.start, part.stop)
        if key not in parts:
            self.memory.exchanged = self.kept is not self.memory.kept
            parts[key] = self._new_lane_steps(self.kept[part], self.next[part], self.info[part])
        return parts[key]

    def _new_lane_steps(self, kept: np.ndarray, following: np.ndarray, info: np.ndarray) -> LaneSteps:
        """Return substeps of the rollouts that `own`, `own_gains` and `own_touching` are of."""
        assert self.touch is not None
        effort, robot, count = self.code.effort, self.method.world.robot, len(kept)
        return LaneSteps(
            self._bound_free, self.touch, (count, robot.nq), (count, robot.nv), kept, following, info,
            self.method.world.m, None if effort is None else partial(effort.bound_to, batched=self.own_gains),
            self.code.forces, self.own_touching, self.wrenches,
        )  # fmt: skip

    def _few_steps(self, count: int) -> tuple[LaneSteps, list[tuple[np.ndarray, np.ndarray]]]:
        """Return substeps of `count` rollouts, and pairs of arrays: their model parameters, and those of all."""
        few, pairs = copy(self), [(x[:count].copy(), x) for x in self.own]
        few.own = [own for own, _ in pairs]
        for name in ("own_gains", "own_touching"):
            given = getattr(self, name)
            if given is not None:
                pairs.append((given.numbers[:count].copy(), given.numbers))
                setattr(few, name, given._replace(numbers=pairs[-1][0]))
        assert self.touch is not None
        kept, following = np.zeros((2, count, self.touch.stage.touching.warm_start_size))
        return few._new_lane_steps(kept, following, begin_info(count)), pairs

    def _begin(self, rows: slice, steps: slice, q: np.ndarray) -> None:
        """Reset the warm start unless the same rollouts continue; select these rollouts' model parameters.

        q (count, nq): current configurations of these rollouts, from which the memory of their actuators begins.
        """
        self.own = [] if self.free is None else [self.free.numbers[rows]]
        self.own_touching = None if self.touching is None else self.touching.of(rows)
        self.own_gains = None if self.gains is None else self.gains.of(rows)
        self.own_rates = None if self.rates is None else self.rates.of(rows)
        if steps.start == 0 or rows.start != self.first:
            self._reset(rows.start, len(q))
            memory, numbers = self.method.memory, self.start.rollouts
            if memory is not None:
                numbers = np.arange(rows.start, rows.stop) if numbers is None else numbers[rows]
                self.actuators = memory.begin(np.asarray(q, float), self.start.seed, numbers)
            if self.start.memory is not None:
                self.policy_memory = self.start.memory.end[rows]  # a view
                self.policy_memory[...] = self.start.memory.start[rows]

    def _reset(self, first: int, count: int) -> None:
        """Set all impulses of `count` rollouts from `first` on to zero."""
        self.first, self.memory, self.commands = first, None, {}
        if self.touch is None:
            self.kept, self.next = np.zeros((2, count, self.method.world.touching.warm_start_size))
            self.info = begin_info(count)
        else:
            make = LaneMemory if self.touching is not None else begin_memory  # model parameters are its inputs
            self.memory = make(self.touch, self.lanes, self.wrenches, count)
            self.kept, self.next, self.info = self.memory.kept, self.memory.following, self.memory.info
        if self.policy is not None and self.policy.takes_control:
            robot = self.method.world.robot
            self.wrench, self.control = np.zeros((count, 6 * (robot.n_bodies + 1))), np.zeros((count, robot.nv))

    def begin(self, q: np.ndarray) -> None:
        """Begin the first rollouts at configurations q (count, nq)."""
        self._begin(slice(0, len(q)), slice(0, 1), q)

    def restart(self, rows: Any, actuators: np.ndarray | None = None) -> None:
        """Reset the warm start and the checks of some of the first rollouts, whose states are new.

        actuators: memory of their actuators, if they have any.
        """
        self.checks.reset(rows)
        if self.first == 0:
            if actuators is not None:
                self.actuators[rows] = actuators
            self.kept[rows] = 0.0
            self.info[rows, INFO.growth], self.info[rows, INFO.worst], self.info[rows, INFO.before] = 0.0, 0.0, np.inf

    def _put_checks(self, rows: slice) -> None:
        """Write the diagnostics of all steps so far of the current rollouts."""
        checks, info = self.checks.of(rows), self.info
        if self.measured is None:  # else residuals after the end of a rollout do not count: see `_walk`
            np.maximum(checks.residual, info[:, INFO.worst], out=checks.residual)
        checks.growth[...], checks.body[...] = info[:, INFO.growth], info[:, INFO.grew_on]
        checks.step[...] = info[:, INFO.grew_in] // self.method.substeps

    def _grow(self, overlap: np.ndarray, wrench: np.ndarray) -> None:
        """Update the growth of overlaps by those (B,) at the end of a substep; wrench (B, N + 1, 6): on bodies."""
        info = self.info
        grown = overlap - info[:, INFO.before]
        larger = np.flatnonzero(grown > info[:, INFO.growth])
        if larger.size:
            info[larger, INFO.growth], info[larger, INFO.grew_in] = grown[larger], info[larger, INFO.done]
            info[larger, INFO.grew_on] = deepest_bodies(wrench[larger], self.method.world.touching.bodies)
        info[:, INFO.before] = overlap
        info[:, INFO.done] += 1

    @property
    def mean_wrench(self) -> np.ndarray:
        """Mean wrenches (count, N + 1, 6) on the bodies of the current rollouts in the last step, if requested."""
        return self._mean.reshape(-1, self.method.world.robot.n_bodies + 1, 6)

    @property
    def _mean(self) -> np.ndarray:
        return self.wrench if self.method.substeps == 1 else self.wrench / self.method.substeps

    def take_over(self, other: ContactSteps) -> None:
        """Continue from the impulses and diagnostics of the current rollouts of other steps."""
        if other.first < 0:
            self.first = -1
            return
        self._begin_with(other.first, other.kept)
        self.info[...], self.actuators = other.info, other.actuators.copy()
        self.control, self.wrench, self.policy_memory = other.control, other.wrench, other.policy_memory

    def settled(self, q: np.ndarray, v: np.ndarray, control: np.ndarray) -> tuple[StepResult, np.ndarray]:
        """Return a part of a step of all rollouts without contact, and controls that respect the effort limits."""
        self._begin(slice(0, len(q)), slice(0, 1), q)
        result = self.code.new_result((len(q),))
        call = StepCall(self._free, q, v, None, result, gains=self.own_gains)
        return result, self.code.settle(call, control)[1]

    def impulses(self) -> np.ndarray | None:
        """Return the impulses (count, R) of the first rollouts for the warm start; None if they are not current."""
        if self.first != 0:
            return None
        found = self.kept.copy()
        clear_unlisted(found, self.method.world.touching)
        return found

    def restore(self, impulses: np.ndarray, actuators: np.ndarray | None = None) -> None:
        """Set the impulses for the warm start to those that `impulses` returned, also that of an older version.

        actuators: memory of the rollouts' actuators, if they have any.
        """
        known = current_impulses(impulses, self.method.world.touching)
        if known is None:
            warn(
                "stored impulses of contact do not fit this version: states continue without them", ContinuationWarning
            )
        else:
            self._begin_with(0, known)
            if actuators is not None:
                self.actuators = actuators.copy()

    def _begin_with(self, first: int, impulses: np.ndarray) -> None:
        """Set the impulses (count, R) of the rollouts from `first` on."""
        self._reset(first, len(impulses))
        self.kept[...] = impulses

    def _walk(
        self, controls: Callable[[int, Arrays], np.ndarray], worst: np.ndarray, steps: slice, states: Arrays,
        results: Arrays, every: int, measured: Measured | None,
    ) -> Carried:  # fmt: skip
        """Step states one by one.

        controls(step, states): returns the control. worst: residuals (B,), overwritten. measured: measures of these
        rollouts.
        """
        now = [np.array(x, dtype=float, order="C") for x in states]
        kept = [now.pop()] if measured else []
        places = results[: len(now) + len(self.recorded)]  # records do not contain the measures' memory
        finite, residuals, motion = True, worst, None
        for step in range(steps.start, steps.stop):
            control = controls(step, now)
            if self.policy is not None:
                finite = bool(np.isfinite(control).all()) and finite
            commands = self._commands(control)
            if commands is None:
                control = self._stored(control)
            if self.wrenches:
                self.wrench = np.zeros(1)
            if measured:
                before, residuals = [x.copy() for x in now], np.zeros_like(worst)
            if self.moves:
                motion = self.code.motion(self._time(step, len(worst)), self.method.dt, self.method.substeps)
            self.applied = np.zeros(1)
            for k in range(self.method.substeps):
                if commands is not None:
                    control = commands(k, *now[:2])
                now = self._substep(control, now, residuals, k, motion)
                if commands is not None:
                    commands.end(self.force)
            if commands is not None:
                self.actuators[...] = commands.memory
            self.applied = self.applied / self.method.substeps
            if measured:
                residuals[kept[0][:, ENDED] != 0] = 0.0
                now, kept[0] = measured.after(before, now, kept[0], self._mean)
                np.maximum(worst, residuals, out=worst)
            if (step - steps.start + 1) % every == 0:
                finite = self._is_finite(now) and finite
                for result, x in zip(places, (*now, *map(self.__getattribute__, self.recorded)), strict=True):
                    result[:, (step - steps.start) // every] = x
        return Carried([*now, *kept], finite)

    def _commands(self, control: np.ndarray) -> StepCommands | BatchCommands | None:
        """Return the commands of actuators with memory in a step of the current rollouts; None without these."""
        memory, part, rates = self.method.memory, self.part, self.own_rates
        if memory is None:
            return None
        if part is None:
            return StepCommands(memory, self.actuators, np.array(control, dtype=float, order="C"), rates)
        found = self.commands.get(self.first)
        if found is None or not found.serves(memory, part.control, rates):
            found = self.commands[self.first] = BatchCommands(memory, part.control, rates)
        found.begin(self.actuators, control, rates)
        return found

    def _time(self, step: int, count: int) -> Times:
        """Return the time [s] at which a step begins; of each of the `count` current rollouts if times differ."""
        elapsed = self.elapsed
        if isinstance(elapsed, np.ndarray):
            elapsed = elapsed[self.first : self.first + count]
        return self.method.dt * (step + elapsed)

    def _work_of_motion(
        self, motion: StepMotion, before: Sequence[np.ndarray], result: StepResult | LaneResult
    ) -> np.ndarray:
        """Return the work (count, 2) that moved the kinematic bodies in a substep from (q, v) = `before`."""
        gravity = self.gravity
        if gravity is not None and gravity.ndim > 1:
            gravity = gravity[self.first : self.first + len(result.q)] if len(gravity) > 1 else gravity[0]
        moving = motion.work((before[0], before[1]), [result], gravity)
        return np.stack([moving, np.zeros_like(moving)], axis=-1)

    def _control(self, rows: slice, step: int, now: Arrays) -> np.ndarray:
        if self.policy is None or self.policy_columns is None:
            u = self.start.u[rows, step]
        else:
            p, numbers = self.start.p[rows].astype(float), self.start.rollouts
            if len(self.noise.widths):
                own = np.arange(rows.start, rows.stop) if numbers is None else numbers[rows]
                p = np.concatenate([p, self.noise.of(step, own)], axis=1)
            u = self._policy_control(self._time(step, len(now[0])), *now[:2], p)
        if self.forces is None:
            return u
        table = self.forces.at(rows, step)
        table = np.broadcast_to(table, (len(u), table.shape[1]))
        if self.part is None:
            return np.concatenate([u, table], axis=1)
        self.part.table = table
        return u

    def _policy_control(self, *given: np.ndarray | float) -> np.ndarray:
        """Return the control of the policy at t, q, v with parameters p, and update its memory."""
        policy, columns = self.policy, self.policy_columns
        assert policy is not None
        assert columns is not None
        if not policy.takes_control:
            return columns(*given)
        wrench = self._mean if policy.takes_contact else np.broadcast_to(0.0, (len(self.control), policy.sizes[5]))
        before = self.control, wrench, *([self.policy_memory] if policy.memory else [])
        found = columns(*given, *before)
        self.control = found[:, : found.shape[1] - policy.memory]
        if policy.memory:
            self.policy_memory[...] = found[:, self.control.shape[1] :]
        return self.control

    def _stored(self, control: np.ndarray) -> np.ndarray:
        """Store a control where the steps read it."""
        if self.part is None:
            return np.array(control, dtype=float, order="C")
        self.part.control[...] = control
        return self.part.control

    def _is_finite(self, now: Arrays) -> bool:
        """Return whether the states after a step are finite."""
        if self.part is not None:
            return self.part.finite
        return all(np.isfinite(x).all() for x in now)

    def _substep(
        self, control: np.ndarray, now: Arrays, worst: np.ndarray, k: int, motion: StepMotion | None
    ) -> list[np.ndarray]:
        """Take the k-th substep of a step from the states `now`; return the states at its end."""
        (q, v, *total), velocities = now, None
        if motion is not None:
            before = q, v = q.copy(), v.copy()  # steps on lanes overwrite the states before
            velocities = motion.end_velocities(k, v)
            q, v = motion.begin(k, q, v)
        part = self.part
        if part is not None:
            found = part.step(q, v, velocities)
            if motion is not None:
                motion.end(k, found[0])
                moved = LaneResult(*found, part.applied, part.wrench)
                total = [x + self._work_of_motion(motion, before, moved) for x in total]
            self.force = part.applied
            if self.reports_controls:
                self.applied = self.applied + part.applied
            if self.measured is not None:
                np.maximum(worst, part.residuals, out=worst)
            if part.wrench is not None:
                wrench = part.wrench.reshape(len(q), -1)
                self.wrench = wrench if self.method.substeps == 1 else self.wrench + wrench
            return [*found, *[x + part.work for x in total]]
        result = self.code.new_result((len(q),))
        start = self._free, q, v, self.kept
        call = StepCall(*start, result, self.own_touching, velocities=velocities, gains=self.own_gains)
        self.code.step_with(call, control)
        if motion is not None:
            motion.end(k, result.q)
            if total:
                total = [x + self._work_of_motion(motion, before, result) for x in total]
        total, self.force = [x + result.work for x in total], result.force
        if self.reports_controls:
            self.applied = self.applied + result.force
        if self.code.stage is None:
            return [result.q, result.v, *total]
        self.kept = result.warm_start
        if self.wrenches:
            self.wrench = self.wrench + result.wrench.reshape(len(q), -1)
        np.maximum(worst, worst_residual(result.solver_info), out=worst)
        if self.overlaps:
            self._grow(result.solver_info[:, INFO.penetration], result.wrench)
        return [result.q, result.v, *total]

    def _free(self, *arrays: Any) -> int:
        """Take the unconstrained step of a batch, by the same code for any number of states."""
        return self._bound_free(arrays)()

    def _bound_free(self, arrays: Sequence[np.ndarray]) -> Callable[[], int]:
        """Return the function that takes the unconstrained step of a batch, in the same arrays at every call."""
        count = len(arrays[0])
        n = 3 if self.forces is None else 4
        flat = [x.reshape(count, -1) for x in (*arrays[:n], *self.own, *arrays[n:])]
        if self.lanes is not None:
            return self.lanes.bound(flat, count)
        entry, constants, sizes, _ = UnconstrainedEntry.of(self.code, self.free)
        return partial(run_states, entry, constants, flat[: len(sizes)], flat[len(sizes) :], "generic")
