"""Evaluation of entries on a robot's states, with arguments and results as the entries declare them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial, wraps
from operator import is_
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike

from ..engine.argument_checks import CONFIGURATIONS
from ..engine.call.batched import BatchedTables
from ..engine.call.bound_entry import BoundEntry
from ..engine.call.buffer_pool import empty
from ..engine.call.evaluate import evaluate, run_states, specialized_first
from ..engine.call.fast_entry import FastEntry
from ..engine.frontend.fastcall import BAD_LAYOUT, STATES, has_fast_entry
from ..engine.frontend.object_layout import address
from ..engine.graph.trace import is_traced, on_traced
from ..engine.llvm.strategies import wanted
from ..engine.threads import thread_count
from ..errors import ArgumentError
from ..kernels.entries.entry import is_mimic_entry, made_function, parameters_of
from ..kernels.entries.status import FINE
from ..kernels.mimic.mimic_entry import mimic_entry, serves_mimic_joints
from ..model.conventions import warn_of_conventions
from ..model.mimic import no_mimic_joints
from ..model.named_axes import AXES
from ..model.quaternions import configuration
from ..model.tree import Tree
from ..validation.arrays import Argument, precision
from ..validation.labels import Axis
from .declared_shapes import Shape, shapes_of, symbols_in

if TYPE_CHECKING:
    from .physics import Numbers

NOTHING = np.empty(0)
OBJECT = np.dtype(object)
NUMBERS, SIMD = (np.float64, np.float32), ("auto", "specialized")  # numbers and engines of SIMD code
KEPT = 64  # entries of a robot whose code for batches is known
F = TypeVar("F", bound=Callable[..., Any])
Explain = Callable[[dict[str, np.ndarray]], Exception]


def run_bound(
    bound: BoundEntry, inputs: Sequence[np.ndarray], results: Sequence[np.ndarray], engine: str | None = None
) -> int:
    """Run a bound entry on one state or a batch, in arrays `in_layout`; return the worst status.

    engine: of a batch, if not the entry's own. A state is a batch of one where Python cannot call its code directly,
    as if kernels run in the interpreter; a batch is run by `run_states` unless it has SIMD code.
    """
    arrays, count = [*inputs, *results], 1 if inputs[0].ndim == 1 else len(inputs[0])
    status = BAD_LAYOUT
    if inputs[0].ndim == 1:
        status = bound.call(*arrays)
    elif engine is None:
        status = bound.batch(*arrays)
    if status != BAD_LAYOUT:
        return status
    rows = [x.reshape(count, -1) for x in arrays]
    n = len(inputs)
    return run_states(bound.entry, bound.constants, rows[:n], rows[n:], engine or bound.engine)


def on_states(
    entry: Callable[..., int],
    robot: Tree,
    constants: Sequence[Any],
    values: Mapping[str, ArrayLike | None],
    explain: Explain | None = None,
    physics: Numbers | None = None,
    **options: Any,
) -> list[np.ndarray]:
    """Return an entry's results on all states; leading axes of the values are broadcast together. See `evaluate`.

    constants: arguments before the arrays of states: the robot's two tables, and those that the entry declares. values:
    {declared name: array}. physics: batched elements of the robot's real table, whose leading axes are broadcast with
    those of the values. options: as in `evaluate`.
    """
    if OBJECT in [getattr(value, "dtype", None) for value in values.values()] and any(map(is_traced, values.values())):
        return _on_traced_numbers(entry, robot, constants, values)
    if robot.mimic_map is not None:
        entry, constants = for_mimic_joints(entry, robot, constants)
    if physics is None:
        found = _many_states(entry, robot, constants, values, **options)
        found = _few_states(entry, robot, constants, values, **options) if found is None else found
        if found is not None:
            return found
    arguments, results = declared(entry, robot, constants, values)
    if physics is None:
        return evaluate(entry, constants, arguments, results, explain, **options)
    own = physics.values.astype(precision(*(a.value for a in arguments if a.value is not None)), copy=False)
    batched = BatchedTables((1,), (physics.places,), own)
    entry, constants = batched.taken_by(entry, constants, len(arguments) + len(results), len(arguments))
    arguments.append(Argument("model_parameters", own, physics.places.shape))
    return specialized_first(evaluate, entry, constants, arguments, results, explain, **options)


def _on_traced_numbers(
    entry: Any, robot: Tree, constants: Sequence[Any], values: Mapping[str, Any]
) -> list[np.ndarray]:
    """Return the results of one state of symbolic numbers, as functions that are traced for compilation have them.

    The entry's Python source runs on them. Raises ArgumentError for other objects, and for wrong shapes.
    """
    entry, constants = serving(entry, robot, constants)
    arguments, results = declared(entry, robot, constants, values)
    arrays = [NOTHING if a.value is None else np.asarray(a.value) for a in arguments]
    for argument, array in zip(arguments, arrays, strict=True):
        if array is not NOTHING and array.shape != argument.shape:
            raise ArgumentError(
                f"{argument.label} has shape {array.shape}, but {argument.shape} is needed: one state, where numbers "
                f"are not known yet"
            )
    return on_traced(entry, constants, arrays, results)


def _many_states(
    entry: Any,
    robot: Tree,
    constants: Sequence[Any],
    values: Mapping[str, Any],
    engine: str = "auto",
    out: np.ndarray | None = None,
    runner: Any = None,
    **_: Any,
) -> list[np.ndarray] | None:
    """Return the results of many states in dense arrays, by SIMD code; None where there is none."""
    inputs = [(array, values[array.name]) for array in entry.signature.arrays if not array.result]
    given = [x for array, x in inputs if x is not None or not array.optional]
    if type(engine) is not str or engine not in SIMD or runner is not None:
        return None
    lengths = {x.shape[:1] if type(x) is np.ndarray else () for x in given}
    if len(lengths) > 1 or max(lengths) < (STATES,):
        return None
    own = robot.spanning_tables()
    others = constants[len(own) :]
    if not all(map(is_, own, constants)) or any([type(x) is not np.ndarray or x.flags.writeable for x in others]):
        return None  # constants of this call only: code is looked up by what they contain
    absent = frozenset([array.name for array, x in inputs if x is None])
    return _on_lanes(entry, robot, constants, others, given, absent, out)


def _on_lanes(
    entry: Any,
    robot: Tree,
    constants: Sequence[Any],
    others: Sequence[np.ndarray],
    given: Sequence[Any],
    absent: frozenset[str],
    out: np.ndarray | None,
) -> list[np.ndarray] | None:
    """Return the results of as many states as the first array has; None for what SIMD code refuses.

    others: constants besides the robot's. absent: names of arguments that are None.
    """
    number = given[0].dtype.type
    if number not in NUMBERS or not robot.nq:
        return None
    if out is not None and (type(out) is not np.ndarray or any([np.may_share_memory(out, x) for x in given])):
        return None  # arguments that explain an error must not be overwritten
    bound = _batch_entry(entry, robot, constants, others, absent, number)
    found = [] if out is None else [out]
    found += [empty((len(given[0]), *shape), given[0].dtype) for shape in bound.results[len(found) :]]
    status = bound.call(*given, *found)
    if status == BAD_LAYOUT:
        status = bound.batch(*given, *found)
    return found if status == FINE else None


def _batch_entry(
    entry: Any, robot: Tree, constants: Sequence[Any], others: Sequence[np.ndarray], absent: frozenset[str], number: Any
) -> BoundEntry:
    """Return an entry bound for batches, made at the first call; absent: names of arguments that are None."""
    alone, entries = thread_count() == 1, _batch_entries.setdefault(robot, {})
    key = entry, number, alone, wanted(), absent, *[(address(x), x.size) for x in others]
    bound = entries.get(key)
    if bound is None:
        if len(entries) >= KEPT:
            entries.clear()
        shapes = [*zip(entry.signature.arrays, shapes_of(entry)(robot, *constants[2:]), strict=True)]
        taken = [(0,) if array.name in absent else shape for array, shape in shapes if not array.result]
        results = [shape for array, shape in shapes if array.result]
        bound = entries[key] = BoundEntry(entry, constants, taken, results, number, alone=alone, single=False)
    return bound


# by entry, kind of arguments, and addresses of further tables, which each keeps
_batch_entries: WeakKeyDictionary[Tree, dict[Any, BoundEntry]] = WeakKeyDictionary()


def _few_states(
    entry: Any,
    robot: Tree,
    constants: Sequence[Any],
    values: Mapping[str, Any],
    engine: str = "auto",
    out: np.ndarray | None = None,
    **others: Any,
) -> list[np.ndarray] | None:
    """Return the results of one or a few states in float arrays, by the entry's fast call; None where there is none."""
    if type(engine) is not str or engine != "auto" or out is not None or others.get("runner") is not None:
        return None
    first = values[entry.signature.arrays[0].name]
    if not robot.nq or not has_fast_entry(entry) or not isinstance(first, np.ndarray):
        return None
    batch = first.shape[: first.ndim - len(entry.signature.arrays[0].shape)]
    if len(batch) > 1 or (batch and batch[0] >= STATES):
        return None
    arrays, results = [], []
    for array, shape in zip(entry.signature.arrays, shapes_of(entry)(robot, *constants[2:]), strict=True):
        if array.result:
            results.append(np.empty((*batch, *shape)))
        arrays.append(results[-1] if array.result else NOTHING if values[array.name] is None else values[array.name])
    return results if _fast_entry(entry).call(*constants, *arrays) == FINE else None


