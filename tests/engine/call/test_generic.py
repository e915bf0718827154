"""The generic engine: sines, threads, overflow, the disk cache, and what it says while compiling."""

import math
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import treesim
from tests import trees
from treesim.dynamics import conjugate_gradient
from treesim.engine import threads
from treesim.engine.call import evaluate as evaluation
from treesim.engine.call import generic
from treesim.engine.llvm import machine_code
from treesim.engine.trigonometry import LARGEST, sincos
from treesim.kernels.contact.contact_entry import contact_step_entry
from treesim.kernels.contact.one_state import StepVariant
from treesim.kernels.contact.pair_gaps import PAIR_GAPS
from treesim.kernels.contact.pgs import pgs_memory
from treesim.kernels.operational.sparse_jacobian import product_states


@pytest.fixture
def rng():
    return np.random.default_rng(11)


def random_state(robot, rng):
    state = trees.random_state(robot, int(rng.integers(1000)))
    return state.q, state.v, state.tau


@pytest.mark.parametrize("reach", [1e-8, 1.0, 4.0, 100.0, 1e4, LARGEST, 1e9])
def test_sincos_is_accurate_over_its_range_and_right_beyond(reach, rng):
    for x in rng.uniform(-reach, reach, 2000):
        s, c = sincos(x)
        assert abs(s - math.sin(x)) <= 2.3e-16 and abs(c - math.cos(x)) <= 2.3e-16


def test_sincos_at_the_edges_of_quadrants():
    for k in range(-9, 10):
        for x in (k * math.pi / 4, np.nextafter(k * math.pi / 4, 9), np.nextafter(k * math.pi / 4, -9)):
            s, c = sincos(float(x))
            assert abs(s - math.sin(x)) <= 2.3e-16 and abs(c - math.cos(x)) <= 2.3e-16
    assert all(math.isnan(part) for part in sincos(math.nan))


def test_results_do_not_depend_on_threads_or_place_in_the_batch(rng, monkeypatch):
    robot = trees.random_tree(4, 7)
    states = 3 * evaluation.STATES_PER_TASK + 5
    q = np.array([robot.random(rng) for _ in range(states)])
    v, tau = rng.normal(size=(2, states, robot.nv))
    on_threads = treesim.forward_dynamics(robot, q, v, tau, engine="generic")
    monkeypatch.setattr(threads, "thread_count", lambda: 1)
    on_one = treesim.forward_dynamics(robot, q, v, tau, engine="generic")
    np.testing.assert_array_equal(on_threads, on_one)
    alone = np.array([treesim.forward_dynamics(robot, *state) for state in zip(q, v, tau, strict=True)])
    np.testing.assert_array_equal(alone, on_one)


def test_a_tree_is_shared_between_threads(rng):
    robot = trees.random_tree(4, 7)
    states = [random_state(robot, rng) for _ in range(200)]
    expected = [treesim.forward_dynamics(robot, *state) for state in states]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda state: treesim.forward_dynamics(robot, *state), states))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("position", ["q", "v", "tau"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("backend", treesim.available("dynamics"))
def test_numbers_that_are_not_finite_never_pass_in_silence(backend, bad, position, rng):
    robot = trees.random_tree(4, 5)
    state = dict(zip(("q", "v", "tau"), random_state(robot, rng), strict=True))
    state[position][robot.nv // 2] = bad
    with pytest.raises(treesim.NonFiniteError, match=position):
        treesim.forward_dynamics(robot, **state, backend=backend)


@pytest.mark.nojit
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s: s | {"q": s["q"][:-1]}, "q has shape"),
        (lambda s: s | {"v": np.tile(s["v"], 2)}, "v has shape"),
        (lambda s: {k: np.tile(x, 2) for k, x in s.items()}, "q has shape"),
        (lambda s: s | {"tau": "up"}, "tau must be an array of real numbers"),
        (lambda s: s | {"tau": s["tau"] * 1j}, "complex"),
        (lambda s: s | {"q": np.tile(s["q"], (3, 1)), "v": np.tile(s["v"], (2, 1))}, "batch axes"),
        (lambda s: s | {"f_ext": np.zeros(6)}, "f_ext has shape"),
        (lambda s: s | {"gravity": (0, 0)}, "gravity has shape"),
    ],
)
def test_arguments_that_do_not_fit_are_named(change, message, rng):
    robot = trees.random_tree(4, 5)
    state = dict(zip(("q", "v", "tau"), random_state(robot, rng), strict=True))
    with pytest.raises(treesim.ArgumentError, match=message):
        treesim.forward_dynamics(robot, **change(state))


