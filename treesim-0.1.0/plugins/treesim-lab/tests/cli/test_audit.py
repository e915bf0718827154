"""`treesim compare --high-precision`: a table for every group, equal JSON, and exit codes."""

from treesim_lab.audits import methods


def test_tables_and_json_tell_the_same(treesim, answer, robot):
    shown = treesim("audit", robot, "--states", 1)
    assert shown.exit_code == 0, shown.stderr
    for word in ("forward dynamics", "operational space", "identities", "every error is within its bound", "digits"):
        assert word in shown.stdout
    details = answer("audit", robot, "--states", 1, "--base", "floating")
    assert details["passed"] and details["nv"] == 9 and details["base"] == "floating"
    assert {row["group"] for row in details["rows"]} >= {"quantities", "factorizations", "inverse mass matrix"}
    assert all(row["passed"] and row["error"] <= row["bound"] for row in details["rows"])


def test_what_is_beyond_its_bound_ends_in_code_1(treesim, robot, monkeypatch):
    exact = methods.bias_forces
    monkeypatch.setattr(methods, "bias_forces", lambda *given: exact(*given) * (1 + 1e-9))
    found = treesim("audit", robot, "--states", 1)
    assert found.exit_code == 1
    assert "BEYOND" in found.stdout and "beyond their bounds: bias forces" in found.stdout
