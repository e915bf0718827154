"""Timed derivatives of dynamics, M^-1, of single states and batches, and gradients of rollouts, on one thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

import treesim
from treesim.compare.cases import OURS, SAMPLE, BenchmarkCase, States
from treesim.compare.engine_model import EngineModel
from treesim.model.tree import Tree

from .batches import INTO as BATCH_INTO
from .batches import NEW
from .engine_choice import GENERIC, engine_of_batch, engine_of_bound
from .functions import DERIVATIVES, Function
from .gradients import GRADIENTS, gradient_cases
from .measure import measured
from .robots import BenchRobot
from .single import BOUND, INTO, PLAIN

BATCHES = (16, 64, 4096)
SINGLES = 64  # different states that a timed call evaluates one after the other


def derivative_rows(
    robot: BenchRobot, models: Sequence[EngineModel], states: States, batches: Sequence[int], rounds: int
) -> list[dict[str, Any]]:
    """Return a row for each call (see `measured`), sorted by quantity; batches: numbers of states."""
    few = _first(states, SINGLES)
    cases = [case for function in DERIVATIVES for case in _ours(robot.tree, function, states, batches)]
    for model in models:
        cases += model.derivatives(few)
    cases += gradient_cases(robot, states)
    quantities = [*(function.quantity for function in DERIVATIVES), GRADIENTS]
    cases.sort(key=lambda each: quantities.index(each.quantity))
    return measured(cases, rounds, {}, batched=True)


def _first(states: States, count: int) -> States:
    return States(*(x[:count] for x in states))


def _ours(tree: Tree, function: Function, states: States, batches: Sequence[int]) -> list[BenchmarkCase]:
    """Return the cases of a function: of single states, and of batches."""
    plain, bound = partial(getattr(treesim, function.name), tree), getattr(treesim.Dynamics(tree), function.name)
    special = getattr(treesim.Dynamics(tree, engine="specialized"), function.name)
    arguments = list(zip(*function.arguments(_first(states, SINGLES)), strict=True))
    served = engine_of_bound(special, *arguments[0])
    into = partial(bound, out=np.empty(function.shape(tree)))
    found = [
        _singles(function.name, function, plain, arguments, PLAIN, GENERIC),
        _singles(f"Dynamics.{function.name}", function, bound, arguments, BOUND, served),
        _singles(f"Dynamics.{function.name}, out=", function, into, arguments, INTO, served),
    ]
    for count in batches:
        given = function.arguments(_first(states, count))
        new, into = partial(plain, *given), partial(bound, *given, out=np.empty((count, *function.shape(tree))))
        for name, call, does, served in (
            (f"{function.name}, {count} states", new, NEW, engine_of_batch(tree, count, np.float64, function)),
            (f"Dynamics.{function.name}, out=, {count} states", into, BATCH_INTO, engine_of_bound(special, *given)),
        ):
            result = partial(_matrices, call)
            found.append(BenchmarkCase(OURS, name, function.quantity, call, result, does, count, served=served))
    return found


def _singles(
    name: str, function: Function, call: Callable[..., Any], arguments: list[tuple[Any, ...]], does: str, served: str
) -> BenchmarkCase:
    """Return the case of a function of one state, called for one state after the other."""

    def calls() -> None:
        for each in arguments:
            call(*each)

    def result() -> np.ndarray:
        return np.array([_matrices(partial(call, *each)).copy() for each in arguments[:SAMPLE]])

    return BenchmarkCase(OURS, name, function.quantity, calls, result, does, len(arguments), served=served)


def _matrices(call: Callable[..., Any]) -> np.ndarray:
    """Return the matrix of a call, or the rows of its three matrices side by side."""
    found = call()
    return np.stack(found, axis=-2) if isinstance(found, tuple) else found