@pytest.mark.nojit
def test_lists_integers_strides_and_read_only_arrays_are_taken(rng):
    robot = trees.random_tree(4, 5)
    q, v, tau = random_state(robot, rng)
    expected = treesim.forward_dynamics(robot, q, v, tau)
    frozen = q.copy()
    frozen.setflags(write=False)
    strided = np.repeat(v, 2)[::2]
    np.testing.assert_array_equal(treesim.forward_dynamics(robot, frozen, strided, tau.tolist()), expected)
    whole = treesim.forward_dynamics(robot, q, v, np.arange(robot.nv))
    np.testing.assert_array_equal(whole, treesim.forward_dynamics(robot, q, v, np.arange(robot.nv, dtype=float)))


def child(code, cache, **environment):
    return subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"TREESIM_CACHE_DIR": str(cache)} | environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )


FIRST_LIGHT = (
    "import treesim, numpy as np;"
    "from treesim.model.generators import chain;"
    "r = chain(3);"
    "print(treesim.frame_pose(r, np.zeros(3), r.frame_names[-1]).trace())"  # soon compiled
)


def test_what_is_compiled_is_kept_on_disk(tmp_path):
    first = child(FIRST_LIGHT, tmp_path)
    kept = sorted(tmp_path.rglob("objects/*"))
    times = [path.stat().st_mtime_ns for path in kept]
    second = child(FIRST_LIGHT, tmp_path)
    assert len(kept) == 1 and second.stdout == first.stdout and second.stderr == ""
    assert [path.stat().st_mtime_ns for path in sorted(tmp_path.rglob("objects/*"))] == times


def test_importing_compiles_nothing_and_brings_nothing_heavy():
    heavy = "('llvmlite', 'scipy', 'trimesh', 'matplotlib', 'typer', 'rich', 'meshcat', 'lxml.etree')"
    details = child(f"import sys, treesim; print([m for m in {heavy} if m in sys.modules])", "/nonexistent")
    assert details.stdout.strip() == "[]"


def test_a_cache_that_cannot_be_written_does_not_stop_anything(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    assert float(child(FIRST_LIGHT, blocked / "cache").stdout) > 0


def test_a_kernel_that_another_one_calls_can_be_called_from_python_too():
    robot = trees.random_tree(3, 5)
    state = random_state(robot, np.random.default_rng(2))
    by_the_caller = treesim.forward_dynamics(robot, *state, backend="conjugate_gradient", engine="generic")
    np.testing.assert_array_equal(conjugate_gradient.solve(robot, *state, preconditioned=False).qdd, by_the_caller)


@pytest.mark.parametrize(("setting", "compiles"), [(None, True), ("", True), ("0", True), ("1", False)])
def test_compiling_is_switched_off_by_a_variable(setting, compiles, monkeypatch):
    monkeypatch.delenv("NUMBA_DISABLE_JIT", raising=False)
    if setting is not None:
        monkeypatch.setenv("NUMBA_DISABLE_JIT", setting)
    assert generic.runs_compiled() is compiles


@pytest.mark.parametrize(
    "wrong",
    [
        np.zeros(2, np.float32), np.zeros((2, 1)), np.zeros(4)[::2], [0.0, 0.0], np.zeros(2, np.int64),
        np.zeros(2).view(np.recarray),
    ],
)  # fmt: skip
def test_machine_code_turns_down_what_is_not_its_arrays(wrong):
    if not generic.runs_compiled():
        pytest.skip("kernels run as plain Python, which takes any array")
    with pytest.raises(TypeError, match="product_states"):
        generic.compiled(product_states)(*[wrong] * len(product_states.__annotations__.keys() - {"return"}))


def own_solver(problem, impulse, sigma, tolerance, most, memory):
    """A contact solver of another file than treesim's, which a step calls through a tuple of functions."""
    return 0


def test_kernels_of_other_files_are_found_in_tuples_of_functions():
    variant = StepVariant("planes", *[False] * (len(StepVariant._fields) - 1))
    step = contact_step_entry(own_solver, pgs_memory, variant)
    assert own_solver.__code__.co_filename in generic._files(step)


def test_code_of_starts_is_compiled_at_level_0(monkeypatch):
    here = machine_code.processor()._replace(level=1)
    monkeypatch.setattr(machine_code, "processor", lambda: here)
    levels = []
    for entry in (PAIR_GAPS["planes"], product_states):
        written = generic._written(entry, generic._checked(entry))
        levels.append(machine_code._order(written.text, written).level)
    assert levels == [0, 1]
