"""Recordings whose description or recipe somebody changed: loading and replaying them works, or says what is wrong."""

from __future__ import annotations

import base64
import faulthandler
import json
import os
import random
import time
import warnings
import zlib
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import treesim
from tests.formats.test_damage import falling, saved
from tests.fuzz.mutators import delete_bytes, flip_bits, insert_bytes, repeat_bytes, truncate
from treesim import Trajectory, TreesimError
from treesim.formats import description, suffixes
from treesim.formats.description import described, read_description, restored

DEEP = {"nested 300": 300, "nested 100000": 100_000}  # texts that stand for so many lists in each other
HOSTILE = (
    None, True, "", "text", "-1", -1, 0, 1, 3, 10**30, -(2**63), 2**63, 10**400, 0.5, -1e308, 1e308, float("inf"),
    float("nan"), [], {}, [1], [[]], [None], ["a", "a"], [1, 2, 3], ["1", "2", "3"], {"a": 1}, {"is": "Tree"},
    {"is": "array", "of": "float64", "shape": [3], "numbers": [1, 2, 3]}, {"is": [], "of": 1},
    {"is": "array", "of": "complex128", "shape": [1], "numbers": [1]}, {"is": "named", "name": "robot"},
    {"is": "array", "of": "int64", "shape": [-1], "numbers": [1]}, {"is": "Placement"}, {"is": "Zero", "of": []},
    {"is": "array", "of": "float64", "shape": [1 << 40, 1 << 40], "numbers": []}, "/etc/passwd", "\ud800", "\0", *DEEP,
)  # fmt: skip
SPOILERS = (truncate, flip_bits, insert_bytes, delete_bytes, repeat_bytes)
SEEDS = [pytest.param(seed, marks=[pytest.mark.slow] * (seed > 0)) for seed in range(3)]


@cache
def recordings() -> tuple[Trajectory, ...]:
    """Between them, everything that a recipe can hold."""
    hinge, mimic_joint = (
        treesim.Joint("a", "revolute"),
        treesim.Joint("b", "revolute", mimic=treesim.Mimic("a", -2, 0.5)),
    )
    third = treesim.Joint(
        "c", "revolute", placement=treesim.Placement(translation=(0, 0, 0.1)), axis=(0, 1, 0), armature=0.1
    )
    weight = treesim.Inertia(1.0, (0, 0, 0.2), np.eye(3) * 0.01)
    bodies = [treesim.Body(f"{joint.name}_link", 0, joint, weight) for joint in (hinge, mimic_joint, third)]
    hull = treesim.CollisionShape(3, treesim.Placement(), "hull", vertices=np.eye(3), link="c_link")
    gear = treesim.Tree("gear", bodies, frames=[treesim.Frame("tip", 3)], shapes=[hull])
    held = treesim.FrameConstraint("tip", rows="linear")
    ends = [treesim.Frame(f"end{i}", i) for i in (1, 2)]
    bars = [treesim.Body(f"bar{i}", 0, treesim.Joint(f"hinge{i}", "revolute"), weight) for i in (1, 2)]
    scissors = treesim.Tree("scissors", bars, frames=ends, loops=[treesim.Loop("pin", "end1", "end2")])
    crates = [treesim.free_body(name, "box", (0.2,) * 3, 1.0) for name in ("crate", "other")]
    grounds = [
        treesim.Ground(friction=0.5), treesim.StaticBox((1, 1, 1), treesim.Placement(translation=(5, 0, 0))),
        treesim.HeightField(np.zeros((2, 3)), name="hills", stiffness=1e4),
        treesim.StaticMesh(np.eye(3), [[0, 1, 2]], treesim.Placement(translation=(9, 0, 0))),
    ]  # fmt: skip
    two = treesim.World(crates[0], bodies=crates[1:], ground=grounds, surface=treesim.Surface(friction=0.1))
    alone = treesim.World(crates[0], ground=treesim.Ground())
    pushed = treesim.Pushed(
        treesim.PD(alone.robot, alone.robot.neutral()), alone.robot, (1, 2, 3), start=0.0, duration=0.1
    )
    start = [0, 0, 0.1, 0, 0, 0, 1]
    return (
        treesim.Simulation(treesim.World(gear, held), controller=treesim.PD(gear, [0.1, 0.2])).run(0.003),
        treesim.Simulation(scissors, gravity=(0, 0, -1), dt=5e-4).run(0.003),
        treesim.Simulation(two, substeps=2).run(0.003, q0=[*start, 1, *start[1:]]),
        treesim.Simulation(alone, controller=pushed).run(0.003, q0=start),
    )


