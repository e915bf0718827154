"""The operational space: identities, finite differences along a motion, dense linear algebra, and lost ranks."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treesim
from tests import sensitivity, trees
from tests.trees import random_state, relative_error
from treesim import CenterOfMassTask, FrameTask, RelativeTask
from treesim.dynamics.operational.space import invert_on_range

ROBOTS = ("chain_mixed", "random_a", "random_c", "free_random", "humanoid_2005", "asimo")
every_method = pytest.mark.parametrize("method", treesim.available("operational"))


def mixed_tasks(robot):
    """A task of each kind, of few rows, on frames far apart."""
    names = robot.frame_names
    return [
        FrameTask(names[-1], "linear", "local"),
        RelativeTask(names[0], names[len(names) // 2], rows=np.eye(6)[[0, 5]], reference="local"),
        CenterOfMassTask(np.eye(3)[:1]),
    ]


def all_tasks(robot):
    names = robot.frame_names
    far, middle, near = names[-1], names[len(names) // 2], names[0]
    rng = np.random.default_rng(5)
    pairs = [(near, far), (far, middle), (middle, middle)]
    frames = [FrameTask(far, rows, axes) for rows in (None, rng.normal(size=(2, 6))) for axes in ("world", "local")]
    relative = [RelativeTask(*pair, reference=axes) for pair in pairs for axes in ("world", "local")]
    return [middle, *frames, *relative, CenterOfMassTask(), CenterOfMassTask(rng.normal(size=(1, 3)))]


@pytest.mark.paper("F10 eq. 9", "F10 eq. 10")
@pytest.mark.parametrize("name", ["chain_mixed", "humanoid_2005", "asimo"])
@every_method
def test_identities(method, name):
    robot = trees.tree(name)
    state = random_state(robot, 2)
    space = treesim.operational_space(robot, state.q, state.v, mixed_tasks(robot), method=method)
    J, jbar, N = space.jacobian, space.jbar, space.nullspace
    m = len(J)
    assert space.rank == m
    size = np.linalg.norm(J, 2) * np.linalg.norm(jbar, 2)  # how far round-off may be blown up
    for value in (J @ jbar - np.eye(m), N @ N - N, space.inertia @ space.inverse_inertia - np.eye(m)):
        assert np.abs(value).max() < 1e-12 * size**2
    assert np.abs(N @ jbar).max() < 1e-12 * size**2 * np.abs(jbar).max()
    assert np.abs(J @ N).max() < 1e-12 * size**2 * np.abs(J).max()


@pytest.mark.paper("F10 eq. 9")
@pytest.mark.parametrize("name", ["tree_1", "random_a", "random_c", "free_random"])
@every_method
def test_identities_where_robots_have_too_few_joints(method, name):
    robot = trees.tree(name)
    state = random_state(robot, 2)
    space = treesim.operational_space(robot, state.q, state.v, all_tasks(robot), method=method)
    assert space.rank == np.linalg.matrix_rank(space.jacobian, tol=1e-8) < len(space.bias)
    assert consistent(space)


@pytest.mark.parametrize("name", ROBOTS)
def test_rows_and_inertia_are_those_of_the_definition(name):
    robot = trees.tree(name)
    state = random_state(robot, 3)
    H = treesim.mass_matrix(robot, state.q)
    space = treesim.operational_space(robot, state.q, state.v, all_tasks(robot))
    J = space.jacobian
    columns = np.linalg.solve(H, J.T)
    assert sensitivity.farthest(space.inverse_inertia, J @ columns) < 2 * sensitivity.of_inverse_inertia(H, J)
    for found, column, row in zip(space.inverse_mass_jacobian.T, columns.T, J, strict=True):
        assert sensitivity.farthest(found, column) <= 2 * sensitivity.of_solution(H, np.abs(row), column)


@pytest.mark.paper("F05 appendix, matrices", "F10 eq. 10", "F10 eq. 32, 33")
@given(
    trees.random_trees(7),
    st.integers(0, 1000),
    st.sampled_from([mixed_tasks, all_tasks, lambda robot: robot.body_names]),
)
def test_jbar_and_null_space_by_sparse_rows_are_dense_products(robot, seed, tasks):
    """J̄ = H^-1 J' Λ and N = 1 - J̄ J, also of dependent rows, where most of Λ's terms cancel."""
    state = random_state(robot, seed)
    space = treesim.operational_space(robot, state.q, state.v, tasks(robot))
    X, inertia = np.linalg.solve(treesim.mass_matrix(robot, state.q), space.jacobian.T), space.inertia
    size = np.abs(X) @ np.abs(inertia)
    assert np.abs(space.jbar - X @ inertia).max() < 1e-11 * size.max()
    assert np.abs(space.nullspace - (np.eye(robot.nv) - space.jbar @ space.jacobian)).max() < 1e-12 * size.max()
    batch = treesim.operational_space(robot, np.tile(state.q, (2, 1)), state.v, tasks(robot))
    assert np.abs(batch.jbar - space.jbar).max() < 1e-8 * size.max()


@pytest.mark.paper("F10 eq. 8")
@pytest.mark.parametrize("name", ROBOTS)
def test_acceleration_is_the_derivative_of_the_tasks_velocity(name):
    """xddot = J H^-1 tau + β, with gravity, velocity terms of every task and turning axes, along the true motion."""
    robot, h = trees.tree(name), 1e-4
    state = random_state(robot, 4)
    tasks = all_tasks(robot)
    tau = treesim.inverse_dynamics(robot, state.q, state.v, state.a)

    def velocity(t):
        v = state.v + t * state.a
        q = robot.integrate(state.q, t * state.v + t * t / 2 * state.a)
        return treesim.operational_space(robot, q, v, tasks).jacobian @ v

    space = treesim.operational_space(robot, state.q, state.v, tasks)
    numeric = (8 * (velocity(h) - velocity(-h)) - velocity(2 * h) + velocity(-2 * h)) / (12 * h)
    assert relative_error(space.acceleration(tau), numeric) < 1e-8


@pytest.mark.paper("F10 section 4, least kinetic energy")
@pytest.mark.parametrize("name", ["chain_mixed", "asimo"])
def test_jbar_gives_the_motion_of_least_kinetic_energy(name):
    """Of all motions that move the tasks alike (F10 section 4): H J̄ is orthogonal to what moves no task."""
    robot = trees.tree(name)
    state = random_state(robot, 2)
    H = treesim.mass_matrix(robot, state.q)
    space = treesim.operational_space(robot, state.q, state.v, mixed_tasks(robot))
    least = space.jbar @ space.jacobian @ state.v
    beside = space.nullspace @ state.v
    assert np.abs(beside).max() > 0.1, "there are other motions"
    assert relative_error(least + beside, state.v) < 1e-13
    assert abs(least @ H @ beside) < 1e-10 * (state.v @ H @ state.v)
    assert least @ H @ least < state.v @ H @ state.v


@pytest.mark.paper("F10 eq. 3", "F10 eq. 6")
@settings(max_examples=20)
@given(trees.random_trees(armature=0.5), st.integers(0, 1000))
def test_equation_of_motion_on_random_trees(robot, seed):
    """Forward dynamics under tau = J'F + N'tau0 accelerate the tasks by Λ^-1 F + β: F10 eq. 3."""
    state = random_state(robot, seed)
    space = treesim.operational_space(robot, state.q, state.v, [robot.frame_names[-1], CenterOfMassTask()])
    F = np.random.default_rng(seed).normal(size=len(space.bias))
    tau = space.torque(F)
    qdd = treesim.forward_dynamics(robot, state.q, state.v, tau)
    still = treesim.forward_dynamics(robot, state.q, state.v, 0 * tau)
    effect = space.jacobian @ (qdd - still)
    assert relative_error(effect, space.inverse_inertia @ F, scale=np.abs(qdd).max()) < 1e-9
    assert relative_error(space.acceleration(tau), space.inverse_inertia @ F + space.bias) < 1e-9


@pytest.mark.paper("F10 eq. 4", "F10 eq. 11")
def test_force_reaches_the_wanted_acceleration_and_the_rest_is_free():
    robot = trees.tree("asimo")
    state = random_state(robot, 5)
    tasks = [robot.body_names[-1], CenterOfMassTask()]
    space = treesim.operational_space(robot, state.q, state.v, tasks)
    wanted = np.arange(9.0)
    for tau0 in (None, state.tau):
        tau = space.torque(space.force(wanted), tau0)
        np.testing.assert_allclose(space.acceleration(tau), wanted, atol=1e-9)
    assert np.abs(space.torque(np.zeros(9), state.tau)).max() > 0.1


@pytest.mark.parametrize("center", [False, True])
@settings(max_examples=10)
@given(trees.random_trees(armature=0.5), st.integers(0, 1000), st.data())
def test_whole_frames_by_sparse_rows_are_as_any_rows_of_them(center, robot, seed, data):
    """Frames as they stand go along the tree's paths; the same rows, chosen by a matrix, through dense products."""
    names = data.draw(st.lists(st.sampled_from(robot.frame_names), min_size=1, max_size=3, unique=True))
    state, last = random_state(robot, seed), [CenterOfMassTask()] * center
    one = treesim.operational_space(robot, state.q, state.v, [*names, *last])
    other = treesim.operational_space(robot, state.q, state.v, [*(FrameTask(name, np.eye(6)) for name in names), *last])
    H, J = treesim.mass_matrix(robot, state.q), one.jacobian
    np.testing.assert_array_equal(J, other.jacobian)
    assert one.rank == other.rank
    bound = 2 * sensitivity.of_inverse_inertia(H, J)
    assert sensitivity.farthest(one.inverse_inertia, J @ np.linalg.solve(H, J.T)) < bound
    conditioned = np.linalg.norm(one.inertia, 2) * np.linalg.norm(one.inverse_inertia, 2)
    blown_up = conditioned * (1 + np.linalg.norm(J, 2) * np.linalg.norm(one.jbar, 2))  # round-off of the products
    for label in ("inertia", "jbar", "nullspace", "bias"):
        assert relative_error(getattr(one, label), getattr(other, label)) < 1e-14 * blown_up, label


