"""Wrenches across joints and welds: Newton-Euler's sums, momentum of the whole, and 40 digits on long chains."""

from dataclasses import replace

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treesim
from tests import joint_forces, sensitivity, trees
from tests.trees import CATALOGUE, random_state
from treesim.dynamics.joint_wrenches import NO_WELDS, wrenches_of_motion
from treesim.engine.interpreter import run
from treesim.errors import ModelError, UnknownNameError
from treesim.kernels.dynamics.aba import forward_dynamics_states
from treesim.kernels.dynamics.joint_wrenches import joint_wrenches_states
from treesim.model import generators as make

BACKENDS = treesim.available("dynamics")
seeds = st.integers(0, 1000)
WELDED = """<robot name="arm"><link name="stand"><inertial><mass value="4"/><origin xyz="0 0 -.2"/>
<inertia ixx=".1" iyy=".2" izz=".2" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="foot"><inertial><mass value="2"/><inertia ixx=".1" iyy=".1" izz=".1" ixy="0" ixz="0" iyz="0"/></inertial>
</link><link name="upper"><inertial><mass value="3"/><origin xyz=".2 0 0"/>
<inertia ixx=".1" iyy=".2" izz=".2" ixy=".01" ixz="0" iyz="0"/></inertial></link>
<link name="mount"><inertial><mass value=".5"/><origin xyz="0 .1 0" rpy=".2 .1 0"/>
<inertia ixx=".01" iyy=".02" izz=".02" ixy="0" ixz="0" iyz="0"/></inertial></link><link name="bare"/>
<link name="hand"><inertial><mass value="1"/><origin xyz="0 .1 .3"/>
<inertia ixx=".1" iyy=".2" izz=".2" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="to_foot" type="fixed"><parent link="stand"/><child link="foot"/><origin xyz="1 0 0" rpy="0 0 .3"/></joint>
<joint name="shoulder" type="revolute"><parent link="stand"/><child link="upper"/><origin xyz="0 0 1" rpy=".1 .2 .3"/>
<axis xyz="0 .6 .8"/><limit effort="1" velocity="1" lower="-9" upper="9"/></joint>
<joint name="to_mount" type="fixed"><parent link="upper"/><child link="mount"/><origin xyz=".4 0 .1" rpy=".5 0 1"/>
</joint>
<joint name="to_bare" type="fixed"><parent link="mount"/><child link="bare"/><origin xyz="0 0 .1" rpy="0 1 0"/></joint>
<joint name="wrist" type="spherical"><parent link="bare"/><child link="hand"/><origin xyz=".1 0 .1"/></joint></robot>"""


def newton_euler(robot, q, v, a, f_ext=None, gravity=None):
    """The wrenches (N, 6) by a linear system of all bodies' equations of motion: no sweep along the robot."""
    gravity = robot.gravity if gravity is None else np.asarray(gravity)
    net = joint_forces.body_wrenches(robot, q, v, a, gravity) - (0 if f_ext is None else np.ravel(f_ext))
    return np.linalg.solve(joint_forces.to_bodies(robot, q), net).reshape(-1, 6)


def bound_of(robot, state, a, found, backend="aba", f_ext=None):
    """What `farthest` may find: roundings of the terms of f, linear in a, and errors of a times |df/da|."""
    q, v, still = state.q, state.v, np.zeros(robot.nv)
    weightless = {"gravity": (0, 0, 0), "welds": False}
    K = np.abs([wrenches_of_motion(robot, q, still, unit, **weightless).ravel() for unit in np.eye(robot.nv)])
    parts = [np.abs(a) @ K, wrenches_of_motion(robot, q, still, still, welds=False).ravel()]
    parts += [
        wrenches_of_motion(robot, q, v, still, f_ext, **weightless).ravel(),
        np.ravel(0 if f_ext is None else f_ext),
    ]
    wrong = sensitivity.of_forward_dynamics(robot, *state[:2], state.tau, a, backend, f_ext=f_ext) * np.abs(a).max()
    of_terms = sensitivity.OF_A_SWEEP * (sensitivity.sizes(parts[:3]) + np.abs(parts[3]).max())
    return float(sensitivity.relative(of_terms + wrong * K.sum(axis=0), found.ravel()))


