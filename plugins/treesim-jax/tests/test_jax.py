"""Gradients of JAX pass through treesim's dynamics and steps: compared with differences, in one call for a batch."""

import numpy as np
import pytest

import treesim
from tests import trees
from tests.coupled import coupled
from treesim.differentiation import operations

jax = pytest.importorskip("jax", reason="needs jax (pip install jax)")
pytest.importorskip("jax.test_util")

import jax.numpy as jnp  # noqa: E402
import treesim_jax  # noqa: E402

ROBOTS = {"every joint type": trees.tree("free_random"), "mimic": coupled(1), "fixed base": treesim.load("ur5")}
GROUND = treesim.Ground(friction=0.5)
PLACES = {  # where the derivatives of other engines are not numbers: height of a ball's centre, velocity
    "rest": (0.1, np.zeros(6)),
    "zero slip": (0.1, np.array([1, 0, 0, 0, 10.0, 0])),
    "leaving": (0.1, np.array([0, 0, 1e-9, 0, 0, 0])),
    "flight": (1.0, np.zeros(6)),
}


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


def state_of(robot, *batch):
    rng = np.random.default_rng(4)
    q = robot.integrate(robot.neutral(), 0.4 * rng.normal(size=(*batch, robot.nv)))
    return q, *rng.normal(size=(2, *batch, robot.nv))


def check(function, *arrays):
    from jax.test_util import check_grads

    check_grads(function, arrays, order=1, modes=["rev"], eps=1e-6, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("name", ROBOTS)
def test_gradients(name):
    robot = ROBOTS[name]
    q, v, u = state_of(robot, 2)
    stepper = treesim.Stepper(robot, integrator="semi_implicit_euler", dt=1e-2, substeps=1)
    check(lambda *x: treesim_jax.forward_dynamics(robot, *x, gravity=(0, 1, -9)), q, v, u[0])
    check(jax.jit(lambda *x: treesim_jax.inverse_dynamics(robot, *x)), q, v, u)
    check(lambda q: treesim_jax.frame_pose(robot, q, robot.frame_names[-1]), q)
    check(lambda *x: treesim_jax.step(stepper, *x), q, v, u)


def test_functions_of_users():
    robot = ROBOTS["fixed base"]
    q, v, _ = state_of(robot, 2)
    cost = treesim_jax.wrap(lambda q, v, c: c * np.sum(treesim.forward_dynamics(robot, q, v, v) ** 2))
    check(cost, q[0], v[0], 0.3)
    several = jax.vmap(jax.grad(cost, argnums=2), in_axes=(0, 0, None))(q, v, 0.3)
    np.testing.assert_allclose(several, np.sum(treesim.forward_dynamics(robot, q, v, v) ** 2, axis=1), rtol=1e-12)


@pytest.mark.parametrize("compiled", [False, True])
def test_a_batch_is_one_call(compiled, monkeypatch):
    robot, calls = ROBOTS["every joint type"], {"values": [], "gradients": []}
    q, v, u = state_of(robot, 5)
    for name, found in calls.items():
        own = getattr(operations.ForwardDynamics, name)
        counted = lambda self, *given, own=own, found=found: found.append(np.shape(given[-1])) or own(self, *given)  # noqa: E731
        monkeypatch.setattr(operations.ForwardDynamics, name, counted)
    function = lambda q, v, u: treesim_jax.forward_dynamics(robot, q, v, u)  # noqa: E731
    transform = jax.jit if compiled else lambda function: function
    found = transform(jax.vmap(function, in_axes=(0, 0, None)))(q, v, u[0])
    np.testing.assert_array_equal(found, treesim.forward_dynamics(robot, q, v, u[0]))
    assert calls == {"values": [(1, robot.nv)], "gradients": []}
    Minv = transform(jax.jacrev(function, argnums=2))(q[0], v[0], u[0])
    expected = treesim.forward_dynamics_derivatives(robot, q[0], v[0], u[0]).Minv
    np.testing.assert_allclose(Minv, expected, rtol=0, atol=1e-14 * abs(expected).max())
    assert len(calls["gradients"]) == 1


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.filterwarnings("ignore::treesim.LimitWarning")
def test_gradients_of_steps_are_finite_where_contact_changes(place):
    height, v = PLACES[place]
    ball = treesim.free_body("ball", "sphere", (0.1,), 1.0)
    stepper = treesim.Stepper(treesim.World(ball, ground=GROUND), integrator="semi_implicit_euler")
    q = np.array([0, 0, height, 0, 0, 0, 1.0])
    cost = lambda q, v, u: sum(x.sum() for x in treesim_jax.step(stepper, q, v, u))  # noqa: E731
    gradients = jax.jit(jax.grad(cost, argnums=(0, 1, 2)))(q, v, np.zeros(6))
    assert all(np.isfinite(x).all() and x.any() for x in gradients)


def test_gradients_of_steps_are_finite_at_limits():
    joint = treesim.Joint("hinge", "revolute", axis=(0, 1, 0), lower=0.0, upper=1.0, joint_friction=2.0)
    inertia = treesim.Inertia(1.0, (1.0, 0, 0), 0.1 * np.eye(3))
    stepper = treesim.Stepper(treesim.World(treesim.Tree("arm", [treesim.Body("arm", 0, joint, inertia)])))
    J = jax.jacrev(lambda *x: treesim_jax.step(stepper, *x), argnums=(0, 1, 2))(*np.zeros((3, 1)))
    assert np.isfinite(np.array(J)).all()


def test_a_rollout_is_differentiated():
    """Through 20 steps by scan: as differences of the rollout."""
    robot = ROBOTS["mimic"]
    stepper = treesim.Stepper(robot, integrator="semi_implicit_euler", dt=1e-2, substeps=1)
    q, v, u = state_of(robot)

    def end(q, v, u):
        return jax.lax.scan(lambda x, _: (treesim_jax.step(stepper, *x, u), None), (q, v), length=20)[0]

    check(jax.jit(end), q, v, u)


OPTIONS = {"integrator": "semi_implicit_euler", "dt": 1e-2, "substeps": 1}
SLIDING = treesim.World(
    treesim.free_body("box", "box", (0.2, 0.2, 0.2), 2.0), ground=treesim.Ground(friction=0.5), contact_tolerance=1e-14
)


def policy(t, q, v, p, u):
    u[:] = p[0] * np.sin(3 * t) - p[1] * v


@pytest.mark.parametrize("name", ["every joint type", "mimic"])
def test_rollouts(name):
    """States of `treesim.rollout`; gradients by differences, in the start, controls, and parameters of a policy."""
    world = treesim.World(ROBOTS[name], use_limits=False, use_joint_friction=False)
    q, v, u = state_of(ROBOTS[name], 2)
    controls, p = np.stack([u[0], -u[0], u[1]]), np.array([0.3, 0.2])
    runs = treesim.rollout(world, q, v, controls, **OPTIONS)
    for found, expected in zip(treesim_jax.rollout(world, q, v, controls, **OPTIONS), (runs.q, runs.v), strict=True):
        np.testing.assert_array_equal(found, expected)
    check(lambda *x: treesim_jax.rollout(world, *x, **OPTIONS), q, v, controls)
    learned = lambda q, v, p: treesim_jax.rollout(  # noqa: E731
        world, q, v, policy, policy_parameters=p, steps=4, keep="last", **OPTIONS
    )
    check(jax.jit(learned), q[0], v[0], p)
    (last, _), several = learned(q, v, p), jax.vmap(learned, in_axes=(0, 0, None))(q, v, p)
    assert last.shape == (2, 1, ROBOTS[name].nq)
    np.testing.assert_array_equal(several[0], last)


def test_rollouts_in_contact():
    """A box slides: the distance changes by v / (mu g), the time in which it stops, with the start's velocity."""
    q0, v0 = np.array([0, 0, 0.1, 0, 0, 0, 1.0]), np.array([1.0, 0, 0, 0, 0, 0])
    where = lambda v: treesim_jax.rollout(SLIDING, q0, v, np.zeros((40, 6)), keep="last", **OPTIONS)[0][0, 0]  # noqa: E731
    assert abs(jax.grad(where)(v0)[0] - 1 / (0.5 * 9.81)) < 5e-3


def test_errors_of_rollouts():
    robot = ROBOTS["fixed base"]
    q = np.zeros(6)
    for given, fault in (
        ({"control": q}, r"control has shape \(6,\), but \(\.\.\., steps, 6\)"),
        ({"control": q[None], "policy_parameters": q}, "policy_parameters are those of a policy"),
        ({"control": policy, "policy_parameters": q}, "give steps"),
        ({"control": np.zeros((2, 5))}, r"control has shape \(2, 5\), but \(2, 6\)"),
    ):
        with pytest.raises(treesim.ArgumentError, match=fault):
            treesim_jax.rollout(robot, q, q, **given)
    with pytest.raises(TypeError, match="unexpected keyword argument 'every'"):
        treesim_jax.rollout(robot, q, q, q[None], every=2)


def test_single_precision():
    robot = ROBOTS["every joint type"]
    arrays = [jnp.asarray(x, jnp.float32) for x in state_of(robot, 2)]
    exact = [np.asarray(x, float) for x in arrays]
    cost = lambda *x: treesim_jax.forward_dynamics(robot, *x).sum()  # noqa: E731
    for found, expected in zip(jax.grad(cost, (0, 1, 2))(*arrays), jax.grad(cost, (0, 1, 2))(*exact), strict=True):
        assert found.dtype == jnp.float32
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4 * abs(expected).max())
    assert treesim_jax.frame_pose(robot, arrays[0], robot.frame_names[-1]).dtype == jnp.float32


