"""Assemblies: their equations hold, joining is exact, and the work is linear in logarithmic depth."""

from functools import cache

import mpmath
import numpy as np
import pytest

import treesim
from tests import trees
from tests.trees import random_state, relative_error
from treesim.dynamics.contraction import Event, Plan, divide_and_conquer, tree_contraction
from treesim.engine.interpreter import Tally, run
from treesim.kernels.algebra.spatial import motion_to_child
from treesim.kernels.algebra.tables import body_transform_at, motion_at, put_motion, tree_tables
from treesim.kernels.dynamics import aba
from treesim.kernels.published.parallel import assemblies as kernel
from treesim.kernels.published.parallel.assembly_velocities import move
from treesim.model import generators as make

PLANS = {"tree_contraction": tree_contraction, "divide_and_conquer": divide_and_conquer}
every_plan = pytest.mark.parametrize("plan_of", PLANS.values(), ids=PLANS.keys())
NO_FORCES = np.empty(0)


def one_after_another(parent):
    """The longest plan: from the last body to the first, each hangs on its parent."""
    events = [(Event(kernel.LEAF, i), Event(kernel.HANG, i, upper=parent[i - 1])) for i in range(len(parent), 0, -1)]
    return Plan("serial", tuple((pair,) for pair in events))


def with_plan(robot, plan):
    return np.concatenate([robot.ints, plan.packed()])


def solved(robot, plan, state, number=float, reals=None):
    """qdd by the kernel as plain Python, on numbers of any type."""
    constants = with_plan(robot, plan), robot.reals if reals is None else reals
    arguments = (state.q, state.v, state.tau, NO_FORCES)
    return run(kernel.forward_dynamics_by_plan_states, constants, arguments, [(robot.nv,)], number)[0]


def joined(robot, q, v, tau):
    """Bodies 1 .. N-1 of a chain as one assembly, whose lower handle is joint N; its memory, without gravity."""
    tree = tree_tables(robot.ints, robot.reals)
    m = kernel.memory_of(tree, np.full((robot.n_bodies + 1) * kernel.NUMBERS_PER_BODY, np.nan))
    end = robot.n_bodies + 1
    kernel.place_base(tree, m)
    kernel.place(tree, q, v, m, 1, end)
    for i in range(1, end):
        put_motion(m.above, i, motion_at(m.V, i - 1))
        move(tree, m, i, v)
    kernel.put_biases(tree, v, np.empty((0, 6)), m, 1, end)
    for i in range(1, robot.n_bodies):
        kernel.leaf(tree, m, i, i + 1)
    for i in range(2, robot.n_bodies):
        kernel.join(tree, tau, m, i, 1)
    return tree, m


def matrix_of(X):
    """The 6x6 matrix that takes motions to the child's coordinates."""
    columns = np.empty((6, 6))
    for c, unit in enumerate(np.eye(6)):
        put_motion(columns, c, motion_to_child(X, motion_at(unit[None], 0)))
    return columns.T


