"""Settings of all tests, and what the tests of the viewers share: a browser."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import (  # noqa: F401
    pytest_itemcollected,
    pytest_make_collect_report,
    pytest_runtest_call,
    pytest_runtest_makereport,
    pytest_runtest_setup,
    pytest_runtest_teardown,
)
from tests.waiting import PATIENCE

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = [
    "--no-sandbox",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-dev-shm-usage",  # containers give it 64 MB, with which pages crash
]

MISSING = {
    folder.name
    for folder in Path(__file__).parent.iterdir()
    if (folder / "pyproject.toml").exists() and importlib.util.find_spec(folder.name.replace("-", "_")) is None
}


def pytest_report_header() -> list[str]:
    """List the plugins that are not tested; a strict run refuses to leave one out."""
    if MISSING and os.environ.get("TREESIM_TESTS_STRICT") == "1":
        raise pytest.UsageError(f"not installed, so not tested: {', '.join(sorted(MISSING))}")
    return [f"not installed, so not tested: {', '.join(sorted(MISSING))}"] if MISSING else []


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out the tests of plugins that are not installed."""
    return True if MISSING & set(collection_path.parts) else None


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium without a screen; the tests are skipped, and say why, where there is none."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright (pip install playwright)")
    executable = next(filter(None, map(shutil.which, BROWSERS)), None)
    with sync_api.sync_playwright() as playwright:
        try:
            launched = playwright.chromium.launch(executable_path=executable, args=FLAGS, timeout=1000 * PATIENCE)
        except sync_api.Error as error:
            pytest.skip(f"no Chromium starts here: {str(error).splitlines()[0]}")
        yield launched
        launched.close()


@pytest.fixture
def open_page(browser) -> Iterator[Any]:
    """Return a function that opens a small fresh page, closed at the end of the test."""
    context = browser.new_context(viewport={"width": 320, "height": 240})
    context.set_default_timeout(1000 * PATIENCE)
    yield context.new_page
    context.close()
