"""Processor levels for which code can be compiled instead of this machine's processor: of x86-64's psABI, and of ARM64.

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
    """Processor level.

    name: in $TREESIM_CPU. vector_bytes: vector width. fuses: whether it has FMA. added: features added to the last
    level, by LLVM's names. processor, features: of LLVM's target.
    """

    name: str
    vector_bytes: int
    fuses: bool
    added: str
    processor: str
    features: str = ""


X86_64 = (
    Level("x86-64", 16, False, "sse2", "x86-64"),
    Level("x86-64-v2", 16, False, "cx16 popcnt sahf sse3 sse4.1 sse4.2 ssse3", "x86-64-v2"),
    Level("x86-64-v3", 32, True, "avx avx2 bmi bmi2 f16c fma lzcnt movbe xsave", "x86-64-v3"),
    Level("x86-64-v4", 64, True, "avx512bw avx512cd avx512dq avx512f avx512vl", "x86-64-v4"),
)
ARM64 = (
    Level("armv8-a", 16, True, "neon", "generic"),
    Level("armv8.2-a", 16, True, "crc lse", "generic", "+v8.2a"),
)
LEVELS = {"x86_64": X86_64, "aarch64": ARM64, "arm64": ARM64}  # by the first part of LLVM's triples


def levels_of(triple: str) -> tuple[Level, ...]:
    """Return the levels of a target's family of processors, lowest first; none for other families."""
    return LEVELS.get(triple.partition("-")[0], ())


def wanted(triple: str, features: Mapping[str, bool]) -> Level | None:
    """Return the level in $TREESIM_CPU, None if it is not set.

    triple: LLVM's, of this machine. features: of this machine's processor, by LLVM's names. Raises ArgumentError for an
    unknown level, and for one that this processor does not support: its instructions would end the process.
    """
    name = os.environ.get(VARIABLE)
    if not name:
        return None
    levels, family = levels_of(triple), triple.partition("-")[0]
    if not levels:
        raise ArgumentError(f"{VARIABLE} is {quoted(name)}, but must not be set: {family} processors have no levels")
    names = [level.name for level in levels]
    if name not in names:
        known = f"{', '.join(names[:-1])} or {names[-1]}"
        raise ArgumentError(f"{VARIABLE} is {quoted(name)}, but must be {known} on this machine's {family} processor")
    upto = levels[: names.index(name) + 1]
    if missing := [feature for level in upto for feature in level.added.split() if not features.get(feature)]:
        raise ArgumentError(f"{VARIABLE} is {quoted(name)}, but this machine's processor lacks {', '.join(missing)}")
    return upto[-1]
