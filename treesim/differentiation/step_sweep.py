"""Gradients through many steps in free motion, from the last step to the first, in compiled code."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from itertools import compress
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ..engine.call.batched import BatchedTables
from ..engine.call.evaluate import lanes_for
from ..engine.call.expression_code import expression_states
from ..engine.call.specialized import BatchCode
from ..engine.graph import derivatives
from ..engine.graph.derivatives import SteadyExpression
from ..engine.graph.graph import TooLongError
from ..engine.graph.policies import Policy
from ..kernels.stepping.rules import Rule
from ..model.tree import Tree
from ..simulation.step import forward_kernel
from ..simulation.step_traces import StepSource
from .step_parts import displaced
from .step_pullback import Function, Numbers, StepInputs, StepPullback, constants


class Gradients(NamedTuple):
    """Gradients of B rollouts that go from step to step, backward.

    state (B, 2 nv): in the state at the end of a step, in tangent coordinates. numbers (B, m), parameters (B, k): in
    the inputs that are constant, `Fixed`. control (B, nv): in the control of a policy, of the parts of a step so far;
    (B, 0) if a step is one part.
    """

    state: Numbers
    numbers: Numbers
    parameters: Numbers
    control: Numbers


class Fixed(NamedTuple):
    """Constant inputs of B rollouts: numbers (B, m) of tables (`BatchedPlaces`), and parameters (B, k) of a policy."""

    numbers: Numbers
    parameters: Numbers


class Steps(NamedTuple):
    """Steps of B rollouts (B, n, ...): state at the start, control, weights of displacement and velocity at the end.

    Under a policy also weights of the control, the time [s] (B, n, 1) and, if its steps have several parts, whether (1
    or 0) a part is the first one; else these are (B, n, 0).
    """

    q: Numbers
    v: Numbers
    control: Numbers
    on_q: Numbers
    on_v: Numbers
    on_control: Numbers
    t: Numbers
    first: Numbers


class BatchedPlaces(NamedTuple):
    """Places of the numbers that differ between rollouts: in the tables of settings, of the robot, and of contact."""

    settings: tuple[int, ...] = ()
    robot: tuple[int, ...] = ()
    contact: tuple[int, ...] = ()

    def split(self, numbers: Numbers) -> list[Numbers]:
        """Return the numbers (..., m) of each table."""
        ends = np.cumsum([len(places) for places in self])
        return np.split(numbers, ends[:-1], axis=-1)

    def within(self, entry: Any, numbers: np.ndarray) -> BatchedTables | None:
        """Return the numbers (B, m) of the tables that an entry takes as varied constants; None without any."""
        constants, tables = ["ints", "reals", *entry.signature.tables], ("settings", "reals", "geometry")
        own = [
            (constants.index(name), np.array(places), values)
            for name, places, values in zip(tables, self, self.split(numbers), strict=True)
            if places and name in constants
        ]
        if not own:
            return None
        at, places, values = zip(*own, strict=True)
        return BatchedTables(at, places, np.concatenate(values, axis=1))


class Sweep(Protocol):
    """Gradients through steps of B rollouts."""

    def run(
        self, after: Gradients, fixed: Fixed, steps: Steps, controls: np.ndarray, impulses: np.ndarray | None = None
    ) -> Gradients:
        """Return the gradients at the start of the first step, from those after the last one.

        controls (B, n, nv): overwritten by the gradients in the control of each step. impulses (B, R): of contact,
        before the first step.
        """


class PolicyPullback:
    """Gradients of a weighted sum of a policy's controls in displacement, velocity and parameters."""

    def __init__(self, robot: Tree, policy: Policy) -> None:
        source = StepSource(robot, forward_kernel(robot, "aba"))
        nq, nv, parameters = robot.nq, robot.nv, policy.sizes[3]

        def control(d: Numbers, t: Numbers, q: Numbers, v: Numbers, p: Numbers) -> list[Numbers]:
            graph = q[0].graph
            at = displaced(source, source.tree(graph), q, d)
            return policy(t[0], source.own_positions(graph, at), v, p)

        expression = SteadyExpression([nv, 1, nq, nv, parameters], control)
        gradients = derivatives.gradients_of(expression, [True, False, False, True, True])
        self._nv, inputs = nv, [nv, 1, nq, nv, parameters, len(expression.results)]
        self._function = Function(inputs, gradients, [nv, nv, parameters])

    def __call__(self, t: Numbers, q: Numbers, v: Numbers, p: Numbers, weights: Numbers) -> list[Numbers]:
        """Return the gradients of sum(weights * control)."""
        return self._function(constants(np.zeros(self._nv), q), t, q, v, p, weights)


