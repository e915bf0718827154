"""The exact solve of one contact: every mode obeys its law, and slips as a search over directions finds it."""

from itertools import pairwise

import numpy as np
import pytest

from treesim.kernels.algebra.linear import Vector
from treesim.kernels.contact.cone import block_at, cone_projection, contact_impulse, violation

pytestmark = pytest.mark.nojit


def block(A):
    return block_at(A, 0)


def solved(A, b, mu):
    """lambda and sigma = A lambda + b."""
    impulse = np.array(contact_impulse(block(A), Vector(*b), mu))
    return impulse, A @ impulse + b


def random_blocks(count, seed=0):
    """Symmetric positive definite blocks of condition 1 to 1e6, velocities, and friction between 0.03 and 10."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        Q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        size = 10 ** rng.uniform(-3, 3, 3)
        yield (Q * size) @ Q.T, rng.normal(size=3), 10 ** rng.uniform(-1.5, 1)


def mode_of(impulse, mu):
    if impulse[2] == 0:
        return "open"
    return "stick" if np.hypot(*impulse[:2]) < mu * impulse[2] * (1 - 1e-10) else "slip"


def test_every_mode_obeys_its_law():
    counts = dict.fromkeys(("open", "stick", "slip"), 0)
    for A, b, mu in random_blocks(4000):
        impulse, sigma = solved(A, b, mu)
        mode = mode_of(impulse, mu)
        counts[mode] += 1
        close = 1e-9 * max(1.0, np.abs(b).max())
        if mode == "open":
            assert not impulse.any() and sigma[2] >= 0
        elif mode == "stick":
            assert np.abs(sigma).max() < close and impulse[2] > 0
        else:
            t = impulse[:2] / np.linalg.norm(impulse[:2])
            assert abs(sigma[2]) < close and impulse[2] >= 0
            assert np.linalg.norm(impulse[:2]) == pytest.approx(mu * impulse[2], rel=1e-12)
            assert abs(t[0] * sigma[1] - t[1] * sigma[0]) < close and t @ sigma[:2] < close
        assert violation(block(A), Vector(*sigma), Vector(*impulse), mu, 1) < close
    assert min(counts.values()) > 300, counts


def slips_by_search(A, b, mu, angles=720):
    """Every impulse that slips: along each direction e of the friction, lambda_n = -b_n / (A_nn + mu a.e) makes
    sigma_n = 0; where sigma_t turns against e lies one, found by bisection."""

    def at(angle):
        e = np.array([np.cos(angle), np.sin(angle)])
        n = -b[2] / (A[2, 2] + mu * A[2, :2] @ e)
        impulse = np.array([*(mu * n * e), n])
        s = (A @ impulse + b)[:2]
        return impulse, e[0] * s[1] - e[1] * s[0], e @ s

    grid, found = np.linspace(0, 2 * np.pi, angles), []
    for low, high in pairwise(grid):
        if at(low)[0][2] > 0 and at(high)[0][2] > 0 and at(low)[1] * at(high)[1] < 0:
            for _ in range(60):
                middle = (low + high) / 2
                low, high = (low, middle) if at(low)[1] * at(middle)[1] <= 0 else (middle, high)
            if at(low)[2] < 0:
                found.append(at(low)[0])
    return np.array(found)


def test_slips_are_those_that_a_search_over_directions_finds():
    searched = 0
    for A, b, mu in random_blocks(50, seed=1):
        impulse, _ = solved(A, b, mu)
        if mode_of(impulse, mu) == "slip" and np.linalg.cond(A) < 1e4:
            others = slips_by_search(A, b, mu)
            assert np.abs(others - impulse).max(axis=1).min() < 1e-6 * np.abs(impulse).max()
            searched += 1
    assert searched > 8


def test_sliding_block_on_a_plane_in_closed_form():
    """A point mass m: lambda_n = m |v_n|, and friction takes mu of that from the tangential momentum, or all of it."""
    m = 2.0
    for mu, expected in ((0.5, [-0.6, -0.8, 2.0]), (3.0, [-0.6 * 5, -0.8 * 5, 2.0]), (0.0, [0, 0, 2.0])):
        v = np.array([1.5, 2.0, -1.0])  # |v_t| = 2.5
        impulse, _ = solved(np.eye(3) / m, v, mu)
        friction = min(mu * m * 1.0, m * 2.5)
        np.testing.assert_allclose(impulse, [-0.6 * friction, -0.8 * friction, m], rtol=0, atol=1e-12)
        assert expected[2] == impulse[2]


@pytest.mark.parametrize("mu", [0.0, 1e-9, 1e9])
def test_no_friction_and_boundless_friction(mu):
    for A, b, _ in random_blocks(100, seed=2):
        impulse, sigma = solved(A, b, mu)
        if b[2] >= 0:
            assert not impulse.any()
        elif mu == 0:
            np.testing.assert_allclose(impulse, [0, 0, -b[2] / A[2, 2]], rtol=1e-12)
        elif mu > 1 and np.linalg.solve(A, -b)[2] > 0:
            assert np.abs(sigma).max() < 1e-8


def test_rotating_the_tangents_rotates_the_answer():
    angle = 0.7
    R = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
    for A, b, mu in random_blocks(300, seed=3):
        here, there = solved(A, b, mu)[0], solved(R @ A @ R.T, R @ b, mu)[0]
        scale = np.abs(here).max() + 1e-300
        assert np.abs(R @ here - there).max() < 1e-7 * scale


def test_a_contact_of_negative_friction_stays_open():
    assert contact_impulse(block(np.eye(3)), Vector(1.0, 2.0, -3.0), -1) == (0, 0, 0)
    assert cone_projection(Vector(1.0, 2.0, 3.0), -1) == (0, 0, 0)


def test_projection_on_the_cone_is_the_nearest_point():
    rng = np.random.default_rng(4)
    for _ in range(300):
        x, mu = rng.normal(size=3), 10 ** rng.uniform(-1, 1)
        p = np.array(cone_projection(Vector(*x), mu))
        assert np.hypot(*p[:2]) <= mu * p[2] + 1e-12
        # the rest of x lies in the polar cone, across the point: what makes it the nearest one
        rest = x - p
        assert abs(rest @ p) < 1e-12 * (1 + x @ x) and rest[2] + mu * np.hypot(*rest[:2]) < 1e-12 * (1 + mu)
        for y in rng.normal(size=(20, 3)):
            y = np.array(cone_projection(Vector(*y), mu))
            assert np.linalg.norm(x - y) >= np.linalg.norm(x - p) - 1e-12


@pytest.mark.parametrize("mu", [0.0, 0.5])
def test_what_pulls_is_projected_on_the_tip(mu):
    """Also along the axis without friction, where |x_t| = mu x_n = 0 does not mean that x is in the cone."""
    for x in ((0.0, 0.0, -1.0), (0.1, 0.0, -2.0)):
        assert tuple(cone_projection(Vector(*x), mu)) == (0, 0, 0)
    assert violation(block(np.eye(3)), Vector(0.0, 0.0, 4.0), Vector(0.0, 0.0, 0.0), mu, 1) == 0


def test_violation_tells_of_every_broken_law():
    A = np.diag([2.0, 3.0, 1.0])
    law = [
        ([0, 0, 0.5], [0, 0, 1.0]),
        ([0, 0, -0.5], [0, 0, 0.0]),
        ([1.0, 0, 0], [-0.1, 0, 1.0]),
        ([0, 0, 0], [2.0, 0, 1.0]),
    ]
    for sigma, impulse in law:  # leaves and pulls, comes closer, slips below the bound, outside of the cone
        assert violation(block(A), Vector(*sigma), Vector(*impulse), 0.5, 1) > 0.1
    slips = Vector(1.0, 0.0, 0.0), Vector(-0.5, 0.0, 1.0)
    assert violation(block(A), *slips, 0.5, 1) < 1e-15
    assert violation(block(A), *slips, 0.5, 0) > 0.1  # the relaxation lifts what slides
