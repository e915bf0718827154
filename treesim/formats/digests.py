"""Digests of a file's contents, which reveal corrupted bits that most formats do not detect.

Digests cover the bits of every number; all NaN count as equal, since text formats do not distinguish them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ..errors import ArgumentError
from ..simulation.trajectory import Trajectory
from ..system.files import DIGITS, digest_of

KEY, DESCRIPTION = "digests", "description"  # in a description, and there that of the description itself
LABELS = ("t", "q", "v", "tau", "energy", "work")
# by label, which is part of a digest: files of older versions have these
CONTACT_LABELS = {"wrench": "wrench", "told": "solver_info", "pair_wrench": "pair_wrench"}
AT_ONCE = 1 << 18  # numbers that are copied at a time


def with_digests(description: Mapping[str, Any], trajectory: Trajectory) -> dict[str, Any]:
    """Return a description, as JSON parses it, with the digests of a trajectory's arrays and of the description."""
    whole = {**description, KEY: array_digests(trajectory)}
    return {**description, KEY: {**whole[KEY], DESCRIPTION: digest_of(whole)}}


def check_description(values: Mapping[str, Any], digests: Mapping[str, str]) -> None:
    """Raise ArgumentError if a parsed description does not match its digest; files of older versions have none."""
    arrays = {name: digest for name, digest in digests.items() if name != DESCRIPTION}
    if digests and digests.get(DESCRIPTION) != digest_of({**values, KEY: arrays}):
        raise _differs("its description is not the one that was")


def check_arrays(digests: Mapping[str, str], trajectory: Trajectory) -> None:
    """Raise ArgumentError, naming the arrays, if arrays do not match the digests of a description, if it has any."""
    written = {name: digest for name, digest in digests.items() if name != DESCRIPTION}
    found = array_digests(trajectory) if written else {}
    wrong = [name for name in {**written, **found} if written.get(name) != found.get(name)]
    if wrong:
        raise _differs(f"numbers of {', '.join(wrong)} are not those that were")


def _differs(what: str) -> ArgumentError:
    return ArgumentError(
        f"{what} written, as a digest shows: take another copy, or, where it was changed on purpose, remove "
        f'"{KEY}" from the description'
    )


def array_digests(trajectory: Trajectory) -> dict[str, str]:
    """Return a digest of each array's name, shape and numbers, by name. About 1 s for 1 GB."""
    found = {label: _digest(label, getattr(trajectory, label)) for label in LABELS}
    if trajectory.contact is not None:
        for label, name in CONTACT_LABELS.items():
            found[f"contact.{label}"] = _digest(f"contact.{label}", getattr(trajectory.contact, name))
        if trajectory.contact.points is not None:
            for label, x in _fields(trajectory.contact.points):
                found[f"contact.points.{label}"] = _digest(f"contact.points.{label}", x)
    for name, readings in trajectory.sensors.items():
        found[f"sensor.{name}"] = _digest(f"sensor.{name}", readings)
    return found


def _fields(points: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the label and the numbers of every field of contact points; names as code points."""
    for label in points.dtype.names or ():
        x = points[label]
        yield label, np.array([ord(c) for name in x for c in f"{name}\0"]) if x.dtype.kind == "U" else x


def _digest(label: str, array: np.ndarray) -> str:
    digested = hashlib.sha256(f"{label} {array.shape}".encode())
    rows = max(1, AT_ONCE * len(array) // max(1, array.size))
    for start in range(0, len(array), rows):
        block = np.ascontiguousarray(array[start : start + rows], "<f8")
        odd = np.isnan(block)
        digested.update((np.where(odd, np.nan, block) if odd.any() else block).data)
    return digested.hexdigest()[:DIGITS]
