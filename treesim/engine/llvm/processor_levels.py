"""Processor levels of the x86-64 psABI, for which code can be compiled instead of this machine's processor.

A level has the same features on processors of all makers. With $TREESIM_CPU=x86-64-v3 in the environment of
every machine of a mixed cluster, all run the same instructions. Results have the same bits on every level.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import NamedTuple

from ...errors import ArgumentError, quoted

VARIABLE = "TREESIM_CPU"


class Level(NamedTuple):
    """Processor level: LLVM's name, vector width [bytes], whether it has FMA, and features added to the last level."""

    name: str
    vector_bytes: int
    fuses: bool
    added: str


LEVELS = (
    Level("x86-64", 16, False, "sse2"),
    Level("x86-64-v2", 16, False, "cx16 popcnt sahf sse3 sse4.1 sse4.2 ssse3"),
    Level("x86-64-v3", 32, True, "avx avx2 bmi bmi2 f16c fma lzcnt movbe xsave"),
    Level("x86-64-v4", 64, True, "avx512bw avx512cd avx512dq avx512f avx512vl"),
)


def wanted(features: Mapping[str, bool]) -> Level | None:
    """Return the level in $TREESIM_CPU, None if it is not set.

    features: of this machine's processor, by LLVM's names. Raises ArgumentError for an unknown level, and for
    one that this processor does not support: its instructions would end the process.
    """
    name = os.environ.get(VARIABLE)
    if not name:
        return None
    names = [level.name for level in LEVELS]
    if name not in names:
        raise ArgumentError(f"{VARIABLE} is {quoted(name)}, but must be {', '.join(names[:-1])} or {names[-1]}")
    upto = LEVELS[: names.index(name) + 1]
    if missing := [feature for level in upto for feature in level.added.split() if not features.get(feature)]:
        raise ArgumentError(f"{VARIABLE} is {quoted(name)}, but this machine's processor lacks {', '.join(missing)}")
    return upto[-1]