def test_forces_of_a_batch_spread_over_all_that_is_returned():
    robot = trees.tree("free_random")
    state, tasks = random_state(robot, 6), [robot.frame_names[-1]]
    f_ext = np.stack([state.f_ext, 0 * state.f_ext])
    batch = treesim.operational_space(robot, state.q, state.v, tasks, f_ext=f_ext)
    assert batch.jacobian.shape == (2, 6, robot.nv) and batch.inertia.shape == (2, 6, 6)
    for i in range(2):
        one = treesim.operational_space(robot, state.q, state.v, tasks, f_ext=f_ext[i])
        assert relative_error(batch.bias[i], one.bias) < 1e-12
    with pytest.raises(treesim.ArgumentError, match="f_ext"):
        treesim.operational_space(robot, np.tile(state.q, (3, 1)), state.v, tasks, f_ext=f_ext)


def test_external_forces_and_gravity_enter_the_bias():
    robot = trees.tree("free_random")
    state = random_state(robot, 6)
    tasks, gravity = [robot.frame_names[-1]], (1.0, 2.0, 3.0)
    space = treesim.operational_space(robot, state.q, state.v, tasks, f_ext=state.f_ext, gravity=gravity)
    qdd = treesim.forward_dynamics(robot, state.q, state.v, state.tau, f_ext=state.f_ext, gravity=gravity)
    truth = treesim.frame_acceleration(robot, state.q, state.v, qdd, robot.frame_names[-1])
    assert relative_error(space.acceleration(state.tau), truth) < 1e-9


