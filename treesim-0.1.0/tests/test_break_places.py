"""Breaking what the conformance page names: faults are put in, and the named tests notice them."""

import ast

import pytest

from tests import break_places
from tests.test_conformance import ITEMS

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


def test_every_item_with_a_test_has_a_place_to_break():
    for item in break_places.tested_items([]):
        assert break_places.places(item) or "docs/" in item.code, item


@pytest.mark.slow
def test_tests_notice_what_is_broken_and_only_that(tmp_path):
    """On items of each paper; `python -m tests.break_places` is for all."""
    copy = break_places.Copy(tmp_path)
    names = ["F05 eq. 3", "F10 eq. 16", "J91 Lemma 6.2", "J91 eq. 27, Lemma 3.1"]
    items = {item.name: item for item in ITEMS if item.name in names}
    for name in names:
        assert break_places.unnoticed(items[name], break_places.tests_of(items[name]), copy) == [], name
    wrong = items[names[0]]._replace(code="`treesim/model/topology.py: Topology.support`")
    assert break_places.unnoticed(
        wrong, ["tests/model/test_topology.py::test_joints_without_freedom_are_skipped"], copy
    )
