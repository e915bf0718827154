"""Marks of loops: copies of kernels that compute the same, and tell where iterations start and loops end."""

import numpy as np
import pytest

from tests import trees
from treesim.engine.graph.loops import mark, marked, with_callback
from treesim.kernels.dynamics.crba import mass_matrix_full_states

pytestmark = pytest.mark.nojit


def counted(rows):
    """A loop in a loop, and one that is left early."""
    total = 0
    for row in rows:
        for x in row:
            total += x
        while total > 10:
            total -= 10
            if total == 5:
                return total
    return total


def heard(function, *arguments):
    marks = []
    with with_callback(marks.append):
        result = marked(function)(*arguments)
    return result, marks


def test_iterations_and_ends_are_marked_in_order():
    result, marks = heard(counted, [[1, 2], [], [30]])
    assert result == counted([[1, 2], [], [30]]) == 3
    inner, outer, whiles = marks[1], marks[0], marks[-4]
    empty = [outer, ~inner, ~whiles]
    assert marks == [outer, inner, inner, ~inner, ~whiles, *empty, outer, inner, ~inner, *[whiles] * 3, ~whiles, ~outer]
    assert len({inner, outer, whiles}) == 3 and min(inner, outer, whiles) >= 0


def test_a_loop_that_is_left_by_return_has_no_end():
    result, marks = heard(counted, [[15]])
    assert result == 5
    assert marks[-1] >= 0


def test_kernels_that_a_kernel_calls_are_marked_too():
    robot = trees.tree("random_a")
    q, M = robot.random(np.random.default_rng(0)), np.empty(robot.nv**2)
    expected = M.copy()
    mass_matrix_full_states(robot.ints, robot.reals, q, expected)
    _, marks = heard(mass_matrix_full_states, robot.ints, robot.reals, q, M)
    assert np.array_equal(M, expected)
    sites = {max(site, ~site) for site in marks}
    assert len(sites) >= 5  # states; bodies out and in; rows; path


class Table:
    counted = 3


def fielded(table):
    return table.counted + len([table.fielded for table.fielded in range(2)])


def test_fields_with_the_names_of_kernels_are_fields():
    """Also with that of the function, which is no call of itself."""
    assert marked(fielded)(Table()) == 5


def test_nobody_needs_to_listen():
    mark(0)
    assert marked(counted)([[1]]) == 1
