"""Active sets: the exact end of what sweeps begin, also where rows depend on each other, and what may not happen."""

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from tests.contact.problems import Solved, broken_laws, energy_of, random_problem, stack
from treesim.kernels.algebra.elimination import ON_LANES, in_threes
from treesim.kernels.algebra.linear import Vector
from treesim.kernels.contact.active_set import (
    active_set_memory,
    energy,
    part_to_cone,
    run_active_set,
)
from treesim.kernels.contact.active_set_equations import (
    FEW_ROWS,
    ONE_STATE,
    ONE_SUBTREE,
    band_memory,
    update_band,
    velocities_within,
)
from treesim.kernels.contact.cone import block_at, contact_impulse
from treesim.kernels.contact.pgs import pgs_memory, put_compliance, run_pgs, solve_pgs
from treesim.kernels.contact.problem import Problem, put_reach, relative_velocities, residual

pytestmark = pytest.mark.nojit


def after_sweeps(problem, sweeps):
    """Impulses and sigma after some sweeps from nothing."""
    impulse, sigma = np.zeros(problem.rows), np.zeros(problem.rows)
    run_pgs(problem, impulse, sigma, 0.0, sweeps)
    return impulse, sigma


def memory_of(rows, by=ONE_STATE):
    size = in_threes(rows)
    A, L = np.full((2, size, size), np.nan)  # what is read is written before
    return active_set_memory(A, L, np.zeros(rows), by)


def searched(problem, impulse, sigma, regular=1e-8):
    """Residual after a search, and its steps."""
    problem.factored[0], memory = 0.0, memory_of(problem.rows)
    begun = residual(problem, impulse, sigma)
    taken, left = run_active_set(problem, impulse, sigma, regular, True, begun, memory)
    assert left == residual(problem, impulse, sigma)
    np.testing.assert_allclose(sigma, problem.G @ impulse + problem.g, rtol=0, atol=1e-12 * problem.G.max())
    return residual(problem, impulse, sigma), taken


