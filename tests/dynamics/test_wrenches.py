"""Derivatives with wrenches in mappings, along the axes of links and of the world."""

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treesim
from tests import trees
from tests.coupled import coupled
from tests.dynamics.test_derivatives import ROUNDED, SOLVED, exact
from tests.trees import random_state, relative_error
from treesim.dynamics.operational.frames import known_frame_codes
from treesim.engine.interpreter import run
from treesim.kernels.dynamics.rnea import inverse_dynamics_states
from treesim.kernels.kinematics.configuration import integrate_states
from treesim.kernels.kinematics.jacobians import jacobian_states


def random_wrenches(robot, rng):
    """Return wrenches on two frames, of which one has two."""
    names = [name for name in robot.frame_names if robot.frame(name).body]
    first, second = rng.choice(names, 2)
    return {key: rng.normal(size=6) for key in ((str(first), "world"), str(first), (str(second), "world"))}


@pytest.mark.nojit
@given(trees.random_trees(6), st.integers(0, 1000))
def test_along_any_direction_they_are_the_difference_quotient_in_40_digits(robot, seed):
    q, v, a, *_ = random_state(robot, seed)
    rng = np.random.default_rng(seed)
    f_ext, dq = random_wrenches(robot, rng), rng.normal(size=robot.nv)
    found = treesim.inverse_dynamics_derivatives(robot, q, v, a, f_ext=f_ext).dtau_dq @ dq
    with mpmath.workdps(40):
        tables, h = (robot.ints, trees.with_exact_rotations(robot)), mpmath.mpf("1e-13")
        state, v, a, dq = map(exact, (q, v, a, dq))

        def force(t):
            moved = run(integrate_states, tables, (state, t * dq), [(robot.nq,)], mpmath.mpf)[0]
            inputs = moved, v, a, np.zeros((robot.n_bodies, 6), int) * mpmath.mpf(0)
            tau = run(inverse_dynamics_states, tables, inputs, [(robot.nv,)], mpmath.mpf)[0]
            for key, wrench in f_ext.items():
                name, axes = (key, "local") if isinstance(key, str) else (key[0], "world")
                codes, offsets = known_frame_codes(robot, (name,), axes)
                shape = [(6, robot.nv)]
                J = run(jacobian_states, (*tables, codes, exact(offsets)), (moved,), shape, mpmath.mpf)[0]
                tau = tau - J.T @ exact(wrench)
            return tau

        rate = ((force(h) - force(-h)) / (2 * h)).astype(float)
    assert relative_error(found, rate) < ROUNDED


@pytest.mark.parametrize("name", ["free_random", "mimic"])
def test_both_kinds_of_derivatives_in_batches_and_of_frames_on_links(name):
    robot = coupled(1) if name == "mimic" else trees.tree(name)
    hand = treesim.Frame("hand", robot.n_bodies, treesim.Placement.from_xyz_rpy((0.1, 0.2, 0.3), (0.5, 0.6, 0.7)))
    robot = treesim.Tree("robot", robot.bodies, frames=[hand], gravity=robot.gravity)
    states, rng = [random_state(robot, k) for k in range(3)], np.random.default_rng(1)
    q, v, tau = (np.array([getattr(s, x) for s in states]) for x in ("q", "v", "tau"))
    many, one = rng.normal(size=(3, 6)), rng.normal(size=6)
    f_ext = {("hand", "world"): many, "hand": one}
    J, own = (treesim.frame_jacobian(robot, q, "hand", reference=axes) for axes in ("world", "local"))
    forces = np.einsum("bik,bi->bk", J, many) + np.einsum("bik,i->bk", own, one)
    a = treesim.forward_dynamics(robot, q, v, tau + forces)
    inverse = treesim.inverse_dynamics_derivatives(robot, q, v, a, f_ext=f_ext)
    out = np.empty((3, robot.nv, 3, robot.nv))
    forward = treesim.forward_dynamics_derivatives(robot, q, v, tau, f_ext=f_ext, out=out)
    assert np.shares_memory(forward.dqdd_dq, out)
    for derivative, x in zip(forward, (inverse.dtau_dq, inverse.dtau_dv, -np.eye(robot.nv)), strict=True):
        assert relative_error(inverse.M @ derivative, np.broadcast_to(-x, derivative.shape)) < SOLVED
    mapping = {("hand", "world"): many[1], "hand": one}
    single = treesim.forward_dynamics_derivatives(robot, q[1], v[1], tau[1], f_ext=mapping)
    assert relative_error(single.dqdd_dq, forward.dqdd_dq[1]) < SOLVED
    step, h = robot.integrate, 1e-5
    ends = [step(q[1], s * h * np.eye(robot.nv)) for s in (1, -1)]

    def acceleration(q):
        pushed = treesim.frame_jacobian(robot, q, "hand", reference="world")
        own = treesim.frame_jacobian(robot, q, "hand", reference="local")
        forces = np.einsum("bik,i->bk", pushed, many[1]) + np.einsum("bik,i->bk", own, one)
        return treesim.forward_dynamics(robot, q, v[1], tau[1] + forces)

    ahead, behind = (acceleration(end) for end in ends)
    assert relative_error(single.dqdd_dq.T, (ahead - behind) / (2 * h)) < 1e-6
    narrow = [x[1].astype(np.float32) for x in (q, v, tau)]
    mapping = {key: value.astype(np.float32) for key, value in mapping.items()}
    rounded = treesim.forward_dynamics_derivatives(robot, *narrow, f_ext=mapping).dqdd_dq
    assert rounded.dtype == np.float32 and relative_error(rounded, single.dqdd_dq) < 1e-3


def test_bad_mappings_are_named():
    robot = trees.tree("random_a")
    q, v, a, *_ = random_state(robot, 7)
    name, fine = robot.body_names[0], np.ones(6)
    bad = {
        "pairs": {(name, "local"): fine},
        "'nowhere'": {"nowhere": fine},
        "shape": {name: np.ones(5)},
        "not a finite number": {(name, "world"): np.full(6, np.nan)},
        "batch axes": {(name, "world"): np.ones((2, 6)), name: np.ones((3, 6))},
    }
    for function in (treesim.inverse_dynamics_derivatives, treesim.forward_dynamics_derivatives):
        for match, f_ext in bad.items():
            with pytest.raises(treesim.TreesimError, match=match):
                function(robot, q, v, a, f_ext=f_ext)
    fixed = treesim.Tree("fixed", robot.bodies, frames=[treesim.Frame("post", 0)])
    with pytest.raises(treesim.ArgumentError, match="'post' of 'fixed' is fixed"):
        treesim.inverse_dynamics_derivatives(fixed, q, v, a, f_ext={("post", "world"): fine})
