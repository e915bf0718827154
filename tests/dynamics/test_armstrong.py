"""Armstrong's recursion for spherical joints (1979; Jain 1991, eq. 48) is the articulated-body algorithm."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treesim
from tests import sensitivity, trees
from tests.operators import Operators
from tests.trees import random_state, relative_error
from treesim import testing
from treesim.dynamics.armstrong import Armstrong
from treesim.errors import SingularInertiaError, UnsupportedError
from treesim.kernels.algebra.tables import articulated_at, force_at, tree_tables
from treesim.kernels.published import armstrong as kernel
from treesim.kernels.stepping.rules import RULES
from treesim.model import generators as make
from treesim.simulation.step import check_diagonal
from treesim.simulation.step_settings import StepSettings

ROUND_OFF = 1e-11
SPHERICAL = ("spherical",)
spherical_trees = trees.random_trees(8, joint_types=SPHERICAL)


def matrix(A):
    """A matrix of the kernels, full."""
    if len(A) == 9:
        return np.array(A).reshape(3, 3)
    return np.array([[A.xx, A.xy, A.xz], [A.xy, A.yy, A.yz], [A.xz, A.yz, A.zz]])


def coefficients(robot, q, N):
    """lam, H = -L and Omega, and n and beta of every link, by the kernel's inward sweep on moments N."""
    tree = tree_tables(robot.ints, robot.reals)
    memory = kernel.scratch_for(tree, q)
    kernel.inward(tree, q, N, memory.X, memory.P, memory.Z)
    return {i: (articulated_at(memory.P, i), force_at(memory.Z, i)) for i in range(1, robot.n_bodies + 1)}


def test_keeps_the_promises_of_a_backend():
    robots = [make.chain(6, SPHERICAL), trees.random_tree(3, joint_types=SPHERICAL)]
    report = testing.check_dynamics(Armstrong(), robots)
    assert {finding.robot for finding in report.findings} >= {robot.name for robot in robots}


@pytest.mark.paper("J91 eq. 48")
@pytest.mark.nojit
@given(spherical_trees, st.integers(0, 1000))
def test_accelerations_are_those_of_aba(robot, seed):
    q, v, _, tau, f_ext = random_state(robot, seed)
    qdd = Armstrong().forward_dynamics(robot, q, v, tau, f_ext)
    bound = sensitivity.of_forward_dynamics(robot, q, v, tau, qdd, "aba", f_ext=f_ext)
    assert sensitivity.farthest(qdd, treesim.forward_dynamics(robot, q, v, tau, f_ext=f_ext)) < 2 * bound  # both err


@pytest.mark.paper("J91 eq. 49")
@pytest.mark.nojit
@given(spherical_trees, st.integers(0, 1000))
def test_coefficients_are_blocks_of_the_articulated_inertias(robot, seed):
    """J91 eq. 49: P = [lam^-1, -L; -L', Omega_children + m 1], and P+ = [0, 0; 0, Omega] beyond the joint."""
    state = random_state(robot, seed)
    o = Operators(robot, state.q)
    P_plus = (o.one - o.articulated[2] @ o.Hb) @ o.P
    for i, (link, _) in coefficients(robot, state.q, state.tau.copy()).items():
        lam, H, Omega = (matrix(part) for part in link)
        P = o.block(o.P, i)
        assert relative_error(np.linalg.inv(lam), P[:3, :3]) < ROUND_OFF
        assert relative_error(H, P[:3, 3:]) < ROUND_OFF
        beyond = np.zeros((6, 6))
        beyond[3:, 3:] = Omega
        assert relative_error(o.block(P_plus, i), beyond) < ROUND_OFF


@pytest.mark.paper("J91 eq. 47")
@pytest.mark.nojit
@given(spherical_trees, st.integers(0, 1000))
def test_it_takes_forces_as_functions_of_the_joint_s_acceleration(robot, seed):
    """J91 eq. 47: F = Omega vd + beta is the force through every joint, with the accelerations that are found."""
    q, _, _, tau, _ = random_state(robot, seed)
    at_rest, weightless = np.zeros(robot.nv), (0.0, 0.0, 0.0)
    found = coefficients(robot, q, tau.copy())
    qdd = Armstrong().forward_dynamics(robot, q, at_rest, tau, gravity=weightless)
    o = Operators(robot, q)
    a = o.phi.T @ o.Hb.T @ qdd
    forces = o.phi @ o.Ib @ a
    for i, (link, z) in found.items():
        acceleration, force = a[o.at(i)], forces[o.at(i)]
        scale = max(np.abs(forces).max(), np.abs(matrix(link.M)).max() * np.abs(a).max())
        F = matrix(link.M) @ acceleration[3:] + np.array(z.f)
        assert relative_error(F, force[3:], scale) < ROUND_OFF


