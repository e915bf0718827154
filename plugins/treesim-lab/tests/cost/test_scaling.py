"""Families, orders as exponents, fits, and the command's stop criterion."""

import json
import sys

import numpy as np
import pytest
from treesim_lab.bench.scaling import added_memory, sweep
from treesim_lab.cost import counting, scaling
from treesim_lab.cost.factorization import dense_factors, sparse_factors
from typer.testing import CliRunner

import treesim
from tests.trees import relative_error
from treesim import plugins
from treesim.cli.main import app
from treesim.dynamics.base import CompiledBackend
from treesim.model import generators as make

CHAIN, BINARY, SIDE, GRID = scaling.FAMILIES


@pytest.mark.parametrize("family", scaling.FAMILIES, ids=lambda family: family.name)
def test_families_have_about_n_bodies_and_the_depth_they_say(family):
    sizes = [family.make(n).n_bodies for n in (50, 200, 800)]
    depths = [family.make(n).topology.depth for n in (50, 200, 800)]
    assert all(0.5 < size / n < 2 for size, n in zip(sizes, (50, 200, 800), strict=True))
    growth = np.log(depths[2] / depths[0]) / np.log(sizes[2] / sizes[0])
    assert growth == pytest.approx(family.depth_exponent, abs=0.25)


@pytest.mark.paper("F05 Table 2, orders")
@pytest.mark.parametrize(
    ("order", "family", "exponent"),
    [
        ("O(N)", CHAIN, 1),
        ("O(n d^2)", CHAIN, 3),
        ("O(n d^2)", BINARY, 1),
        ("O(n d^2)", GRID, 2),
        ("O(n d)", SIDE, 2),
        ("O(n^3)", GRID, 3),
        ("O(N + n d)", GRID, 1.5),
        ("O(N log N)", CHAIN, 1),
        ("O(N) per iteration", CHAIN, None),
        ("that of another", CHAIN, None),
        ("O(N + m^2)", CHAIN, None),
    ],
)
def test_orders_as_exponents(order, family, exponent):
    assert scaling.expected_exponent(order, family) == exponent


def test_fits_look_at_the_upper_decade_only():
    sizes = [1, 10, 100, 300, 1000]
    seconds = [1.0, 1.0, 1e-4, 9e-4, 1e-2]  # quadratic from 100 on
    assert scaling.fitted_exponent(sizes, seconds) == pytest.approx(2)
    assert scaling.fitted_exponent([10], [1.0]) is None
    assert scaling.next_seconds([100, 300], [1.0, 3.0], 600) == pytest.approx(6 * 2**0.5)


def growth(family, sizes, count):
    """Return the exponent of counted operations between two sizes of a family's trees."""
    robots = [family.make(n) for n in sizes]
    counts = [count(robot).operations.total for robot in robots]
    return np.log(counts[1] / counts[0]) / np.log(robots[1].n_bodies / robots[0].n_bodies)


def declared(name):
    """Return the declared order of a backend as an exponent on chains.

    None for orders with logarithms or iterations, and for backends without a count.
    """
    backend = plugins.get("dynamics", name)
    order = backend.capabilities.cost
    if not isinstance(backend, CompiledBackend) or order.startswith("O(N log"):
        return None
    return scaling.expected_exponent(order, CHAIN)


DECLARED = {name: declared(name) for name in plugins.BUILT_IN["dynamics"]}


EVERYDAY = ("aba", "crba_ltdl", "constraint_force", "explicit_inverse")


@pytest.mark.paper("F05 section 1, orders", "J91 section 7, A to D", "FF13 abstract, serial")
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name not in EVERYDAY))
        for name, exponent in DECLARED.items()
        if exponent is not None
    ],
)
def test_backends_count_as_they_declare(name):
    """Exact operations are independent of the machine's load; lower-order terms make exponents smaller."""
    backend = plugins.get("dynamics", name)
    exponent = growth(CHAIN, (32, 64), lambda robot: counting.forward_dynamics(robot, backend))
    if DECLARED[name] == 1:
        assert exponent == pytest.approx(1, abs=0.1)
    else:
        assert DECLARED[name] - 0.75 < exponent < DECLARED[name] + 0.1


@pytest.mark.paper("FF13 abstract, Λ⁻¹, serial")
def test_inverse_inertia_from_constraint_forces_counts_linearly():
    method = plugins.get("operational", "constraint_force")
    found = growth(
        CHAIN, (16, 32), lambda robot: counting.inverse_inertia(robot, method, robot.body_names[-1:], "world")
    )
    assert found == pytest.approx(1, abs=0.1)


def test_most_backends_are_counted():
    assert list(DECLARED.values()).count(1) >= 8 and {2, 3} <= set(DECLARED.values())


@pytest.mark.paper("F05 section 1, orders", "F05 Table 2, orders")
@pytest.mark.parametrize("factors", [counting.ltdl, counting.ltl])
@pytest.mark.parametrize("family", [CHAIN, GRID], ids=lambda family: family.name)
def test_factors_count_as_their_exponents_say(family, factors):
    found = growth(family, (36, 64), lambda robot: factors(robot).factorize)
    assert found == pytest.approx(scaling.expected_exponent("O(n d^2)", family), abs=0.15)


def test_command_stops_within_its_budget():
    rows = sweep((10, 20), 1e-9)
    assert {row["family"] for row in rows} == {family.name for family in scaling.FAMILIES}
    assert {row["backend"] for row in rows} == set(treesim.available("dynamics")) - {"auto"}
    for row in rows:
        assert len(row["sizes"]) == len(row["seconds"]) == 1
        assert "would take" in row["stopped"]


@pytest.mark.slow
def test_command_writes_table_and_plot(tmp_path):
    path = tmp_path / "scaling.png"
    result = CliRunner().invoke(app, ["scaling", "--quick", "--plot", str(path), "--json"])
    assert result.exit_code == 0
    facts = json.loads(result.stdout)
    aba = next(row for row in facts["times"] if row["backend"] == "aba" and row["family"] == "chain")
    assert aba["sizes"] == [10, 30, 100] and np.isfinite(aba["exponent"]) and aba["expected"] == 1
    assert path.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("robot", [make.chain(9), make.balanced_binary_tree(4)], ids=lambda robot: robot.name)
def test_factors_that_are_timed_solve_the_same_system(robot):
    q = robot.random(0)
    x = np.linalg.solve(treesim.mass_matrix(robot, q), np.ones(robot.nv))
    for factors in (sparse_factors(robot, q, "ltdl"), sparse_factors(robot, q, "ltl"), dense_factors(robot, q)):
        for _ in range(2):  # nothing is left over from the call before
            factors.factorize()
            assert relative_error(factors.solve(), x) < 1e-12
    with pytest.raises(treesim.UnknownNameError, match="did you mean 'ltdl'"):
        sparse_factors(robot, q, "ltdll")


def test_factorization_table_has_the_papers_ratios():
    result = CliRunner().invoke(app, ["scaling", "--factorization", "--quick", "--json"])
    assert result.exit_code == 0
    rows = json.loads(result.stdout)["rows"]
    assert len(rows) == 12
    for row in rows:
        if row["printed"] is not None:
            assert row["operation_ratio"] == pytest.approx(row["printed"], rel=0.012)  # as the paper rounds
        assert row["factorize"]["ratio"] > 0 < row["solve"]["ratio"]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")
@pytest.mark.slow
def test_articulated_bodies_take_linear_memory_on_a_chain_of_10000():
    assert added_memory("aba", 10_000)["added_bytes"] < 20e6  # a row of H for every body would be 800 MB
