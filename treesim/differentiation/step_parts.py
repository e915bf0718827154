"""Parts of a time step between its calls of the forward dynamics, and their derivatives in reverse mode.

An integrator calls the forward dynamics one to four times. Each part computes the arguments of a call from the state
and the accelerations of the calls before. Then follows the motion in the step, to which contact adds, and the state at
its end. Parts are traced, and differentiated by the rules of their operations (`engine.graph.derivatives`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..engine.call.expression_code import Columns, states_of
from ..engine.graph import derivatives
from ..engine.graph.derivatives import SteadyExpression
from ..kernels.entries.status import FINE
from ..kernels.kinematics.configuration import advance, difference, integrate, into_start_axes, retrace
from ..kernels.stepping.rules import Rule
from ..kernels.stepping.step import actuate, settings_of, step_memory
from ..model.tree import Tree
from ..simulation.step import forward_kernel
from ..simulation.step_traces import StepSource, empty

Numbers = np.ndarray  # symbolic numbers (n,), of dtype object


class Call(NamedTuple):
    """Arguments (B, n) of a call of the forward dynamics."""

    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray
    armature: np.ndarray


class Motion(NamedTuple):
    """Velocities (B, nv) in a step, in the joints' axes at its start: the mean one, and that at its end."""

    mean: np.ndarray
    end: np.ndarray


def of_states(x: Any, states: Any) -> Any:
    """Return the numbers of some states, of an array whose first axis is that of states, or of a record of arrays.

    A record is a sequence, or an object with a method `of`; its parts may be records, or None.
    """
    if x is None or isinstance(x, np.ndarray):
        return None if x is None else x[states]
    if hasattr(x, "of"):
        return x.of(states)
    found = [of_states(part, states) for part in x]
    return type(x)(*found) if hasattr(x, "_fields") else found


class Part:
    """Function of arrays to arrays, and gradients of its results in its arguments.

    function(displacement, *arguments): of symbolic numbers; the displacement (nv,) is that of the first argument, a
    configuration. sizes: of the arguments. place: number of the result that is a configuration, whose derivatives are
    displacements; None if there is none.
    """

    def __init__(
        self,
        source: StepSource,
        sizes: Sequence[int],
        function: Callable[..., Sequence[Numbers]],
        place: int | None,
    ) -> None:
        self._source, self._sizes, self._function, self._place = source, list(sizes), function, place
        self._shapes: list[int] = []

    def __call__(self, *arguments: np.ndarray) -> list[np.ndarray]:
        """Return the results (B, n), of arguments (B, n)."""
        found = self._values(*arguments)
        return np.split(found, np.cumsum(self._shapes)[:-1], axis=1)

    def values(self, *arguments: Numbers) -> Numbers:
        """Return the results of symbolic arguments, one after the other."""
        found = self._function(None, *arguments)
        self._shapes = [x.size for x in found]
        return np.concatenate(found)

    @cached_property
    def _values(self) -> Columns:
        return states_of(SteadyExpression(self._sizes, self.values))

    @cached_property
    def gradients(self) -> Callable[..., list[Any]]:
        """Gradient of a weighted sum of the results, in the displacement and the arguments behind the first one.

        Function of symbolic numbers; before the gradients it returns the results. The result that is a configuration is
        a displacement from a last argument.
        """
        nv, nq, place = self._source.robot.nv, self._source.robot.nq, self._place

        def results(d: Numbers, *arguments: Numbers) -> Numbers:
            given = arguments if place is None else arguments[:-1]
            found = [*self._function(d, *given)]
            if place is not None:
                found[place] = displacement(self._source, arguments[-1], found[place])
            return np.concatenate(found)

        ends = [] if place is None else [nq]
        moving = [True, False, *[True] * (len(self._sizes) - 1), *[False] * len(ends)]
        return derivatives.gradients_of(SteadyExpression([nv, *self._sizes, *ends], results), moving)


