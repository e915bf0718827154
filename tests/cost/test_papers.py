"""Every cost and topology number of Featherstone 2005 and 2010, and the two that are known not to come out."""

import json
from pathlib import Path

import pytest

from treesim.cost.papers import computed_quantities, rows

EXPECTED = json.loads((Path(__file__).parent / "expected.json").read_text(encoding="utf-8"))
KNOWN_ERRATA = {"chain ABA, n = number of bodies", "+10 DoF/hand FTF cost ratio"}


@pytest.fixture(scope="module")
def computed():
    return computed_quantities()


@pytest.mark.parametrize("entry", EXPECTED, ids=lambda entry: f"{entry['source']}: {entry['quantity']}")
def test_value_is_reproduced(computed, entry):
    value = computed[entry["source"]][entry["quantity"]]
    if "decimals" in entry:
        value = round(value, entry["decimals"])
    assert value == entry["expected"]


def test_each_row_agrees_but_the_known_errata():
    table = rows()
    assert len(table) == len(EXPECTED)
    assert {row.quantity for row in table if row.agrees is False} == KNOWN_ERRATA
    assert all(row.note for row in table if row.agrees is not True), "what differs or is derived says why"
    assert all(row.note.startswith("erratum") for row in table if row.agrees is False)


def test_nothing_is_judged_where_nothing_is_printed():
    assert all((row.printed is None) == (row.agrees is None) for row in rows())
