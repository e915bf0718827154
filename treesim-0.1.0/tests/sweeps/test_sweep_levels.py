"""A sweep's results are the same to the bit on every level of processors: draws, states and measures."""

import os
import platform
import subprocess
import sys

import pytest

LEVELS = ("x86-64-v2", "x86-64-v3", None)
PROGRAM = """
import hashlib, sys
from tests.sweeps.test_sweep import run
summary = run(sys.argv[1]).summary.load()
bits = hashlib.sha256()
for name in sorted(summary):
    bits.update(name.encode() + summary[name].values.tobytes())
print(len(summary), bits.hexdigest())
"""


@pytest.mark.slow
@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="levels are those of x86-64")
def test_a_sweep_has_the_same_digest_on_every_level(tmp_path):
    pytest.importorskip("zarr")
    pytest.importorskip("xarray")
    found = set()
    for k, level in enumerate(LEVELS):
        environment = {**os.environ, **({} if level is None else {"TREESIM_CPU": level})}
        program = [sys.executable, "-c", PROGRAM, str(tmp_path / f"{k}.zarr")]
        ended = subprocess.run(program, env=environment, capture_output=True, text=True, timeout=600, check=False)
        assert ended.returncode == 0, ended.stderr
        found.add(ended.stdout.strip())
    (digest,) = found
    assert int(digest.split()[0]) > 3
