"""Settings of all tests, and what the tests of the viewers share: a browser."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

import tests.conftest  # noqa: F401  # what it settles holds for plugins, too

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
]
PATIENCE = 120.0  # [s] until a test fails; software rendering on a busy machine is slow


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
