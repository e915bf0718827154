"""Tables of assemblies: the elimination plan, and the memory of every body (see `assemblies`)."""

from typing import Any, NamedTuple

from ...algebra.tables import HEADER
from ...entries.scratch import views_of

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


NUMBERS_PER_BODY = 2 * 12 + 11 * 6 + 6 * 36 + 1


# Memory of a state in a flat array of (N + 1) NUMBERS_PER_BODY. X, V, A, c of the body, its inertia I and bias b, which
# include what hangs on it. Of the assembly that begins with the body: P and b at the handles, and the map T, u of
# velocities through it. Of its joint, once eliminated: F0 and G with F = F0 + G1 f1 + G2 F_below, weights w, force F,
# and the margin by which its constraint is satisfied. above: velocity of the body's parent. Row 0 is the base, and
# replaces missing bodies: it exerts no force, and what is written to it is not used.
VECTOR, BLOCK = "N + 1, 6", "N + 1, 6, 6"
memory_of = views_of(
    "tree", X="N + 1, 12", V=VECTOR, A=VECTOR, c=VECTOR, I=BLOCK, b=VECTOR, P11=BLOCK, P12=BLOCK, P22=BLOCK, b1=VECTOR,
    b2=VECTOR, w=VECTOR, F0=VECTOR, G1=BLOCK, G2=BLOCK, F=VECTOR, margin="N + 1", T="N + 1, 12", u=VECTOR, above=VECTOR,
)  # fmt: skip
