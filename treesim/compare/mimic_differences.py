"""Differences between the mimic joints of two descriptions: mimicked joint, multiplier and offset."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

import numpy as np

from ..urdf.mimics import Line
from .causes import Explanation
from .description import Description
from .report import Row
from .results import RAW

LEFT = "follows none"


def mimic_row(
    ours: Mapping[str, Line], theirs: Mapping[str, Line], shared: Collection[str], tolerance: float
) -> Iterator[Row]:
    """Yield one row for the mimic joints of both descriptions, if there are any.

    Errors of multipliers are relative to the larger one; errors of offsets too, if it exceeds 1 [rad, m]. The
    error is 1 if the mimicked joints differ, or if only one description has the mimic joint.
    """
    found = {name: _apart(ours.get(name), theirs.get(name)) for name in shared if name in ours or name in theirs}
    if not found:
        return
    name, largest = max(found.items(), key=lambda item: item[1])
    where = f"joint {name!r}" + (f": {_line_text(ours.get(name))}, {_line_text(theirs.get(name))}" if largest else "")
    sizes = list(found.values())
    yield Row("mimic", RAW, len(found), largest, float(np.median(sizes)), tolerance, largest <= tolerance, where)


def mimic_causes(
    ours: Description,
    other: Description | None,
    theirs: Mapping[str, Line],
    shared: Collection[str],
    tolerance: float,
) -> Iterator[Explanation]:
    """Yield an explanation for each mimic joint that differs in the second description.

    Each contains the lines of `<mimic>` in both files. Effects are 0: forces are compared with all joints free.
    """
    for name in shared:
        line, another = ours.mimics.get(name), theirs.get(name)
        if _apart(line, another) <= tolerance:
            continue
        yield Explanation(
            kind="mimic", owner=f"joint {name!r}", cause=f"{_line_text(another)} instead of {_line_text(line)}",
            place=ours.place("joint", name, "mimic"), effect=0.0, unit="", joint=name, before=0.0, after=0.0,
            other_place="" if other is None else other.place("joint", name, "mimic"),
        )  # fmt: skip


def _apart(ours: Line | None, theirs: Line | None) -> float:
    if ours is None or theirs is None or ours[0] != theirs[0]:
        return float(ours != theirs)
    (_, k, o), (_, other_k, other_o) = ours, theirs
    largest = max(abs(k), abs(other_k))
    scaled = abs(k - other_k) / largest if largest else 0.0
    return max(scaled, abs(o - other_o) / max(abs(o), abs(other_o), 1.0))


def _line_text(line: Line | None) -> str:
    return LEFT if line is None else f"follows {line[0]!r} (multiplier {line[1]:.6g}, offset {line[2]:.6g})"
