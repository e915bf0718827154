"""Tables of TOML files: values by key, and errors that name the file, the line and the key."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from ..errors import ArgumentError, quoted, reason_of, unknown_name

Path = tuple[str | int, ...]
REQUIRED: Any = object()
STRING = re.compile(r'"""(?:\\.|[^\\])*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'', re.DOTALL)
SPACE = re.compile(r"(?:\s|#[^\n]*)*")
BARE = re.compile(r"[A-Za-z0-9_-]+")
BETWEEN = re.compile(r"[\n,=\[\]{}]")
MOST_PARTS = 50  # of a dotted key
MOST = 1000  # names, terms, patterns, and numbers of a history
SCALAR = re.compile(r"[^,\]}#\n]+")


class Source(NamedTuple):
    """Name of a file for messages, and the lines of its keys."""

    label: str
    lines: dict[Path, int]

    def fault(self, path: Path, text: str) -> ArgumentError:
        """Return an error at a key, or at the table or array that contains it."""
        known = path
        while known and known not in self.lines:
            known = known[:-1]
        line = f", line {self.lines[known]}" if known else ""
        return ArgumentError(f"{self.label}{line}: {spelled(path)}{text}")


def spelled(path: Path) -> str:
    """Return the dotted name of a key, with a space behind it."""
    parts = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return parts[1:] + " " if parts else ""


def parsed(content: bytes, label: str) -> Table:
    """Return the table of a file's contents; raises ArgumentError if it is no TOML."""
    try:
        text = content.decode()
        if max(part.count(".") for part in BETWEEN.split(text.replace(" ", "").replace("\t", ""))) > MOST_PARTS:
            raise ValueError(f"a key has more than {MOST_PARTS} parts")  # tomllib takes quadratic time and memory
        values = tomllib.loads(text)
        lines = _Lines(text.replace("\r\n", "\n"))
        lines.read()
    except (ValueError, RecursionError) as error:  # of decoding and of TOML, which name the line
        raise ArgumentError(f"{label} is not a TOML file: {reason_of(error)}") from None
    return Table(Source(label, lines.found), values, ())


class _Lines:
    """Scan for the lines of all keys and array elements of valid TOML."""

    def __init__(self, text: str) -> None:
        self._text, self._at, self._line, self._counted = text, 0, 1, 0
        self.found: dict[Path, int] = {}
        self._tables: dict[Path, int] = {}

    def read(self) -> None:
        table: Path = ()
        while self._skip() < len(self._text):
            if self._takes("[["):
                table = self._key(())
                count = self._tables[table] = self._tables.get(table, -1) + 1
                table = (*table, count)
                self._at += 2
            elif self._takes("["):
                table = self._key(())
                self._at += 1
            else:
                self._pair(table)
                continue
            self._note(table)

    def _pair(self, table: Path) -> None:
        path = self._key(table)
        self._note(path)
        self._at += 1  # the equals sign
        self._value(path)

    def _key(self, path: Path) -> Path:
        while True:
            self._skip()
            token = STRING.match(self._text, self._at) or BARE.match(self._text, self._at)
            if token is None:
                raise ValueError(f"there is no key in line {self._line}")
            part = token.group()
            path = (*path, tomllib.loads(f"key = {part}")["key"] if part[0] in "\"'" else part)
            self._at = token.end()
            self._skip()
            if not self._takes("."):
                return path
            if path in self._tables:  # below the latest element of an array of tables
                path = (*path, self._tables[path])

    def _value(self, path: Path) -> None:
        self._skip()
        if self._takes("{"):
            while self._skip() and not self._takes("}"):
                if not self._takes(","):
                    self._pair(path)
        elif self._takes("["):
            count = 0
            while self._skip() and not self._takes("]"):
                if not self._takes(","):
                    self._note((*path, count))
                    self._value((*path, count))
                    count += 1
        else:
            token = STRING.match(self._text, self._at) or SCALAR.match(self._text, self._at)
            if token is None:
                raise ValueError(f"there is no value in line {self._line}")
            self._at = token.end()

    def _note(self, path: Path) -> None:
        self._line += self._text.count("\n", self._counted, self._at)
        self._counted = self._at
        self.found[path] = self._line

    def _skip(self) -> int:
        self._at = SPACE.match(self._text, self._at).end()  # type: ignore[union-attr]  # it matches nothing, too
        return self._at

    def _takes(self, token: str) -> bool:
        found = self._text.startswith(token, self._at)
        self._at += len(token) * found
        return found