class FreeSweep:
    """Gradients through parts of steps in free motion.

    table: settings of a part. policy: None under given controls. several: whether a policy's steps have several parts.
    """

    def __init__(
        self, robot: Tree, rule: Rule, table: np.ndarray, batched: BatchedPlaces, policy: Policy | None, several: bool
    ) -> None:
        self._table, self._batched = table, batched
        self._step = StepPullback(robot, rule, table.size, batched.robot)
        self._policy = None if policy is None else PolicyPullback(robot, policy)
        nq, nv, m = robot.nq, robot.nv, sum(map(len, batched))
        k, driven = 0 if policy is None else policy.sizes[3], int(policy is not None)
        held = driven * several
        # sizes of `Gradients`, `Fixed` and `Steps` of a rollout
        self._carried, self._fixed = [2 * nv, m, k, held * nv], [m, k]
        self._steps, self._nv = [nq, nv, nv, nv, nv, driven * nv, driven, held], nv

    def run(
        self, after: Gradients, fixed: Fixed, steps: Steps, controls: np.ndarray, impulses: np.ndarray | None = None
    ) -> Gradients:
        """Return the gradients at the start, see `Sweep`."""
        backward = [x[:, ::-1] for x in (*steps, controls)]
        if self._code is None:
            return self._one_by_one(after, fixed, backward)
        count, n = controls.shape[:2]
        before = Gradients(*(np.empty(x.shape) for x in after))
        last = [as_strided(x[:, None], (count, n, x.shape[1]), (x.strides[0], 0, x.itemsize)) for x in before]
        sizes = *self._carried, *self._fixed, *self._steps, *self._carried
        arrays = compress((*after, *fixed, *backward[:-1], *last), sizes)
        self._code.run([*arrays, backward[-1]], count, n)
        return before

    def _one_by_one(self, after: Gradients, fixed: Fixed, backward: Sequence[np.ndarray]) -> Gradients:
        *steps, controls = backward
        for k in range(controls.shape[1]):
            *found, controls[:, k] = self._through(*after, *fixed, *(x[:, k] for x in steps))
            after = Gradients(*found)
        return after

    @cached_property
    def _code(self) -> BatchCode | None:
        """SIMD code of all steps; None if there is none."""
        sizes = [*self._carried, *self._fixed, *self._steps]
        try:
            expression = SteadyExpression(sizes, lambda *groups: np.concatenate(self._through(*groups)).tolist())
        except TooLongError:
            return None
        carried, invariant, inputs, results = (
            [*filter(None, x)] for x in (self._carried, self._fixed, sizes, [*self._carried, self._nv])
        )
        return lanes_for(
            expression_states, (expression,), inputs, results, np.dtype(float), "auto",
            carried=len(carried), invariant=len(invariant),
        )  # fmt: skip

    def _through(
        self, state: Numbers, sums: Numbers, in_p: Numbers, held: Numbers, numbers: Numbers, p: Numbers, q: Numbers,
        v: Numbers, u: Numbers, on_q: Numbers, on_v: Numbers, on_control: Numbers, t: Numbers, first: Numbers,
    ) -> list[Numbers]:  # fmt: skip
        """Return `Gradients` at the start of a part of a step, and the gradient in its control."""
        size, places = self._table.size, list(self._batched.settings)
        settings, robot, contact = self._batched.split(numbers)
        table = np.concatenate([constants(self._table, q), robot], axis=-1)
        table[..., places] = settings
        weights = state + np.concatenate([on_q, on_v], axis=-1)
        in_q, in_v, in_table, control = self._step(StepInputs(q, v, table, u), weights)
        sums = sums + np.concatenate([in_table[..., places], in_table[..., size:], 0 * contact], axis=-1)
        if self._policy is not None:
            several = held.shape[-1] > 0
            together = control + held if several else control
            more = self._policy(t, q, v, p, together + on_control)
            if several:
                held, more = together * (1 - first), [first * x for x in more]
            in_q, in_v, in_p = in_q + more[0], in_v + more[1], in_p + more[2]
        return [np.concatenate([in_q, in_v], axis=-1), sums, in_p, held, control]


@lru_cache(maxsize=16)
def free_sweep(
    robot: Tree, rule: Rule, table: tuple[float, ...], batched: BatchedPlaces, policy: Policy | None, several: bool
) -> FreeSweep:
    """Return the gradients through steps in free motion; equal requests return the same object."""
    return FreeSweep(robot, rule, np.array(table), batched, policy, several)
