"""Entries made from declarations: sizes, states one after the other, what may be missing, memory, and statuses."""

import importlib
import pkgutil

import numpy as np
import pytest

import treesim
import treesim.kernels
from tests import trees
from treesim.engine.call import generic
from treesim.engine.call.fast_entry import FastEntry
from treesim.engine.call.generic import runs_compiled
from treesim.engine.trigonometry import LARGEST
from treesim.kernels.algebra.joints import sincos_at
from treesim.kernels.algebra.numbers import sincos
from treesim.kernels.entries.entry import Array, entry, stages_of
from treesim.kernels.entries.status import FINE, NOT_CONVERGED, NOT_FINITE, WRONG_SIZE

ROBOT = trees.tree("random_a")
TABLES = ROBOT.ints, ROBOT.reals


def scaled_sum(tree, factors, x, forces, y, total, memory, numbers):
    """y = factor x, total = the sum of y and of all forces."""
    memory[0] += 1  # states so far
    total[0] = numbers[0] * 0
    for k in range(tree.nv):
        y[k] = factors[0] * x[k]
        total[0] += y[k]
    for i in range(forces.shape[0]):
        for c in range(6):
            total[0] += forces[i, c]
    total[1] = memory[0]
    return NOT_CONVERGED if x[0] < 0 else FINE


def laid_out(tree, factors, x):
    """Memory once for all states."""
    return np.zeros(1, x.dtype), np.zeros(tree.n_bodies, x.dtype)


SUM = entry(
    scaled_sum,
    laid_out,
    {"factors": "TableOfReals"},
    {"two": "factors.size + 1"},
    returns_status=True,
    x="nv",
    forces="N, 6 | none",
    y="-> nv",
    total="-> two",
)
FACTORS = np.array([3.0])
FACTORS.setflags(write=False)


def angles_of(tree, q, out):
    """Sine and cosine of each coordinate, and those that were computed before."""
    for k in range(tree.nq):
        out[0, k], out[1, k] = sincos(q[k])
        out[2, k], out[3, k] = sincos_at(tree.angles, q, k)
    out[4, 0] = len(tree.angles)


ANGLES = entry(angles_of, q="nq", out="-> 5, nq", angles=True)


@pytest.mark.parametrize("reach", [1e-8, 3.0, 1e4, LARGEST, 1e9])
def test_angles_that_are_computed_together_have_the_same_bits(reach):
    robot = treesim.load("ur5")
    q = np.random.default_rng(3).uniform(-reach, reach, (3, robot.nq))  # states one after the other share memory
    out = np.empty((3, 5, robot.nq))
    out[:, 4] = 0
    run = generic.compiled(ANGLES)
    assert run(robot.ints, robot.reals, q.ravel(), out.ravel()) == FINE
    np.testing.assert_array_equal(out[:, 2:4], out[:, :2])
    assert (out[:, 4, 0] == 2 * runs_compiled()).all()


def first_memory(tree):
    """One number."""
    return np.ones(1)


def second_memory(x):
    """As many as in x."""
    return np.ones(x.size)


def sum_of_memory(tree, x, total, one, many):
    """total = the sum of both."""
    total[0] = one[0]
    for k in range(many.size):
        total[0] += many[k]


def test_several_functions_lay_out_an_argument_each():
    of_memory = entry(sum_of_memory, (first_memory, second_memory), x="nv", total="-> 1")
    total = np.zeros(1)
    assert generic.compiled(of_memory)(*TABLES, np.zeros(ROBOT.nv), total) == FINE and total[0] == 1 + ROBOT.nv


def called(code, x, forces):
    """What the entry makes of states (count, nv)."""
    y, total = np.full(x.shape, np.nan), np.full((len(x), 2), np.nan)
    status = code(*TABLES, FACTORS, x.reshape(-1), forces.reshape(-1), y.reshape(-1), total.reshape(-1))
    return status, y, total


@pytest.mark.nojit
@pytest.mark.parametrize("checked", [False, True])
@pytest.mark.parametrize("count", [1, 4])
def test_each_state_gets_its_own_part_of_every_array(checked, count):
    code = generic.compiled(SUM) if checked else SUM
    rng = np.random.default_rng(0)
    x, forces = rng.uniform(0.1, 1, (count, ROBOT.nv)), rng.normal(size=(count, ROBOT.n_bodies, 6))
    for given in (forces, np.empty(0)):
        status, y, total = called(code, x, given)
        assert status == FINE
        np.testing.assert_allclose(y, 3 * x, rtol=1e-15)
        pushed = given.reshape(count, -1).sum(axis=1)
        np.testing.assert_allclose(total[:, 0], 3 * x.sum(axis=1) + pushed, rtol=1e-12)
        assert total[:, 1].tolist() == list(range(1, count + 1)), "memory is laid out once"