def assert_found(robot, seed, backend="aba"):
    state = random_state(robot, seed)
    given = {"f_ext": state.f_ext, "backend": backend}
    a = treesim.forward_dynamics(robot, state.q, state.v, state.tau, f_ext=state.f_ext)
    found = treesim.joint_wrenches(robot, state.q, state.v, state.tau, **given)
    expected = newton_euler(robot, state.q, state.v, a, state.f_ext)
    bound = 2 * bound_of(robot, state, a, found, backend, state.f_ext)
    assert sensitivity.farthest(found.ravel(), expected.ravel()) < bound < 1e-4


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", ["random_14", "free_random"])
def test_backends_agree_with_newton_and_euler(name, backend):
    assert_found(trees.tree(name), 1, backend)


@pytest.mark.paper("J91 eq. 15, 16")
@pytest.mark.nojit
@given(trees.random_trees(7, armature=0.5), seeds)
def test_wrenches_are_newton_and_eulers(robot, seed):
    assert_found(robot, seed)


@pytest.mark.parametrize("name", CATALOGUE)
def test_wrenches_at_the_base_change_the_momentum(name):
    """Their sum, gravity and external wrenches; along joints, they are tau without what turns the rotors."""
    robot = trees.tree(name)
    state = random_state(robot, 2)
    q, v, tau = state.q, state.v, state.tau
    f = treesim.joint_wrenches(robot, q, v, tau, f_ext=state.f_ext)
    a = treesim.forward_dynamics(robot, q, v, tau, f_ext=state.f_ext)
    center, total, size = treesim.center_of_mass(robot, q), np.zeros(6), 0.0
    poses = treesim.body_poses(robot, q)[1:]
    for pose, wrench, push, parent in zip(poses, f, state.f_ext, robot.parent, strict=True):
        for one in (wrench, push)[bool(parent) :]:
            force, moment = pose[:3, :3] @ one[:3], pose[:3, :3] @ one[3:]
            turning = moment + np.cross(pose[:3, 3] - center, force)
            part = np.array([*force, *turning])
            total, size = total + part, size + np.abs(part).max()
    total[:3] += robot.mass * robot.gravity
    rate = treesim.centroidal_dynamics(robot, q, v, a)
    np.testing.assert_allclose(total, rate, rtol=0, atol=1e-11 * (size + np.abs(rate).max()))
    for body, wrench in zip(robot.bodies, f, strict=True):
        columns = robot.v_index[body.joint.name]
        S = treesim.frame_jacobian(robot, q, body.name, reference="local")[:, columns]
        expected = tau[columns] - robot.armature[columns] * a[columns]
        np.testing.assert_allclose(S.T @ wrench, expected, rtol=0, atol=1e-9 * np.abs(f).max())


@pytest.mark.parametrize("count", [20, 100])
def test_long_chains_keep_their_digits(count):
    """Against forty digits; refinement brings back what the accelerations of a long chain lose."""
    robot = make.chain(count, axes=((0, 0, 1), (0, 1, 0), (1, 0, 1)))
    state = random_state(robot)
    tables, given, none = (robot.ints, robot.reals), (state.q, state.v), np.empty(0)
    turns = robot.body_rotations.reshape(-1)
    with mpmath.workdps(40):
        a = run(forward_dynamics_states, tables, (*given, state.tau, none), [(robot.nv,)], mpmath.mpf)[0]
        constants = *tables, turns, *NO_WELDS
        exact = run(joint_wrenches_states, constants, (*given, a, none), [(count, 6)], mpmath.mpf)[0]
    exact = np.array(exact, dtype=float).reshape(count, 6)
    a = np.array(a, dtype=float)
    for refinements in (0, 2):
        found = treesim.joint_wrenches(robot, *given, state.tau, refinements=refinements)
        bound = bound_of(robot, state, a, exact)
        assert sensitivity.farthest(found.ravel(), exact.ravel()) < bound
    assert sensitivity.farthest(found.ravel(), exact.ravel()) < 1e-11


@pytest.mark.parametrize("base", ["fixed", "floating"])
def test_welded_links_are_bodies_on_joints_that_do_not_move(base):
    """The same robot with revolute joints at rest instead of fixed ones."""
    robot = treesim.load(WELDED, base=base)
    cut = treesim.load(WELDED.replace('type="fixed"', 'type="continuous"'), base=base)
    state = random_state(robot, 3)
    a = treesim.forward_dynamics(robot, state.q, state.v, state.tau)
    q, v, qdd = cut.neutral(), np.zeros(cut.nv), np.zeros(cut.nv)
    for joint in robot.joint_names:
        q[cut.q_index[joint]] = state.q[robot.q_index[joint]]
        v[cut.v_index[joint]], qdd[cut.v_index[joint]] = state.v[robot.v_index[joint]], a[robot.v_index[joint]]
    expected = wrenches_of_motion(cut, q, v, qdd)[: cut.n_bodies]
    found = treesim.joint_wrenches(robot, state.q, state.v, state.tau, joints=cut.joint_names)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * np.abs(expected).max())
    by_link = treesim.joint_wrenches(robot, state.q, state.v, state.tau, joints=cut.body_names)
    assert (by_link == found).all()
    if base == "fixed":  # the world carries what stands on it
        root = treesim.joint_wrenches(
            robot, state.q, 0 * state.v, treesim.gravity_forces(robot, state.q), joints="stand"
        )
        np.testing.assert_allclose(root[:3], [0, 0, 10.5 * 9.81], atol=1e-12)


