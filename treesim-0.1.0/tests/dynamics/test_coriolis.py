"""The Coriolis matrix: skew-symmetry of dM/dt - 2 C, its product with v, its pattern, mimic joints, batches."""

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treesim
from tests import trees
from tests.coupled import coupled
from tests.sensitivity import OF_A_SWEEP
from tests.trees import random_state, relative_error
from treesim.engine.interpreter import run
from treesim.kernels.dynamics.coriolis import coriolis_matrix_states
from treesim.kernels.dynamics.crba import mass_matrix_full_states
from treesim.kernels.kinematics.configuration import integrate_states

EXACT = 4 * OF_A_SWEEP  # matrix, bias and gravity all err
NAMES = (*trees.SMALL, "free_random", "asimo", "grid_3")


def tree(name):
    return coupled(1) if name == "mimic" else trees.tree(name)


@pytest.mark.parametrize("name", [*NAMES, "mimic"])
def test_times_velocity_it_is_the_bias_without_gravity(name):
    robot = tree(name)
    q, v, *_ = random_state(robot, 1)
    C = treesim.coriolis_matrix(robot, q, v)
    assert relative_error(C @ v, treesim.bias_forces(robot, q, v) - treesim.gravity_forces(robot, q)) < EXACT
    if robot.mimic_map is None:
        assert not C[~robot.topology.sparsity()].any()


@pytest.mark.nojit
@given(trees.random_trees(7), st.integers(0, 1000))
def test_its_product_with_velocity_on_random_trees(robot, seed):
    q, v, *_ = random_state(robot, seed)
    C = treesim.coriolis_matrix(robot, q, v)
    assert relative_error(C @ v, treesim.bias_forces(robot, q, v) - treesim.gravity_forces(robot, q)) < EXACT


@pytest.mark.parametrize("name", ["tree_1", "random_c"])
def test_rate_of_the_mass_matrix_minus_twice_it_is_skew_symmetric(name):
    """In 40 digits, so that central differences of step 1e-13 have an error of 1e-26."""
    robot = trees.tree(name)
    q, v, *_ = random_state(robot, 2)
    with mpmath.workdps(40):
        h = mpmath.mpf("1e-13")
        tables = (robot.ints, trees.with_exact_rotations(robot))
        exact_q, exact_v = (np.array([mpmath.mpf(x) for x in y.tolist()], dtype=object) for y in (q, v))
        square = [(robot.nv, robot.nv)]

        def mass_matrix(t):
            moved = run(integrate_states, tables, (exact_q, t * exact_v), [(robot.nq,)], mpmath.mpf)[0]
            return run(mass_matrix_full_states, tables, (moved,), square, mpmath.mpf)[0]

        rate = (mass_matrix(h) - mass_matrix(-h)) / (2 * h)
        C = run(coriolis_matrix_states, tables, (exact_q, exact_v), square, mpmath.mpf)[0]
        residual = rate - C - C.T
        assert max(abs(x) for x in residual.ravel()) < 1e-22 * max(abs(x) for x in rate.ravel())
    assert relative_error(treesim.coriolis_matrix(robot, q, v), C.astype(float)) < EXACT


def test_batches_float32_out_and_model_parameters():
    robot = trees.tree("random_a")
    q, v = (np.array([getattr(random_state(robot, k), x) for k in range(3)]) for x in "qv")
    C = treesim.coriolis_matrix(robot, q, v)
    singles = [treesim.coriolis_matrix(robot, *one) for one in zip(q, v, strict=True)]
    assert relative_error(C, np.array(singles)) < EXACT
    single = treesim.coriolis_matrix(robot, q.astype(np.float32), v.astype(np.float32))
    assert single.dtype == np.float32
    assert relative_error(single, C.astype(np.float32)) < 1e-4
    out = np.empty_like(C)
    assert treesim.coriolis_matrix(robot, q, v, out=out, engine="specialized") is out
    assert relative_error(out, C) < EXACT
    masses = {"mass": np.array([[2 * body.inertia.mass for body in robot.bodies]] * 3)}
    masses["inertia"] = np.array([[2 * body.inertia.rotational for body in robot.bodies]] * 3)
    assert relative_error(treesim.coriolis_matrix(robot, q, v, model_parameters=masses), 2 * C) < EXACT
