"""Gauss-Seidel on impulses: laws, the certificate after every sweep, and where ADMM takes over."""

import numpy as np
import pytest

from tests.contact.problems import broken_laws, energy_of, random_problem, solved, stack
from treesim.engine.call.generic import runs_compiled
from treesim.kernels.contact import active_set, pgs
from treesim.kernels.contact.admm import admm_memory, solve_admm
from treesim.kernels.contact.pgs import SWEEPS, pgs_memory, run_pgs, solve_pgs, sweep, sweep_on
from treesim.kernels.contact.problem import (
    accepted_by,
    is_accepted,
    relative_velocities,
    residual,
    scale_along_ray,
)

pytestmark = pytest.mark.nojit


@pytest.mark.parametrize("kinds", [(4, 0, 0, 0), (0, 3, 2, 2), (3, 2, 2, 1)])
def test_every_law_is_obeyed(kinds):
    contacts, limits, frictions, held = kinds
    for seed in range(6):
        problem = random_problem(seed, contacts, 1, limits, frictions, held, freedom=16)
        found = solved(solve_pgs, problem, pgs_memory, 1e-10)
        assert found.residual < 1e-9 and broken_laws(problem, found) < 1e-8


@pytest.mark.parametrize("friction", [0.0, 0.4, 1.0])
def test_pgs_and_admm_find_the_same_velocities(friction):
    for seed in range(5):
        problem = random_problem(seed, friction=friction, freedom=16)
        by_pgs = solved(solve_pgs, problem, pgs_memory, 1e-11, 20_000)
        by_admm = solved(solve_admm, problem, admm_memory, 1e-11, 20_000)
        np.testing.assert_allclose(by_pgs.sigma, by_admm.sigma, rtol=0, atol=1e-7)


def test_scalar_rows_are_the_box_constrained_least_energy():
    """Without contacts the problem is convex: no change of one impulse within its bounds has less energy."""
    problem = random_problem(3, 0, 1, 3, 3, 2, freedom=12)
    found = solved(solve_pgs, problem, pgs_memory, 1e-12)
    least = energy_of(problem, found.impulse)
    for r in range(problem.rows):
        for step in (-1e-3, 1e-3):
            moved = found.impulse.copy()
            moved[r] = np.clip(moved[r] + step, problem.low[r], problem.high[r])
            assert energy_of(problem, moved) >= least - 1e-12


def test_impulses_of_bodies_at_rest_are_accepted_far_below_the_tolerance_and_those_of_sliding_ones_are_not():
    """A change of the impulses by 1e-13 is not corrected at rest. Where the uppermost cube slides, it is."""
    assert accepted_by(1e-9, 4, 4) == 0 and accepted_by(1e-9, 5, 4) == pytest.approx(1e-12)
    for push, at_rest in ((0.0, True), (0.3, False)):
        problem = stack([1.0, 2.0], push=push)._replace(accepted=1e-12)
        found = solved(solve_pgs, problem, pgs_memory, 1e-15)
        start = found.impulse * (1 + 1e-13)
        sigma = problem.G @ start + problem.g
        missed = residual(problem, start, sigma)
        assert 1e-16 < missed < 1e-12 and is_accepted(problem, start, sigma, missed) == at_rest
        again = solved(solve_pgs, problem, pgs_memory, start=start)
        assert (again.taken == 0) == at_rest and np.array_equal(again.impulse, start) == at_rest
        scale_along_ray(problem, again.impulse, sigma)
        assert not at_rest or np.array_equal(again.impulse, start)


def energies_after_sweeps(problem, start, scaled, sweeps=8):
    impulse, sigma = np.array(start), np.zeros(problem.rows)
    if scaled:
        scale_along_ray(problem, impulse, sigma)
    relative_velocities(problem, impulse, sigma)
    energies = []
    for _ in range(sweeps):
        sweep(problem, impulse, sigma)
        energies.append(energy_of(problem, impulse))
    return np.array(energies)


def start_of(problem, rng):
    """Impulses that every law admits, as of the step before a blow."""
    normals = rng.exponential(2.0, problem.contacts)
    impulse = np.zeros(problem.rows)
    for c in range(problem.contacts):
        t = rng.normal(size=2)
        impulse[3 * c : 3 * c + 3] = *(t / np.hypot(*t) * problem.mu[c] * normals[c]), normals[c]
    return impulse


def test_no_sweep_from_a_cold_or_scaled_start_adds_energy_and_from_others_some_do():
    rng, gained = np.random.default_rng(0), 0
    for seed in range(60):
        problem = random_problem(seed, 4, 1, 0, 0, 0, freedom=8)
        start = start_of(problem, rng)
        scale = energy_of(problem, -np.linalg.lstsq(problem.G, problem.g, rcond=None)[0])
        assert energies_after_sweeps(problem, np.zeros(problem.rows), False).max() <= 1e-12 * abs(scale)
        assert energies_after_sweeps(problem, start, True).max() <= 1e-12 * abs(scale)
        gained += energies_after_sweeps(problem, start, False, 2).max() > 1e-3 * abs(scale)
    assert gained > 5


def test_scaling_along_a_ray_finds_its_least_energy():
    rng = np.random.default_rng(1)
    for seed in range(20):
        problem = random_problem(seed)
        start, sigma = start_of(problem, rng), np.zeros(problem.rows)
        scaled = start.copy()
        scale_along_ray(problem, scaled, sigma)
        factors = np.linspace(0, 1, 101)
        assert energy_of(problem, scaled) <= min(energy_of(problem, c * start) for c in factors) + 1e-12
        assert energy_of(problem, scaled) <= 1e-15


