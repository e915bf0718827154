"""Timing of batches for `treesim bench --batch`: time per state, beside Pinocchio's functions over several threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..engine.threads import thread_count
from .timing import interleaved

if TYPE_CHECKING:
    from ..model.tree import Tree
    from .peer import PinocchioPeer

STEPS = 20  # of each rollout
KINDS: dict[str, type[np.floating]] = {"float64": np.float64, "float32": np.float32}
Call = Callable[[], Any]


def batch_rows(tree: Tree, peer: PinocchioPeer | None, count: int, rounds: int, seed: int) -> list[dict[str, Any]]:
    """Return a row for each call on `count` states: nanoseconds per state (of rollouts: per step), ours and the peer's,
    on the same number of threads, in turns; and our error, float32's against float64's, the latter's against the peer.
    """
    rng = np.random.default_rng(seed)
    q = np.array([tree.random(rng) for _ in range(count)])
    v, a = rng.standard_normal((2, count, tree.nv))
    ours = {(name, kind): call for kind in KINDS for name, call in _our_calls(tree, q, v, a, KINDS[kind]).items()}
    theirs = {} if peer is None else _their_calls(peer, q, v, a, _torque(tree, q, v, a))
    labels = {key: ", ".join(key) for key in ours}
    timings = interleaved({**{labels[key]: call for key, call in ours.items()}, **theirs}, rounds)
    rows = []
    for (name, kind), call in ours.items():
        per_call = count * (STEPS if name == "rollout" else 1)
        timing = timings[labels[name, kind]]
        row: dict[str, Any] = {"call": name, "numbers": kind, "min_ns": 1e3 * timing.min_us / per_call}
        row["median_ns"] = 1e3 * timing.median_us / per_call
        row["error"] = _error(call(), ours[name, "float64"]()) if kind == "float32" else None
        beside = PEERS.get(name, "")
        if beside in theirs:
            row["peer"] = {"call": beside, "min_ns": 1e3 * timings[beside].min_us / count}
            row["ratio"] = timings[beside].min_us / timing.min_us
        rows.append(row)
    return rows


def _torque(tree: Tree, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    import treesim

    return treesim.inverse_dynamics(tree, q, v, a)


def _our_calls(tree: Tree, q: np.ndarray, v: np.ndarray, a: np.ndarray, number: type[np.floating]) -> dict[str, Call]:
    import treesim

    tau = _torque(tree, q, v, a).astype(number)
    q, v, a = (x.astype(number) for x in (q, v, a))
    still = np.zeros((STEPS, tree.nv)).astype(number)
    return {
        "forward_dynamics": lambda: treesim.forward_dynamics(tree, q, v, tau),
        "inverse_dynamics": lambda: treesim.inverse_dynamics(tree, q, v, a),
        "mass_matrix": lambda: treesim.mass_matrix(tree, q),
        "rollout": lambda: treesim.rollout(tree, q, 0.1 * v, still, dt=1e-4, every=STEPS).q,
    }


PEERS = {"forward_dynamics": "pin.abaInParallel", "inverse_dynamics": "pin.rneaInParallel"}


def _their_calls(peer: PinocchioPeer, q: np.ndarray, v: np.ndarray, a: np.ndarray, tau: np.ndarray) -> dict[str, Call]:
    """Pinocchio's own batches, one column a state; empty where it was built without threads."""
    pin, threads = peer.pin, thread_count()
    if not hasattr(pin, "abaInParallel"):
        return {}
    pool = pin.ModelPool(peer.model, threads)
    q = np.asfortranarray(np.array([peer.configuration(x) for x in q]).T)
    v, a, tau = (np.asfortranarray(np.array([peer.velocity(x) for x in each]).T) for each in (v, a, tau))
    return {
        "pin.abaInParallel": lambda: pin.abaInParallel(threads, pool, q, v, tau),
        "pin.rneaInParallel": lambda: pin.rneaInParallel(threads, pool, q, v, a),
    }


def _error(value: np.ndarray, truth: np.ndarray) -> float:
    """Largest deviation of any state, relative to that state's largest number."""
    axes = tuple(range(1, truth.ndim))
    return float((np.abs(value - truth).max(axis=axes) / np.abs(truth).max(axis=axes)).max())
