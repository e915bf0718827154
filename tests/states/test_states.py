"""Public functions of states, made from the declarations of entries."""

import gc
import weakref

import numpy as np
import pytest

import treesim
from tests import trees
from tests.test_call_counts import calls_of
from treesim.dynamics.operational.frames import frame_codes
from treesim.engine.call.generic import runs_compiled
from treesim.kernels.kinematics.configuration import integrate_states
from treesim.kernels.kinematics.jacobians import jacobian_states
from treesim.states import states
from treesim.states.states import on_states, state_function

ROBOT = trees.tree("random_a")
STATE = trees.random_state(ROBOT)
TABLES = (ROBOT.ints, ROBOT.reals)
CODES = frame_codes(ROBOT, tuple(ROBOT.frame_names[-3:]), "local")


def test_the_shape_of_the_result_is_the_declared_one():
    jacobians = state_function(jacobian_states)
    alone = jacobians(ROBOT, *TABLES, *CODES, STATE.q)
    assert alone.shape == (18, ROBOT.nv)
    several = jacobians(ROBOT, *TABLES, *CODES, np.stack([STATE.q] * 3))
    assert several.shape == (3, 18, ROBOT.nv)
    assert np.array_equal(several[1], alone)


def test_states_of_all_kinds_give_what_on_states_gives():
    moved = state_function(integrate_states)
    for q in (STATE.q, STATE.q.tolist(), np.stack([STATE.q] * 2)):
        values = {"q": q, "displacement": STATE.v}
        assert np.array_equal(moved(ROBOT, *TABLES, q, STATE.v), on_states(integrate_states, ROBOT, TABLES, values)[0])


def test_messages_name_the_declared_arguments():
    with pytest.raises(treesim.ArgumentError, match=r"displacement has shape \(2,\)"):
        ROBOT.integrate(STATE.q, [1.0, 2.0])
    with pytest.raises(treesim.NonFiniteError, match=r"q1\[0\] is nan"):
        ROBOT.difference(STATE.q, STATE.q * np.nan)


@pytest.mark.skipif(not runs_compiled(), reason="kernels run as plain Python")
def test_one_state_takes_one_call():
    moved = state_function(integrate_states)
    assert calls_of(lambda q, v: moved(ROBOT, *TABLES, q, v), STATE.q, STATE.v) == ["on_state"]


MANY = 200
BATCHES = {
    "forward_dynamics": lambda r, q, v, x, **how: treesim.forward_dynamics(r, q, v, x, **how),
    "mass_matrix": lambda r, q, v, x, **how: treesim.mass_matrix(r, q, **how),
    "frame_pose": lambda r, q, v, x: treesim.frame_pose(r, q, r.frame_names[-1]),
    "body_poses": lambda r, q, v, x: treesim.body_poses(r, q),
}


def many_states(robot, number=float):
    rng = np.random.default_rng(0)
    q = np.array([robot.random(rng) for _ in range(MANY)])
    return [x.astype(number) for x in (q, *rng.normal(size=(2, MANY, robot.nv)))]


@pytest.mark.parametrize("number", [np.float64, np.float32])
@pytest.mark.parametrize("robot", [trees.tree("random_a"), treesim.load("panda")], ids=["free", "mimic joints"])
@pytest.mark.parametrize("name", BATCHES)
def test_dense_batches_give_the_bits_of_other_layouts(name, robot, number):
    arrays, function = many_states(robot, number), BATCHES[name]
    expected = function(robot, *map(np.asfortranarray, arrays))
    assert expected.dtype == number
    for threads in (1, 2):
        with treesim.use_threads(threads):
            for count in (64, MANY, 127, 64):
                part = [x[:count] for x in arrays]
                np.testing.assert_array_equal(function(robot, *part), expected[:count])
                if name in ("forward_dynamics", "mass_matrix"):
                    out = np.empty_like(expected[:count])
                    assert function(robot, *part, out=out) is out
                    np.testing.assert_array_equal(out, expected[:count])


def test_dense_batches_have_the_checks_of_others():
    robot = trees.tree("random_a")
    q, v, tau = many_states(robot)
    expected = treesim.forward_dynamics(robot, q, v, tau)
    np.testing.assert_array_equal(treesim.forward_dynamics(robot, q, v, tau.copy(), engine="specialized"), expected)
    assert (treesim.forward_dynamics(robot, q, v, tau, engine="generic") != expected).any()
    whole = (4 * tau).astype(int)
    np.testing.assert_array_equal(
        treesim.forward_dynamics(robot, q, v, whole), treesim.forward_dynamics(robot, q, v, whole.astype(float))
    )
    down = treesim.forward_dynamics(robot, q, v, tau, gravity=[0, 0, 9.81])
    assert abs(down - expected).max() > 1 and (treesim.forward_dynamics(robot, q, v, tau) == expected).all()
    own = tau.copy()
    np.testing.assert_array_equal(treesim.forward_dynamics(robot, q, v, own, out=own), expected)
    v[5, 0] = np.nan
    with pytest.raises(treesim.NonFiniteError, match=r"v\[5, 0\] is nan"):
        treesim.forward_dynamics(robot, q, v, tau, out=v)
    with pytest.raises(treesim.ArgumentError, match="tau has shape"):
        treesim.forward_dynamics(robot, q, v, tau[:, 1:])
    with pytest.raises(treesim.ArgumentError, match="v must be"):
        treesim.forward_dynamics(robot, q, None, tau)
    with pytest.raises(treesim.ArgumentError, match="out must be"):
        treesim.forward_dynamics(robot, q, tau, tau, out=np.empty((MANY, 1)))


def test_code_of_batches_lives_no_longer_than_its_robot():
    robot = treesim.load("ur5")
    treesim.mass_matrix(robot, np.zeros((64, robot.nq)))
    (bound,) = states._batch_entries[robot].values()
    seen, bound = weakref.ref(bound), None
    del robot
    gc.collect()
    assert seen() is None
