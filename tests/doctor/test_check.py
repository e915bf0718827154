"""`treesim.check` as a whole: it never raises for a bad file, tells of the tiers that are wanted, and can be strict."""

import json
import pickle
import random
import warnings

import pytest
from lxml import etree

import treesim
from tests.doctor.examples import GOOD
from tests.doctor.robots import codes, robot, shape, solid
from tests.fuzz.mutators import MUTATORS, spoil
from treesim.doctor.advice import TIER_OF, TIERS
from treesim.doctor.github import annotation
from treesim.doctor.sarif import sarif_log
from treesim.errors import ArgumentError, UnknownNameError
from treesim.urdf import installed_robots

BAD = (
    GOOD.replace('<axis xyz="0 1 0"/>', '<axis xyz="0 2 0"/>', 1)
    .replace('iyz="0" izz="0.001"', 'iyz="0" izz="0.1"')
    .replace('<capsule radius="0.03" length="0.34"/>', "")
    .replace("</robot>", "<gazebo/></robot>")
)
CODES = {"syntax": {"U209"}, "structure": {"U403"}, "physics": {"U307"}, "assets": {"U505"}}


def test_a_good_robot_passes_with_nothing_to_say():
    diagnosis = treesim.check(GOOD)
    assert diagnosis.passed and not diagnosis.findings and not diagnosis.skipped
    assert repr(diagnosis) == "<Diagnosis of '<text>': 0 errors, 0 warnings, 0 notes>"
    assert repr(diagnosis.robot) == repr(treesim.load(GOOD))


def test_what_load_says_check_says():
    with pytest.warns(treesim.UrdfWarning):
        notes = treesim.load(BAD).notes
    assert {(note.code, note.line, note.message) for note in notes} <= {
        (found.code, found.line, found.message) for found in treesim.check(BAD).findings
    }


@pytest.mark.parametrize("tier", TIERS)
def test_a_tier_alone(tier):
    assert set(codes(treesim.check(BAD, tiers=[tier]))) == CODES[tier]


def test_findings_come_by_tier_and_line():
    diagnosis = treesim.check(BAD)
    order = [(TIERS.index(TIER_OF[found.code]), found.line) for found in diagnosis.findings]
    assert order == sorted(order) and set(codes(diagnosis)) == set().union(*CODES.values())
    assert diagnosis.counts == {"error": 0, "warning": 3, "info": 1}
    assert set(codes(diagnosis.without_notes())) == set(codes(diagnosis)) - {"U209"}


def test_what_makes_load_refuse_is_told_whatever_tier_is_wanted():
    diagnosis = treesim.check(GOOD.replace('<mass value="2"/>', '<mass value="x"/>'), tiers=["assets"])
    assert codes(diagnosis) == ["U301"] and diagnosis.robot is None
    assert any("cannot be built" in reason for reason in diagnosis.skipped)


def test_a_robot_that_cannot_be_built_is_examined_link_by_link():
    text = robot(x=solid(9e4) + shape('<box size="0.1 0.1 0.1"/>'), loose="")
    assert {"U207", "U601"} <= set(codes(treesim.check(text)))


def test_strict_makes_errors_of_doubts_and_the_robot_is_still_examined():
    diagnosis = treesim.check(BAD, strict=True)
    assert {found.code for found in diagnosis.of("error")} == {"U403", "U307"}
    assert diagnosis.of("warning")[0].code == "U505", "a shape never stops a load"
    assert not diagnosis.passed and diagnosis.robot is not None


def test_elements_are_found_by_their_xpath():
    root = etree.fromstring(BAD)
    for found in treesim.check(BAD).findings:
        if found.code != "U209":
            assert root.xpath(found.element)[0].sourceline == found.line


def test_meshes_need_not_be_read(tmp_path):
    (tmp_path / "bad.stl").write_text("no mesh")
    path = tmp_path / "robot.urdf"
    path.write_text(robot(x=solid() + shape('<mesh filename="bad.stl"/>')))
    (found,) = treesim.check(path).of("warning")
    assert found.code == "U507" and found.element.endswith("/mesh")
    unread = treesim.check(path, meshes=False)
    assert not unread.of("warning") and unread.skipped == ("mass and inertia of 1 link with shapes that were not read",)


def test_a_file_that_is_not_there_is_a_finding_and_a_robot_that_is_unknown_an_error(tmp_path):
    (found,) = treesim.check(tmp_path / "nowhere.urdf").findings
    assert found.code == "U100" and found.severity == "error"
    with pytest.raises(UnknownNameError, match="unknown robot or file 'nobody'"):
        treesim.check("nobody")


def test_options_are_checked():
    with pytest.raises(UnknownNameError, match="did you mean 'physics'"):
        treesim.check(GOOD, tiers=["phisics"])
    for options in ({"base": "free"}, {"mimic": "honour"}):
        with pytest.raises(ArgumentError, match="must be"):
            treesim.check(GOOD, **options)


def test_all_of_it_is_json():
    facts = json.loads(json.dumps(treesim.check(BAD).to_dict()))
    assert facts["passed"] and facts["robot"] == "arm" and facts["counts"]["warning"] == 3
    assert all(found["why"] and found["fix"] and found["tier"] in TIERS for found in facts["findings"])


@pytest.mark.parametrize("mutator", MUTATORS, ids=lambda mutator: mutator.__name__)
def test_no_damage_makes_it_raise(mutator):
    rng = random.Random(0)
    for _ in range(2):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            diagnosis = treesim.check(spoil(rng, BAD.encode(), mutator))
        assert diagnosis.passed == (diagnosis.robot is not None)
        assert json.dumps([diagnosis.to_dict(), sarif_log([diagnosis]), [*map(annotation, diagnosis.findings)]])


def test_real_robots():
    """The wrists of ur5 have their masses at the joints, outside of their meshes."""
    if "ur5" not in {entry.name for entry in installed_robots()}:
        pytest.skip("example-robot-data is not installed")
    ur5 = treesim.check("ur5")
    assert {found.link for found in ur5.findings if found.code == "U604"} == {
        "wrist_1_link",
        "wrist_2_link",
        "wrist_3_link",
    }
    assert not treesim.check("g1_29dof_rev_1_0").of("warning"), "a careful description has nothing to be warned of"


@pytest.mark.parametrize("source", ["ur5", "<robot name='r'><!--\n\n--><link/></robot>", "<mujoco/>"])
def test_a_diagnosis_pickles_with_its_lines(source):
    found = treesim.check(source)
    again = pickle.loads(pickle.dumps(found))
    assert again == found and repr(again.robot) == repr(found.robot)
    if found.document is not None:
        assert [e.sourceline for e in again.document.root.iter()] == [e.sourceline for e in found.document.root.iter()]
        assert again.document.to_text() == found.document.to_text()
