"""Gradients through many steps with contact, from the last step to the first, of many states together."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..engine.graph.policies import Policy
from ..simulation.stepper import Stepper
from .contact_gradient import ContactGradient
from .free_motion import Directions
from .midpoint_tangents import is_fast
from .solved_part import SolvedPart, solved_part, touches, warn_unsolved
from .step_parts import step_parts
from .step_pullback import Function, StepInputs, StepPullback, Tape
from .step_sweep import Fixed, Gradients, PolicyPullback, Steps
from .step_tangents import StepTangents

BLOCK = 256  # states whose contact points are in memory at a time
NEARLY = 0.5  # of the motion of steps that are solved a second time: the first solution is not known here


class PartTape(NamedTuple):
    """A part of a step of B states: its inputs, calls, and motion (2, B, nv); the states in contact, if any."""

    solved: SolvedPart
    given: StepInputs
    tape: Tape
    motion: np.ndarray
    touching: np.ndarray
    contact: ContactGradient | None


class ContactSweep:
    """Gradients through steps with contact."""

    def __init__(self, stepper: Stepper, policy: Policy | None) -> None:
        self._stepper, nv = stepper, stepper.robot.nv
        self._policy = None if policy is None else PolicyPullback(stepper.robot, policy)
        self._end_back = Function(step_parts(stepper.robot, stepper.rule).end.gradients, [nv, nv, nv, 1])

    @cached_property
    def _free(self) -> StepPullback:
        stepper = self._stepper
        return StepPullback(stepper.robot, stepper.rule, stepper.settings.table.size, ())

    def run(self, after: Gradients, fixed: Fixed, steps: Steps, controls: np.ndarray) -> Gradients:
        """Return the gradients at the start, see `Sweep`."""
        for k in reversed(range(controls.shape[1])):
            step = Steps(*(x[:, k] for x in steps))
            weights = after.state + np.concatenate([step.on_q, step.on_v], axis=1)
            blocks = [slice(first, first + BLOCK) for first in range(0, len(weights), BLOCK)]
            found = [self._through(step.q[own], step.v[own], step.control[own], weights[own]) for own in blocks]
            state, controls[:, k] = (np.concatenate(x) for x in zip(*found, strict=True))
            parameters = after.parameters
            if self._policy is not None:
                given = step.t, step.q, step.v, fixed.parameters, controls[:, k] + step.on_control
                *more, in_p = self._policy(*given)
                state, parameters = state + np.concatenate(more, axis=1), parameters + in_p
            after = after._replace(state=state, parameters=parameters)
        return after

    def _through(
        self, q: np.ndarray, v: np.ndarray, u: np.ndarray, weights: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the gradients in the state (B, 2 nv) at the start of a step, and in its control."""
        parts, again = list[PartTape](), np.zeros(len(q), bool)
        now, before = (q, v), None
        for _ in range(self._stepper.substeps if v.size else 0):
            parts.append(self._part(*now, u, before, again))
            result = parts[-1].solved.result
            now, before = (result.q, result.v), result.warm_start
        state, control = weights, np.zeros(v.shape)
        for part in reversed(parts):
            state, more = self._back(part, state)
            control = control + more
        if again.any():
            state[again], control[again] = self._by_matrices(q[again], v[again], u[again], weights[again])
        return state, control

    def _part(
        self, q: np.ndarray, v: np.ndarray, u: np.ndarray, before: np.ndarray | None, again: np.ndarray
    ) -> PartTape:
        """Take a part of a step; again (B,): overwritten where it is solved a second time, at its midpoint."""
        stepper = self._stepper
        solved = solved_part(stepper, stepper.code, q, v, u, before)
        table = np.broadcast_to(stepper.settings.table, (len(q), stepper.settings.table.size))
        given = StepInputs(q, v, table, solved.control)
        tape = self._free.tape(given)
        motion, armature = np.stack(self._free.motion(given, tape)), tape.calls[-1][3]
        touching = touches(stepper, solved, *motion)
        contact = None
        if touching.any():
            own, (mean, end) = solved.of(touching), motion[:, touching]
            contact = ContactGradient(stepper, own.states(v[touching], mean, end, armature[touching]))
            stage = stepper.code.stage
            if stage is not None and stage.corrects:
                again[touching] |= is_fast(contact, NEARLY)
            warn_unsolved(own)
            motion[:, touching] = own.taken
        return PartTape(solved, given, tape, motion, touching, contact)

    def _back(self, part: PartTape, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the gradients in state and control at the start of a part."""
        q, end = part.given.q, part.solved.result.q
        h = np.full((len(q), 1), self._stepper.settings.table[0])
        in_q, of_mean, of_end, _ = self._end_back(0 * part.given.v, q, *part.motion, h, end, weights)
        of_motion, in_v = np.concatenate([of_mean, of_end], axis=1), np.zeros(part.given.v.shape)
        if part.contact is not None:
            contact, own = part.contact, part.touching
            g = contact.gradient(of_motion[own][:, None])
            in_q[own] += (g.q + g.start + g.gap @ contact.normals)[:, 0]
            in_v[own] += g.v[:, 0]
            of_motion[own] = np.concatenate([g.mean[:, 0], g.end[:, 0]], axis=1)
        more = self._free.of_motion(part.given, part.tape, of_motion)
        return np.concatenate([in_q + more.q, in_v + more.v], axis=1), more.control

    def _by_matrices(
        self, q: np.ndarray, v: np.ndarray, u: np.ndarray, weights: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the same for steps that are solved a second time."""
        nv = v.shape[1]
        unit = np.broadcast_to(np.eye(3 * nv), (len(weights), 3 * nv, 3 * nv))
        directions = Directions(unit[..., :nv], unit[..., nv : 2 * nv], unit[..., 2 * nv :])
        along = StepTangents(self._stepper, q, v, u, directions).along
        back = np.einsum("bkn,bn->bk", np.concatenate([along.q, along.v], axis=-1), weights)
        return back[:, : 2 * nv], back[:, 2 * nv :]