class StepParts:
    """Parts of a step of a robot by an integrator.

    calls: of each call of the forward dynamics, q, v, table of settings, control and accelerations of the calls before
    -> `Call`. motion: the same, with all accelerations -> `Motion`. finish: the same -> q, v at the end. end: q, mean
    and end velocity, length of the step -> q, v at the end. taken: q, q and v at the end, length of the step ->
    `Motion`. into_start_axes: q, mean velocity up to another configuration, velocity and acceleration there, duration
    -> the acceleration in the axes at q. settings: how many numbers of the table are settings. places: of the others in
    the robot's table.
    """

    def __init__(self, robot: Tree, rule: Rule, settings: int, places: Sequence[int] = ()) -> None:
        self.source = source = StepSource(robot, forward_kernel(robot, "aba"), places)
        self._rule, self._settings, nq, nv = rule, settings, robot.nq, robot.nv
        state = [nq, nv, self._settings + len(places), nv]
        self.calls = [Part(source, state + k * [nv], self._until(k), 0) for k in range(rule.stages)]
        n = rule.stages
        self.motion = Part(source, state + n * [nv], self._until(n), None)
        self.finish = Part(source, state + n * [nv], self._until(n, True), 0)
        self.end = Part(source, [nq, nv, nv, 1], self._end, 0)
        self.taken = Part(source, [nq, nq, nv, 1], self._taken, None)
        self.into_start_axes = Part(source, [nq, nv, nv, nv, 1], self._into_start_axes, None)

    def _until(self, k: int, ends: bool = False) -> Callable[..., list[Numbers]]:
        """Return the function of the arguments of call k of the forward dynamics, or of the motion after the last.

        ends: whether it returns the state at the end, and not the motion.
        """
        source = self.source

        def function(d: Numbers | None, q: Numbers, v: Numbers, table: Numbers, control: Numbers, *qdd: Numbers) -> Any:
            graph, calls = q[0].graph, []
            tree = source.tree(graph, source.still(graph), table[self._settings :])
            whole_q, whole_v = displaced(source, tree, q, d), source.whole_motion(graph, v)
            s, whole_control = settings_of(tree, table[: self._settings]), source.on_mimicked(graph, control)

            def forward(moved: Any, at: Any, velocity: Any, tau: Any, _: Any, a: Any, memory: Any) -> int:
                calls.append([at.copy(), velocity.copy(), tau.copy(), moved.armature.copy()])
                a[:] = source.whole_motion(graph, qdd[len(calls) - 1]) if len(calls) <= k else 0 * velocity
                return FINE

            n = source.whole.nv
            q_new, v_new, force, work, mean, end = (empty(x) for x in (source.whole.nq, n, n, 2, n, n))
            actuate(tree, s, whole_q, whole_v, whole_control, force)
            memory = step_memory(tree, whole_q)
            self._rule.step(tree, s, whole_q, whole_v, force, q_new, v_new, work, memory, forward, None)
            if k < len(calls):
                at, *rates, rotors = calls[k]
                own = (source.own_motion(graph, x) for x in rates)
                return [source.own_positions(graph, at), *own, source.reflected_inertia(graph, rotors)]
            if ends:
                return [source.own_positions(graph, q_new), source.own_motion(graph, v_new)]
            retrace(tree, whole_q, q_new, v_new, s.dt, mean, end)
            return [source.own_motion(graph, mean), source.own_motion(graph, end)]

        return function

    def _taken(self, _: None, q: Numbers, q_new: Numbers, v_new: Numbers, h: Numbers) -> list[Numbers]:
        source, graph = self.source, q[0].graph
        mean, end = empty(source.whole.nv), empty(source.whole.nv)
        ends = source.whole_positions(graph, q), source.whole_positions(graph, q_new), source.whole_motion(graph, v_new)
        retrace(source.tree(graph, source.still(graph)), *ends, h[0], mean, end)
        return [source.own_motion(graph, mean), source.own_motion(graph, end)]

    def _into_start_axes(self, _: Any, q: Numbers, mean: Numbers, v: Numbers, a: Numbers, h: Numbers) -> list[Numbers]:
        source, graph, found = self.source, q[0].graph, empty(self.source.whole.nv)
        mean, v, a = (source.whole_motion(graph, x) for x in (mean, v, a))
        into_start_axes(source.tree(graph, source.still(graph)), mean, h[0], v, a, found)
        return [source.own_motion(graph, found)]

    def _end(self, d: Numbers | None, q: Numbers, mean: Numbers, end: Numbers, h: Numbers) -> list[Numbers]:
        source, graph = self.source, q[0].graph
        tree = source.tree(graph, source.still(graph))
        q_new, v_new = empty(source.whole.nq), empty(source.whole.nv)
        advance(
            tree, displaced(source, tree, q, d), source.whole_motion(graph, mean), source.whole_motion(graph, end),
            h[0], q_new, v_new,
        )  # fmt: skip
        return [source.own_positions(graph, q_new), source.own_motion(graph, v_new)]


def displaced(source: StepSource, tree: Any, q: Numbers, d: Numbers | None) -> Numbers:
    """Return a configuration of the spanning tree after a displacement d (nv,)."""
    graph = q[0].graph
    whole = source.whole_positions(graph, q)
    if d is None:
        return whole
    moved = empty(source.whole.nq)
    integrate(tree, whole, source.whole_motion(graph, d), moved)
    return moved


def displacement(source: StepSource, start: Numbers, end: Numbers) -> Numbers:
    """Return the displacement (nv,) between configurations."""
    graph = start[0].graph
    whole = empty(source.whole.nv)
    ends = source.whole_positions(graph, start), source.whole_positions(graph, end)
    difference(source.tree(graph, source.still(graph)), *ends, whole)
    return source.own_motion(graph, whole)


@lru_cache(maxsize=16)
def step_parts(robot: Tree, rule: Rule, settings: int, places: tuple[int, ...] = ()) -> StepParts:
    """Return the parts of a step of a robot by an integrator; their code is compiled when it is first called."""
    return StepParts(robot, rule, settings, places)
