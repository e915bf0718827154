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

from ..entries.entry import (
    TREES,
    Array,
    Origin,
    Signature,
    kernel_call,
    made_entry,
    memory_of,
    misfit,
    parameters_of,
    scratch_functions,
    state_of,
    tree_at,
)
from ..entries.status import FINE, WRONG_SIZE
from . import mimic as between
from .mimic import MIMIC_TABLES, follow, follow_articulated, mimic_joints_of, mimic_row_memory, with_shared_rotors

SYMBOLS = {"nq": "mimic.nq", "nv": "mimic.nv", "N": "tree.n_bodies"}  # that shapes are made of


def serves_mimic_joints(states: Any) -> bool:
    """Return whether an entry has a variant for robots with mimic joints."""
    origin: Origin | None = getattr(states, "origin", None)
    return origin is not None and (origin.expands or _has_rows(origin))


def _has_rows(origin: Origin) -> bool:
    """Return whether the variant uses the rows of mimic joints."""
    return bool(origin.follows) or origin.reduce is not None


@lru_cache(maxsize=256)
def mimic_entry(states: Any) -> Callable[..., int]:
    """Return the variant of an entry for robots with mimic joints, with the same arrays in independent coordinates.

    Its tables are those of the spanning tree, `mimic_ints` and `mimic_reals`, then the entry's own. Raises TypeError
    for an entry without a variant (`serves_mimic_joints`).
    """
    if not serves_mimic_joints(states):
        raise TypeError(f"{states.__name__} does not support robots with mimic joints")
    origin: Origin = states.origin
    name = f"{states.__name__.removesuffix('_states').removesuffix('_mimic')}_mimic"
    signature = origin.signature._replace(tables=MIMIC_TABLES | origin.signature.tables)
    namespace: dict[str, Any] = {
        "__name__": origin.kernel.__module__, "kernel": origin.kernel, "np": np, **scratch_functions(origin.scratch),
        "FINE": FINE, "WRONG_SIZE": WRONG_SIZE, **TREES, "mimic_joints_of": mimic_joints_of,
        "follow": follow, "follow_articulated": follow_articulated, "mimic_row_memory": mimic_row_memory,
        "with_shared_rotors": with_shared_rotors, "reduce": origin.reduce, **_between(),
    }  # fmt: skip
    made: Any = made_entry(f"{name}_states", _text(f"{name}_states", origin, signature), namespace)
    made.__doc__, made.signature, made.kernel, made.mimic = states.__doc__, signature, origin.kernel, True
    if origin.follows and not (origin.signature.tables or signature.sizes):
        texts = _part_texts(f"{name}_memory", f"{name}_one", origin)
        made.memory, made.one = (made_entry(part, text, dict(namespace)) for part, text in texts.items())
    return made


def _between() -> dict[str, Any]:
    """Return the functions of `mimic` that generated sources call, by name."""
    names = ("expand_positions", "pick_positions", "expand_motion", "pick_motion", "expand_force", "contract_force")
    names += ("expand_motions", "pick_matrix", "contract_columns", "contract_matrix", "contract_matrices")
    return {name: getattr(between, name) for name in names}


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
    scratch, own = memory_of(origin.scratch, arrays[0]), lambda x: f"full_{x.name}" if x in changed else state_of(x)
    return "\n    ".join([
        f"def {name}({', '.join(f'{label}: {kind}' for label, kind in kinds.items())}) -> int:",
        "tree, mimic = tree_tables(ints, reals), mimic_joints_of(mimic_ints, mimic_reals)",
        *(f"{symbol} = {value}" for symbol, value in (SYMBOLS | signature.sizes).items()),
        count,
        f"if count < 1 or {' or '.join(map(misfit, arrays))}:",
        "    return WRONG_SIZE",
        *([] if scratch is None else [f"scratch = {scratch}"]),
        *(f"full_{x.name} = np.empty({_full_shape(x)}, {number})" for x in changed),
        *([f"rows = mimic_row_memory(tree, mimic, {arrays[0].name})"] if _has_rows(origin) else []),
        *(["moved = with_shared_rotors(tree, mimic, rows)"] if _has_rows(origin) else []),
        *(["angles = angle_memory(tree, full_q)"] if origin.angles else []),
        "status = FINE",
        "for s in range(count):",
        *(f"    {_expansion(x)}" for x in changed if not x.result),
        *(f"    {line}" for line in _work(origin, origin.angles, own)),
        *(f"    {_contraction(x)}" for x in changed if x.result),
        "return status\n",
    ])  # fmt: skip


