"""Tables of assemblies: the elimination plan, and the memory of every body (see `assemblies`)."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...algebra.blocks import SIX
from ...algebra.tables import HEADER

LEAF, JOIN, HANG, RAKE = 0, 1, 2, 3  # kinds of events


class Plan(NamedTuple):
    """Events in order, as dynamics.contraction packs them: for each kind a table (events, 3).

    Its columns are body, upper, below.
    """

    n_stages: int
    n_blocks: int
    stage_start: Any  # (n_stages + 1,) first block of each stage
    start: Any  # (4, n_blocks + 1) by kind, the first event of each block
    leaves: Any
    joints: Any
    hanging: Any
    raked: Any


def plan_tables(tree, ints):
    """Return the plan that follows the tree's own integers."""
    p = HEADER + 6 * (tree.n_bodies + 1) + 1 + 4 * tree.nv
    n, blocks = ints[p], ints[p + 1]
    s = p + 2 + n + 1
    e = s + 4 * (blocks + 1)
    start = ints[s:e].reshape((4, blocks + 1))
    a = e + 3 * start[LEAF, blocks]
    b = a + 3 * start[JOIN, blocks]
    c = b + 3 * start[HANG, blocks]
    d = c + 3 * start[RAKE, blocks]
    return Plan(
        n, blocks, ints[p + 2 : s], start,
        ints[e:a].reshape((-1, 3)), ints[a:b].reshape((-1, 3)), ints[b:c].reshape((-1, 3)), ints[c:d].reshape((-1, 3)),
    )  # fmt: skip


def share_of(plan, t, share, shares):
    """Return the range of blocks of the plan's stage t that belong to a share: first, end."""
    first, blocks = plan.stage_start[t], plan.stage_start[t + 1] - plan.stage_start[t]
    return first + blocks * share // shares, first + blocks * (share + 1) // shares


class Memory(NamedTuple):
    """Memory with one row per body.

    X, V, A, c of the body, its inertia I and bias b, which include what hangs on it. Of the assembly that begins with
    the body: P and b at the handles, and the map T, u of velocities through it. Of its joint, once eliminated: F0 and G
    with F = F0 + G1 f1 + G2 F_below, weights w, force F, and the margin by which its constraint is satisfied. Row 0 is
    the base, and replaces missing bodies: it exerts no force, and what is written to it is not used.
    """

    X: Any
    V: Any
    A: Any
    c: Any
    I: Any  # noqa: E741 - the field's symbol
    b: Any
    P11: Any
    P12: Any
    P22: Any
    b1: Any
    b2: Any
    w: Any
    F0: Any
    G1: Any
    G2: Any
    F: Any
    margin: Any
    T: Any
    u: Any
    above: Any  # velocity of the body's parent


NUMBERS_PER_BODY = 2 * 12 + 11 * 6 + 6 * 36 + 1


def memory_of(tree, numbers):
    """Return memory for one state in flat `numbers`, of size (N + 1) NUMBERS_PER_BODY."""
    B = tree.n_bodies + 1
    six, block = numbers[: B * 66].reshape((11, B, SIX)), numbers[B * 66 : B * 282].reshape((6, B, SIX, SIX))
    transforms = numbers[B * 282 : B * 306].reshape((2, B, 12))
    return Memory(
        transforms[0], six[0], six[1], six[2], block[0], six[3], block[1], block[2], block[3], six[4], six[5], six[6],
        six[7], block[4], block[5], six[8], numbers[B * 306 : B * 307], transforms[1], six[9], six[10],
    )  # fmt: skip