@pytest.mark.nojit
@pytest.mark.parametrize("types", [("revolute",), trees.MIXED], ids=["revolute", "mixed"])
def test_assembly_answers_forces_on_its_handles_as_the_floating_chain_does(types):
    """a1 = P11 f1 + P12 f2 + b1 is the acceleration of the first body of a chain that floats."""
    robot = make.chain(6, ("floating", *types))
    state, rng = random_state(robot, 3), np.random.default_rng(4)
    tree, m = joined(robot, state.q, state.v, state.tau)
    np.testing.assert_allclose(m.P11[1], m.P11[1].T, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(m.P22[1], m.P22[1].T, rtol=1e-10, atol=1e-10)
    f1, f2 = rng.normal(size=(2, 6))
    a1 = m.P11[1] @ f1 + m.P12[1] @ f2 + m.b1[1]
    wrenches = np.zeros((5, 6))
    on_last = matrix_of(body_transform_at(tree, m.X, 6)).T @ f2
    for body, f in ((1, f1), (5, on_last)):
        R = robot.body_rotations[body]
        wrenches[body - 1] += np.concatenate([R @ f[3:], R @ f[:3]])
    alone = treesim.Tree("assembly", robot.bodies[:5], gravity=(0, 0, 0))
    tau = state.tau[: alone.nv].copy()
    tau[:6] = 0
    qdd = treesim.forward_dynamics(alone, state.q[: alone.nq], state.v[: alone.nv], tau, f_ext=wrenches)
    expected = np.empty(6)
    expected[tree.screw[:6]] = qdd[:6]
    assert relative_error(a1, expected) < 1e-12


@pytest.mark.nojit
@pytest.mark.parametrize("armature", [0.0, 0.3])
def test_lower_handle_of_a_grounded_chain_is_its_inverse_operational_inertia(armature):
    """P22 of the chain joined to the base is Λ^-1 of its last body, seen from the joint below it."""
    robot = treesim.Tree("chain", [_with_armature(body, armature) for body in make.chain(6).bodies])
    state = random_state(robot, 1)
    tree, m = joined(robot, state.q, state.v, state.tau)
    kernel.bind(tree, 1, state.tau, m.P11[1], m.c[1] - m.b1[1], m)
    through = m.P12[1].copy()
    kernel.constrain(m.w[1], m.P11[1], through)
    root = m.P22[1] - m.P12[1].T @ through
    grounded, R = treesim.Tree("grounded", robot.bodies[:5]), robot.body_rotations[5]
    J = treesim.frame_jacobian(grounded, state.q[:5], "body_5", reference="local")
    J = matrix_of(body_transform_at(tree, m.X, 6)) @ np.concatenate([R.T @ J[3:], R.T @ J[:3]])
    inverse_inertia = J @ np.linalg.solve(treesim.mass_matrix(grounded, state.q[:5]), J.T)
    assert relative_error(root, inverse_inertia) < 1e-11


def _with_armature(body, armature):
    joint = body.joint
    joint = treesim.Joint(joint.name, joint.type, placement=joint.placement, axis=joint.axis, armature=[armature])
    return treesim.Body(body.name, body.parent, joint, body.inertia)


@cache
def exact(name):
    """A random state of a tree of the catalogue, and its accelerations by ABA in 50 digits."""
    robot = trees.tree(name)
    state = random_state(robot, 2)
    with mpmath.workdps(50):
        arguments = (state.q, state.v, state.tau, NO_FORCES)
        reals = trees.with_exact_rotations(robot)
        truth = run(aba.forward_dynamics_states, (robot.ints, reals), arguments, [(robot.nv,)], mpmath.mpf)[0]
    return robot, state, truth, reals


@pytest.mark.parametrize("plan_of", [*PLANS.values(), one_after_another], ids=[*PLANS, "serial"])
@pytest.mark.parametrize("name", ["tree_1", "random_b", "side_branches_5"])
def test_any_plan_is_exact_in_fifty_digits(name, plan_of):
    robot, state, truth, reals = exact(name)
    with mpmath.workdps(50):
        qdd = solved(robot, plan_of(robot.parent), state, mpmath.mpf, reals)
        error = max(abs(a - b) for a, b in zip(qdd, truth, strict=True)) / max(map(abs, truth))
    assert error < mpmath.mpf(10) ** -42


@pytest.mark.nojit
@every_plan
def test_armature_without_bound_holds_a_joint_still(plan_of):
    """A rotor of any inertia, from next to nothing to next to infinite, moves as its torque commands."""
    robot = make.chain(4)
    state = random_state(robot, 5)
    for rotor in (1e-300, 1e-9, 1e3, 1e12, 1e200):
        robot = treesim.Tree("geared", [_with_armature(body, rotor) for body in robot.bodies])
        qdd = solved(robot, plan_of(robot.parent), state)
        truth = treesim.forward_dynamics(robot, state.q, state.v, state.tau)
        scale = np.abs(treesim.bias_forces(robot, state.q, state.v)).max() / max(rotor, 0.01)
        assert np.abs(qdd - truth).max() < 1e-12 * max(np.abs(truth).max(), scale, 1e2)


def cost(plan_of, n):
    """Operations and longest chain of them, of a chain that moves."""
    robot, tally = make.chain(n), Tally()
    state = random_state(robot, 6)
    arguments = (tally.variables(state.q), tally.variables(state.v), tally.variables(state.tau), NO_FORCES)
    constants = (with_plan(robot, plan_of(robot.parent)), robot.reals)
    run(kernel.forward_dynamics_by_plan_states, constants, arguments, [(n,)], tally.number)
    return sum(tally.operations.values()), tally.depth


@every_plan
def test_work_is_linear_and_its_critical_path_logarithmic(plan_of):
    sizes = (8, 16, 32, 64)
    work, depth = np.array([cost(plan_of, n) for n in sizes]).T
    added = np.diff(work)
    assert added[2] / added[1] == pytest.approx(2, abs=0.1)
    longer = np.diff(depth)  # about as much with every doubling: by one join, there and back, twice
    assert np.ptp(longer) < 0.1 * longer.mean()
    serial = np.diff([cost(one_after_another, n)[1] for n in sizes])
    assert serial[2] / serial[1] == pytest.approx(2, abs=0.1)


def test_sizes_that_do_not_fit_are_refused():
    robot = trees.tree("random_a")
    state = random_state(robot)
    constants = (with_plan(robot, tree_contraction(robot.parent)), robot.reals)
    arguments = (state.q, np.zeros(robot.nv + 1), state.tau, NO_FORCES)
    with pytest.raises(treesim.ArgumentError):
        run(kernel.forward_dynamics_by_plan_states, constants, arguments, [(robot.nv,)], float)


@pytest.mark.nojit
@every_plan
@pytest.mark.parametrize("shares", [2, 3, 7])
def test_shares_of_stages_give_the_same_bits(plan_of, shares):
    robot = trees.tree("grid_3")
    state = random_state(robot, 7)
    plan = plan_of(robot.parent)
    memory, qdd = np.empty((robot.n_bodies + 1) * kernel.NUMBERS_PER_BODY), np.empty(robot.nv)
    stages = 4 * len(plan.stages) + 4
    status = [
        kernel.some_stages(
            with_plan(robot, plan), robot.reals, memory, s, s, share, shares, *state[:2], state.tau, NO_FORCES, qdd
        )
        for s in range(stages)
        for share in reversed(range(shares))
    ]
    assert not any(status)
    assert (qdd == solved(robot, plan, state)).all()
