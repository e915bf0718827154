"""Users' functions on symbolic numbers: unknown operations, and numbers that change by themselves, are refused by name.

A trace contains the operations of one call. A random number, a counter or a clock is therefore one constant for all
steps. Such a number is found by a second call, under the random states that the first call left.
"""

from __future__ import annotations

import linecache
import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from ...errors import ArgumentError, TreesimError, UnsupportedError, shortened
from .graph import TooLongError

MOST_VALUES = 1000  # that are searched for random generators
CALLS = 8  # of a function that draws numbers, which may be equal by chance
HELP = "write conditions without branches, with maximum, minimum, absolute, less and select of treesim.numbers"
# what to write instead of a function that no trace knows, by a part of its name
ALTERNATIVES = {
    r"isnan|isfinite|isinf|nan_to_num": "leave it out: results that are not finite are reported",
    r"linalg|\bsolve|\binv\b|\bdet\b": "use products and sums of arrays; mass_matrix and others are known",
    r"%|\bmod\b|fmod|remainder|//|divmod|floor": "use sine and cosine of the phase, or atan2(sin(x), cos(x))",
    r"\bround|rint|ceil|trunc": "use numbers that are not rounded, or sums of less(limit, x) of treesim.numbers",
    r"\blog": "give the logarithm as a parameter, or use tanh or sqrt",
    r"\bmath\.": "use the function of numpy in place of that of math",
    r"interp|searchsorted|digitize": "use sums of select(less(x, limit), ...) of treesim.numbers",
}
# operations in messages of NumPy and Python
UNKNOWN = {
    r"which has no callable (\w+) method": "np.{}",
    r"'(?:Traced|Condition)' object has no attribute '(\w+)'": "np.{}",
    r"type (?:Traced|Condition) doesn't define (\w+) method": "np.{}",
    r"ufunc '(\w+)' not supported for the input types": "np.{}",
    r"unsupported operand type\(s\) for (\S+): (?!.*'str').*(?:Traced|Condition)": "the operation {}",
}
SYMBOLIC = r"\bTraced\b|\bCondition\b|dtype\('O'\)|\bobject\b.* (array|dtype|type)"  # in messages on symbolic numbers
TYPED = "<stdin>", "<string>", "<ipython", "<python", "<doctest"  # other such files are functions that treesim makes
OURS = (str(Path(__file__).parents[2]), str(Path(np.__file__).parent))


def call_traced(what: str, function: Callable[..., Any], *arguments: Any, otherwise: str = "") -> Any:
    """Return function(*arguments) on symbolic numbers.

    what: the function, for messages. otherwise: what else the user can do. Raises UnsupportedError for operations that
    no trace knows, with the line of the function and an alternative, ArgumentError for what else the function raises.
    """
    try:
        return function(*arguments)
    except TooLongError as error:
        raise TooLongError(f"{what} cannot be compiled: {error}; divide the function into parts{otherwise}") from error
    except UnsupportedError as error:
        line = _line_of(error)
        where = f"in `{line}` " if line else ""
        raise UnsupportedError(f"{what} cannot be compiled: {where}{error}; {HELP}{otherwise}") from error
    except TreesimError:
        raise
    except (Exception, SystemExit) as error:  # a function that ends the process would leave no result and no word
        line, unknown = _line_of(error), _unknown_operation(error)
        if not unknown:
            raise ArgumentError(_raised(what, error, line, arguments)) from error
        alternative = alternative_to(unknown) or alternative_to(line) or HELP
        where = f"in `{line}` " if line else ""
        raise UnsupportedError(f"{what} cannot be compiled: {where}{unknown}; {alternative}{otherwise}") from error


def _raised(what: str, error: BaseException, line: str, arguments: Iterable[Any]) -> str:
    """Return the message for an error of the user's own code."""
    shapes = ", ".join(str(np.shape(x)) for x in arguments if not isinstance(x, Mapping))
    return (
        f"{what} raises {type(error).__name__}{f' in `{line}`' if line else ''}: {shortened(str(error))}; its "
        f"arguments have the shapes {shapes}; it must compute numbers by + - * / **, comparisons, and functions as "
        f"np.sin; {HELP}"
    )


def alternative_to(text: str) -> str:
    """Return what to write instead of the first operation in a text that has an alternative; empty if none has."""
    return next((alternative for names, alternative in ALTERNATIVES.items() if re.search(names, text)), "")


