"""Normal distributions of vectors: their covariance, their bits, and velocities of equal energy."""

import numpy as np
import pytest

import treesim
from tests import trees
from treesim import ArgumentError
from treesim.sweeps import MultivariateNormal, maxwell_boltzmann
from treesim.sweeps.distributions import as_distribution, values_of
from treesim.sweeps.normal_quantile import normal_quantile

U = (np.random.default_rng(0).integers(0, 2**52, (500, 3)) + 0.5) * 2.0**-52


def test_draws_are_the_mean_and_the_factor_times_independent_normal_numbers():
    rng = np.random.default_rng(1)
    mean, factor = rng.normal(size=2), rng.normal(size=(2, 3))
    made = as_distribution("v0", MultivariateNormal(mean, factor))
    assert (made.shape, made.needs) == ((2,), 3)
    assert np.allclose(made.values(U), mean + normal_quantile(U) @ factor.T, rtol=1e-14, atol=1e-14)
    assert np.array_equal(values_of(made, U)[7:8], values_of(made, U[7:8]))


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: MultivariateNormal([1.0], np.eye(2)), r"shapes \(1,\) and \(2, 2\)"),
        (lambda: MultivariateNormal(0.0, np.eye(2)), r"shapes \(\) and"),
        (lambda: MultivariateNormal([0.0], [[np.nan]]), "must be finite"),
        (lambda: MultivariateNormal([0.0], [[1e308]]), "too large"),
        (lambda: maxwell_boltzmann(trees.tree("tree_1"), np.zeros((2, 7)), 1.0), "one configuration"),
        (lambda: maxwell_boltzmann(trees.tree("tree_1"), np.zeros(7), 0.0), "energy must be a number of joules"),
        (lambda: maxwell_boltzmann(trees.tree("tree_1"), np.zeros(7), 1.0, mean=[0.0]), "have shapes"),
    ],
)
def test_what_does_not_fit_is_refused(make, text):
    with pytest.raises(ArgumentError, match=text):
        make()


def test_each_degree_of_freedom_of_a_sweep_starts_with_the_same_energy(tmp_path):
    robot, count = trees.tree("tree_1"), 400
    noise = maxwell_boltzmann(robot, np.full(7, 0.3), energy=0.25)
    study = treesim.sweep(
        robot, samples=count, steps=1, q0=np.full(7, 0.3), vary={"v0": noise}, store=tmp_path / "noise", seed=2
    )
    v0, M = study.inputs(np.arange(count))["v0"], treesim.mass_matrix(robot, np.full(7, 0.3))
    energies = 0.5 * np.einsum("ij,jk,ik->i", v0, M, v0)  # a sum of 7 squares: 7 / 4 J in the mean
    assert abs(energies.mean() - 7 * 0.25) < 6 * np.sqrt(2 * 7 / count) * 0.25
