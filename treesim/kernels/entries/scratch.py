"""Scratch memory of kernels, generated from a declaration of its arrays."""

from __future__ import annotations

import re
from collections import namedtuple
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from .entry import SYMBOLS, made_function

ROWS = {"bodies": "tree.n_bodies + 1", "dofs": "tree.nv"}
MADE = {"": "np.empty({}, number.dtype)", "zeros": "np.zeros({}, number.dtype)", "integers": "np.empty({}, np.int64)"}


@cache  # equal declarations have one function
def scratch_memory(bodies: str = "", dofs: str = "", given: str = "", **arrays: str) -> Callable[..., Any]:
    """Return the function (tree, `given`, number) that allocates scratch memory of one state as a tuple of arrays.

    bodies: names of arrays with a row for each body, the base included, and their numbers in a row, as "X 12, V 6".
    dofs: likewise with a row for each degree of freedom; an array without a number has one axis. Each of the two is one
    block, since sweeps read and write all numbers of a row together. arrays: the shape of each further array, as in
    `entry`, with " | zeros" at the end if its numbers are initialized, or " | integers". given: parameters that
    occur in these shapes, such as tables of the entry. number: the array whose number type the memory has.
    """
    parameters = ", ".join(filter(None, ("tree", given, "number")))
    lines, parts = [f"def scratch_for({parameters}):"], {}
    for label, text in (("bodies", bodies), ("dofs", dofs)):
        columns, size = _columns(text)
        lines.append(f"{label} = {MADE[''].format(f'({ROWS[label]}, {size})')}" if columns else "")
        parts |= {name: f"{label}[:, {place}]" for name, place in columns.items()}
    for name, text in arrays.items():
        shape, _, kind = text.partition(" | ")
        parts[name] = MADE[kind].format(_shape(shape))
    lines.append(f"return Scratch({', '.join(parts.values())})\n")
    namespace = {"__name__": __name__, "np": np, "Scratch": namedtuple("Scratch", parts)}
    place = f"<scratch {given}: {bodies}; {dofs}; {arrays}>"
    function = made_function(place, "\n    ".join(lines), "scratch_for", namespace)
    function.__dict__["shapes"] = tuple(arrays.values())
    return function


@cache
def views_of(given: str, **fields: str) -> Callable[..., Any]:
    """Return the function (`given`, numbers) that returns the parts of a flat array as a named tuple of arrays.

    fields: the shape of each part, one after the other; a first length of -1 takes the rest of the numbers.
    """
    lines, parts = [f"def views({given}, numbers):", "at0 = 0"], []
    for k, text in enumerate(fields.values()):
        shape = _shape(text)
        size = " * ".join(f"({length})" for length in shape.strip("()").split(", "))
        if text.startswith("-1"):
            size = f"numbers.size - at{k}"
        lines.append(f"at{k + 1} = at{k} + {size}")
        parts.append(f"numbers[at{k}:at{k + 1}]" + (f".reshape({shape})" if "," in shape else ""))
    lines.append(f"return Views({', '.join(parts)})\n")
    namespace = {"__name__": __name__, "Views": namedtuple("Views", fields)}
    return made_function(f"<views {given}: {fields}>", "\n    ".join(lines), "views", namespace)


def _columns(text: str) -> tuple[dict[str, str], int]:
    """Return the columns of each named array in a block, as an index, and the number of all columns."""
    columns, end = {}, 0
    for name, _, count in (part.partition(" ") for part in filter(None, text.split(", "))):
        columns[name] = f"{end}:{end + int(count)}" if count else str(end)
        end += int(count or 1)
    return columns, end


def _shape(text: str) -> str:
    """Return a declared shape as an expression in a tree and the given arrays."""
    shape = re.sub(r"(?<!\.)\b\w+\b", lambda word: SYMBOLS.get(word[0], word[0]), text)
    return f"({shape})" if "," in shape else shape
