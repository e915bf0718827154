"""Products of derivatives with vectors: both modes agree, with analytic ones and with 40 digits; kinks; errors."""

from functools import partial

import mpmath
import numpy as np
import pytest

import treesim
from tests import trees
from tests.coupled import coupled
from tests.trees import random_state, relative_error
from treesim import jvp, numbers, vjp
from treesim.differentiation.traced_function import traced_function

EXACT = 1e-14  # of the same sums in another order, relative to the largest term
ROUNDED, SOLVED = 1e-13, 1e-11  # as in tests/dynamics/test_derivatives.py
BACKENDS = ("aba", "crba_ltdl", "crba_ltl", "rjk", "innovations", "explicit_inverse")
BRANCHING = ("constraint_force", "divide_and_conquer", "tree_contraction", "conjugate_gradient")


def tree(name):
    return coupled(1) if name == "mimic" else trees.tree(name)


def cost(x, y):
    """Use all functions that costs may use."""
    near = numbers.less(x[0], y[1])
    size = np.sqrt(x @ x) + np.hypot(x[0], y[0]) + numbers.absolute(y[0]) ** 3
    angle = np.arctan2(x[0], y[1]) + np.arcsin(x[1] / 4) + np.arccos(y[0] / 4) + np.arctan(x[2]) + np.tan(y[1] / 3)
    smooth = np.tanh(x).sum() + np.exp(-y[0]) + np.cos(x[0] * y[1]) / (2 + np.sin(y[0])) + 2.0 ** x[1]
    chosen = numbers.select(near, x[0] * y[0], x[1] / y[1]) + numbers.maximum(x[0], y[0]) * numbers.minimum(x[1], y[1])
    return np.stack([size * smooth, angle - chosen, x[2] * 0 + 3.0])


def dynamics(robot, backend="aba"):
    """Return accelerations as a function of a displacement, velocities and forces at a configuration."""

    def accelerations(d, v, tau, q):
        return treesim.forward_dynamics(robot, robot.integrate(q, d), v, tau, backend=backend)

    return accelerations


def directional_derivative(function, primals, tangents, w):
    """Return w . derivative by both modes, and the scale of its terms."""
    value, tangent = jvp(function, primals, tangents)
    again, pullback = vjp(function, *primals)
    np.testing.assert_array_equal(value, again)
    gradients = pullback(w)
    terms = [np.sum(g * t) for g, t in zip(gradients, tangents, strict=True)]
    scale = sum(np.abs(g * t).sum() for g, t in zip(gradients, tangents, strict=True)) + np.abs(w * tangent).sum()
    return np.sum(w * tangent), sum(terms), scale


@pytest.mark.parametrize(
    ("name", "backend"), [("ur5", "aba"), ("mimic", "aba"), *(("free_random", backend) for backend in BACKENDS)]
)
def test_both_modes_are_one_derivative_and_the_analytic_one(name, backend):
    robot = treesim.load("ur5") if name == "ur5" else tree(name)
    q, v, tau, *_ = random_state(robot, 2)
    rng, d, constant = np.random.default_rng(0), np.zeros(robot.nv), np.zeros(robot.nq)
    function, primals = dynamics(robot, backend), (d, v, tau, q)
    tangents = *rng.normal(size=(3, robot.nv)), constant
    forward, backward, scale = directional_derivative(function, primals, tangents, rng.normal(size=robot.nv))
    assert abs(forward - backward) < EXACT * scale
    analytic = treesim.forward_dynamics_derivatives(robot, q, v, tau)
    expected = sum(D @ t for D, t in zip(analytic, tangents[:3], strict=True))
    assert relative_error(jvp(function, primals, (*tangents[:3], None))[1], expected) < SOLVED


@pytest.mark.parametrize("name", ["free_random", "mimic"])
def test_inverse_dynamics_and_accelerations_of_frames(name):
    robot = tree(name)
    q, v, a, *_ = random_state(robot, 5)
    frame, d = robot.frame_names[-1], np.zeros(robot.nv)

    def forces(d, v, a):
        return treesim.inverse_dynamics(robot, robot.integrate(q, d), v, a)

    def acceleration(d, v, a):
        return treesim.frame_acceleration(robot, robot.integrate(q, d), v, a, frame)

    expected = treesim.inverse_dynamics_derivatives(robot, q, v, a)
    for found, D in zip(vjp(forces, d, v, a)[1](np.eye(robot.nv)), expected, strict=True):
        assert relative_error(found, D) < ROUNDED
    expected = treesim.frame_acceleration_derivatives(robot, q, v, a, frame)
    for k, D in enumerate(expected):
        directions = tuple(np.eye(robot.nv) if k == i else None for i in range(3))
        assert relative_error(jvp(acceleration, (d, v, a), directions)[1], D.T) < ROUNDED


