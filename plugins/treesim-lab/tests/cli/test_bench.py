"""`treesim bench`: correct numbers, and a clear message without other engines."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from treesim_lab import bench
from treesim_lab.bench import arithmetic as bench_arithmetic
from treesim_lab.bench import batches as bench_batches
from treesim_lab.bench import fma_peak, timing
from treesim_lab.bench.arithmetic import arithmetic
from treesim_lab.bench.batches import FILL
from treesim_lab.bench.measure import measured
from treesim_lab.bench.operational import spread_leaves
from treesim_lab.bench.robots import bench_robot, random_states
from treesim_lab.bench.startup import first_results
from treesim_lab.bench.timing import interleaved
from treesim_lab.plotting.bench import _best_ratios

import treesim as package
from treesim.compare import BenchmarkCase, Motion, find_engine
from treesim.engine.llvm.elementary import sincos_arithmetic
from treesim.errors import TreesimError
from treesim.kernels.algebra import numbers
from treesim.kernels.entries.status import FINE
from treesim.model import generators

QUICK = ("--repeats", 1)
OTHERS = {"Pinocchio": "treesim_pinocchio", "MuJoCo": "treesim_mujoco", "PyBullet": "treesim_pybullet"}


@pytest.fixture(autouse=True)
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten turns: these tests do not check times."""
    for module in (bench_batches, bench_arithmetic):
        monkeypatch.setattr(module, "TURN", 1e-3)
        monkeypatch.setattr(module, "PAUSE", 0.0)
    monkeypatch.setattr(bench_batches, "DISTURBED", 1)
    monkeypatch.setattr(fma_peak, "TURNS", 1000)


@pytest.fixture
def engines() -> None:
    """Skip unless all other engines are installed."""
    for module in OTHERS.values():
        pytest.importorskip(module)


def test_frames_are_those_of_leaves_far_apart() -> None:
    robot = generators.asimo()
    chosen = [robot.body_names[i - 1] for i in spread_leaves(robot.topology, 4)]
    assert chosen == ["left_front_finger", "right_front_finger", "left_leg_ankle_roll", "head_neck_roll"]
    assert spread_leaves(generators.chain(3).topology, 4) == [3]


# ---- timing


