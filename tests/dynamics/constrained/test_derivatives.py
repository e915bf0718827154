"""Derivatives of constrained dynamics: 40 digits on trees and robots, stabilisation, redundant rows, batches."""

from pathlib import Path

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import treesim
from tests import trees
from tests.coupled import coupled
from tests.dynamics.constrained.test_constrained_dynamics import independent, random_constraints
from tests.dynamics.test_derivatives import exact
from tests.optional import need
from tests.trees import random_state, relative_error
from treesim import FrameConstraint, LoopConstraint, constrained_dynamics, constrained_dynamics_derivatives
from treesim.dynamics.constrained.constraints import constraint_tables, wanted_derivatives
from treesim.engine.interpreter import run
from treesim.kernels.constrained.pv_solver import constrained_dynamics_pv_states
from treesim.kernels.kinematics.configuration import integrate_states

FOUR_BAR = Path(__file__).parents[3] / "assets" / "four_bar.urdf"
ANKLES = "left_ankle_roll_link", "right_ankle_roll_link"
POSE = treesim.Placement.from_xyz_rpy((0.1, 0.2, 0.3), (0.4, 0.5, 0.6)).matrix()
on_points = [FrameConstraint(f"{leg}_FOOT", rows="linear") for leg in ("LF", "RF", "LH", "RH")]
SCENES = {
    "g1 on one foot": ("g1", [FrameConstraint(ANKLES[0])]),
    "g1 on two feet": ("g1", [FrameConstraint(name) for name in ANKLES]),
    "g1 along the axes of its feet": ("g1", [FrameConstraint(name, reference="local") for name in ANKLES]),
    "g1 on one foot, with its hands together": (
        "g1",
        [
            FrameConstraint(ANKLES[1]),
            LoopConstraint("left_wrist_yaw_link", "right_wrist_yaw_link", reference="local", target=np.arange(6.0)),
        ],
    ),
    "talos on two feet": (
        "talos",
        [FrameConstraint(f"leg_{side}_6_link", target=np.ones(6)) for side in ("left", "right")],
    ),
    "anymal on four feet": ("anymal", on_points),
    "anymal with a foot on another": ("anymal", [LoopConstraint("LF_FOOT", "RF_FOOT", rows="linear")]),
}


def directions(robot, m, seed):
    """Return random directions in q, v, tau and the target."""
    rng = np.random.default_rng(seed)
    return [*rng.normal(size=(3, robot.nv)), rng.normal(size=m)]


def along(found, steps):
    """Return the derivatives of accelerations and forces along directions."""
    return [sum(D @ x for D, x in zip(part, steps, strict=True)) for part in (found[:4], found[4:])]


def exact_rates(robot, constraints, state, steps):
    """Return difference quotients of accelerations and forces along directions, in 40 digits."""
    tables = constraint_tables(robot, constraints)
    m, target = len(tables.rows), wanted_derivatives(robot, tables, *state[:2])
    with mpmath.workdps(40):
        model, h = (robot.ints, trees.with_exact_rotations(robot)), mpmath.mpf("1e-13")
        constants = *model, tables.layout, exact(tables.geometry), exact([1e-4, 1e-30, 100.0])
        q, *start, dq, dv, dtau, dtarget = map(exact, (*state, target, *steps))

        def solved(t):
            moved = run(integrate_states, model, (q, t * dq), [(robot.nq,)], mpmath.mpf)[0]
            v, tau, alpha = (x + t * dx for x, dx in zip(start, (dv, dtau, dtarget), strict=True))
            inputs = moved, v, tau, np.empty(0), alpha
            shapes = [(robot.nv,), (m,), (m,), (1,)]
            return run(constrained_dynamics_pv_states, constants, inputs, shapes, mpmath.mpf)[:2]

        ahead, behind = solved(h), solved(-h)
        return [((x - y) / (2 * h)).astype(float) for x, y in zip(ahead, behind, strict=True)]


@pytest.mark.nojit
@pytest.mark.parametrize("scene", SCENES)
def test_of_robots_they_are_difference_quotients_in_40_digits(scene):
    name, constraints = SCENES[scene]
    if name != "g1":
        need("example-robot-data")
    robot = treesim.load(name, base="floating")
    state = random_state(robot, 1)
    state = state.q, state.v, state.tau
    found = constrained_dynamics_derivatives(robot, *state, constraints)
    steps = directions(robot, found.dforce_dq.shape[0], 2)
    for ours, truth in zip(along(found, steps), exact_rates(robot, constraints, state, steps), strict=True):
        assert relative_error(ours, truth) < 1e-9


@pytest.mark.nojit
@given(trees.random_trees(6, armature=0.5), st.integers(0, 1000), st.sampled_from(["world", "local"]), st.booleans())
def test_of_random_trees_they_are_difference_quotients_in_40_digits(robot, seed, reference, loops):
    state = random_state(robot, seed)
    constraints = random_constraints(robot, np.random.default_rng(seed), reference, loops)
    assume(independent(robot, state.q, constraints))
    state = state.q, state.v, state.tau
    found = constrained_dynamics_derivatives(robot, *state, constraints)
    steps = directions(robot, found.dforce_dq.shape[0], seed)
    for ours, truth in zip(along(found, steps), exact_rates(robot, constraints, state, steps), strict=True):
        assert relative_error(ours, truth) < 1e-9


def rates(robot, constraints, state, steps, **options):
    """Return difference quotients of accelerations and forces along directions in q, v and tau, extrapolated twice."""

    def solved(t):
        q, v, tau = robot.integrate(state[0], t * steps[0]), state[1] + t * steps[1], state[2] + t * steps[2]
        found = constrained_dynamics(robot, q, v, tau, constraints, **options)
        return np.concatenate([found.acceleration, found.force])

    a, b, c = ((solved(h) - solved(-h)) / (2 * h) for h in (4e-4, 2e-4, 1e-4))
    a, b = (4 * b - a) / 3, (4 * c - b) / 3
    return np.split((16 * b - a) / 15, [robot.nv])


@pytest.mark.parametrize("name", ["free_random", "mimic"])
@pytest.mark.parametrize("reference", ["world", "local"])
def test_those_of_stabilised_constraints_under_wrenches_are_difference_quotients(name, reference):
    robot = coupled(1) if name == "mimic" else trees.tree(name)
    first, *_, last = (body for body in robot.body_names)
    rows = np.random.default_rng(3).normal(size=(2, 6))
    wrench = np.arange(1.0, 7)
    state = random_state(robot, 3)
    state = state.q, state.v, state.tau
    options = {"reference": reference, "damping": 3.0, "stiffness": 7.0, "rows": rows, "target": [1.0, 2.0]}
    for constraint in (FrameConstraint(last, pose=POSE, **options), LoopConstraint(last, first, **options)):
        f_ext = np.zeros((robot.n_bodies, 6))
        f_ext[-1] = wrench
        steps = directions(robot, 2, 4)
        steps[-1] *= 0
        truth = rates(robot, constraint, state, steps, f_ext=f_ext)
        for pushed in (f_ext, {last: wrench}):
            found = constrained_dynamics_derivatives(robot, *state, constraint, f_ext=pushed)
            for ours, other in zip(along(found, steps), truth, strict=True):
                assert relative_error(ours, other) < 1e-8
        # a wrench along the axes of the world turns against the body by its angular velocity
        found = constrained_dynamics_derivatives(robot, *state, constraint, f_ext={(last, "world"): wrench})
        J = treesim.frame_jacobian(robot, state[0], last)
        turn = treesim.frame_jacobian(robot, state[0], last, reference="world")[3:]
        local = np.kron(np.eye(2), treesim.frame_pose(robot, state[0], last)[:3, :3].T) @ wrench
        own = constrained_dynamics_derivatives(robot, *state, constraint, f_ext={last: local})
        change = np.vstack([np.cross(turn, wrench[k : k + 3, None], axis=0) for k in (0, 3)])
        expected = own.dqdd_dq - own.dqdd_dtau @ J.T @ change
        assert relative_error(found.dqdd_dq, expected) < 1e-10
        expected = own.dforce_dq - own.dforce_dtau @ J.T @ change
        assert relative_error(found.dforce_dq, expected) < 1e-10