def test_jacobians_and_operational_inertia():
    """The derivative of the pose along v is the frame's velocity; matrices are results, too."""
    robot = treesim.load("ur5")
    q, v, *_ = random_state(robot, 1)
    _, rate = jvp(lambda q: treesim.frame_pose(robot, q, "tool0"), (q,), (v,))
    np.testing.assert_allclose(rate[:3, 3], treesim.frame_velocity(robot, q, v, "tool0")[:3], atol=1e-14)
    _, rate = jvp(lambda q: treesim.frame_jacobian(robot, q, "tool0"), (q,), (v,))
    np.testing.assert_allclose(rate, treesim.frame_jacobian_derivative(robot, q, v, "tool0"), atol=1e-14)

    def inertia(q):
        return treesim.inverse_operational_inertia(robot, q, "tool0")

    _, rate = jvp(inertia, (q,), (v,))
    assert relative_error(rate, (inertia(q + 1e-5 * v) - inertia(q - 1e-5 * v)) / 2e-5) < 1e-7
    w = np.random.default_rng(1).normal(size=(6, 6))
    forward, backward, scale = directional_derivative(inertia, (q,), (v,), w)
    assert abs(forward - backward) < EXACT * scale


@pytest.mark.parametrize("seed", range(3))
def test_costs_agree_with_differences_in_40_digits(seed):
    rng = np.random.default_rng(seed)
    x, y, dx, dy = rng.uniform(-2, 2, (4, 3))
    x[:2] = -x[:2] if seed == 1 else x[:2]
    traced = traced_function(cost, ((3,), (3,)))
    with mpmath.workdps(40):
        h = mpmath.mpf("1e-15")
        moved = [
            [[mpmath.mpf(a) + s * h * mpmath.mpf(b) for a, b in zip(p.tolist(), t.tolist(), strict=True)]
             for p, t in ((x, dx), (y, dy))] for s in (1, -1)
        ]  # fmt: skip
        one, other = (traced.primal(*groups) for groups in moved)
        exact = np.array([float((a - b) / (2 * h)) for a, b in zip(one, other, strict=True)])
    value, tangent = jvp(cost, (x, y), (dx, dy))
    np.testing.assert_allclose(value, np.array(cost(x, y), float), rtol=1e-14)
    np.testing.assert_allclose(tangent, exact, rtol=1e-13, atol=1e-13)
    forward, backward, scale = directional_derivative(cost, (x, y), (dx, dy), rng.normal(size=3))
    assert abs(forward - backward) < EXACT * scale


def test_batches_and_several_directions():
    """The derivative of a state has the same bits alone and among others; leading axes are broadcast."""
    robot = treesim.load("ur5")
    rng = np.random.default_rng(3)
    q, v, tau = rng.uniform(-1, 1, (5, 2, 6)), rng.normal(size=(2, 6)), rng.normal(size=6)

    def function(q, v, tau):
        return treesim.forward_dynamics(robot, q, v, tau)

    tangents = rng.normal(size=q.shape), rng.normal(size=(3, *v.shape)), rng.normal(size=(3, 6))
    value, tangent = jvp(function, (q, v, tau), tangents)
    assert value.shape == (5, 2, 6) and tangent.shape == (3, 5, 2, 6)
    alone = jvp(function, (q[4, 1], v[1], tau), (tangents[0][4, 1], tangents[1][2, 1], tangents[2][2]))
    np.testing.assert_array_equal(value[4, 1], alone[0])
    np.testing.assert_array_equal(tangent[2, 4, 1], alone[1])
    value, pullback = vjp(function, q, v, tau)
    w = rng.normal(size=(3, *value.shape))
    gradients = pullback(w)
    assert [g.shape for g in gradients] == [(3, 5, 2, 6)] * 3
    one = vjp(function, q[4, 1], v[1], tau)[1](w[2, 4, 1])
    for several, g in zip(gradients, one, strict=True):
        np.testing.assert_array_equal(several[2, 4, 1], g)
    none = jvp(function, (q[:0], v, tau), (q[:0], None, None))
    assert none[1].shape == vjp(function, q[:0], v, tau)[1](none[0])[2].shape == (0, 2, 6)


