"""Arithmetic of batches: operations per second, and their fraction of the processor's peak."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import treesim
from treesim.compare.cases import FORWARD, INVERSE, MASS, SINGLE, States
from treesim.engine.graph.trace import trace
from treesim.engine.llvm.elementary import sincos_arithmetic
from treesim.engine.threads import thread_count, use_threads
from treesim.errors import UnsupportedError
from treesim.model.tree import Tree
from treesim.states.states import serving
from treesim_lab.cost.trace_counts import fused, turned
from treesim_lab.cost.trace_counts import operations as counts

from .batches import KINDS, PAUSE, TURN
from .fma_peak import peak
from .functions import FUNCTIONS, packed
from .timing import interleaved


class Arithmetic(NamedTuple):
    """Operations of a kernel by kind (add, mul, div, other), and the fraction of the peak that their mix allows."""

    operations: dict[str, int]
    allowed: float


def arithmetic(
    entry: Callable[..., int], tree: Tree, sizes: Sequence[int], results: Sequence[int], single: bool
) -> Arithmetic:
    """Return the operations of the robot's straight-line code on one state.

    Looped code does some more, with constants that straight-line code folds. Subtractions count as additions. A
    sine and cosine count as the additions and multiplications that they take, without the selection of
    quadrants and signs. Square roots, comparisons and the like are other, each counted once. The peak is two
    operations per instruction; a multiplication shares one with the addition that alone uses it. Raises
    UnsupportedError if there is no such code.
    """
    traced = trace(*serving(entry, tree, (tree.ints, tree.reals)), sizes, results)
    counted, angles, pair = counts(traced), turned(traced), sincos_arithmetic(single)
    del counted["trig"]
    counted.update(add=angles * pair.additions, mul=angles * pair.multiplications)
    named = {name: counted[name] for name in ("add", "mul", "div")}
    named["other"] = counted.total() - sum(named.values())
    instructions = counted.total() - fused(traced) - angles * pair.fused
    return Arithmetic(named, counted.total() / (2 * instructions) if instructions else 1.0)


def arithmetic_rows(tree: Tree, states: States, rounds: int, notes: list[str]) -> list[dict[str, Any]]:
    """Return a row for each of ABA, RNEA and CRBA (packed), number type, and one and all threads.

    Each contains operations per state, seconds per state, operations per second, the processor's peak, the
    fraction of it, and the fraction that the mix allows.
    """
    threads = list(dict.fromkeys((1, thread_count())))
    peaks = {(kind, n): peak(kind == SINGLE, n) for kind in KINDS for n in threads}
    calls = {(quantity, kind, n): call for kind in KINDS for n in threads
             for quantity, call in _calls(tree, states, KINDS[kind], n).items()}  # fmt: skip
    labels = {key: str(key) for key in calls}
    timings = interleaved({labels[key]: call for key, call in calls.items()}, rounds, TURN, PAUSE)
    rows = []
    for quantity, (name, by_kind) in _counts(tree, notes).items():
        for kind, n in peaks:
            found = by_kind[kind]
            seconds = 1e-6 * timings[labels[quantity, kind, n]].min_us / len(states.q)
            rate = sum(found.operations.values()) / seconds
            rows.append({
                "kernel": name, "quantity": quantity, "numbers": kind, "threads": n, "operations": found.operations,
                "min_s": seconds, "per_s": rate, "peak_per_s": peaks[kind, n], "share": rate / peaks[kind, n],
                "allowed": found.allowed,
            })  # fmt: skip
    return rows


def _calls(tree: Tree, states: States, number: type[np.floating], threads: int) -> dict[str, Callable[[], None]]:
    q, v, a, tau = (x.astype(number) for x in states)
    bound = treesim.Dynamics(tree, dtype=number)
    moved, matrices = np.empty_like(v), np.empty((len(q), tree.nnz), number)

    def on(call: Callable[..., Any], *arguments: np.ndarray, out: np.ndarray) -> Callable[[], None]:
        def run() -> None:
            with use_threads(threads):
                call(*arguments, out=out)

        return run

    return {
        FORWARD: on(bound.forward_dynamics, q, v, tau, out=moved),
        INVERSE: on(bound.inverse_dynamics, q, v, a, out=moved),
        MASS: on(bound.packed_mass_matrix, q, out=matrices),
    }


def _counts(tree: Tree, notes: list[str]) -> dict[str, tuple[str, dict[str, Arithmetic]]]:
    """Return each quantity's kernel name and arithmetic by number type; adds a note without specialized code."""
    found = {}
    for name, function in zip(("ABA", "RNEA", "CRBA"), (*FUNCTIONS[:2], packed(tree)), strict=True):
        try:
            by_kind = {kind: arithmetic(function.entry, tree, *function.sizes(tree), kind == SINGLE) for kind in KINDS}
            found[function.quantity] = (name, by_kind)
        except UnsupportedError as error:
            notes.append(f"operations of {name} are not counted: {error}")
    return found
