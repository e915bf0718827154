"""Every public function and class has a correct example in its docstring."""

import pytest
import treesim_importers

from tests.docstring_examples import check_example

NAMES = [name for name in treesim_importers.__all__ if name != "READERS"]
NEEDED = {"Verification": "pinocchio"}


@pytest.mark.parametrize("name", NAMES)
def test_example(name, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    if name in NEEDED:
        pytest.importorskip(NEEDED[name])
    check_example(name, getattr(treesim_importers, name), tmp_path)