# ---- lost ranks


def consistent(space):
    """Whether Λ, J̄ and N are what they must be on the attainable directions."""
    A, L, J, jbar, N = space.inverse_inertia, space.inertia, space.jacobian, space.jbar, space.nullspace
    assert relative_error(A @ L @ A, A) < 1e-10
    assert relative_error(L @ A @ L, L) < 1e-10
    assert relative_error(J @ jbar @ J, J) < 1e-10
    assert np.abs(J @ N).max() < 1e-10 and np.abs(N @ N - N).max() < 1e-10
    return True


@every_method
def test_a_task_given_twice_counts_once(method):
    robot = trees.tree("asimo")
    state = random_state(robot, 1)
    hand = robot.body_names[-1]
    once = treesim.operational_space(robot, state.q, state.v, hand, method=method)
    twice = treesim.operational_space(robot, state.q, state.v, [hand, hand], method=method)
    assert once.rank == twice.rank == 6 and consistent(twice)
    assert relative_error(twice.nullspace, once.nullspace) < 1e-10
    wanted = np.arange(6.0)
    tau = twice.torque(twice.force(np.r_[wanted, wanted]))
    np.testing.assert_allclose(tau, once.torque(once.force(wanted)), atol=1e-9 * np.abs(tau).max())


def planar_arm():
    """Three equal links in the vertical plane."""
    rod = treesim.Inertia(1.0, (0.5, 0.0, 0.0), np.diag([0.01, 0.1, 0.1]))
    step = treesim.Placement(translation=np.array([1.0, 0.0, 0.0]))
    bodies = [
        treesim.Body(f"link_{i}", i, treesim.Joint(f"joint_{i}", "revolute", placement=place, axis=(0, 1, 0)), rod)
        for i, place in enumerate([treesim.Placement(), step, step])
    ]
    frames = [treesim.Frame("tip", 3, step), treesim.Frame("bench", 0)]
    return treesim.Tree("planar_arm", bodies, frames=frames)


