"""Hooks of all tests: which process runs a test, what is skipped, what a browser needs, and hypothesis' settings.

Every run draws the same examples. Processes that tests start import this checkout, as the tests do.
"""

import gc
import importlib.util
import os
import re
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.optional import is_allowed_skip, is_installed

# shells let what they start in the background ignore Ctrl-C; tests press it, and the processes that they start heed it
signal.signal(signal.SIGINT, signal.default_int_handler)

# LLVM generates code in a third of the time, with the same bits; .ci/run repeats tests of compiled code with "1"
os.environ.setdefault("TREESIM_OPT", "0")
# kernels' new arrays are NaN: a kernel that reads what it has not written fails in every run
os.environ.setdefault("TREESIM_FILL", "255")
# each core has a process of its own (-n auto): further threads of BLAS only wait for each other
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# processes that tests start would compile all of treesim's files anew: 0.6 s for each of hundreds
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

CHECKOUT = str(Path(__file__).parent.parent)
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [CHECKOUT, os.environ.get("PYTHONPATH")]))

# files whose kernels take longest to compile, by what they share: two processes would compile the same at once
SHARED = {
    "operational space": (
        "tests/dynamics/operational/",
        "tests/dynamics/constrained/",
        "tests/testing/test_operational",
        "tests/testing/test_constrained",
        "inverse_operational_inertia",
        "in_docstrings",
    ),
    "forward dynamics": (
        "tests/identities/test_dynamics",
        "tests/pinocchio/test_random_trees",
        "tests/dynamics/test_batches",
        "tests/testing/test_dynamics",
        "tests/test_sensitivity",
    ),
    "exported steps": ("tests/export/",),
    "contact": ("tests/contact/", "tests/kernels/contact/"),
}


# files of few tests that take long and share little: together they would keep one process busy while others are idle
APART = (
    "plugins/treesim-lab/tests/cost/test_agreement.py",
    "plugins/treesim-meshcat/tests/test_meshcat_offline.py",
    "tests/compare/test_causes.py",
    "tests/contact/test_robots.py",
    "tests/formats/test_damage.py",
    "tests/kernels/contact/test_work.py",
    "tests/simulation/test_long_runs.py",
    "tests/sweeps/test_cluster.py",
    "tests/test_examples.py",
    "tests/test_reproducibility.py",
)


# files whose single tests take longest: at the end, one process would work alone
FIRST = (
    "tests/cli/test_streams.py",
    "tests/test_examples.py",
    "tests/test_pages.py",
    "tests/test_reproducibility.py",
    "tests/test_shown_output.py",
)


def group(nodeid: str) -> str:
    """Return the group of a test: those of one group run in one process."""
    file = nodeid.partition("::")[0]
    if file in APART or "test_pages.py::test_commands_run" in nodeid or "test_pages.py::test_python_runs" in nodeid:
        return nodeid
    return next((name for name, parts in SHARED.items() if any(part in nodeid for part in parts)), file)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Send the tests of one group to one process (`--dist loadgroup`), by their names.

    The scheduler of xdist 3.8 for groups writes them into node ids. With pytest 9.2 that has no effect: the tests of
    one file go to all processes, and each of these compiles what the file needs.
    """
    if config.getoption("dist") != "loadgroup":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class Groups(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return group(nodeid)

        def _assign_work_unit(self, node: Any) -> None:
            if not any(self.assigned_work.values()):  # the first
                for scope in [scope for scope in self.workqueue if scope.startswith(FIRST)]:
                    self.workqueue.move_to_end(scope, last=False)
            super()._assign_work_unit(node)

    return Groups(config, log)


# packages of treesim's extras; where one is missing, tests whose failure says what to install are skipped
OPTIONAL = (
    "clarabel",
    "coacd",
    "coal",
    "example-robot-data",
    "matplotlib",
    "rosbags",
    "treesim-meshcat",
    "treesim-pinocchio",
    "zarr",
)
LACKING = [name for name in OPTIONAL if not is_installed(name)]
ADVICE = re.compile(r"`python -m pip install ([^`]+)` brings")


def _missing(error: BaseException | None) -> str | None:
    """Return what is not installed if that is why an error was raised."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:  # an error may be raised from itself
        seen.add(id(error))
        name = (getattr(error, "name", None) or "").partition(".")[0] if isinstance(error, ImportError) else ""
        if name and name not in ("treesim", "tests", "plugins") and importlib.util.find_spec(name) is None:
            return name
        if LACKING and (advice := ADVICE.search(str(error))):
            return advice[1]
        error = getattr(error, "cause", None) or error.__cause__  # what an error is raised from, not what came before
    return None


