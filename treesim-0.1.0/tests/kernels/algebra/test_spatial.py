"""Spatial algebra on tuples against 6x6 matrices: transforms, inertias, the force on a moving body (J91 eq. 1-11)."""

import numpy as np
import pytest

from tests.operators import block_diagonal, skew
from treesim.kernels.algebra import spatial
from treesim.kernels.algebra.linear import Matrix, Symmetric, Vector
from treesim.kernels.algebra.rotations import GENERAL, Transform, compose
from treesim.model.matrices import rotation_from_rpy

pytestmark = pytest.mark.nojit
every_seed = pytest.mark.parametrize("seed", range(5))
ROUND_OFF = 64 * np.finfo(float).eps  # of sums of some twenty products of numbers of order one, over the largest


def agree(found, expected):
    """Equal, but for round-off."""
    np.testing.assert_allclose(found, expected, rtol=0, atol=ROUND_OFF * max(1.0, np.abs(expected).max()))


def random_transform(rng):
    return Transform(GENERAL, Matrix(*rotation_from_rpy(rng.uniform(-3, 3, 3)).ravel()), Vector(*rng.normal(size=3)))


def random_pair(rng):
    """Two vectors, an angular and a linear part."""
    return Vector(*rng.normal(size=3)), Vector(*rng.normal(size=3))


def random_body(rng):
    """A body's inertia about its centre of mass."""
    A = rng.normal(size=(3, 3))
    S = A @ A.T
    about_center = Symmetric(S[0, 0], S[1, 1], S[2, 2], S[0, 1], S[0, 2], S[1, 2])
    return spatial.CentralInertia(about_center, Vector(*rng.normal(size=3)), float(rng.uniform(0.5, 2)))


def column(pair):
    """A motion or a force as an array, angular part first."""
    return np.concatenate([np.array(pair[0]), np.array(pair[1])])


def phi(l):  # noqa: E741 - the paper's symbol
    """phi(l) = [1, lx; 0, 1] (J91 eq. 3): forces from the end of l to its start, in the same axes."""
    return np.block([[np.eye(3), skew(l)], [np.zeros((3, 3)), np.eye(3)]])


def to_child(X):
    """The matrix of X on motions: to the child's origin with phi*, then to its axes."""
    E = np.array(X.R).reshape(3, 3).T
    return block_diagonal([E, E]) @ phi(np.array(X.p)).T


def full(S):
    return np.array([[S.xx, S.xy, S.xz], [S.xy, S.yy, S.yz], [S.xz, S.yz, S.zz]])


def matrix_of(inertia):
    """[I, hx; -hx, m 1] of a rigid inertia."""
    h = skew(np.array(inertia.h))
    return np.block([[full(inertia.I), h], [-h, inertia.m * np.eye(3)]])


def about_origin(body):
    """phi(c) M(C) phi(c)* (J91 eq. 6, 10)."""
    return phi(np.array(body.c)) @ block_diagonal([full(body.I), body.m * np.eye(3)]) @ phi(np.array(body.c)).T


@pytest.mark.paper("F05 section 5, transforms", "J91 eq. 1, 4", "J91 eq. 3", "FF13 nomenclature, P_i, Q_i")
@every_seed
def test_transforms_are_the_block_matrices(seed):
    """J91 eq. 1, 3, 4: motions outward with phi*, forces inward with phi, which keeps their power."""
    rng = np.random.default_rng(seed)
    X, m, f = random_transform(rng), spatial.Motion(*random_pair(rng)), spatial.Force(*random_pair(rng))
    agree(column(spatial.motion_to_child(X, m)), to_child(X) @ column(m))
    agree(column(spatial.force_to_parent(X, f)), to_child(X).T @ column(f))


@pytest.mark.paper("J91 eq. 5")
@every_seed
def test_transforms_compose(seed):
    """J91 eq. 5: phi(l(OQ)) = phi(l(OC)) phi(l(CQ)), and the inverse is the way back."""
    rng = np.random.default_rng(seed)
    A, B, a, b = random_transform(rng), random_transform(rng), rng.normal(size=3), rng.normal(size=3)
    agree(to_child(compose(A, B)), to_child(B) @ to_child(A))
    agree(phi(a + b), phi(a) @ phi(b))
    agree(phi(a) @ phi(-a), np.eye(6))


@pytest.mark.paper("J91 eq. 6", "J91 eq. 10")
@every_seed
def test_inertia_is_the_parallel_axis_theorem(seed):
    """J91 eq. 6, 10: M(O) = phi M(C) phi*, and again in the axes and about the origin of the parent."""
    rng = np.random.default_rng(seed)
    body, X, v = random_body(rng), random_transform(rng), spatial.Motion(*random_pair(rng))
    inertia = spatial.rigid(body)
    agree(matrix_of(inertia), about_origin(body))
    agree(column(spatial.rigid_apply(inertia, v)), about_origin(body) @ column(v))
    carried = to_child(X).T @ about_origin(body) @ to_child(X)
    agree(matrix_of(spatial.rigid_to_parent(X, inertia)), carried)


@pytest.mark.paper("J91 eq. 7, 8", "J91 eq. 9, 11")
@every_seed
def test_force_on_a_moving_body_is_that_of_newton_and_euler(seed):
    """J91 eq. 9, 11: f(O) = M(O) alpha + b(O), b = [w x J(O) w; m w x (w x c)], alpha the acceleration of the body's
    point at the origin; the spatial one lacks w x v."""
    rng = np.random.default_rng(seed)
    body, v, a = random_body(rng), spatial.Motion(*random_pair(rng)), spatial.Motion(*random_pair(rng))
    w, c, M = np.array(v.ang), np.array(body.c), about_origin(body)
    alpha = np.concatenate([np.array(a.ang), np.array(a.lin) + np.cross(w, np.array(v.lin))])
    b = np.concatenate([np.cross(w, M[:3, :3] @ w), body.m * np.cross(w, np.cross(w, c))])
    agree(column(spatial.net_force(body, v, a)), M @ alpha + b)
    alpha[:3], alpha[3:] = 0, np.cross(w, np.array(v.lin))
    agree(column(spatial.velocity_force(body, v)), M @ alpha + b)
