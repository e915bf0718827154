"""ADMM on impulses: stacks, where it starts from, and the convex relaxation."""

from functools import partial

import numpy as np
import pytest

from tests.contact.problems import broken_laws, energy_of, random_problem, solved, stack
from treesim.kernels.algebra.elimination import ON_LANES, solve_in_order
from treesim.kernels.contact.active_set_equations import ONE_STATE
from treesim.kernels.contact.admm import admm_memory, factor_shifted, scale_rows, solve_admm

pytestmark = pytest.mark.nojit


def test_every_law_is_obeyed():
    for seed in range(6):
        problem = random_problem(seed, freedom=16)
        found = solved(solve_admm, problem, admm_memory, 1e-10, 5000)
        assert found.residual < 1e-8 and broken_laws(problem, found) < 1e-7


def test_the_factor_is_that_of_the_shifted_matrix():
    problem = random_problem(0)
    n = problem.rows
    memory = admm_memory(n, np.zeros(n))
    memory.band.by.find(problem, memory.band)
    s = memory.s
    largest = scale_rows(problem, s, memory.root)
    scaled = s[:, None] * problem.G * s
    assert largest == pytest.approx(np.diag(scaled).max())
    np.testing.assert_allclose(np.diag(scaled)[:12].reshape(-1, 3).sum(axis=1), 3, rtol=1e-12)
    np.testing.assert_allclose(np.diag(scaled)[12:], 1, rtol=1e-12)
    factor_shifted(problem, 0.7, memory)
    x = np.arange(1.0, n + 1)
    solve_in_order(memory.A, memory.L, x, memory.band)
    np.testing.assert_allclose((scaled + 0.7 * np.eye(n)) @ x, np.arange(1.0, n + 1), rtol=0, atol=1e-9)


def test_the_band_of_a_stack_changes_no_bit_of_its_impulses():
    problem = stack([1.0] * 6)
    found = [solved(solve_admm, problem, partial(admm_memory, by=each), 1e-9, 400) for each in (ONE_STATE, ON_LANES)]
    assert found[0].taken == found[1].taken
    np.testing.assert_array_equal(found[0].impulse, found[1].impulse)


def test_ten_equal_cubes_and_a_thousand_to_one():
    for masses, most in (([1.0] * 6, 400), ([1.0, 1.0, 1000.0], 400), ([1000.0, 1.0, 1.0], 400)):
        problem = stack(masses)
        found = solved(solve_admm, problem, admm_memory, 1e-9, most)
        assert found.taken < most and found.residual < 1e-7
        assert found.impulse[2:12:3].sum() == pytest.approx(9.81e-3 * sum(masses), rel=1e-4)


def test_a_solution_is_where_it_stays():
    problem = stack([1.0, 1.0, 1000.0])
    first = solved(solve_admm, problem, admm_memory, 1e-9)
    again = solved(solve_admm, problem, admm_memory, 1e-9, start=first.impulse)
    assert again.taken < 5 and again.residual < 1e-7


def relaxed(seed, friction):
    return solved(
        solve_admm,
        random_problem(seed, exact=0, friction=friction, limits=0, frictions=0, held=0),
        admm_memory,
        1e-10,
        20_000,
    )


def test_the_relaxation_is_the_least_energy_within_the_cones():
    rng = np.random.default_rng(0)
    problem = random_problem(1, exact=0, friction=0.6, limits=0, frictions=0, held=0)
    found = relaxed(1, 0.6)
    assert found.residual < 1e-7
    least = energy_of(problem, found.impulse)
    for _ in range(300):
        other = found.impulse + 10 ** rng.uniform(-4, 0) * rng.normal(size=problem.rows)
        for c in range(problem.contacts):
            x = other[3 * c : 3 * c + 3]
            x[2] = max(x[2], np.hypot(*x[:2]) / 0.6)
        assert energy_of(problem, other) >= least - 1e-10


def test_the_relaxation_lifts_what_slides_by_mu_times_its_speed():
    """The law's negative control: under it a sliding contact leaves the ground with v_n = mu |v_t|."""
    problem = stack([1.0], mu=0.5, push=2.0)
    lifted = solved(solve_admm, problem._replace(exact=0), admm_memory, 1e-10, 20_000).sigma.reshape(4, 3)
    exact = solved(solve_admm, problem, admm_memory, 1e-10, 20_000).sigma.reshape(4, 3)
    assert np.abs(exact[:, 2]).max() < 1e-8
    touching = lifted[:, 2] - 0.5 * np.hypot(lifted[:, 0], lifted[:, 1])
    assert np.abs(touching).min() < 1e-7 and lifted[:, 2].max() > 0.3
