"""Controllers: what they pull towards, how hard, and what they leave alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treesim.control import CONTROLLERS, PD, Hold, Zero, make_controller
from treesim.errors import ArgumentError, UnknownNameError
from treesim.model.inertia import Inertia, Placement
from treesim.model.joints import Joint
from treesim.model.tree import Body, Tree

BALL = Inertia(1.0, (0.0, 0.0, -0.2), np.eye(3) * 0.01)


def walker() -> Tree:
    """A floating body with a limited elbow, a ball joint and a sliding joint."""
    bodies = [
        Body("trunk", 0, Joint("root_joint", "floating"), BALL),
        Body("arm", 1, Joint("elbow", "revolute", lower=0.5, upper=2.0, effort=3.0), BALL),
        Body("head", 1, Joint("neck", "spherical", Placement(translation=np.array([0, 0, 0.3]))), BALL),
        Body("tool", 2, Joint("slide", "prismatic"), BALL),
    ]
    return Tree("walker", bodies)


def test_zero_is_zero() -> None:
    robot = walker()
    assert not Zero(robot).torque(0.0, robot.neutral(), np.ones(robot.nv)).any()


@given(st.integers(0, 2**32 - 1))
def test_pd_is_a_spring_and_a_damper_on_the_manifold(seed: int) -> None:
    robot = walker()
    rng = np.random.default_rng(seed)
    target, v = robot.random(rng), 0.01 * rng.standard_normal(robot.nv)
    step = 0.01 * rng.uniform(-1, 1, robot.nv)
    tau = PD(robot, target, kp=20.0, kd=3.0).torque(0.0, robot.integrate(target, step), v)
    np.testing.assert_allclose(tau[6:], (-20 * step - 3 * v)[6:], atol=1e-2 * np.abs(step).max())
    assert not tau[:6].any(), "a floating base has no actuator"


def test_gains_are_the_torque_s_derivatives() -> None:
    robot = walker()
    pd = PD(robot, robot.neutral(), kp=np.arange(1.0, 12.0), kd=np.arange(2.0, 13.0))
    q, still, h = robot.neutral(), np.zeros(robot.nv), 1e-6
    for k in range(robot.nv):
        e = np.eye(robot.nv)[k]
        by_position = pd.torque(0.0, robot.integrate(q, h * e), still)[k] / -h
        by_velocity = pd.torque(0.0, q, h * e)[k] / -h
        assert by_position == pytest.approx(pd.stiffness[k], abs=1e-5)
        assert by_velocity == pytest.approx(pd.damping[k], abs=1e-5)
    assert not pd.stiffness[:6].any() and not pd.damping[:6].any()


def test_torque_stays_within_the_effort_limit() -> None:
    robot = walker()
    q = robot.neutral()
    q[robot.q_index["elbow"]] = -100.0
    tau = PD(robot, robot.neutral(), kp=1e3, kd=0.0).torque(0.0, q, np.zeros(robot.nv))
    assert tau[robot.v_index["elbow"]] == 3.0


def test_hold_rests_where_it_starts_and_pd_within_the_limits() -> None:
    robot = walker()
    q0, still = robot.random(np.random.default_rng(0)), np.zeros(robot.nv)
    hold = make_controller("hold", robot, q0)
    assert isinstance(hold, Hold)
    np.testing.assert_allclose(hold.torque(0.0, q0, still), 0, atol=1e-12)
    pd = make_controller("pd", robot, q0)
    assert isinstance(pd, PD) and pd.target[robot.q_index["elbow"]] == 0.5


def test_every_listed_controller_can_be_made() -> None:
    robot = walker()
    for name in CONTROLLERS:
        tau = make_controller(name, robot, robot.neutral()).torque(0.0, robot.neutral(), np.zeros(robot.nv))
        assert tau.shape == (robot.nv,)
    with pytest.raises(UnknownNameError, match=r"controller 'hodl': did you mean 'hold'"):
        make_controller("hodl", robot, robot.neutral())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kp": -1.0, "kd": 0.0}, "kp must be finite and not negative"),
        ({"kp": 0.0, "kd": float("nan")}, "kd must be finite"),
        ({"kp": [1.0, 2.0], "kd": 0.0}, r"kp must be one number or 11"),
    ],
)
def test_bad_gains_are_named(arguments: dict, message: str) -> None:
    robot = walker()
    with pytest.raises(ArgumentError, match=message):
        PD(robot, robot.neutral(), **arguments)


def test_bad_target_is_named() -> None:
    with pytest.raises(ArgumentError, match="target must be 13 finite numbers"):
        PD(walker(), np.zeros(3), 1.0, 1.0)
