"""Options --vary and --measure of `treesim sweep`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..errors import ArgumentError, UnknownNameError, quoted, unknown_name
from .common import split_pair
from .formulas import formula

if TYPE_CHECKING:
    from ..model.tree import Tree
    from ..rollouts.measures import Measure

CALL = re.compile(r"(\w+)\((.*)\)", re.DOTALL)
VARY = (
    "Random values, written as NAME=DISTRIBUTION. Distributions are normal(mean,sd), uniform(a,b) and loguniform(a,b). "
    "A list a,b,c draws one of its values. scale(DISTRIBUTION) multiplies the robot's values by a random factor. "
    "around(sd), for q0 only, adds random displacements to the nominal configuration"
)
KINDS = ("any_", "all_", "first_time", "minimum", "maximum", "mean", "last", "stop")


def vary_options(texts: Sequence[str]) -> dict[str, Any]:
    """Return the entries of `vary` from --vary options; raises ArgumentError with the wrong one."""
    found = {}
    for text in texts:
        name, given = split_pair("--vary", text, last=True)
        if name in found:
            raise ArgumentError(f"--vary {quoted(name)[1:-1]} is given twice")
        with _named("--vary", name):
            found[name] = _distribution(given)
    return found


@contextmanager
def _named(option: str, name: str) -> Iterator[None]:
    """Context that adds the option's name to errors."""
    try:
        yield
    except ArgumentError as error:
        kind = UnknownNameError if isinstance(error, UnknownNameError) else ArgumentError
        raise kind(f"{option} {quoted(name)[1:-1]}: {error}") from None


def _distribution(given: str, scales: bool = False) -> Any:
    """Parse a distribution; scales: True inside scale(...)."""
    from .. import sweeps

    makers: Mapping[str, Callable[..., Any]] = {
        "normal": sweeps.Normal, "uniform": sweeps.Uniform, "loguniform": sweeps.LogUniform,
        "around": lambda sd: sweeps.around(sd=sd),
    }  # fmt: skip
    match = CALL.fullmatch(given)
    if match is None:
        return sweeps.Choice([_number(part) for part in given.split(",")])
    kind, inside = match[1], match[2].strip()
    if kind == "scale" and not scales:
        return sweeps.scale(_distribution(inside, scales=True))
    if kind not in makers or (scales and kind == "around"):
        known = [name for name in (*makers, "scale") if not (scales and name in ("around", "scale"))]
        raise unknown_name("distribution inside scale(...)" if scales else "distribution", kind, known)
    numbers = [_number(part) for part in inside.split(",")]
    try:
        return makers[kind](*numbers)
    except TypeError:
        raise ArgumentError(f"{kind} does not take {len(numbers)} numbers: {VARY}") from None


def _number(part: str) -> float:
    try:
        return float(part)
    except ValueError:
        raise ArgumentError(f"{quoted(part.strip())} is no number: {VARY}") from None


def measure_options(texts: Sequence[str], robot: Tree) -> dict[str, Measure]:
    """Return the measures from --measure options; raises ArgumentError with the wrong one."""
    from ..rollouts import measures

    found = {}
    for text in texts:
        name, given = split_pair("--measure", text)
        if name in found:
            raise ArgumentError(f"--measure {quoted(name)[1:-1]} is given twice")
        match = CALL.fullmatch(given)
        if match is None:
            raise ArgumentError(f"--measure {quoted(text)}: NAME=KIND(FORMULA) is needed, such as fell=any(q[2] < 0.4)")
        kind = match[1] + "_" * (match[1] in ("any", "all"))
        if kind not in KINDS:
            raise unknown_name("kind of measure", match[1], [one.rstrip("_") for one in KINDS])
        with _named("--measure", name):
            found[name] = getattr(measures, kind)(formula(match[2], robot))
    return found