@every_method
@pytest.mark.parametrize("angle, rank", [(0.0, 1), (1e-7, 1), (0.7, 2)])
def test_a_stretched_arm_cannot_accelerate_along_itself(method, angle, rank):
    robot = planar_arm()
    space = treesim.operational_space(
        robot, [0.3, angle, 0.0], np.zeros(3), [FrameTask("tip", "linear")], method=method
    )
    assert space.rank == rank and np.isfinite(space.inertia).all()
    assert np.abs(space.inertia).max() < 1e6
    if angle != 1e-7:
        assert consistent(space)
    reached = space.acceleration(space.torque(space.force([1.0, 0.0, 2.0])))
    if rank == 2:
        np.testing.assert_allclose(reached, [1.0, 0.0, 2.0], atol=1e-9)


@pytest.mark.nojit
@every_method
def test_more_rows_than_degrees_of_freedom(method):
    robot = planar_arm()
    space = treesim.operational_space(robot, [0.3, 0.7, -0.4], np.zeros(3), ["tip", "link_2"], method=method)
    assert space.rank == 3 and space.jacobian.shape == (12, 3) and consistent(space)
    assert np.abs(space.nullspace).max() < 1e-10


@every_method
def test_frames_of_the_base_move_nowhere(method):
    robot = planar_arm()
    space = treesim.operational_space(robot, [0.3, 0.7, -0.4], np.ones(3), ["bench"], method=method)
    assert space.rank == 0 and not space.inertia.any() and not space.jbar.any() and not space.bias.any()
    np.testing.assert_array_equal(space.nullspace, np.eye(3))


@every_method
def test_motion_of_a_body_relative_to_itself_has_rank_zero(method):
    robot = trees.tree("asimo")
    state = random_state(robot, 1)
    hand = robot.body_names[-1]
    space = treesim.operational_space(robot, state.q, state.v, RelativeTask(hand, hand), method=method)
    assert space.rank == 0
    mixed = treesim.operational_space(robot, state.q, state.v, [RelativeTask(hand, hand), hand], method=method)
    assert mixed.rank == 6 and consistent(mixed)


