"""Entries: the interface of kernels to Python, for many states, generated from a declaration of arrays.

A kernel works on one state. Its declaration names its arguments and results, with their shapes in one state. The
generated entry takes a robot's tables, further tables, and the arrays of all states, one after the other. It checks
sizes, allocates scratch memory once, and calls the kernel for each state. Engines read the declaration
(`entry.signature`) for types, argument validation and fast calls.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable
from functools import lru_cache
from itertools import chain
from types import FunctionType
from typing import Any, NamedTuple

from ..algebra.joints import angle_memory, with_angles
from ..algebra.tables import tree_tables
from .status import FINE, NOT_FINITE, WRONG_SIZE

SYMBOLS = {"nq": "tree.nq", "nv": "tree.nv", "nnz": "tree.nnz", "N": "tree.n_bodies"}  # that shapes are made of

DRIVEN = {"q": "nq", "v": "nv", "tau": "nv'", "f_ext": "N, 6 | none"}  # arguments of forward dynamics
MOVING = {"q": "nq", "v": "nv", "a": "nv"}  # arguments of functions of a motion

KERNELS = "treesim.kernels"  # the package of treesim's own kernels
MADE = "<entry "  # begins the file name of functions that are made here
# functions on trees that sources generated for entries call
TREES = {"tree_tables": tree_tables, "angle_memory": angle_memory, "with_angles": with_angles}


class Array(NamedTuple):
    """An array of each state.

    shape: expressions in SYMBOLS and the declared sizes. result: True for results. optional: whether it may be empty.
    dual: which axes are of forces, dual to motions. unchecked: whether it is passed between kernels, without the check
    for finite numbers.
    """

    name: str
    shape: tuple[str, ...]
    result: bool
    optional: bool
    dual: tuple[bool, ...]
    unchecked: bool

    @property
    def size(self) -> str:
        """Number of elements, as an expression."""
        return " * ".join(f"({length})" for length in self.shape)


class Signature(NamedTuple):
    """Arguments and results of an entry.

    tables: tables besides the robot's, by kind (`annotations`). arrays: of each state, in order. sizes: further symbols
    of shapes, as expressions in the tables.
    """

    tables: dict[str, str]
    arrays: tuple[Array, ...]
    sizes: dict[str, str]


class Origin(NamedTuple):
    """Arguments of `entry` from which an entry was generated."""

    kernel: Callable[..., Any]
    scratch: Any
    signature: Signature
    returns_status: bool
    expands: bool
    follows: str
    articulated: bool
    reduce: Callable[..., Any] | None
    angles: bool


def entry(
    kernel: Callable[..., Any],
    scratch: Callable[..., Any] | tuple[Callable[..., Any], ...] | dict[str, Callable[..., Any]] | None = None,
    tables: dict[str, str] | None = None,
    sizes: dict[str, str] | None = None,
    returns_status: bool = False,
    expands: bool = False,
    follows: str = "",
    articulated: bool = False,
    reduce: Callable[..., Any] | None = None,
    angles: bool = False,
    name: str = "",
    **arrays: str,
) -> Callable[..., int]:
    """Return the entry of a kernel that works on one state, and whose parameters have the declared names.

    arrays: the shape of each, as "nq", "N, 6", or "6 * k, nv'". A result has "-> " in front. " | none" at the end marks
    an argument that may be empty, which then has no rows; " | unchecked" one that is passed between kernels, whose
    numbers are not checked. nv is an axis of motions, nv' one of forces, such as the columns of a Jacobian. sizes:
    further symbols. tables: {name: kind of `annotations`} of arguments that do not depend on the state. scratch:
    function that allocates memory with the dtype of the first array (`scratch_memory`). Its parameters may be tree,
    ints, the tables and the first array, also called `number`. The kernel gets the result as `scratch`, or as its last
    parameters if none has that name. With several functions, each returns one of these; a dict names their parameters,
    which may be any. returns_status: whether the kernel returns a status; the entry returns the worst of all states.
    expands: whether the kernel is correct on the spanning tree of a robot with mimic joints, if its arrays are expanded
    and contracted (`mimic_entry`). follows: name of the result that is a response to forces there, such as qdd; the
    constraints of the mimic joints correct it. articulated: whether scratch memory named X, U and D_inv then has these
    articulated quantities (`rjk`), so that the correction need not compute them. reduce: kernel that converts the
    results there to those of the robot. Its parameters may be the spanning tree, `mimic`, `rows` (`mimic`), tables and
    arrays. angles: whether all transforms of the kernel are at its argument q, so that their sines and cosines can be
    computed before it (`joints.with_angles`). The entry's name is `name`, by default the kernel's, with the suffix
    `_states`; it must be unique in a module. Kernels call those of other entries without tables by
    `entry.memory(tree, ints, first array)` and `entry.one(tree, *arrays, memory)`, which returns a status.
    """
    declared = Signature(tables or {}, tuple(_array(name, text) for name, text in arrays.items()), sizes or {})
    name, wanted = f"{name or kernel.__name__}_states", parameters_of(kernel)
    if isinstance(scratch, tuple):
        scratch = dict(zip(wanted[-len(scratch) :], scratch, strict=True))
    namespace: dict[str, Any] = {
        "__name__": kernel.__module__, "kernel": kernel, **TREES, **scratch_functions(scratch),
        "FINE": FINE, "NOT_FINITE": NOT_FINITE, "WRONG_SIZE": WRONG_SIZE,
    }  # fmt: skip
    made: Any = made_entry(name, _text(name, declared, wanted, scratch, returns_status, angles), namespace)
    made.__doc__ = kernel.__doc__
    made.origin = Origin(kernel, scratch, declared, returns_status, expands, follows, articulated, reduce, angles)
    made.signature, made.kernel = declared, kernel
    if not (declared.tables or declared.sizes):
        texts = _part_texts(name, declared, wanted, scratch, returns_status)
        made.memory, made.one = (made_entry(part, text, dict(namespace)) for part, text in texts.items())
    return made


def fuses(states: Any) -> bool:
    """Return whether code of an entry may fuse products with sums; else every operation is rounded as written."""
    return getattr(states, "fuses", True)


def is_faster_looped(states: Any) -> bool:
    """Return whether code of an entry for many states is faster if it is looped, unless it is short."""
    return getattr(states, "faster_looped", False)


def is_called_rarely(states: Any) -> bool:
    """Return whether an entry is called at the starts of simulations only: then compiling it costs more than calls."""
    return getattr(states, "called_rarely", False)


@lru_cache(maxsize=256)
def unfused(states: Any) -> Any:
    """Return an entry whose products and sums are rounded one by one.

    Then all code for it has the same bits: for one state or many, traced or not.
    """
    if not fuses(states):
        return states
    made = FunctionType(states.__code__, states.__globals__, states.__name__, None, states.__closure__)
    made.__dict__.update(states.__dict__)
    made.__annotations__, made.__doc__ = states.__annotations__, states.__doc__
    made.__name__, made.fuses = f"{states.__name__}_unfused", False
    return made


def on_mass_matrix(states: Any) -> bool:
    """Return whether an entry computes the mass matrix: as its array M, or packed, in memory of nnz numbers."""
    if not hasattr(states, "origin"):
        return False
    memory = (getattr(part, "shapes", ()) for part in scratch_functions(states.origin.scratch).values())
    return any(array.name == "M" for array in states.signature.arrays) or "nnz" in chain.from_iterable(memory)


def is_mimic_entry(states: Any) -> bool:
    """Return whether an entry is that of robots with mimic joints."""
    return getattr(states, "mimic", False)


def made_entry(name: str, text: str, namespace: dict[str, Any]) -> Any:
    """Return the entry `name` that the source `text` defines."""
    return made_function(f"{MADE}{namespace['__name__']}.{name}>", text, name, namespace)


def made_function(place: str, text: str, name: str, namespace: dict[str, Any]) -> FunctionType:
    """Return the function `name` that generated source defines; `inspect` finds the source in the file `place`."""
    linecache.cache[place] = (len(text), None, text.splitlines(keepends=True), place)
    exec(compile(text, place, "exec"), namespace)  # with this file's __future__: annotations are names
    return namespace[name]


def _part_texts(
    name: str, declared: Signature, wanted: list[str], scratch: Any, returns_status: bool
) -> dict[str, str]:
    """Return the sources of two functions: allocation of scratch memory, and a kernel call on one state."""
    given, memory, one = [x.name for x in declared.arrays], f"{name}_memory", f"{name}_one"
    call = kernel_call(wanted, {name: name for name in ("tree", "scratch", *given)}, scratch)
    return {
        memory: f"def {memory}(tree, ints, {given[0]}):\n    return {memory_of(scratch, declared.arrays[0]) or '()'}\n",
        one: f"def {one}(tree, {', '.join(given)}, scratch):\n    "
        + (f"return {call}\n" if returns_status else f"{call}\n    return FINE\n"),
    }


def stages_of(states: Any, **tables: str) -> Callable[[Any], Any]:
    """Return a decorator that declares a kernel which computes one of several shares of some stages of one state.

    Its parameters are the robot's tables, further tables and memory by kind, the first and last stage, the index of its
    share and the number of shares, and the arrays of the entry `states`. Raises TypeError for other parameters.
    """
    kinds = {"ints": "TableOfIntegers", "reals": "TableOfReals", **tables}
    kinds |= dict.fromkeys(("first", "last", "share", "shares"), "Integer")
    kinds |= {array.name: "Reals" for array in states.signature.arrays}

    def declare(kernel: Any) -> Any:
        if parameters_of(kernel) != list(kinds):
            raise TypeError(f"{kernel.__name__}: the kernel takes other arguments than {', '.join(kinds)}")
        kernel.__annotations__ = {**kinds, "return": "int"}
        return kernel

    return declare


def _array(name: str, text: str) -> Array:
    shape, _, option = text.removeprefix("-> ").partition(" | ")
    axes = [length.strip() for length in shape.split(",")]
    dual, bare = tuple(length.endswith("'") for length in axes), tuple(length.rstrip("'") for length in axes)
    return Array(name, bare, text[:2] == "->", option == "none", dual, option == "unchecked")


def parameters_of(function: Any) -> list[str]:
    """Return the names of a function's parameters."""
    return list(function.__code__.co_varnames[: function.__code__.co_argcount])


