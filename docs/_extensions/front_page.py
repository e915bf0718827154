"""The front page's bars: times of one call, read from the page of results that a command writes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

SPEED = Path(__file__).parents[1] / "results" / "speed.md"
MARKER = "<!-- bars -->"
QUANTITIES = "forward dynamics", "inverse dynamics", "mass matrix"
ENGINES = "treesim", "Pinocchio", "MuJoCo"


class Times(NamedTuple):
    """Times of a quantity [us], by engine in the order of ENGINES."""

    quantity: str
    values: tuple[float, ...]


def times(text: str) -> list[Times]:
    """Return the times of the bound calls of treesim, and of other engines, for the first robot of the first table."""
    found = []
    for quantity in QUANTITIES:
        block = re.split(rf"│ {quantity} +│", text, maxsplit=1)[1].split("├", 1)[0]
        row = re.search(r"│ Dynamics\.\w+ +│ +([\d.]+): ([\d.]+) ([\d.]+)", block)
        if row is None:
            raise ValueError(f"{SPEED.name} has no bound call of {quantity}")
        own, *ratios = map(float, row.groups())
        found.append(Times(quantity, (own, *(own * ratio for ratio in ratios))))
    return found


def versions(text: str) -> str:
    """Return the versions of the other engines in the first table."""
    record = re.search(r"^\*Run on (.*)\*$", text, re.MULTILINE)
    known = dict(re.findall(r"(pin|mujoco) ([\d.]+[\d])", record[1] if record else ""))
    return f"Pinocchio {known.get('pin', '')}, MuJoCo {known.get('mujoco', '')}"


def bars(text: str) -> str:
    """Return the bars as HTML."""
    found = times(text)
    most = max(max(each.values) for each in found)
    rows = []
    for each in found:
        rows.append(f'<div class="bars-title">{each.quantity}</div>')
        for engine, value in zip(ENGINES, each.values, strict=True):
            own = " bar-own" if engine == ENGINES[0] else ""
            bar = f'<span class="bar{own}" style="width: {100 * value / most:.1f}%"></span>'
            rows.append(f'<div class="bars-row"><span class="bars-name">{engine}</span>{bar} {value:.2g} µs</div>')
    return f'```{{raw}} html\n<div class="bars">{"".join(rows)}</div>\n```\n'


def fill(app: Any, docname: str, source: list[str]) -> None:
    """Replace the marker of a page by the bars, and {versions} by those of the other engines."""
    if MARKER in source[0]:
        text = SPEED.read_text(encoding="utf-8")
        source[0] = source[0].replace(MARKER, bars(text)).replace("{versions}", versions(text))


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("source-read", fill)
    return {"parallel_read_safe": True}
