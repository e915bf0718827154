"""Plot of a study: the mean of one column over another one."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ..errors import ArgumentError, quoted, unknown_name
from ..states.arguments import whole_number
from ..sweeps.study import Study
from .figures import new_figure, save


def draw(study: Study, name: str, over: str, path: str | os.PathLike[str] | None, bins: int) -> Any:
    """Return the figure of `Study.plot`."""
    data = study.summary
    sound = study.finished & (data["failed_reason"].values == 0)
    y, x = (_column(data, one)[sound] for one in (name, over))
    finite = np.isfinite(x) & np.isfinite(y)
    y, x = y[finite], x[finite]
    centers, means, errors = binned(x, y, whole_number("bins", bins, 1))
    figure, (axes,) = new_figure(1, 6, 4)
    axes.errorbar(centers, means, errors, fmt="o-", capsize=2)
    axes.set(xlabel=over, ylabel=f"mean of {name}", title=_title(len(finite), len(x)))
    return save(figure, path)


def _title(samples: int, finite: int) -> str:
    """Return the title: numbers of samples that are drawn, and that have no finite value."""
    return f"{samples:,} samples" if finite == samples else f"{finite:,} of {samples:,} samples, where both are finite"


def _column(data: Any, name: str) -> np.ndarray:
    if name not in data:
        raise unknown_name("column", name, list(data))
    if data[name].ndim != 1:
        raise ArgumentError(f"{quoted(name)} has {data[name].shape[1:]} numbers for each sample: only one can be drawn")
    return np.asarray(data[name].values, float)


def binned(x: np.ndarray, y: np.ndarray, bins: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return mean x, mean y and its standard error, of samples in equal parts of the range of x.

    If x has no more distinct values than `bins`, each value is a bin. Empty bins are left out.
    """
    values, group = np.unique(x, return_inverse=True)
    if len(values) > bins:
        edges = np.linspace(x.min(), x.max(), bins + 1)
        group = np.clip(np.searchsorted(edges, x, side="right") - 1, 0, bins - 1)
    count = np.bincount(group)
    some = count > 0
    mean_x, mean_y, square = (
        np.bincount(group, weights)[some] / count[some] for weights in (x, y, y * y)
    )  # fmt: skip
    return mean_x, mean_y, np.sqrt(np.maximum(square - mean_y**2, 0) / count[some])
