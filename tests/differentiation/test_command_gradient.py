"""Derivatives of steps and rollouts whose actuators have delays, rate limits and lags, against differences."""

import numpy as np
import pytest

import treesim
from treesim import Motor, PositionServo, Stepper, UnsupportedError, VelocityServo, World

UR5 = treesim.load("ur5")
ACTUATORS = dict(zip(UR5.joint_names, (
    Motor(delay=0.002), Motor(delay=0.0013, interpolate=True, gear=3), PositionServo(60, 5, delay=0.002, lag=0.003),
    PositionServo(60, 5, rate_limit=1e3, effort_limit=1e3), VelocityServo(5, lag=0.01), Motor(rate_limit=3.0),
), strict=True))  # fmt: skip
RULES = ("implicit_midpoint", "semi_implicit_euler")
H = 1e-6


def world(**options):
    return World(UR5, actuators=ACTUATORS, use_limits=False, **options)


@pytest.mark.parametrize("rule", RULES)
def test_linearization_includes_the_memory(rule):
    stepper, rng = Stepper(world(), 1e-3, integrator=rule, substeps=2), np.random.default_rng(0)
    state = stepper.reset(rng.uniform(-1, 1, 6), rng.normal(size=6))
    for _ in range(3):
        state, _ = stepper.step(state, rng.normal(size=6))
    u, nv, na = rng.normal(size=6), 6, state.actuators.size
    A, B, q, _, _ = treesim.linearize(stepper, state.q, state.v, u, actuators=state.actuators)
    end, _ = stepper.step(state, u)
    assert A.shape == (2 * nv + na,) * 2 and B.shape == (2 * nv + na, nv)
    assert np.allclose(q, end.q, rtol=0, atol=1e-14)

    def moved(x):
        start = treesim.State(
            0.0, state.q + x[:6], state.v + x[6:12], state.impulses, state.contact, 0, state.actuators + x[12:-6]
        )
        found, _ = stepper.step(start, u + x[-6:])
        return np.concatenate([found.q, found.v, found.actuators])

    steps = H * np.eye(2 * nv + na + nv)
    wanted = np.stack([(moved(x) - moved(-x)) / (2 * H) for x in steps], axis=1)
    assert np.allclose(np.hstack([A, B]), wanted, rtol=0, atol=2e-7 * max(1, abs(wanted).max()))
    batch = treesim.linearize(stepper, np.tile(state.q, (2, 1)), state.v, u, actuators=state.actuators)
    assert np.allclose(batch.A[1], A, rtol=0, atol=1e-12)


@pytest.mark.parametrize("keep", ["all", "last"])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("ground", [None, treesim.Ground(height=-0.5)])
def test_gradients_of_rollouts_are_their_differences(ground, rule, keep):
    given, rng = world(ground=ground), np.random.default_rng(1)
    q0, v0, u = rng.uniform(-1, 1, (2, 6)), rng.normal(size=(2, 6)), rng.normal(size=(2, 8, 6))
    q0[:, 1] = -abs(q0[:, 1])
    options = {"dt": 1e-3, "integrator": rule, "substeps": 2}
    runs, pullback = treesim.rollout_vjp(given, q0, v0, u, keep=keep, **options)
    plain = treesim.rollout(given, q0, v0, u, **options)
    shown = slice(None) if keep == "all" else slice(-1, None)
    assert np.array_equal(runs.q, plain.q[:, shown]) and np.array_equal(runs.t, plain.t[shown])
    w_q, w_v, w_u = rng.normal(size=runs.q.shape), rng.normal(size=runs.v.shape), rng.normal(size=u.shape)
    found = pullback(w_q, w_v, w_u)

    def cost(q, v, u):
        runs = treesim.rollout(given, q, v, u, **options)
        return (w_q * runs.q[:, shown]).sum() + (w_v * runs.v[:, shown]).sum() + (w_u * u).sum()

    for name, at, own in (("q0", 0, found.q0), ("v0", 1, found.v0), ("control", 2, found.control)):
        along = rng.normal(size=own.shape)
        sides = [cost(*(x + sign * H * along if k == at else x for k, x in enumerate((q0, v0, u)))) for sign in (1, -1)]
        wanted = (sides[0] - sides[1]) / (2 * H)
        assert (own * along).sum() == pytest.approx(wanted, rel=1e-6, abs=1e-6), name