class Clock:
    """Clock that advances only while sleeping."""

    now = 0.0

    def perf_counter(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Replace the clock of timings."""
    stand_in = Clock()
    monkeypatch.setattr(timing, "time", stand_in)
    return stand_in


def test_slower_call_measures_slower(clock: Clock) -> None:
    timings = interleaved({"short": lambda: clock.sleep(1e-4), "long": lambda: clock.sleep(2e-3)}, rounds=3)
    assert [timings["short"].min_us, timings["long"].median_us] == pytest.approx([100, 2000])


def test_what_a_call_suffers_from_the_one_before_is_not_timed(clock: Clock) -> None:
    disturbed = False

    def disturb() -> None:
        nonlocal disturbed
        disturbed = True

    def suffer() -> None:
        nonlocal disturbed
        if disturbed:
            clock.sleep(0.02)
        disturbed = False

    assert interleaved({"first": disturb, "second": suffer}, rounds=3)["second"].median_us < 1000


def test_times_are_per_state_and_ratios_to_the_fastest_of_an_engine(clock: Clock) -> None:
    def sleeper(seconds: float) -> Callable[[], np.ndarray]:
        return lambda: clock.sleep(seconds) or np.ones(1)  # type: ignore[func-returns-value]

    def case(engine: str, name: str, seconds: float, states: int = 1) -> BenchmarkCase:
        return BenchmarkCase(engine, name, "sleep", sleeper(seconds), lambda: np.ones(1), "", states)

    ours, *theirs = measured([case("treesim", "a", 1e-3), case("b", "b1", 8e-3, 2), case("b", "b2", 6e-3, 2)], 2, {})
    assert [row["min_s"] for row in (ours, *theirs)] == pytest.approx([1e-3, 4e-3, 3e-3])
    assert ours["times_faster_than"] == {"b": theirs[1]["min_s"] / ours["min_s"]}
    assert ours["error"] is None and theirs[0]["error"] == 0.0


# ---- single calls


@pytest.mark.slow
def test_agrees_with_the_other_engines(
    answer: Callable[..., Any], make_robot: Callable[..., str], engines: None
) -> None:
    robot = make_robot(shoulder="continuous")  # which is a cosine and a sine in Pinocchio
    result = answer("bench", robot, "--base", "floating", *QUICK)
    calls = {row["call"]: row for row in result["calls"]}
    assert {"forward_dynamics, aba", "mass_matrix", "inverse_operational_inertia"} <= set(calls)
    assert {row["engine"] for row in result["calls"]} == {"treesim", *OTHERS}
    for row in result["calls"]:
        assert row["error"] is None or row["error"] < 1e-9, row
    assert calls["pin.aba"]["error"] is not None and calls["forward_dynamics, aba"]["error"] < 1e-12
    start = result["new_process"]["kept"]
    assert start["to_first_step_s"] > start["import_s"] + start["load_s"] + start["first_step_s"]


@pytest.mark.slow
def test_chain_by_name(answer: Callable[..., Any], engines: None) -> None:
    result = answer("bench", "chain5", *QUICK)
    assert result["nv"] == 5 and result["engines"].keys() - {"Drake"} == OTHERS.keys()


def test_spherical_joints_are_compared_where_they_are_known(
    answer: Callable[..., Any], make_robot: Callable[..., str], engines: None
) -> None:
    result = answer("bench", make_robot(shoulder="spherical"), *QUICK)
    assert result["engines"].keys() == {"MuJoCo"}
    assert all(row["error"] < 1e-9 for row in result["calls"] if row["engine"] == "MuJoCo")
    assert any("Pinocchio does not read spherical joints" in note for note in result["notes"])
    assert any("PyBullet: its functions" in note or "spherical" in note for note in result["notes"][1:])


def test_without_other_engines_it_says_so(
    treesim: Callable[..., Any], robot: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = package.plugins._entry_points
    monkeypatch.setattr(package.plugins, "_entry_points", lambda kind: {} if kind == "engines" else found(kind))
    result = treesim("bench", robot, *QUICK)
    assert result.exit_code == 0 and "mass_matrix" in result.stdout
    for name in OTHERS:
        assert f"note: {name}'s plugin treesim-" in result.stdout


@pytest.mark.slow
def test_every_backend_can_be_timed(answer: Callable[..., Any], robot: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package, "available", lambda group: ("aba", "reference", "no such"))
    result = answer("bench", robot, "--backends", *QUICK)
    assert "forward_dynamics, reference" in {row["call"] for row in result["calls"]}
    assert any("backend 'no such' left out" in note for note in result["notes"])


def test_failing_process_is_reported(tmp_path: Path) -> None:
    with pytest.raises(TreesimError, match=r"first call failed: .*nowhere"):
        first_results(str(tmp_path / "nowhere.urdf"), "fixed", None, cold=False)


# ---- batches


@pytest.mark.slow
def test_batches_beside_other_engines(
    answer: Callable[..., Any], make_robot: Callable[..., str], engines: None
) -> None:
    result = answer("bench", make_robot(), "--base", "floating", "--batch", 600, *QUICK)
    assert result["states"] == 600
    rows = {(row["call"], row["numbers"]): row for row in result["batches"]}
    assert all(0 < row["min_s"] <= row["median_s"] for row in rows.values())
    assert 0 < rows["forward_dynamics", "float32"]["error"] < 1e-3
    assert rows["forward_dynamics", "float64"]["error"] < 1e-12
    for call in ("pin.abaInParallel", "pin.rneaInParallel", "mujoco.rollout", "mujoco.batch"):
        assert rows[call, "float64"]["error"] < 1e-10
    assert rows["rollout", "float64"]["times_faster_than"].keys() == {"MuJoCo"}
    assert rows["mass_matrix", "float64"]["times_faster_than"].keys() == {"Pinocchio"}
    for call in ("mass_matrix, packed", "Dynamics.packed_mass_matrix, out="):
        assert rows[call, "float64"]["times_faster_than"].keys() == {"Pinocchio"}
        assert rows[call, "float64"]["error"] < 1e-14 < rows[call, "float32"]["error"] < 1e-5
    for kind in ("float64", "float32"):
        assert rows[FILL, kind]["error"] is None
        assert rows[FILL, kind]["times_faster_than"].keys() == {"Pinocchio"}
    assert {(row["kernel"], row["threads"]) for row in result["arithmetic"]} >= {("ABA", 1), ("RNEA", 1), ("CRBA", 1)}
    assert all(row["share"] > 0 and 0.5 <= row["allowed"] <= 1 for row in result["arithmetic"])


def test_batches_of_a_pendulum(answer: Callable[..., Any], engines: None) -> None:
    """One coordinate per state, which Pinocchio returns as a scalar, and a constant mass matrix."""
    result = answer("bench", "chain1", "--batch", 70, *QUICK)
    errors = {(row["call"], row["numbers"]): row["error"] for row in result["batches"]}
    assert errors["pin.abaInParallel", "float64"] < 1e-12 > errors["forward_dynamics", "float64"]
    assert {row["allowed"] for row in result["arithmetic"] if row["kernel"] == "CRBA"} == {1.0}


@pytest.mark.parametrize("base", ["fixed", "floating"])
def test_rollouts_are_mujocos(make_robot: Callable[..., str], base: str) -> None:
    """The integrators are equal, so states agree after many steps, also for a spinning base."""
    pytest.importorskip("treesim_mujoco")
    robot = bench_robot(make_robot(shoulder="spherical"), base, None, [])
    states, steps, dt = random_states(robot.tree, 0, 5), 30, 1e-3
    tau = states.tau * (np.arange(robot.tree.nv) >= 6 * (base == "floating"))
    controls = np.ascontiguousarray(np.broadcast_to(tau[:, None], (5, steps, robot.tree.nv)))
    ours = package.rollout(robot.tree, states.q, states.v, controls, dt, integrator="semi_implicit_euler").q[:, -1]
    assert abs(ours - states.q).max() > 0.01
    mujoco = find_engine("mujoco").read(robot.tree, robot.xml, "canonical")
    cases = mujoco.rollouts(Motion(states.q, states.v, controls, dt), 2)
    assert {case.name.partition(",")[0] for case in cases} == {"mujoco.rollout", "mujoco.batch"}
    for theirs in cases:
        np.testing.assert_allclose(theirs.result(), ours, atol=1e-12)


def test_operations_are_those_of_the_code() -> None:
    def entry(ints: Any, reals: Any, x: Any, out: Any) -> int:
        out[0] = numbers.sin(x[0]) * x[1] + x[2] / x[3]
        out[1] = -(x[0] - 0.0) * 1.0  # a sign, and what constants fold away
        x[0] * x[3]  # which no result needs
        return FINE

    pair = sincos_arithmetic(single=False)
    assert pair == (21, 20, 16)  # reduction in three parts, polynomials of six terms, the cosine's 1 - z/2 exactly
    found = arithmetic(entry, generators.chain(1), [4], [2], single=False)
    assert found.operations == {"add": 22, "mul": 21, "div": 1, "other": 0}
    assert found.allowed == 44 / (2 * (44 - 1 - 16))  # the product and the sum are one instruction


@pytest.mark.parametrize("single", [False, True])
def test_peak_loop_does_all_its_multiply_adds(single: bool) -> None:
    wide = fma_peak.lanes(single)
    memory = np.full(wide.width, 0.5, np.float32 if single else np.float64)
    fma_peak.compiled(single)(2, memory.ctypes.data)
    after_two_turns = (0.5 * 0.5 + 0.5) * 0.5 + 0.5
    np.testing.assert_array_equal(memory, 0.5 + fma_peak.CHAINS * after_two_turns)


# ---- sizes, summary, files


def test_sizes(answer: Callable[..., Any], robot: str, tmp_path: Path) -> None:
    rows = answer("bench", robot, "--base", "fixed", "--sizes", 1000, "--single")["sizes"]
    assert [row["states"] for row in rows] == [100, 1000] and {row["numbers"] for row in rows} == {"float32"}
    assert [row["arguments_bytes"] for row in rows] == [3 * 3 * 4 * 100, 3 * 3 * 4 * 1000]
    assert all(0 <= row["added_bytes"] < 2**20 for row in rows)


@pytest.mark.slow
def test_summary_of_several_robots(
    treesim: Callable[..., Any], make_robot: Callable[..., str], tmp_path: Path, engines: None
) -> None:
    pytest.importorskip("matplotlib")
    saved, drawn = tmp_path / "bench.json", tmp_path / "bench.png"
    asked = ("bench", make_robot(), "chain4", "--base", "floating", "--batch", 64, *QUICK)
    result = treesim(*asked, "--save", saved, "--plot", drawn)
    assert result.exit_code == 0 and "how many times longer" in result.stdout, result.stderr
    assert [(each["robot"], each["base"]) for each in json.loads(saved.read_text())["robots"]] == [
        ("toy", "floating"), ("chain4", "fixed"),
    ]  # fmt: skip
    assert drawn.read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_tables_and_files_of_a_batch(treesim: Callable[..., Any], robot: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    saved, drawn = tmp_path / "bench.json", tmp_path / "bench.svg"
    shown = treesim("bench", robot, "--batch", 600, *QUICK, "--save", saved, "--plot", drawn).stdout
    assert "per state, or step of a rollout" in shown and "of the peak" in shown and f"wrote {saved}" in shown
    assert json.loads(saved.read_text())["batches"][0]["call"] == "forward_dynamics" and "<svg" in drawn.read_text()


# ---- mistakes

FIXED = '<robot name="stone"><link name="stone"/></robot>'


@pytest.mark.parametrize(
    ("arguments", "details"),
    [
        ((), "name a robot"),
        (("no_such_robot",), "no_such_robot"),
        (("chain30", "--base", "floating"), "leave --base floating out"),
        (("chain5", "--base", "sideways"), "sideways"),
        (("chain5", "--sizes", 7), "--sizes begins with 100"),
        (
            ("chain5", "--sizes", 100, "--save", "/nowhere/x.json"),
            "cannot write /nowhere/x.json: No such file or directory",
        ),
        (("chain5", "--sizes", 100, "--plot", "x.nothing"), "unknown format of 'x.nothing': it ends in"),
        ((FIXED,), "no degrees of freedom"),
    ],
)
def test_mistakes_are_explained(
    treesim: Callable[..., Any], arguments: tuple[Any, ...], details: str, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)  # the checkout may be read-only
    result = treesim("bench", *arguments)
    assert result.exit_code == 2 and details in result.stderr


def test_the_picture_of_ratios_leaves_bare_memory_out() -> None:
    rows = [
        {"quantity": "mass matrix", "call": call, "numbers": "float64", "ratios": {"arm": {"Pinocchio": ratio}}}
        for call, ratio in (("mass_matrix", 2.0), (FILL, 9.0), ("Dynamics.mass_matrix", 3.0))
    ]
    assert _best_ratios(rows) == {"mass matrix: Pinocchio": {"arm": 3.0}}


# ---- contact


def test_contact_is_timed_and_judged(
    treesim: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    quick = partial(bench.time_contact, duration=0.01, count=2, steps=2, engines=[])
    monkeypatch.setattr(bench, "time_contact", quick)
    saved = tmp_path / "contact.json"
    chosen = ("--scene", "standing", "--scene", "moving-1")
    text = treesim("bench", "simple_humanoid", "--contact", "--kp", 3000, *chosen, *QUICK, "--save", saved).stdout
    found = json.loads(saved.read_text())
    assert found["kp"] == 3000 and found["base"] == "floating" and len(found["contact"]) == 4
    assert all(row["min_s"] > 0 for row in found["rollouts"])
    assert "stick error" in text and "Stepper.step, semi_implicit_euler" in text and "moving-1: with random" in text


@pytest.mark.slow
def test_worlds_of_many_bodies_need_no_robot(
    treesim: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(bench, "time_worlds", partial(bench.time_worlds, engines=[]))
    saved = tmp_path / "worlds.json"
    text = treesim("bench", "--worlds", "--scene", "apart-1", *QUICK, "--save", saved).stdout
    rows = json.loads(saved.read_text())["worlds"]
    assert [row["scene"] for row in rows] == ["apart-1"] * 2 and "1 boxes slide apart" in text
