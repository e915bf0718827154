"""`treesim sweep`: options, what is printed, exit codes."""

import json
import os
import sys
import warnings

import numpy as np
import pytest

from tests.kept_workers import _ended_at_last, kept_workers  # noqa: F401 (fixtures)
from treesim.cli.sweep import _spread

pytestmark = pytest.mark.usefixtures("kept_workers")

OPTIONS = (
    "--steps", 10, "--samples", "3e1", "--seed", 3, "--workers", 1, "--chunk", 16,
    "--vary", "mass[thigh]=scale(uniform(0.5,2))", "--vary", "v0[*]=normal(0,1)", "--vary", "damping=0.1,0.2",
    "--measure", "fast=any((abs(v[knee]) > 0.5) | (v[hip] > 1))", "--measure", "top=maximum(2 * v[0])",
)  # fmt: skip


def test_the_same_command_goes_on_and_tells_what_there_is(robot, answer, treesim, tmp_path):
    store = tmp_path / "run.zarr"
    first = answer("sweep", robot, "--out", store, *OPTIONS)
    assert (first["samples"], first["done"], first["diverged"], first["left_out"]) == (30, 30, 0, 0)
    assert first["estimate"]["samples"] == 30 and first["estimate"]["chunk"] == 16
    columns = first["columns"]
    assert set(columns) == {"mass[thigh]", "damping", "fast", "top"}
    assert 0.5 <= columns["mass[thigh]"]["least"] <= columns["mass[thigh]"]["greatest"] <= 2
    assert 0 < columns["fast"]["mean"] < 1
    (store / "top" / "c" / "1").unlink()
    again = answer("sweep", robot, "--out", store, *OPTIONS)
    assert again["estimate"]["samples"] == 14 and again["columns"] == columns
    other = treesim("sweep", robot, "--out", store, *OPTIONS, "--dt", 2e-3)
    assert other.exit_code == 2 and "dt is 0.001 in it, 0.002 here" in other.stderr


def test_a_dry_run_estimates_and_leaves_nothing(robot, treesim, tmp_path):
    pytest.importorskip("zarr")
    found = treesim("sweep", robot, "--out", tmp_path / "run.zarr", *OPTIONS, "--dry-run")
    assert found.exit_code == 0 and "30 of 30 samples to compute, 16 in a task, 1 at a time: about" in found.stderr
    assert not (tmp_path / "run.zarr").exists()


def test_samples_that_are_left_out_are_a_failure(robot, treesim, tmp_path):
    pytest.importorskip("zarr")
    found = treesim(
        "sweep", robot, "--out", tmp_path / "run.zarr", "--samples", 8, "--steps", 5, "--workers", 1,
        "--vary", "mass[thigh]=1,1,1,1,1,1,-1",
    )  # fmt: skip
    assert found.exit_code == 1
    assert "left out" in found.stderr and "thigh" in found.stderr
    assert "8 of 8 samples" in found.stdout


def test_a_system_that_reports_no_memory_gets_the_summary_without_it(robot, treesim, tmp_path, monkeypatch):
    """As Windows, where Python has no module `resource`."""
    monkeypatch.setitem(sys.modules, "resource", None)
    few = ("--samples", 4, "--steps", 5, "--workers", 1, "--vary", "mass[thigh]=uniform(1,2)")
    found = treesim("sweep", robot, "--out", tmp_path / "run.zarr", *few)
    assert found.exit_code == 0, found.stderr
    assert "4 of 4 samples" in found.stdout and "MB written" in found.stdout
    assert "of memory in a worker" not in found.stdout


