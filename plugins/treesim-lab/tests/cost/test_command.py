"""`treesim cost`: the papers' tables and a robot's formulas, as text and as JSON."""

import json
from dataclasses import fields

import pytest
from treesim_lab.cost.papers import Row, rows
from treesim_lab.plotting.papers import TITLES
from typer.testing import CliRunner

import treesim
from treesim.cli.main import app

URDF = """<robot name="pair">
  <link name="world"/><link name="upper">{inertial}</link><link name="lower">{inertial}</link>
  <joint name="a" type="continuous"><parent link="world"/><child link="upper"/><axis xyz="0 1 0"/></joint>
  <joint name="b" type="continuous"><parent link="upper"/><child link="lower"/><axis xyz="0 1 0"/></joint>
</robot>""".format(
    inertial='<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
)


@pytest.fixture
def pair(tmp_path):
    path = tmp_path / "pair.urdf"
    path.write_text(URDF)
    return str(path)


def run(*arguments):
    return CliRunner().invoke(app, ["cost", *arguments])


def test_papers_as_json_hold_the_contract():
    result = run("--papers", "--json")
    assert result.exit_code == 0
    listed = json.loads(result.stdout)
    assert [set(row) for row in listed] == [{field.name for field in fields(Row)}] * len(rows())
    assert listed == [row.as_dict() for row in rows()]


def test_papers_as_tables_explain_what_differs():
    text = run("--papers").stdout
    assert "Featherstone 2005, section 6" in text
    assert text.splitlines()[-2].startswith("91 of 92 printed results agree, and 13 of 13 values of printed formulas.")
    assert text.splitlines()[-1].startswith("Featherstone 2010, Table 3, +10 DoF/hand FTF cost ratio: erratum")


def test_papers_are_drawn(tmp_path):
    path = tmp_path / "papers.svg"
    result = run("--papers", "--plot", str(path))
    assert result.exit_code == 0 and result.stdout.splitlines()[-1] == f"wrote {path}"
    drawn = path.read_text(encoding="utf-8")
    assert drawn.startswith("<?xml") and all(title.split("\n")[0] in drawn for title in TITLES.values())


def by_name(rows):
    return {row["name"]: row for row in rows}


def test_robot_as_json_holds_the_contract(pair):
    facts = json.loads(run(pair, "--json", "--repeats", "1").stdout)
    assert (facts["robot"], facts["nv"], facts["D1"], facts["D2"]) == ("pair", 2, 1, 1)
    assert facts["limits"]["largest"] == {"D0": 1, "D1": 1, "D2": 1} and facts["limits"]["density"] == 1
    assert facts["limits"]["by_rule"] == facts["limits"]["by_formula"] == {"factorize": 3, "solve": 6}
    for kind in ("dynamics", "operational"):
        assert [row["name"] for row in facts[kind]] == [n for n in treesim.available(kind) if n != "auto"]
        assert [row["advised"] for row in facts[kind]].count(True) == 1
        for row in facts[kind]:
            assert {"name", "kind", "formula", "counted", "seconds", "advised", "source", "note"} <= set(row)
            assert row["seconds"] > 0
            assert row["counted"] is None or {"mul", "add", "div", "sqrt", "depth"} <= set(row["counted"])
            assert row["formula"] is not None or row["source"]
            assert row["counted"] is not None or row["note"]
            assert row["specialized"] is None or set(row["specialized"]) == set(row["counted"])
    assert by_name(facts["space"])["N"]["formula"] == {"mul": 24, "add": 26, "div": 0}  # six rows, two joints
    aba = by_name(facts["dynamics"])["aba"]
    assert aba["specialized"]["mul"] < aba["counted"]["mul"] and aba["specialized"]["depth"] <= aba["counted"]["depth"]
    assert all(set(advice) == {"name", "reason"} for advice in facts["advice"].values())


