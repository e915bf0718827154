"""Errors along chains and on ill-conditioned ones: at most those expected for the methods."""

import numpy as np
import pytest
from treesim_lab.cost import error_growth as growth
from treesim_lab.cost.expected_errors import COLUMNS, GROWTH, ILL_CONDITIONED, expected

import treesim

SAMPLES_DIFFER = 20.0  # one sample on either side, of chains that are alike but not the same
OF_ITS_OWN = {
    "constraint_force_grouped": 25.0,  # dense blocks: it stands in the serial method's column, and errs more
    "constraint_force_pcr": 100.0,  # 24 states of the chain with a light middle link: 3e-11 to 2e-8, beside 5e-10
}
ROUND_OFF = 1e-15
USELESS = 1e-5  # where a method was seen to err by more than this, refusing to answer is better
BACKENDS = [name for name in treesim.available("dynamics") if name in COLUMNS]  # the others have no column


def assert_as_expected(case, seen):
    for backend in BACKENDS:
        bound = expected(seen, backend)
        if bound is None:
            continue
        try:
            times = OF_ITS_OWN.get(backend, SAMPLES_DIFFER)
            assert growth.error(case, backend) < times * bound + 10 * ROUND_OFF, backend
        except treesim.AccuracyError:
            assert bound > USELESS, backend


@pytest.mark.parametrize("key", [key for key in GROWTH if key[2] <= 100], ids=str)
def test_growth_along_short_chains(key):
    regime, kind, n = key
    assert_as_expected(growth.growth_case(kind, n, regime), GROWTH[key])


@pytest.mark.slow
@pytest.mark.parametrize("key", [key for key in GROWTH if key[2] > 100], ids=str)
def test_growth_along_long_chains(key):
    regime, kind, n = key
    assert_as_expected(growth.growth_case(kind, n, regime), GROWTH[key])


@pytest.mark.parametrize("row", list(growth.ill_conditioned_cases()), ids=lambda row: f"{row[0]}, {row[1]}, {row[2]}")
def test_ill_conditioned_chains(row):
    name, regime, factor, case = row
    assert_as_expected(case, ILL_CONDITIONED[name, regime, factor])


def test_articulated_bodies_keep_the_digits_that_factors_lose():
    case = growth.growth_case("snake", 100, growth.FORCE_DRIVEN)
    assert growth.error(case, "aba") < 1e-13 < 1e-12 < growth.error(case, "crba_ltdl")


@pytest.mark.parametrize("backend", ["crba_ltdl", "crba_ltl", "reference", "rjk"])
def test_one_refinement_restores_the_digits_when_forces_drive(backend):
    case = growth.growth_case("snake", 100, growth.FORCE_DRIVEN)
    assert growth.error(case, backend, refinements=1) < 1e-14 < growth.error(case, backend)


def test_the_exact_acceleration_is_exact():
    """Against rational arithmetic by hand: a rod that starts to swing under its weight."""
    robot = growth.chain("pendulum", 1)
    body = robot.bodies[0].inertia
    q, zero = np.array([0.25]), np.zeros(1)
    lever = body.mass * 9.81 * body.com[0] * np.cos(q[0])
    moment = body.rotational[1, 1] + body.mass * body.com[0] ** 2
    assert growth.exact_acceleration(robot, q, zero, zero)[0] == pytest.approx(lever / moment, rel=1e-15)


@pytest.mark.parametrize("kind", growth.KINDS)
def test_chains_are_chains_of_revolute_joints(kind):
    robot = growth.chain(kind, 5)
    assert robot.parent.tolist() == [0, 1, 2, 3, 4]
    assert {body.joint.type for body in robot.bodies} == {"revolute"}
