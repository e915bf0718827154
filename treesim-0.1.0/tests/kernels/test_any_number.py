"""One text per algorithm: the kernels as plain Python on other numbers than floats."""

import mpmath
import numpy as np
import pytest

import treesim
from tests import sensitivity, trees
from treesim.engine.interpreter import run
from treesim.kernels.dynamics.aba import forward_dynamics_states
from treesim.kernels.dynamics.crba import mass_matrix_full_states
from treesim.kernels.dynamics.inertia_matrix_dynamics import forward_dynamics_ltdl_states, forward_dynamics_ltl_states
from treesim.kernels.dynamics.rjk import forward_dynamics_rjk_states
from treesim.kernels.dynamics.rnea import inverse_dynamics_states
from treesim.kernels.kinematics.configuration import difference_states, integrate_states
from treesim.kernels.published.innovations import forward_dynamics_explicit_states, forward_dynamics_innovations_states

FORWARD = {
    "aba": forward_dynamics_states,
    "crba_ltdl": forward_dynamics_ltdl_states,
    "crba_ltl": forward_dynamics_ltl_states,
    "rjk": forward_dynamics_rjk_states,
    "innovations": forward_dynamics_innovations_states,
    "explicit_inverse": forward_dynamics_explicit_states,
}
NO_FORCES = np.empty(0)


@pytest.fixture
def rng():
    return np.random.default_rng(11)


def random_state(robot, rng):
    state = trees.random_state(robot, int(rng.integers(1000)))
    return state.q, state.v, state.tau


@pytest.fixture(autouse=True)
def forty_digits():
    with mpmath.workdps(40):
        yield


def upright_tree(rng):
    """A random tree whose placements have exactly orthogonal matrices, so that all algorithms see one model."""
    robot = trees.random_tree(4, 8)
    quarter = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    bodies = [
        treesim.Body(
            body.name,
            body.parent,
            treesim.Joint(
                body.joint.name,
                body.joint.type,
                placement=treesim.Placement(quarter, body.joint.placement.translation),
                axis=(0, 1, 0),
                armature=body.joint.armature,
            ),
            body.inertia,
        )
        for body in robot.bodies
    ]
    return treesim.Tree("upright", bodies)


def distance(a, b):
    return float(max(abs(x - y) for x, y in zip(np.ravel(a), np.ravel(b), strict=True)))


@pytest.mark.paper("J91 section 7, classes")
def test_all_forward_dynamics_agree_to_forty_digits_and_with_compiled_code(rng):
    robot = upright_tree(rng)
    q, v, tau = random_state(robot, rng)
    q = np.array([mpmath.mpf(x) for x in q])
    for body in robot.bodies:  # unit to all digits
        if body.joint.type in ("spherical", "floating"):
            where = robot.q_index[body.joint.name]
            part = q[where.stop - 4 : where.stop]
            q[where.stop - 4 : where.stop] = part / mpmath.sqrt(sum(x * x for x in part))
    results = {
        name: run(entry, (robot.ints, robot.reals), (q, v, tau, NO_FORCES), [(robot.nv,)], mpmath.mpf)[0]
        for name, entry in FORWARD.items()
    }
    scale = distance(results["aba"], 0 * results["aba"])
    for name, qdd in results.items():
        assert distance(qdd, results["aba"]) <= 1e-33 * scale, name
        compiled = treesim.forward_dynamics(robot, q.astype(float), v, tau, backend=name)
        exact = qdd.astype(float)
        bound = sensitivity.of_forward_dynamics(robot, q.astype(float), v, tau, exact, name)
        assert sensitivity.farthest(compiled, exact) <= bound, name


def test_inverse_dynamics_undoes_forward_dynamics_to_forty_digits(rng):
    robot = upright_tree(rng)
    q, v, tau = random_state(robot, rng)
    constants = (robot.ints, robot.reals)
    (qdd,) = run(forward_dynamics_states, constants, (q, v, tau, NO_FORCES), [(robot.nv,)], mpmath.mpf)
    (again,) = run(inverse_dynamics_states, constants, (q, v, qdd, NO_FORCES), [(robot.nv,)], mpmath.mpf)
    # a quaternion that is unit to 16 digits only makes a rotation matrix of no more; both algorithms use the same
    assert distance(again, tau) <= 1e-13


def test_moving_on_the_manifold_is_reversible_to_forty_digits(rng):
    robot = trees.random_tree(4, 8)
    q = robot.neutral()
    d = 0.5 * rng.normal(size=robot.nv)
    constants = (robot.ints, robot.reals)
    (moved,) = run(integrate_states, constants, (q, d), [(robot.nq,)], mpmath.mpf)
    (back,) = run(difference_states, constants, (q, moved), [(robot.nv,)], mpmath.mpf)
    assert distance(back, d) <= 1e-35


@pytest.mark.nojit
def test_plain_floats_equal_compiled_floats(rng):
    robot = trees.random_tree(4, 6)
    q, _, _ = random_state(robot, rng)
    (M,) = run(mass_matrix_full_states, (robot.ints, robot.reals), (q,), [(robot.nv, robot.nv)], float)
    np.testing.assert_allclose(M.astype(float), treesim.mass_matrix(robot, q), rtol=0, atol=1e-14 * np.abs(M).max())


def test_sizes_that_do_not_fit_are_refused(rng):
    robot = trees.random_tree(4, 3)
    with pytest.raises(treesim.ArgumentError, match="sizes"):
        run(
            mass_matrix_full_states, (robot.ints, robot.reals), (np.zeros(robot.nq + 1),), [(robot.nv, robot.nv)], float
        )
