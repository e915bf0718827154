"""The page stands alone: well-formed, escaped, nothing from outside, one set of identifiers, and all that was found."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from tests.compare.test_checks import URDF
from tests.compare.test_comparison import FEW, Named, wrong
from treesim.compare import Control, Row, compare
from treesim.plotting.comparison import page, write_page

pytest.importorskip("matplotlib")
ATTACK = '<script>alert("1")</script>'


@pytest.fixture(scope="module")
def found():
    both = compare(URDF, [Named("one"), Named("two", distort=wrong)], **FEW)
    first, second = both.reports
    controls = (Control("mass +0.1 %", True, True, "mass at body 'upper'"), Control("motors on", True, False, "missed"))
    more = (
        Row("limit_impulse", "scene", 9, 2e-3, 2e-3, 1e-2, True, "joint 'elbow'", "treesim 1, engine 2"),
        Row("mass_matrix", "numbered", 5, 0.2, 0.1, 1e-12, False, known_fault="it assumes an order"),
    )
    first = replace(first, rows=first.rows + more, controls=controls, explanations=(f"a product of inertia {ATTACK}",))
    return replace(both, robot=f"arm {ATTACK}", reports=(first, replace(second, failures={"raw": "it crashed"})),
                   refused={"three": "it is tired"})  # fmt: skip


@pytest.fixture(scope="module")
def text(found):
    return page(found)


class Reader(HTMLParser):
    """What a browser would see: texts, tags, identifiers, and what they refer to."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.identifiers, self.addresses, self.text = [], [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        given = dict(attributes)
        self.identifiers += [given["id"]] if "id" in given else []
        self.addresses += [given[key] for key in ("src", "href", "xlink:href") if key in given]

    def handle_data(self, data):
        self.text += data


def test_everything_is_told(text):
    details = Reader(text).text
    for part in (
        "not passed", "Compared with one 1.0", "Compared with two 1.0", "three was not compared: it is tired",
        "it crashed",
        "mass matrix", "joint 'shoulder'", "What would explain it", "Negative controls", "missed", "Free motion",
        "are expected.", "limit impulse", "treesim 1, engine 2", "known fault",
        "Error of energy", "g(t): treesim from its perturbed run",
    ):  # fmt: skip
        assert part in details, part


def test_the_first_plot_has_the_rows_of_every_level(found, text):
    levels = {(report.engine, row.level) for report in found.reports for row in report.rows}
    assert {level for _, level in levels} == {"raw", "canonical", "scene", "numbered"}
    assert all(f"{engine}, {level}" in text for engine, level in levels)


def test_names_are_escaped_and_nothing_runs(text):
    read = Reader(text)
    assert "script" not in read.tags and ATTACK in read.text


def test_nothing_is_loaded_from_elsewhere(text):
    read = Reader(text)
    assert all(address.startswith("#") for address in read.addresses) and "link" not in read.tags
    assert not re.search(r"url\((?!#)", text) and "@import" not in text
    assert "default-src 'none'" in text


def test_plots_share_no_identifier_and_take_the_colours_of_the_page(text):
    read = Reader(text)
    assert len(read.identifiers) == len(set(read.identifiers)) > 0
    assert read.tags.count("svg") == 1 + 2 * 3 and "#010203" not in text and "currentColor" in text
    referred = set(re.findall(r"url\(#([^)]+)\)", text)) | {address[1:] for address in read.addresses}
    assert referred <= set(read.identifiers)


def test_a_comparison_without_engines_has_a_page(found):
    read = Reader(page(replace(found, reports=())))
    assert "no engine" in read.text and "svg" not in read.tags


def test_a_page_is_written_the_same_again(found, text, tmp_path):
    path = write_page(found, tmp_path / "report.html")
    assert path.read_text(encoding="utf-8") == text