@pytest.mark.paper("F05 eq. 20")
def test_formulas_of_a_pair(pair):
    facts = json.loads(run(pair, "--json", "--repeats", "0").stdout)
    parts, dynamics = by_name(facts["parts"]), by_name(facts["dynamics"])
    assert parts["ltdl"]["formula"] == {"mul": 1, "add": 1, "div": 1}
    assert parts["ltdl solve"]["formula"] == {"mul": 2, "add": 2, "div": 2}
    assert parts["bias_forces"]["formula"] == {"mul": 117, "add": 96, "div": 0}
    assert parts["mass_matrix"]["formula"] == {"mul": 52, "add": 55, "div": 0}
    assert dynamics["aba"]["formula"] is None and "floating base" in dynamics["aba"]["source"]
    assert dynamics["crba_ltdl"]["formula"] == {"mul": 172, "add": 154, "div": 3}
    assert all(row["seconds"] is None for row in dynamics.values())


def test_frames_can_be_chosen(pair):
    assert json.loads(run(pair, "--json", "--repeats", "0").stdout)["frames"] == ["lower"]
    facts = json.loads(run(pair, "--json", "--repeats", "0", "--frame", "upper", "--frame", "lower").stdout)
    assert facts["frames"] == ["upper", "lower"]
    result = run(pair, "--repeats", "0", "--frame", "uper")
    assert result.exit_code == 2
    assert "did you mean 'upper'" in result.stderr


def test_robot_as_table(pair):
    text = run(pair, "--repeats", "0").stdout
    assert "operational space by sparse rows of lower" in text
    assert "aba (advised)" in text and "code specialized for this robot" in text
    assert "F05 Table 1" in text
    assert "D0 1 of at most 1; D1 1 of at most 1, 2 at this depth" in text
    assert "100% of the matrix can differ from zero; operations to factor it 3, by this density's square 3" in text
    assert "advised for forward dynamics: aba: O(N)" in text
    assert "crba_ltdl, operations counted against the formula" in text


def test_sparsity_is_drawn(pair, tmp_path):
    path = tmp_path / "pair.png"
    assert run(pair, "--repeats", "0", "--plot", str(path)).exit_code == 0
    assert path.read_bytes().startswith(b"\x89PNG")
    result = run(pair, "--repeats", "0", "--plot", str(tmp_path / "none" / "pair.png"))
    assert result.exit_code == 2
    assert "there is no folder" in result.stderr


@pytest.mark.parametrize("arguments", [(), ("some_robot", "--papers"), ("--papers", "--advice")])
def test_needs_one_thing_to_do(arguments):
    result = run(*arguments)
    assert result.exit_code == 2
    assert "one of ROBOT, --tree, --papers and --advice" in result.stderr


class Foreign:
    """Backend of another package, whose operations are unknown."""

    name = "foreign"
    capabilities = treesim.dynamics.base.Capabilities(cost="O(N) in furlongs", source="a test")

    def forward_dynamics(self, robot, *given, **options):
        raise ZeroDivisionError("it fell over")


class Point:
    """Entry point of another package."""

    dist, value = None, "somewhere:Backend"

    def __init__(self, name, loaded):
        self.name, self.loaded = name, loaded

    def load(self):
        return self.loaded()


def fails():
    raise ImportError("no module named 'furlongs'")


def test_what_is_known_of_other_packages_is_told(pair, monkeypatch):
    points = {"foreign": (Point("foreign", lambda: Foreign),), "unloadable": (Point("unloadable", fails),)}
    found = treesim.plugins._entry_points
    monkeypatch.setattr(treesim.plugins, "_entry_points", lambda kind: points if kind == "dynamics" else found(kind))
    facts = json.loads(run(pair, "--repeats", "1", "--json").stdout)
    known = by_name(facts["dynamics"])
    assert known["foreign"]["source"] == "of another package: O(N) in furlongs; a test"
    assert known["foreign"]["counted"] is None and "no kernel of treesim's" in known["foreign"]["note"]
    assert "'foreign' is not timed: ZeroDivisionError: it fell over" in facts["notes"]
    assert "furlongs" in known["unloadable"]["note"] and known["unloadable"]["seconds"] is None
    assert known["aba"]["counted"] and known["aba"]["seconds"]
    text = run(pair, "--repeats", "1")
    assert text.exit_code == 0 and "foreign" in text.stdout
