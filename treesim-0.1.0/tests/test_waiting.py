"""No test run is thrown away, and no test fails because the machine is busy."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.conftest import pytest_runtest_call
from tests.waiting import PATIENCE

ROOT = Path(__file__).parents[1]
WALL = {"monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "time", "time_ns"}
# (file, function): why nothing there fails on a busy machine
ALLOWED = {
    ("tests/waiting.py", ""): "the one place of PATIENCE",
    ("tests/waiting.py", "wait_until"): "the one loop that ends after PATIENCE",
    ("tests/system/test_subprocesses.py", "test_a_child_that_takes_too_long_is_killed"): "its child never ends",
    ("plugins/treesim-lab/tests/bench/test_contact_survey.py",
     "test_a_robot_that_takes_too_long_is_a_row_and_those_after_it_run"): "no robot is so quick",
}  # fmt: skip
# what a file has that is worth reading in detail
SUSPECT = re.compile(r"monotonic|perf_counter|time\.time|Timer|PATIENCE *[:=]|timeout=|\.(?:join|wait|settimeout)\(\d")
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


def functions_of(tree: ast.Module) -> Iterator[tuple[str, list[ast.AST]]]:
    """Yield each top-level statement's name, "" for one without, with all that it contains."""
    for statement in tree.body:
        yield getattr(statement, "name", ""), list(ast.walk(statement))


def assigned(node: ast.Assign) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield each target with its value, also of `a, b = c, d`."""
    for target in node.targets:
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            yield from zip(target.elts, node.value.elts, strict=False)
        else:
            yield target, node.value


def reads_wall_clock(node: ast.AST, names: set[str]) -> bool:
    """Return whether an expression contains wall time, or names of it."""
    for part in ast.walk(node):
        called = part.func if isinstance(part, ast.Call) else None
        if isinstance(called, ast.Attribute) and called.attr in WALL and ast.unparse(called.value) == "time":
            return True
        if (isinstance(called, ast.Name) and called.id in WALL) or (isinstance(part, ast.Name) and part.id in names):
            return True
    return False


def upper_bounds(nodes: list[ast.AST]) -> Iterator[ast.Compare]:
    """Yield the comparisons that wall time has to be below."""
    names: set[str] = set()
    for node in nodes:
        for target, value in assigned(node) if isinstance(node, ast.Assign) else ():
            if reads_wall_clock(value, names):
                names |= {part.id for part in ast.walk(target) if isinstance(part, ast.Name)}
    for node in nodes:
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            for lower, operator, upper in zip(sides, node.ops, sides[1:], strict=False):
                small = {ast.Lt: lower, ast.LtE: lower, ast.Gt: upper, ast.GtE: upper}.get(type(operator))
                if small is not None and reads_wall_clock(small, names):
                    yield node


def short_limits(nodes: list[ast.AST]) -> Iterator[ast.Call]:
    """Yield the calls that give up after a number of seconds below PATIENCE; waits of less than 1 s are pauses."""
    for node in nodes:
        if isinstance(node, ast.Call):
            limits = [(word.value, 0) for word in node.keywords if word.arg and word.arg.endswith("timeout")]
            if getattr(node.func, "attr", "") in ("join", "wait", "settimeout") and len(node.args) == 1:
                limits.append((node.args[0], 1))
            if any(least < getattr(limit, "value", 0) < PATIENCE for limit, least in limits if is_number(limit)):
                yield node


def is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def faults(source: str) -> Iterator[tuple[str, str]]:
    """Yield the function and the text of what makes a test depend on how busy the machine is."""
    for name, nodes in functions_of(ast.parse(source)):
        for node in nodes:
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("threading.Timer", "Timer"):
                yield name, f"{ast.unparse(node)}: begin it when something has happened, not after a time"
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id == "PATIENCE":
                yield name, "PATIENCE is defined in tests/waiting.py alone"
        for node in upper_bounds(nodes):
            yield name, f"{ast.unparse(node)}: take time.process_time, or tests.waiting.wait_until"
        for node in short_limits(nodes):
            yield name, f"{ast.unparse(node)}: wait for PATIENCE"


def test_no_test_depends_on_how_busy_the_machine_is():
    plugins = ROOT / "plugins"
    files = [*(ROOT / "tests").rglob("*.py"), *plugins.glob("*/tests/**/*.py"), plugins / "conftest.py"]
    found, used = [], set()
    for path in files:
        text, file = path.read_text(encoding="utf-8"), path.relative_to(ROOT).as_posix()
        for function, fault in faults(text) if SUSPECT.search(text) else ():
            used.add((file, function))
            if (file, function) not in ALLOWED:
                found.append(f"{file}, {function}: {fault}")
    assert not found, "\n".join(found)
    assert used == ALLOWED.keys(), "an allowed place is no more"


@pytest.mark.parametrize(
    "line",
    [
        "assert time.perf_counter() - began < 5",
        "end = time.monotonic() + 9; assert 3 >= end",
        "a, b = 1, monotonic(); passed = time.time() - b; assert 0 < passed < 2",
        "threading.Timer(0.2, press).start()",
        "PATIENCE = 10.0",
        "assert left.wait(10)",
        "thread.join(30)",
        "thread.join(timeout=0.5)",
        "subprocess.run(command, timeout=60)",
    ],
)
def test_what_depends_on_it_is_found(line):
    source = f"def test_it():\n    {line}\n"
    assert [function for function, _ in faults(source)] == ["test_it"] and SUSPECT.search(source)


@pytest.mark.parametrize(
    "line",
    [
        "assert time.perf_counter() - began >= 0.5",
        "a, b = t(), time.monotonic(); assert a < 3",
        "assert time.process_time() - began < 5",
        "view.wait(0.01)",
        "subprocess.run(command, timeout=300)",
        "','.join(names)",
    ],
)
def test_what_does_not_is_not(line):
    assert list(faults(f"def test_it():\n    {line}\n")) == []