def _unknown_operation(error: BaseException) -> str:
    """Return the operation that no trace knows, as the error names it; empty for other errors."""
    text = str(error).split("\n")[0]
    if not isinstance(error, (TypeError, AttributeError, np.linalg.LinAlgError)):
        return ""
    for pattern, operation in UNKNOWN.items():
        if found := re.search(pattern, text):
            return f"{operation.format(found.group(1))} is not known to a trace"
    return shortened(f"{type(error).__name__}: {text}") if re.search(SYMBOLIC, text) else ""


def _line_of(error: BaseException) -> str:
    """Return the innermost source line that an error went through outside treesim and NumPy; empty if there is none."""
    line, trace = "", error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if not file.startswith(OURS) and (not file.startswith("<") or file.startswith(TYPED)):
            line = linecache.getline(file, trace.tb_lineno).strip()
        trace = trace.tb_next
    return shortened(line)


@contextmanager
def random_states(*functions: Callable[..., Any]) -> Iterator[Callable[[], tuple[Any, ...]]]:
    """Restore, at the end, the random states of the process and of the generators that functions refer to.

    Yields a function that returns all states.
    """
    sources = [source for function in functions for source in _generators(function)]
    own, everywhere, before = random.getstate(), np.random.get_state(), [_state_of(x) for x in sources]

    def states() -> tuple[Any, ...]:
        everywhere: Any = np.random.get_state()
        return random.getstate(), everywhere[1].tobytes(), *everywhere[2:], repr([_state_of(x) for x in sources])

    try:
        yield states
    finally:
        random.setstate(own)
        np.random.set_state(everywhere)
        for source, state in zip(sources, before, strict=True):
            _restore(source, state)


def _generators(function: Any, seen: set[int] | None = None) -> Iterator[Any]:
    """Return the random generators in a function's variables, and in those of the functions that it refers to."""
    seen = set() if seen is None else seen
    for value in variables_of(function):
        if id(value) in seen or len(seen) > MOST_VALUES:
            continue
        seen.add(id(value))
        if isinstance(value, np.random.Generator | np.random.RandomState | random.Random):
            yield value
        elif isinstance(value, FunctionType | MethodType):
            yield from _generators(value, seen)


def variables_of(function: Any) -> list[Any]:
    """Return the values that a function, a method or an object that can be called refers to."""
    if isinstance(function, type | BuiltinFunctionType):
        return []
    code_of = function if hasattr(function, "__code__") else vars(type(function)).get("__call__")
    values = [getattr(function, "__self__", None)]
    values += getattr(values[0] if values[0] is not None else function, "__dict__", {}).values()
    values += [cell.cell_contents for cell in getattr(function, "__closure__", None) or () if _is_filled(cell)]
    values += getattr(function, "__defaults__", None) or ()
    values += (getattr(function, "__kwdefaults__", None) or {}).values()
    names, used = getattr(code_of, "__globals__", {}), [*_names_in(getattr(code_of, "__code__", None))]
    values += [names[name] for name in used if name in names]
    modules = [x for x in values if isinstance(x, ModuleType) and not is_library(x.__name__)]
    return values + [vars(module)[name] for module in modules for name in used if name in vars(module)]


def is_library(module: str) -> bool:
    """Return whether a module belongs to treesim or NumPy, whose functions have no variables that users change."""
    return module.partition(".")[0] in ("treesim", "numpy")


def _names_in(code: Any) -> Iterator[str]:
    """Yield the names of globals and attributes in a function's code, and in that of functions inside it."""
    yield from getattr(code, "co_names", ())
    for constant in getattr(code, "co_consts", ()):
        if isinstance(constant, CodeType):
            yield from _names_in(constant)


def _is_filled(cell: Any) -> bool:
    try:
        return bool(cell.cell_contents is not None)
    except ValueError:  # a variable that has no value yet
        return False


def _state_of(source: Any) -> Any:
    if isinstance(source, random.Random):
        return source.getstate()
    return source.get_state() if isinstance(source, np.random.RandomState) else source.bit_generator.state


def _restore(source: Any, state: Any) -> None:
    if isinstance(source, random.Random):
        source.setstate(state)
    elif isinstance(source, np.random.RandomState):
        source.set_state(state)
    else:
        source.bit_generator.state = state
