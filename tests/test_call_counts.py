"""How many Python functions a call on one state passes through: what they take is not paid back by any kernel."""

import gc
import inspect
import sys
from functools import partial

import numpy as np
import pytest

import treesim
from tests import trees
from treesim.engine.call.generic import runs_compiled

ROBOT = trees.tree("random_a")
STATE = trees.random_state(ROBOT)
MIMIC = treesim.load("panda")
FRAME = ROBOT.frame_names[-1]
BOUND = treesim.Dynamics(ROBOT)
OUT, MATRIX, ROWS = np.empty(ROBOT.nv), np.empty((ROBOT.nv, ROBOT.nv)), np.empty((6, ROBOT.nv))

pytestmark = pytest.mark.skipif(not runs_compiled(), reason="kernels run as plain Python")

PLAIN = {
    "forward_dynamics": lambda r, q, v, x: treesim.forward_dynamics(r, q, v, x),
    "forward_dynamics crba_ltdl": lambda r, q, v, x: treesim.forward_dynamics(r, q, v, x, backend="crba_ltdl"),
    "inverse_dynamics": lambda r, q, v, x: treesim.inverse_dynamics(r, q, v, x),
    "bias_forces": lambda r, q, v, x: treesim.bias_forces(r, q, v),
    "mass_matrix": lambda r, q, v, x: treesim.mass_matrix(r, q),
    "mass_matrix packed": lambda r, q, v, x: treesim.mass_matrix(r, q, packed=True),
    "solve_mass_matrix": lambda r, q, v, x: treesim.solve_mass_matrix(r, q, x),
    "inverse_mass_matrix": lambda r, q, v, x: treesim.inverse_mass_matrix(r, q),
    "frame_jacobian": lambda r, q, v, x: treesim.frame_jacobian(r, q, r.frame_names[-1]),
    "frame_pose": lambda r, q, v, x: treesim.frame_pose(r, q, r.frame_names[-1]),
    "frame_velocity": lambda r, q, v, x: treesim.frame_velocity(r, q, v, r.frame_names[-1]),
    "body_poses": lambda r, q, v, x: treesim.body_poses(r, q),
    "energy": lambda r, q, v, x: treesim.energy(r, q, v),
    "momentum": lambda r, q, v, x: treesim.momentum(r, q, v),
    "integrate": lambda r, q, v, x: r.integrate(q, v),
    "difference": lambda r, q, v, x: r.difference(q, q),
    "inverse_operational_inertia": lambda r, q, v, x: treesim.inverse_operational_inertia(r, q, r.frame_names[-1]),
}
OF_BOUND = {
    "forward_dynamics": lambda q, v, x: BOUND.forward_dynamics(q, v, x, out=OUT),
    "inverse_dynamics": lambda q, v, x: BOUND.inverse_dynamics(q, v, x, out=OUT),
    "mass_matrix": lambda q, v, x: BOUND.mass_matrix(q, out=MATRIX),
    "solve_mass_matrix": lambda q, v, x: BOUND.solve_mass_matrix(q, x, out=OUT),
    "frame_jacobian": lambda q, v, x: BOUND.frame_jacobian(q, FRAME, out=ROWS),
}


def calls_of(function, *arguments):
    """The names of the Python functions that a call passes through, without its own, once everything is compiled."""
    names = []
    function(*arguments)

    def heard(frame, event, _):
        if event == "call":
            names.append(frame.f_code.co_name)

    gc.disable()  # libraries let the collector call functions of theirs
    sys.setprofile(heard)
    try:
        function(*arguments)
    finally:
        sys.setprofile(None)
        gc.enable()
    return names[1:]


@pytest.mark.parametrize("name", PLAIN)
def test_plain_functions_pass_through_four_at_most(name):
    assert 1 <= len(calls_of(PLAIN[name], ROBOT, STATE.q, STATE.v, STATE.tau)) <= 4


def test_joint_wrenches_pass_through_six():
    assert len(calls_of(treesim.joint_wrenches, ROBOT, STATE.q, STATE.v, STATE.tau)) <= 6


