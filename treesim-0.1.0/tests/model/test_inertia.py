"""Placements and inertias: composition, change of frame, and welding, against their definitions by point masses."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treesim import Inertia, Placement
from treesim.model.matrices import cross_matrix, principal_axes, product, rotation_from_rpy

pytestmark = pytest.mark.nojit
angles = st.tuples(*[st.floats(-3, 3)] * 3)
points = st.tuples(*[st.floats(-2, 2)] * 3)
placements = st.builds(Placement.from_xyz_rpy, points, angles)
clouds = st.lists(st.tuples(st.floats(0.1, 2), points), min_size=1, max_size=5)


def of_cloud(cloud):
    """Inertia of point masses, by definition."""
    mass = sum(m for m, _ in cloud)
    com = sum(m * np.array(p) for m, p in cloud) / mass
    arms = [(m, cross_matrix(np.array(p) - com)) for m, p in cloud]
    return Inertia(mass, com, sum(-m * rx @ rx for m, rx in arms))


def assert_equal(A, B):
    assert A.mass == pytest.approx(B.mass, rel=1e-14)
    assert np.allclose(A.com, B.com, atol=1e-13) and np.allclose(A.rotational, B.rotational, atol=1e-12)


@given(placements, placements)
def test_placements_compose_as_matrices_and_invert(A, B):
    assert np.allclose((A @ B).matrix(), A.matrix() @ B.matrix(), atol=1e-14)
    assert np.allclose((A @ A.inverse()).matrix(), np.eye(4), atol=1e-14)


def test_roll_pitch_yaw_are_about_fixed_axes():
    def turn(axis, angle):
        return rotation_from_rpy(angle * np.eye(3)[axis])

    roll, pitch, yaw = 0.3, -0.8, 2.1
    assert np.allclose(rotation_from_rpy((roll, pitch, yaw)), turn(2, yaw) @ turn(1, pitch) @ turn(0, roll))
    assert np.allclose(turn(2, 0.1) @ (1, 0, 0), (np.cos(0.1), np.sin(0.1), 0))
    assert np.allclose(turn(1, 0.1) @ (0, 0, 1), (np.sin(0.1), 0, np.cos(0.1)))
    assert np.allclose(turn(0, 0.1) @ (0, 1, 0), (0, np.cos(0.1), np.sin(0.1)))


@given(clouds, clouds)
def test_welding_adds_point_masses(first, second):
    assert_equal(of_cloud(first) + of_cloud(second), of_cloud(first + second))


@given(clouds, placements)
def test_change_of_frame_moves_point_masses(cloud, placement):
    moved = [(m, placement.rotation @ p + placement.translation) for m, p in cloud]
    assert_equal(of_cloud(cloud).in_frame(placement), of_cloud(moved))


@given(clouds)
def test_inertia_about_the_origin_is_the_sum_over_points(cloud):
    about_origin = sum(-m * cross_matrix(np.array(p)) @ cross_matrix(np.array(p)) for m, p in cloud)
    assert np.allclose(of_cloud(cloud).about_origin(), about_origin, atol=1e-12)


def test_massless_bodies_weld_without_dividing_by_zero():
    assert (Inertia() + Inertia()).mass == 0.0


def test_products_are_those_of_numpy_for_one_matrix_and_for_many():
    rng = np.random.default_rng(1)
    A, B, many = rng.normal(size=(3, 3)), rng.normal(size=(5, 3, 3)), rng.normal(size=(7, 3))
    for one, other in ((A, B[0]), (A, A[0]), (many, A), (many, A[0]), (B, A), (A, B), (B, B)):
        assert np.allclose(product(one, other), one @ other, rtol=0, atol=1e-14)
    np.testing.assert_array_equal(product(np.tile(A, (3, 1)), B[0])[:3], product(A, B[0]))


@given(st.lists(st.sampled_from([0.0, 1e-8, 1.0, -0.3, 2.0]), min_size=6, max_size=6))
def test_principal_axes_are_those_of_the_matrix(entries):
    S = cross_matrix(np.array(entries[:3])) ** 2 + np.diag(entries[3:])
    moments, axes = principal_axes(S)
    assert np.allclose((axes * moments) @ axes.T, S, rtol=0, atol=1e-15 * 4 * max(1e-300, np.abs(S).max()))
    assert np.allclose(axes.T @ axes, np.eye(3), atol=1e-15) and np.linalg.det(axes) > 0
    assert list(moments) == sorted(moments)
