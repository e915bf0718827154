"""Public functions of states, made from the declarations of entries."""

import numpy as np
import pytest

import treesim
from tests import trees
from tests.test_call_counts import calls_of
from treesim.dynamics.operational.frames import frame_codes
from treesim.engine.call.generic import runs_compiled
from treesim.kernels.kinematics.configuration import integrate_states
from treesim.kernels.kinematics.jacobians import jacobian_states
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
