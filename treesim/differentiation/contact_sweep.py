"""Gradients through many steps with contact, from the last step to the first, of many states together."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..engine.graph.policies import Policy
from ..errors import ContactWarning
from ..kernels.contact.layout import SURFACE, pair_of
from ..kernels.contact.row_derivatives import contact_row_derivatives_states
from ..kernels.contact.set_equations import RECOVERY
from ..simulation.step import StepCode, StepParameters
from ..simulation.stepper import Stepper
from ..system.user_warnings import warn
from .contact_gradient import ROBOT, ContactGradient, MotionGradient, RowParameters
from .midpoint_pullback import MidpointPullback, MidpointTape, Start
from .midpoint_tangents import SEVERAL, can_correct, is_fast
from .solved_part import SolvedPart, solved_part, touches, warn_unsolved
from .step_parts import Motion, step_parts
from .step_pullback import Function, StepInputs, StepPullback, Tape
from .step_sweep import BatchedPlaces, Fixed, Gradients, PolicyPullback, Steps

BLOCK = 256  # states whose contact points are in memory at a time
NEARLY = 0.5  # of the motion of steps that are solved a second time: the first solution is not known here


class PartModel(NamedTuple):
    """Model parameters of B states: those of steps, those of rows, and the table (B, n) of `StepPullback`."""

    step: StepParameters | None
    rows: RowParameters
    table: np.ndarray


class PartTape(NamedTuple):
    """A part of a step of B states: its inputs, calls, and motion (2, B, nv).

    once, twice (B,): states in contact that are solved once, and a second time at their midpoint, if there are any.
    """

    solved: SolvedPart
    given: StepInputs
    tape: Tape
    motion: np.ndarray
    once: np.ndarray
    contact: ContactGradient | None
    twice: np.ndarray
    corrected: MidpointTape | None


class ContactSweep:
    """Gradients through steps with contact.

    code: of the steps, whose model parameters `batched` may be those of each state.
    """

    def __init__(self, stepper: Stepper, policy: Policy | None, batched: BatchedPlaces, code: StepCode) -> None:
        self._stepper, self._batched, self._code, nv = stepper, batched, code, stepper.robot.nv
        self._policy = None if policy is None else PolicyPullback(stepper.robot, policy)
        self._end_back = Function(step_parts(stepper.robot, stepper.rule).end.gradients, [nv, nv, nv, 1])

    @cached_property
    def _free(self) -> StepPullback:
        stepper = self._stepper
        return StepPullback(stepper.robot, stepper.rule, stepper.settings.table.size, self._batched.robot)

    def run(
        self, after: Gradients, fixed: Fixed, steps: Steps, controls: np.ndarray, impulses: np.ndarray | None = None
    ) -> Gradients:
        """Return the gradients at the start, see `Sweep`."""
        before = self._impulses(fixed, steps, impulses)
        for k in reversed(range(controls.shape[1])):
            step = Steps(*(x[:, k] for x in steps))
            weights = after.state + np.concatenate([step.on_q, step.on_v], axis=1)
            found = [
                self._through(
                    step.q[own], step.v[own], step.control[own], self._model(fixed.numbers[own]), weights[own], x
                )
                for own, x in zip(_blocks(len(weights)), before[k], strict=True)
            ]
            state, controls[:, k], numbers = (np.concatenate(x) for x in zip(*found, strict=True))
            after, parameters = after._replace(numbers=after.numbers + numbers), after.parameters
            if self._policy is not None:
                given = step.t, step.q, step.v, fixed.parameters, controls[:, k] + step.on_control
                *more, in_p = self._policy(*given)
                state, parameters = state + np.concatenate(more, axis=1), parameters + in_p
            after = after._replace(state=state, parameters=parameters)
        return after

    def _impulses(self, fixed: Fixed, steps: Steps, impulses: np.ndarray | None) -> list[list[np.ndarray | None]]:
        """Return the impulses before each step, by blocks of states."""
        found: list[list[np.ndarray | None]] = [
            [None if impulses is None else impulses[own] for own in _blocks(len(steps.q))]
        ]
        for k in range(steps.q.shape[1] - 1):
            ends = []
            for own, before in zip(_blocks(len(steps.q)), found[-1], strict=True):
                (q, v), model = (steps.q[own, k], steps.v[own, k]), self._model(fixed.numbers[own])
                for _ in range(self._stepper.substeps):
                    result = self._solved(q, v, steps.control[own, k], model, before).result
                    q, v, before = result.q, result.v, result.warm_start
                ends.append(before)
            found.append(ends)
        return found

    def _solved(
        self, q: np.ndarray, v: np.ndarray, u: np.ndarray, model: PartModel, before: np.ndarray | None
    ) -> SolvedPart:
        return solved_part(self._stepper, self._code, q, v, u, before, model.step)

    def _model(self, numbers: np.ndarray) -> PartModel:
        """Return the model parameters of states, from the numbers (B, m) that differ between them."""
        batched, code, touch = self._batched, self._code, self._stepper.world.touching.touch
        settings, robot, contact = batched.split(numbers)
        own = self._stepper.settings.table
        table = np.concatenate([np.broadcast_to(own, (len(numbers), own.size)), robot], axis=1)
        table[:, list(batched.settings)] = settings
        if not any(batched):
            return PartModel(None, ROBOT, table)
        bound = code.bound, code.stage, None if code.effort is None else code.effort.bound
        step = StepParameters(*[None if x is None else batched.within(x.entry, numbers) for x in bound])
        friction = None
        if batched.contact:
            friction = np.repeat(touch.surface[None, :, SURFACE.friction], len(numbers), axis=0)
            friction[:, self._pairs] = contact
        return PartModel(step, RowParameters(batched.within(contact_row_derivatives_states, numbers), friction), table)

    @property
    def _pairs(self) -> np.ndarray:
        """Pairs of solids whose friction is that of each state."""
        return pair_of(np.array(self._batched.contact, int))

    def _through(
        self,
        q: np.ndarray,
        v: np.ndarray,
        u: np.ndarray,
        model: PartModel,
        weights: np.ndarray,
        before: np.ndarray | None,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the gradients in the state (B, 2 nv) at the start of a step, in its control, and in the numbers."""
        parts, now = list[PartTape](), (q, v)
        for _ in range(self._stepper.substeps if v.size else 0):
            parts.append(self._part(*now, u, model, before))
            result = parts[-1].solved.result
            now, before = (result.q, result.v), result.warm_start
        state, control, numbers = weights, np.zeros(v.shape), np.zeros((len(q), sum(map(len, self._batched))))
        for part in reversed(parts):
            state, in_control, in_numbers = self._back(part, state)
            control, numbers = control + in_control, numbers + in_numbers
        return state, control, numbers

    def _part(
        self, q: np.ndarray, v: np.ndarray, u: np.ndarray, model: PartModel, before: np.ndarray | None
    ) -> PartTape:
        """Take a part of a step."""
        stepper = self._stepper
        solved = self._solved(q, v, u, model, before)
        given = StepInputs(q, v, model.table, solved.control)
        tape = self._free.tape(given)
        free, (_, _, tau, armature) = np.stack(self._free.motion(given, tape)), tape.calls[-1]
        touching = touches(stepper, solved, *free)
        motion = np.where(touching[:, None], solved.taken, free)
        twice, corrected = self._corrected(
            solved, Start(q, v, Motion(*free), tau, armature, model.table), model, touching
        )
        once, contact = touching & ~twice, None
        if once.any():
            own, (mean, end) = solved.of(once), free[:, once]
            contact = ContactGradient(stepper, own.states(v[once], mean, end, armature[once]), model.rows.of(once))
        warn_unsolved(solved)
        return PartTape(solved, given, tape, motion, once, contact, twice, corrected)

    def _corrected(
        self, solved: SolvedPart, start: Start, model: PartModel, touching: np.ndarray
    ) -> tuple[np.ndarray, MidpointTape | None]:
        """Return which states (B,) are solved a second time, at their midpoint, and these parts."""
        stepper, stage, h = self._stepper, self._code.stage, self._stepper.settings.table[0]
        twice = np.zeros(len(touching), bool)
        if stage is None or not stage.corrects:
            return twice, None
        end = start.free.end
        some = np.flatnonzero(touching & is_fast(h, solved.taken[1] - end, end, NEARLY))
        if not some.size:
            return twice, None
        first = self._solved_of(solved, start, model, some)
        fast = is_fast(h, first.taken[1] - end[some], end[some])
        if not can_correct(stepper):
            if fast.any():
                warn(SEVERAL, ContactWarning)
            return twice, None
        twice[some[fast]] = True
        if not fast.any():
            return twice, None
        return twice, self._midpoint.tape(start.of(twice), first.of(fast), solved.of(twice), model.rows.of(twice))

    def _solved_of(self, solved: SolvedPart, start: Start, model: PartModel, states: np.ndarray) -> SolvedPart:
        """Take the first solution of some states."""
        own, parameters = solved.of(states), None if model.step is None else model.step.of(states)
        given = self._first, own.q, start.v[states], own.given, own.before
        return solved_part(self._stepper, *given, parameters)

    @cached_property
    def _first(self) -> StepCode:
        """Code of steps without a second solution, with gains of each state."""
        stepper, own = self._stepper, bool(self._batched.settings)
        given = stepper.world, stepper._solver, stepper.settings, stepper.options
        return StepCode(*given, own_gains=own, pairs=False, corrects=False)

    @cached_property
    def _midpoint(self) -> MidpointPullback:
        return MidpointPullback(self._stepper, self._free)

    def _back(self, part: PartTape, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the gradients in the state and the control at the start of a part, and in the numbers."""
        q, end, table = part.given.q, part.solved.result.q, part.given.table
        h, still = np.full((len(q), 1), self._stepper.settings.table[0]), np.zeros(part.given.v.shape)
        in_q, of_mean, of_end, _ = self._end_back(still, q, *part.motion, h, end, weights)
        of_motion = np.concatenate([of_mean, of_end], axis=1)
        in_v, in_tau, in_armature, in_table = 0 * still, 0 * still, 0 * still, 0 * table
        in_contact = np.zeros((len(q), len(self._batched.contact)))
        if part.contact is not None:
            contact, own = part.contact, part.once
            g = contact.gradient(of_motion[own][:, None])
            in_q[own] += (g.q + g.start + g.gap @ contact.normals)[:, 0]
            in_v[own] += g.v[:, 0]
            of_motion[own] = np.concatenate([g.mean[:, 0], g.end[:, 0]], axis=1)
            if any(self._batched):
                in_table[own], in_armature[own] = self._of_inertia(table[own], contact, g)
                in_contact[own] = self._of_friction(contact, g)
        if part.corrected is not None:
            twice, own = part.corrected, part.twice
            found = self._midpoint.back(twice, of_motion[own])
            in_q[own] += found.q
            in_v[own] += found.v
            of_motion[own], in_tau[own], in_armature[own], in_table[own] = found[2:6]
            if any(self._batched):
                in_contact[own] += self._of_friction(twice.first, found.first) + self._of_friction(
                    twice.second, found.second
                )
                impacts = twice.impacts.y, -found.inertia
                for contact, g, more in ((twice.first, found.first, [impacts]), (twice.second, found.second, [])):
                    x, y = self._of_inertia(table[own], contact, g, more)
                    in_table[own] += x
                    in_armature[own] += y
        gradients = self._free.of_motion(part.given, part.tape, of_motion, in_tau, in_armature)
        in_table += gradients.table
        size, places = self._stepper.settings.table.size, list(self._batched.settings)
        in_numbers = np.concatenate([in_table[:, places], in_table[:, size:], in_contact], axis=1)
        return np.concatenate([in_q + gradients.q, in_v + gradients.v], axis=1), gradients.control, in_numbers

    def _of_friction(self, contact: ContactGradient, g: MotionGradient) -> np.ndarray:
        """Return the gradients in the friction of pairs."""
        own = [(g.friction[:, 0] * (contact.pair == k)).sum(axis=1) for k in self._pairs]
        return np.stack(own, axis=1) if own else np.zeros((len(contact.pair), 0))

    def _of_inertia(
        self, table: np.ndarray, contact: ContactGradient, g: MotionGradient, more: Sequence[tuple[Any, Any]] = ()
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the gradients in the table and the armature of states, by M + D in the rows of their contact.

        more: further pairs y, z of z' (M + D) y.
        """
        sets, every = (g.positions, g.recovery, g.velocities), np.arange(len(table))
        terms = [(every, y, -z[:, 0]) for z, y in zip(sets, np.moveaxis(contact.y, 1, 0), strict=True)]
        terms += [(every, *pair) for pair in more]
        if contact.overlaps:  # mobilities y' (M + D) y of what recovery opens
            states, y = np.array([x.b for x in contact.overlaps]), np.stack([x.y for x in contact.overlaps])
            rows = [g.rows[x.b, 0, RECOVERY, x.r] * x.side * x.factor for x in contact.overlaps]
            terms.append((states, y, -np.array(rows)[:, None] * y))
        in_table, in_armature, q = np.zeros(table.shape), np.zeros(contact.given.v.shape), contact.given.q
        for states, y, z in terms:
            if z.any() and y.any():
                np.add.at(in_table, states, self._free.of_inertia(q[states], y, table[states], z))
                np.add.at(in_armature, states, z * y)
        return in_table, in_armature


def _blocks(count: int) -> list[slice]:
    return [slice(first, first + BLOCK) for first in range(0, count, BLOCK)]