_fast_entry = lru_cache(maxsize=256)(FastEntry)


def other_fast_call(fast: FastEntry, robot: Tree, given: Sequence[Any], mimic: bool = True) -> np.ndarray | None:
    """Return the only result of an entry for a robot with mimic joints, or for a few states, in a single call.

    given: arguments that the fast call refused; the last is the result of one state. mimic: whether the variant for
    mimic joints serves. Returns None for what it refuses: anything but one state or a few, in float arrays.
    """
    if robot.mimic_map is not None:
        if not mimic:
            return None
        own = given[0] is robot.ints and given[1] is robot.reals
        tables = robot.spanning_tables() if own else mimic_constants(robot, given[:2])
        fast, given = _mimic_fast_entry(fast.entry), (*tables, *given[2:])
        if fast.call(*given) == FINE:
            found: np.ndarray = given[-1]
            return found
    signature = fast.entry.signature  # type: ignore[attr-defined]
    q, axes = given[2 + len(signature.tables)], len(signature.arrays[0].shape)
    if type(q) is not np.ndarray or q.ndim != axes + 1 or len(q) >= STATES:
        return None
    result = np.empty((len(q), *given[-1].shape))
    return result if fast.call(*given[:-1], result) == FINE else None


@lru_cache(maxsize=256)
def _mimic_fast_entry(entry: Any) -> FastEntry:
    """Return the fast call of the variant; without one, that of the entry, for which there are too many tables."""
    return _fast_entry(mimic_entry(entry) if serves_mimic_joints(entry) else entry)