@pytest.mark.slow
def test_joints_are_held_where_they_start(robot, answer, tmp_path):
    given = (
        "--base",
        "fixed",
        "--samples",
        4,
        "--steps",
        50,
        "--workers",
        1,
        "--q0",
        "hip=0.5",
        "--measure",
        "off=last(abs(q[hip]-0.5))",
    )
    off = [
        answer("sweep", robot, "--out", tmp_path / name, *given, *more)["columns"]["off"]["mean"]
        for name, more in (("held", ("--controller", "hold", "--kp", 1000, "--kd", 100)), ("free", ()))
    ]
    assert off[0] < 0.1 * off[1]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--vary", "mass"), "--vary takes NAME=..., got 'mass'"),
        (("--vary", "mass=gauss(0,1)"), "--vary mass: unknown distribution 'gauss'"),
        (("--vary", "mass=normal(1)"), "normal does not take 1 numbers"),
        (("--vary", "mass=1,x"), "'x' is no number"),
        (("--vary", "mass=1", "--vary", "mass=2"), "--vary mass is given twice"),
        (("--vary", "mass[thig]=1"), "did you mean 'thigh'"),
        (("--measure", "x=q[0]"), "NAME=KIND(FORMULA) is needed"),
        (("--measure", "x=most(q[0])"), "unknown kind of measure 'most'"),
        (("--measure", "x=last(q[0)"), "is no formula of t, q and v"),
        (("--measure", "x=last(__import__('os'))"), "unknown name in"),
        (("--measure", "x=last(q.size)"), "a formula cannot hold Attribute"),
        (("--measure", "x=any(q[0] > 1 and q[1] > 1)"), "join conditions by &, |"),
        (("--measure", "x=last(q[kne])"), "did you mean 'knee'"),
        (("--measure", "x=last(2 ** q[0] / 0)"), "--measure x: '2 ** q[0] / 0': '2 ** q[0] / 0' divides by zero"),
        (("--vary", "mass=normal(1e400,1)"), "--vary mass: mean of Normal must be finite"),
        (("--vary", "mass=uniform(nan,1)"), "--vary mass: low of Uniform must be finite"),
        (("--vary", "mass=uniform(-1e308,1e308)"), "--vary mass: low and high of Uniform are too large"),
        (("--vary", "mass=inf"), "--vary mass: options of Choice must be finite"),
        (("--vary", "mass=scale(scale(1,2))"), "--vary mass: unknown distribution inside scale(...) 'scale'"),
        (("--vary", "q0=scale(around(1))"), "--vary q0: unknown distribution inside scale(...) 'around'"),
        (("--vary", "mass=normal()"), "--vary mass: '' is no number"),
        (("--samples", "inf"), "--samples must be a whole number from 1 on, got inf"),
        (("--samples", "0.5"), "--samples must be a whole number from 1 on"),
        (("--controller", "pd"), "unknown controller 'pd'"),
    ],
)
def test_what_is_wrong_is_told(robot, treesim, tmp_path, options, text):
    found = treesim("sweep", robot, "--out", tmp_path / "run.zarr", *options)
    assert found.exit_code == 2 and text in found.stderr.replace("\n", " ")
    assert not (tmp_path / "run.zarr").exists()


POLICY = """
def swing(t, q, v, p, u):
    u[:] = p[0] * (p[1] - q) - v

def wrong(t, q):
    pass

def ends(t, q, v, p, u):
    raise SystemExit(0)

gain = 3.0
"""


