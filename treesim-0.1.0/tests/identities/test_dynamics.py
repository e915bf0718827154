"""What mechanics demands of every tree, whoever computes it: no reference implementation needed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treesim
from tests import sensitivity, trees
from tests.trees import CATALOGUE, FREE, SMALL, random_state, relative_error
from treesim.engine.call.generic import runs_compiled
from treesim.model import generators as make

BACKENDS = treesim.available("dynamics")
everywhere = pytest.mark.parametrize("name", CATALOGUE)
every_backend = pytest.mark.parametrize("backend", BACKENDS)
seeds = st.integers(0, 10_000)


def central_difference(f, robot, state, a, h=1e-5):
    """d/dt f(q, v) along the motion that passes through `state` with acceleration `a`; error O(h^2)."""
    ahead, behind = (f(robot, robot.integrate(state.q, s * state.v), state.v + s * a) for s in (h, -h))
    return (np.asarray(ahead) - np.asarray(behind)) / (2 * h)


def power_of(robot, state, forces):
    """Power of wrenches (n_bodies, 6) on the bodies, each in its body's own frame."""
    twists = [treesim.frame_velocity(robot, state.q, state.v, name, reference="local") for name in robot.body_names]
    return float(np.sum(forces * np.array(twists)))


def assert_inverse(robot, state, backend, f_ext=None, armature=None):
    """Forward dynamics undo inverse dynamics, as far as the problem lets them."""
    q, v, a, *_ = state
    tau = treesim.inverse_dynamics(robot, q, v, a, f_ext=f_ext, armature=armature)
    found = treesim.forward_dynamics(robot, q, v, tau, f_ext=f_ext, armature=armature, backend=backend)
    bound = sensitivity.of_forward_dynamics(robot, q, v, tau, a, backend, f_ext=f_ext, armature=armature)
    assert sensitivity.farthest(found, a) < bound


@pytest.mark.paper(
    "F05 eq. 1",
    "F10 eq. 24",
    "F10 eq. 26",
    "J91 eq. 5",
    "J91 section 4, triangular equations",
    "J91 eq. 38, 39",
    "J91 eq. 41",
    "J91 section 5, P",
    "J91 eq. 45, 46",
    "J91 Lemma 6.4",
    "J91 eq. 60",
    "FF13 abstract, forces first",
    "FF13 abstract, trees",
)
@every_backend
@pytest.mark.parametrize("name", [pytest.param(x, marks=[pytest.mark.nojit] * (x in SMALL)) for x in CATALOGUE])
def test_forward_dynamics_inverts_inverse_dynamics(name, backend):
    robot = trees.tree(name)
    for seed in range(5 if runs_compiled() else 1):
        state = random_state(robot, seed)
        assert_inverse(robot, state, backend, state.f_ext)


@every_backend
def test_forward_dynamics_inverts_inverse_dynamics_on_a_long_chain(backend):
    robot = make.chain(100, axes=((0, 0, 1), (0, 1, 0), (1, 0, 1)))
    assert_inverse(robot, random_state(robot), backend)


@given(trees.random_trees(armature=0.5), seeds, st.sampled_from(BACKENDS))
def test_forward_dynamics_inverts_inverse_dynamics_on_random_trees(robot, seed, backend):
    state = random_state(robot, seed)
    assert_inverse(robot, state, backend, state.f_ext)


@pytest.mark.paper("J91 section 7, classes")
@every_backend
@pytest.mark.parametrize("name", ["random_14", "free_random"])  # of all joint types, and on a floating base
def test_backends_agree(name, backend):
    """Under random torques; under those of a motion, on every tree, they undo inverse dynamics."""
    robot = trees.tree(name)
    state = random_state(robot, 3)
    a = treesim.forward_dynamics(robot, state.q, state.v, state.tau, f_ext=state.f_ext, backend=backend)
    reference = treesim.forward_dynamics(robot, *state[:2], state.tau, f_ext=state.f_ext, backend="reference")
    bound = sensitivity.of_forward_dynamics(robot, *state[:2], state.tau, reference, backend, f_ext=state.f_ext)
    assert sensitivity.farthest(a, reference) < 2 * bound  # both err


@pytest.mark.paper("F05 eq. 6")
@everywhere
def test_mass_matrix_is_symmetric_positive_definite_with_the_trees_pattern(name):
    robot = trees.tree(name)
    H = treesim.mass_matrix(robot, random_state(robot).q)
    assert (H == H.T).all()
    assert np.linalg.eigvalsh(H)[0] > 0
    assert not H[~robot.topology.sparsity()].any()


@pytest.mark.paper("F05 section 2, four reasons for zeros")
@given(trees.random_trees(joint_types=("revolute", "prismatic")), seeds)
def test_mass_matrix_fills_its_pattern(robot, seed):
    H = treesim.mass_matrix(robot, random_state(robot, seed).q)
    assert ((H != 0) == robot.topology.sparsity()).all()


@pytest.mark.paper("F05 eq. 1", "F10 eq. 1")
@everywhere
def test_inverse_dynamics_is_mass_matrix_times_acceleration_plus_bias(name):
    robot = trees.tree(name)
    state = random_state(robot, 1)
    tau = treesim.inverse_dynamics(robot, state.q, state.v, state.a, f_ext=state.f_ext)
    H = treesim.mass_matrix(robot, state.q)
    bias = treesim.bias_forces(robot, state.q, state.v, f_ext=state.f_ext)
    assert relative_error(H @ state.a + bias, tau) < 1e-13
    assert relative_error(treesim.inverse_dynamics(robot, state.q, state.v, 0 * state.a, f_ext=state.f_ext), bias) == 0


