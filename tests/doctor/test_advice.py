"""Every code has its advice: examples bring it, cures end it, and the page of all codes is that of the tables."""

import re
from functools import cache
from pathlib import Path

import pytest

import treesim
from treesim.doctor.advice import ADVICE, GOOD, TIER_OF
from treesim.doctor.page import page
from treesim.urdf.findings import CODES

PAGE = Path(__file__).parents[2] / "docs" / "findings.md"
WITHOUT_EXAMPLE = {"U100", "U105", "U314", "U507", "U512", "U513", "U612"}  # of files and options, not of texts
OF_LIBXML = re.compile(r"says: \*line \d+: U101.*")  # in its words


@cache
def said(text, **options):
    return {found.code: found for found in treesim.check(text, **options).findings}


def test_every_code_has_its_advice_and_a_tier():
    assert set(ADVICE) == set(CODES)
    for code, advice in ADVICE.items():
        assert advice.why.endswith(".") and advice.fix and TIER_OF[code]


def test_the_robot_of_the_examples_has_nothing_wrong():
    assert said(GOOD) == {}


@pytest.mark.parametrize("code", sorted(ADVICE.keys() - WITHOUT_EXAMPLE))
def test_the_example_has_the_finding_and_the_cure_ends_it(code):
    pytest.importorskip("coal")
    advice = ADVICE[code]
    assert advice.whole or (advice.before in GOOD and advice.right in (GOOD if not advice.before else advice.right))
    wrong = said(advice.robot(advice.wrong) if advice.wrong else GOOD, **advice.options)
    assert wrong[code].severity == CODES[code].severity and wrong[code].line
    if advice.wrong:
        assert code not in said(advice.robot(advice.right), **advice.options)


def test_doubts_are_errors_in_strict_mode():
    doubts = [code for code, kind in CODES.items() if kind.strict]
    for code in doubts:
        diagnosis = treesim.check(ADVICE[code].robot(ADVICE[code].wrong), strict=True)
        assert code in {found.code for found in diagnosis.of("error")} and not diagnosis.passed


@pytest.mark.parametrize(
    ("right", "expected"),
    [('<parent link="base"/>', "A joint connects"), ('<mass value="2"/>', "Other programs replace a missing mass")],
)
def test_the_reason_fits_what_is_missing(right, expected):
    (found,) = [one for one in treesim.check(GOOD.replace(right, "", 1)).to_dict()["findings"] if one["code"] == "U203"]
    assert found["why"].startswith(expected)


def test_the_page_is_made_of_the_tables():
    pytest.importorskip("coal")
    written = PAGE.read_text(encoding="utf-8")
    assert OF_LIBXML.sub("", page()) == OF_LIBXML.sub("", written), "python docs/regenerate.py docs/findings.md"