def for_mimic_joints(entry: Any, robot: Tree, constants: Sequence[Any]) -> tuple[Any, tuple[Any, ...]]:
    """Return the variant of an entry for robots with mimic joints, and its constants.

    The constants are the spanning tree's tables instead of the robot's, followed by those of the mimic joints. Raises
    UnsupportedError if the entry has no such variant.
    """
    if is_mimic_entry(entry):
        return entry, tuple(constants)
    if not serves_mimic_joints(entry):
        raise no_mimic_joints(robot.name, robot.mimic_joints, f"entry {entry.__name__.removesuffix('_states')}")
    return mimic_entry(entry), mimic_constants(robot, constants)


def serving(entry: Any, robot: Tree, constants: Sequence[Any]) -> tuple[Any, tuple[Any, ...]]:
    """Return the entry and constants that fit a robot: those of `for_mimic_joints` if it has mimic joints."""
    return (entry, tuple(constants)) if robot.mimic_map is None else for_mimic_joints(entry, robot, constants)


def mimic_constants(robot: Tree, constants: Sequence[Any]) -> tuple[Any, ...]:
    """Return an entry's constants as its variant for mimic joints takes them; unchanged for robots without any."""
    if robot.mimic_map is None:
        return tuple(constants)
    ints, reals, *tables = constants
    own = robot.spanning_tables()
    ints, reals = own[0] if ints is robot.ints else ints, own[1] if reals is robot.reals else reals
    return ints, reals, *own[2:], *tables


