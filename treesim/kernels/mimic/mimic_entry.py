"""Entries for robots with mimic joints, generated from those of spanning trees.

The kernel of an entry runs on the spanning tree. For each state, q and motions are expanded to it, forces are applied
at the independent joints, and results are contracted or selected; see `mimic`. Robots without mimic joints use the
original entries.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from ..algebra.tables import tree_tables
from ..entries.entry import Array, Origin, Signature, made_entry, memory_of, misfit, parameters_of, state_of
from ..entries.status import FINE, WRONG_SIZE
from . import mimic as between
from .mimic import FOLLOWERS, follow, follower_rows, followers_of, with_shared_rotors

SYMBOLS = {"nq": "tied.nq", "nv": "tied.nv", "N": "tree.n_bodies"}  # that shapes are made of


def serves_followers(states: Any) -> bool:
    """Return whether an entry has a variant for robots with mimic joints."""
    origin: Origin | None = getattr(states, "origin", None)
    return origin is not None and (origin.expands or _has_rows(origin))


def _has_rows(origin: Origin) -> bool:
    """Return whether the variant uses the rows of mimic joints."""
    return bool(origin.follows) or origin.reduce is not None


@lru_cache(maxsize=256)
def tied_entry(states: Any) -> Callable[..., int]:
    """Return the variant of an entry for robots with mimic joints, with the same arrays in independent coordinates.

    Its tables are those of the spanning tree, `followers` and `ratios`, then the entry's own. Raises TypeError for an
    entry without a variant (`serves_followers`).
    """
    if not serves_followers(states):
        raise TypeError(f"{states.__name__} does not support robots with mimic joints")
    origin: Origin = states.origin
    name = (
        f"{states.__name__.removesuffix('_states').removesuffix('_tied')}_tied"  # steps are named after tied dynamics
    )
    signature = origin.signature._replace(tables=FOLLOWERS | origin.signature.tables)
    namespace: dict[str, Any] = {
        "__name__": origin.kernel.__module__, "kernel": origin.kernel, "scratch_for": origin.scratch, "np": np,
        **{f"scratch_{k}": x for k, x in enumerate(origin.scratch if isinstance(origin.scratch, tuple) else ())},
        "FINE": FINE, "WRONG_SIZE": WRONG_SIZE, "tree_tables": tree_tables, "followers_of": followers_of,
        "follow": follow, "follower_rows": follower_rows, "with_shared_rotors": with_shared_rotors,
        "reduce": origin.reduce, **_between(),
    }  # fmt: skip
    made: Any = made_entry(f"{name}_states", _text(f"{name}_states", origin, signature), namespace)
    made.__doc__, made.signature, made.kernel, made.tied = states.__doc__, signature, origin.kernel, True
    if origin.follows and not (origin.signature.tables or signature.sizes):
        texts = _part_texts(f"{name}_memory", f"{name}_one", origin)
        made.memory, made.one = (made_entry(part, text, dict(namespace)) for part, text in texts.items())
    function: Callable[..., int] = made
    return function


def _between() -> dict[str, Any]:
    """Return the functions of `mimic` that generated sources call, by name."""
    names = ("expand_positions", "pick_positions", "expand_motion", "pick_motion", "expand_force", "contract_force")
    return {name: getattr(between, name) for name in (*names, "contract_columns", "contract_matrix")}


def _text(name: str, origin: Origin, signature: Signature) -> str:
    """Return the source of the variant."""
    arrays = signature.arrays
    kinds = {
        "ints": "TableOfIntegers",
        "reals": "TableOfReals",
        **signature.tables,
        **{x.name: "Reals" for x in arrays},
    }
    count = f"count = {arrays[0].name}.size // ({arrays[0].size})"
    changed = [x for x in arrays if _is_expanded(x)]
    number = f"{arrays[0].name}.dtype"
    scratch = memory_of(origin.scratch)
    return "\n    ".join([
        f"def {name}({', '.join(f'{label}: {kind}' for label, kind in kinds.items())}) -> int:",
        "tree, tied = tree_tables(ints, reals), followers_of(followers, ratios)",
        *(f"{symbol} = {value}" for symbol, value in (SYMBOLS | signature.sizes).items()),
        count,
        f"if count < 1 or {' or '.join(map(misfit, arrays))}:",
        "    return WRONG_SIZE",
        *([] if scratch is None else [f"scratch = {scratch}"]),
        *(f"whole_{x.name} = np.empty({_whole_shape(x)}, {number})" for x in changed),
        *([f"rows = follower_rows(tree, tied, {arrays[0].name})"] if _has_rows(origin) else []),
        *(["moved = with_shared_rotors(tree, tied, rows)"] if _has_rows(origin) else []),
        "status = FINE",
        "for s in range(count):",
        *(f"    {_expansion(x)}" for x in changed if not x.result),
        *(f"    {line}" for line in _work(origin, lambda x: f"whole_{x.name}" if x in changed else state_of(x))),
        *(f"    {_contraction(x)}" for x in changed if x.result),
        "return status\n",
    ])  # fmt: skip


def _part_texts(memory: str, one: str, origin: Origin) -> dict[str, str]:
    """Return the sources of two functions: allocation of scratch memory, and the constrained kernel on one state."""
    arrays = [x.name for x in origin.signature.arrays]
    scratch = memory_of(origin.scratch) or "()"
    return {
        memory: f"def {memory}(tree, ints, followers, ratios, {arrays[0]}):\n"
        "    tied = followers_of(followers, ratios)\n"
        f"    return {scratch}, tied, follower_rows(tree, tied, {arrays[0]})\n",
        one: "\n    ".join([
            f"def {one}(tree, {', '.join(arrays)}, memory):",
            "scratch, tied, rows = memory",
            "moved = with_shared_rotors(tree, tied, rows)",
            "status = FINE",
            *_work(origin, lambda x: x.name),
            "return status\n",
        ]),
    }  # fmt: skip


def _work(origin: Origin, array: Callable[[Array], str]) -> list[str]:
    """Return the source lines that call the kernel on one state, and apply the constraints of mimic joints.

    array: function that returns the expression of an array.
    """
    wanted, arrays = parameters_of(origin.kernel), origin.signature.arrays
    tree = "moved" if _has_rows(origin) else "tree"
    given = {"tree": tree, "scratch": "scratch", **{table: table for table in FOLLOWERS | origin.signature.tables}}
    given |= {x.name: array(x) for x in arrays}
    known = [given[parameter] for parameter in wanted if parameter in given]
    call = f"kernel({', '.join([*known, *(['*scratch'] if len(known) < len(wanted) else [])])})"
    lines = [f"status = max(status, {call})" if origin.tells else call]
    if origin.follows:
        followed = next(array(x) for x in arrays if x.name == origin.follows)
        lines.append(f"follow(moved, tied, {array(arrays[0])}, {followed}, rows)")
    if origin.reduce is not None:
        given |= {"tied": "tied", "rows": "rows"}
        lines.append(f"reduce({', '.join(given[parameter] for parameter in parameters_of(origin.reduce))})")
    return lines


def _is_expanded(x: Array) -> bool:
    """Return whether an array has an axis of independent coordinates."""
    return any(re.search(r"\bn[qv]\b", length) for length in x.shape)


def _whole_shape(x: Array) -> str:
    """Return the shape of an array on the spanning tree, as an expression."""
    lengths = [re.sub(r"\b(n[qv])\b", r"tree.\1", length) for length in x.shape]
    return lengths[0] if len(lengths) == 1 else f"({', '.join(lengths)})"


def _expansion(x: Array) -> str:
    """Return the source line that expands an argument of one state to the spanning tree."""
    kind = {("nq",): "positions", ("nv",): "force" if x.dual[0] else "motion"}[x.shape]
    return f"expand_{kind}(tied, {state_of(x)}, whole_{x.name})"


def _contraction(x: Array) -> str:
    """Return the source line that contracts a result of one state from the spanning tree."""
    if x.shape == ("nv", "nv") and x.dual == (True, True):
        how = "contract_matrix"
    elif len(x.shape) == 2 and x.shape[1] == "nv" and x.dual == (False, True):
        how = "contract_columns"
    else:
        how = {("nq",): "pick_positions", ("nv",): "contract_force" if x.dual[0] else "pick_motion"}[x.shape]
    return f"{how}(tied, whole_{x.name}, {state_of(x)})"