def test_mimic_joints_transmit_what_turns_their_bodies():
    """The wrenches of the spanning tree, along its motion."""
    robot = treesim.load("panda")
    state = random_state(robot, 1)
    a = treesim.forward_dynamics(robot, state.q, state.v, state.tau)
    moved = robot.expand(state.q), robot.expand_velocity(state.v), robot.expand_velocity(a)
    found = treesim.joint_wrenches(robot, state.q, state.v, state.tau)
    expected = newton_euler(robot.spanning, *moved)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11 * np.abs(expected).max())


def test_batches_parameters_and_single_precision():
    robot = trees.tree("random_14")
    states = [random_state(robot, seed) for seed in range(3)]
    q, v, tau, f_ext = (np.array([getattr(state, x) for state in states]) for x in ("q", "v", "tau", "f_ext"))
    masses = np.array([body.inertia.mass for body in robot.bodies]) * [[1.0], [2.0], [1.0]]
    for options in ({}, {"backend": "constraint_force"}):
        found = treesim.joint_wrenches(robot, q, v, tau, f_ext=f_ext, model_parameters={"mass": masses}, **options)
        heavy = [replace(x, inertia=replace(x.inertia, mass=2 * x.inertia.mass)) for x in robot.bodies]
        for k, tree in enumerate((robot, treesim.Tree("heavy", heavy), robot)):
            alone = treesim.joint_wrenches(tree, q[k], v[k], tau[k], f_ext=f_ext[k], **options)
            np.testing.assert_allclose(found[k], alone, rtol=0, atol=1e-10 * np.abs(alone).max())
    few = robot.joint_names[3], robot.body_names[0]
    chosen = treesim.joint_wrenches(robot, q, v, tau, joints=few)
    assert (chosen == treesim.joint_wrenches(robot, q, v, tau)[:, [3, 0]]).all()
    out = np.empty((3, robot.n_bodies, 6), np.float32)
    narrow = treesim.joint_wrenches(robot, *(x.astype(np.float32) for x in (q, v, tau)), out=out)
    assert narrow is out
    wide = treesim.joint_wrenches(robot, *(x.astype(np.float32).astype(float) for x in (q, v, tau)))
    np.testing.assert_allclose(narrow, wide, atol=2e-4 * np.abs(wide).max())


def test_unknown_names_and_welds_that_do_not_fit_are_refused():
    robot = treesim.load(WELDED)
    with pytest.raises(UnknownNameError, match="joint or link 'wirst' of 'arm': did you mean 'wrist'"):
        treesim.joint_wrenches(robot, np.zeros(robot.nq), np.zeros(robot.nv), np.zeros(robot.nv), joints="wirst")
    for wrong, text in [
        ({"link": "knee"}, "'knee' of 'arm': it is no operational frame"),
        ({"parent": "hand"}, "parent 'hand' is no link of its body"),
        ({"joints": ("root",)}, "'root' is no joint on its body"),
        ({"joint": "wrist"}, "joint 'wrist' is defined twice"),
    ]:
        parts = robot._parts()
        welds = [replace(weld, **wrong) if weld.link == "bare" else weld for weld in robot.welds]
        with pytest.raises(ModelError, match=text):
            treesim.Tree("arm", **{**parts, "welds": welds})


def test_welds_of_merged_robots_keep_their_joints():
    robot = treesim.load(WELDED)
    world = treesim.World(robot, bodies=[robot.with_base_pose(treesim.Placement(translation=(5, 0, 0)))])
    q, v = np.tile(random_state(robot, 1).q, 2), np.zeros(2 * robot.nv)
    first, second = (
        treesim.joint_wrenches(world.robot, q, v, v, joints=[prefix + x for x in ("to_mount", "bare", "stand")])
        for prefix in ("", "arm.")
    )
    np.testing.assert_allclose(first, second, atol=1e-9)
    assert np.abs(first).max() > 1
