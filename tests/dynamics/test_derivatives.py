"""Derivatives of inverse and forward dynamics: 40 digits, identities, Pinocchio, distance from the origin, batches."""

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treesim
from tests import trees
from tests.coupled import coupled
from tests.optional import need
from tests.trees import random_state, relative_error
from treesim.dynamics.operational.frames import known_frame_codes
from treesim.engine.interpreter import run
from treesim.kernels.dynamics.inverse_dynamics_derivatives import inverse_dynamics_derivatives_states
from treesim.kernels.dynamics.rnea import inverse_dynamics_states
from treesim.kernels.kinematics.configuration import integrate_states
from treesim.kernels.kinematics.frame_acceleration_derivatives import frame_acceleration_derivatives_states
from treesim.kernels.kinematics.frame_motion import frame_motions_states

NAMES = (*trees.SMALL, "free_random", "grid_3")
ROUNDED = 1e-13  # of a few sweeps, relative to the largest entry
SOLVED = 1e-11  # of a mass matrix with a condition below 1e4


def tree(name):
    return coupled(1) if name == "mimic" else trees.tree(name)


def exact(x):
    return np.array([mpmath.mpf(y) for y in np.ravel(x).tolist()], dtype=object)


@pytest.mark.nojit
@given(trees.random_trees(6), st.integers(0, 1000))
def test_along_any_direction_they_are_the_difference_quotient_in_40_digits(robot, seed):
    q, v, a, *_ = random_state(robot, seed)
    rng = np.random.default_rng(seed)
    f_ext, (dq, dv) = rng.normal(size=(robot.n_bodies, 6)), rng.normal(size=(2, robot.nv))
    with mpmath.workdps(40):
        tables, h = (robot.ints, trees.with_exact_rotations(robot)), mpmath.mpf("1e-13")
        q, v, a, f_ext, dq, dv = map(exact, (q, v, a, f_ext, dq, dv))

        def force(t):
            moved = run(integrate_states, tables, (q, t * dq), [(robot.nq,)], mpmath.mpf)[0]
            inputs = moved, v + t * dv, a, f_ext
            return run(inverse_dynamics_states, tables, inputs, [(robot.nv,)], mpmath.mpf)[0]

        rate = (force(h) - force(-h)) / (2 * h)
        shape = [(robot.nv, 3, robot.nv)]
        D = run(inverse_dynamics_derivatives_states, tables, (q, v, a, f_ext), shape, mpmath.mpf)[0]
        residual = rate - D[:, 0] @ dq - D[:, 1] @ dv
        assert max(map(abs, residual), default=0) <= 1e-20 * max(map(abs, [*D.ravel(), 1]))


@pytest.mark.nojit
@given(trees.random_trees(6), st.integers(0, 1000), st.booleans())
def test_those_of_frames_are_difference_quotients_in_40_digits(robot, seed, local):
    q, v, a, *_ = random_state(robot, seed)
    dq, dv = np.random.default_rng(seed).normal(size=(2, robot.nv))
    frame = robot.frame_names[seed % len(robot.frame_names)]
    codes = known_frame_codes(robot, (frame,), "local" if local else "local_world_aligned")
    with mpmath.workdps(40):
        tables, h = (robot.ints, trees.with_exact_rotations(robot), codes[0], exact(codes[1])), mpmath.mpf("1e-13")
        q, v, a, dq, dv = map(exact, (q, v, a, dq, dv))

        def acceleration(t):
            moved = run(integrate_states, tables[:2], (q, t * dq), [(robot.nq,)], mpmath.mpf)[0]
            row = run(frame_motions_states, tables, (moved, v + t * dv, a), [(1, 24)], mpmath.mpf)[0][0]
            linear, angular = row[18:21], row[21:]
            R = row[:9].reshape(3, 3) if local else np.eye(3, dtype=int)
            return np.concatenate([linear @ R, angular @ R])

        rate = (acceleration(h) - acceleration(-h)) / (2 * h)
        D = run(frame_acceleration_derivatives_states, tables, (q, v, a), [(18, robot.nv)], mpmath.mpf)[0]
        residual = rate - D[:6] @ dq - D[6:12] @ dv
        assert max(map(abs, residual)) <= 1e-18 * max(map(abs, [*D.ravel(), 1]))


