"""Programs that measure the live page run, with short times."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from treesim_meshcat.film import installed_browser

FOLDER = Path(__file__).parent.parent
SHORT = (
    "import {0} as m; m.WARM_UP = m.WATCHED = 0.5; m.STARTED = m.MEASURED = 1000; m.EVENTS, m.STARTS = 3, 1; m.main()"
)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads the processor time of threads")
@pytest.mark.parametrize(
    ("name", "printed"),
    [
        ("measure_live", "latency of a gain, running: median"),
        pytest.param("measure_start", "motion, CPU [s]", marks=pytest.mark.browser),
        pytest.param("measure_frames", "pictures", marks=pytest.mark.browser),
    ],
)
def test_it_measures(name, printed):
    if name != "measure_live":
        pytest.importorskip("playwright")
        if installed_browser() is None:
            pytest.skip("needs chromium")
    # a process of its own: asyncio has one loop, which the browser of other tests may use
    command = [sys.executable, "-c", SHORT.format(name), "ur5"]
    done = subprocess.run(command, cwd=FOLDER, check=False, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and printed in done.stdout, done.stderr
