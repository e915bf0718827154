"""The page on published algorithms names what exists."""

import re
from pathlib import Path

import treesim
from treesim.dynamics.inverse_dynamics import INVERSE_DYNAMICS
from treesim.dynamics.mass_matrix import MASS_MATRIX

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "published_algorithms.md").read_text()


def test_every_file_named_exists():
    named = re.findall(r"`((?:treesim|tests)/[\w/]+\.py)`", PAGE)
    assert len(named) > 8
    assert [path for path in named if not (ROOT / path).is_file()] == []


def test_every_backend_named_is_registered_and_every_method_known():
    lines = [line for line in PAGE.splitlines() if line.startswith(("| A", "| B", "| C", "| D"))]
    backends = {name for line in lines for name in re.findall(r"`(\w+)`", line)} | {"conjugate_gradient_hrh"}
    assert "aba" in backends and backends <= set(treesim.available("dynamics"))
    methods = set(re.findall(r"`\"(\w+)\"`", PAGE)) | set(re.findall(r'method="(\w+)"', PAGE))
    assert methods == {*MASS_MATRIX, "composite"} and "composite" in INVERSE_DYNAMICS
