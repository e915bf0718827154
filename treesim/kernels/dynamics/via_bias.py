"""Forward dynamics by the bias: qdd = M^-1 (tau - C), C by RNEA, for any method that solves with M."""

from ..entries.entry import DRIVEN, entry
from ..entries.scratch import scratch_memory
from .rnea import inverse_dynamics

# of inverse dynamics; the bias C; zero accelerations
bias_memory = scratch_memory("X 12, V 6, A 6, F 6", C="nv", at_rest="nv | zeros")


def right_hand_side(tree, q, v, tau, f_ext, x, bias):
    """x <- tau - C."""
    inverse_dynamics(tree, q, v, bias.at_rest, f_ext, bias.C, bias.X, bias.V, bias.A, bias.F)
    for k in range(tree.nv):
        x[k] = tau[k] - bias.C[k]


def via_bias_entry(solve, scratch, name, returns_status=False):
    """Return the entry `forward_dynamics_name` of a method x <- M^-1 x: solve (tree, q, memory, x), which may fail.

    scratch: allocates the method's memory. returns_status: whether `solve` returns a status.
    """

    def forward_dynamics(tree, q, v, tau, f_ext, qdd, bias, memory):
        right_hand_side(tree, q, v, tau, f_ext, qdd, bias)
        return solve(tree, q, memory, qdd)

    forward_dynamics.__name__, forward_dynamics.__doc__ = f"forward_dynamics_{name}", solve.__doc__
    memory = bias_memory, scratch
    return entry(forward_dynamics, memory, returns_status=returns_status, **DRIVEN, qdd="-> nv", follows="qdd")
