"""Forward dynamics by the bias: qdd = M^-1 (tau - C), C by RNEA, for any method that solves with M."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..entries.entry import entry
from .rnea import inverse_dynamics, scratch_for


class Bias(NamedTuple):
    """Scratch memory of inverse dynamics, the bias C, and zero accelerations."""

    X: Any
    V: Any
    A: Any
    F: Any
    C: Any
    at_rest: Any


def bias_memory(tree, q):
    """Scratch memory for the bias of a tree, with the dtype of q."""
    X, V, A, F = scratch_for(tree, q)
    return Bias(X, V, A, F, np.empty(tree.nv, q.dtype), np.zeros(tree.nv, q.dtype))


def right_hand_side(tree, q, v, tau, f_ext, x, bias):
    """x <- tau - C."""
    inverse_dynamics(tree, q, v, bias.at_rest, f_ext, bias.C, bias.X, bias.V, bias.A, bias.F)
    for k in range(tree.nv):
        x[k] = tau[k] - bias.C[k]


def via_bias_entry(kernel, scratch, returns_status=False):
    """Return the forward-dynamics entry of a kernel that takes memory for the bias, and its own from `scratch`."""
    memory = bias_memory, scratch
    return entry(
        kernel,
        memory,
        returns_status=returns_status,
        q="nq",
        v="nv",
        tau="nv'",
        f_ext="N, 6 | none",
        qdd="-> nv",
        follows="qdd",
    )
