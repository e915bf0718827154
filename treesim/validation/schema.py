"""Validation of JSON values of bounded size against the field types of dataclasses."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import MISSING, fields
from types import NoneType, UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from ..errors import ArgumentError, quoted, reason_of
from .values import finite_or_nan, short_repr

T = TypeVar("T")
LARGEST = 1 << 26  # bytes of a text
MOST_PARTS, MOST_VALUES = 1 << 20, 1 << 22  # numbers of lists and objects, and of their elements
NAMES = {str: "a text", int: "a whole number", float: "a finite number", bool: "true or false", NoneType: "null"}


class MisfitError(ArgumentError):
    """A value in a file does not have its field's type."""


def fits(text: str | bytes) -> bool:
    """Return whether a JSON text is small enough to parse: its Python objects take 300 MB at most."""
    return _excess(text) is None


def _excess(text: str | bytes) -> str | None:
    """Return which limit on size a text exceeds, None if it is small enough."""
    marks = (b"[", b"{", b",") if isinstance(text, bytes) else ("[", "{", ",")
    opened, more, commas = (text.count(mark) for mark in marks)  # type: ignore[arg-type]
    sizes = {"bytes": (len(text), LARGEST), "lists": (opened + more, MOST_PARTS), "values": (commas, MOST_VALUES)}
    over = [
        f"{found:,} {of}, of which at most {most:,} are read" for of, (found, most) in sizes.items() if found > most
    ]
    return over[0] if over else None


def parsed(text: str | bytes, what: str) -> Any:
    """Return the parsed values of a JSON text; raises ArgumentError, naming `what` it is, if invalid or too large."""
    if not isinstance(text, str | bytes):
        raise ArgumentError(f"{what} is no text, but {short_repr(text)}")
    over = _excess(text)
    if over is not None:
        raise ArgumentError(f"{what} has {over}")
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ArgumentError(f"{what} is no text of JSON: {reason_of(error)}") from None


def record_of(kind: type[T], values: Any, what: str, extra: bool = False) -> T:
    """Return a dataclass from parsed JSON values, each validated against the type of its field.

    Field types are texts, numbers, flags, tuples, mappings from texts, unions of these, and Any. extra: ignore values
    of other names instead of raising. Raises ArgumentError naming `what`, the field, and its type.
    """
    if not isinstance(values, dict):
        raise MisfitError(f"{what} must be an object, got {short_repr(values)}")
    types, known = get_type_hints(kind), {field.name: field for field in fields(kind)}  # type: ignore[arg-type]
    others = [name for name in values if name not in known]
    if others and not extra:
        raise MisfitError(f"{what} has {quoted(others[0])}, which is not known: a later version of treesim wrote it")
    for name, field in known.items():
        if name not in values and field.default is MISSING and field.default_factory is MISSING:
            raise MisfitError(f"{what} has no {quoted(name)}")
    given = {name: value for name, value in values.items() if name in known}
    return kind(**{name: _fitted(types[name], value, f"{name} of {what}") for name, value in given.items()})


def _fitted(kind: Any, value: Any, where: str) -> Any:
    """Return the value converted to a field's type: lists become tuples, integers floats."""
    if kind is Any:
        return value
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is UnionType:
        return _fitted_one(arguments, value, where)
    if origin is tuple and isinstance(value, list):
        if arguments[-1] is Ellipsis:
            return tuple(_fitted(arguments[0], one, f"{where}[{k}]") for k, one in enumerate(value))
        if len(value) == len(arguments):
            return tuple(_fitted(*both, f"{where}[{k}]") for k, both in enumerate(zip(arguments, value, strict=True)))
    elif origin is Mapping and isinstance(value, dict):
        return {name: _fitted(arguments[1], one, f"{where}[{quoted(name)}]") for name, one in value.items()}
    elif kind is float and not math.isnan(finite_or_nan(value)):
        return finite_or_nan(value)
    elif type(value) is kind and kind is not float:  # other floats are not finite
        return value
    raise MisfitError(f"{where} must be {_named(kind)}, got {short_repr(value)}")


def _fitted_one(kinds: tuple[Any, ...], value: Any, where: str) -> Any:
    """Return the value converted to the first of several types that accepts it."""
    for kind in kinds:
        try:
            return _fitted(kind, value, where)
        except MisfitError:
            continue
    raise MisfitError(f"{where} must be {' or '.join(map(_named, kinds))}, got {short_repr(value)}")


def _named(kind: Any) -> str:
    """Return the name of a type in messages."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is tuple:
        more = arguments[-1] is Ellipsis
        return f"a list, each {_named(arguments[0])}" if more else f"a list of {', '.join(map(_named, arguments))}"
    return f"an object, each {_named(arguments[1])}" if origin is Mapping else NAMES.get(kind, "a value")
