"""Courses of compiled kernels are Python's: loops, branches, variables, calls."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from treesim.engine.call import generic
from treesim.errors import UnsupportedError
from treesim.kernels.algebra.linear import Vector
from treesim.kernels.algebra.numbers import vectorized
from treesim.kernels.algebra.spatial import Motion, motion_add
from treesim.kernels.entries import status
from treesim.kernels.entries.annotations import Integers, Reals, TableOfIntegers, TableOfReals
from treesim.kernels.entries.entry import entry
from treesim.kernels.entries.status import FINE
from treesim.model.generators import chain

from .support import agree, compiled_only, integers, no_disk  # noqa: F401

pytestmark = compiled_only
NUMBERS = np.arange(1.0, 25.0)


def loops(a: TableOfIntegers, out: Integers) -> int:
    n = 0
    for i in range(3):
        for j in range(i, 8, 2):
            if j == 5:
                continue
            out[n] = 10 * i + j
            n += 1
    for k in range(a[0], a[1], a[2]):
        out[n], n = k, n + 1
    for k in range(5, 0, -2):
        if k < 2:
            break
        out[n] = k
        n += 1
    while n < 30:
        n += 1
        if n % 2:
            continue
        if n > 26:
            break
        out[n] = n
    out[n] = k  # the last that the loop counted
    return n


@pytest.mark.parametrize("bounds", [(0, 4, 1), (7, -1, -3), (3, 3, 1), (3, 0, 1)])
def test_loops(bounds):
    agree(loops, integers(*bounds), np.full(40, -1, np.int64))


def subtracts_rows(x: Reals) -> int:
    A = x.reshape((4, 6))
    for k in range(3):
        f = A[k + 1, k] / A[k, k]
        for j in vectorized(range(k, 6)):
            A[k + 1, j] -= f * A[k, j]
    for j in vectorized(range(5, 0, -2)):
        A[3, j] = j
    return FINE


def test_loops_whose_steps_are_done_at_once():
    """Rows of one array: only the declaration says that they do not overlap."""
    agree(subtracts_rows, NUMBERS**2, exact=False)


def search(a, wanted):
    """Where a number stands: a result in the middle of loops, and none."""
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            if a[i, j] == wanted:
                return i, j
    return -1, -1


def searches(x: TableOfReals, out: Integers) -> int:
    A = x.reshape((4, 6))
    out[0], out[1] = search(A, 9)
    out[2], out[3] = search(A, 0)
    if out[0] > 0:
        return 5
    return FINE


def test_returns_from_within():
    agree(searches, NUMBERS, np.zeros(4, np.int64))


def widened(x: TableOfReals, out: Reals) -> int:
    total, largest = 0, 0
    for k in range(x.size):
        total += x[k] / 3
        largest = max(largest, x[k])
    half = total
    if x[0] > 100:
        half = 1
    out[0], out[1], out[2] = total, largest, half
    row = x
    if x[0] > 0:
        row = x.reshape((4, 6))[:, 1]
    out[3], out[4] = row[2], row.size
    return FINE


def test_variables_that_turn_out_to_be_wider():
    """From whole to real numbers, and from neighbouring elements to a column."""
    agree(widened, NUMBERS, np.zeros(5), exact=False)


class Pair(NamedTuple):
    """Two things of any kind."""

    first: Any
    second: Any


def swapped(pair):
    """Both, exchanged."""
    first, second = pair
    return Pair(second, first)


def tuples(x: TableOfReals, out: Reals) -> int:
    pair = swapped(Pair(Motion(Vector(x[0], x[1], x[2]), Vector(x[3], x[4], x[5])), 2))
    both = motion_add(pair.second, pair.second)
    out[0], out[1], out[2] = pair.first, both.lin.z, both[0][1]
    a = b = x[7]
    a, b = b + 1, a
    out[3], out[4] = a, b
    inner = swapped(swapped(Pair((x[0], x[1]), x)))
    out[5], out[6] = inner.first[1], inner.second[3]
    return FINE


def test_tuples():
    agree(tuples, NUMBERS, np.zeros(7))


def with_next(pair):
    """The same motions, and a number that is larger by one of theirs."""
    return pair._replace(second=pair.second + pair.first.second.lin.x)


def passes_on(x: TableOfReals, out: Reals) -> int:
    one, other = (Motion(Vector(x[0], x[1], x[2]), Vector(x[3], x[4], x[5])),
                  Motion(Vector(x[6], x[7], x[8]), Vector(x[9], x[10], x[11])))  # fmt: skip
    pair = with_next(with_next(Pair(Pair(one, other), x[12])))
    out[0], out[1], out[2] = pair.second, pair.first.first.ang.y, pair.first.second.lin.z
    return FINE


def test_a_function_does_not_return_what_it_was_given():
    assert agree(passes_on, NUMBERS, np.empty(3))[1].tolist() == [33.0, 2.0, 12.0]
    module, _ = generic._with_job(passes_on, passes_on)
    heads = [text.partition("\n")[0] for text in module.functions]
    assert [head[:26] for head in heads if '@"with_next.' in head] == ["define internal { double }"]


def twice(x):
    """2 x."""
    return 2 * x


def folded(function, x, start=0.5):
    """start + the sum of function(x)."""
    for k in range(x.size):
        start += function(x[k])
    return start


def made_with(factor):
    """A kernel that a function makes."""

    def times(x):
        """x times the factor."""
        return factor * x

    return times


thrice = made_with(3)


def functions(x: TableOfReals, out: Reals) -> int:
    out[0], out[1], out[2] = folded(twice, x), folded(thrice, x, 1), folded(*(abs, x))
    return FINE


def test_functions_as_arguments_defaults_and_closures():
    agree(functions, NUMBERS, np.zeros(3), exact=False)


def honest(x: Reals) -> int:
    return status.status_of(x)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e308])
def test_what_looks_for_nan_finds_it(bad):
    x = np.array([1.0, 2.0, bad, 3.0])
    assert generic.compiled(honest)(x) == (FINE if np.isfinite(bad) else status.NOT_FINITE)


def loops_over_a_tuple(x: Reals) -> int:
    for k in (1, 2):
        x[k] = 0.0
    return FINE


def raises(x: Reals) -> int:
    raise ValueError


def lists(x: Reals) -> int:
    x[0] = [1.0, 2.0][0]
    return FINE


def forgets(x: Reals) -> int:
    x[0] = nowhere  # noqa: F821
    return FINE


def looks_ahead(x: Reals) -> int:
    for k in range(3):
        if k > 0:
            x[k] = later  # noqa: F821
        later = x[k]  # noqa: F841
    return FINE


def divides_by_zero(x: Reals) -> int:
    x[0] = 1 / 0
    return FINE


def changes_its_mind(x: Reals) -> int:
    y = 1.0
    if x[0] > 0:
        y = (1.0, 2.0)
    x[1] = y
    return FINE


def may_end_without_a_result(x: Reals) -> int:
    if x[0] > 0:
        return FINE


def calls_itself(x: Reals) -> int:
    return calls_itself(x)


def calls_numpy(x: Reals) -> int:
    x[0] = np.linalg.norm(x)
    return FINE


def names_arguments(x: Reals) -> int:
    x[0] = twice(x=x[1])
    return FINE


def vectorizes_outside(x: Reals) -> int:
    for k in vectorized(range(3)):
        for j in range(3):
            x[k] += j
    return FINE


def vectorizes_an_array(x: Reals) -> int:
    for y in vectorized(x):
        x[0] = y
    return FINE


@pytest.mark.parametrize(
    ("kernel", "reason"),
    [
        (loops_over_a_tuple, "loops of kernels go over a range or an array, not a tuple of 2"),
        (raises, "kernels have no Raise statements"),
        (lists, "kernels cannot hold .*, which is a List"),
        (forgets, "there is nothing of the name 'nowhere'"),
        (looks_ahead, "'later' is read further up in the text than it is assigned"),
        (divides_by_zero, "1 and 0: division by zero"),
        (changes_its_mind, "one name stands for a real and for a tuple of 2"),
        (may_end_without_a_result, "one name stands for an integer and for None"),
        (calls_itself, "kernel 'calls_itself' calls itself"),
        (calls_numpy, "'norm' is not among what kernels can call"),
        (vectorizes_outside, "a vectorized loop has no loops inside"),
        (vectorizes_an_array, "loops that are vectorized go over a range"),
        (names_arguments, "calls in kernels take no arguments by name"),
    ],
)
def test_what_there_is_not_is_told_with_its_line(kernel, reason):
    with pytest.raises(UnsupportedError, match=rf"test_statements.py:\d+: in kernel '{kernel.__name__}': {reason}"):
        generic.compiled(kernel)


def times(factor):
    """An entry that knows a number from the function that makes it."""

    def multiplied(tree, x, y):
        y[0] = factor * x[0]

    return entry(multiplied, x="1", y="-> 1")


def test_kernels_that_a_function_makes_are_kept_apart(tmp_path, monkeypatch):
    """Their texts and names are the same."""
    monkeypatch.undo()
    monkeypatch.setenv("TREESIM_CACHE_DIR", str(tmp_path))
    robot, x, y = chain(1), np.ones(1), np.zeros(1)
    for factor in (2.0, 3.0, 2.0):
        assert generic.compiled(times(factor))(robot.ints, robot.reals, x, y) == FINE and y[0] == factor
    assert len(list(tmp_path.rglob("objects/*"))) == 2


def test_kernels_call_those_of_their_own_file_and_of_treesim(tmp_path, monkeypatch):
    """By these texts compiled code is kept: of another file, nobody would notice a change."""
    (tmp_path / "other_file.py").write_text("def third(x):\n    return x / 3\n")
    (tmp_path / "my_file.py").write_text(
        "from __future__ import annotations\nfrom other_file import third\n\n"
        "def divides(x: Reals) -> int:\n    x[0] = third(x[0])\n    return 0\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    from my_file import divides  # type: ignore[import-not-found]

    with pytest.raises(UnsupportedError, match=r"my_file.py:5: .*'third' is no kernel: .* of their own file only"):
        generic.compiled(divides)


def replaces(a: TableOfReals, out: Reals) -> int:
    moved = Vector(a[0], a[1], a[2])._replace(y=a[3], x=2 * a[1])
    out[0], out[1], out[2] = moved.x, moved.y, moved.z
    return FINE


def test_named_tuples_with_other_items():
    assert agree(replaces, NUMBERS, np.empty(3))[1].tolist() == [4.0, 4.0, 3.0]


def replaces_what_is_not_there(a: TableOfReals, out: Reals) -> int:
    out[0] = Vector(a[0], a[1], a[2])._replace(w=a[3]).x
    return FINE


def test_items_that_a_named_tuple_has_not_got_cannot_be_replaced():
    with pytest.raises(UnsupportedError, match="a Vector has no w to replace"):
        generic.compiled(replaces_what_is_not_there)