@pytest.mark.parametrize(
    ("actuator", "message"),
    [
        (Motor(delay=(0.0, 0.01)), "a delay of each rollout"), (Motor(delay=0.01, before="first"), 'before="first"'),
        (PositionServo(1, 1, gains="explicit", period=0.001), "a period"),
        (treesim.DCMotor(resistance=1, torque_constant=1, inductance=1), "inductance"),
    ],
)  # fmt: skip
def test_what_has_no_derivatives(actuator, message):
    made = World(UR5, actuators={"elbow_joint": actuator})
    for call in (
        lambda: treesim.linearize(Stepper(made), np.zeros(6), np.zeros(6), None),
        lambda: treesim.rollout_vjp(made, np.zeros(6), np.zeros(6), np.zeros((2, 6))),
    ):
        with pytest.raises(UnsupportedError, match=f"'elbow_joint': steps under an actuator with {message} have"):
            call()


def steered(t, q, v, p, u):
    """A policy that depends on all that it is given."""
    u[:] = p[0] * np.sin(q) - p[1] * v * np.cos(q) + np.sin(20 * t + p[2])


@pytest.mark.parametrize("keep", ["all", "last"])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("ground", [None, treesim.Ground(height=-0.5)])
def test_gradients_under_policies_are_their_differences(ground, rule, keep):
    given, rng = world(ground=ground), np.random.default_rng(1)
    q0, v0, p = rng.uniform(-1, 1, (2, 6)), rng.normal(size=(2, 6)), rng.normal(size=(2, 3)) + 2
    q0[:, 1] = -abs(q0[:, 1])
    options = {"dt": 1e-3, "integrator": rule, "substeps": 2, "steps": 8}
    runs, pullback = treesim.rollout_vjp(given, q0, v0, steered, policy_parameters=p, keep=keep, **options)
    plain = treesim.rollout(given, q0, v0, steered, policy_parameters=p, **options)
    shown = slice(None) if keep == "all" else slice(-1, None)
    assert np.allclose(runs.q, plain.q[:, shown], rtol=0, atol=1e-13) and np.array_equal(runs.t, plain.t[shown])
    assert np.array_equal(runs.done, np.full(2, len(runs.t))) and not runs.diverged.any()
    w_q, w_v, w_u = rng.normal(size=runs.q.shape), rng.normal(size=runs.v.shape), rng.normal(size=(2, 8, 6))
    found = pullback(w_q, w_v, w_u)
    assert found.control is None

    def cost(q, v, p):
        runs, us = treesim.rollout(given, q, v, steered, policy_parameters=p, **options), []
        starts = [np.concatenate([x[:, None], y[:, :-1]], axis=1) for x, y in ((q, runs.q), (v, runs.v))]
        for k in range(8):
            u = np.empty((6, 2))
            steered(1e-3 * k, starts[0][:, k].T, starts[1][:, k].T, p.T, u)
            us.append(u.T)
        on_u = (w_u * np.stack(us, axis=1)).sum()
        return (w_q * runs.q[:, shown]).sum() + (w_v * runs.v[:, shown]).sum() + on_u

    for name, at, own in (("q0", 0, found.q0), ("v0", 1, found.v0), ("p", 2, found.policy_parameters)):
        along = rng.normal(size=own.shape)
        sides = [cost(*(x + sign * H * along if k == at else x for k, x in enumerate((q0, v0, p)))) for sign in (1, -1)]
        wanted = (sides[0] - sides[1]) / (2 * H)
        assert (own * along).sum() == pytest.approx(wanted, rel=1e-6, abs=1e-6), name
    if keep == "last":
        again = pullback(w_q[:, 0], w_v[:, 0], w_u)
        assert all(np.array_equal(x, y) for x, y in zip(again[:2], found[:2], strict=True))
    with pytest.raises(treesim.ArgumentError, match=r"w_control has shape \(3,\), but \(2, 8, 6\)"):
        pullback(w_control=np.zeros(3))


def with_memory(policy):
    policy.memory = np.zeros(1)
    return policy


def test_policies_with_memory_and_foreign_memory_are_refused():
    def policy(t, q, v, p, u, c, m):
        u[:], m[:] = -v, m

    with pytest.raises(UnsupportedError, match="policies that take contact wrenches or memory have no gradients"):
        treesim.rollout_vjp(world(), np.zeros(6), np.zeros(6), with_memory(policy), steps=2)
    with pytest.raises(treesim.ArgumentError, match=r"actuators has shape \(3,\), but \(0"):
        treesim.linearize(Stepper(UR5), np.zeros(6), np.zeros(6), None, actuators=np.zeros(3))
    with pytest.raises(treesim.ArgumentError, match="actuators"):
        treesim.linearize(Stepper(world()), np.zeros(6), np.zeros(6), None, actuators=np.zeros(3))
