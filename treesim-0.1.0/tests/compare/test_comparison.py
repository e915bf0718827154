"""Several engines in one comparison: each has its report, and one that does not take the robot spoils none."""

from __future__ import annotations

import pytest

import treesim
from tests.compare.test_checks import URDF, Mirror
from treesim.compare import Comparison, Report, compare
from treesim.errors import ArgumentError, PluginError, UnsupportedError
from treesim.testing.samples import on_floating_base

FEW = {"base": "fixed", "states": 2, "steps": 4}


class Named(Mirror):
    def __init__(self, name, refusal=None, distort=None):
        super().__init__(distort)
        self.name = self.title = name
        self.refusal = refusal

    def refuses(self, robot):
        return self.refusal


def wrong(values):
    values["bias"] += 1e-3


def test_each_engine_has_its_report():
    found = compare(URDF, [Named("one"), Named("two", distort=wrong), Named("three", "it is tired")], **FEW)
    assert isinstance(found, Comparison) and found.engines == ("one", "two") and not found.passed
    assert found.report("one").passed and not found.report("two").passed
    assert "it is tired" in found.refused["three"]
    assert found.versions.keys() == {"treesim", "one", "two"}
    assert repr(found) == "<Comparison: 'arm' against one, two, not passed>"
    with pytest.raises(KeyError, match="'three'; there are: one, two"):
        found.report("three")


def test_one_engine_in_a_sequence_is_a_comparison_and_alone_a_report():
    alone, (in_sequence,) = compare(URDF, Named("one"), **FEW), compare(URDF, (Named("one"),), **FEW).reports
    assert isinstance(alone, Report) and in_sequence.rows == alone.rows


def test_all_passing_passes_and_none_does_not():
    assert compare(URDF, [Named("one"), Named("two")], **FEW).passed
    assert not compare(URDF, [Named("one", "no")], **FEW).passed
    with pytest.raises(UnsupportedError, match="no"):
        compare(URDF, Named("one", "no"), **FEW)


def test_it_is_plain():
    plain = compare(URDF, [Named("one")], **FEW).to_dict()
    assert list(plain) == [
        "robot", "base", "seed", "states", "steps", "dt", "versions", "passed", "refused", "reports",
    ]  # fmt: skip
    (report,) = plain["reports"]
    assert len(report["trajectory"]["apart"]) == len(report["trajectory"]["divergence"]) == 5
    assert report["conservation"][0]["run"] == "one" and len(report["conservation"][2]["energy"]) == 5
    assert report["convergence"]["passed"] is True and len(report["convergence"]["errors"]) == 6


def test_an_engine_must_be_named():
    with pytest.raises(ArgumentError, match="against must name an engine"):
        compare(URDF, [], **FEW)
    with pytest.raises(PluginError, match="'nobody'"):
        compare(URDF, [Named("one"), "nobody"], **FEW)


def test_a_free_base_is_told():
    robot = on_floating_base(treesim.load(URDF))
    assert compare(robot, [Named("one")], states=2, steps=0).base == "floating"