def test_numbers_float32_and_results_without_axes():
    value, tangent = jvp(lambda t, x: np.sin(t) * x @ x, (0.5, np.ones((4, 3))), (1.0, None))
    np.testing.assert_allclose(tangent, np.full(4, 3 * np.cos(0.5)))
    value, pullback = vjp(lambda t, x: [t * x[0]], 2, np.float32([3, 4]))
    assert [g.tolist() for g in pullback(np.ones(1))] == [3.0, [2.0, 0.0]] and value.dtype == float
    x = np.float32([0.5, 0.25])
    value, tangent = jvp(lambda x: x * x, (x,), (x,))
    (gradient,) = vjp(lambda x: x * x, x)[1](x)
    assert value.dtype == tangent.dtype == gradient.dtype == np.float32
    np.testing.assert_array_equal(tangent, 2 * x * x)
    with pytest.raises(treesim.NonFiniteError, match="overflows in float32"):
        jvp(lambda x: x * 1e30, (np.float32([1e20]),), (None,))
    assert jvp(lambda x: np.ones(2), (x,), (x,))[1].tolist() == [0, 0], "a constant"
    assert jvp(lambda x: x, (x,), (None,))[1].tolist() == [0, 0], "nothing moves"


@pytest.mark.parametrize(
    ("function", "x", "slope"),
    [
        (lambda x: abs(x[0]), 0.0, 0.0),
        (lambda x: numbers.maximum(x[0], 0.0), 0.0, 0.5),
        (lambda x: numbers.minimum(2 * x[0], 0.0), 0.0, 1.0),
        (lambda x: numbers.maximum(2 * x[0], x[0]), 1.0, 2.0),
        (lambda x: numbers.less(x[0], 0.0), 0.0, 0.0),
        (lambda x: numbers.select(numbers.less(x[0], 0.0), -x[0], 3 * x[0]), 0.0, 3.0),
        (lambda x: np.tanh(x[0]), 0.0, 1.0),
        (lambda x: numbers.tanh(5 * x[0]) * numbers.absolute(x[0]), 0.0, 0.0),
        (lambda x: numbers.select(numbers.less(0.0, x[0]), np.sqrt(x[0]), 0.0), -1.0, None),
    ],
)
def test_kinks(function, x, slope):
    if slope is None:  # NaN, where it is not selected
        assert jvp(lambda x: numbers.select(numbers.less(0.0, x[0]), 1 / x[0], x[0]), ([0.0],), ([1.0],))[1] == 1.0
        return
    assert jvp(function, ([x],), ([1.0],))[1] == slope
    assert vjp(function, [x])[1](1.0)[0] == slope


def test_at_rest_and_at_equal_configurations_derivatives_are_finite():
    robot = tree("free_random")
    q, v, *_ = random_state(robot, 4)
    zero, one = np.zeros(robot.nv), np.eye(robot.nv)
    _, tangent = jvp(lambda d: robot.difference(q, robot.integrate(q, d)), (zero,), (one,))
    np.testing.assert_allclose(tangent, one, atol=1e-14)
    for function in (treesim.bias_forces, lambda robot, q, v: treesim.energy(robot, q, v)[0]):
        _, tangent = jvp(lambda v, f=function: f(robot, q, v), (zero,), (v,))
        np.testing.assert_array_equal(tangent, 0)


def test_functions_are_traced_again_where_their_numbers_change():
    calls, gain = [], {"k": 2.0}

    def made(power):
        def function(x):
            calls.append(0)
            return gain["k"] * x**power

        return function

    assert jvp(made(2), ([3.0],), ([1.0],))[1] == 12
    many = len(calls)
    calls.clear()
    assert many and jvp(made(3), ([3.0],), ([1.0],))[1] == 54
    gain["k"] = 5.0
    assert jvp(made(2), ([3.0],), ([1.0],))[1] == 30


FACTOR = 2.0


class Spring:
    """Energy with an attribute, an attribute of the class, and a global."""

    exponent = 2

    def __init__(self, k):
        self.k = k

    def __call__(self, x):
        return self.energy(x)

    def energy(self, x):
        return [sum(FACTOR * self.k * y**self.exponent for y in x)]


def test_objects_and_their_methods_are_traced_again_where_their_numbers_change(monkeypatch):
    spring = Spring(1.0)
    for function in (spring, spring.energy, lambda x: spring.energy(x), partial(Spring.energy, spring)):
        assert jvp(function, ([3.0],), ([1.0],))[1] == 12
        with monkeypatch.context() as patch:
            patch.setattr(spring, "k", 2.0)
            assert jvp(function, ([3.0],), ([1.0],))[1] == 24
            patch.setattr(Spring, "exponent", 3)
            assert jvp(function, ([3.0],), ([1.0],))[1] == 108
            patch.setitem(globals(), "FACTOR", 1.0)
            assert jvp(function, ([3.0],), ([1.0],))[1] == 54
        assert traced_function(function, ((1,),)) is traced_function(function, ((1,),))


