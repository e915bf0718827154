"""Rows of `treesim bench accuracy`."""

import json

import pytest
from treesim_lab.bench.accuracy import error_rows
from treesim_lab.cli import accuracy
from treesim_lab.cli.accuracy_factors import TITLES
from treesim_lab.cli.accuracy_robots import TABLES, _cell
from treesim_lab.cost.factorization_errors import NAMES
from typer.testing import CliRunner

import treesim
from treesim.cli.main import app
from treesim.engine.call.generic import runs_compiled


def test_rows_hold_every_backend_and_what_is_expected():
    rows = list(error_rows((10,)))
    assert {row["regime"] for row in rows} == {"force-driven", "prescribed motion"}
    for row in rows:
        assert [entry["backend"] for entry in row["errors"]] == [
            n for n in treesim.available("dynamics") if n != "auto"
        ]
        aba = row["errors"][0]
        assert 0 <= aba["error"] < 1e-4
    first = rows[0]
    assert (first["table"], first["case"]) == ("random chain", "N = 10")
    assert first["errors"][0]["expected"] == 3e-16
    json.dumps(rows)


def test_cells_say_what_failed_and_what_was_expected():
    assert accuracy._cell({"error": None, "refined": None, "expected": 1e-9}) == "fails, fails (1e-09)"
    assert accuracy._cell({"error": 2e-12, "refined": 1e-16, "expected": None}) == "2e-12, 1e-16"


@pytest.mark.skipif(not runs_compiled(), reason="kernels run as plain Python")
@pytest.mark.slow
def test_robots_in_tables_and_as_json():
    arguments = ["accuracy", "chain3", "double_pendulum", "--states", "5"]
    facts = json.loads(CliRunner().invoke(app, [*arguments, "--json"]).stdout)
    assert [(row["robot"], row["nv"]) for row in facts["robots"]] == [("chain3", 3), ("double_pendulum", 2)]
    for row in facts["robots"]:
        found = {entry["problem"]: entry for entry in row["errors"]}
        assert {"body poses", "inverse dynamics", "mass matrix", "aba", "rjk", "crba_ltdl"} < set(found)
        assert all(entry["apart"] < 1e-13 and entry["generic"] < 1e-13 for entry in found.values())
        assert found["mass matrix"]["sensitivity"] == 0 < found["aba"]["sensitivity"] < 1e-12
    text = CliRunner().invoke(app, arguments).stdout
    assert "float64: engines apart" in text and "float32: specialized code" in text and "chain3 (3)" in text


def test_factorizations_in_tables_and_as_json():
    arguments = ["accuracy", "chain3", "double_pendulum", "--factorization", "--states", "3"]
    facts = json.loads(CliRunner().invoke(app, [*arguments, "--json"]).stdout)
    assert [(row["tree"], row["n"], row["zeros"]) for row in facts["rows"]] == [
        ("chain3", 3, 0),
        ("double_pendulum", 2, 0),
    ]
    for row in facts["rows"]:
        assert set(row["errors"]) == set(NAMES)
        assert all(set(errors) == set(TITLES) for errors in row["errors"].values())
        assert all(0 <= error < 1e3 for errors in row["errors"].values() for error in errors.values())
    text = CliRunner().invoke(app, arguments).stdout
    assert all(title in text for title in TITLES.values()) and "Medians of 3 random states." in text


def test_cells_of_robots():
    errors = {"apart": 1e-15, "sensitivity": 2e-13, "generic": 3e-15, "specialized": None, "single": None}
    assert [_cell(errors, keys) for _, keys in TABLES] == ["1e-15 (2e-13)", "3e-15, -", "-"]
    assert _cell({**errors, "sensitivity": 0.0}, TABLES[0][1]) == "1e-15"
