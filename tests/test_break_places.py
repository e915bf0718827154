"""Breaking what the conformance page names: faults are put in, and the named tests notice them."""

import ast

import pytest

from tests import break_places
from tests.test_conformance import ROWS

SOURCE = '''
class Counter:
    def up(self, k):
        """Count."""
        self.total += k * 2
        return self.total

LIMIT = 3
'''


def test_each_change_is_one_fault_in_the_named_definition():
    changed = break_places.changes(SOURCE, "Counter.up")
    assert len(set(changed)) == len(changed) == break_places.MOST
    for source in changed:
        ast.parse(source)
        assert source.endswith("LIMIT = 3\n") and source != SOURCE
    ends = [source.splitlines()[-1] for source in break_places.changes(SOURCE, "LIMIT")]
    assert ends == ["LIMIT = (4)", "LIMIT = (None)"]
    assert break_places.changes(SOURCE, "Counter.down") == []


def test_every_row_with_a_test_has_a_place_to_break():
    for row in break_places.tested_rows([]):
        assert break_places.places(row) or "docs/" in row.where, row
        assert break_places.tests_of(row), row


@pytest.mark.slow
def test_tests_notice_what_is_broken_and_only_that(tmp_path):
    """On rows of each paper; `python -m tests.break_places` is for all."""
    copy = break_places.Copy(tmp_path)
    chosen = {("F05", "eq. 3"), ("F10", "eq. 16"), ("J91", "Lemma 6.2"), ("J91", "eq. 27, Lemma 3.1")}
    rows = [row for row in ROWS if (row.paper, row.item) in chosen]
    assert len(rows) == len(chosen)
    for row in rows:
        assert break_places.unnoticed(row, copy) == [], row
    wrong = rows[0]._replace(test="`tests/model/test_topology.py::test_joints_without_freedom_are_skipped`")
    assert break_places.unnoticed(wrong._replace(where="`treesim/model/topology.py: Topology.support`"), copy)
