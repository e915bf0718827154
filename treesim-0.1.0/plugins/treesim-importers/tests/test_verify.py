"""Rules compared with the programs themselves: every example, and real robots, in the installed ones."""

import json
import sys
from pathlib import Path

import pytest
from treesim_importers import READERS, readings, verifications, verify
from treesim_importers.description import describe
from treesim_importers.engines import is_installed
from treesim_importers.examples import SOUND
from treesim_importers.outcome import Outcome

from treesim.urdf import installed_robots

INSTALLED = [reader for reader in READERS.values() if is_installed(reader.name)]
REAL = ("g1", "panda", "romeo", "talos_reduced", "human", "kuka_iiwa", "r2d2", "minitaur")


@pytest.fixture
def stub(monkeypatch, tmp_path):
    """Return a function that replaces a program by a script."""

    def put(code):
        script = tmp_path / "stub.py"
        script.write_text(f"import json, os, pathlib, sys, time\nreader, path, answer = sys.argv[1:]\n{code}")
        monkeypatch.setattr(verify, "ENGINES", script)

    return put


def answering(**answer):
    return f"pathlib.Path(answer).write_text({json.dumps(json.dumps(answer))})"


def verified(text=SOUND, time_limit=60.0):
    return verify.verify("pinocchio", Outcome(describe(text)), time_limit)


MASSES = {"base": 4.0, "arm": 2.0, "tool": 0.5}


def test_an_answer_as_predicted_has_no_differences(stub):
    stub(answering(version="1", masses=MASSES | {"arm": 2.0000001}, dofs={"arm": 1}))
    found = verified()
    assert (found.differences, found.error, found.version, found.nv) == ((), "", "1", 1)


@pytest.mark.parametrize(
    ("answer", "details"),
    [
        ({"masses": MASSES, "dofs": {"arm": 3}}, "nv is 3, 1 predicted: 'arm' 3 instead of 1"),
        ({"masses": MASSES | {"arm": 2.1}, "dofs": {"arm": 1}}, "body 'arm' weighs 2.1 kg, 2 predicted"),
        ({"masses": MASSES | {"arm": float("nan")}, "dofs": {"arm": 1}}, "body 'arm' weighs nan kg, 2 predicted"),
        ({"masses": MASSES | {"more": 1.0}, "dofs": {"arm": 1}}, "bodies that no rule predicts: 'more'"),
        ({"masses": {"base": 4.0, "arm": 2.0}, "dofs": {"arm": 1}}, "bodies that are missing: 'tool'"),
        ({"error": "no"}, "it does not load the file, which no rule predicts: no"),
    ],
)
def test_what_no_rule_predicts_is_told(stub, answer, details):
    stub(answering(**answer))
    assert verified().differences == (details,)


def test_a_crash_is_an_answer(stub):
    stub("os.abort()")
    assert verified().error == "the process ended: SIGABRT"


def test_time_is_limited(stub):
    stub("time.sleep(60)")
    assert verified(time_limit=0.2).error == "not finished in 0.2 s"


def test_loading_what_a_rule_says_is_refused_is_a_difference(stub):
    stub(answering(version="1", masses=MASSES, dofs={"arm": 1}))
    refused = Outcome(describe(SOUND))
    refused.refused = True
    assert verify.verify("pinocchio", refused).differences == ("it loads the file, although a rule predicts a refusal",)


def test_a_difference_is_a_reading_of_its_own(stub, monkeypatch):
    monkeypatch.setattr("treesim_importers.reading.is_installed", lambda reader: True)
    stub(answering(version="9.9", masses=MASSES, dofs={"arm": 1}))
    *_, last = readings(SOUND, ["pinocchio"], verify=True)
    assert (last.rule.code, last.rule.action) == ("PI00", "differs")
    assert last.effect == "body 'arm' weighs 2 kg, 2.5 predicted" and "9.9" in last.rule.when


def test_what_a_program_raises_is_its_answer(tmp_path):
    from treesim_importers import engines

    answer = tmp_path / "answer.json"
    engines.READ["broken"] = lambda path: sys.exit(f"cannot read {Path(path).name}")
    try:
        engines.main("broken", "x.urdf", str(answer))
    finally:
        del engines.READ["broken"]
    assert json.loads(answer.read_text()) == {"error": "cannot read x.urdf"}


@pytest.mark.parametrize("reader", INSTALLED, ids=lambda reader: reader.name)
def test_programs_read_the_sound_robot_as_predicted(reader):
    (found,) = verifications(SOUND, [reader.name])
    assert found.differences == () and found.error == "" and found.version


@pytest.mark.slow
@pytest.mark.parametrize(
    ("reader", "rule"), [(reader, rule) for reader in INSTALLED for rule in reader.rules],
    ids=lambda thing: getattr(thing, "code", ""),
)  # fmt: skip
def test_programs_do_with_each_example_what_its_rule_says(reader, rule, example_file):
    (found,) = verifications(example_file(rule), [reader.name])
    assert found.differences == ()
    assert bool(found.error) == (rule.action == "refuses")


@pytest.mark.slow
@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize("reader", INSTALLED, ids=lambda reader: reader.name)
def test_programs_read_real_robots_as_predicted(reader, name):
    paths = {entry.name: entry.path for entry in installed_robots()}
    if name not in paths:
        pytest.skip(f"{name} is not installed")
    (found,) = verifications(paths[name], [reader.name])
    assert found.differences == ()