class Table:
    """Table of a TOML file; its methods return the values of keys, or raise ArgumentError."""

    def __init__(self, source: Source, values: Mapping[str, Any], path: Path) -> None:
        self.source, self.values, self.path = source, values, path

    def fault(self, key: str | int | None, text: str) -> ArgumentError:
        """Return an error at a key, or at the table."""
        return self.source.fault(self.path if key is None else (*self.path, key), text)

    def known(self, keys: Collection[str], unsupported: Mapping[str, str] | None = None) -> Table:
        """Return the table; raises ArgumentError for a key that is unknown, or `unsupported` ({key: reason})."""
        for key in self.values:
            if unsupported and key in unsupported:
                raise self.fault(key, f"is not supported: {unsupported[key]}")
            if key not in keys:
                raise self.fault(key, f"is wrong: {unknown_name('key', key, tuple(keys)).args[0]}")
        return self

    def get(self, key: str, default: Any = REQUIRED) -> Any:
        """Return a value as it stands in the file."""
        if key not in self.values and default is REQUIRED:
            raise self.fault(None, f"lacks the key {quoted(key)}" if self.path else f"the key {quoted(key)} is missing")
        return self.values.get(key, default)

    def checked(self, key: str, default: Any, fits: Callable[[Any], bool], needed: str) -> Any:
        """Return a value that fits, or the default; raises ArgumentError with what is needed for other values."""
        value = self.get(key, default)
        if value is not default and not fits(value):
            raise self.fault(key, f"must be {needed}, got {quoted(value)}")
        return value

    def table(self, key: str) -> Table:
        """Return a table; an empty one if the file has none."""
        value = self.checked(key, {}, lambda x: isinstance(x, dict), "a table")
        return Table(self.source, value, (*self.path, key))

    def tables(self, key: str) -> list[Table]:
        """Return an array of tables."""
        values = self.checked(key, REQUIRED, lambda x: _are(x, dict), f"an array of 1 to {MOST} tables")
        return [Table(self.source, each, (*self.path, key, k)) for k, each in enumerate(values)]

    def number(self, key: str, default: Any = REQUIRED, least: float = -math.inf, above: float = -math.inf) -> Any:
        """Return a finite number that is at least `least`, and greater than `above`."""
        what = "a positive" if above == 0 else "a finite" if least != 0 else "a finite, not negative"
        value = self.checked(key, default, lambda x: is_number(x) and least <= x > above, f"{what} number")
        return value if value is default else float(value)

    def whole(self, key: str, default: int, least: int) -> int:
        """Return a whole number that is at least `least`, and at most MOST."""
        needed = f"a whole number from {least} to {MOST}"
        return self.checked(key, default, lambda x: type(x) is int and least <= x <= MOST, needed)

    def text(self, key: str, default: Any = REQUIRED, known: Sequence[str] = ()) -> Any:
        """Return a text, one of the `known` ones if there are any."""
        value = self.checked(key, default, lambda x: isinstance(x, str), "a text")
        if known and value is not default and value not in known:
            raise self.fault(key, f"is wrong: {unknown_name(key, value, known).args[0]}")
        return value

    def flag(self, key: str, default: bool) -> bool:
        """Return true or false."""
        return self.checked(key, default, lambda x: isinstance(x, bool), "true or false")

    def names(self, key: str, default: Any = REQUIRED, known: Collection[str] | None = None) -> tuple[str, ...]:
        """Return different names, which must be `known`."""
        values = self.checked(key, default, lambda x: _are(x, str), f"an array of 1 to {MOST} names")
        for k, name in enumerate(() if values is default else values):
            path = (*self.path, key, k)
            if name in values[:k]:
                raise self.source.fault(path, f"lists {quoted(name)} again")
            if known is not None and name not in known:
                text = unknown_name("joint", name, tuple(known), of="joints.order").args[0]
                raise self.source.fault(path, f"is wrong: {text}")
        return tuple(values)

    def limits(self, key: str) -> tuple[float, float] | None:
        """Return the two limits of a clip, or None."""
        value = self.checked(
            key, None, lambda x: _are(x, (int, float)) and len(x) == 2 and all(map(is_number, x)) and x[0] < x[1],
            "two increasing numbers [low, high]",
        )  # fmt: skip
        return value and (float(value[0]), float(value[1]))

    def vector(self, key: str, default: Any, count: int, joints: Sequence[str] = ()) -> tuple[float, ...]:
        """Return `count` numbers from one number, an array of them, or a table {pattern: number} of joints."""
        value = self.get(key, default)
        if isinstance(value, dict) and joints:
            table = self.table(key)
            chosen = table.matched(joints)
            for name in joints:
                if name not in chosen:
                    raise table.fault(None, f"has no number for joint {quoted(name)}")
            return tuple(table.number(chosen[name]) for name in joints)
        numbers = [value] * count if is_number(value) else value
        if not isinstance(numbers, list) or not all(map(is_number, numbers)):
            raise self.fault(key, f"must be a finite number, or an array of {count} of them, got {quoted(value)}")
        if len(numbers) != count:
            raise self.fault(key, f"has {len(numbers)} numbers, but {count} are needed")
        return tuple(map(float, numbers))

    def matched(self, joints: Sequence[str]) -> dict[str, str]:
        """Return the key of each joint that a key matches: its name, or the first pattern such as "*_calf_joint".

        Raises ArgumentError for a key that matches none of the joints.
        """
        if len(self.values) > MOST:
            raise self.fault(None, f"has more than {MOST} keys")
        for key in self.values:
            if not any(fnmatchcase(name, key) for name in joints):
                hint = unknown_name("joint", key, tuple(joints)).args[0]
                raise self.fault(key, f"matches no joint: {hint}")
        found = {}
        for name in joints:
            keys = [key for key in self.values if fnmatchcase(name, key)]
            if keys:
                found[name] = name if name in keys else keys[0]
        return found


def _are(values: Any, kind: Any) -> bool:
    """Return whether a value is an array of 1 to MOST values of a kind."""
    return isinstance(values, list) and 0 < len(values) <= MOST and all(isinstance(each, kind) for each in values)


def is_number(value: Any) -> bool:
    """Return whether a value of TOML is a finite number."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(_as_float(value))


def _as_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf
