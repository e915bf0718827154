"""How many Python functions a call on one state passes through: what they take is not paid back by any kernel."""

import sys

import numpy as np
import pytest

import treesim
from tests import trees
from treesim.engine.call.generic import runs_compiled

ROBOT = trees.tree("random_a")
STATE = trees.random_state(ROBOT)
FRAME = ROBOT.frame_names[-1]
BOUND = treesim.Dynamics(ROBOT)
OUT, MATRIX, ROWS = np.empty(ROBOT.nv), np.empty((ROBOT.nv, ROBOT.nv)), np.empty((6, ROBOT.nv))

pytestmark = pytest.mark.skipif(not runs_compiled(), reason="kernels run as plain Python")

PLAIN = {
    "forward_dynamics": lambda q, v, x: treesim.forward_dynamics(ROBOT, q, v, x),
    "forward_dynamics crba_ltdl": lambda q, v, x: treesim.forward_dynamics(ROBOT, q, v, x, backend="crba_ltdl"),
    "inverse_dynamics": lambda q, v, x: treesim.inverse_dynamics(ROBOT, q, v, x),
    "bias_forces": lambda q, v, x: treesim.bias_forces(ROBOT, q, v),
    "mass_matrix": lambda q, v, x: treesim.mass_matrix(ROBOT, q),
    "mass_matrix packed": lambda q, v, x: treesim.mass_matrix(ROBOT, q, packed=True),
    "solve_mass_matrix": lambda q, v, x: treesim.solve_mass_matrix(ROBOT, q, x),
    "inverse_mass_matrix": lambda q, v, x: treesim.inverse_mass_matrix(ROBOT, q),
    "frame_jacobian": lambda q, v, x: treesim.frame_jacobian(ROBOT, q, FRAME),
    "frame_pose": lambda q, v, x: treesim.frame_pose(ROBOT, q, FRAME),
    "frame_velocity": lambda q, v, x: treesim.frame_velocity(ROBOT, q, v, FRAME),
    "body_poses": lambda q, v, x: treesim.body_poses(ROBOT, q),
    "energy": lambda q, v, x: treesim.energy(ROBOT, q, v),
    "momentum": lambda q, v, x: treesim.momentum(ROBOT, q, v),
    "integrate": lambda q, v, x: ROBOT.integrate(q, v),
    "difference": lambda q, v, x: ROBOT.difference(q, q),
    "inverse_operational_inertia": lambda q, v, x: treesim.inverse_operational_inertia(ROBOT, q, FRAME),
}
OF_BOUND = {
    "forward_dynamics": lambda q, v, x: BOUND.forward_dynamics(q, v, x, out=OUT),
    "inverse_dynamics": lambda q, v, x: BOUND.inverse_dynamics(q, v, x, out=OUT),
    "mass_matrix": lambda q, v, x: BOUND.mass_matrix(q, out=MATRIX),
    "solve_mass_matrix": lambda q, v, x: BOUND.solve_mass_matrix(q, x, out=OUT),
    "frame_jacobian": lambda q, v, x: BOUND.frame_jacobian(q, FRAME, out=ROWS),
}


def calls_of(function):
    """The names of the Python functions that a call passes through, without its own, once everything is compiled."""
    arguments, names = (STATE.q, STATE.v, STATE.tau), []
    function(*arguments)

    def heard(frame, event, _):
        if event == "call":
            names.append(frame.f_code.co_name)

    sys.setprofile(heard)
    try:
        function(*arguments)
    finally:
        sys.setprofile(None)
    return names[1:]


@pytest.mark.parametrize("name", PLAIN)
def test_plain_functions_pass_through_four_at_most(name):
    assert 1 <= len(calls_of(PLAIN[name])) <= 4


@pytest.mark.parametrize("name", OF_BOUND)
def test_bound_functions_are_one_call(name):
    assert len(calls_of(OF_BOUND[name])) == 1


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


def test_a_description_is_read_by_some_calls_for_each_number():
    assert repeated(lambda: treesim.load("g1")) <= 12_300
