"""Constrained forward dynamics by every method against its definition.

M qdd + bias = tau + J' f, and J v changes at the rate asked for: the two halves of the KKT system. J is built here from
`frame_jacobian`, and its rate of change is taken by differences along the motion.
"""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import treesim
from tests import sensitivity, trees
from tests.trees import random_state, relative_error
from treesim import FrameConstraint, LoopConstraint, constrained_dynamics
from treesim.errors import TreesimError

METHODS = treesim.available("constrained")
EXACT = ("direct", "pv")  # the others stop at their tolerance
every_method = pytest.mark.parametrize("method", METHODS)
references = st.sampled_from(["world", "local"])


def jacobian(robot, q, constraints):
    """J (m, nv) with J v = R (v_first - v_second)."""
    blocks = []
    for constraint in constraints:
        first, *second = [constraint.first, constraint.second] if looped(constraint) else [constraint.frame]
        J = treesim.frame_jacobian(robot, q, first)
        for frame in second:
            J = J - treesim.frame_jacobian(robot, q, frame)
        if constraint.reference == "local":
            turn = np.kron(np.eye(2), treesim.frame_pose(robot, q, first)[:3, :3])
            J = turn.T @ J
        blocks.append((np.eye(6) if isinstance(constraint.rows, str) else constraint.rows) @ J)
    return np.concatenate(blocks)


def looped(constraint):
    return isinstance(constraint, LoopConstraint)


def rate(robot, q, v, qdd, constraints):
    """d/dt J v along q(t) = q exp(t v), v + t qdd, by central differences extrapolated twice."""

    def difference(h):
        after, before = (jacobian(robot, robot.integrate(q, s * v), constraints) @ (v + s * qdd) for s in (h, -h))
        return (after - before) / (2 * h)

    a, b, c = (difference(h) for h in (4e-3, 2e-3, 1e-3))
    a, b = (4 * b - a) / 3, (4 * c - b) / 3
    return (16 * b - a) / 15


def random_constraints(robot, rng, reference, loops):
    """One to three rows each on two bodies, and a loop between two others or within one path, with random targets."""
    names = [str(name) for name in rng.choice(robot.frame_names, 4, replace=len(robot.frame_names) < 4)]
    rows = [rng.normal(size=(k, 6)) for k in rng.integers(1, 3, size=3)]
    chosen = [
        FrameConstraint(name, rows=R, target=rng.normal(size=len(R)), reference=reference)
        for name, R in zip(names[:2], rows[:2], strict=True)
    ]
    if loops:
        chosen.append(
            LoopConstraint(names[2], names[3], rows=rows[2], target=rng.normal(size=len(rows[2])), reference=reference)
        )
    return chosen


def independent(robot, q, constraints):
    """Whether the constraints' inverse inertia is far from singular."""
    J = jacobian(robot, q, constraints)
    inverse = J @ np.linalg.solve(treesim.mass_matrix(robot, q), J.T)
    return len(inverse) <= robot.nv and np.linalg.eigvalsh(inverse)[0] > 1e-4 * np.trace(inverse)


@pytest.mark.paper("F05 section 7, kinematic loops")
@every_method
@given(trees.random_trees(armature=0.5), st.integers(0, 1000), references)
def test_accelerations_and_forces_solve_the_equations_of_motion_and_of_the_constraints(method, robot, seed, reference):
    rng = np.random.default_rng(seed)
    q, v, _, tau, f_ext = random_state(robot, seed)
    constraints = random_constraints(robot, rng, reference, loops=method != "caba")
    assume(independent(robot, q, constraints))
    found = constrained_dynamics(robot, q, v, tau, constraints, f_ext=f_ext, method=method)
    needed = treesim.inverse_dynamics(robot, q, v, found.acceleration, f_ext=f_ext)
    pushed = tau + jacobian(robot, q, constraints).T @ found.force
    assert relative_error(needed, pushed) < (1e-11 if method in EXACT else 1e-9)
    targets = np.concatenate([constraint.target for constraint in constraints])
    scale = max(1.0, np.abs(found.acceleration).max(), np.abs(v).max() ** 2)
    assert relative_error(rate(robot, q, v, found.acceleration, constraints), targets, scale) < 1e-7
    assert relative_error(targets - found.residual, targets, scale) < (1e-10 if method in EXACT else 1e-8)


