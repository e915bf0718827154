"""Gradients of a weighted sum of the state at the end of a step in reverse mode, for any integrator in free motion.

The parts of a step are differentiated in reverse, last one first. At a call of the forward dynamics a = FD(q, v, tau),
whose result has the weights w, mu = M^-1 w is the gradient in tau. The gradient of -mu' ID(q, v, a), at constant mu and
a, is that in q, v and the parameters of the bodies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..engine.call.expression_code import Columns, states_of
from ..engine.graph import derivatives
from ..engine.graph.derivatives import SteadyExpression
from ..engine.graph.graph import TooLongError
from ..engine.graph.trace import Traced
from ..kernels.algebra.tables import with_armature
from ..kernels.dynamics.rnea import inverse_dynamics, scratch_for
from ..kernels.stepping.rules import Rule
from ..model.tree import Tree
from ..simulation.step_traces import empty
from .step_parts import Part, displaced, step_parts

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
    """Function of groups of numbers to arrays of given sizes, in compiled code for many states.

    function: of symbolic groups with the sizes `inputs`, returns all numbers; others may come before those of the
    results.
    """

    def __init__(self, inputs: Sequence[int], function: Callable[..., Iterable[Any]], sizes: Sequence[int]) -> None:
        self._inputs, self._function, self._ends = inputs, function, np.cumsum([0, *sizes]).tolist()

    @cached_property
    def _columns(self) -> Columns:
        return states_of(SteadyExpression(self._inputs, self._function))

    def __call__(self, *groups: Numbers) -> list[Numbers]:
        """Return the results."""
        if groups[0].dtype != object:
            values = self._columns(*groups)
        else:
            numbers, given = [*self._function(*groups)], next(x for group in groups for x in group)
            values = empty(len(numbers))
            values[:] = [x if isinstance(x, Traced) else given.constant(float(x)) for x in numbers]
        first = values.shape[-1] - self._ends[-1]
        return [values[..., first + a : first + b] for a, b in pairwise(self._ends)]

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


class Joined(Function):
    """Function that calls others, traced as one if that is short enough.

    function: also of groups (B, n) and of a last one (B, K, n); returns arrays.
    """

    def __init__(self, inputs: Sequence[int], function: Callable[..., list[Numbers]], sizes: Sequence[int]) -> None:
        super().__init__(inputs, lambda *groups: np.concatenate(function(*groups)), sizes)
        self._each = function

    @cached_property
    def _is_short(self) -> bool:
        try:
            return self._columns is not None
        except TooLongError:
            return False

    def __call__(self, *groups: Numbers) -> list[Numbers]:
        """Return the results."""
        numeric = groups[0].dtype != object
        return self._each(*groups) if numeric and not self._is_short else super().__call__(*groups)

    def back(self, groups: Sequence[Numbers], weights: Numbers) -> list[Numbers]:
        """Return the results as `Function.back`."""
        numeric = weights.dtype != object
        return self._each(*groups, weights) if numeric and not self._is_short else super().back(groups, weights)


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
    it replaces the robot's. batched: settings whose gradients `of_motion` returns. Weights are (B, n), or (B, K, n) for
    K gradients of each state.
    """

    def __init__(
        self, robot: Tree, rule: Rule, settings: int, places: tuple[int, ...], gravity: ArrayLike | None = None,
        batched: Sequence[int] = (),
    ) -> None:  # fmt: skip
        self._parts = parts = step_parts(robot, rule, settings, places)
        self._gravity = None if gravity is None else np.asarray(gravity, float)
        self._source, self._settings = parts.source, settings
        nq, nv, table = robot.nq, robot.nv, settings + len(places)
        self._nv = nv
        self.sizes = nq, nv, table
        state, gradients, rates = [nq, nv, table, nv], [nv, nv, table, nv], [*[nv] * rule.stages]
        moved, into = [nq, nv, nv, 1], [nq, nv, nv, nv, 1]
        self.end, self.end_back = _functions(parts.end, moved, [nq, nv], [nv, nv, nv, 1], nv, nq)
        self.into, self.into_back = _functions(parts.into_start_axes, into, [nv], [*4 * [nv], 1], nv)
        self._end, self._end_back = _functions(parts.finish, [*state, *rates], [nq, nv], [*gradients, *rates], nv, nq)
        self._motion, self._motion_back = _functions(
            parts.motion, [*state, *rates], [nv, nv], [*gradients, *rates], nv
        )  # fmt: skip
        calls = [
            _functions(part, [*state, *rates[:k]], [nq, nv, nv, nv], [*gradients, *rates[:k]], nv, nq)
            for k, part in enumerate(parts.calls)
        ]
        self._calls, self._calls_back = [[x[k] for x in calls] for k in range(2)]
        own = len(places)
        self._dynamics = Function([nq, nv, nv, nv, own], self._acceleration, [nv])
        self._response_to = Function([nq, nv, own, nv], self._response, [nv])
        self._torques_back = Function([nv, nq, nv, nv, own, nv], lambda *x: self._torque_gradients(*x), [nv, nv, own])
        called = [nq, nv, nv, nv, nv]
        self._motion_and_calls = Joined(state, self._taped, [nv, nv, *called * rule.stages])
        self._batched = [*batched, *range(settings, table)]
        found = [nv, nv, len(self._batched), nv]
        self._motion_gradients = Joined([*state, *called * rule.stages, 4 * nv], self._of_motion, found)

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
        """Return the gradients of sum(weights * (mean velocity, end velocity)), in the table of batched numbers only.

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
        in_q, in_v, in_table, in_control = self._through_calls(
            given, tape, found, np.concatenate([0 * of_call, of_call], axis=-1)
        )
        return [in_q, in_v, in_table[..., self._batched], in_control]

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

    @cached_property
    def _torque_gradients(self) -> Callable[..., list[Any]]:
        nq, nv, own = self.sizes[0], self._nv, self.sizes[2] - self._settings
        torques = SteadyExpression([nv, nq, nv, nv, own], self._torques)
        return derivatives.gradients_of(torques, [True, False, True, False, True])

    def _torques(self, d: Numbers, q: Numbers, v: Numbers, a: Numbers, own: Numbers) -> Numbers:
        """ID(q, v, a) after a displacement d of q, without rotors."""
        source, graph = self._source, q[0].graph
        tree = source.tree(graph, self._own_gravity(q), own)
        tree = with_armature(tree, constants(np.zeros(source.whole.nv), q))
        at, tau = displaced(source, tree, q, d), empty(source.whole.nv)
        motion = source.whole_motion(graph, v), source.whole_motion(graph, a)
        inverse_dynamics(tree, at, *motion, empty(0).reshape(0, 6), tau, *scratch_for(tree, at))
        return source.own_forces(graph, tau)


def _functions(
    part: Part, inputs: Sequence[int], sizes: Sequence[int], gradients: Sequence[int], nv: int, *ends: int
) -> tuple[Function, Function]:
    """Return the functions of a part's results and of their gradients; ends: size of a result that is a configuration.

    Either is traced when it is first called.
    """
    weights = sum(sizes) - sum(ends) + nv * len(ends)
    back = Function([nv, *inputs, *ends, weights], lambda *x: part.gradients(*x), gradients)
    return Function(inputs, part.values, sizes), back


def _tape_of(calls: Sequence[Numbers]) -> Tape:
    """Return the calls of numbers one after the other: q, v, tau, armature and acceleration of each."""
    each = [calls[k : k + 5] for k in range(0, len(calls), 5)]
    return Tape([list(x[:4]) for x in each], [x[4] for x in each])


@lru_cache(maxsize=16)
def step_pullback(
    robot: Tree, rule: Rule, settings: int, places: tuple[int, ...], gravity: tuple[float, ...] | None,
    batched: tuple[int, ...],
) -> StepPullback:  # fmt: skip
    """Return the gradients of steps in free motion; equal requests return the same object, with its code."""
    return StepPullback(robot, rule, settings, places, gravity, batched)
