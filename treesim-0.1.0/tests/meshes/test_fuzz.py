"""Damaged mesh files of every format end in parts or in a refusal that names the file."""

from __future__ import annotations

import numpy as np
import pytest

from tests.waiting import PATIENCE
from treesim import ModelError
from treesim.meshes import read_colored, reader

from . import files

EVERYDAY, LONG = 200, 1500
PIECES = (
    b"nan", b"-1", b"1e400", b"999999999999999999", b"\0", b"\xff\xfe", b"<", b'"', b"\n", b" ", b"f 1 2 3", b"#",
    b"{}", b"&a;", b"%s", b"0" * 300,
)  # fmt: skip


def damaged(content: bytes, rng: np.random.Generator) -> bytes:
    """The content with one to three of its parts flipped, cut, doubled or replaced."""
    data = bytearray(content)
    for _ in range(rng.integers(1, 4)):
        start = int(rng.integers(len(data) + 1))
        stop = min(len(data), start + int(rng.integers(1, 40)))
        change = rng.integers(5)
        if change == 0 and start < len(data):
            data[start] ^= 1 << int(rng.integers(8))
        elif change == 1:
            del data[start:]
        elif change == 2:
            data[start:start] = data[start:stop] * int(rng.integers(1, 50))
        elif change == 3:
            del data[start:stop]
        else:
            data[start:stop] = PIECES[rng.integers(len(PIECES))]
    return bytes(data)


def check_damaged(name: str, count: int, folder) -> None:
    """Read damaged copies of a sound file."""
    sound = files.TRIANGLES[name]("1")
    sound = sound if isinstance(sound, bytes) else sound.encode()
    rng = np.random.default_rng(len(name))
    path = folder / name
    for _ in range(count):
        content = damaged(sound, rng)
        path.write_bytes(content)
        try:
            parts = read_colored(str(path)).parts
        except ModelError as error:
            assert "it takes more than" not in str(error), content
            continue
        for part in parts:
            assert np.isfinite(part.vertices).all() and part.faces.max() < len(part.vertices), content


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    monkeypatch.setattr(reader, "SECONDS", PATIENCE)


@pytest.mark.parametrize("name", files.TRIANGLES)
def test_damaged_files(name, tmp_path):
    check_damaged(name, EVERYDAY, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", files.TRIANGLES)
def test_very_many_damaged_files(name, tmp_path):
    check_damaged(name, LONG, tmp_path)