def stuck_joints(seed, rows=24, freedom=10):
    """Joints that rub, and limits, more of them than can move, and a direction that they hardly feel; with J and v."""
    rng = np.random.default_rng(seed)
    J = rng.normal(size=(rows, freedom)) * np.r_[0.01, np.ones(freedom - 1)]
    v = 0.1 * rng.normal(size=freedom)
    low = np.r_[np.zeros(rows // 3), np.full(rows - rows // 3, -0.1)]
    high = np.r_[np.full(rows // 3, np.inf), np.full(rows - rows // 3, 0.1)]
    return Problem(0, rows, 1, J @ J.T, J @ v, np.zeros(0), low, high, np.zeros(1)), J, v


def test_the_band_of_a_stack_contains_all_entries():
    """Of its cubes, and of cubes in an order in which the band is wide; of random rows it is the matrix."""
    problem = stack((1.0,) * 5)
    n = problem.rows
    shuffled = np.concatenate([12 * k + np.arange(12) for k in (3, 0, 4, 1, 2)])
    for order, widest in ((np.arange(n), 24), (shuffled, n)):
        permuted = problem._replace(G=problem.G[np.ix_(order, order)])
        begin = np.zeros(n, int)
        put_reach(permuted, begin)
        assert not permuted.G[np.arange(n) < begin[:, None]].any() and (np.diff(begin) >= 0).all()
        assert (np.arange(n) - begin).max() <= widest
    dense = random_problem(0, 3, 1, 3, 6, 2, freedom=40)
    begin = np.ones(dense.rows, int)
    put_reach(dense, begin)
    assert not begin.any()


def with_joints(problem, count):
    """A stack whose last cube has joints that rub, which its last contacts move."""
    rng, n, moved = np.random.default_rng(1), problem.rows, 12
    G = np.zeros((n + count, n + count))
    J = rng.normal(size=(moved + count, moved + count))
    G[n - moved :, n - moved :] = 0.1 * J @ J.T
    G[:n, :n] += problem.G
    low, high = np.r_[problem.low, np.full(count, -0.1)], np.r_[problem.high, np.full(count, 0.1)]
    return problem._replace(rows=n + count, G=G, g=np.r_[problem.g, rng.normal(size=count)], low=low, high=high)


@pytest.mark.parametrize("joints", [0, 4, 5])
def test_the_band_of_a_stack_changes_no_bit_of_a_search(joints):
    """From impulses of sweeps, with contacts that stick and slip: one subtree and lanes take all rows."""
    problem = with_joints(stack((1.0,) * 5), joints)
    assert problem.rows > FEW_ROWS
    for sweeps in (1, 3, 10):
        found, outside = [], []
        for by in (ONE_STATE, ONE_SUBTREE, ON_LANES):
            impulse, sigma = after_sweeps(problem, sweeps)
            problem.factored[0], memory = 0.0, memory_of(problem.rows, by)
            run_active_set(problem, impulse, sigma, 1e-5, True, residual(problem, impulse, sigma), memory)
            found.append(impulse)
            outside.append(np.isnan(memory.A).sum())
        assert (found[0] == found[1]).all() and (found[0] == found[2]).all()
        assert np.isfinite(found).all() and outside[0] > problem.rows**2 / 4


def test_velocities_are_those_of_the_whole_matrix():
    """With padding, from columns of the band of a stack; a compliance keeps the band, another matrix does not."""
    problem, columns = with_joints(stack((1.0,) * 5), 5), 72
    n = problem.rows
    G = np.zeros((n, columns))
    G[:, :n], g = problem.G, np.r_[problem.g, np.zeros(columns - n)]
    problem, impulse = problem._replace(G=G, g=g), np.random.default_rng(0).normal(size=n)
    whole, found, expected = band_memory(n, ONE_STATE), np.zeros(columns), np.zeros(columns)
    update_band(problem, whole)
    assert problem.factored[0] == -1 and whole.begin[:n].any()
    velocities_within(problem, impulse, found, whole)
    relative_velocities(problem, impulse, expected)
    np.testing.assert_array_equal(found, expected)
    for before, after in ((0.0, 0.0), (-1.0, -1.0), (1.0, -1.0)):
        problem.factored[0] = before
        put_compliance(problem, 0.5, np.ones(n))
        assert problem.factored[0] == after


def test_two_searches_end_what_ten_sweeps_have_begun():
    """Contacts, limits, joints that rub and held rows; the second, on the right set, ends as Newton's method does."""
    seen = 0
    for seed in range(30):
        problem = random_problem(seed, 4, 1, 3, 6, 2, freedom=30)
        impulse, sigma = after_sweeps(problem, 10)
        if residual(problem, impulse, sigma) < 1e-2:
            first, second = (searched(problem, impulse, sigma) for _ in range(2))
            assert first[0] < 1e-4 and second[0] < 1e-9 and broken_laws(problem, Solved(impulse, sigma, 0, 0)) < 1e-8
            seen += first[0] > 1e-9
    assert seen > 10


@pytest.mark.parametrize("seed", range(8))
def test_rows_that_depend_on_each_other_are_least_squares_within_bounds(seed):
    """The velocities are those of scipy's bounded least squares of |J' lambda + v|; a hundred sweeps are far off."""
    problem, J, v = stuck_joints(seed)
    impulse, sigma = np.zeros(problem.rows), np.zeros(problem.rows)
    taken = solve_pgs(problem, impulse, sigma, 1e-9, 500, pgs_memory(problem.rows, impulse))
    exact = lsq_linear(J.T, -v, (problem.low, problem.high), method="bvls", tol=1e-15)
    np.testing.assert_allclose(sigma, J @ (J.T @ exact.x + v), rtol=0, atol=1e-6)
    assert residual(problem, impulse, sigma) < 1e-9 and taken < 70
    assert residual(problem, *after_sweeps(problem, 100)) > 1e-4


@pytest.mark.parametrize("friction", [0.0, 0.3, 1.5])
def test_one_contact_does_what_the_exact_cone_solve_says(friction):
    """From any start; where it slips several searches turn the direction of friction."""
    rng = np.random.default_rng(0)
    for seed in range(20):
        problem = random_problem(seed, 1, 1, 0, 0, 0, freedom=6, friction=friction)
        A, g = block_at(problem.G, 0), problem.g
        expected = contact_impulse(A, Vector(*g), friction)
        impulse = np.array([0.0, 0.0, rng.exponential()])
        sigma = problem.G @ impulse + g
        for _ in range(10):
            run_pgs(problem, impulse, sigma, 0.0, 1)
            left, _ = searched(problem, impulse, sigma, 1e-10)
        np.testing.assert_allclose(impulse, expected, rtol=0, atol=1e-9)
        assert left < 1e-9


def test_a_search_that_does_not_help_is_taken_back():
    """From any impulses, none adds energy to the free motion; some searches are of no use."""
    rng, undone = np.random.default_rng(0), 0
    for seed in range(40):
        problem = random_problem(seed, 6, 1, 2, 4, 0, freedom=8, friction=1.5)
        impulse, sigma = after_sweeps(problem, 1)
        before, start = energy_of(problem, impulse), impulse.copy()
        assert energy(problem, impulse, sigma) == pytest.approx(before, abs=1e-12)
        left, _ = searched(problem, impulse, sigma, 10 ** rng.uniform(-9, -3))
        assert left >= 0 and energy_of(problem, impulse) <= max(before, 0) + 1e-12
        undone += np.array_equal(impulse, start)
    assert 0 < undone < 40


def test_a_problem_of_zeros_divided_by_zero_is_left_alone():
    """Rows that nothing moves have no step: NaN is never kept."""
    problem = random_problem(0, 0, 1, 1, 1, 0, freedom=4)
    problem = problem._replace(G=np.zeros((2, 2)), g=np.array([0.0, 0.0]))
    impulse, sigma = np.zeros(2), np.zeros(2)
    with np.errstate(all="ignore"):
        searched(problem, impulse, sigma, 0.0)
    assert not impulse.any() and not sigma.any()


def test_a_step_out_of_the_cone_ends_on_it():
    rng = np.random.default_rng(0)
    for _ in range(200):
        mu, z = rng.uniform(0.1, 2), rng.exponential()
        angle, share = rng.uniform(0, 2 * np.pi), rng.choice([0.0, rng.uniform(), 1.0])
        x = np.array([share * mu * z * np.cos(angle), share * mu * z * np.sin(angle), z])
        d = rng.normal(size=3) * 10 ** rng.uniform(-2, 2)
        end = x + d
        if np.hypot(*end[:2]) > mu * end[2]:
            t = part_to_cone(mu, Vector(*x), Vector(*d))
            y = x + t * d
            assert -1e-12 <= t <= 1 and np.hypot(*y[:2]) == pytest.approx(mu * y[2], abs=1e-9 * (1 + np.abs(d).max()))
            for part in np.linspace(0, max(t, 0), 20):
                inside = x + part * d
                assert np.hypot(*inside[:2]) <= mu * inside[2] + 1e-9 * (1 + np.abs(d).max())