@pytest.mark.nojit
def test_the_worst_status_of_all_states_is_told():
    x = np.ones((3, ROBOT.nv))
    x[1, 0] = -1.0
    assert called(SUM, x, np.empty(0))[0] == NOT_CONVERGED
    x[2, 1] = np.nan
    assert called(generic.compiled(SUM), x, np.empty(0))[0] == NOT_FINITE


@pytest.mark.nojit
def test_sizes_that_do_not_fit_are_told_before_anything_is_written():
    x, y, total = np.ones(2 * ROBOT.nv), np.full(2 * ROBOT.nv, 7.0), np.full(4, 7.0)
    none, one = np.empty(0), np.ones(6 * ROBOT.n_bodies)
    for wrong in (
        (x[:-1], none, y, total), (x[:0], none, y, total), (x, one, y, total), (x, none, y[:-1], total),
        (x, none, y, total[:2]), (x[: ROBOT.nv], none, y, total),
    ):  # fmt: skip
        assert SUM(*TABLES, FACTORS, *wrong) == WRONG_SIZE
    assert (y == 7).all() and (total == 7).all()


@pytest.mark.skipif(not runs_compiled(), reason="kernels run as plain Python: there is no fast call")
def test_the_door_takes_the_declared_shapes_only():
    call = FastEntry(SUM).call
    x, none, y, total = np.ones(ROBOT.nv), np.empty(0), np.empty(ROBOT.nv), np.empty(2)
    assert call(*TABLES, FACTORS, x, none, y, total) == FINE
    assert np.array_equal(y, 3 * x) and total[0] == y.sum()
    both = np.empty(ROBOT.nv + 2)
    for wrong in (
        (x[None], none, y, total), (x[:-1], none, y, total), (x, np.ones((ROBOT.n_bodies, 6)), y, total),
        (x, none, x, total), (x, none, both[:-2], both[-3:-1]), (x, none, y, np.empty(3)),
        (x, none, y), (x, none, y, None),
    ):  # fmt: skip
        assert call(*TABLES, FACTORS, *wrong) > WRONG_SIZE


def test_a_declaration_that_the_kernel_does_not_fit_is_an_error_at_once():
    with pytest.raises(TypeError, match=r"scaled_sum_states: the kernel asks for tree, factors, x, .*memory"):
        entry(scaled_sum, laid_out, x="nv", y="-> nv")
    with pytest.raises(TypeError, match="the kernel asks for"):
        entry(scaled_sum, None, {"factors": "TableOfReals"}, x="nv", forces="N, 6 | none", y="-> nv", total="-> 2")


def test_shapes_results_and_what_may_be_missing_are_read_from_the_declaration():
    assert SUM.signature.arrays == (
        Array("x", ("nv",), False, False, (False,), False),
        Array("forces", ("N", "6"), False, True, (False, False), False),
        Array("y", ("nv",), True, False, (False,), False),
        Array("total", ("two",), True, False, (False,), False),
    )
    assert SUM.__annotations__["forces"] == "Reals" and SUM.__doc__ == scaled_sum.__doc__


def test_all_kernels_of_states_are_declared_but_those_of_functions_that_users_bring_and_sparse_rows():
    """So none can forget to look at its sizes."""
    undeclared = {"product_states", "transposed_product_states", "applied_states"}
    for module in pkgutil.walk_packages(treesim.kernels.__path__, "treesim.kernels."):
        of_states = vars(importlib.import_module(module.name))
        for name, function in of_states.items():
            if name.endswith("_states"):
                assert hasattr(function, "signature") != (name in undeclared), name


def test_shares_of_stages_take_the_declared_arrays_of_one_state():
    def share(ints, reals, memory, first, last, share, shares, x, forces, y, total):
        return FINE

    declared = stages_of(SUM, memory="Reals")(share)
    assert [*declared.__annotations__][:4] == ["ints", "reals", "memory", "first"]
    assert declared.__annotations__["shares"] == "Integer" and declared.__annotations__["total"] == "Reals"
    with pytest.raises(TypeError, match="scaled_sum: the kernel takes other arguments than ints, reals, first"):
        stages_of(SUM)(scaled_sum)
