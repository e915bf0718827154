"""The kernels of constrained dynamics as plain Python on other numbers: forty digits, and exact counts."""

import mpmath
import numpy as np
import pytest

import treesim
from tests import trees
from treesim import FrameConstraint, LoopConstraint
from treesim.dynamics.constrained.constraints import constraint_tables
from treesim.engine.interpreter import Tally, run
from treesim.kernels.constrained.caba import constrained_dynamics_caba_states
from treesim.kernels.constrained.constraints import constraint_derivatives_states
from treesim.kernels.constrained.pv_solver import constrained_dynamics_pv_states
from treesim.model import generators as make

pytestmark = pytest.mark.nojit
SETTINGS = [1e-4, 1e-30, 100.0]


def solve(entry, robot, constraints, q, v, tau, number):
    """qdd, force, residual, iterations."""
    tables = constraint_tables(robot, constraints)
    m = len(tables.rows)
    constants = (robot.ints, robot.reals, tables.layout, tables.geometry, np.array(SETTINGS))
    arguments = (q, v, tau, np.empty(0), np.zeros(m))
    return run(entry, constants, arguments, [(robot.nv,), (m,), (m,), (1,)], number)


def test_pv_and_caba_agree_to_thirty_digits():
    robot = make.tree_1()
    q, v, _, tau, _ = trees.random_state(robot)
    held = [FrameConstraint("body_4", rows=np.eye(6)[:2]), FrameConstraint("body_7", rows=np.eye(6)[5:])]
    with mpmath.workdps(50):
        pv = solve(constrained_dynamics_pv_states, robot, held, q, v, tau, mpmath.mpf)
        caba = solve(constrained_dynamics_caba_states, robot, held, q, v, tau, mpmath.mpf)
        for exact, iterated in zip(pv[:2], caba[:2], strict=True):
            assert max(abs(x) for x in exact - iterated) < 1e-25 * max(abs(x) for x in exact)
    found = treesim.constrained_dynamics(robot, q, v, tau, held, method="pv")
    np.testing.assert_allclose(found.acceleration, pv[0].astype(float), rtol=1e-9, atol=1e-9)


def test_the_rows_of_a_loop_cancel_where_the_paths_have_met():
    """Two frames on one body: no motion of any joint moves them apart."""
    robot = treesim.Tree(
        "pair", make.tree_1().bodies, frames=[treesim.Frame("tip", 4, treesim.Placement.from_xyz_rpy((1, 0, 0)))]
    )
    q, v, a, _, _ = trees.random_state(robot)
    tables = constraint_tables(robot, [LoopConstraint("body_4", "tip", rows="angular")])
    derivative, A = run(
        constraint_derivatives_states,
        (robot.ints, robot.reals, tables.layout, tables.geometry),
        (q, v, a),
        [(3,), (2, 3, 6)],
        float,
    )
    assert np.abs(derivative.astype(float)).max() < 1e-12
    assert np.abs((A[0] + A[1]).astype(float)).max() < 1e-15


def test_caba_costs_the_same_for_every_further_row_and_pv_more():
    """Multiplications of one iteration on a chain whose tip is held by 1, 2 and 3 rows."""
    robot = make.chain(4)
    counts = {}
    for entry in (constrained_dynamics_caba_states, constrained_dynamics_pv_states):
        for rows in (1, 2, 3):
            tally = Tally()
            q, v, tau = (tally.variables(x) for x in (*trees.random_state(robot, 1)[:2], np.ones(robot.nv)))
            tables = constraint_tables(robot, [FrameConstraint("body_4", rows=np.eye(6)[:rows])])
            constants = (robot.ints, robot.reals, tables.layout, tables.geometry, np.array([1e-4, 1e9, 1.0]))
            arguments = (q, v, tau, np.empty(0), tally.variables(np.zeros(rows)))
            run(entry, constants, arguments, [(robot.nv,), (rows,), (rows,), (1,)], tally.number)
            counts[entry, rows] = tally.operations["mul"]
    caba = [counts[constrained_dynamics_caba_states, rows] for rows in (1, 2, 3)]
    pv = [counts[constrained_dynamics_pv_states, rows] for rows in (1, 2, 3)]
    assert abs((caba[2] - caba[1]) - (caba[1] - caba[0])) <= 0.1 * (caba[1] - caba[0])
    assert pv[2] - pv[1] > pv[1] - pv[0]
