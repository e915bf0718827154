"""Counts of treesim's kernels on robots, compared with the formulas and with each other."""

import numpy as np
import pytest
from treesim_lab.cost import counting, robot
from treesim_lab.cost import featherstone_2005 as f05

import treesim
from tests import trees
from treesim import plugins
from treesim.dynamics.base import CompiledBackend
from treesim.dynamics.operational.base import CompiledMethod
from treesim.engine.interpreter import Tally
from treesim.kernels.dynamics import ltdl, ltl
from treesim.model import generators as make

TREES = ("tree_1", "humanoid_2005", "binary_4", "random_14")
every_tree = pytest.mark.parametrize("name", TREES)


@pytest.mark.paper("F05 eq. 8", "F05 eq. 9", "F05 Table 1")
@every_tree
def test_factors_cost_what_the_formulas_say(name):
    tree = trees.tree(name)
    n, D1 = tree.nv, tree.topology.D1
    ltdl, ltl = counting.ltdl(tree), counting.ltl(tree)
    formula = f05.ltdl_factorization(tree.topology)
    assert ltdl.factorize.operations.add == formula.add
    assert ltdl.factorize.operations.mul == formula.mul + D1  # D1 divisions are n reciprocals and D1 products
    assert (ltdl.factorize.operations.div, formula.div) == (n, D1)
    assert ltdl.solve.operations == f05.ltdl_back_substitution(tree.topology)
    assert ltl.factorize.operations == f05.ltl_factorization(tree.topology)
    assert ltl.solve.operations == f05.ltl_back_substitution(tree.topology)


@pytest.mark.paper("F05 Table 1", "F05 appendix, y = L'x")
@every_tree
@pytest.mark.parametrize(
    "kernel, product, solve",
    [(ltdl, f05.ltdl_product, f05.ltdl_triangular_solve), (ltl, f05.ltl_product, f05.ltl_triangular_solve)],
    ids=["ltdl", "ltl"],
)
def test_products_and_solves_cost_what_table_1_says(name, kernel, product, solve):
    tree = trees.tree(name).topology
    depth, start = tree.dof_depth - 1, np.cumsum(tree.dof_depth) - tree.dof_depth
    for operation, formula in (
        (kernel.multiply, product),
        (kernel.multiply_transposed, product),
        (kernel.solve_lower, solve),
        (kernel.solve_lower_transposed, solve),
    ):
        tally = Tally()
        L, x = (tally.variables(np.ones(size)) for size in (tree.D1 + tree.n_dofs, tree.n_dofs))
        operation(tree.dof_parent - 1, depth, start, L, x)
        assert {kind: count for kind, count in tally.operations.items() if count} == formula(tree).as_dict()


@every_tree
def test_a_backend_made_of_parts_costs_their_sum(name):
    """Except for constant entries of the mass matrix, which only the count of the whole includes."""
    tree = trees.tree(name)
    ltdl = counting.ltdl(tree)
    parts = [counting.inertia_matrix(tree), counting.bias(tree), ltdl.factorize, ltdl.solve]
    whole = counting.forward_dynamics(tree, plugins.get("dynamics", "crba_ltdl"))
    together = sum(part.operations.total for part in parts) + tree.nv
    assert 0.8 * together < whole.operations.total <= together
    assert whole.depth > max(part.depth for part in parts)


@pytest.mark.parametrize("backend", treesim.available("dynamics"))
def test_every_kernel_of_ours_is_counted(backend):
    tree, implementation = trees.tree("random_a"), plugins.get("dynamics", backend)
    count = counting.forward_dynamics(tree, implementation)
    assert (count is not None) == isinstance(implementation, CompiledBackend)
    if count is not None:
        assert count.operations.mul > 100 < count.operations.add
        assert 10 < count.depth < count.operations.total


def test_counts_that_depend_on_the_state_say_so():
    tree = trees.tree("random_a")
    for name in treesim.available("dynamics"):
        count = counting.forward_dynamics(tree, plugins.get("dynamics", name))
        if count is not None:
            assert count.varies == name.startswith("conjugate_gradient")


@pytest.mark.parametrize("method", treesim.available("operational"))
def test_every_method_of_ours_is_counted(method):
    tree, implementation = trees.tree("random_a"), plugins.get("operational", method)
    count = counting.inverse_inertia(tree, implementation, tree.body_names[-2:], "world")
    assert (count is not None) == isinstance(implementation, CompiledMethod)
    if count is not None:
        assert 10 < count.depth < count.operations.total


@pytest.mark.paper("J91 section 2, recursions")
@pytest.mark.parametrize("backend", ["aba", "rjk"])
def test_articulated_bodies_count_linearly_along_a_chain(backend):
    counts = [counting.forward_dynamics(make.chain(n), plugins.get("dynamics", backend)) for n in (10, 20, 30)]
    steps = np.diff([count.operations.total for count in counts])
    assert steps[0] == steps[1] > 0


def test_branches_make_the_critical_path_short():
    wide, long = make.balanced_binary_tree(5), make.chain(31)
    backend = plugins.get("dynamics", "aba")
    assert counting.forward_dynamics(wide, backend).depth < 0.4 * counting.forward_dynamics(long, backend).depth


def test_operations_between_the_robots_constants_are_free():
    """A chain of rods along x with axes y and z has a lower count than one with randomly rotated frames."""
    aligned = counting.inertia_matrix(make.chain(6)).operations.total
    rng = np.random.default_rng(0)
    turned = make.random_tree(rng, 6, joint_types=("revolute",))
    chain = treesim.Tree("turned", [
        treesim.Body(body.name, i, body.joint, body.inertia) for i, body in enumerate(turned.bodies)
    ])  # fmt: skip
    assert aligned < 0.5 * counting.inertia_matrix(chain).operations.total


@every_tree
def test_limb_tips_are_leaves_that_cover_much(name):
    topology = trees.tree(name).topology
    tips = robot.limb_tips(topology)
    assert tips == sorted(set(tips)) and 1 <= len(tips) <= 4
    assert not set(tips) & set(topology.parent.tolist())
    assert len(topology.support(max(tips, key=lambda i: len(topology.support(i))))) == topology.depth


def test_a_robot_that_cannot_move_costs_nothing():
    bench = treesim.Tree("bench", [])
    assert robot.parts(bench) == robot.dynamics(bench) == robot.operational(bench, []) == []


def test_frames_on_the_base_cost_nothing():
    tree = make.chain(3)
    vise = treesim.Tree("vise", tree.bodies, frames=[treesim.Frame("base", 0)])
    assert robot.operational(vise, ["base", "body_3"]) == robot.operational(vise, ["body_3"])
    assert robot.operational(vise, ["base"]) == []
