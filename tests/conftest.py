"""Hypothesis settled for the whole suite: every run draws the same examples, and none is judged by its time.

Processes that tests start import this checkout, as the tests do, and so find the machine code that these have kept.
"""

import gc
import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# shells let what they start in the background ignore Ctrl-C; tests press it, and the processes that they start heed it
signal.signal(signal.SIGINT, signal.default_int_handler)

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
        "tests/cli/test_accuracy",
        "tests/cli/test_cost_advice",
        "tests/identities/test_dynamics",
        "tests/pinocchio/test_random_trees",
        "tests/dynamics/test_batches",
        "tests/testing/test_dynamics",
        "tests/test_sensitivity",
    ),
    "exported steps": ("tests/export/",),
}


# files of few tests that take long and share nothing: together they would keep one process busy while others are idle
APART = ("tests/test_examples.py", "tests/simulation/test_long_runs.py", "tests/contact/test_robots.py")


def group(nodeid: str) -> str:
    """Return the group of a test: those of one group run in one process."""
    shared = (name for name, parts in SHARED.items() if any(part in nodeid for part in parts))
    file = nodeid.partition("::")[0]
    return next(shared, nodeid if file in APART else file)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Send the tests of one file, and those that share kernels, to one process (`--dist loadgroup`)."""
    for item in items:
        item.add_marker(pytest.mark.xdist_group(group(item.nodeid)))


def pytest_collection_finish() -> None:
    """Keep the objects that collecting makes from the garbage collector: with them, each of its rounds takes 2 s."""
    gc.freeze()


settings.register_profile(
    "repeatable", derandomize=True, deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("repeatable")