def test_redundant_rows_have_unique_accelerations_and_the_smallest_forces():
    robot = treesim.load(FOUR_BAR)
    loops = treesim.loop_constraints(robot)
    state = random_state(robot, 1)
    state = state.q, state.v, state.tau
    with pytest.raises(treesim.ConstraintError):
        constrained_dynamics_derivatives(robot, *state, loops)
    found = constrained_dynamics_derivatives(robot, *state, loops, method="proximal")
    steps = [*directions(robot, 0, 2)[:3], np.zeros(found.dforce_dq.shape[0])]
    truth = rates(robot, loops, state, steps, method="proximal", tolerance=1e-13)
    for ours, other in zip(along(found, steps), truth, strict=True):
        assert relative_error(ours, other) < 1e-8


def test_a_repeated_constraint_changes_no_acceleration_and_shares_the_force():
    robot = trees.tree("free_random")
    state = random_state(robot, 3)
    state = state.q, state.v, state.tau
    once = FrameConstraint(robot.body_names[-1], rows="linear")
    one = constrained_dynamics_derivatives(robot, *state, once)
    two = constrained_dynamics_derivatives(robot, *state, [once, once], method="proximal", tolerance=1e-14)
    for x, y in zip(one[:3], two[:3], strict=True):
        assert relative_error(y, x) < 1e-9
    for x, y in zip(one[4:7], two[4:7], strict=True):
        assert relative_error(2 * y, np.vstack([x, x])) < 1e-9


def test_batches_single_precision_and_no_constraints():
    robot = trees.tree("free_random")
    states = [random_state(robot, k) for k in range(5)]
    q, v, tau = (np.array([getattr(s, x) for s in states]) for x in ("q", "v", "tau"))
    targets = np.random.default_rng(1).normal(size=(5, 3))
    held = [
        FrameConstraint(
            robot.body_names[-1], rows="linear", target=targets[k] if k >= 0 else targets, reference="local"
        )
        for k in range(-1, 5)
    ]
    many = constrained_dynamics_derivatives(robot, q, v, tau, held[0])
    assert many.dqdd_dtarget.shape == (5, robot.nv, 3) and many.dforce_dtarget.shape == (5, 3, 3)
    for k in range(5):
        one = constrained_dynamics_derivatives(robot, q[k], v[k], tau[k], held[k + 1])
        for x, y in zip(one, many, strict=True):
            assert relative_error(x, y[k]) < 1e-11
    narrow = constrained_dynamics_derivatives(robot, *(x[0].astype(np.float32) for x in (q, v, tau)), held[1])
    for x, y in zip(narrow, many, strict=True):
        assert x.dtype == np.float32 and relative_error(x, y[0].astype(np.float32)) < 1e-3
    free, plain = (
        constrained_dynamics_derivatives(robot, q, v, tau, []),
        treesim.forward_dynamics_derivatives(robot, q, v, tau),
    )
    assert free.dforce_dq.shape == (5, 0, robot.nv) and free.dqdd_dtarget.shape == (5, robot.nv, 0)
    for x, y in zip(free, plain, strict=False):
        assert relative_error(x, y) < 1e-14


def test_bad_input_is_named():
    robot = trees.tree("free_random")
    state = random_state(robot, 7)
    q, v, tau, held = state.q, state.v, state.tau, FrameConstraint(robot.body_names[-1])
    bad = {
        "'nowhere'": (q, v, tau, FrameConstraint("nowhere")),
        "constraints": (q, v, tau, 3),
        "v": (q, v[:-1], tau, held),
        "depends on": (q, v, tau, [held, held]),
        "tau": (q, v, np.full(robot.nv, np.nan), held),
    }
    for match, arguments in bad.items():
        with pytest.raises(treesim.TreesimError, match=match):
            constrained_dynamics_derivatives(robot, *arguments)
    with pytest.raises(treesim.UnknownNameError, match="method"):
        constrained_dynamics_derivatives(robot, q, v, tau, held, method="guess")