@pytest.mark.parametrize("name", ["forward_dynamics", "inverse_dynamics", "mass_matrix", "inverse_mass_matrix"])
def test_one_state_reaches_machine_code_in_one_call_and_by_names(name):
    assert len(calls_of(PLAIN[name], ROBOT, STATE.q, STATE.v, STATE.tau)) == 1
    function = getattr(treesim, name)
    assert {"engine", "out"} <= inspect.signature(function).parameters.keys()
    names = list(inspect.signature(function).parameters)[: 4 if "dynamics" in name else 2]
    named = dict(zip(names, (ROBOT, STATE.q, STATE.v, STATE.tau), strict=False))
    expected = function(*named.values(), engine="auto")
    np.testing.assert_array_equal(function(**named), expected)
    out = np.empty_like(expected)
    assert function(*named.values(), out=out) is out
    np.testing.assert_array_equal(out, expected)
    assert len(calls_of(function, *named.values())) == len(calls_of(partial(function, out=out), *named.values())) == 0


@pytest.mark.parametrize("name", [name for name in PLAIN if name != "mass_matrix packed"])
def test_plain_functions_of_robots_with_mimic_joints_pass_through_three_more(name):
    v = np.zeros(MIMIC.nv)
    others = len(calls_of(PLAIN[name], ROBOT, STATE.q, STATE.v, STATE.tau))
    assert 1 <= len(calls_of(PLAIN[name], MIMIC, MIMIC.neutral(), v, v)) <= others + 3


@pytest.mark.parametrize("name", sorted(PLAIN.keys() - {"bias_forces"}))  # whose accelerations are broadcast
def test_plain_functions_of_many_states_pass_through_thirty(name):
    q, v, tau = (np.tile(x, (64, 1)) for x in (STATE.q, STATE.v, STATE.tau))
    PLAIN[name](ROBOT, STATE.q, STATE.v, STATE.tau)
    for _ in range(2):
        PLAIN[name](ROBOT, q, v, tau)
    assert len(calls_of(PLAIN[name], ROBOT, q, v, tau)) <= 30


@pytest.mark.parametrize("name", ["forward_dynamics", "inverse_dynamics", "mass_matrix", "solve_mass_matrix"])
@pytest.mark.parametrize("number", [np.float64, np.float32])
def test_many_states_reach_machine_code_in_thirteen_calls(name, number):
    q, v, tau = (np.tile(x, (64, 1)).astype(number) for x in (STATE.q, STATE.v, STATE.tau))
    PLAIN[name](ROBOT, STATE.q, STATE.v, STATE.tau)  # compiles the code of one state, for which batches do not wait
    for _ in range(2):  # the call after the one that compiles adds machine code for the checks
        PLAIN[name](ROBOT, q, v, tau)
    assert len(calls_of(PLAIN[name], ROBOT, q, v, tau)) <= 13


@pytest.mark.parametrize("name", ["forward_dynamics", "inverse_dynamics", "mass_matrix", "solve_mass_matrix"])
@pytest.mark.parametrize("robot", [ROBOT, MIMIC], ids=["independent", "mimic"])
def test_few_states_reach_machine_code_in_four_calls(name, robot):
    q, v, tau = (np.tile(x, (3, 1)) for x in (robot.neutral(), np.full(robot.nv, 0.1), np.full(robot.nv, 0.2)))
    for _ in range(2):
        found = PLAIN[name](robot, q, v, tau)
    assert len(calls_of(PLAIN[name], robot, q, v, tau)) <= 4
    np.testing.assert_array_equal(found, [PLAIN[name](robot, *x) for x in zip(q, v, tau, strict=True)])


@pytest.mark.parametrize("name", OF_BOUND)
def test_bound_functions_are_one_call(name):
    assert len(calls_of(OF_BOUND[name], STATE.q, STATE.v, STATE.tau)) == 1


def test_bound_functions_of_a_batch_make_four_calls_for_its_result():
    arrays = [np.tile(x, (64, 1)) for x in (STATE.q, STATE.v, STATE.tau)]
    BOUND.forward_dynamics(*arrays)
    assert len(calls_of(BOUND.forward_dynamics, *arrays)) <= 4