def test_a_single_box_is_held_in_few_sweeps():
    problem = stack([1.0])
    found = solved(run_pgs, problem, tolerance=1e-9)
    assert found.taken < 30 and np.abs(found.sigma).max() < 1e-8
    assert found.impulse[2::3].sum() == pytest.approx(9.81e-3, rel=1e-6)


@pytest.mark.parametrize("count", [3, 4])
def test_stacks_with_the_heaviest_on_top_are_handed_over(count):
    """A thousand times heavier on top: sweeps alone stall, and the ground must carry the weight of all."""
    problem = stack([*np.ones(count - 1), 1000.0])
    alone = solved(run_pgs, problem, tolerance=1e-9, most=SWEEPS)
    found = solved(solve_pgs, problem, pgs_memory, 1e-9, 1000)
    assert alone.residual > 1e-6 > found.residual
    assert SWEEPS < found.taken < 600
    weight = 9.81e-3 * (count - 1 + 1000)
    assert found.impulse[2:12:3].sum() == pytest.approx(weight, rel=1e-5)


def test_two_with_the_heavier_on_top_are_solved_without_that():
    problem = stack([1.0, 1000.0])
    found = solved(solve_pgs, problem, pgs_memory, 1e-9, 1000)
    assert found.residual < 1e-6 and found.taken < SWEEPS
    assert found.impulse[2:12:3].sum() == pytest.approx(9.81e-3 * 1001, rel=1e-5)


def test_what_stalls_after_a_start_from_nothing_is_led_on_by_compliant_contacts():
    found = solved(solve_pgs, stack([1.0, 2.0, 5.0, 1000.0], push=0.5), pgs_memory, 1e-9, SWEEPS)
    assert found.taken > 2 * SWEEPS and found.residual < 1e-9


@pytest.mark.parametrize(("part", "ends"), [(1.0, True), (0.5, False), (0.0, False)])
def test_a_budget_of_multiplications_bounds_the_solver(monkeypatch, part, ends):
    problem, memory = stack([1.0, 2.0, 5.0, 1000.0], push=0.5), pgs_memory(48, np.zeros(48))
    expected = solved(solve_pgs, problem, lambda *_: memory, 1e-9, SWEEPS)
    needed = memory.active.spent[0]
    for module in (active_set, pgs):
        monkeypatch.setattr(module, "BUDGET", part * needed)
    found = solved(solve_pgs, problem, lambda *_: memory, 1e-9, SWEEPS)
    assert np.isfinite(found.impulse).all() and (found.residual < 1e-9) == ends
    assert memory.active.spent[0] <= part * needed + 2 * 48**3, "one solution of the equations more"
    if ends:
        np.testing.assert_array_equal(found.impulse, expected.impulse)


@pytest.mark.parametrize("seed", [15, 23, 27])
def test_compliances_that_decrease_in_large_steps_lead_to_a_solution(seed):
    """Eight contacts of a body with six degrees of freedom, from the impulses of another problem."""
    start = solved(solve_pgs, random_problem(seed + 1000, 8, 1, 0, 0, 0, 6, 0.5), pgs_memory, 1e-9, 500).impulse
    found = solved(solve_pgs, random_problem(seed, 8, 1, 0, 0, 0, 6, 0.5), pgs_memory, 1e-9, 500, start)
    assert found.taken < 300 and found.residual < 1e-9


@pytest.mark.skipif(runs_compiled(), reason="called from here, kernels are plain Python in any case: once is enough")
def test_what_stalls_after_a_start_from_nothing_is_handed_over_again():
    """Iterations that end before the tolerance, sweeps that stall, and iterations from there on."""
    problem = stack([1.0, 2.0, 5.0, 1000.0], push=0.3)
    found = solved(solve_pgs, problem, pgs_memory, 1e-9, SWEEPS)
    assert found.taken > 2 * SWEEPS and found.residual < 1e-9


def test_pushed_stack_slides_at_its_top_alone():
    problem = stack([1.0, 1.0, 1.0], mu=0.5, push=1.0)
    found = solved(solve_pgs, problem, pgs_memory, 1e-9, 3000)
    slide = found.sigma.reshape(-1, 4, 3)[:, :, 0]
    assert found.residual < 1e-8
    np.testing.assert_allclose(slide[-1], 1.0 - 0.5 * 9.81e-3 * 1, rtol=0, atol=1e-6)
    assert np.abs(slide[:-1]).max() < 1e-6


def test_sweeps_at_the_end_are_undone_unless_the_residual_decreases():
    problem = random_problem(3)
    impulse, sigma = np.zeros(problem.rows), np.zeros(problem.rows)
    run_pgs(problem, impulse, sigma, 0.0, 2)
    kept, left = (impulse.copy(), sigma.copy()), residual(problem, impulse, sigma)
    scratch = np.zeros((2, problem.rows))
    assert sweep_on(problem, impulse, sigma, 1e-9, 5, 0.0, scratch) == 5
    assert (impulse == kept[0]).all() and (sigma == kept[1]).all()
    sweep_on(problem, impulse, sigma, 1e-9, 100, left, scratch)
    assert residual(problem, impulse, sigma) < 0.1 * left
    np.testing.assert_allclose(sigma, problem.G @ impulse + problem.g, rtol=0, atol=1e-12 * problem.G.max())
