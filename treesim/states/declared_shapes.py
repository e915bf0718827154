"""Shapes of the arrays that an entry declares, for one robot."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from ..kernels.entries.entry import SYMBOLS, Signature, made_function

Shape = tuple[int, ...]


def _mentions(text: str, word: str) -> bool:
    """Return whether `word` occurs in the expressions `text`."""
    return re.search(rf"\b{word}\b", text) is not None


def symbols_in(signature: Signature, shapes: str) -> list[str]:
    """Return source lines that assign the symbols in `shapes`, from a robot `tree` and tables."""
    sizes = {symbol: f"int({text})" for symbol, text in signature.sizes.items() if _mentions(shapes, symbol)}
    used = " ".join([shapes, *sizes.values()])
    known = {symbol: text for symbol, text in SYMBOLS.items() if _mentions(used, symbol)}
    return [f"{symbol} = {text}" for symbol, text in (known | sizes).items()]


@lru_cache(maxsize=256)
def shapes_of(entry: Any) -> Callable[..., tuple[Shape, ...]]:
    """Return a function (robot, *tables) that returns the shapes of an entry's arrays, in order."""
    shapes = "".join(f"({', '.join(array.shape)},), " for array in entry.signature.arrays)
    lines = [
        f"def shapes({', '.join(['tree', *entry.signature.tables])}):",
        *symbols_in(entry.signature, shapes),
        f"return {shapes}",
    ]
    place = f"shapes of {entry.__module__}.{entry.__name__}"
    return made_function(f"<{place}>", "\n    ".join(lines) + "\n", "shapes", {})
