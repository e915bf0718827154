"""`treesim accuracy`: its rows."""

import json

import treesim
from treesim.cli import accuracy


def test_rows_hold_every_backend_and_what_is_expected():
    rows = list(accuracy.error_rows((10,), lambda text: None))
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