def declared(
    entry: Any, robot: Tree, constants: Sequence[Any], values: Mapping[str, ArrayLike | None]
) -> tuple[list[Argument], list[Shape]]:
    """Return an entry's arguments, with the given values, and the shapes of its results for one robot."""
    signature = entry.signature
    arguments, results = [], []
    for array, shape in zip(signature.arrays, shapes_of(entry)(robot, *constants[2:]), strict=True):
        if array.result:
            results.append(shape)
        elif array.name in CONFIGURATIONS:
            arguments.append(configuration(robot, values[array.name], array.name))
        else:
            axes = _axes_of(array.shape)
            arguments.append(Argument(array.name, values[array.name], shape, array.optional, None, axes, robot))
    return arguments, results


@lru_cache(maxsize=256)
def _axes_of(shape: tuple[str, ...]) -> tuple[Axis | None, ...]:
    """Return the named axes of a declared shape; none for an array without any."""
    axes = tuple(AXES.get(symbol) for symbol in shape)
    return axes if any(axes) else ()


def state_function(
    entry: Any, explain: Callable[[Tree, dict[str, np.ndarray]], Exception] | None = None
) -> Callable[..., np.ndarray]:
    """Return a function of an entry's only result: (robot, *constants, *values, engine="auto", out=None, physics=None).

    The arguments are those of `on_states`; explain, which the function also takes, has the robot as first argument. One
    state in float arrays is passed directly to machine code, in a single Python call. Anything else is coerced,
    broadcast, or reported by `on_states`. The function's source is generated with the declared shape.
    """
    signature = entry.signature
    (result,) = (array for array in signature.arrays if array.result)
    names, optional = [array.name for array in signature.arrays if not array.result], _optional(entry)
    constants, values, shape = (", ".join(x) for x in (("ints", "reals", *signature.tables), names, result.shape))
    numbers = ", ".join(f"NOTHING if {name} is None else {name}" if name in optional else name for name in names)
    lines = [
        f"def on_state(tree, {constants}, {values}, engine='auto', out=None, physics=None, explain=explain):",
        *symbols_in(signature, shape),
        f"result = empty(({shape},))",
        *(["if tree._usual is None:", f"    first_call(tree, {names[0]})"] if names[0] in CONFIGURATIONS else []),
        "if out is None and physics is None and type(engine) is str and engine == 'auto':",
        f"    given = {constants}, {numbers}, result",
        f"    if fast.call(*given) == {FINE}:",
        "        return result",
        "    result = other_fast_call(fast, tree, given)",
        "    if result is not None:",
        "        return result",
        f"values = {{{', '.join(f'{name!r}: {name}' for name in names)}}}",
        "why = explain and partial(explain, tree)",
        f"return on_states(tree, ({constants}), values, why, physics, engine=engine, out=out)[0]",
    ]
    namespace = {"empty": np.empty, "fast": FastEntry(entry), "on_states": partial(on_states, entry)}
    namespace |= {"other_fast_call": other_fast_call, "explain": explain, "partial": partial, "NOTHING": NOTHING}
    namespace |= {"first_call": _first_call, "__name__": entry.__module__}  # so that warnings point at the caller
    place = f"state function of {entry.__module__}.{entry.__name__}"
    return made_function(f"<{place}>", "\n    ".join(lines) + "\n", "on_state", namespace)