def _part_texts(memory: str, one: str, origin: Origin) -> dict[str, str]:
    """Return the sources of two functions: allocation of scratch memory, and the constrained kernel on one state."""
    arrays = [x.name for x in origin.signature.arrays]
    scratch = memory_of(origin.scratch, origin.signature.arrays[0]) or "()"
    return {
        memory: f"def {memory}(tree, ints, mimic_ints, mimic_reals, {arrays[0]}):\n"
        "    mimic = mimic_joints_of(mimic_ints, mimic_reals)\n"
        f"    return {scratch}, mimic, mimic_row_memory(tree, mimic, {arrays[0]})\n",
        one: "\n    ".join([
            f"def {one}(tree, {', '.join(arrays)}, memory):",
            "scratch, mimic, rows = memory",
            "moved = with_shared_rotors(tree, mimic, rows)",
            "status = FINE",
            *_work(origin, False, lambda x: x.name),
            "return status\n",
        ]),
    }  # fmt: skip


def _work(origin: Origin, angles: bool, array: Callable[[Array], str]) -> list[str]:
    """Return the source lines that call the kernel on one state, and apply the constraints of mimic joints.

    angles: as in `entry`. array: function that returns the expression of an array.
    """
    wanted, arrays = parameters_of(origin.kernel), origin.signature.arrays
    tree = "moved" if _has_rows(origin) else "tree"
    given = {"tree": tree_at(tree, angles, "full_q"), "scratch": "scratch"}
    given |= {table: table for table in MIMIC_TABLES | origin.signature.tables}
    given |= {x.name: array(x) for x in arrays}
    call = kernel_call(wanted, given, origin.scratch)
    lines = [f"status = max(status, {call})" if origin.returns_status else call]
    if origin.follows:
        followed = next(array(x) for x in arrays if x.name == origin.follows)
        if origin.articulated:
            known = "rows._replace(X=scratch.X, U=scratch.U, D_inv=scratch.D_inv)"
            lines.append(f"follow_articulated(moved, mimic, {followed}, {known})")
        else:
            lines.append(f"follow(moved, mimic, {array(arrays[0])}, {followed}, rows)")
    if origin.reduce is not None:
        given |= {"mimic": "mimic", "rows": "rows"}
        lines.append(f"reduce({', '.join(given[parameter] for parameter in parameters_of(origin.reduce))})")
    return lines


def _is_expanded(x: Array) -> bool:
    """Return whether an array has an axis of independent coordinates."""
    return any(re.search(r"\bn[qv]\b", length) for length in x.shape)


def _full_shape(x: Array) -> str:
    """Return the shape of an array on the spanning tree, as an expression."""
    lengths = [re.sub(r"\b(n[qv])\b", r"tree.\1", length) for length in x.shape]
    return lengths[0] if len(lengths) == 1 else f"({', '.join(lengths)})"


def _expansion(x: Array) -> str:
    """Return the source line that expands an argument of one state to the spanning tree."""
    if len(x.shape) == 2 and x.shape[1] == "nv":
        return f"expand_motions(mimic, {state_of(x)}, full_{x.name})"
    kind = {("nq",): "positions", ("nv",): "force" if x.dual[0] else "motion"}[x.shape]
    return f"expand_{kind}(mimic, {state_of(x)}, full_{x.name})"


def _contraction(x: Array) -> str:
    """Return the source line that contracts a result of one state from the spanning tree."""
    if x.shape == ("nv", "nv") and x.dual[0] == x.dual[1]:
        how = "contract_matrix" if x.dual[0] else "pick_matrix"
    elif len(x.shape) == 3 and x.shape[::2] == ("nv", "nv") and x.dual[::2] == (True, True):
        how = "contract_matrices"
    elif len(x.shape) == 2 and x.shape[1] == "nv" and x.dual == (False, True):
        how = "contract_columns"
    else:
        how = {("nq",): "pick_positions", ("nv",): "contract_force" if x.dual[0] else "pick_motion"}[x.shape]
    return f"{how}(mimic, full_{x.name}, {state_of(x)})"
