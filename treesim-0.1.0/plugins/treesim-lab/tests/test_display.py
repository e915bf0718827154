"""Representations of the objects that users see: one line each, and a table in notebooks."""

import pytest
from treesim_lab import Audit
from treesim_lab.audits import Row
from treesim_lab.bench import Benchmark

from tests.system.test_display import Cells

CASE = {"quantity": "mass", "engine": "treesim", "call": "m", "numbers": "float64", "min_s": 1e-6}
LINES = {
    "<Audit of 'arm': 1 rows, passed>": Audit(
        "arm", 7, 1, 0, (1.0, 2.0), (Row("forward dynamics", "aba", 1e-16, 1e-12),)
    ),
    "<Benchmark of 'arm': 2 calls on 4096 states each, compared with MuJoCo>": Benchmark(
        "batches", "arm", "fixed", 7, (CASE, CASE), 3, 4096, {"MuJoCo": "4"}
    ),
}


@pytest.mark.parametrize(("line", "thing"), LINES.items(), ids=LINES)
def test_one_line_and_a_table(line, thing):
    assert repr(thing) == line and len(line) < 100
    texts = Cells(thing._repr_html_()).texts
    assert texts[0] == line and len(texts) >= 3
