"""Every conversion is invertible, and agrees with the motion that it describes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from treesim_pybullet import conversions as to

EXACT = {"rtol": 0, "atol": 1e-13}


class Case:
    """A random inertial frame and a random state of a floating base."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.inertial = to.InertialFrame(rng.normal(size=3), to.rotation_of(rng.normal(size=4)))
        turn = rng.normal(size=4)
        self.q = np.concatenate([rng.normal(size=3), turn / np.linalg.norm(turn)])
        self.v, self.a, self.wrench = rng.normal(size=(3, 6))


cases = st.integers(0, 2**32 - 1).map(Case)
quick = settings(max_examples=40, deadline=None)


def same_turn(a: np.ndarray, b: np.ndarray) -> bool:
    return bool(abs(abs(a @ b) - 1) < 1e-13)


@quick
@given(cases)
def test_base_state_comes_back(case):
    q, v = to.base_from_bullet(to.base_to_bullet(case.q, case.v, case.inertial), case.inertial)
    assert_allclose(q[:3], case.q[:3], **EXACT)
    assert same_turn(q[3:], case.q[3:])
    assert_allclose(v, case.v, **EXACT)


@quick
@given(cases)
def test_base_acceleration_comes_back(case):
    rates = to.base_acceleration_to_bullet(case.a, case.q, case.v, case.inertial)
    assert_allclose(to.base_acceleration_from_bullet(*rates, case.q, case.v, case.inertial), case.a, **EXACT)


@quick
@given(cases)
def test_base_wrench_comes_back_and_does_the_same_work(case):
    force, moment = to.base_wrench_to_bullet(case.wrench, case.q, case.inertial)
    assert_allclose(to.base_wrench_from_bullet(force, moment, case.q, case.inertial), case.wrench, **EXACT)
    base = to.base_to_bullet(case.q, case.v, case.inertial)
    assert force @ base.linear + moment @ base.angular == pytest.approx(case.wrench @ case.v, abs=1e-12)


@quick
@given(cases)
def test_motion_map_is_the_velocity_in_inertial_axes(case):
    base = to.base_to_bullet(case.q, case.v, case.inertial)
    axes = to.rotation_of(base.quaternion)
    u = np.concatenate([axes.T @ base.angular, axes.T @ base.linear])
    assert_allclose(to.base_motion_map(case.inertial) @ u, case.v, **EXACT)


@quick
@given(cases)
def test_spherical_joint_comes_back(case):
    quaternion = to.spherical_to_bullet(case.q[3:], case.inertial)
    R_i = case.inertial.rotation
    assert_allclose(to.rotation_of(quaternion), R_i.T @ to.rotation_of(case.q[3:]) @ R_i, **EXACT)
    assert_allclose(to.spherical_from_bullet(quaternion, case.inertial), case.q[3:], **EXACT)


@quick
@given(cases)
def test_quaternion_of_a_rotation(case):
    assert same_turn(to.quaternion_of(to.rotation_of(case.q[3:])), case.q[3:])


@pytest.mark.parametrize("half_turn", np.eye(4)[:3])
def test_quaternion_of_a_half_turn(half_turn):
    assert_allclose(to.quaternion_of(to.rotation_of(half_turn)), half_turn, **EXACT)


def test_acceleration_is_the_rate_of_the_world_velocity():
    case, h = Case(0), 1e-6

    def world_velocity(t):
        turn = to.rotation_of(np.concatenate([np.sin(t * case.v[3:] / 2), [1.0]]))  # to first order in t
        q = np.concatenate([case.q[:3], to.quaternion_of(to.rotation_of(case.q[3:]) @ turn)])
        base = to.base_to_bullet(q, case.v + t * case.a, case.inertial)
        return np.concatenate([base.linear, base.angular])

    rate = (world_velocity(h) - world_velocity(-h)) / (2 * h)
    exact = np.concatenate(to.base_acceleration_to_bullet(case.a, case.q, case.v, case.inertial))
    assert_allclose(rate, exact, rtol=1e-8, atol=1e-8)
