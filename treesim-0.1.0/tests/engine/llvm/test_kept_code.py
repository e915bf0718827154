"""Kept machine code in processes of their own: several at once, killed at any moment, on a full disk."""

import os
import signal
import subprocess
import sys
import time

import pytest

from treesim.engine.call.generic import runs_compiled
from treesim.engine.llvm import object_cache

pytestmark = pytest.mark.skipif(not runs_compiled(), reason="kernels run as plain Python: nothing is compiled")
linux = pytest.mark.skipif(sys.platform != "linux", reason="signals and limits are Linux's here")

KERNEL = """
from __future__ import annotations
from treesim.kernels.entries.entry import entry

def doubled(tree, x, result):
    result[0] = 2.0 * x[0]

doubled_states = entry(doubled, x="nv", result="-> nv")
"""
# calls it through its fast call
CALL = """
import numpy as np
from treesim.engine.call.fast_entry import FastEntry
from treesim.model.generators import chain
from small_kernel import doubled_states
print("ready", flush=True)
robot, result = chain(1), np.empty(1)
def call():
    return FastEntry(doubled_states).call(robot.ints, robot.reals, np.array([2.0]), result)
"""
ONCE = CALL + "print(call(), *result)"
FINE = "ready\n0 4.0\n"


@pytest.fixture
def start(tmp_path):
    """Start processes that share a cache of their own and, if nothing is kept, say so."""
    (tmp_path / "small_kernel.py").write_text(KERNEL)
    path = os.pathsep.join([str(tmp_path), os.environ["PYTHONPATH"]])
    environment = os.environ | {"TREESIM_CACHE_DIR": str(tmp_path), "PYTHONPATH": path}
    command = [sys.executable, "-c"]

    def begin(code=ONCE):
        pipe = subprocess.PIPE
        return subprocess.Popen([*command, code], env=environment, stdout=pipe, stderr=pipe, text=True)

    return begin


@pytest.fixture
def folder(tmp_path):
    return tmp_path / object_cache.kernel_hash()


def said(process):
    """What a process has written to stdout and stderr; it ends well."""
    out, error = process.communicate(timeout=300)
    assert process.returncode == 0, error
    return out, error


def kept(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize(("count", "later"), [(2, 1), pytest.param(8, 8, marks=pytest.mark.slow)])
def test_processes_that_fill_and_repair_the_cache_together(count, later, start, folder):
    for number in (count, later):
        for process in [start() for _ in range(number)]:
            assert said(process)[0] == FINE
        whole = {path: path.read_bytes() for path in kept(folder)}
        assert len(whole) == 1
        for path, content in whole.items():
            middle = len(content) // 2
            path.write_bytes(content[:middle] + bytes([content[middle] ^ 255]) + content[middle + 1 :])
    for path, content in whole.items():
        path.write_bytes(content)
    assert said(start()) == (FINE, "")  # compiles nothing


@linux
def test_a_process_killed_while_it_writes_harms_nobody(start, folder):
    murder = "import os, signal; os.replace = lambda *names: os.kill(os.getpid(), signal.SIGKILL)\n"
    process = start(murder + ONCE)
    process.communicate(timeout=300)
    assert process.returncode == -signal.SIGKILL
    (left,) = kept(folder)
    assert left.parent.name == object_cache.UNFINISHED
    assert said(start())[0] == FINE and len(kept(folder)) == 2


@linux
def test_a_full_disk(start, folder):
    limit = (
        "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
    )
    out, error = said(start(limit + ONCE))
    assert out == FINE and "treesim cannot store machine code" in error
    assert kept(folder) == []


# presses Ctrl-C at up to twenty moments of the compilation, each later than the one before, and at last lets it be
INTERRUPTED = """
import signal
signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
stopped = 0
for k in range(20):
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.001 + 0.02 * k)
        call()
        signal.setitimer(signal.ITIMER_REAL, 0)
        break
    except KeyboardInterrupt:
        stopped += 1
assert stopped, "it is too quick to be stopped"
print(call(), *result)
"""


@linux
def test_ctrl_c_while_compiling_lets_the_next_call_compile(start, folder):
    assert said(start(CALL + INTERRUPTED))[0] == FINE and len(kept(folder)) == 1


@linux
@pytest.mark.slow
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_a_process_that_is_stopped_at_any_moment_harms_nobody(end, start, folder):
    """Some of the moments are within the compilation, some after it."""
    for k in range(4):
        process = start()
        process.stdout.readline()
        time.sleep(0.3 * k)
        process.send_signal(end)
        process.communicate(timeout=300)
        assert said(start())[0] == FINE
        for path in kept(folder)[: k % 3]:  # next time there is something to compile
            path.unlink()
