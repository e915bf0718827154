"""Gradients of a weighted sum of the state at the end of a step in reverse mode, for any integrator in free motion.

The parts of a step are differentiated in reverse, last one first. At a call of the forward dynamics a = FD(q, v, tau),
whose result has the weights w, mu = M^-1 w is the gradient in tau. The gradient of -mu' ID(q, v, a), at constant mu and
a, is that in q, v and the parameters of the bodies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..engine.call.expression_code import Columns, states_of
from ..engine.graph import derivatives
from ..engine.graph.expressions import Expression
from ..engine.graph.graph import TooLongError
from ..kernels.algebra.tables import with_armature
from ..kernels.dynamics.rnea import inverse_dynamics, scratch_for
from ..kernels.stepping.rules import Rule
from ..model.tree import Tree
from ..simulation.step_traces import empty
from .step_parts import displaced, step_parts

Numbers = np.ndarray  # symbolic (n,), of dtype object, or those of many states (B, n)


class StepInputs(NamedTuple):
    """A step's state and control, and its table: settings, then numbers of the robot's table."""

    q: Numbers
    v: Numbers
    table: Numbers
    control: Numbers


class StepGradients(NamedTuple):
    """Gradients in the inputs of a step; that in q is in displacements."""

    q: Numbers
    v: Numbers
    table: Numbers
    control: Numbers


class Function:
    """Function of numbers to arrays of given sizes, symbolic or in compiled code for many states.

    expression: of its results, one after the other; others may come before them.
    """

    def __init__(self, expression: Expression, sizes: Sequence[int]) -> None:
        self._expression, ends = expression, np.cumsum([len(expression.results) - sum(sizes), *sizes]).tolist()
        self._own = [slice(*bounds) for bounds in pairwise(ends)]

    @cached_property
    def _columns(self) -> Columns:
        return states_of(self._expression)

    def __call__(self, *groups: Numbers) -> list[Numbers]:
        """Return the results."""
        if groups[0].dtype != object:
            values = self._columns(*groups)
            return [values[:, own] for own in self._own]
        found = empty(len(self._expression.results))
        found[:] = self._expression(*(group.tolist() for group in groups))
        return [found[own] for own in self._own]

    def back(self, groups: Sequence[Numbers], weights: Numbers) -> list[Numbers]:
        """Return the results of groups and weights; (B, K, n) for groups of B states, and weights (B, K, m) of each."""
        if weights.ndim < 3:
            return self(*groups, weights)
        count, K, m = weights.shape
        if K == 1:
            return [x[:, None] for x in self(*groups, weights[:, 0])]
        rows = [
            np.repeat(x, K, axis=0) if x.strides[0] else np.broadcast_to(x[0], (count * K, x.shape[1])) for x in groups
        ]
        return [x.reshape(count, K, x.shape[1]) for x in self(*rows, weights.reshape(count * K, m))]


class Joined:
    """Function of groups of numbers that calls others, traced as one if it is short enough.

    function(*groups): returns arrays of the given sizes, also of groups (B, n) and of a last one (B, K, n).
    """

    def __init__(self, function: Callable[..., list[Numbers]], inputs: Sequence[int], sizes: Sequence[int]) -> None:
        self._function, self._inputs, self._sizes = function, inputs, sizes

    @cached_property
    def _one(self) -> Function | None:
        try:
            return Function(Expression(self._inputs, lambda *x: np.concatenate(self._function(*x))), self._sizes)
        except TooLongError:
            return None

    def __call__(self, *groups: Numbers) -> list[Numbers]:
        """Return the results."""
        if groups[0].dtype == object or self._one is None:
            return self._function(*groups)
        return self._one(*groups)

    def back(self, groups: Sequence[Numbers], weights: Numbers) -> list[Numbers]:
        """Return the results as `Function.back`."""
        if groups[0].dtype == object or self._one is None:
            return self._function(*groups, weights)
        return self._one.back(groups, weights)


def constants(numbers: np.ndarray, like: Numbers) -> Numbers:
    """Return known numbers (n,) as symbolic numbers, or for many states, as those given."""
    if like.dtype != object:
        return np.broadcast_to(numbers, (len(like), len(numbers)))
    found = empty(len(numbers))
    found[:] = [like[0].constant(float(x)) for x in numbers]
    return found


class Tape(NamedTuple):
    """Arguments (`step_parts.Call`) and results of the calls of the forward dynamics in a step."""

    calls: list[list[Numbers]]
    accelerations: list[Numbers]


class StepPullback:
    """Gradients of steps of a robot by an integrator in free motion.

    settings: how many numbers of the table are settings. places: of the others in the robot's table. gravity (3,): if
    it replaces the robot's. Weights are (B, n), or (B, K, n) for K gradients of each state.
    """

    def __init__(
        self, robot: Tree, rule: Rule, settings: int, places: tuple[int, ...], gravity: ArrayLike | None = None
    ) -> None:
        self._parts = parts = step_parts(robot, rule, places)
        self._gravity = None if gravity is None else np.asarray(gravity, float)
        self._source, self._settings = parts.source, settings
        nq, nv, table = robot.nq, robot.nv, settings + len(places)
        self._nv, inputs = nv, [nv, nv, table, nv]
        self.sizes = nq, nv, table
        self.end, self.end_back = (
            Function(parts.end.values, [nq, nv]), Function(parts.end.gradients, [nv, nv, nv, 1])
        )  # fmt: skip
        into = parts.into_start_axes
        self.into, self.into_back = Function(into.values, [nv]), Function(into.gradients, [*4 * [nv], 1])
        self._calls = [Function(part.values, [nq, nv, nv, nv]) for part in parts.calls]
        self._end = Function(parts.finish.values, [nq, nv])
        self._end_back = Function(parts.finish.gradients, [*inputs, *[nv] * rule.stages])
        self._motion = Function(parts.motion.values, [nv, nv])
        self._motion_back = Function(parts.motion.gradients, [*inputs, *[nv] * rule.stages])
        self._calls_back = [Function(part.gradients, [*inputs, *[nv] * k]) for k, part in enumerate(parts.calls)]
        own = len(places)
        dynamics = Expression([nq, nv, nv, nv, own], self._acceleration)
        response = Expression([nq, nv, own, nv], self._response)
        torques = Expression([nv, nq, nv, nv, own], self._torques)
        gradient = derivatives.reverse(torques, [True, False, True, False, True])
        self._dynamics, self._response_to = Function(dynamics, [nv]), Function(response, [nv])
        self._torques_back = Function(gradient, [nv, nv, own])
        state, called = [nq, nv, table, nv], [nq, nv, nv, nv, nv]
        known = [*state, *called * rule.stages]
        self._motion_and_calls = Joined(self._taped, state, [nv, nv, *called * rule.stages])
        self._motion_gradients = Joined(self._of_motion, [*known, 4 * nv], inputs)

    def __call__(self, given: StepInputs, weights: Numbers) -> StepGradients:
        """Return the gradients of sum(weights * displacement and velocity at the end of the step)."""
        tape, still = self.tape(given), constants(np.zeros(self._nv), given.q)
        end, _ = self._end(*given, *tape.accelerations)
        return self._through_calls(given, tape, self._end_back.back((still, *given, *tape.accelerations, end), weights))

    def tape(self, given: StepInputs) -> Tape:
        """Return the calls of the forward dynamics."""
        tape = Tape([], [])
        for part in self._calls:
            tape.calls.append(part(*given, *tape.accelerations))
            q, v, tau, armature = tape.calls[-1]
            tape.accelerations.append(self.acceleration(q, v, tau, armature, given.table))
        return tape

    def motion(self, given: StepInputs) -> tuple[list[Numbers], Tape]:
        """Return the mean and end velocity of the step, in the joints' axes at its start, and the calls."""
        mean, end, *calls = self._motion_and_calls(*given)
        return [mean, end], _tape_of(calls)

    def _taped(self, *given: Numbers) -> list[Numbers]:
        """Return the same with the numbers of each call, and its acceleration, one after the other."""
        q, v, table, control = given
        tape = self.tape(StepInputs(q, v, table, control))
        calls = [x for call, a in zip(*tape, strict=True) for x in (*call, a)]
        return [*self._motion(*given, *tape.accelerations), *calls]

    def of_motion(
        self, given: StepInputs, tape: Tape, weights: Numbers, in_tau: Numbers, in_armature: Numbers
    ) -> StepGradients:
        """Return the gradients of sum(weights * mean and end velocity).

        in_tau, in_armature (..., nv): further gradients in the force and the armature of the last call.
        """
        calls = [x for call, a in zip(*tape, strict=True) for x in (*call, a)]
        found = self._motion_gradients.back((*given, *calls), np.concatenate([weights, in_tau, in_armature], axis=-1))
        return StepGradients(*found)

    def _of_motion(self, *groups: Numbers) -> list[Numbers]:
        """Return the gradients of `of_motion`; groups: inputs, those of each call, and all weights."""
        q, v, table, control, *calls, weights = groups
        given, tape, nv = StepInputs(q, v, table, control), _tape_of(calls), self._nv
        still = constants(np.zeros(nv), given.q)
        found = self._motion_back.back((still, *given, *tape.accelerations), weights[..., : 2 * nv])
        of_call = weights[..., 2 * nv :]
        return [*self._through_calls(given, tape, found, np.concatenate([0 * of_call, of_call], axis=-1))]

    def acceleration(self, q: Numbers, v: Numbers, tau: Numbers, armature: Numbers, table: Numbers) -> Numbers:
        """Return the acceleration of a call of the forward dynamics."""
        return self._dynamics(q, v, tau, armature, table[..., self._settings :])[0]

    def of_acceleration(self, call: Sequence[Numbers], a: Numbers, table: Numbers, weights: Numbers) -> list[Numbers]:
        """Return the gradients of sum(weights * a) of the forward dynamics in a call, and in the robot's numbers.

        call: q, v, tau and armature.
        """
        (q, v, _, armature), still, own = call, constants(np.zeros(self._nv), a), table[..., self._settings :]
        (mu,) = self._response_to.back((q, armature, own), weights)
        in_q, in_v, in_robot = self._torques_back.back((still, q, v, a, own), -mu)
        return [in_q, in_v, mu, -(mu * (a if mu.ndim == a.ndim else a[:, None])), in_robot]

    def of_inertia(self, q: Numbers, a: Numbers, table: Numbers, weights: Numbers) -> Numbers:
        """Return the gradients of sum(weights * M a) in the robot's numbers, without rotors."""
        still, numbers = constants(np.zeros(self._nv), q), table[..., self._settings :]
        own, gravity = (self._torques_back.back((still, q, still, x, numbers), weights)[2] for x in (a, still))
        return own - gravity

    def _through_calls(
        self, given: StepInputs, tape: Tape, found: list[Numbers], in_last: Numbers | None = None
    ) -> StepGradients:
        """Return the gradients in the inputs, from those in the inputs, in the accelerations, and in the last call."""
        (calls, accelerations), still = tape, constants(np.zeros(self._nv), given.q)
        found, back = found[:4], found[4:]
        for k in reversed(range(len(calls))):
            *each, in_robot = self.of_acceleration(calls[k], accelerations[k], given.table, back[k])
            of_call = np.concatenate(each, axis=-1)
            if in_last is not None and k == len(calls) - 1:
                of_call = of_call + in_last
            more = self._calls_back[k].back((still, *given, *accelerations[:k], calls[k][0]), of_call)
            found = [x + y for x, y in zip(found, more, strict=False)]
            settings, own = found[2][..., : self._settings], found[2][..., self._settings :]
            found[2] = np.concatenate([settings, own + in_robot], axis=-1)
            back = [x + y for x, y in zip(back, more[len(found) :], strict=False)]
        return StepGradients(*found)

    def _acceleration(self, q: Numbers, v: Numbers, tau: Numbers, armature: Numbers, own: Numbers) -> Numbers:
        """FD(q, v, tau)."""
        return self._forward(q, v, tau, armature, own, self._own_gravity(q))

    def _response(self, q: Numbers, armature: Numbers, own: Numbers, force: Numbers) -> Numbers:
        """M^-1 force."""
        graph = q[0].graph
        return self._forward(q, constants(np.zeros(self._nv), q), force, armature, own, self._source.still(graph))

    def _forward(
        self, q: Numbers, v: Numbers, tau: Numbers, armature: Numbers, own: Numbers, gravity: Numbers | None
    ) -> Numbers:
        source, graph = self._source, q[0].graph
        tree = source.tree(graph, gravity, own)
        at, a = source.whole_positions(graph, q), empty(source.whole.nv)
        memory = source.entry.memory(tree, source.ints, *source.ties(graph), at)
        driven = source.whole_motion(graph, v), source.on_mimicked(graph, tau)
        moved = with_armature(tree, source.on_mimicked(graph, armature))
        source.entry.one(moved, at, *driven, empty(0).reshape(0, 6), a, memory)
        return source.own_motion(graph, a)

    def _own_gravity(self, like: Numbers) -> Numbers | None:
        return None if self._gravity is None else constants(self._gravity, like)

    def _torques(self, d: Numbers, q: Numbers, v: Numbers, a: Numbers, own: Numbers) -> Numbers:
        """ID(q, v, a) after a displacement d of q, without rotors."""
        source, graph = self._source, q[0].graph
        tree = source.tree(graph, self._own_gravity(q), own)
        tree = with_armature(tree, constants(np.zeros(source.whole.nv), q))
        at, tau = displaced(source, tree, q, d), empty(source.whole.nv)
        motion = source.whole_motion(graph, v), source.whole_motion(graph, a)
        inverse_dynamics(tree, at, *motion, empty(0).reshape(0, 6), tau, *scratch_for(tree, at))
        return source.own_forces(graph, tau)


def _tape_of(calls: Sequence[Numbers]) -> Tape:
    """Return the calls of numbers one after the other: q, v, tau, armature and acceleration of each."""
    each = [calls[k : k + 5] for k in range(0, len(calls), 5)]
    return Tape([list(x[:4]) for x in each], [x[4] for x in each])


@lru_cache(maxsize=16)
def step_pullback(
    robot: Tree, rule: Rule, settings: int, places: tuple[int, ...], gravity: tuple[float, ...] | None
) -> StepPullback:
    """Return the gradients of steps in free motion; equal requests return the same object, with its code."""
    return StepPullback(robot, rule, settings, places, gravity)
