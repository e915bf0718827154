"""Every code has its advice: examples bring it, cures end it, and the page of all codes is that of the tables."""

import re
from functools import cache

import pytest

import treesim
from tests.doctor.examples import EXAMPLES, GOOD
from tests.test_docs import FOLDER, program
from treesim.doctor.advice import ADVICE, TIER_OF
from treesim.urdf.findings import CODES

WITHOUT_EXAMPLE = {"U100", "U105", "U314", "U507", "U512", "U513", "U612"}  # of files and options, not of texts
OF_LIBXML = re.compile(r"says: \*line \d+: U101.*")  # in its words


@cache
def said(text, **options):
    return {found.code: found for found in treesim.check(text, **options).findings}


def test_every_code_has_its_advice_and_a_tier():
    assert set(ADVICE) == set(CODES) == EXAMPLES.keys() | WITHOUT_EXAMPLE
    for code, advice in ADVICE.items():
        assert advice.why.endswith(".") and advice.fix and TIER_OF[code]


def test_the_robot_of_the_examples_has_nothing_wrong():
    assert said(GOOD) == {}


@pytest.mark.parametrize("code", sorted(EXAMPLES))
def test_the_example_has_the_finding_and_the_cure_ends_it(code):
    pytest.importorskip("coal")
    example = EXAMPLES[code]
    assert example.whole or (example.before in GOOD and (example.before or example.right in GOOD))
    wrong = said(example.text, **example.options)
    assert wrong[code].severity == CODES[code].severity and wrong[code].line
    if example.wrong:
        assert code not in said(example.robot(example.right), **example.options)


def test_doubts_are_errors_in_strict_mode():
    doubts = [code for code, kind in CODES.items() if kind.strict]
    for code in doubts:
        diagnosis = treesim.check(EXAMPLES[code].text, strict=True)
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
    written, page = (FOLDER / "findings.md").read_text(encoding="utf-8"), program(FOLDER / "write_findings.py").page()
    assert OF_LIBXML.sub("", page) == OF_LIBXML.sub("", written), "python docs/regenerate.py docs/findings.md"
