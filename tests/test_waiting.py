"""No test run is thrown away, and no test fails because the machine is busy."""

import subprocess
import sys
from types import SimpleNamespace

import pytest

from tests.conftest import pytest_runtest_call
from tests.waiting import PATIENCE

CONFTEST = "from tests.conftest import pytest_runtest_call, pytest_runtest_setup, pytest_runtest_teardown\n"
PRESSES = """
import signal
import pytest

def press():
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.raise_signal(signal.SIGINT)

@pytest.fixture
def before():
    press()

@pytest.fixture
def after():
    yield
    press()

def test_in_setup(before): ...
def test_in_call(): press()
def test_in_teardown(after): ...
def test_next(): ...
"""


def test_a_ctrl_c_of_one_test_leaves_the_other_tests_of_a_worker(tmp_path, monkeypatch):
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_presses.py").write_text(PRESSES)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "xdist", "-n", "1", "-p", "no:cacheprovider"]
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE)
    assert run.returncode == 1 and "1 failed, 2 passed, 2 errors" in run.stdout, run.stdout
    assert run.stdout.count("RuntimeError: Ctrl-C left the test") >= 3 and "node down" not in run.stdout


@pytest.mark.parametrize(("facts", "error"), [({"workerinput": {}}, RuntimeError), ({}, KeyboardInterrupt)])
def test_a_ctrl_c_without_workers_ends_the_run(facts, error):
    phase = pytest_runtest_call(SimpleNamespace(config=SimpleNamespace(**facts)))
    next(phase)
    with pytest.raises(error):
        phase.throw(KeyboardInterrupt())
