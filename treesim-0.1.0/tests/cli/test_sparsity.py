"""Patterns in characters: every entry can be read back."""

from __future__ import annotations

import numpy as np
import pytest

from treesim.cli.sparsity import MOST_COLUMNS, picture


@pytest.mark.parametrize("n", [1, 2, 7, MOST_COLUMNS])
def test_half_blocks_read_back(n: int) -> None:
    pattern = np.random.default_rng(n).random((n, n)) < 0.5
    lines = picture(pattern).split("\n")
    assert len(lines) == -(-n // 2)
    codes = np.array([["·▀▄█".index(character) for character in line] for line in lines])
    read = np.stack([codes % 2, codes // 2], axis=1).reshape(-1, n)[:n]
    np.testing.assert_array_equal(read, pattern)


@pytest.mark.parametrize("n", [MOST_COLUMNS + 1, 2 * MOST_COLUMNS])
def test_braille_reads_back(n: int) -> None:
    pattern = np.random.default_rng(n).random((n, n)) < 0.5
    lines = picture(pattern).split("\n")
    dot = {(r, c): 1 << (6 + c if r == 3 else r + 3 * c) for r in range(4) for c in range(2)}
    for i, j in np.ndindex(n, n):
        code = ord(lines[i // 4][j // 2]) - 0x2800
        assert bool(code & dot[i % 4, j % 2]) == pattern[i, j]


def test_huge_pattern_keeps_its_shape_on_the_screen() -> None:
    n = 1000
    lines = picture(np.tri(n, dtype=bool)).split("\n")
    assert len(lines) <= MOST_COLUMNS / 2 and max(map(len, lines)) <= MOST_COLUMNS
    assert set(lines[0][2:]) == {"⠀"}, "nothing above the diagonal"
    assert set(lines[-1][:-2]) <= {"⣿", "⠛", "⠿", "⠉"}, "everything below it"


@pytest.mark.parametrize(("n", "block"), [(3, 1), (72, 1), (73, 2), (200, 3)])
def test_encodings_without_blocks_get_a_character_for_an_entry(n, block):
    lines = picture(np.eye(n, dtype=bool), "cp1252").split("\n")
    size = -(-n // block)
    assert lines == ["." * k + "#" + "." * (size - k - 1) for k in range(size)]
