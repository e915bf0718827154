"""Costs, counts and high-precision results of robots with mimic joints."""

import numpy as np
import pytest
from treesim_lab.cost import counting
from treesim_lab.cost import robot as costs
from treesim_lab.cost.engine_errors import DT, exact, problems

from tests.coupled import coupled, dense
from treesim import plugins

ROBOT = coupled(1)


def test_exact_digits_are_those_of_the_reduced_equations():
    """M qdd + C = tau, and M^-1 x, with G'MG and G'C: with 40 digits against double precision."""
    found = {problem.name: problem for problem in problems(ROBOT, 1)}
    q, v, tau, _ = (x[0] for x in found["aba"].arguments)
    M, C = dense(ROBOT, q, v)
    for name in ("aba", "rjk", "crba_ltdl"):
        qdd = exact(found[name], 1)[0][0].astype(float)
        np.testing.assert_allclose(M @ qdd + C, tau, rtol=0, atol=1e-12 * np.abs(C).max())
    _, (v_new,) = exact(found["rollout step"], 1)
    mimicked = ROBOT.v_index[
        ROBOT.mimic_map.mimicked_joints[0]
    ].start  # a joint whose axis does not turn in its own coordinates
    assert v_new.astype(float)[mimicked] == pytest.approx((v + DT * qdd)[mimicked], rel=1e-12)
    (H,) = exact(found["mass matrix"], 1)[0]
    np.testing.assert_allclose(H.astype(float).reshape(M.shape), M, rtol=0, atol=1e-13 * np.abs(M).max())


def test_counts_are_those_of_the_robot_and_its_rows():
    """Counts exceed the spanning tree's by the cost of the rows of mimic joints."""
    aba = plugins.get("dynamics", "aba")
    mimic_map, free = counting.forward_dynamics(ROBOT, aba), counting.forward_dynamics(ROBOT.spanning, aba)
    assert mimic_map.operations.total > free.operations.total and mimic_map.depth > free.depth


def test_factors_and_sparse_rows_are_counted_along_the_elimination_tree():
    """Published formulas for the reduced matrix's tree equal the kernels' counts, term by term."""
    for entry in [*costs.parts(ROBOT)[2:], *costs.space(ROBOT, ["body_9", "body_7"])[:4]]:
        if entry.name not in ("ltdl", "ltl"):  # whose divisions are by reciprocals
            assert entry.counted.operations.mul == entry.formula.mul, entry.name
    assert "mimic joint" in costs.followed(ROBOT)[0] and costs.followed(ROBOT.spanning) == []


@pytest.mark.parametrize("seed", range(4))
def test_limits_are_of_the_reduced_matrix(seed):
    robot = coupled(seed)
    limits = costs.limits(robot)
    assert limits["depth"] == robot.dof_topology.dof_depth.max()
    assert limits["density"] >= robot.sparsity().mean()
