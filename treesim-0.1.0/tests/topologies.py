"""Trees without bodies, drawn by Hypothesis."""

from __future__ import annotations

from hypothesis import strategies as st

from treesim import Topology


@st.composite
def topologies(draw):
    """Up to ten bodies in any regular numbering, with up to six degrees of freedom each."""
    n = draw(st.integers(1, 10))
    parent = [draw(st.integers(0, i)) for i in range(n)]
    return Topology(parent, draw(st.lists(st.integers(0, 6), min_size=n, max_size=n)))