def test_equal_functions_share_a_trace():
    shapes = ((2,),)
    robot = treesim.load("ur5")

    def made(weights, robot):
        return lambda x: (weights * x).sum() + robot.nq * sum(y for y in x)

    one = traced_function(made(np.ones(2), robot), shapes)
    assert one is traced_function(made(np.ones(2), robot), shapes)
    assert one is not traced_function(made(np.zeros(2), robot), shapes)
    assert one is not traced_function(made(np.ones(2), treesim.load("ur5")), shapes)
    assert one is not traced_function(made(np.ones(2), robot), ((1,),))


def branching(x):
    if x[0] > 0:
        return x
    return -x


def long(x):
    for _ in range(200_000):
        x = np.sin(x)
    return x


def drawn(x):
    return x * np.random.default_rng().normal()


def long_derivative(x):
    for _ in range(20_000):
        x = x * np.sin(x)
    return x


@pytest.mark.parametrize(
    ("function", "error", "what"),
    [
        (branching, treesim.UnsupportedError, "'branching' cannot be compiled: in `if x.0. > 0:` .*less and select"),
        (long, treesim.UnsupportedError, "'long' cannot be compiled: .* 150000 operations.*into parts"),
        (long_derivative, treesim.UnsupportedError, "derivative of the function 'long_derivative'.*150000.*chain"),
        (drawn, treesim.UnsupportedError, "other numbers in each call"),
        (lambda x: None, treesim.ArgumentError, "must return one array of finite numbers, got None"),
        (lambda x: (x, x[:1]), treesim.ArgumentError, "must return one array of finite numbers"),
        (lambda x: [np.nan], treesim.ArgumentError, "must return one array of finite numbers"),
        (lambda x: x[:0], treesim.ArgumentError, "must return one array of finite numbers"),
        (lambda x: x["a"], treesim.ArgumentError, "raises IndexError"),
        (lambda x, y: x, treesim.ArgumentError, "must take 1 arguments"),
        (lambda x: np.sqrt(x - 1), treesim.NonFiniteError, "the derivative .* is not finite: roots"),
        (lambda x: np.sqrt(x - 2), treesim.NonFiniteError, "the value .* is not finite"),
        (3, treesim.ArgumentError, "function must be a function of arrays, got 3"),
    ],
)
def test_functions_without_derivative_are_refused(function, error, what):
    with pytest.raises(error, match=what):
        jvp(function, ([1.0, 1.0],), ([1.0, 1.0],))


@pytest.mark.parametrize("backend", BRANCHING)
def test_backends_that_branch_are_refused_with_the_line(backend):
    robot = treesim.load("ur5")
    with pytest.raises(treesim.UnsupportedError, match=r"in `return treesim.forward_dynamics.robot.*branches"):
        vjp(dynamics(robot, backend), *np.zeros((4, 6)))


@pytest.mark.parametrize(
    ("primals", "tangents", "what"),
    [
        (np.ones(2), (None,), "primals must be a tuple of arrays"),
        ((), (), "primals must be a tuple of arrays"),
        (("a",), (None,), r"primals\[0\] must be an array of real numbers"),
        (([np.inf, 0],), (None,), r"primals\[0\]\[0\] is inf"),
        (([],), (None,), "nothing to differentiate in"),
        ((np.ones((3, 2)), np.ones((4, 2))), (None, None), r"batch axes do not fit"),
        ((np.ones(2),), np.ones(2), "tangents must be a tuple of 1, one for each primal"),
        (
            (np.ones(2),),
            (np.ones(3),),
            r"tangents\[0\] has shape \(3,\), but .* primals\[0\], \(2,\), or \(K, 2\)",
        ),
        ((np.ones(2),), (np.ones((0, 2)),), "or .K, 2. is needed"),
        ((np.ones(2),), ([0, np.nan],), r"tangents\[0\]\[1\] is nan"),
        ((np.ones(2), 1.0), (np.ones((3, 2)), np.ones(4)), r"tangents\[0\] has 3 directions, but tangents\[1\] has 4"),
        ((np.broadcast_to(1.0, (10**12, 2)),), (None,), "free"),
    ],
)
def test_bad_arrays_are_refused_by_name(primals, tangents, what):
    with pytest.raises(treesim.TreesimError, match=what):
        jvp(lambda x, y=0: x, primals, tangents)


def test_bad_weights_are_refused_by_name():
    _, pullback = vjp(lambda x: x * x, np.ones(2))
    with pytest.raises(treesim.ArgumentError, match=r"w has shape \(3,\), but that of the value, \(2,\)"):
        pullback(np.ones(3))
    with pytest.raises(treesim.NonFiniteError, match=r"w\[0\] is nan"):
        pullback([np.nan, 1])
    with pytest.raises(treesim.NonFiniteError, match=r"in state \(1,\): roots"):
        vjp(lambda x: np.sqrt(x), [[1.0, 1.0], [0.0, 1.0]])[1](np.ones((2, 2)))
