"""Arrays of contact wrenches that are indexed by names of bodies and surfaces.

`ContactReport.wrench` has a row for the ground and for every body of the robot. `ContactHistory.wrench` has rows only
for bodies that may touch. A name means the same in both layouts; an integer does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from ..errors import ArgumentError, LayoutWarning, quoted, unknown_name
from ..system.user_warnings import warn
from ..validation.values import known_name
from .pairs import GROUND, exerted

HISTORY = "run.contact.wrench has rows for the bodies that may touch, and none for the ground"
REPORT = "report.contact.wrench has row 0 for the ground, then a row for every body of the robot"
FULL = slice(None)
_issued: set[str] = set()  # warnings of this process
Key = tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class WrenchRows:
    """Names of the rows of wrenches, and the wrenches of pairs, whose sums act on surfaces.

    names: of the rows; the first one is "ground" if there is a row for the ground. surfaces, pairs: names. forces: the
    wrenches (..., P, 12) of pairs, or a function that returns them; None if they are unknown. touching: names of the
    rows in the other layout, if they are known.
    """

    names: tuple[str, ...]
    surfaces: tuple[str, ...] = ()
    pairs: tuple[tuple[str, str], ...] = ()
    forces: np.ndarray | Callable[[], np.ndarray] | None = None
    touching: tuple[str, ...] = ()

    @property
    def has_ground(self) -> bool:
        """Whether row 0 is the ground."""
        return self.names[:1] == (GROUND,)

    def row(self, name: str) -> int | None:
        """Return the row of a body or of the ground, None for surfaces without a row; raises UnknownNameError."""
        if name in self.names:
            return self.names.index(name)
        if self.has_ground and self.surfaces == (name,):
            return 0
        known = () if self.forces is None or not self.surfaces else (*self.surfaces, GROUND)
        if name not in known:
            raise unknown_name("body or surface with contact wrenches", name, (*self.names, *known))
        return None

    def pair_forces(self) -> np.ndarray | None:
        """Return the wrenches of pairs, None if they are unknown."""
        return self.forces() if callable(self.forces) else self.forces

    def on_surface(self, name: str) -> np.ndarray:
        """Return the wrench (..., 6) on a surface; "ground" is all surfaces together."""
        forces = self.pair_forces()
        assert forces is not None
        return exerted(self.pairs, forces, self.surfaces if name == GROUND else (name,))

    def of_states(self, key: Key) -> WrenchRows:
        """Return the names of the rows of some states of a batch or history."""
        return self.with_forces(lambda: self._forces_of(key)) if self.forces is not None and key else self

    def with_forces(self, forces: np.ndarray | Callable[[], np.ndarray] | None) -> WrenchRows:
        """Return the same names with wrenches of pairs."""
        return replace(self, forces=forces)

    def of_parts(self) -> WrenchRows | None:
        """Return the names of the rows of other numbers or of some parts, which have no sums on surfaces."""
        return self.with_forces(None)

    def stored(self) -> WrenchRows:
        """Return the same names with computed wrenches of pairs, for pickles."""
        return self.with_forces(self.pair_forces())

    def _forces_of(self, key: Key) -> np.ndarray:
        forces = self.pair_forces()
        assert forces is not None
        return forces[key]

    def warn_of_index(self, index: Any) -> None:
        """Warn, once in a process, that an index in the place of a name is another body in the other layout."""
        k = _first_of(index)
        own, other = (REPORT, HISTORY) if self.has_ground else (HISTORY, REPORT)
        name = _name_at(self.names, k)
        there = _name_at(self.touching, k) if self.has_ground else "another body" if k else "the ground"
        warn_once(
            "bodies",
            f"index {k} of the bodies is {name}, because {own}. But {other}, where index {k} is {there}. Index by "
            f"names, as wrench[{name}]: a later version will have one layout",
        )


@dataclass(frozen=True, eq=False)
class PairRows(WrenchRows):
    """Names of the rows of wrenches of pairs; names, surfaces: of what may touch."""

    def row(self, name: str) -> int | None:
        """Raise ArgumentError: a pair has two names."""
        raise ArgumentError(f"a pair of bodies or surfaces has two names: index by wrench[{quoted(name)}, other]")

    def between(self, wrench: np.ndarray, body: str, other: str) -> np.ndarray:
        """Return the wrench (..., 6) that `other` exerts on `body`; raises UnknownNameError."""
        known = (*self.names, *self.surfaces, *([GROUND] if self.surfaces else []))
        for name in (body, other):
            known_name("body or surface that may touch", name, known)
        one, two = (self.surfaces if name == GROUND else (name,) for name in (body, other))
        return exerted(self.pairs, wrench, one, two)

    def of_parts(self) -> None:
        """Return None: parts of wrenches are not those of pairs."""

    def warn_of_index(self, index: Any) -> None:
        """Warn, once in a process, that an index in the place of two names is another pair in the other layout."""
        k = _first_of(index)
        one, other = self.pairs[k] if -len(self.pairs) <= k < len(self.pairs) else ("body", "other")
        warn_once(
            "pairs",
            f"index {k} of the pairs is another pair in a run than in a step, whose pairs are those that may touch. "
            f"Index by names, as pair_wrench[{quoted(one)}, {quoted(other)}]: a later version will have one layout",
        )


def _first_of(index: Any) -> int:
    """Return the first number of an index."""
    given = (index.start, index.stop) if isinstance(index, slice) else np.ravel(index).tolist()
    return next((k for k in given if k is not None), 0)


def warn_once(subject: str, message: str) -> None:
    """Issue a LayoutWarning unless one on the subject was issued in this process."""
    if subject not in _issued:
        _issued.add(subject)
        warn(message, LayoutWarning)


def _name_at(names: Sequence[str], k: int) -> str:
    return quoted(names[k]) if -len(names) <= k < len(names) else "no body"


class NamedWrenches(np.ndarray):
    """Contact wrenches (..., bodies, 6) that are indexed by names of bodies and surfaces.

    wrench["foot"] is the wrench (..., 6) on a body or surface, and so is wrench[..., "foot", :]. The name "ground"
    means all surfaces together. Other indices, such as those of times, are as in any array. An integer in the place of
    a name issues a LayoutWarning, once in a process. Slices over states, copies, pickles and arithmetic keep the names;
    other results have none.

    Examples
    --------
    >>> crate = treesim.free_body("crate", "box", (0.2, 0.2, 0.2), 1.0)
    >>> stepper = treesim.Stepper(treesim.World(crate, ground=treesim.Ground(name="floor")))
    >>> wrench = stepper.step(stepper.reset([0, 0, 0.1, 0, 0, 0, 1]))[1].contact.wrench
    >>> wrench["crate"][2].round(6), wrench["floor"][2].round(6)
    (np.float64(9.81), np.float64(-9.81))
    """

    _rows: WrenchRows | None

    @classmethod
    def of(cls, array: np.ndarray, rows: WrenchRows | None) -> Self:
        """Return a view of an array (..., bodies, parts) with names of its rows."""
        found = np.asarray(array).view(cls)
        found._rows = rows
        return found

    def __array_finalize__(self, other: object) -> None:
        """Drop the names: the axes of a view may be others."""
        self._rows = None

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = (), **options: Any) -> Any:
        """Compute with plain arrays; results of the same shape have the names."""
        if out:
            options["out"] = tuple(_plain(x) for x in out)
        found = getattr(ufunc, method)(*map(_plain, inputs), **options)
        if out:
            return out[0] if len(out) == 1 else out
        named = next(x for x in inputs if isinstance(x, NamedWrenches))
        if method != "__call__" or not isinstance(found, np.ndarray) or found.shape != named.shape:
            return found
        if any(x._rows is not named._rows for x in inputs if isinstance(x, NamedWrenches)):
            return found
        rows = named._rows
        return named.of(found, None if rows is None else rows.of_parts())

    def __getitem__(self, key: Any) -> Any:
        rows, plain = self._rows, np.asarray(self)
        items = key if isinstance(key, tuple) else (key,)
        if rows is None:
            return plain[key]
        if self._starts_with_name(items):
            found = self._of_name(rows, items[0])
            return found[items[1:]] if items[1:] else found
        states, index, parts = _divided(items, self.ndim)
        if isinstance(index, str):
            row = rows.row(index)
            return rows.on_surface(index)[(*states, *parts)] if row is None else plain[(*states, row, *parts)]
        if _are_names(index):
            several = np.stack([self._of_name(rows, name) for name in index], axis=-2)
            return several[(*states, FULL, *parts)]
        if isinstance(index, slice) and index == FULL:
            return self._of_states(rows, plain[key], states, parts)
        found = plain[key]
        if not _is_mask(index):
            rows.warn_of_index(index)
        return found

    def __setitem__(self, key: Any, value: Any) -> None:
        rows, plain = self._rows, np.asarray(self)
        items = key if isinstance(key, tuple) else (key,)
        if rows is None:
            plain[key] = value
            return
        if self._starts_with_name(items):
            plain[..., _row_of(rows, items[0]), :][items[1:] or ...] = value
            return
        states, index, parts = _divided(items, self.ndim)
        if isinstance(index, str) or _are_names(index):
            found = _row_of(rows, index) if isinstance(index, str) else [_row_of(rows, name) for name in index]
            plain[(*states, found, *parts)] = value
            return
        plain[key] = value
        if not (isinstance(index, slice) and index == FULL) and not _is_mask(index):
            rows.warn_of_index(index)

    def _starts_with_name(self, items: Key) -> bool:
        """Return whether the first index is a name, though the first axis is not that of the bodies."""
        return bool(items) and isinstance(items[0], str) and self.ndim > 2

    def _of_name(self, rows: WrenchRows, name: str) -> np.ndarray:
        """Return the wrenches (...) on a body or surface."""
        row = rows.row(name)
        return rows.on_surface(name) if row is None else np.asarray(self)[..., row, :]

    def _of_states(self, rows: WrenchRows, found: np.ndarray, states: Key, parts: Key) -> np.ndarray:
        """Return the result of an index that leaves the axis of bodies in its place, with their names.

        It has none without an axis of parts, or if arrays are among the indices that may reorder the axes.
        """
        arrays = [x for x in states if not (x is None or isinstance(x, slice | int | np.integer))]
        slices = sum(isinstance(x, slice) for x in states)
        if len(parts) != 1 or not isinstance(parts[0], slice) or (arrays and slices + 1 != len(states)):
            return found
        return self.of(found, rows.of_states(states) if parts[0] == FULL else rows.of_parts())

    def __iter__(self) -> Iterator[Any]:
        if self._rows is None or self.ndim == 2:
            return iter(np.asarray(self))
        return (self[k] for k in range(len(self)))

    def copy(self, order: Any = "C") -> Self:
        """Return a copy with the same names."""
        return self.of(np.asarray(self).copy(order), self._rows)

    def astype(self, *given: Any, **options: Any) -> Any:
        """Return numbers of another type with the same names."""
        return self.of(np.asarray(self).astype(*given, **options), self._rows)

    def __copy__(self) -> Self:
        return self.copy("K")

    def __deepcopy__(self, memo: Any) -> Self:
        return self.copy("K")

    def __reduce__(self) -> tuple[Any, ...]:
        rows = self._rows
        return self.of, (np.asarray(self), None if rows is None else rows.stored())

    def __repr__(self) -> str:
        return repr(np.asarray(self))

    def __str__(self) -> str:
        return str(np.asarray(self))


class PairWrenches(NamedWrenches):
    """Contact wrenches (..., P, 12) of pairs of bodies and surfaces that are indexed by two names.

    wrench["foot", "floor"] is the wrench (..., 6) that the second exerts on the first, at the origin of the first (of
    the world for a surface). It is zero for two that did not touch. The name "ground" means all surfaces together.
    Each row is the wrench on the first of `pairs`, then on the second. A step has a row for each pair that may touch, a
    run for each that touched, so an integer in the place of two names issues a LayoutWarning, once in a process.

    Examples
    --------
    >>> crate = treesim.free_body("crate", "box", (0.2, 0.2, 0.2), 1.0)
    >>> stepper = treesim.Stepper(treesim.World(crate, ground=treesim.Ground(name="floor")))
    >>> contact = stepper.step(stepper.reset([0, 0, 0.1, 0, 0, 0, 1]))[1].contact
    >>> contact.pair_wrench.pairs, contact.pair_wrench["crate", "floor"][2].round(6)
    ((('crate', 'floor'),), np.float64(9.81))
    """

    _rows: PairRows | None

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Names of the pairs; none without names."""
        return () if self._rows is None else self._rows.pairs

    def __getitem__(self, key: Any) -> Any:
        if self._rows is None or not (isinstance(key, tuple) and _are_names([*key[-2:]]) and len(key) > 1):
            return super().__getitem__(key)
        return self._rows.between(np.asarray(self), *key[-2:])[key[:-2]]


