"""Entries with batched elements in tables that other entries read as constants.

One source serves all engines. In a trace, the batched elements are inputs of the code compiled for a robot, like
states, and the rest of the tables is folded as constants. In generic and interpreted code they are written to a copy of
the tables.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from .entry import fuses, is_mimic_entry, made_entry
from .status import FINE, WRONG_SIZE


@lru_cache(maxsize=256)
def batched_entry(
    states: Any, constants: int, tables: tuple[int, ...], arrays: int, before: int
) -> Callable[..., int]:  # fmt: skip
    """Return the variant of an entry (*constants, *arrays) with batched tables: (*constants, *places, *arrays).

    After the first `before` arrays it has an array with the batched elements of each state, table after table.
    constants, arrays: their numbers. tables: indices of the batched constants. places: indices of the batched elements
    of each of these. Entries without annotations are only for traces, and so are their variants.
    """
    kinds = list(states.__annotations__.items())[:-1] or [("", "")] * (constants + arrays)
    labels = [label or f"given_{k}" for k, (label, _) in enumerate(kinds)]
    fixed, others = labels[:constants], labels[constants:]
    places = [f"places_{fixed[table]}" for table in tables]
    parameters = [*fixed, *places, *others[:before], "numbers", *others[before:]]
    name = "_".join(["batched", *(fixed[table] for table in tables), states.__name__])
    text = _text(name, parameters, [fixed[table] for table in tables], places, fixed, others)
    namespace = {"__name__": states.__module__, "states": states, "np": np, "FINE": FINE, "WRONG_SIZE": WRONG_SIZE}
    made = made_entry(name, text, namespace)
    if states.__annotations__:
        kind = dict(kinds) | dict.fromkeys(places, "TableOfIntegers") | {"numbers": "Reals"}
        made.__annotations__ = {label: kind[label] for label in parameters} | {"return": "int"}
    made.__doc__, made.mimic, made.fuses = states.__doc__, is_mimic_entry(states), fuses(states)
    return made


def _text(
    name: str, parameters: list[str], tables: list[str], places: list[str], fixed: list[str], others: list[str]
) -> str:  # fmt: skip
    """Return the source of the variant, which writes the elements of each state to copies of the tables."""
    starts = [" + ".join([f"s * ({' + '.join(f'{p}.size' for p in places)})", *(f"{p}.size" for p in places[:k])])
              for k in range(len(places))]  # fmt: skip
    own = [f"own_{label}" if label in tables else label for label in fixed]
    one = [f"{x}[s * ({x}.size // count) : (s + 1) * ({x}.size // count)]" for x in others]
    return "\n    ".join([
        f"def {name}({', '.join(parameters)}):",
        f"count = numbers.size // ({' + '.join(f'{p}.size' for p in places)})",
        "if count < 1:",
        "    return WRONG_SIZE",
        *(f"own_{table} = np.empty({table}.size, numbers.dtype)" for table in tables),
        *(line for table in tables for line in (
            f"for k in range({table}.size):", f"    own_{table}[k] = {table}[k]")),
        "status = FINE",
        "for s in range(count):",
        *(line for table, place, start in zip(tables, places, starts, strict=True) for line in (
            f"    for k in range({place}.size):", f"        own_{table}[{place}[k]] = numbers[{start} + k]")),
        f"    status = max(status, states({', '.join([*own, *one])}))",
        "return status\n",
    ])  # fmt: skip