@everywhere
def test_kinetic_energy_is_half_the_quadratic_form_of_the_mass_matrix(name):
    robot = trees.tree(name)
    state = random_state(robot, 2)
    kinetic, _ = treesim.energy(robot, state.q, state.v)
    form = state.v @ treesim.mass_matrix(robot, state.q) @ state.v / 2
    assert kinetic == pytest.approx(form, rel=1e-13)


@pytest.mark.paper("J91 eq. 15, 16", "J91 eq. 17")
@everywhere
def test_energy_grows_by_the_power_of_the_forces(name):
    robot = trees.tree(name)
    state = random_state(robot, 4)
    a = treesim.forward_dynamics(robot, state.q, state.v, state.tau, f_ext=state.f_ext)
    rate = central_difference(lambda *at: sum(treesim.energy(*at)), robot, state, a)
    power = state.tau @ state.v + power_of(robot, state, state.f_ext)
    assert rate == pytest.approx(power, abs=1e-6 * (1 + np.abs(state.tau * state.v).sum()))


@everywhere
def test_potential_energy_falls_by_the_work_of_gravity(name):
    robot = trees.tree(name)
    state = random_state(robot, 5)
    weight = treesim.bias_forces(robot, state.q, 0 * state.v)
    rate = central_difference(lambda *at: treesim.energy(*at)[1], robot, state, 0 * state.a)
    assert rate == pytest.approx(weight @ state.v, abs=1e-6 * (1 + np.abs(weight * state.v).sum()))


@pytest.mark.paper("J91 section 2, moving base")
@pytest.mark.parametrize("name", FREE)
def test_momentum_is_conserved_in_free_flight(name):
    """No gravity, and forces only inside the robot: the momentum about the world's origin stays."""
    robot = trees.tree(name)
    state = random_state(robot, 6)
    tau = state.tau.copy()
    tau[:6] = 0
    a = treesim.forward_dynamics(robot, state.q, state.v, tau, gravity=(0, 0, 0))
    rate = central_difference(treesim.momentum, robot, state, a)
    assert relative_error(rate, np.zeros(6), np.abs(treesim.momentum(robot, state.q, state.v)).max()) < 1e-6


@pytest.mark.parametrize("name", FREE)
def test_momentum_changes_by_weight_and_its_moment(name):
    robot = trees.tree(name)
    state = random_state(robot, 7)
    tau = state.tau.copy()
    tau[:6] = 0
    a = treesim.forward_dynamics(robot, state.q, state.v, tau)
    rate = central_difference(treesim.momentum, robot, state, a)
    poses = treesim.body_poses(robot, state.q)[1:]
    moment = sum(
        np.cross(pose[:3, :3] @ body.inertia.com + pose[:3, 3], body.inertia.mass * robot.gravity)
        for pose, body in zip(poses, robot.bodies, strict=True)
    )
    assert relative_error(rate, np.concatenate([robot.mass * robot.gravity, moment])) < 1e-6


@pytest.mark.paper("J91 eq. 6")
@everywhere
def test_momentum_is_the_sum_over_bodies(name):
    robot = trees.tree(name)
    state = random_state(robot, 8)
    total = np.zeros(6)
    for i, body in enumerate(robot.bodies, start=1):
        pose = treesim.body_poses(robot, state.q)[i]
        twist = treesim.frame_velocity(robot, state.q, state.v, body.name, reference="world")
        R, arm = pose[:3, :3], pose[:3, :3] @ body.inertia.com
        linear = body.inertia.mass * (twist[:3] + np.cross(twist[3:], arm))
        spin = R @ body.inertia.rotational @ R.T @ twist[3:]
        total += np.concatenate([linear, spin + np.cross(pose[:3, 3] + arm, linear)])
    assert relative_error(treesim.momentum(robot, state.q, state.v), total) < 1e-13


@everywhere
def test_gravity_is_a_constant_acceleration_of_the_base(name):
    """Gravity of another direction and the same robot turned: the base does not know which way is down."""
    robot = trees.tree(name)
    state = random_state(robot, 9)
    g = np.array([1.0, -2.0, 3.0])
    pull = [treesim.inverse_dynamics(robot, state.q, state.v, state.a, gravity=k * g) for k in (0, 1, 2)]
    assert relative_error(pull[1] - pull[0], pull[2] - pull[1]) < 1e-12
    weights = np.zeros((robot.n_bodies, 6))
    for i, body in enumerate(robot.bodies):
        force = treesim.body_poses(robot, state.q)[i + 1, :3, :3].T @ (body.inertia.mass * g)
        weights[i] = np.concatenate([force, np.cross(body.inertia.com, force)])
    as_wrench = treesim.inverse_dynamics(robot, state.q, state.v, state.a, f_ext=weights, gravity=(0, 0, 0))
    assert relative_error(pull[1], as_wrench) < 1e-12


@given(trees.random_trees(), seeds)
def test_armature_adds_to_the_diagonal_of_the_mass_matrix(robot, seed):
    state = random_state(robot, seed)
    rotors = np.random.default_rng(seed).uniform(0, 1, robot.nv)
    tau = treesim.inverse_dynamics(robot, state.q, state.v, state.a, armature=rotors)
    bare = treesim.inverse_dynamics(robot, state.q, state.v, state.a, armature=np.zeros(robot.nv))
    assert relative_error(tau, bare + rotors * state.a) < 1e-13
    for backend in BACKENDS:
        assert_inverse(robot, state, backend, armature=rotors)
