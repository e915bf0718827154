"""Smallest gap of each pair of a shape and a solid in one configuration."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..algebra.numbers import minimum
from ..algebra.tables import put_motion
from ..entries.entry import entry
from ..kinematics.bodies import zero_motion
from .candidates import Contacts, contacts_memory
from .collision import VARIANTS, meet
from .delassus import Rows, place, rows_memory
from .gathered_pairs import place_of
from .layout import PAIR, PAIRS
from .near_pairs import listed
from .signed_distance import FAR, vector_of
from .tables import Touch

ACROSS = 1e-6  # cosine between a normal and a direction below which a motion along it closes no gap


class GapMemory(NamedTuple):
    """Memory for the gaps of one configuration."""

    touch: Touch
    rows: Rows
    found: Contacts


def make_pair_gaps(solids):
    """Return the kernel of gaps for the solids of a world (`collision`), and the function of its memory."""

    def gap_memory(tree, layout, geometry, q):
        """Scratch memory, with the dtype of q."""
        touch = solids.tables(layout, geometry)
        return (GapMemory(touch, rows_memory(tree, 1, q), contacts_memory(touch, q)),)

    def pair_gaps(tree, q, up, margin, least, room, number, m: Any):
        """Write the smallest gap of every pair, and the smallest motion along -up that closes one; FAR without any.

        Gaps of `margin` and more, and pairs with external contacts, do not count. Those of pairs of free bodies are at
        `place_of`. up: direction (3,) in which shapes on moving bodies are above solids. number: of the pair with the
        smallest gap.
        """
        place(tree, q, m.rows)
        for i in range(tree.n_bodies + 1):
            put_motion(m.rows.V, i, zero_motion(tree))
        for k in range(least.size):
            least[k], room[k], number[k] = FAR, FAR, k
        listed_pairs = solids.near(m.touch, m.rows, margin[0] * 0, margin[0], m.found.near)
        for j in range(listed_pairs):
            k, count = listed(m.found.near, j, listed_pairs), 0
            row, at = solids.row(m.touch, k, 0), place_of(m.touch, k)
            if row >= 0:
                count = meet(m.touch, row, m.rows, margin[0] * 0, margin[0], m.found, solids)
            for c in range(count):
                gap, n = m.found.distance[c], vector_of(m.found.outward, c)
                along = n.x * up[0] + n.y * up[1] + n.z * up[2]
                if m.touch.pair[row, PAIR.body] == 0:  # corners of a static box, whose normals point down
                    along = -along
                if gap < least[at]:
                    least[at], number[at] = gap, k
                if along > ACROSS:
                    room[at] = minimum(room[at], gap / along)

    return pair_gaps, gap_memory


def gaps_entry(name):
    """Return the entry of the gaps for the solids of a world, one of `VARIANTS`."""
    kernel, memory = make_pair_gaps(VARIANTS[name])
    kernel.__name__ = f"pair_gaps_{name}"
    made: Any = entry(
        kernel, memory, {"layout": "TableOfIntegers", "geometry": "TableOfReals"}, {"P": PAIRS},
        q="nq", up="3", margin="1", least="-> P", room="-> P", number="-> P",
    )  # fmt: skip
    made.called_rarely = True  # once for each start: of 100 boxes, 0.4 s to compile at level 1, and 0.3 ms to call
    return made


PAIR_GAPS = {name: gaps_entry(name) for name in VARIANTS}