def kernel_call(wanted: list[str], given: dict[str, str], scratch: Any = None) -> str:
    """Return the expression that calls a kernel with the parameters `wanted`, from the expressions of those given.

    scratch: as in `entry`; the others are its parts.
    """
    parts = {name: f"scratch[{k}]" for k, name in enumerate(scratch)} if isinstance(scratch, dict) else {}
    known = [(parts | given)[parameter] for parameter in wanted if parameter in parts | given]
    return f"kernel({', '.join([*known, *(['*scratch'] if len(known) < len(wanted) else [])])})"


def scratch_functions(scratch: Any) -> dict[str, Any]:
    """Return the functions that allocate scratch memory, by their names in generated sources."""
    return {
        f"scratch_{name}": part for name, part in (scratch if isinstance(scratch, dict) else {"for": scratch}).items()
    }


def memory_of(scratch: Any, first: Array) -> str | None:
    """Return the expression that allocates scratch memory, None without any; first: array of an entry."""
    if scratch is None:
        return None
    calls = []
    for name, part in scratch_functions(scratch).items():
        given = [first.name if parameter == "number" else parameter for parameter in parameters_of(part)]
        calls.append(f"{name}({', '.join(given)})")
    return f"({', '.join(calls)},)" if isinstance(scratch, dict) else calls[0]


