"""Initial states from the command line: three spellings, one meaning, and errors that name the coordinate."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from treesim.cli.states import gravity_vector, initial_state
from treesim.errors import ArgumentError
from treesim.model.inertia import Inertia
from treesim.model.joints import Joint
from treesim.model.tree import Body, Tree


def flyer() -> Tree:
    inertia = Inertia(1.0, (0, 0, 0), np.eye(3))
    bodies = [
        Body("trunk", 0, Joint("root_joint", "floating"), inertia),
        Body("arm", 1, Joint("arm", "revolute"), inertia),
    ]
    return Tree("flyer", bodies)


def test_numbers_pairs_and_file_mean_the_same(tmp_path: Path) -> None:
    robot = flyer()
    wanted = np.array([0, 0, 2.0, 0, 0, 0, 1, -0.5])
    np.save(tmp_path / "q.npy", wanted)
    for text in ("0,0,2,0,0,0,1,-0.5", "root_joint.z = 2, arm=-5e-1", f"@{tmp_path / 'q.npy'}"):
        q, v = initial_state(robot, text, None, None)
        np.testing.assert_array_equal(q, wanted)
        assert not v.any()


def test_velocity_pairs_start_from_rest() -> None:
    q, v = initial_state(flyer(), None, "root_joint.wz=1,arm=2", None)
    np.testing.assert_array_equal(v, [0, 0, 0, 0, 0, 1, 2])
    np.testing.assert_array_equal(q, flyer().neutral())


def test_seed_repeats_itself() -> None:
    first, again, other = (initial_state(flyer(), None, None, seed)[0] for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 1e-3


def test_quaternions_become_unit() -> None:
    q, _ = initial_state(flyer(), "root_joint.qx=1", None, None)
    np.testing.assert_allclose(q[3:7], [np.sqrt(0.5), 0, 0, np.sqrt(0.5)])


@pytest.mark.parametrize(
    ("q0", "v0", "seed", "message"),
    [
        ("1,2", None, None, r"--q0 needs 8 numbers \(root_joint.x, root_joint.y, root_joint.z, ..., arm\), got 2"),
        (None, "1,two,3,4,5,6,7", None, "--v0: 'two' is not a number"),
        ("amr=1", None, None, "coordinate in --q0: 'amr': did you mean 'arm'"),
        ("arm=1,2", None, None, "'2' is not a name=value pair"),
        ("arm=nan", None, None, "--q0: arm: nan is not finite"),
        (None, "arm=", None, "--v0: arm: '' is not a number"),
        ("@/nowhere.npy", None, None, "cannot read '/nowhere.npy': No such file"),
        ("arm=1", None, 3, "--seed and --q0"),
        ("root_joint.qw=0", None, None, "quaternion of 'root_joint' is zero"),
    ],
)
def test_mistakes_are_named(q0: str | None, v0: str | None, seed: int | None, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        initial_state(flyer(), q0, v0, seed)


def test_a_file_with_a_state_has_up_to_64_mib(tmp_path: Path) -> None:
    path = tmp_path / "q.npy"
    np.save(path, flyer().neutral())
    with path.open("r+b") as stream:
        stream.truncate(1 << 26)
    assert initial_state(flyer(), f"@{path}", None, None)
    with path.open("r+b") as stream:
        stream.truncate((1 << 26) + 1)
    with pytest.raises(ArgumentError, match="it has 67,108,865 bytes, and 67,108,864 are read at most"):
        initial_state(flyer(), f"@{path}", None, None)


def test_file_that_holds_no_array_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "q.npy"
    path.write_text("0,0,0")
    with pytest.raises(ArgumentError, match=r"not a \.npy file"):
        initial_state(flyer(), f"@{path}", None, None)
    np.save(path, np.full(8, np.nan))
    with pytest.raises(ArgumentError, match=r"root_joint\.x is not finite"):
        initial_state(flyer(), f"@{path}", None, None)


@pytest.mark.parametrize("suffix", [".npy", ".npz"])
def test_a_damaged_file_is_named(tmp_path: Path, suffix: str) -> None:
    """Cut anywhere, or with any byte changed, a file gives numbers or an error of ours."""
    path = tmp_path / f"q{suffix}"
    (np.save if suffix == ".npy" else np.savez)(path, np.arange(8.0) + 1)
    whole = path.read_bytes()
    cut = [whole[:k] for k in range(0, len(whole), 3)]
    changed = [whole[:k] + bytes([whole[k] ^ 0x55]) + whole[k + 1 :] for k in range(len(whole))]
    for damaged in cut:
        path.write_bytes(damaged)
        with pytest.raises(ArgumentError, match="--q0"):
            initial_state(flyer(), f"@{path}", None, None)
    for damaged in changed:
        path.write_bytes(damaged)
        with suppress(ArgumentError):
            initial_state(flyer(), f"@{path}", None, None)


@pytest.mark.parametrize("values", [np.ones(8) * 1j, np.ones(8, bool), np.array(["a"] * 8), np.zeros(8, "f8,f8")])
def test_a_file_of_other_than_real_numbers_is_refused(tmp_path: Path, values: np.ndarray) -> None:
    np.save(tmp_path / "q.npy", values)
    with pytest.raises(ArgumentError, match="no array of real numbers"):
        initial_state(flyer(), f"@{tmp_path / 'q.npy'}", None, None)


@pytest.mark.parametrize("path", ["a\0b", "/", "x" * 300])
def test_names_of_no_file_are_refused(path: str) -> None:
    with pytest.raises(ArgumentError, match="--q0"):
        initial_state(flyer(), f"@{path}", None, None)


def test_gravity() -> None:
    assert gravity_vector("0") == (0.0, 0.0, 0.0)
    assert gravity_vector("-1.62") == (0.0, 0.0, -1.62)
    assert gravity_vector("1, 2,3") == (1.0, 2.0, 3.0)
    for text in ("1,2", "down", "", "inf"):
        with pytest.raises(ArgumentError, match="--gravity"):
            gravity_vector(text)
