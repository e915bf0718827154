"""Gradients through parts of steps of many states: in free motion, in contact, and where contact is solved twice."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from ..errors import ContactWarning
from ..kernels.contact.layout import SURFACE, pair_of
from ..kernels.contact.row_derivatives import contact_rows_states
from ..kernels.contact.set_equations import RECOVERY
from ..simulation.step import StepCode, StepParameters
from ..simulation.step_result import StepResult
from ..simulation.stepper import Stepper
from ..system.user_warnings import warn
from .contact_gradient import ROBOT, ContactGradient, MotionGradient, RowParameters
from .midpoint_pullback import SEVERAL, MidpointPullback, MidpointTape, Start, can_correct, is_fast
from .solved_part import SolvedPart, solved_part, touches, warn_unsolved, with_motion
from .step_gradient import Row, rows_of_part
from .step_parts import Motion, of_states
from .step_pullback import StepInputs, Tape, step_pullback
from .step_sweep import BatchedPlaces

NEARLY = 0.5  # of the motion of steps that are solved a second time: the first solution is not known here


class PartModel(NamedTuple):
    """Model parameters of B states: those of steps, those of rows, and the table (B, n) of `StepPullback`."""

    step: StepParameters | None
    rows: RowParameters
    table: np.ndarray


class PartTape(NamedTuple):
    """A part of a step of B states: its end, inputs, calls, and motion.

    once, twice (B,): states in contact that are solved once, and a second time at their midpoint, if there are any.
    """

    end: StepResult
    given: StepInputs
    tape: Tape
    motion: Motion
    once: np.ndarray
    contact: ContactGradient | None
    twice: np.ndarray
    corrected: MidpointTape | None

    def of(self, states: slice) -> PartTape:
        """Return those of successive states."""
        once, twice = (_among(x, states) for x in (self.once, self.twice))
        chosen = [states] * 4 + [states, once, states, twice]
        found: list[Any] = [
            of_states(x, own) if own.stop > own.start else None for x, own in zip(self, chosen, strict=True)
        ]
        return PartTape(*found)

    def rows(self, b: int, number: int) -> list[Callable[[], list[Row]]]:
        """Return functions that return what was differentiated in contact in state b; number: of the part."""
        second = None if self.corrected is None else self.corrected.second
        return [
            partial(rows_of_part, contact, int(own[:b].sum()), number)
            for own, contact in ((self.once, self.contact), (self.twice, second))
            if contact is not None and own[b]
        ]


class PartPullback:
    """Gradients through equal parts of a stepper's steps.

    code: of the steps, whose model parameters `batched` may be those of each state.
    """

    def __init__(self, stepper: Stepper, batched: BatchedPlaces, code: StepCode) -> None:
        self._stepper, self._batched, self._code = stepper, batched, code
        gravity = None if stepper.gravity is None else tuple(np.asarray(stepper.gravity, float).tolist())
        given = stepper.robot, stepper.rule, stepper.settings.table.size
        self._free = step_pullback(*given, batched.robot, gravity, batched.settings)

    def model(self, numbers: np.ndarray) -> PartModel:
        """Return the model parameters of states, from the numbers (B, m) that differ between them."""
        batched, code, touch = self._batched, self._code, self._stepper.world.touching.touch
        settings, robot, contact = batched.split(numbers)
        table = np.broadcast_to(self._stepper.settings.table, (len(numbers), self._stepper.settings.table.size))
        if not any(batched):
            return PartModel(None, ROBOT, table)
        table = np.concatenate([table, robot], axis=1)
        table[:, list(batched.settings)] = settings
        bound = code.bound, code.stage, None if code.effort is None else code.effort.bound
        step = StepParameters(*[None if x is None else batched.within(x.entry, numbers) for x in bound])
        friction = None
        if batched.contact:
            friction = np.repeat(touch.surface[None, :, SURFACE.friction], len(numbers), axis=0)
            friction[:, self._pairs] = contact
        return PartModel(step, RowParameters(batched.within(contact_rows_states, numbers), friction), table)

    @property
    def _pairs(self) -> np.ndarray:
        """Pairs of solids whose friction is that of each state."""
        return pair_of(np.array(self._batched.contact, int))

    def solved(
        self, q: np.ndarray, v: np.ndarray, u: np.ndarray, model: PartModel, before: np.ndarray | None,
        info: np.ndarray | None = None,
    ) -> SolvedPart:  # fmt: skip
        """Take a part of a step; before: impulses of contact. info: as of `solved_part`."""
        return solved_part(self._code, q, v, u, before, model.step, info, self._stepper.options.engine)

    def tape(self, solved: SolvedPart, model: PartModel) -> PartTape:
        """Return what gradients through parts of steps are computed from."""
        stepper, solved = self._stepper, with_motion(self._stepper, solved)
        q, v = solved.q, solved.v
        given = StepInputs(q, v, model.table, solved.control)
        velocities, tape = self._free.motion(given)
        motion = free = Motion(*velocities)
        _, _, tau, armature = tape.calls[-1]
        touching = np.zeros(len(q), bool) if solved.taken is None else touches(stepper, solved, *free)
        if solved.taken is not None:
            motion = Motion(*(np.where(touching[:, None], x, y) for x, y in zip(solved.taken, free, strict=True)))
        twice, corrected = self._corrected(solved, Start(q, v, free, tau, armature, model.table), model, touching)
        once, contact = touching & ~twice, None
        if once.any():
            own = of_states((solved.states(*free, armature), model.rows), once)
            contact = ContactGradient(stepper, *own)
        if touching.any():
            warn_unsolved(solved)
        return PartTape(solved.result, given, tape, motion, once, contact, twice, corrected)

    def _corrected(
        self, solved: SolvedPart, start: Start, model: PartModel, touching: np.ndarray
    ) -> tuple[np.ndarray, MidpointTape | None]:
        """Return which states (B,) are solved a second time, at their midpoint, and these parts."""
        stepper, stage, h = self._stepper, self._code.stage, self._stepper.settings.table[0]
        twice = np.zeros(len(touching), bool)
        if stage is None or not stage.corrects:
            return twice, None
        end = start.free.end
        some = np.flatnonzero(touching & is_fast(h, solved.taken.end - end, end, NEARLY))
        if not some.size:
            return twice, None
        first = self._solved_of(solved, model, some)
        fast = is_fast(h, first.taken.end - end[some], end[some])
        if not can_correct(stepper):
            if fast.any():
                warn(SEVERAL, ContactWarning)
            return twice, None
        twice[some[fast]] = True
        if not fast.any():
            return twice, None
        own = of_states(first.states(*of_states([*start.free, start.armature], some)), fast)
        taken, points, counts, rows = of_states((solved.taken, solved.points, solved.counts, model.rows), twice)
        return twice, self._midpoint.tape(of_states(start, twice), own, taken, points, counts, rows)

    def _solved_of(self, solved: SolvedPart, model: PartModel, states: np.ndarray) -> SolvedPart:
        """Take the first solution of some states."""
        given = solved.q, solved.v, solved.given, solved.before, model.step, solved.info
        q, v, u, before, parameters, info = of_states(given, states)
        engine = self._stepper.options.engine
        return with_motion(self._stepper, solved_part(self._first, q, v, u, before, parameters, info, engine))

    @cached_property
    def _first(self) -> StepCode:
        """Code of steps without a second solution, with gains of each state."""
        stepper, own = self._stepper, bool(self._batched.settings)
        given = stepper.world, stepper._solver, stepper.settings, stepper.options
        return StepCode(*given, work=False, own_gains=own, pairs=False, corrects=False)

    @cached_property
    def _midpoint(self) -> MidpointPullback:
        return MidpointPullback(self._stepper, self._free)

    def back(self, part: PartTape, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return gradients (B, K, n) in the state and the control at the start of a part, and in the batched numbers.

        They are those of sum(weights (B, K, 2 nv) * displacement and velocity at the end).
        """
        q, end, table = part.given.q, part.end.q, part.given.table
        h, still = np.full((len(q), 1), self._stepper.settings.table[0]), np.zeros(part.given.v.shape)
        in_q, of_mean, of_end, _ = self._free.end_back.back((still, q, *part.motion, h, end), weights)
        of_motion = np.concatenate([of_mean, of_end], axis=-1)
        in_v, in_tau, in_armature = np.zeros((3, *in_q.shape))
        in_robot = np.zeros((*in_q.shape[:2], len(self._batched.robot)))
        in_contact = np.zeros((*in_q.shape[:2], len(self._batched.contact)))
        if part.contact is not None:
            contact, own = part.contact, part.once
            g = contact.gradient(of_motion[own])
            in_q[own] += g.q + g.start + g.gap
            in_v[own] += g.v
            of_motion[own] = np.concatenate([g.mean, g.end], axis=-1)
            if any(self._batched):
                in_robot[own], in_armature[own] = self._of_inertia(table[own], contact, g)
                in_contact[own] = self._of_friction(contact, g)
        if part.corrected is not None:
            twice, own = part.corrected, part.twice
            found = self._midpoint.back(twice, of_motion[own])
            in_q[own] += found.q
            in_v[own] += found.v
            of_motion[own], in_tau[own], in_armature[own], in_robot[own] = found[2:6]
            if any(self._batched):
                for contact, g in ((twice.first, found.first), (twice.second, found.second)):
                    x, y = self._of_inertia(table[own], contact, g)
                    in_robot[own] += x
                    in_armature[own] += y
                    in_contact[own] += self._of_friction(contact, g)
        gradients = self._free.of_motion(part.given, part.tape, of_motion, in_tau, in_armature)
        in_settings, more = np.split(gradients.table, [len(self._batched.settings)], axis=-1)
        in_numbers = np.concatenate([in_settings, in_robot + more, in_contact], axis=-1)
        return np.concatenate([in_q + gradients.q, in_v + gradients.v], axis=-1), gradients.control, in_numbers

    def _of_friction(self, contact: ContactGradient, g: MotionGradient) -> np.ndarray:
        """Return the gradients (B, K, P) in the friction of pairs."""
        return g.friction @ (contact.pair[..., None] == self._pairs).astype(float)

    def _of_inertia(
        self, table: np.ndarray, contact: ContactGradient, g: MotionGradient
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the gradients in the robot's numbers and the armature, by M + D in the rows of states in contact."""
        every, q = np.arange(len(table)), contact.given.q
        terms = [(every, contact.y[:, s], -g.z[:, :, s]) for s in range(contact.y.shape[1])]
        if contact.overlaps:  # mobilities y' (M + D) y of what recovery opens
            states, y = np.array([x.b for x in contact.overlaps]), np.stack([x.y for x in contact.overlaps])
            rows = np.stack([g.rows[x.b, :, RECOVERY, x.r] * x.side * x.factor for x in contact.overlaps])
            terms.append((states, y, -rows[:, :, None] * y[:, None]))
        in_robot, in_armature = np.zeros((*g.q.shape[:2], len(self._batched.robot))), np.zeros(g.q.shape)
        for states, y, z in terms:
            if z.any() and y.any():
                np.add.at(in_robot, states, self._free.of_inertia(q[states], y, table[states], z))
                np.add.at(in_armature, states, z * y[:, None])
        return in_robot, in_armature


def _among(chosen: np.ndarray, states: slice) -> slice:
    """Return which of the chosen states (B,) are within successive ones."""
    first = int(chosen[: states.start].sum())
    return slice(first, first + int(chosen[states].sum()))
