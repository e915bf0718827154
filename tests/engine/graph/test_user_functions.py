"""Users' functions: what no trace knows is refused by name, and numbers that change from call to call are found."""

import itertools
import random
import time

import numpy as np
import pytest

import treesim
from treesim.engine.graph import expressions
from treesim.engine.graph.expressions import Expression
from treesim.engine.graph.policies import Policy
from treesim.numbers import atan2
from treesim.rollouts.reduction import Reduction

pytestmark = pytest.mark.nojit
counter, coin = itertools.count(), random.Random(0)
generator, old_generator = np.random.default_rng(0), np.random.RandomState(0)


class Noisy:
    """Policy whose object draws the numbers."""

    def __init__(self):
        self.generator = random.Random(0)

    def __call__(self, t, q, v, p, u):
        u[0] = self.generator.choice([-1.0, 1.0])


def noise_of_process(t, q, v, p, u):
    u[1] = q[0] * np.random.normal()


def noise_of_python(t, q, v, p, u):
    u[1] = q[0] * random.random()


def noise_of_generator(t, q, v, p, u):
    u[1] = generator.normal()


def noise_of_old_generator(t, q, v, p, u):
    u[1] = old_generator.normal()


def coins(t, q, v, p, u):
    u[1] = q[0] if coin.random() < 0.5 else v[0]


def coins_of_numpy(t, q, v, p, u):
    u[1] = generator.integers(2)


def count(t, q, v, p, u):
    u[1] = next(counter) * q[0]


def clock(t, q, v, p, u):
    u[1] = time.perf_counter()


def random_states():
    return repr((random.getstate(), np.random.get_state(), generator.bit_generator.state, coin.getstate()))


CHANGING = [
    noise_of_process, noise_of_python, noise_of_generator, noise_of_old_generator, coins, coins_of_numpy, count, clock,
]  # fmt: skip


@pytest.mark.parametrize("policy", CHANGING, ids=lambda policy: policy.__name__)
def test_a_policy_that_computes_other_numbers_in_each_call_is_refused_by_name(policy):
    before = random_states()
    with pytest.raises(treesim.UnsupportedError, match=rf"u\[1\] of the policy '{policy.__name__}' .*as parameters"):
        Policy(policy, 2, 2, 0)
    assert random_states() == before


def test_an_object_that_draws_numbers_is_refused():
    with pytest.raises(treesim.UnsupportedError, match=r"u\[0\] of the policy 'Noisy'"):
        Policy(Noisy(), 2, 2, 0)


def test_numbers_that_are_drawn_once_before_are_constants():
    drawn = np.random.default_rng(0).normal()
    assert Policy(lambda t, q, v, p, u: u.__setitem__(0, drawn), 2, 2, 0)([0.0], [0.0] * 2, [0.0] * 2, [])[0] == drawn


def test_drawn_numbers_that_the_results_do_not_contain_do_no_harm():
    def idle(t, q, v, p, u):
        generator.normal()
        u[0] = -q[0]

    assert Policy(idle, 2, 2, 0) == Policy(lambda t, q, v, p, u: u.__setitem__(0, -q[0]), 2, 2, 0)


def test_measures_and_functions_of_batches_are_checked_too():
    with pytest.raises(treesim.UnsupportedError, match="measure 'noisy' contains other numbers in each call"):
        noisy = {
            "calm": treesim.measures.mean(lambda t, q, v: q[0]),
            "noisy": treesim.measures.mean(lambda t, q, v: q[0] + generator.normal()),
        }
        Reduction(noisy, 2, 2, 0, 0, 0.001, np.float64)
    with pytest.raises(treesim.UnsupportedError, match="result 1 of the function"):
        treesim.BatchFunction(lambda q: [q[0], q[0] * generator.normal()], [1], engine="generic")
    with pytest.raises(treesim.UnsupportedError, match="3 results in one call, and 4 in the next"):
        lengths = itertools.count(3)
        treesim.BatchFunction(lambda q: [q[0]] * next(lengths), [1], engine="generic")


def test_a_function_whose_operations_are_known_is_called_once():
    calls = []

    def doubled(x):
        calls.append(1)
        return [x[0] * 2.125]

    expressions.STEADY.clear()
    first, again = Expression([1], doubled), Expression([1], doubled)
    assert first == again and len(calls) == 3 and first([1.0]) == [2.125]


REFUSED = {
    "np.isnan": (lambda q: np.isnan(q), "leave it out"),
    "np.log": (np.log, "as a parameter"),
    "np.rint": (np.round, "not rounded"),
    "the operation %": (lambda q: q % 0.5, "phase"),
    "the operation //": (lambda q: q // 0.5, "phase"),
    "np.arcsinh": (np.arcsinh, "select of treesim.numbers"),
    "linalg": (lambda q: np.linalg.solve(np.eye(2), q), "mass_matrix"),
    "'str'": (lambda q: q[0] + "1", "treesim.numbers"),
    "functions of math": (lambda q: __import__("math").sin(q[0]), "those of numpy"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_trace_knows_is_named_with_an_alternative(name):
    function, alternative = REFUSED[name]
    with pytest.raises(treesim.UnsupportedError) as error:
        Policy(lambda t, q, v, p, u: u.__setitem__(slice(None), function(q)), 2, 2, 0)
    assert name in str(error.value) and alternative in str(error.value) and "the policy" in str(error.value)


def test_what_a_function_raises_is_named_with_its_line_and_the_shapes_of_its_arguments():
    with pytest.raises(treesim.ArgumentError, match=r"IndexError in `u\[0\] = q\[7\].*\(\), \(2,\), \(3,\), \(0,\)"):

        def beyond(t, q, v, p, u):
            u[0] = q[7]  # of 2

        Policy(beyond, 2, 3, 0)


FUNCTIONS = {
    "tan": np.tan, "arcsin": np.arcsin, "arccos": np.arccos, "arctan": np.arctan, "degrees": np.degrees,
    "radians": np.radians, "deg2rad": np.deg2rad, "rad2deg": np.rad2deg, "std": lambda x: [x.std()],
    "arctan2": lambda x: np.arctan2(x, 0.5), "hypot": lambda x: np.hypot(x, 0.5),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_numpy_compute_in_traces_what_they_compute(name):
    x = np.array([-0.75, 0.25, 0.5])
    traced = Expression([3], FUNCTIONS[name])
    assert np.allclose(traced(x), FUNCTIONS[name](x), rtol=9e-16, atol=0)
    assert np.allclose(Expression([3], lambda x: [atan2(x[0], x[1])])(x), np.arctan2(*x[:2]), rtol=9e-16)
