"""Labels of data frames, series and data arrays: their numbers are put into the robot's order.

Labels are read without importing the library of the value: pandas and compatible ones have `axes`, xarray has `dims`
and `coords`, Polars has `columns`, and Arrow has `column_names`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..errors import ArgumentError, listed, quoted, text_of, unknown_name
from ..system.memory import check_memory

Labels = list[Any]
Reader = Callable[[Any], Sequence[Any]]
DEEPEST = 64  # lists in lists: arrays have no more axes


class NamedAxis(NamedTuple):
    """Names of the elements along an axis of an argument, in the robot's order.

    what: one element, for messages. names: all namings; the first one is recommended. prefixes: of all labels, as the
    columns of `Trajectory.to_dataframe` have them.
    """

    what: str
    names: tuple[tuple[str, ...], ...]
    prefixes: tuple[str, ...] = ()


Axis = Callable[[Any], NamedAxis]  # of a robot


def in_order(label: str, value: Any, axes: Sequence[Axis | None], robot: Any, depth: int = 0) -> Any:
    """Return `value`, or an array of its numbers in the robot's order if its labels are in another order.

    axes: of the last axes of the argument, None for an axis without names. A list may contain values with labels.
    depth: number of lists around it. Raises UnknownNameError or ArgumentError for labels that are neither names nor the
    positions 0, 1, ... in order.
    """
    if type(value) in (list, tuple):
        return value if depth > DEEPEST else _in_order_each(label, value, axes, robot, depth + 1)
    read = _reader(type(value))
    if read is None:
        return value
    try:
        indices = read(value)
        named = zip(range(-1, -1 - len(indices), -1), reversed(axes), strict=False)
        orders = [(k, _order(label, indices, k, axis(robot), len(axes))) for k, axis in named if axis is not None]
        for k, order in orders:
            if order is not None:
                value = _taken(label, np.asarray(value), order, k)
    except ArgumentError:
        raise
    except Exception as error:  # whatever a user's class raises
        raise ArgumentError(f"the labels of {label} cannot be read: {text_of(error, str)}") from None
    return value


def _taken(label: str, array: np.ndarray, order: list[int], axis: int) -> np.ndarray:
    """Return a copy in another order; raises ArgumentError if it does not fit in memory."""
    check_memory(array.nbytes, f"a copy of {label}, of shape {array.shape},", "give fewer states at once")
    return np.take(array, order, axis=axis)


def _in_order_each(label: str, values: Sequence[Any], axes: Sequence[Axis | None], robot: Any, depth: int) -> Any:
    if all(_reader(kind) is None and kind not in (list, tuple) for kind in set(map(type, values))):
        return values
    ordered = [in_order(f"{label}[{k}]", x, axes, robot, depth) for k, x in enumerate(values)]
    return values if all(map(_same, ordered, values)) else ordered


def _same(one: Any, other: Any) -> bool:
    return one is other


def _reader_of(kind: type) -> Reader | None:
    """Return a function that returns the labels of each axis of values of a type; None for types without labels."""
    if kind is np.ndarray:
        return None
    if hasattr(kind, "iloc") and hasattr(kind, "axes"):
        return _labels_of_axes
    if hasattr(kind, "coords") and hasattr(kind, "dims") and not hasattr(kind, "data_vars"):
        return _labels_of_dims
    if hasattr(kind, "columns") and hasattr(kind, "get_column"):
        return _labels_of_columns
    if hasattr(kind, "column_names") and hasattr(kind, "to_pandas"):
        return _column_names
    return None


_reader: Callable[[type], Reader | None] = lru_cache(maxsize=256)(_reader_of)


def _labels_of_axes(frame: Any) -> Sequence[Any]:
    return list(frame.axes)


def _labels_of_dims(array: Any) -> Sequence[Any]:
    return [array.coords[name].values if name in array.coords else None for name in array.dims]


def _labels_of_columns(frame: Any) -> Sequence[Any]:
    """Return no labels if the columns have the names that Polars gives by default."""
    columns = list(frame.columns)
    return [None, None if columns == [f"column_{k}" for k in range(len(columns))] else columns]


def _column_names(table: Any) -> Sequence[Any]:
    return [None, list(table.column_names)]


def _listed(index: Any) -> Labels | None:
    """Return labels as a list; None if there are none, or they are the positions 0, 1, ... in order."""
    if index is None:
        return None
    count = len(index)
    if getattr(index, "dtype", None) is not None and index.dtype.kind in "iu":
        return None if np.array_equal(np.asarray(index), np.arange(count)) else list(index.tolist())
    return list(index.tolist() if hasattr(index, "tolist") else index)


def _order(label: str, indices: Sequence[Any], k: int, axis: NamedAxis, own: int) -> list[int] | None:
    """Return the positions of the robot's names among the labels of axis k; None if they are in order.

    indices: labels of each axis. own: number of axes of one state; the axes before them are those of a batch.
    """
    given = _listed(indices[k])
    if given is not None and (found := _permutation(label, given, axis)) is not None:
        return None if found == list(range(len(given))) else found
    for j, others in enumerate(indices[: len(indices) - own]):
        others = _listed(others) if others is not None and 1 < len(others) == len(axis.names[0]) else None
        if others is not None and _permutation(label, others, axis) is not None:
            raise ArgumentError(
                f"{label} has names along axis {j}, but they belong along axis {len(indices) + k}: transpose it"
            )
    if given is not None:
        raise _wrong(label, given, axis)
    return None


def _permutation(label: str, given: Labels, axis: NamedAxis) -> list[int] | None:
    """Return the positions of the names among labels, None if the labels are no permutation of them."""
    if not all(isinstance(x, str) for x in given):
        return None
    for prefix in ("", *axis.prefixes, f"{label.rpartition(': ')[2]}."):
        if all(x.startswith(prefix) for x in given):
            plain = tuple(x[len(prefix) :] for x in given)
            places = {name: k for k, name in enumerate(plain)}
            for names in axis.names:
                if plain == names:
                    return list(range(len(names)))
                if len(names) == len(plain) == len(places) and places.keys() == set(names):
                    return [places[name] for name in names]
    return None


def refuse_labels(label: str, value: Any) -> None:
    """Raise ArgumentError for labels other than the positions 0, 1, ... where no names are known."""
    read = _reader(type(value))
    for index in () if read is None else read(value):
        given = _listed(index)
        if given:
            raise ArgumentError(
                f"{label} has labels, as {quoted(given[0])}, which are not matched with names of a robot here: "
                "give an array in the robot's order"
            )


def _wrong(label: str, given: Labels, axis: NamedAxis) -> ArgumentError:
    """Return the error for labels that are no permutation of the names."""
    names = axis.names[0]
    meant = f"label them {listed(names, limit=6)}, in any order, or give an array in this order"
    strange = next((x for x in given if not isinstance(x, str)), None)
    if strange is not None:
        return ArgumentError(f"{label} has the label {quoted(strange)} for a {axis.what}: {meant}")
    prefix = next((x for x in axis.prefixes if given and all(text.startswith(x) for text in given)), "")
    plain = [text.removeprefix(prefix) for text in given]
    unknown = next((text for text in plain if text not in names), None)
    if unknown is not None:
        return unknown_name(f"{axis.what} among the labels of {label}", unknown, names)
    twice = next((text for text in plain if plain.count(text) > 1), None)
    if twice is not None:
        return ArgumentError(f"{label} has the label {quoted(twice)} twice: {meant}")
    lacking = next(name for name in names if name not in plain)
    return ArgumentError(f"{label} has labels, but none is {quoted(lacking)}: {meant}")