def _text(name: str, declared: Signature, wanted: list[str], scratch: Any, returns_status: bool, angles: bool) -> str:
    """Return the entry's source; wanted: parameters of the kernel. Raises TypeError for some that are not declared."""
    arrays, first, memory = declared.arrays, declared.arrays[0], memory_of(scratch, declared.arrays[0])
    kinds = {"ints": "TableOfIntegers", "reals": "TableOfReals", **declared.tables, **{x.name: "Reals" for x in arrays}}
    parameters = ", ".join(f"{name}: {kind}" for name, kind in kinds.items())
    symbols = [f"{symbol} = {value}" for symbol, value in (SYMBOLS | declared.sizes).items()]
    given = {"tree": tree_at("tree", angles, next((state_of(x) for x in arrays if x.name == "q"), ""))}
    given |= {"scratch": "scratch", **{table: table for table in declared.tables}}
    given |= {x.name: state_of(x) for x in arrays}
    missing = [parameter for parameter in wanted if parameter not in given]
    fits = (
        set(missing) == set(scratch)
        if isinstance(scratch, dict)
        else bool(missing) + ("scratch" in wanted) == (scratch is not None)
        and missing == wanted[len(wanted) - len(missing) :]
    )
    if not fits:
        raise TypeError(f"{name}: the kernel asks for {', '.join(wanted)}, which are not what is declared")
    call = kernel_call(wanted, given, scratch)
    return "\n    ".join([
        f"def {name}({parameters}) -> int:",
        "tree = tree_tables(ints, reals)",
        *symbols,
        f"count = {first.name}.size // ({first.size}) if {first.size} > 0 else 1",  # one state of what cannot move
        f"if count < 1 or {' or '.join(map(misfit, arrays))}:",
        "    return WRONG_SIZE",
        *([] if memory is None else [f"scratch = {memory}"]),
        *(["angles = angle_memory(tree, q)"] if angles else []),
        "status = FINE",
        "for s in range(count):",
        f"    status = max(status, {call})" if returns_status else f"    {call}",
        "return status\n",
    ])  # fmt: skip


def tree_at(tree: str, angles: bool, q: str) -> str:
    """Return the expression of the tree that a kernel gets, at a configuration; angles: as in `entry`."""
    return f"with_angles({tree}, {q}, angles)" if angles else tree


def misfit(x: Array) -> str:
    """Return the condition that the size of an array does not fit `count` states."""
    wrong = f"{x.name}.size != count * {x.size}"
    return f"({x.name}.size != 0 and {wrong})" if x.optional else wrong


def state_of(x: Array) -> str:
    """Return the expression of the part of an array that belongs to state s."""
    part = f"{x.name}[s * ({x.size}) : (s + 1) * ({x.size})]"
    if x.optional:  # as many rows a state as there are
        rows, columns = f"({x.name}.size // (count * ({x.shape[-1]})))", x.shape[-1]
        return f"{x.name}.reshape(({x.name}.size // ({columns}), {columns}))[s * {rows} : (s + 1) * {rows}]"
    return part if len(x.shape) == 1 else f"{part}.reshape(({', '.join(x.shape)}))"