def _judged(report: Any) -> Any:
    """Let a skip fail where all must run (`TREESIM_TESTS_STRICT=1`, as in CI), unless it is listed with its reason."""
    strict = os.environ.get("TREESIM_TESTS_STRICT") == "1"
    if (
        strict
        and report.skipped
        and not hasattr(report, "wasxfail")
        and not is_allowed_skip(reason := report.longrepr[2])
    ):
        report.outcome = "failed"
        report.longrepr = f"{reason}: install what it needs, or list the skip in tests/optional.py with its reason"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Any:
    """Skip files that need what is not installed."""
    report = yield
    if report.failed and (package := _missing(report.call.excinfo.value)):
        report.outcome = "skipped"
        report.longrepr = str(collector.path), 0, f"Skipped: needs {package}"
    return _judged(report)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    """Skip tests that need what is not installed."""
    report = yield
    if report.failed and call.excinfo is not None and (package := _missing(call.excinfo.value)):
        report.outcome = "skipped"
        report.longrepr = str(item.path), item.location[1], f"Skipped: needs {package}"
    return _judged(report)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Any:
    """Let a Ctrl-C that leaves a test in a worker of xdist fail this test alone: xdist would throw the run away.

    The user's Ctrl-C ends the run through the controller.
    """
    try:
        return (yield)
    except KeyboardInterrupt as error:
        if not hasattr(item.config, "workerinput"):
            raise
        raise RuntimeError("Ctrl-C left the test") from error


pytest_runtest_setup = pytest_runtest_teardown = pytest_runtest_call


def _listed(file: str) -> set[str]:
    """Return the tests that a file lists."""
    lines = (Path(__file__).parent / file).read_text(encoding="utf-8").splitlines()
    return {line for line in lines if line and not line.startswith("#")}


LISTED = {"slow": _listed("slow_tests.txt"), "nightly": _listed("nightly_tests.txt")}


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark the tests that use a browser, directly or through a fixture, and those of the lists.

    Nightly tests are slow ones, too.
    """
    if "browser" in getattr(item, "fixturenames", ()):
        item.add_marker("browser")
    for mark, tests in LISTED.items():
        if item.nodeid in tests:
            item.add_marker(mark)
            vars(item.config).setdefault("listed_tests", set()).add(item.nodeid)
    if item.get_closest_marker("nightly"):
        item.add_marker("slow")


def pytest_collection_finish(session: pytest.Session) -> None:
    """Keep the objects that collecting makes from the garbage collector: with them, each of its rounds takes 2 s.

    Where all must run, a name in the lists that belongs to no test is an error.
    """
    gc.freeze()
    whole = session.config.args == session.config.getini("testpaths")
    if os.environ.get("TREESIM_TESTS_STRICT") == "1" and whole:
        found = vars(session.config).get("listed_tests", set())
        if gone := set.union(*LISTED.values()) - found:
            why = f"no tests: remove from tests/slow_tests.txt, nightly_tests.txt {sorted(gone)}"
            with session.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
                print(why, file=sys.stderr)  # of processes of xdist, the error itself is not shown
            raise pytest.UsageError(why)


settings.register_profile(
    "repeatable", derandomize=True, deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("repeatable")