def _row_of(rows: WrenchRows, name: str) -> int:
    """Return the row of a name; raises ArgumentError for a surface without one."""
    row = rows.row(name)
    if row is None:
        raise ArgumentError(f"the wrench on {quoted(name)} is a sum over pairs: set those on bodies")
    return row


def _plain(x: Any) -> Any:
    return np.asarray(x) if isinstance(x, NamedWrenches) else x


def _divided(items: Key, ndim: int) -> tuple[Key, Any, Key]:
    """Return the indices of the axes before the last but one, of that axis, and of the last one.

    A mask of several axes that includes the axis is returned as its index.
    """
    used = sum(_axes_of(x) for x in items if x is not Ellipsis)
    rest = [FULL] * (ndim - used)
    filled: list[Any] = []
    for x in items:
        filled += rest if x is Ellipsis else [x]
    if not any(x is Ellipsis for x in items):
        filled += rest
    begun = 0
    for k, x in enumerate(filled):
        begun += _axes_of(x)
        if begun > ndim - 2:
            return tuple(filled[:k]), x, tuple(filled[k + 1 :])
    raise IndexError(f"too many indices: an array of {ndim} axes is indexed by {used}")


def _axes_of(x: Any) -> int:
    """Return the number of axes of an array that an index consumes."""
    if x is None or isinstance(x, bool | np.bool_):
        return 0
    return np.ndim(x) if _is_mask(x) else 1


def _is_mask(x: Any) -> bool:
    return isinstance(x, np.ndarray | list) and np.asarray(x).dtype == bool


def _are_names(x: Any) -> bool:
    return isinstance(x, list) and bool(x) and all(isinstance(name, str) for name in x)
