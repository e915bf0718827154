"""`treesim cost`: the papers' tables and a robot's formulas, for people and for scripts."""

import json

import pytest
from typer.testing import CliRunner

from treesim.cli.main import app
from treesim.cost.papers import rows

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
    assert [set(row) for row in listed] == [{"source", "quantity", "printed", "computed", "agrees", "note"}] * len(
        rows()
    )
    assert listed == [row.as_dict() for row in rows()]


def test_papers_as_tables_explain_what_differs():
    text = run("--papers").stdout
    assert "Featherstone 2005, section 6" in text
    assert text.splitlines()[-1].startswith("Featherstone 2010, Table 3, +10 DoF/hand FTF cost ratio: erratum")


def test_robot_as_json(pair):
    facts = json.loads(run(pair, "--json").stdout)
    assert (facts["robot"], facts["nv"], facts["D1"], facts["D2"]) == ("pair", 2, 1, 1)
    costs = {entry["name"]: entry["formula"] for entry in facts["formulas"]}
    assert costs["LTDL"] == {"mul": 1, "add": 1, "div": 1}
    assert costs["LTDL solve"] == {"mul": 2, "add": 2, "div": 2}
    assert costs["RNEA"] == {"mul": 117, "add": 96, "div": 0}
    assert costs["CRBA"] == {"mul": 52, "add": 55, "div": 0}
    assert costs["ABA"] is None


def test_robot_as_table_says_whose_formulas_they_are(pair):
    text = run(pair).stdout
    assert "Featherstone 2005" in text
    assert "note: ABA" in text


@pytest.mark.parametrize("arguments", [(), ("some_robot", "--papers")])
def test_needs_a_robot_or_papers(arguments):
    result = run(*arguments)
    assert result.exit_code == 2
    assert "ROBOT or --papers" in result.stderr