def one_state_first(entry: Any) -> Callable[[F], F]:
    """Return a decorator of a public function (robot, *values, *, out, options) of an entry's only result.

    One state in float arrays, or several in dense ones, without options but `out`, are passed directly to machine code:
    Python takes 0.2 us for one state, and more for the function's checks. The function gets anything else.
    """
    signature = entry.signature
    (result,) = (array for array in signature.arrays if array.result)

    def decorated(function: F) -> F:
        parameters = parameters_of(function)
        robot, *values = parameters
        given, q = iter(values), values[0]
        arrays = ["NOTHING" if x.optional else next(given) for x in signature.arrays if not x.result]
        axes = len(signature.arrays[0].shape) + 1
        numbers = ", ".join([*arrays, "result"])
        sizes = re.sub(r"\b(nq|nv|nnz)\b", rf"{robot}.\1", ", ".join(result.shape))
        shape = sizes if len(result.shape) == 1 else f"({sizes})"
        lines = [
            f"def {function.__name__}({', '.join(parameters)}, *, out=None, **options):",
            f"if not options and type({robot}) is Tree:",
            f"    result = empty({shape}) if out is None else out",
            f"    if {robot}._usual is None:",
            f"        first_call({robot}, {q})",
            f"    if {robot}.mimic_map is None:",
            f"        status = fast.call({robot}.ints, {robot}.reals, {numbers})",
            "    else:",
            f"        status = mimic(entry).call(*{robot}.spanning_tables(), {numbers})",
            f"    if status == {FINE}:",
            "        return result",
            f"    if type({q}) is ndarray and {q}.ndim == {axes} and (out is None or len({q}) >= {STATES}):",
            f"        if len({q}) >= {STATES}:",
            f"            result = many_states(entry, {robot}, [{', '.join(values)}], out)",
            "        else:",
            f"            result = other_fast_call(fast, {robot}, ({robot}.ints, {robot}.reals, {numbers}))",
            "        if result is not None:",
            "            return result",
            f"return function({', '.join(parameters)}, out=out, **options)",
        ]
        namespace = {"empty": np.empty, "NOTHING": NOTHING, "Tree": Tree, "function": function, "ndarray": np.ndarray}
        namespace |= {"fast": _fast_entry(entry), "mimic": _mimic_fast_entry, "other_fast_call": other_fast_call}
        namespace |= {"entry": entry, "many_states": _many_states_first, "first_call": _first_call}
        namespace["__name__"] = function.__module__
        place = f"<one state of {function.__module__}.{function.__name__}>"
        made = made_function(place, "\n    ".join(lines) + "\n", function.__name__, namespace)
        return wraps(function)(made)  # type: ignore[return-value]

    return decorated


def _first_call(robot: Tree, q: Any) -> None:
    """Check a robot's first configuration in a float array: further ones pass directly to machine code."""
    if isinstance(q, np.ndarray) and q.dtype.kind == "f" and q.shape[-1:] == (robot.nq,):
        warn_of_conventions(robot, "q", q)


def _many_states_first(entry: Any, robot: Tree, given: list[Any], out: np.ndarray | None) -> np.ndarray | None:
    """Return the result of an entry's required arguments on many states; None for what SIMD code refuses."""
    constants = robot.spanning_tables()
    entry = entry if robot.mimic_map is None else mimic_entry(entry)
    found = _on_lanes(entry, robot, constants, (), given, _optional(entry), out)
    return None if found is None else found[0]


@lru_cache(maxsize=256)
def _optional(entry: Any) -> frozenset[str]:
    """Return the names of an entry's optional arguments."""
    return frozenset(array.name for array in entry.signature.arrays if array.optional)
