"""Text pictures of a matrix's sparsity pattern."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

MOST_COLUMNS = 72  # of half blocks; wider matrices are drawn in braille, still wider ones coarsened
# a braille character's eight dots by column and row, as bits of its code point (Unicode 2800)
_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))


def picture(pattern: np.ndarray, encoding: str = "utf-8") -> str:
    """Return lines of characters that show the true entries of the (n, n) boolean `pattern`.

    An encoding without blocks gets `#` for a true entry, and `.` for others.
    Up to 72 columns, one character shows one column and two rows. Above, braille shows two columns and four
    rows. Above 144 columns each dot shows a square block, drawn if any of its entries is true.
    """
    if not encoding.lower().startswith("utf"):
        coarse = _coarsened(pattern, max(1, -(-len(pattern) // MOST_COLUMNS)))
        return "\n".join("".join(".#"[int(entry)] for entry in row) for row in coarse)
    if len(pattern) <= MOST_COLUMNS:
        return _half_blocks(pattern)
    return _braille(_coarsened(pattern, -(-len(pattern) // (2 * MOST_COLUMNS))))


def _half_blocks(pattern: np.ndarray) -> str:
    rows = _padded(pattern, 2, 1)
    return "\n".join(
        "".join("·▀▄█"[int(top) + 2 * int(bottom)] for top, bottom in zip(rows[i], rows[i + 1], strict=True))
        for i in range(0, len(rows), 2)
    )


def _braille(pattern: np.ndarray) -> str:
    cells = _padded(pattern, 4, 2)
    lines = []
    for i in range(0, cells.shape[0], 4):
        codes = [
            sum(_DOTS[r][c] for r in range(4) for c in range(2) if cells[i + r, j + c])
            for j in range(0, cells.shape[1], 2)
        ]
        lines.append("".join(chr(0x2800 + code) for code in codes))
    return "\n".join(lines)


def _coarsened(pattern: np.ndarray, block: int) -> np.ndarray:
    import numpy as np

    padded = _padded(pattern, block, block)
    m, n = padded.shape[0] // block, padded.shape[1] // block
    return np.asarray(padded.reshape(m, block, n, block).any(axis=(1, 3)))


def _padded(pattern: np.ndarray, rows: int, columns: int) -> np.ndarray:
    import numpy as np

    m, n = pattern.shape
    return np.pad(pattern, ((0, -m % rows), (0, -n % columns)))