def test_a_policy_is_a_function_of_a_file(robot, answer, treesim, tmp_path):
    (tmp_path / "law.py").write_text(POLICY)
    given = (
        "--base",
        "fixed",
        "--samples",
        6,
        "--steps",
        400,
        "--workers",
        1,
        "--policy",
        f"{tmp_path / 'law.py'}:swing",
    )
    given += ("--parameters", "30,0.2", "--vary", "p[1]=0.2,0.4", "--measure", "at=last(q[knee])")
    columns = answer("sweep", robot, "--out", tmp_path / "run.zarr", *given)["columns"]
    assert columns["at"]["greatest"] - columns["at"]["least"] > 0.05 and columns["p[1]"]["least"] == 0.2
    again = answer("sweep", robot, "--out", tmp_path / "run.zarr", *given)
    assert again["estimate"]["samples"] == 0 and again["columns"] == columns
    (tmp_path / "law.py").write_text(POLICY.replace("- v", "- 2 * v"))
    other = treesim("sweep", robot, "--out", tmp_path / "run.zarr", *given)
    assert other.exit_code == 2 and "policy" in other.stderr


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--policy", "law.py"), "--policy takes FILE.py:FUNCTION or FILE.npz:TASK, got 'law.py'"),
        (
            ("--policy", "law.py:swing", "--controller", "hold"),
            "--policy computes the controls: leave out",
        ),
        (("--policy", "lav.py:swing"), "--policy: there is no file 'lav.py'"),
        (("--policy", "law.py:swung"), "did you mean 'swing'"),
        (("--policy", "law.py:gain"), "unknown function 'gain' of law.py"),
        (("--policy", "law.py:wrong"), "the policy 'wrong' must take (t, q, v, p, u)"),
        (("--policy", "bad.py:f"), "--policy: bad.py raises NameError"),
        (("--policy", "ends.py:f"), "--policy: ends.py raises SystemExit: 0"),
        (("--policy", "law.py:ends"), "the policy 'ends' raises SystemExit"),
        (("--policy", "pipe.py:f"), "--policy: cannot read 'pipe.py': this is a pipe, socket or device, not a file"),
        (("--policy", "pipe.npz:balance"), "--policy: cannot read 'pipe.npz': this is a pipe, socket or device"),
        (("--policy", "large.py:f"), "'large.py': it has 16,777,217 bytes, and 16,777,216 are read at most"),
        (("--policy", "large.npz:f"), "'large.npz': it has 67,108,865 bytes, and 67,108,864 are read at most"),
        (("--policy", "law.py:swing", "--parameters", "1,x"), "--parameters takes numbers p"),
        (("--policy", "law.py:swing", "--parameters", "1,inf"), "--parameters must be finite"),
        (("--parameters", "1"), "--parameters are those of --policy"),
    ],
)
def test_what_is_wrong_with_a_policy_is_named(robot, treesim, tmp_path, monkeypatch, options, text):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "law.py").write_text(POLICY)
    (tmp_path / "bad.py").write_text("undefined")
    (tmp_path / "ends.py").write_text("raise SystemExit(0)")
    for name, size in (("large.py", (1 << 24) + 1), ("large.npz", (1 << 26) + 1)):
        with (tmp_path / name).open("wb") as stream:
            stream.truncate(size)
    if "pipe" in options[1]:
        if not hasattr(os, "mkfifo"):
            pytest.skip("this system has no named pipes")
        os.mkfifo(tmp_path / options[1].partition(":")[0])
    found = treesim("sweep", robot, "--out", tmp_path / "run.zarr", *options)
    assert found.exit_code == 2 and text in found.stderr.replace("\n", " ")


def test_a_scheduler_that_does_not_answer_is_told(robot, treesim, tmp_path, monkeypatch):
    """The program waits for it longer than a test has to."""
    client = pytest.importorskip("distributed").Client
    monkeypatch.setattr("distributed.Client", lambda address, timeout: client(address, timeout=timeout / 20))
    found = treesim("sweep", robot, "--out", tmp_path / "run.zarr", "--scheduler", "tcp://127.0.0.1:1")
    assert found.exit_code == 2 and "no Dask scheduler answers" in found.stderr.replace("\n", " ")
    assert not (tmp_path / "run.zarr").exists()


def test_the_plan_tells_the_formulas_digest(robot, answer, tmp_path):
    answer("sweep", robot, "--out", tmp_path / "run.zarr", *OPTIONS)
    details = json.loads((tmp_path / "run.zarr" / "treesim" / "plan.json").read_text())
    assert details["samples"] == 30 and "measure['fast']" in details


def test_statistics_are_those_of_finite_values_and_how_many_are_not_is_told(robot, treesim, answer, tmp_path):
    given = ("--out", tmp_path / "run.zarr", "--samples", 40, "--steps", 5, "--workers", 1, "--vary", "v0[knee]=1,2")
    measure = ("--measure", "fast=first_time(v[knee] > 1.5)", "--measure", "never=first_time(v[knee] > 99)")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        columns = answer("sweep", robot, *given, *measure)["columns"]
    fast, never = columns["fast"], columns["never"]
    assert 0 < fast["infinite"] < 40 and fast["samples"] == 40 and fast["nan"] == 0
    assert fast["least"] == fast["greatest"] == 1e-3
    assert (fast["mean"], fast["sd"]) == pytest.approx((1e-3, 0), abs=1e-15)
    assert never["infinite"] == 40 and never["mean"] is never["sd"] is never["least"] is never["greatest"] is None
    found = treesim("sweep", robot, *given, *measure)
    assert f"{40 - fast['infinite']} of 40" in found.stdout and "0 of 40" in found.stdout and "nan" not in found.stdout
    assert "are of finite values" in " ".join(found.stdout.split())


def test_statistics_of_the_largest_numbers_are_finite():
    found = _spread(np.array([1.5e308, 1.7e308, -np.inf, np.nan]))
    assert found["mean"] == pytest.approx(1.6e308) and found["sd"] == pytest.approx(1e307)
    assert (found["samples"], found["infinite"], found["nan"]) == (4, 1, 1)
    assert _spread(np.zeros(0)) == {}