@every_method
def test_no_tasks_leave_everything_free(method):
    robot = trees.tree("random_a")
    state = random_state(robot)
    space = treesim.operational_space(robot, state.q, state.v, [], method=method)
    assert space.rank == 0 and space.jacobian.shape == (0, robot.nv) and space.inertia.shape == (0, 0)
    np.testing.assert_array_equal(space.nullspace, np.eye(robot.nv))
    np.testing.assert_array_equal(space.torque([], state.tau), state.tau)


def test_a_robot_that_cannot_move():
    robot = treesim.Tree("rock", [], frames=[treesim.Frame("top", 0)])
    space = treesim.operational_space(robot, [], [], ["top"])
    assert space.rank == 0 and space.jacobian.shape == (6, 0) and not space.inertia.any()


def test_rank_does_not_depend_on_units():
    robot = trees.tree("asimo")
    space = treesim.operational_space(robot, *random_state(robot)[:2], robot.body_names[-1])
    units = np.diag([1e3, 1e3, 1e3, 1.0, 1.0, 1.0])
    inertia, rank = invert_on_range(units @ space.inverse_inertia @ units)
    assert rank == 6
    assert relative_error(units @ inertia @ units, space.inertia) < 1e-8


def test_matrices_on_two_batch_axes_are_inverted_one_by_one():
    """The second axis, of length 1, is not that of the rows."""
    scale = np.arange(1.0, 4.0)[:, None, None, None]
    inverse = scale * [[2.0, 1.0], [1.0, 2.0]]
    inertia, rank = invert_on_range(inverse)
    assert rank.shape == (3, 1) and (rank == 2).all()
    exact = np.array([[2.0, -1.0], [-1.0, 2.0]]) / 3 / scale  # its condition number is 3
    np.testing.assert_allclose(inertia, exact, rtol=1e-14)


# ---- arguments


def test_batches_are_as_one_by_one():
    robot = trees.tree("free_random")
    q = np.array([[random_state(robot, seed).q for seed in range(3)]])
    v = random_state(robot, 1).v
    batch = treesim.operational_space(robot, q, v, all_tasks(robot))
    assert batch.rank.shape == (1, 3) and batch.nullspace.shape == (1, 3, robot.nv, robot.nv)
    for i in range(3):
        one = treesim.operational_space(robot, q[0, i], v, all_tasks(robot))
        for label in ("jacobian", "inverse_inertia", "bias", "nullspace", "rank"):
            assert relative_error(getattr(batch, label)[0, i], getattr(one, label)) < 1e-9, label
        F = np.ones(len(one.bias))
        assert relative_error(batch.torque(F)[0, i], one.torque(F)) < 1e-9


def test_what_does_not_fit_is_named():
    robot = trees.tree("tree_1")
    q, v = robot.neutral(), np.zeros(robot.nv)
    with pytest.raises(treesim.UnknownNameError, match="bod_7"):
        treesim.operational_space(robot, q, v, ["bod_7"])
    with pytest.raises(treesim.UnknownNameError, match="sideways"):
        treesim.operational_space(robot, q, v, ["body_7"], reference="sideways")
    with pytest.raises(treesim.ArgumentError, match="task"):
        treesim.operational_space(robot, q, v, [3.5])
    with pytest.raises(treesim.ArgumentError, match="rtol"):
        treesim.operational_space(robot, q, v, ["body_7"], rtol=0.0)
    with pytest.raises(treesim.ArgumentError, match="batch"):
        treesim.operational_space(robot, np.zeros((2, robot.nq)), np.zeros((3, robot.nv)), ["body_7"])
    with pytest.raises(treesim.NonFiniteError, match="v"):
        treesim.operational_space(robot, q, v * np.nan, ["body_7"])
    with pytest.raises(treesim.ArgumentError, match="force"):
        treesim.operational_space(robot, q, v, ["body_7"]).torque(np.zeros(5))


def test_massless_joints_are_named():
    bodies = [treesim.Body("ghost", 0, treesim.Joint("hinge", "revolute", axis=(0, 0, 1)))]
    robot = treesim.Tree("haunted", bodies)
    with pytest.raises(treesim.SingularInertiaError, match="hinge"):
        treesim.operational_space(robot, np.zeros(1), np.zeros(1), ["ghost"])
