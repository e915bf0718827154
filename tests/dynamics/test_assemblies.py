"""Divide and conquer and tree contraction: bodies of little inertia, long chains, threads, and lost digits."""

import numpy as np
import pytest

import treesim
from tests import sensitivity, trees
from tests.trees import random_state
from treesim import Body, Inertia, Tree, plugins
from treesim.dynamics import assemblies
from treesim.engine.call import stages
from treesim.kernels.published.residual_check import REFUSED
from treesim.model import generators as make

BACKENDS = ("tree_contraction", "divide_and_conquer")
every_backend = pytest.mark.parametrize("backend", BACKENDS)
THREE_AXES = ((0, 0, 1), (0, 1, 0), (1, 0, 1))


def scaled(robot, factors):
    """The robot with the inertia of some bodies, by number, multiplied."""
    bodies = list(robot.bodies)
    for i, factor in factors.items():
        body, inertia = bodies[i - 1], bodies[i - 1].inertia
        inertia = Inertia(inertia.mass * factor, inertia.com, inertia.rotational * factor)
        bodies[i - 1] = Body(body.name, body.parent, body.joint, inertia)
    return Tree("scaled", bodies)


def with_inertia(robot, i, inertia):
    """The robot with another inertia of body i."""
    bodies = list(robot.bodies)
    bodies[i - 1] = Body(bodies[i - 1].name, bodies[i - 1].parent, bodies[i - 1].joint, inertia)
    return Tree("changed", bodies)


def assert_digits(robot, backend, state):
    """Under random torques, against exact digits, a method loses no more than is its own, whatever the problem is;
    under those of a prescribed motion, no more than rounding the problem does."""
    q, v, a, tau, _ = state
    own = plugins.get("dynamics", backend).capabilities.error_factor * sensitivity.OF_A_SWEEP
    exact = pytest.importorskip("treesim_lab.cost.error_growth").exact_acceleration(robot, q, v, tau)
    assert sensitivity.farthest(treesim.forward_dynamics(robot, q, v, tau, backend=backend), exact) < own
    torques = treesim.inverse_dynamics(robot, q, v, a)
    found = treesim.forward_dynamics(robot, q, v, torques, backend=backend)
    bound = sensitivity.of_forward_dynamics(robot, q, v, torques, a, backend)
    assert sensitivity.farthest(found, a) < bound


@every_backend
@pytest.mark.parametrize("ratio", [1e-2, 1e-3, 1e-6, 1e-9, 1e-12, 0.0])
def test_light_and_massless_links_cost_no_digits(backend, ratio):
    robot = scaled(make.chain(20, axes=THREE_AXES), {10: ratio})
    for seed in range(3):
        assert_digits(robot, backend, random_state(robot, seed))


@every_backend
@pytest.mark.parametrize("ratio", [1e3, 1e6])
def test_heavy_tips_are_carried_as_well_as_by_the_articulated_body_algorithm(backend, ratio):
    robot = scaled(make.chain(20, axes=THREE_AXES), {20: ratio})
    q, v, a, *_ = random_state(robot, 1)
    torques = treesim.inverse_dynamics(robot, q, v, a)
    for method in (backend, "aba"):
        found = treesim.forward_dynamics(robot, q, v, torques, backend=method)
        bound = sensitivity.of_forward_dynamics(robot, q, v, torques, a, method)
        assert sensitivity.farthest(found, a) < bound, method


@every_backend
@pytest.mark.parametrize("i", [1, 3, 5])
def test_point_masses_and_needles_need_no_moments_of_inertia(backend, i):
    """A ball joint made of three revolute joints has two massless bodies, a pendulum's bob no moments."""
    robot = make.chain(5, axes=THREE_AXES)
    for inertia in (Inertia(2.0, (0.3, 0.1, 0.2)), Inertia(1.0, (0.2, 0.1, 0), np.diag([1e-14, 0.1, 0.1]))):
        changed = with_inertia(robot, i, inertia)
        assert_digits(changed, backend, random_state(changed, 2))
    if i == 3:
        massless = with_inertia(with_inertia(robot, 3, Inertia()), 2, Inertia())
        assert_digits(massless, backend, random_state(massless, 3))


