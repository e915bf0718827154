"""docs/readers.md equals the generated table of rules."""

from pathlib import Path

from treesim_importers import READERS
from treesim_importers.page import page

PAGE = Path(__file__).parents[3] / "docs" / "readers.md"


def test_the_page_is_the_table():
    assert PAGE.read_text(encoding="utf-8") == page()


def test_every_rule_has_a_row_of_five_cells():
    rows = {row[2:6]: row for row in page().splitlines() if row.startswith("| ")}
    for reader in READERS.values():
        for rule in reader.rules:
            assert rows[rule.code].replace("\\|", "").count("|") == 6
