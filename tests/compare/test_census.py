"""Whatever becomes of a robot beside an engine has its row, and the counts and lists are of these."""

from __future__ import annotations

import pytest

from tests.compare import faulty_engine as faulty
from tests.compare.test_checks import URDF
from tests.compare.test_scenes import FINGERS, Twin
from treesim.compare import take_census
from treesim.compare.census import AGREES, DIFFERS, FAILED, KNOWN, REFUSED
from treesim.compare.treesim_engine import TreesimEngine

pytestmark = pytest.mark.filterwarnings("ignore::treesim.UrdfWarning")
FEW = {"states": 2, "steps": 3}
LINK = '<robot name="stone"><link name="stone"/></robot>'
ON_MASS = '<link name="base"><inertial><mass value="3"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>'
MASSIVE = URDF.replace('<link name="base"/>', f"{ON_MASS}</inertial></link>")
NONSENSE = '<robot name="none"/>'


def outcomes(census):
    return [(row.robot[13:16], row.base, row.outcome) for row in census.findings]


@pytest.mark.slow
def test_each_robot_has_a_row_for_each_base_and_engine():
    census = take_census([MASSIVE, NONSENSE], [TreesimEngine("bullet")], **FEW)
    assert outcomes(census) == [
        ("arm", "fixed", AGREES), ("arm", "floating", AGREES), ("non", "fixed", REFUSED), ("non", "floating", REFUSED),
    ]  # fmt: skip
    assert census.findings[2].why == "treesim does not read the file (U207)"
    assert census.largest_errors("treesim")["mass_matrix"] == 0.0
    assert census.count(AGREES) == 2 == census.count(REFUSED, "treesim") and census.count(AGREES, base="fixed") == 1
    assert repr(census) == "<Census of 2 robots: 2 agrees, 2 refused>"


def test_a_robot_without_joints_has_nothing_to_compare():
    (row,) = take_census([LINK], [TreesimEngine(None)], ["fixed"], **FEW).findings
    assert (row.outcome, row.why) == (REFUSED, "nothing moves")


@pytest.mark.slow
def test_an_engine_s_crash_is_a_row():
    (row,) = take_census([URDF], [faulty.FaultyEngine(faulty.crash)], ["fixed"], **FEW).findings
    assert row.outcome == FAILED and "Faulty crashed (SIGSEGV)" in row.why and row.errors["bias"] == 0.0


@pytest.mark.slow
def test_a_known_fault_explains_what_differs_in_the_file_alone():
    def of(fault):
        return take_census([URDF], [faulty.FaultyEngine(fault)], ["fixed"], **FEW).findings[0]

    assert (of(faulty.lose_a_mass).outcome, of(faulty.lose_a_mass).why) == (KNOWN, "it loses masses")
    assert of(faulty.lose_a_mass_untold).outcome == DIFFERS
    assert "disagree, first on mass (raw level)" in of(faulty.lose_a_mass_untold).why


def test_scenes_and_numberings_are_part_of_a_row():
    (row,) = take_census([FINGERS], Twin(), "fixed", **FEW, scenes=["pd", "standing"], renumber=True).findings
    assert row.outcome == AGREES and row.errors["pd"] == 0.0 and row.tolerances["pd"] == 1e-10
    assert row.skipped["standing"] == "the base is fixed"