@pytest.mark.parametrize("name", ["ur5", "free_random", "mimic"])
@pytest.mark.parametrize("reference", ["local", "local_world_aligned"])
def test_those_of_frames_in_batches(name, reference):
    robot = treesim.load("ur5") if name == "ur5" else tree(name)
    states, frame = [random_state(robot, k) for k in range(70)], robot.frame_names[-1]
    q, v, a = (np.array([getattr(s, x) for s in states]) for x in ("q", "v", "a"))
    many = treesim.frame_acceleration_derivatives(robot, q, v, a, frame, reference=reference)
    J = treesim.frame_jacobian(robot, q, frame, reference=reference)
    assert relative_error(many.J, J) < ROUNDED
    one = treesim.frame_acceleration_derivatives(robot, q[3], v[3], a[3], frame, reference=reference)
    for x, y in zip(one, many, strict=True):
        assert relative_error(x, y[3]) < ROUNDED
    still = treesim.frame_acceleration(robot, q, 0 * v, a, frame, reference=reference)
    assert relative_error(np.einsum("bij,bj->bi", J, a), still) < ROUNDED
    with pytest.raises(treesim.UnsupportedError, match="spatial"):
        treesim.frame_acceleration_derivatives(robot, q, v, a, frame, reference="spatial")
    with pytest.raises(treesim.UnknownNameError, match="nowhere"):
        treesim.frame_acceleration_derivatives(robot, q, v, a, "nowhere")


@pytest.mark.parametrize("name", [*NAMES, "mimic"])
def test_identities(name):
    robot = tree(name)
    q, v, a, *_ = random_state(robot, 3)
    dtau_dq, dtau_dv, M = treesim.inverse_dynamics_derivatives(robot, q, v, a)
    assert relative_error(M, treesim.mass_matrix(robot, q)) < ROUNDED
    quadratic = treesim.bias_forces(robot, q, v) - treesim.gravity_forces(robot, q)
    assert relative_error(dtau_dv @ v, 2 * quadratic) < ROUNDED  # Euler's theorem
    still = treesim.inverse_dynamics_derivatives(robot, q, 0 * v, 0 * a)
    assert not still.dtau_dv.any()
    tau = treesim.inverse_dynamics(robot, q, v, a)
    dqdd_dq, dqdd_dv, Minv = treesim.forward_dynamics_derivatives(robot, q, v, tau)
    for derivative, x in ((dqdd_dq, dtau_dq), (dqdd_dv, dtau_dv), (-Minv, np.eye(robot.nv))):
        assert relative_error(M @ derivative, -x) < SOLVED
    if robot.mimic_map is None:
        off = ~robot.topology.sparsity()
        assert not any(x[off].any() for x in (dtau_dq, dtau_dv, M))


def test_gravity_forces_are_the_gradient_of_a_potential():
    robot = trees.tree("tree_1")
    q = random_state(robot, 4).q
    rest = np.zeros(robot.nv)
    hessian = treesim.inverse_dynamics_derivatives(robot, q, rest, rest).dtau_dq
    assert np.abs(hessian).max() > 1 and relative_error(hessian, hessian.T) < ROUNDED


@pytest.mark.parametrize("base", ["fixed", "floating"])
@pytest.mark.parametrize("name", ["ur5", "panda", "solo12", "hyq"])
def test_they_are_those_of_pinocchio(name, base):
    pin, _ = pytest.importorskip("pinocchio"), need("example-robot-data")
    robot = treesim.load(name, base=base)
    if robot.mimic_map is not None:
        robot = treesim.load(name, base=base, mimic="free")  # Pinocchio refuses derivatives with mimic joints
    model = treesim.to_pinocchio(robot)
    data = model.createData()
    for seed in range(5):
        q, v, a, *_ = random_state(robot, seed)
        theirs, _ = treesim.convert_state(robot, q, v, to="pinocchio")
        T = np.array([treesim.convert_state(robot, q, unit, to="pinocchio")[1] for unit in np.eye(robot.nv)]).T
        ours = treesim.inverse_dynamics_derivatives(robot, q, v, a)
        pin.computeRNEADerivatives(model, data, theirs, T @ v, T @ a)
        for x, y in zip(ours[:2], (data.dtau_dq, data.dtau_dv), strict=True):
            assert relative_error(x, T.T @ y @ T) < ROUNDED
        tau = treesim.inverse_dynamics(robot, q, v, a)
        pin.computeABADerivatives(model, data, theirs, T @ v, T @ tau)
        ours = treesim.forward_dynamics_derivatives(robot, q, v, tau)
        for x, y in zip(ours[:2], (data.ddq_dq, data.ddq_dv), strict=True):
            assert relative_error(x, T.T @ y @ T) < SOLVED


@pytest.mark.parametrize(("number", "tolerance"), [(np.float64, 1e-12), (np.float32, 1e-4)])
def test_a_base_far_from_the_origin_loses_no_digits(number, tolerance):
    robot = trees.tree("free_random")
    q, v, a, _ = (np.asarray(x, number) for x in random_state(robot, 5)[:4])
    far = q.copy()
    first = robot.q_index[robot.bodies[0].joint.name].start
    far[first : first + 3] += 1000
    near, there = (treesim.inverse_dynamics_derivatives(robot, x, v, a) for x in (q, far))
    for x, y in zip(near, there, strict=True):
        assert y.dtype == number and relative_error(y, x) < tolerance