def test_what_it_does_not_serve_is_refused():
    backend, mixed, chain = Armstrong(), trees.tree("chain_mixed"), make.chain(2, SPHERICAL)
    state, zero = random_state(mixed), np.zeros(6)
    with pytest.raises(UnsupportedError, match=r"'armstrong' does not support the .* joint .* supports spherical"):
        backend.forward_dynamics(mixed, state.q, state.v, state.tau)
    with pytest.raises(UnsupportedError, match=r"armature.*'chain_2'.*'aba'"):
        backend.forward_dynamics(chain, chain.neutral(), zero, zero, armature=np.full(6, 0.1))
    rotors = [treesim.Body("b", 0, treesim.Joint("j", "spherical", armature=0.1), chain.bodies[0].inertia)]
    with pytest.raises(UnsupportedError, match=r"armature.*'rotors'"):
        backend.forward_dynamics(treesim.Tree("rotors", rotors), [0, 0, 0, 1], zero[:3], zero[:3])
    zeros = backend.forward_dynamics(chain, chain.neutral(), zero, zero, armature=zero)
    assert np.isfinite(zeros).all()
    light = [treesim.Body("b", 0, treesim.Joint("light", "spherical"), treesim.Inertia(2.0))]
    with pytest.raises(SingularInertiaError, match="light"):
        backend.forward_dynamics(treesim.Tree("point", light), [0, 0, 0, 1], zero[:3], zero[:3])


def with_joints(robot, **options):
    """The robot with armature or damping, the same of all degrees of freedom."""
    given, bodies = {label: [value] * 3 for label, value in options.items()}, []
    for body in robot.bodies:
        joint = treesim.Joint(body.joint.name, body.joint.type, placement=body.joint.placement, **given)
        bodies.append(treesim.Body(body.name, body.parent, joint, body.inertia))
    return treesim.Tree("changed", bodies)


def test_wherever_the_object_is_taken_rotors_and_what_steps_add_like_them_are_refused():
    robot, armstrong = make.chain(2, ("spherical",)), Armstrong()
    geared, damped = with_joints(robot, armature=0.3), with_joints(robot, damping=5.0)
    hinge = treesim.Joint("hinge", "revolute", stiffness=1.0)
    sprung = treesim.Tree("sprung", [treesim.Body("body", 0, hinge, robot.bodies[0].inertia)])
    q, v = robot.neutral(), np.zeros(6)
    assert np.isfinite(treesim.Dynamics(robot, backend=armstrong).forward_dynamics(q, v, v)).all()
    assert np.isfinite(treesim.rollout(robot, q, v, steps=2, backend=armstrong).q).all()
    for call in (
        lambda: treesim.forward_dynamics(geared, q, v, v, backend=armstrong),
        lambda: treesim.forward_dynamics(robot, q, v, v, armature=np.full(6, 0.3), backend=armstrong),
        lambda: treesim.Dynamics(geared, backend=armstrong),
        lambda: treesim.Dynamics(robot, backend=armstrong, armature=np.full(6, 0.3)),
        lambda: treesim.Stepper(geared, 1e-3, backend=armstrong),
        lambda: treesim.Stepper(damped, 1e-3, backend=armstrong),
        lambda: treesim.Simulation(geared, backend=armstrong),
        lambda: treesim.Simulation(damped, backend=armstrong).run(0.01),
        lambda: treesim.rollout(damped, q, v, steps=2, backend=armstrong),
        lambda: treesim.rollout(geared, q, v, steps=2, backend=armstrong),
        lambda: check_diagonal(armstrong, sprung, StepSettings.of(sprung, RULES["implicit_midpoint"], 1e-3)),
    ):
        with pytest.raises(treesim.UnsupportedError, match="'armstrong' does not support armature"):
            call()


@pytest.mark.parametrize("wrong", [np.zeros(5), "heavy", np.nan])
def test_what_is_no_armature_is_told_as_everywhere(wrong):
    robot = make.chain(2, ("spherical",))
    q, v = robot.neutral(), np.zeros(6)
    for backend in (Armstrong(), "aba"):
        with pytest.raises(treesim.TreesimError, match="armature"):
            treesim.forward_dynamics(robot, q, v, v, armature=wrong, backend=backend)