def test_errors():
    robot = ROBOTS["fixed base"]
    q = np.zeros(6)
    with pytest.raises(treesim.ArgumentError, match=r"v has shape \(5,\), but \(6\) or"):
        treesim_jax.forward_dynamics(robot, q, q[:5], q)
    with pytest.raises(jax.errors.JaxRuntimeError, match=r"tau\[0\] is nan, not a finite number"):
        jax.jit(lambda tau: treesim_jax.forward_dynamics(robot, q, q, tau))(np.full(6, np.nan)).block_until_ready()
    cost = lambda tau: treesim_jax.forward_dynamics(robot, q, q, tau)[0] ** 2  # noqa: E731
    with pytest.raises(treesim.UnsupportedError, match=r"second derivatives.*forward_dynamics_hessian_vector"):
        jax.jacrev(jax.jacrev(cost))(q)
    for transform in (jax.grad, jax.jit):
        with pytest.raises(treesim.ArgumentError, match=r"tau has numbers that jax .* treesim_jax.forward_dynamics"):
            transform(lambda tau: treesim.forward_dynamics(robot, q, q, tau)[0])(q)
    stepper = treesim.Stepper(robot)
    with pytest.raises(treesim.ArgumentError, match=r"control has numbers that jax"):
        jax.grad(lambda u: stepper.step(stepper.reset(), u)[0].q[0])(q)
