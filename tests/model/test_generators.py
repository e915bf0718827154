"""Generators: the closed forms of Featherstone 2005, Table 2, the papers' robots, and physically sound parameters."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import golden, trees
from treesim.errors import ArgumentError, UnknownNameError
from treesim.model import generators as make

pytestmark = pytest.mark.nojit


@pytest.mark.paper("F05 Table 2")
@pytest.mark.parametrize("row", golden.load("table_2")["rows"], ids=lambda row: f"{row['family']}_{row['size']}")
def test_table_2(row):
    topology = getattr(make, row["family"])(row["size"]).topology
    assert row["counts"] == [topology.D1, topology.D2]


@pytest.mark.paper("F05 Figure 4")
@given(st.integers(1, 12))
def test_table_2_formulas(k):
    chain, side, grid = (f(k).topology for f in (make.chain, make.chain_with_side_branches, make.square_grid))
    assert ((k**2 - k) // 2, (k**3 - k) // 6) == (chain.D1, chain.D2)
    assert (side.D1, side.D2, side.n_dofs) == (k**2, (2 * k**3 + 3 * k**2 + k) // 6, 2 * k)
    assert (grid.D1, grid.D2, grid.n_dofs) == (k**3 - k**2, (7 * k**4 - 6 * k**3 - k**2) // 12, k**2)


@pytest.mark.paper("F05 Figure 4")
@given(st.integers(1, 8))
def test_table_2_formula_of_the_balanced_tree(k):
    tree = make.balanced_binary_tree(k).topology
    assert tree.n_dofs == 2**k - 1
    assert sum(i * 2**i for i in range(1, k)) == tree.D1
    assert sum(i * (i + 1) * 2 ** (i - 1) for i in range(1, k)) == tree.D2


@pytest.mark.paper("F05 Figure 1", "F10 Figure 1")
def test_tree_1():
    assert tuple(make.tree_1().parent) == golden.TREE_1


@pytest.mark.paper("F05 Figure 6")
def test_humanoid_of_2005():
    topology = make.featherstone_2005_humanoid().topology
    assert (topology.n_bodies, topology.n_dofs) == (25, 30)
    assert (topology.D1, topology.D2, topology.sparsity().sum()) == (219, 1039, 468)


@pytest.mark.paper("F10 Figure 11")
def test_asimo():
    topology = make.asimo().topology
    assert (topology.n_bodies, topology.n_dofs, max(topology.dof_depth)) == (35, 40, 14)
    assert (topology.D1, topology.D2, topology.sparsity().sum()) == (334, 1779, 708)


@pytest.mark.paper("F10 Figure 11")
def test_asimo_operational_space_of_hands_and_feet():
    robot = make.asimo()
    ends = [robot.body_names.index(name) + 1 for name in
            ("left_arm_wrist_roll", "right_arm_wrist_roll", "left_leg_ankle_roll", "right_leg_ankle_roll")]  # fmt: skip
    depth = [robot.topology.dof_depth[robot.topology.last_dof[end] - 1] for end in ends]
    assert 6 * sum(depth) == 312  # entries of J (Featherstone 2010, section 9)


@pytest.mark.parametrize("name", trees.CATALOGUE)
def test_every_body_is_physical(name):
    for body in trees.tree(name).bodies:
        moments = np.linalg.eigvalsh(body.inertia.rotational)
        assert body.inertia.mass > 0 and moments[0] > 0 and moments[0] + moments[1] >= moments[2] * (1 - 1e-12)


@given(trees.random_trees(max_bodies=12))
def test_random_trees_are_not_depth_first(robot):
    parent = robot.parent.tolist()
    assert parent.count(0) >= 2
    contiguous = [list(range(i, i + len(robot.topology.subtree(i)))) == list(robot.topology.subtree(i))
                  for i in range(1, robot.n_bodies + 1)]  # fmt: skip
    assert not all(contiguous) and not make.is_depth_first(parent)


@given(trees.random_trees(max_bodies=6))
def test_random_trees_repeat_and_stay_within_their_bounds(robot):
    again = [make.random_tree(np.random.default_rng(7), 5, armature=0.3, damping=0.1) for _ in range(2)]
    assert (again[0].reals == again[1].reals).all() and (again[0].ints == again[1].ints).all()
    assert 0 < again[0].armature.max() <= 0.3 and 0 < again[0].damping.max() <= 0.1
    assert not robot.armature.any() and not robot.damping.any()


def test_joint_types_are_taken_in_turn():
    robot = make.chain(5, ("revolute", "spherical"))
    assert [body.joint.type for body in robot.bodies] == ["revolute", "spherical", "revolute", "spherical", "revolute"]


@pytest.mark.parametrize("make_tree", [make.chain, make.balanced_binary_tree, make.square_grid])
def test_sizes_below_one_are_refused(make_tree):
    with pytest.raises(ArgumentError, match="must be a whole number from 1 on, got 0"):
        make_tree(0)


def test_joint_types_that_do_not_exist_are_refused():
    with pytest.raises(UnknownNameError, match="did you mean 'revolute'"):
        make.chain(3, ("revolut",))
    with pytest.raises(ArgumentError, match="joint_types is empty"):
        make.chain(3, ())


def test_random_tree_refuses_what_cannot_be():
    with pytest.raises(ArgumentError, match="at least 3"):
        make.random_tree(np.random.default_rng(0), 2)
    with pytest.raises(UnknownNameError, match="revolute"):
        make.random_tree(np.random.default_rng(0), 4, ("revolut",))
