"""Timed calls on one state, from Python to Python, compared with other engines."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

import treesim
from treesim.compare.cases import FORWARD, OURS, BenchmarkCase, Call, States
from treesim.compare.engine_model import EngineModel
from treesim.errors import ArgumentError, TreesimError
from treesim.model.tree import Tree
from treesim.states.states import serving

from ..cost.error_growth import exact_results
from .engine_choice import GENERIC, engine_of_bound
from .functions import FUNCTIONS
from .measure import measured
from .operational import our_cases, their_cases

BACKENDS = ("aba", "crba_ltdl")
PLAIN = "checks its arguments and the result, which is a new array"
BOUND = "one robot bound beforehand; checks its arguments and the result, which is a new array"
INTO = "one robot bound beforehand; checks its arguments and the result, in an array of the caller's"


def call_rows(
    tree: Tree, models: Sequence[EngineModel], state: States, rounds: int, every_backend: bool, notes: list[str]
) -> list[dict[str, Any]]:
    """Return a row for each call on one state, of treesim and others (see `measured`), sorted by quantity."""
    cases = [*_ours(tree, state, every_backend, notes), *our_cases(tree, state)]
    for model in models:
        cases += model.calls(state)
    cases += their_cases(models, tree, state)
    quantities = list(dict.fromkeys(each.quantity for each in cases))
    cases.sort(key=lambda each: quantities.index(each.quantity))
    return measured(cases, rounds, exact_references(tree, state, notes))


def exact_references(tree: Tree, state: States, notes: list[str]) -> dict[str, np.ndarray]:
    """Return the correctly rounded results of one state; nothing, and a note, without mpmath."""
    try:
        return {
            function.quantity: exact_results(
                *serving(function.entry, tree, (tree.ints, tree.reals)), function.entry_arguments(state),
                function.shape(tree),
            )
            for function in FUNCTIONS
        }  # fmt: skip
    except ArgumentError as error:
        notes.append(f"errors are differences from treesim's first row: {error}")
        return {}


def _ours(tree: Tree, state: States, every_backend: bool, notes: list[str]) -> list[BenchmarkCase]:
    found = _backends(tree, state, treesim.available("dynamics") if every_backend else BACKENDS, notes)
    for function in FUNCTIONS[1:]:
        call = partial(getattr(treesim, function.name), tree, *function.arguments(state))
        found.append(BenchmarkCase(OURS, function.name, function.quantity, call, call, PLAIN, served=GENERIC))
    return found + bound_cases(tree, state)


def _backends(tree: Tree, state: States, names: Sequence[str], notes: list[str]) -> list[BenchmarkCase]:
    """Return the cases of forward dynamics by all backends that support the robot."""

    def forward(backend: str) -> Call:
        return lambda: treesim.forward_dynamics(tree, state.q, state.v, state.tau, backend=backend)

    found = []
    for name in names:
        try:
            forward(name)()
        except TreesimError as error:
            notes.append(f"backend {name!r} left out: {error}")
        else:
            call = forward(name)
            found.append(BenchmarkCase(OURS, f"forward_dynamics, {name}", FORWARD, call, call, PLAIN, served=GENERIC))
    return found


def bound_cases(tree: Tree, state: States) -> list[BenchmarkCase]:
    """Return the calls of `treesim.Dynamics`, into new and existing arrays."""
    bound, special = treesim.Dynamics(tree), treesim.Dynamics(tree, engine="specialized")
    found = []
    for function in FUNCTIONS:
        quantity, name, arguments = function.quantity, function.name, function.arguments(state)
        served = engine_of_bound(getattr(special, name), *arguments)
        new = partial(getattr(bound, name), *arguments)
        into = partial(new, out=np.empty(function.shape(tree)))
        found += [
            BenchmarkCase(OURS, f"Dynamics.{name}", quantity, new, new, BOUND, served=served),
            BenchmarkCase(OURS, f"Dynamics.{name}, out=", quantity, into, into, INTO, served=served),
        ]
    return found