@every_method
@pytest.mark.parametrize("name", trees.FREE)
def test_at_rest_the_dense_system_says_the_same(method, name):
    """[M -J'; J 0] [qdd; f] = [tau - bias; target], with no velocity and so no dJ/dt v."""
    robot = trees.tree(name)
    q, _, _, tau, _ = random_state(robot)
    still = np.zeros(robot.nv)
    hands = [robot.body_names[-1], robot.body_names[robot.n_bodies // 2]]
    rng = np.random.default_rng(1)
    constraints = [FrameConstraint(hand, rows=np.eye(6)[:3], target=rng.normal(size=3)) for hand in hands]
    found = constrained_dynamics(robot, q, still, tau, constraints, method=method)
    M, J = treesim.mass_matrix(robot, q), jacobian(robot, q, constraints)
    dense = np.block([[M, -J.T], [J, np.zeros((6, 6))]])
    right = np.concatenate([tau - treesim.bias_forces(robot, q, still), *(c.target for c in constraints)])
    truth = np.linalg.solve(dense, right)
    true, sides = np.split(truth, [robot.nv]), np.split(right, [robot.nv])
    bounds = sensitivity.of_constrained(M, J, *sides, *true)
    for solved, part, bound in zip((found.acceleration, found.force), true, bounds, strict=True):
        assert sensitivity.farthest(solved, part) < 2 * bound + (0 if method in EXACT else 1e-8)  # both err


@every_method
def test_gravity_and_armature_are_replaced(method):
    robot = trees.tree("free_random")
    q, v, _, tau, _ = random_state(robot)
    armature = np.linspace(0.1, 1.0, robot.nv)
    held = FrameConstraint("carrier")
    found = constrained_dynamics(robot, q, v, tau, held, method=method, gravity=(1, 2, 3), armature=armature)
    a = found.acceleration
    needed = treesim.inverse_dynamics(robot, q, v, a, gravity=(1, 2, 3), armature=armature)
    assert relative_error(needed, tau + jacobian(robot, q, [held]).T @ found.force) < 1e-9
    assert np.abs(rate(robot, q, v, a, [held])).max() < 1e-8


@every_method
def test_a_batch_is_its_states_side_by_side(method):
    robot = trees.tree("free_random")
    states = [random_state(robot, seed) for seed in range(4)]
    q, v, tau = (np.array([getattr(s, label) for s in states]).reshape(2, 2, -1) for label in ("q", "v", "tau"))
    targets = np.random.default_rng(0).normal(size=(2, 2, 3))
    held = FrameConstraint("carrier", rows="linear", target=targets, damping=2.0, stiffness=3.0, pose=np.eye(4))
    together = constrained_dynamics(robot, q, v, tau, held, method=method)
    assert together.iterations.shape == (2, 2)
    for index in np.ndindex(2, 2):
        one = FrameConstraint(
            "carrier", rows="linear", target=targets[index], damping=2.0, stiffness=3.0, pose=np.eye(4)
        )
        alone = constrained_dynamics(robot, q[index], v[index], tau[index], one, method=method)
        for label in ("acceleration", "force", "residual"):
            assert relative_error(getattr(together, label)[index], getattr(alone, label)) < 1e-12


@every_method
def test_several_targets_for_one_state(method):
    robot = trees.tree("free_random")
    q, v, _, tau, f_ext = random_state(robot)
    targets = np.random.default_rng(0).normal(size=(5, 3))
    held = FrameConstraint("carrier", rows="angular", target=targets)
    together = constrained_dynamics(robot, q, v, tau, held, f_ext=f_ext, method=method)
    for k, target in enumerate(targets):
        one = FrameConstraint("carrier", rows="angular", target=target)
        alone = constrained_dynamics(robot, q, v, tau, one, f_ext=f_ext, method=method)
        assert relative_error(together.acceleration[k], alone.acceleration) < 1e-12


@every_method
def test_stabilisation_brings_a_displaced_frame_back(method):
    """Critically damped: after time t the displacement is (1 + k t) exp(-k t) of what it was."""
    robot = trees.tree("free_random")
    q, v, dt, k = random_state(robot).q, np.zeros(robot.nv), 1e-3, 40.0
    pose = treesim.frame_pose(robot, q, "carrier")
    pose[:3, 3] += 0.01
    held = FrameConstraint("carrier", damping=2 * k, stiffness=k**2, pose=pose)
    for _ in range(100):
        v = v + dt * constrained_dynamics(robot, q, v, np.zeros(robot.nv), held, method=method).acceleration
        q = robot.integrate(q, dt * v)
    deviation = treesim.frame_pose(robot, q, "carrier") - pose
    assert deviation[:3, 3] == pytest.approx(-0.01 * (1 + k * 0.1) * np.exp(-k * 0.1), rel=0.1)
    assert np.abs(deviation[:3, :3]).max() < 1e-9


@every_method
@pytest.mark.nojit
def test_without_constraints_motion_is_free(method):
    robot = trees.tree("tree_1")
    q, v, _, tau, _ = random_state(robot)
    found = constrained_dynamics(robot, q, v, tau, [], method=method)
    assert np.array_equal(found.acceleration, treesim.forward_dynamics(robot, q, v, tau))
    assert found.force.shape == found.residual.shape == (0,) and found.iterations == 0


@pytest.mark.slow
def test_every_inverse_inertia_gives_the_same_forces():
    robot = trees.tree("free_random")
    q, v, _, tau, _ = random_state(robot)
    loop = LoopConstraint(robot.body_names[-1], robot.body_names[2], rows="linear")
    armature = np.full(robot.nv, 0.2)
    forces = [
        constrained_dynamics(robot, q, v, tau, loop, operational=name, armature=armature).force
        for name in treesim.available("operational")
    ]
    for force in forces[1:]:
        assert relative_error(force, forces[0]) < 1e-11


# ---- redundant and contradicting constraints


def two_on_one_foot(second_target=0.0):
    """The same foot twice: twelve rows of rank six."""
    robot = trees.tree("humanoid_2005")
    foot = robot.body_names[-1]
    constraints = [FrameConstraint(foot), FrameConstraint(foot, target=np.full(6, second_target))]
    return robot, random_state(robot), constraints


@pytest.mark.parametrize("method", ["proximal", "caba"])
def test_redundant_constraints_that_agree_share_the_force(method):
    robot, (q, v, _, tau, _), constraints = two_on_one_foot()
    once = constrained_dynamics(robot, q, v, tau, constraints[0])
    twice = constrained_dynamics(robot, q, v, tau, constraints, method=method, tolerance=1e-11)
    assert relative_error(twice.acceleration, once.acceleration) < 1e-9
    assert relative_error(twice.force.reshape(2, 6), np.tile(once.force / 2, (2, 1))) < 1e-9


def test_proximal_iterations_converge_as_fast_as_mu_promises():
    """An error in a direction in which Λ^-1 is sigma times its mean diagonal shrinks by mu / (mu + sigma)."""
    robot, (q, v, _, tau, _), constraints = two_on_one_foot()
    scale = np.abs(treesim.forward_dynamics(robot, q, v, tau)).max()
    iterations = {}
    for mu in (1e-2, 1e-4, 1e-6):
        found = constrained_dynamics(robot, q, v, tau, constraints, method="proximal", mu=mu, tolerance=1e-12)
        assert np.abs(found.residual).max() < 1e-11 * scale
        iterations[mu] = int(found.iterations)
    assert iterations[1e-2] > iterations[1e-4] > iterations[1e-6]
    assert iterations[1e-4] <= 8 and iterations[1e-6] <= 4


@pytest.mark.parametrize("method", EXACT)
def test_redundant_constraints_are_named_by_methods_that_want_independent_ones(method):
    robot, (q, v, _, tau, _), constraints = two_on_one_foot()
    with pytest.raises(treesim.ConstraintError, match=r"row 0 of the constraint on frame .* depends on row .*proximal"):
        constrained_dynamics(robot, q, v, tau, constraints, method=method)


@every_method
def test_contradicting_constraints_are_never_solved_in_silence(method):
    robot, (q, v, _, tau, _), constraints = two_on_one_foot(second_target=1.0)
    expected = treesim.ConstraintError if method in EXACT else treesim.ConvergenceError
    with pytest.raises(expected, match="of the constraint on frame"):
        constrained_dynamics(robot, q, v, tau, constraints, method=method)


# ---- input that cannot be meant


def bench():
    """A robot with a frame on its base."""
    return treesim.Tree("bench", trees.tree("tree_1").bodies, frames=[treesim.Frame("vice", 0)])


@every_method
@pytest.mark.parametrize(
    "make, error, message",
    [
        (lambda: FrameConstraint("bdy_4"), treesim.UnknownNameError, "body_4"),
        (lambda: FrameConstraint("body_4", reference="base"), treesim.UnknownNameError, "reference"),
        (
            lambda: FrameConstraint("body_4", rows=np.eye(5)),
            treesim.ArgumentError,
            "rows of the constraint on frame 'body_4'",
        ),
        (
            lambda: FrameConstraint("body_4", rows="upward"),
            treesim.ArgumentError,
            "rows of the constraint on frame 'body_4'",
        ),
        (
            lambda: FrameConstraint("body_4", rows=np.full((1, 6), np.inf)),
            treesim.NonFiniteError,
            "rows of the constraint",
        ),
        (
            lambda: FrameConstraint("body_4", target=[0.0] * 5),
            treesim.ArgumentError,
            "target of the constraint on frame",
        ),
        (
            lambda: FrameConstraint("body_4", target=[np.nan] * 6),
            treesim.NonFiniteError,
            "target of the constraint on frame",
        ),
        (lambda: FrameConstraint("body_4", stiffness=1.0), treesim.ArgumentError, "pose"),
        (lambda: FrameConstraint("body_4", damping=np.nan), treesim.NonFiniteError, "damping"),
        (lambda: "body_4", treesim.ArgumentError, "FrameConstraint"),
    ],
)
@pytest.mark.nojit
def test_input_that_cannot_be_meant_is_named(method, make, error, message):
    robot = bench()
    still = np.zeros(robot.nv)
    with pytest.raises(error, match=message):
        constrained_dynamics(robot, robot.neutral(), still, still, [make()], method=method)


@every_method
def test_a_frame_of_the_base_is_held_already(method):
    robot = bench()
    q, v, _, tau, _ = random_state(robot)
    if method in EXACT:
        with pytest.raises(treesim.ConstraintError, match=r"row 0 .* frame 'vice' cannot be influenced"):
            constrained_dynamics(robot, q, v, tau, FrameConstraint("vice"), method=method)
        return
    found = constrained_dynamics(robot, q, v, tau, FrameConstraint("vice"), method=method)
    assert relative_error(found.acceleration, treesim.forward_dynamics(robot, q, v, tau)) < 1e-13
    assert not found.force.any()
    with pytest.raises(treesim.ConvergenceError, match="vice"):
        constrained_dynamics(robot, q, v, tau, FrameConstraint("vice", target=np.ones(6)), method=method)


@pytest.mark.parametrize("method", ["direct", "proximal", "pv"])
def test_a_loop_to_the_base_is_a_held_frame(method):
    robot = bench()
    q, v, _, tau, _ = random_state(robot)
    rows = np.eye(6)[:2]  # its joints move it in a plane only
    held = constrained_dynamics(robot, q, v, tau, FrameConstraint("body_7", rows=rows), method=method)
    tied = constrained_dynamics(robot, q, v, tau, LoopConstraint("body_7", "vice", rows=rows), method=method)
    turned = constrained_dynamics(robot, q, v, tau, LoopConstraint("vice", "body_7", rows=rows), method=method)
    for other, sign in ((tied, 1), (turned, -1)):
        assert relative_error(other.acceleration, held.acceleration) < 1e-9
        assert relative_error(sign * other.force, held.force) < 1e-9


def test_loops_are_refused_where_they_are_not_supported():
    robot = trees.tree("tree_1")
    still = np.zeros(robot.nv)
    with pytest.raises(treesim.UnsupportedError, match="loop between frames 'body_4' and 'body_7'"):
        constrained_dynamics(
            robot, robot.neutral(), still, still, LoopConstraint("body_4", "body_7", rows="linear"), method="caba"
        )


@every_method
@pytest.mark.parametrize("where", ["q", "v", "tau"])
def test_states_that_are_not_finite_are_named(method, where):
    robot = trees.tree("tree_1")
    state = dict(zip(("q", "v", "tau"), (robot.neutral(), *np.zeros((2, robot.nv))), strict=True))
    state[where][2] = np.nan
    with pytest.raises(treesim.NonFiniteError, match=where):
        constrained_dynamics(robot, **state, constraints=FrameConstraint("body_4", rows="linear"), method=method)


@every_method
def test_a_massless_joint_is_named(method):
    bodies = list(trees.tree("tree_1").bodies)
    last = bodies[-1]
    bodies[-1] = treesim.Body(last.name, last.parent, last.joint, treesim.Inertia())
    robot = treesim.Tree("light", bodies)
    still = np.zeros(robot.nv)
    with pytest.raises(treesim.SingularInertiaError, match=last.joint.name):
        constrained_dynamics(
            robot, robot.neutral(), still, still, FrameConstraint("body_4", rows="linear"), method=method
        )


@every_method
@pytest.mark.nojit
def test_methods_that_do_not_exist_are_named(method):
    robot = trees.tree("tree_1")
    state = robot.neutral(), np.zeros(robot.nv), np.zeros(robot.nv)
    with pytest.raises(treesim.UnknownNameError, match="efpa"):
        constrained_dynamics(robot, *state, FrameConstraint("body_4"), method=method, operational="efp")
    with pytest.raises(treesim.UnknownNameError, match="proximal"):
        constrained_dynamics(robot, *state, FrameConstraint("body_4"), method="proximale")


@pytest.mark.nojit
@pytest.mark.parametrize("setting", [{"mu": 0.0}, {"tolerance": np.nan}, {"max_iterations": 0}])
def test_settings_that_cannot_be_meant(setting):
    robot = trees.tree("tree_1")
    still = np.zeros(robot.nv)
    with pytest.raises(TreesimError, match=r"mu and tolerance|max_iterations"):
        constrained_dynamics(robot, robot.neutral(), still, still, FrameConstraint("body_4"), **setting)


@every_method
@pytest.mark.nojit
def test_a_robot_that_cannot_move_cannot_be_constrained(method):
    robot, nothing = treesim.Tree("bench", [], frames=[treesim.Frame("vice", 0)]), np.zeros(0)
    with pytest.raises(treesim.ArgumentError, match="cannot move"):
        constrained_dynamics(robot, nothing, nothing, nothing, FrameConstraint("vice"), method=method)
