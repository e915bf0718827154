"""Gradients of PyTorch pass through treesim's dynamics and steps, as differences; a batch is one call."""

import numpy as np
import pytest

import treesim
from tests import trees
from tests.coupled import coupled
from treesim.differentiation import operations

torch = pytest.importorskip("torch", reason="needs torch")

import treesim_torch  # noqa: E402

ROBOTS = {"every joint type": trees.tree("free_random"), "mimic": coupled(1), "fixed base": treesim.load("ur5")}
GROUND = treesim.Ground(friction=0.5)
PLACES = {  # where the derivatives of other engines are not numbers: height of a ball's centre, velocity
    "rest": (0.1, np.zeros(6)),
    "zero slip": (0.1, np.array([1, 0, 0, 0, 10.0, 0])),
    "leaving": (0.1, np.array([0, 0, 1e-9, 0, 0, 0])),
    "flight": (1.0, np.zeros(6)),
}


def state_of(robot, *batch):
    rng = np.random.default_rng(4)
    q = robot.integrate(robot.neutral(), 0.4 * rng.normal(size=(*batch, robot.nv)))
    return tuple(torch.from_numpy(x) for x in (q, *rng.normal(size=(2, *batch, robot.nv))))


def check(function, *tensors):
    assert torch.autograd.gradcheck(function, [x.requires_grad_() for x in tensors], eps=1e-6, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", ROBOTS)
def test_gradients(name):
    robot = ROBOTS[name]
    stepper = treesim.Stepper(robot, integrator="semi_implicit_euler", dt=1e-2, substeps=1)
    check(lambda *x: treesim_torch.forward_dynamics(robot, *x, gravity=(0, 1, -9)), *state_of(robot, 2))
    q, v, u = state_of(robot, 2)
    check(lambda *x: treesim_torch.inverse_dynamics(robot, *x), q, v, u[0].clone())
    check(lambda q: treesim_torch.frame_pose(robot, q, robot.frame_names[-1]), state_of(robot, 2)[0])
    check(lambda *x: treesim_torch.step(stepper, *x), *state_of(robot, 2))


def test_functions_of_users():
    robot = ROBOTS["fixed base"]
    cost = treesim_torch.wrap(lambda q, v, c: c * np.sum(treesim.forward_dynamics(robot, q, v, v) ** 2))
    q, v, _ = state_of(robot, 2)
    check(cost, q[0].clone(), v[0].clone(), torch.tensor(0.3, dtype=torch.float64))
    q, v, _ = state_of(robot, 2)
    several = torch.func.vmap(torch.func.grad(cost, argnums=2), in_dims=(0, 0, None))(q, v, torch.tensor(0.3))
    expected = np.sum(treesim.forward_dynamics(robot, q, v, v) ** 2, axis=1)
    np.testing.assert_allclose(several, expected.astype(np.float32), rtol=1e-6)


def test_a_batch_is_one_call(monkeypatch):
    robot, calls = ROBOTS["every joint type"], {"values": [], "gradients": []}
    q, v, u = state_of(robot, 5)
    for name, found in calls.items():
        own = getattr(operations.ForwardDynamics, name)
        counted = lambda self, *given, own=own, found=found: found.append(np.shape(given[-1])) or own(self, *given)  # noqa: E731
        monkeypatch.setattr(operations.ForwardDynamics, name, counted)
    function = lambda q, v, u: treesim_torch.forward_dynamics(robot, q, v, u)  # noqa: E731
    found = torch.func.vmap(function, in_dims=(0, 0, None))(q, v, u[0])
    np.testing.assert_array_equal(found, treesim.forward_dynamics(robot, q, v, u[0]))
    assert calls == {"values": [(1, robot.nv)], "gradients": []}
    expected = treesim.forward_dynamics_derivatives(robot, q[0], v[0], u[0]).Minv
    Minv = torch.func.jacrev(function, argnums=2)(q[0], v[0], u[0])
    np.testing.assert_allclose(Minv, expected, rtol=0, atol=1e-14 * abs(expected).max())
    assert len(calls["gradients"]) == 1


def test_tensors_are_not_copied(monkeypatch):
    robot, given = ROBOTS["fixed base"], []
    own = operations.InverseDynamics.values
    monkeypatch.setattr(operations.InverseDynamics, "values", lambda self, *x: (given.extend(x), own(self, *x))[1])
    tensors = state_of(robot, 3)
    treesim_torch.inverse_dynamics(robot, *tensors)
    assert [x.ctypes.data for x in given] == [x.data_ptr() for x in tensors]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.filterwarnings("ignore::treesim.LimitWarning")
def test_gradients_of_steps_are_finite_where_contact_changes(place):
    height, v = PLACES[place]
    ball = treesim.free_body("ball", "sphere", (0.1,), 1.0)
    stepper = treesim.Stepper(treesim.World(ball, ground=GROUND), integrator="semi_implicit_euler")
    q = torch.tensor([0, 0, height, 0, 0, 0, 1.0], dtype=torch.float64)
    given = [x.requires_grad_() for x in (q, torch.from_numpy(v.copy()), torch.zeros(6, dtype=torch.float64))]
    sum(x.sum() for x in treesim_torch.step(stepper, *given)).backward()
    assert all(x.grad.isfinite().all() and x.grad.any() for x in given)


def policy(t, q, v, p, u):
    u[:] = p[0] * np.sin(3 * t) - p[1] * v


@pytest.mark.parametrize("name", ["every joint type", "mimic"])
def test_rollouts(name):
    """States of `treesim.rollout`; gradients by differences, in the start, controls, and parameters of a policy."""
    world = treesim.World(ROBOTS[name], use_limits=False, use_joint_friction=False)
    options = {"integrator": "semi_implicit_euler", "dt": 1e-2, "substeps": 1}
    q, v, u = state_of(ROBOTS[name], 2)
    controls, p = torch.stack([u[0], -u[0], u[1]]), torch.tensor([0.3, 0.2], dtype=torch.float64)
    runs = treesim.rollout(world, q, v, controls, **options)
    for found, expected in zip(treesim_torch.rollout(world, q, v, controls, **options), (runs.q, runs.v), strict=True):
        np.testing.assert_array_equal(found, expected)
    learned = lambda q, v, p: treesim_torch.rollout(  # noqa: E731
        world, q, v, policy, policy_parameters=p, steps=4, keep="last", **options
    )
    (last, _), several = learned(q, v, p), torch.func.vmap(learned, in_dims=(0, 0, None))(q, v, p)
    assert last.shape == (2, 1, ROBOTS[name].nq)
    np.testing.assert_array_equal(several[0], last)
    check(learned, q[0].clone(), v[0].clone(), p)
    check(lambda *x: treesim_torch.rollout(world, *x, **options), *state_of(ROBOTS[name], 2)[:2], controls)


def test_single_precision():
    robot = ROBOTS["every joint type"]
    single, double = [], []
    for x in state_of(robot, 2):
        single.append(x.float().requires_grad_())
        double.append(x.float().double().requires_grad_())
    for given in (single, double):
        treesim_torch.forward_dynamics(robot, *given).sum().backward()
    for one, other in zip(single, double, strict=True):
        assert one.grad.dtype == torch.float32
        np.testing.assert_allclose(one.grad, other.grad, rtol=0, atol=1e-4 * float(other.grad.abs().max()))


def test_errors():
    robot = ROBOTS["fixed base"]
    q, v, tau = state_of(robot)
    tau.requires_grad_()
    with pytest.raises(treesim.ArgumentError, match=r"v has shape \(5,\), but \(6\) or"):
        treesim_torch.forward_dynamics(robot, q, v[:5], tau)
    with pytest.raises(treesim.NonFiniteError, match=r"tau\[0\] is nan, not a finite number"):
        treesim_torch.forward_dynamics(robot, q, v, tau * np.nan)
    cost = (treesim_torch.forward_dynamics(robot, q, v, tau) ** 2).sum()
    (gradient,) = torch.autograd.grad(cost, tau, create_graph=True)
    with pytest.raises(treesim.UnsupportedError, match=r"second derivatives.*forward_dynamics_hessian_vector"):
        gradient.sum().backward()
    with pytest.raises(treesim.ArgumentError, match=r"tau has numbers that torch .* treesim_torch.forward_dynamics"):
        treesim.forward_dynamics(robot, q, v, tau)
    np.testing.assert_array_equal(
        treesim.forward_dynamics(robot, q, v, tau.detach()), treesim_torch.forward_dynamics(robot, q, v, tau).detach()
    )
