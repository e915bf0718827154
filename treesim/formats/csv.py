"""Trajectories as text tables (.csv): one comment line of metadata, a header, and numbers with all digits."""

from __future__ import annotations

import csv
import io
from codecs import getwriter
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import IO

import numpy as np

from ..simulation.trajectory import Trajectory
from ..system.input_files import LARGEST_RECORDING, open_input
from .columns import arrays_of, table_of, without_points
from .description import described, read_description, restored

HEADING = "# treesim trajectory: "
LONGEST_LINE = 1 << 28  # characters; a description has up to 2**26 bytes


def write(trajectory: Trajectory, stream: IO[bytes]) -> None:
    """Write the table to a stream of bytes."""
    trajectory = without_points(trajectory)
    header, table = table_of(trajectory)
    stream.write((HEADING + described(trajectory) + "\r\n").encode())
    writer = csv.writer(getwriter("utf-8")(stream))  # unlike TextIOWrapper it does not close the stream
    writer.writerow(header)
    writer.writerows(table.tolist())  # Python's float repr is exact


def read(path: Path) -> Trajectory:
    """Return the trajectory of a table that `write` wrote; raises ValueError if it is truncated."""
    with open_input(path, LARGEST_RECORDING) as source, io.TextIOWrapper(source, "utf-8", newline="") as stream:
        heading = stream.readline(LONGEST_LINE)
        if not heading.startswith(HEADING):
            raise ValueError(f"its first line does not begin with {HEADING!r}")
        description = read_description(heading[len(HEADING) :])
        rows = csv.reader(_whole_lines(iter(partial(stream.readline, LONGEST_LINE), "")))
        header = next(rows, [])
        numbers = [_numbers(row, len(header)) for row in rows]
        table = np.array(numbers).reshape(len(numbers), len(header))
    return restored(description, arrays_of(description, header, table))


def _numbers(row: list[str], count: int) -> list[float]:
    if len(row) != count:
        raise ValueError(f"a row has {len(row)} numbers, but there are {count} columns")
    return list(map(float, row))


def _whole_lines(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines; raises ValueError for a last line without end, whose last number may be truncated."""
    line = "\n"
    for line in lines:  # quoted names may contain \r, which ends a line here
        if len(line) == LONGEST_LINE:
            raise ValueError(f"a line has {LONGEST_LINE:,} characters or more")
        yield line
    if not line.endswith("\n"):
        raise ValueError("its last line is cut short")
