"""Gradients of operations are those of differences in the numbers of their arguments, quaternions among them."""

import numpy as np
import pytest

import treesim
from tests import trees
from tests.coupled import coupled
from treesim.differentiation.operations import ForwardDynamics, FramePose, InverseDynamics, Step, Traced

ROBOTS = {
    "every joint type": trees.tree("free_random"),
    "mimic": coupled(1),
    "fixed base": treesim.load("ur5"),
}


def state_of(robot, batch=()):
    rng = np.random.default_rng(4)
    q = robot.integrate(robot.neutral(), 0.4 * rng.normal(size=(*batch, robot.nv)))
    return q, *rng.normal(size=(2, *batch, robot.nv))


def check(operation, *primals, h=1e-6):
    """Compare gradients with central differences in each number."""
    rng = np.random.default_rng(7)
    results = operation.values(*primals)
    weights = [rng.normal(size=x.shape) for x in results]
    cost = lambda *given: sum((w * x).sum() for w, x in zip(weights, operation.values(*given), strict=True))  # noqa: E731
    for k, gradient in enumerate(operation.gradients(weights, *primals)):
        expected = np.zeros(primals[k].shape)
        for place in np.ndindex(expected.shape):
            d = np.zeros(expected.shape)
            d[place] = h
            ahead, behind = (cost(*primals[:k], primals[k] + each, *primals[k + 1 :]) for each in (d, -d))
            expected[place] = (ahead - behind) / (2 * h)
        np.testing.assert_allclose(gradient, expected, rtol=0, atol=1e-6 * max(1, abs(expected).max()))


@pytest.mark.parametrize("name", ROBOTS)
def test_gradients(name):
    robot = ROBOTS[name]
    q, v, u = state_of(robot)
    check(ForwardDynamics(robot, {"gravity": (0, 1, -9)}), q, v, u)
    check(InverseDynamics(robot, {}), q, v, u)
    check(FramePose(robot, robot.frame_names[-1]), q)
    check(Step(treesim.Stepper(robot, integrator="semi_implicit_euler", dt=1e-2, substeps=1)), q, v, u)


def test_batches_of_weights_and_of_arguments_are_broadcast():
    robot = ROBOTS["every joint type"]
    q, v, u = state_of(robot, (2, 1))
    rng = np.random.default_rng(0)
    frame = robot.frame_names[-1]
    for operation, primals in (
        (ForwardDynamics(robot, {}), (q, v[0], u)),
        (FramePose(robot, frame), (q,)),
        (Step(treesim.Stepper(robot, integrator="semi_implicit_euler")), (q, v, u[0])),
        (Traced(lambda q, d, c: c * robot.integrate(q, d), [q.shape[-1:], v.shape[-1:], ()]), (q, v, np.array(2.0))),
    ):
        weights = [rng.normal(size=(2, 3, *shape)) for shape in operation.results]
        found = operation.gradients(weights, *primals)
        for i, k in np.ndindex(2, 3):
            own = [x[min(i, len(x) - 1), 0] if x.ndim == 3 else x[0] if x.ndim == 2 else x for x in primals]
            one = operation.gradients([w[i, k] for w in weights], *own)
            for several, single in zip(found, one, strict=True):
                several = np.broadcast_to(several, (2, 3, *single.shape))
                np.testing.assert_allclose(several[i, k], single, rtol=0, atol=1e-11 * max(1, abs(single).max()))


def test_equal_operations_are_found_again():
    robot = ROBOTS["fixed base"]
    one, other = (ForwardDynamics(robot, {"gravity": np.array([0, 0, g])}) for g in (-9.0, -9.0))
    assert one == other and hash(one) == hash(other)
    assert one != ForwardDynamics(robot, {"gravity": np.array([0, 0, -1.0])}) != InverseDynamics(robot, {})


def test_arguments_and_options_are_refused_by_name():
    operation = ForwardDynamics(ROBOTS["fixed base"], {})
    with pytest.raises(treesim.ArgumentError, match=r"v has shape \(5,\), but \(6\) or"):
        operation.batch([(6,), (5,), (6,)])
    with pytest.raises(treesim.ArgumentError, match=r"q \(2,\), v \(3,\)"):
        operation.batch([(2, 6), (3, 6), (6,)])
    with pytest.raises(treesim.ArgumentError, match=r"forward_dynamics with gradients has the options .*'backend'"):
        ForwardDynamics(ROBOTS["fixed base"], {"backend": "aba"})
    with pytest.raises(treesim.UnsupportedError, match=r"forward_dynamics has no second derivatives; treesim.forward"):
        operation.refuse_second()


@pytest.mark.parametrize("library", ["jax", "torch"])
def test_arrays_that_another_library_differentiates_name_the_plugin(library):
    class Array:
        """Array of another library that refuses to become one of NumPy."""

        requires_grad = True

        def __array__(self, dtype=None, copy=None):
            raise RuntimeError("call detach()")

    Array.__module__ = f"{library}.arrays"
    q = np.zeros(6)
    with pytest.raises(treesim.ArgumentError, match=f"v has numbers that {library} .*treesim_{library}.forward_dynam"):
        treesim.forward_dynamics(ROBOTS["fixed base"], q, Array(), q)
    with pytest.raises(treesim.ArgumentError, match=f"q has numbers that {library} "):
        treesim.mass_matrix(ROBOTS["fixed base"], [Array()] * 6)
    Array.__module__, Array.requires_grad = "torch", False
    with pytest.raises(treesim.ArgumentError, match=r"v must be an array of real numbers: call detach\(\)"):
        treesim.forward_dynamics(ROBOTS["fixed base"], q, Array(), q)