@pytest.mark.parametrize("name", ["random_a", "free_random", "mimic"])
def test_batches_single_precision_out_and_bound_functions(name):
    robot = tree(name)
    states = [random_state(robot, k) for k in range(70)]
    q, v, tau = (np.array([getattr(s, x) for s in states]) for x in ("q", "v", "tau"))
    f_ext = np.random.default_rng(1).normal(size=(70, robot.n_bodies, 6))
    bound, shape = treesim.Dynamics(robot), (70, robot.nv, 3, robot.nv)
    for function, own in (
        (treesim.inverse_dynamics_derivatives, bound.inverse_dynamics_derivatives),
        (treesim.forward_dynamics_derivatives, bound.forward_dynamics_derivatives),
    ):
        many = function(robot, q, v, tau)
        out = np.empty(shape)
        written = function(robot, q, v, tau, out=out)
        assert all(np.shares_memory(x, out) for x in written)
        own_out = np.empty(shape[1:])
        for k in (0, 69):
            for other in (
                function(robot, q[k], v[k], tau[k]),
                own(q[k], v[k], tau[k]),
                own(q[k], v[k], tau[k], out=own_out),
                [x[k] for x in own(q, v, tau)],
                [x[k] for x in written],
            ):
                for x, y in zip(other, many, strict=True):
                    assert relative_error(x, y[k]) < SOLVED
        single = function(robot, *(x[0].astype(np.float32) for x in (q, v, tau)))
        pushed = function(robot, q, v, tau, f_ext=f_ext)
        own_pushed = own(q[1], v[1], tau[1], f_ext=f_ext[1])
        for x, y, z, w in zip(single, many, own_pushed, pushed, strict=True):
            assert x.dtype == np.float32 and relative_error(x, y[0].astype(np.float32)) < 1e-3
            assert relative_error(z, w[1]) < SOLVED
        assert not np.allclose(pushed[0], many[0])


def test_single_states_of_a_bound_robot_have_the_same_code_after_batches():
    robot = trees.tree("free_random")
    states = [random_state(robot, k) for k in range(16)]
    q, v, tau = (np.array([getattr(s, x) for s in states]) for x in ("q", "v", "tau"))
    bound = treesim.Dynamics(robot)
    before = bound.forward_dynamics_derivatives(q[0], v[0], tau[0])
    bound.forward_dynamics_derivatives(q, v, tau, out=np.empty((16, robot.nv, 3, robot.nv)))
    bound.forward_dynamics_derivatives(q, v, tau)
    for x, y in zip(before, bound.forward_dynamics_derivatives(q[0], v[0], tau[0]), strict=True):
        np.testing.assert_array_equal(x, y)


def test_gravity_armature_and_model_parameters():
    robot = trees.tree("random_a")
    q, v, a, *_ = random_state(robot, 6)
    armature = np.arange(1.0, robot.nv + 1)
    options = {"gravity": (0, 0, -1.6), "armature": armature}
    ours = treesim.inverse_dynamics_derivatives(robot, q, v, a, **options)
    plain = treesim.inverse_dynamics_derivatives(robot, q, v, a)
    assert relative_error(ours.M - plain.M, np.diag(armature - robot.armature)) < ROUNDED
    bound = treesim.Dynamics(robot, **options)
    for x, y in zip(ours, bound.inverse_dynamics_derivatives(q, v, a), strict=True):
        assert relative_error(x, y) < ROUNDED
    masses = {
        "mass": [2 * body.inertia.mass for body in robot.bodies],
        "inertia": [2 * body.inertia.rotational for body in robot.bodies],
    }
    twice = treesim.inverse_dynamics_derivatives(robot, q, v, a, model_parameters=masses)
    for x, y in zip(twice[:2], plain, strict=False):
        assert relative_error(x, 2 * y) < ROUNDED


def test_bad_input_is_named():
    robot = trees.tree("random_a")
    q, v, a, *_ = random_state(robot, 7)
    for function in (treesim.inverse_dynamics_derivatives, treesim.forward_dynamics_derivatives):
        with pytest.raises(treesim.ArgumentError, match="v"):
            function(robot, q, v[:-1], a)
        with pytest.raises(treesim.NonFiniteError):
            function(robot, q, np.full(robot.nv, np.nan), a)
        with pytest.raises(treesim.ArgumentError, match="out"):
            function(robot, q, v, a, out=np.empty((3, robot.nv, robot.nv)))
    massless = treesim.Tree("light", [treesim.Body("a", 0, treesim.Joint("j", "revolute", axis=(0, 0, 1)))])
    with pytest.raises(treesim.SingularInertiaError, match="'j'"):
        treesim.forward_dynamics_derivatives(massless, [0.1], [0.0], [0.0])
