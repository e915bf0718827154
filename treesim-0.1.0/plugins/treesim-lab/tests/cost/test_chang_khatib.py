"""Recursion of Chang and Khatib: required blocks, and number of transforms compared with RJK.

`test_inverse_inertia.py` checks its Λ⁻¹ against J H⁻¹ Jᵀ, as for all methods.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from treesim_lab.cost import chang_khatib, counting
from treesim_lab.cost import featherstone_2010 as f10
from treesim_lab.cost.paper_trees import asimo

import treesim
from tests import trees
from tests.topologies import topologies
from treesim import plugins
from treesim.dynamics.operational.omega_blocks import blocks_one_at_a_time, path, required_table
from treesim.kernels.dynamics.rjk import required_in


def transforms(tree, bodies):
    """Return the numbers of one-sided transforms of off-diagonal blocks: by RJK, and by Chang and Khatib."""
    rjk = (block for block in f10.required_blocks(tree, bodies) if block[0] != block[1])
    one_at_a_time = (p != q for p, q in chang_khatib.required_blocks(tree, bodies))
    return sum(len(f10.transformed_bodies(tree, block)) for block in rjk), sum(one_at_a_time)


@pytest.mark.paper("F10 appendix B, Chang and Khatib")
@pytest.mark.nojit
@given(topologies(), st.data())
def test_the_kernel_needs_what_is_counted(tree, data):
    bodies = data.draw(st.lists(st.integers(1, tree.n_bodies), min_size=1, max_size=4))
    needed = required_in(len(bodies), required_table(tree.parent, bodies, blocks_one_at_a_time))
    listed = list(zip(needed.i.tolist(), needed.j.tolist(), strict=True))
    on_paths = {(p, p) for body in bodies for p in path([0, *tree.parent], body).tolist()}
    assert frozenset(listed) == chang_khatib.required_blocks(tree, bodies) | on_paths
    assert len(listed) == len(set(listed)) and (needed.source <= np.arange(len(listed))).all()
    assert (needed.stays[needed.i != needed.j] == 1).all()


@given(topologies(), st.data())
def test_every_block_comes_after_its_source(tree, data):
    bodies = data.draw(st.lists(st.integers(1, tree.n_bodies), min_size=1, max_size=4))
    need = chang_khatib.required_blocks(tree, bodies)
    for p, q in need:
        source = int(tree.parent[q - 1])
        if p != q:
            assert source and (min(p, source), max(p, source)) in need, "bodies that share a joint share its source"
        elif source:
            assert (source, source) in need
    assert all(tree.nearest_common_ancestor(p, q) for p, q in need), "zero blocks are not computed"


@pytest.mark.paper("F10 appendix B, Chang and Khatib")
@pytest.mark.parametrize(
    ("options", "expected"), [({}, (78, 59)), ({"extra": 12}, (222, 167)), ({"pairs": 2}, (356, 224))]
)
def test_fewer_transforms_on_the_papers_robots(options, expected):
    robot = asimo(**options)
    assert transforms(robot.tree, robot.hands + robot.feet) == expected


@pytest.mark.paper("F10 appendix B, Chang and Khatib")
def test_not_on_every_tree():
    assert transforms(treesim.Topology([0, 1, 0, 2, 1, 2, 6]), [1, 5, 7]) == (6, 7)


def test_the_kernel_takes_fewer_operations_than_rjk():
    robot = trees.tree("asimo")
    frames = [robot.body_names[body - 1] for body in asimo().hands + asimo().feet]
    methods = (plugins.get("operational", name) for name in ("rjk", "chang_khatib"))
    found = [counting.inverse_inertia(robot, method, frames, "world") for method in methods]
    rjk, variant = (count.operations.total for count in found)
    assert variant < 0.9 * rjk