@pytest.mark.parametrize("count", [256, 5000])
def test_bound_functions_of_many_states_on_one_thread_make_ten_calls(count):
    arrays, out = [np.tile(x, (count, 1)) for x in (STATE.q, STATE.v, STATE.tau)], np.empty((count, ROBOT.nv))
    with treesim.use_threads(2):
        expected = BOUND.forward_dynamics(*arrays)
    with treesim.use_threads(1):
        assert len(calls_of(partial(BOUND.forward_dynamics, out=out), *arrays)) <= 10
    np.testing.assert_array_equal(out, expected)


def test_derivatives_of_few_states_make_eleven_calls_and_of_single_ones_one():
    arrays, out = [np.tile(x, (16, 1)) for x in (STATE.q, STATE.v, STATE.tau)], np.empty((16, ROBOT.nv, 3, ROBOT.nv))
    derivatives = partial(BOUND.forward_dynamics_derivatives, out=out)
    with treesim.use_threads(1):
        derivatives(*arrays)
        assert len(calls_of(derivatives, *arrays)) <= 11
    single = partial(BOUND.forward_dynamics_derivatives, out=out[0])
    assert len(calls_of(single, STATE.q, STATE.v, STATE.tau)) == 1


HUMANOID = treesim.load("g1_29dof_rev_1_0", base="floating")
STANDING, STILL = treesim.standing(HUMANOID, HUMANOID.neutral()), np.zeros(HUMANOID.nv)
WORLD = treesim.World(HUMANOID, ground=treesim.Ground())


def repeated(operation):
    """The calls in an operation whose code and caches are there from an earlier one; garbage collections add some."""
    operation()
    return min(len(calls_of(lambda *_: operation())) for _ in range(2)) - 1


def test_a_step_of_a_stepper_makes_four_calls():
    stepper = treesim.Stepper(WORLD, 1e-3)
    state = stepper.reset(STANDING, STILL)
    assert repeated(lambda: stepper.step(state, STILL)) <= 4


class Constant:
    """Controller with the method of the protocol, and no gains."""

    def torque(self, t, q, v):
        return STILL


@pytest.mark.parametrize(
    ("controller", "most"),
    [(None, 15), (lambda t, q, v: STILL, 15), (Constant(), 15), (treesim.PD(HUMANOID, STANDING), 60)],
    ids=["none", "function", "object", "gains"],
)
def test_a_step_of_a_simulation_makes_few_calls(controller, most):
    simulation = treesim.Simulation(WORLD, controller=controller)
    assert repeated(lambda: simulation.step(0.0, STANDING, STILL)) <= most


@pytest.mark.parametrize("control", [np.zeros((20, HUMANOID.nv)), np.zeros((256, 20, HUMANOID.nv))])
def test_a_rollout_makes_no_call_for_each_body_step_or_state(control):
    one = repeated(lambda: treesim.rollout(HUMANOID, STANDING[None], STILL, STILL[None], 1e-3))
    many = np.tile(STANDING, (256, 1)), STILL, control
    assert one <= 255 and repeated(lambda: treesim.rollout(HUMANOID, *many, 1e-3)) <= 1.2 * one


def test_a_rollout_on_a_ground_makes_few_calls_for_each_step():
    one = repeated(lambda: treesim.rollout(WORLD, STANDING[None], STILL, STILL[None], 1e-3, threads=1))
    u = np.zeros((20, HUMANOID.nv))
    many = repeated(lambda: treesim.rollout(WORLD, np.tile(STANDING, (64, 1)), STILL, u, 1e-3, threads=1))
    assert one <= 330 and many <= one + 26 * len(u)


def test_a_world_is_made_by_few_calls_for_each_shape():
    pairs = len(WORLD.touching.links)
    assert repeated(lambda: treesim.World(HUMANOID, ground=treesim.Ground())) <= 400 < 12 * pairs


def test_a_world_of_many_bodies_is_made_by_some_calls_for_each():
    """Not for each pair of them."""
    balls = [treesim.free_body(f"b{k}", "sphere", (0.1,), 1.0) for k in range(40)]
    few, many = (repeated(lambda n=n: treesim.World(balls[0], bodies=balls[1:n])) for n in (20, 40))
    assert many <= 2.1 * few <= 2.1 * 20 * 300


def test_a_description_is_read_by_some_calls_for_each_number():
    assert repeated(lambda: treesim.load("g1")) <= 12_300
