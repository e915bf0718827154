"""Policies that somebody changed: networks of .npz files, and functions of Python files, are used or refused."""

from __future__ import annotations

import io
import os
import random
import re
import time
import warnings
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import treesim
from tests.fuzz.mutators import delete_bytes, flip_bits, insert_bytes, repeat_bytes, truncate
from tests.fuzz.test_option_sets import ARM, Q, V
from treesim import TreesimError
from treesim.cli.policies import _function_of

SEED = os.environ.get("TREESIM_FUZZ_SEED", str(date.today()))
NIGHTLY = 500  # of each kind
SPOILERS = (truncate, flip_bits, insert_bytes, delete_bytes, repeat_bytes)
POLICY = """
import numpy as np
from treesim.numbers import less, select

def law(t, q, v, p, u):
    error = p[0] * np.sin(3.0 * t) - q
    u[:] = 10.0 * error - p[1] * v
    u[0] = select(less(q[0], 0.5), u[0], 0.5 * u[1]) + np.exp(-t)
"""
# what may stand in the place of a token, by kind: nothing that loops, or reaches beyond functions of numbers
NAMES = ("t", "q", "v", "p", "u", "error", "nobody", "np.sin", "np.sqrt", "np.log", "np.nan", "np.zeros", "None")
NUMBERS = ("0", "1", "2", "-1", "0.5", "7", "1e308", "1e-320", "10", "'a'", "q[0]", "u")
OPERATORS = ("+", "-", "*", "/", "//", "%", "<", "==", " and ", "@", "+ -", "* 1e300 *")
SIGNS = ("(", ")", "[", "]", ",", "=", ":", " if ", " else ")

ODD_ARRAYS = (
    np.zeros(0), np.float64(1), np.full(3, np.nan), np.full(3, -1.0), np.zeros((3, 8), complex), np.zeros(3, bool),
    np.full((3, 8), 1e308), np.array(["a"] * 3), np.zeros(3, "M8[s]"), np.zeros(3, "f8,f8"), np.zeros((8, 3)),
    np.zeros(8), np.ones((2, 3, 8)), np.ones(3, np.float16), np.full((3, 8), np.inf), np.zeros((0, 8)),
)  # fmt: skip


def changed_program(rng: random.Random) -> str:
    """Return the policy with one or two tokens replaced, doubled or left out."""
    head, body = POLICY.split("u):", 1)
    tokens = re.split(r"(\s+|[A-Za-z_.]+|[0-9.]+|[^\sA-Za-z0-9_.])", body)
    for _ in range(rng.choice((1, 1, 2))):
        kind, found = rng.choice([(NUMBERS, r"[0-9]"), (NAMES, r"[a-z]"), (OPERATORS, r"[-+*/]"), (SIGNS, r"[][(),=]")])
        k = rng.choice([k for k, token in enumerate(tokens) if re.match(found, token)] or [1])
        tokens[k] = rng.choice([*rng.choices(kind, k=12), "", f"{tokens[k]} {tokens[k]}"])
    return f"{head}u):{''.join(tokens)}"


def use(path: Path) -> None:
    """Roll the arm out under the policy of a file, as `treesim sweep --policy` does; NaN needs a warning."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        law = _function_of(str(path), "law")
        run = treesim.rollout(ARM, Q, V, law, steps=3, policy_parameters=[1.0, 0.5])
    has_warned = any(issubclass(each.category, treesim.TreesimWarning) for each in warned)
    assert has_warned or np.isfinite(run.q).all()


def is_refused(action: Any, what: str) -> bool:
    """Return whether an action raises an error of treesim, the only one that it may raise, in time."""
    start = time.process_time()
    try:
        action()
    except TreesimError as error:
        assert 0 < len(str(error)) < 2000, what
        return True
    finally:
        assert time.process_time() - start < 10, what
    return False


def check_programs(folder: Path, seed: str, count: int) -> None:
    path, refused = folder / "law.py", 0
    for k in range(count):
        text = changed_program(random.Random(f"{seed} {k}"))
        path.write_text(text, encoding="utf-8")
        try:
            refused += is_refused(lambda: use(path), text)
        except Exception as error:
            raise AssertionError(f"TREESIM_FUZZ_SEED={seed}: {type(error).__name__} for\n{text}") from error
    assert 0.3 * count < refused < 0.97 * count, "some changes do no harm"


def test_some_changed_programs_are_used_or_refused(tmp_path):
    check_programs(tmp_path, "0", 12)


@pytest.mark.slow
@pytest.mark.nightly
def test_500_changed_programs_are_used_or_refused(tmp_path):
    check_programs(tmp_path, SEED, NIGHTLY)


@pytest.mark.slow
@pytest.mark.nightly
def test_500_changed_networks_are_read_or_refused(tmp_path):
    """Of changed bytes, and of other arrays, in turns."""
    network = pytest.importorskip("treesim_gymnasium.network")
    rng, path, refused = np.random.default_rng(0), tmp_path / "net.npz", 0
    layers = [(rng.normal(size=(3, 8)), np.zeros(3)), (rng.normal(size=(1, 3)), np.zeros(1))]
    network.Network(layers, np.zeros(8), np.ones(8)).save(path)
    good = path.read_bytes()
    with np.load(io.BytesIO(good)) as arrays:
        known = dict(arrays)
    for k in range(NIGHTLY):
        draw = random.Random(f"{SEED} {k}")
        if k % 2:
            path.write_bytes(draw.choice(SPOILERS)(draw, good))
        else:
            name = draw.choice([*known, "W_2", "W_x", "b_9"])
            np.savez(path, **{**known, name: draw.choice(ODD_ARRAYS)})

        def read() -> None:
            found = network.load(path)
            assert (
                np.isfinite(found.parameters).all() and found.action(np.ones(found.sizes[0])).shape == found.sizes[-1:]
            )

        refused += is_refused(read, f"TREESIM_FUZZ_SEED={SEED}: network {k}")
    assert 0 < refused < NIGHTLY
