"""Skips: which a strict run allows, and the mark of tests that use a browser."""

import subprocess
import sys

import pytest

from tests.optional import ALLOWED_SKIPS, is_allowed_skip
from tests.waiting import PATIENCE

CONFTEST = """
import pytest
from tests.conftest import pytest_itemcollected, pytest_make_collect_report, pytest_runtest_makereport

@pytest.fixture
def browser(): ...

@pytest.fixture
def page(browser): ...
"""
SKIPS = """
import pytest

def test_listed(): pytest.skip("root may write anywhere")
def test_not_listed(): pytest.skip("no time today")
def test_needs_a_package(): import no_such_package
@pytest.mark.skipif(True, reason="not here")
def test_not_run(): ...
@pytest.mark.xfail(reason="known")
def test_known(): assert False
def test_in_a_browser(page): ...
"""


@pytest.mark.parametrize("strict", ["1", ""])
def test_a_strict_run_fails_where_a_skip_is_not_listed(tmp_path, monkeypatch, strict):
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_skips.py").write_text(SKIPS)
    (tmp_path / "test_file.py").write_text("import pytest\n\npytest.importorskip('no_such_package')")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("TREESIM_TESTS_STRICT", strict)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--continue-on-collection-errors"]
    run = subprocess.run(
        [*command, "-m", "not browser"], cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE
    )
    if strict:
        assert "2 failed, 1 skipped, 1 deselected, 1 xfailed, 1 warning, 2 errors" in run.stdout, run.stdout
        assert "no time today: install what it needs, or list the skip" in run.stdout
    else:
        assert run.returncode == 0 and "5 skipped, 1 deselected, 1 xfailed" in run.stdout, run.stdout


def test_a_skip_is_allowed_by_the_beginning_of_its_reason():
    assert all(is_allowed_skip(f"Skipped: {reason}, and more") and is_allowed_skip(reason) for reason in ALLOWED_SKIPS)
    assert not is_allowed_skip("Skipped: ") and not is_allowed_skip("needs polars")