@every_backend
def test_inertia_that_grows_body_by_body_is_refused_rather_than_answered_wrongly(backend):
    """No body is light beside its neighbours, yet the last outweighs the first by 1e14; the other way round is easy.

    By 1e10 the accelerations are refined, and inverse dynamics confirm them.
    """
    tail = scaled(make.chain(8, axes=THREE_AXES), {i: 30.0**-i for i in range(1, 9)})
    state = random_state(tail, 1)
    assert_digits(tail, backend, state)
    head = scaled(make.chain(8, axes=THREE_AXES), {i: 30.0**i for i in range(1, 9)})
    tau = treesim.inverse_dynamics(head, state.q, state.v, state.a)
    found = treesim.forward_dynamics(head, state.q, state.v, tau, backend=backend)
    left = treesim.inverse_dynamics(head, state.q, state.v, found) - tau
    assert np.abs(left).max() < REFUSED * np.abs(tau).max()
    head = scaled(make.chain(8, axes=THREE_AXES), {i: 100.0**i for i in range(1, 9)})
    tau = treesim.inverse_dynamics(head, state.q, state.v, state.a)
    with pytest.raises(treesim.AccuracyError, match=rf"{backend}.*'joint_\d+'.*'aba'"):
        treesim.forward_dynamics(head, [head.neutral(), state.q], state.v, tau, backend=backend)


@every_backend
def test_massless_tips_are_named(backend):
    robot = with_inertia(make.chain(6), 6, Inertia())
    state = random_state(robot)
    with pytest.raises(treesim.SingularInertiaError, match="joint_6"):
        treesim.forward_dynamics(robot, *state[:2], state.tau, backend=backend)


@every_backend
@pytest.mark.parametrize("robot", [make.chain(80), make.square_grid(9, trees.MIXED)], ids=["chain", "grid"])
def test_threads_do_not_change_a_bit(backend, robot, monkeypatch):
    state = random_state(robot, 4)
    arguments = (robot, np.stack([state.q, robot.neutral()]), state.v, state.tau)
    options = {"f_ext": state.f_ext, "backend": backend}
    alone = treesim.forward_dynamics(*arguments, **options)
    monkeypatch.setattr(assemblies, "LARGE", 1)
    monkeypatch.setattr(assemblies, "BLOCKS_PER_SHARE", 2)
    for threads in (2, 3, 5):
        for module in (assemblies, stages):
            monkeypatch.setattr(module, "thread_count", lambda threads=threads: threads)
        assert (treesim.forward_dynamics(*arguments, **options) == alone).all()
    broken = np.where(np.arange(robot.nv) == 2, np.nan, 0)
    with pytest.raises(treesim.NonFiniteError, match=r"v\[2\]"):
        treesim.forward_dynamics(robot, state.q, broken, state.tau, f_ext=None, backend=backend)


@every_backend
def test_plan_is_made_once_for_each_robot(backend):
    robot = make.chain(9)
    planner = plugins.get("dynamics", backend)
    assert planner.integers(robot) is planner.integers(robot)
    assert planner.integers(robot)[: robot.ints.size].tolist() == robot.ints.tolist()
    assert not planner.integers(robot).flags.writeable


@every_backend
@pytest.mark.parametrize("axes", [((0, 0, 1),), ((0, 0, 1), (0, 1, 0)), THREE_AXES], ids=["planar", "snake", "three"])
@pytest.mark.parametrize("n", [10, 100, pytest.param(1000, marks=pytest.mark.slow)])
def test_errors_along_chains(backend, axes, n):
    """Force-driven motion keeps its digits at any length; under prescribed motion they go as with any method."""
    robot = make.chain(n, axes=axes)
    assert_digits(robot, backend, random_state(robot))