def places(values: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths to all values of parsed JSON."""
    yield path
    inner = values.items() if isinstance(values, dict) else enumerate(values) if isinstance(values, list) else ()
    for name, value in inner:
        yield from places(value, (*path, name))


def spoiled(values: Any, rng: random.Random) -> Any:
    """Values with one of them replaced, left out, or doubled."""
    copy = json.loads(json.dumps(values))
    path = rng.choice(list(places(copy))[1:])
    parent = copy
    for name in path[:-1]:
        parent = parent[name]
    what = rng.random()
    if what < 0.1:
        del parent[path[-1]]
    elif what < 0.15 and isinstance(parent, list):
        parent.append(parent[path[-1]])
    elif what < 0.2 and isinstance(parent, dict):
        parent[rng.choice(["file", "colour", "q", "robot"])] = parent[path[-1]]
    else:
        parent[path[-1]] = rng.choice(HOSTILE)
    return copy


def text_of(values: Any) -> str:
    text = json.dumps(values)
    for name, depth in DEEP.items():
        text = text.replace(f'"{name}"', "[" * depth + "]" * depth)
    return text


def packed(values: Any) -> str:
    return base64.b64encode(zlib.compress(text_of(values).encode())).decode()


def tried(action: Any) -> bool:
    """Whether it works; the only errors are treesim's own, and short."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            action()
        except TreesimError as error:
            assert 0 < len(str(error)) < 2000
            return False
    return True


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("number", range(4))
def test_changed_recipes_are_repeated_or_refused(number: int, seed: int) -> None:
    run, rng = recordings()[number], random.Random(100 * seed + number)
    values = json.loads(zlib.decompress(base64.b64decode(run.provenance())))  # type: ignore[operator, misc]
    assert tried(lambda: treesim.replay(replace(run, provenance=packed(values))))
    count = 150 if seed else 50
    worked = [
        tried(lambda: treesim.replay(replace(run, provenance=packed(spoiled(values, rng))))) for _ in range(count)
    ]
    assert 0 < sum(worked) < 0.93 * count, "some changes do no harm, such as names"


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("number", range(4))
def test_changed_descriptions_are_loaded_or_refused(tmp_path: Path, number: int, seed: int) -> None:
    run, rng = recordings()[number], random.Random(100 * seed + number)
    values = {name: value for name, value in json.loads(described(run)).items() if name != "digests"}
    arrays = {name: getattr(run, name) for name in ("t", "q", "v", "tau", "energy", "work", "contact")}

    def used(text: str) -> None:
        read = restored(read_description(text), arrays)
        assert repr(read) and read._repr_html_() and read.ground is not None
        assert len(Trajectory.load(read.save(tmp_path / "run.csv"))) == len(run)
        treesim.replay(read)

    assert tried(lambda: used(json.dumps(values)))
    small = {name: value for name, value in values.items() if name != "provenance"} | {"provenance": None}
    worked = [
        tried(lambda: used(text_of(spoiled(small, rng) | {"provenance": values["provenance"]}))) for _ in range(60)
    ]
    assert 0 < sum(worked) < 60


def spoilt_files(folder: Path, suffix: str, rng: random.Random, count: int) -> Iterator[Path]:
    """Write files whose bytes are spoilt, and as many with a spoilt description, in turns."""
    good = saved(folder, suffix).read_bytes()
    path = folder / f"spoilt{suffix}"
    for k in range(count):
        if k % 2:
            path.write_bytes(rng.choice(SPOILERS)(rng, good))
        else:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(description, "with_digests", lambda plain, run: spoiled(plain, rng))  # without digests
                falling().save(path)
        yield path


def check_spoilt_files(folder: Path, suffix: str, seed: str, count: int) -> None:
    """Each is loaded or refused, in time."""
    rng, loaded = random.Random(f"{seed} {suffix}"), 0
    try:
        for k, path in enumerate(spoilt_files(folder, suffix, rng, count)):
            faulthandler.dump_traceback_later(60, exit=True)
            start = time.process_time()
            loaded += tried(lambda path=path: len(Trajectory.load(path)))  # type: ignore[misc]
            assert time.process_time() - start < 5, f"TREESIM_FUZZ_SEED={seed}: file {k}"
    finally:  # else it would end the process in a later test
        faulthandler.cancel_dump_traceback_later()
    assert loaded < count


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize("suffix", suffixes())
def test_2000_spoilt_files_of_each_format_are_loaded_or_refused(tmp_path: Path, suffix: str) -> None:
    seed = os.environ.get("TREESIM_FUZZ_SEED", str(date.today()))
    print(f"TREESIM_FUZZ_SEED={seed}")
    check_spoilt_files(tmp_path, suffix, seed, 2000)


def test_some_spoilt_files_are_loaded_or_refused(tmp_path: Path) -> None:
    check_spoilt_files(tmp_path, ".csv", "0", 20)


@pytest.mark.slow
def test_a_recipe_as_large_as_it_may_be_is_not_unpacked_further() -> None:
    run = recordings()[1]
    for text in (b"[" * (1 << 25), b"0," * (1 << 24), b'"' + b"a" * (1 << 28) + b'"', b"[[],[],"):
        bomb = base64.b64encode(zlib.compress(text)).decode()
        with pytest.raises(treesim.ArgumentError, match=r"at most|too large|no text of JSON"):
            treesim.replay(replace(run, provenance=bomb))
