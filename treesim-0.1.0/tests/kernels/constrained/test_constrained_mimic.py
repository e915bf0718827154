"""Constraints on robots with followers: worlds and compiled methods against dense algebra and closed forms."""

import numpy as np
import pytest

import treesim
from tests.coupled import coupled, dense, state
from treesim import Body, FrameConstraint, Inertia, Joint, LoopConstraint, Mimic, Placement, Tree
from treesim.dynamics.base import Capabilities

ROBOT = coupled(1)
REAL = [("panda", "floating"), ("tiago_pro", "fixed"), ("pr2", "fixed"), ("xarm6_with_gripper", "floating"),
        ("romeo", "floating")]  # fmt: skip
LOOP = LoopConstraint("body_7", "body_4", rows=[[1, 0, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0]])
HELD = FrameConstraint("body_9", rows="linear")


class Foreign:
    """Somebody's backend, which knows nothing of followers."""

    name = "foreign"
    capabilities = Capabilities()

    def forward_dynamics(self, robot, q, v, tau, f_ext=None, gravity=None, armature=None):
        return treesim.forward_dynamics(
            robot, q, v, tau, f_ext=f_ext, backend="crba_ltdl", gravity=gravity, armature=armature
        )


def jacobian(q, constraints):
    """J G of the rows, from the Jacobians of the spanning tree."""

    def of(frame):
        return treesim.frame_jacobian(ROBOT.spanning, ROBOT.expand(q), frame) @ ROBOT.mimic_map.G

    rows = {HELD: of("body_9")[:3], LOOP: (of("body_7") - of("body_4"))[[0, 2]]}
    return np.vstack([rows[c] for c in constraints])


def allowed(J, v):
    """v without what the rows J forbid."""
    return v - np.linalg.pinv(J) @ (J @ v)


@pytest.mark.parametrize("method", ["direct", "proximal", "pv"])
def test_methods_solve_the_reduced_equations(method):
    """M qdd + C = tau + J' f and J qdd = -dJ/dt v with G'MG and J G."""
    check_method(method, [HELD, LOOP])


def test_caba_solves_the_reduced_equations_of_frames():
    check_method("caba", [HELD])


def check_method(method, constraints):
    q, v, tau, f_ext = state(ROBOT)
    armature = ROBOT.armature + 0.1
    found = treesim.constrained_dynamics(ROBOT, q, v, tau, constraints, f_ext=f_ext, method=method, armature=armature)
    (M, C), J = dense(ROBOT, q, v, f_ext, armature), jacobian(q, constraints)
    at_rest = treesim.constrained_dynamics(
        ROBOT, q, 0 * v, tau, constraints, f_ext=f_ext, method=method, armature=armature
    )
    scale = np.abs(C).max() + np.abs(J.T @ found.force).max()
    np.testing.assert_allclose(M @ found.acceleration + C, tau + J.T @ found.force, rtol=0, atol=1e-11 * scale)
    np.testing.assert_allclose(J @ at_rest.acceleration, 0, atol=1e-9)
    np.testing.assert_allclose(found.residual, 0, atol=1e-9)


def test_pv_names_rows_that_followers_make_dependent():
    """Two fingers that mirror each other: to hold one is to hold both."""
    fingers = [Body("left", 0, Joint("left", "prismatic", axis=(1, 0, 0)), Inertia(0.3)),
               Body("right", 0, Joint("right", "prismatic", axis=(1, 0, 0), mimic=Mimic("left", -1)), Inertia(0.2)),
               Body("arm", 0, Joint("arm", "prismatic", axis=(1, 0, 0)), Inertia(1.0))]  # fmt: skip
    x = [[1, 0, 0, 0, 0, 0]]
    constraints = [FrameConstraint("left", rows=x), FrameConstraint("right", rows=x)]
    with pytest.raises(treesim.ConstraintError, match=r"row 0 of .*'right' depends on row 0 of .*'left'"):
        treesim.constrained_dynamics(Tree("hand", fingers), [0.1, 0], [0, 0], [1, 1], constraints, method="pv")


def test_rows_of_a_world_are_the_spanning_trees():
    q, v, _, _ = state(ROBOT)
    world = treesim.World(ROBOT, [HELD], q=q)
    np.testing.assert_allclose(world.gaps(q), 0, atol=1e-15)
    np.testing.assert_allclose(world.jacobian(q), jacobian(q, [HELD]), atol=1e-14)
    closed = world.close(ROBOT.integrate(q, 0.05 * v))
    np.testing.assert_allclose(treesim.frame_pose(ROBOT, closed, "body_9")[:3, 3], world.constraints[0].pose[:3, 3],
                               atol=1e-9)  # fmt: skip


def test_small_steps_are_constrained_dynamics():
    """The loop is along the first frame's axes, where two rows hold velocities alone."""
    q, v, _, _ = state(ROBOT)
    constraints = [HELD, LoopConstraint("body_7", "body_4", rows=LOOP.rows, reference="local")]
    world, h = treesim.World(ROBOT, constraints, q=q, use_limits=False), 1e-5
    v = 0.3 * allowed(world.jacobian(q), v)
    stepper = treesim.Stepper(world, h, substeps=1, engine="generic")
    now, report = stepper.step(stepper.reset(q, v))
    found = treesim.constrained_dynamics(ROBOT, q, v, np.zeros(ROBOT.nv), constraints, method="pv")
    size, force = np.abs(found.acceleration).max(), np.abs(found.force).max()
    np.testing.assert_allclose((now.v - v) / h, found.acceleration, rtol=0, atol=1e-4 * size)
    np.testing.assert_allclose(report.impulses / h, found.force, rtol=0, atol=1e-3 * force)


@pytest.mark.slow
def test_steps_are_those_of_any_backend_and_of_rollouts():
    q, v, u, _ = state(ROBOT)
    world = treesim.World(ROBOT, HELD, q=q, use_limits=False)
    v = 0.3 * allowed(jacobian(q, [HELD]), v)
    ends = []
    for backend in ("aba", Foreign()):
        stepper = treesim.Stepper(world, backend=backend, engine="generic")
        now = stepper.reset(q, v)
        for _ in range(3):
            now, report = stepper.step(now, u)
        assert np.abs(report.residual).max() < 1e-12
        ends.append(now)
    np.testing.assert_allclose(ends[1].q, ends[0].q, rtol=0, atol=1e-12)
    np.testing.assert_allclose(ends[1].v, ends[0].v, rtol=0, atol=1e-11)
    for engine in ("generic", "specialized"):
        rolled = treesim.rollout(world, np.tile(q, (10, 1)), v, np.tile(u, (3, 1)), engine=engine, work=True)
        np.testing.assert_allclose(rolled.q[9, -1], ends[0].q, rtol=0, atol=1e-12)
        assert np.abs(rolled.energy_error).max() < 1e-6 * np.abs(rolled.energy).max()


def scissors(**options):
    """Two cranks of 0.5 m that mirror each other, and a slider that the first one's tip moves along: x = cos(a) / 2."""
    bar = Inertia(0.4, (0.25, 0, 0), np.diag([1e-4, 0.01, 0.01]))
    bodies = [
        Body("crank", 0, Joint("crank", "revolute", axis=(0, 1, 0)), bar),
        Body("mirror", 0, Joint("mirror", "revolute", placement=Placement(translation=(0, 1, 0)), axis=(0, 1, 0),
                                mimic=Mimic("crank", -1), **options), bar),
        Body("slider", 0, Joint("slider", "prismatic", axis=(1, 0, 0)), Inertia(3.0)),
    ]  # fmt: skip
    tip = treesim.Frame("tip", 1, Placement(translation=(0.5, 0, 0)))
    robot = Tree("scissors", bodies, frames=[tip], gravity=(0, 0, 0))
    return treesim.World(robot, LoopConstraint("tip", "slider", rows=[[1, 0, 0, 0, 0, 0]]))


@pytest.mark.parametrize("start, rate", [(0.4, 3.0), (2.5, -2.0)])
def test_scissors_keep_the_energy_of_both_cranks(start, rate):
    """(2 I + m x'(a)^2) w^2 stays, with I = 0.01 + 0.4 / 16 and x' = -sin(a) / 2."""
    world = scissors()
    stepper = treesim.Stepper(world)
    now = stepper.reset(world.close([start, 0.5 * np.cos(start)]), [rate, -0.5 * np.sin(start) * rate])
    for _ in range(300):
        now, report = stepper.step(now)
        assert np.abs(report.residual).max() < 1e-13

    def inertia(a):
        return 2 * (0.01 + 0.4 / 16) + 3.0 * (0.5 * np.sin(a)) ** 2

    angle = now.q[0]
    assert abs(angle - start) > 0.4
    assert now.v[0] == pytest.approx(rate * np.sqrt(inertia(start) / inertia(angle)), rel=1e-6)
    np.testing.assert_allclose(world.robot.expand(now.q)[1], -angle, rtol=0, atol=0)


def test_a_loop_and_the_limit_of_a_follower_at_once():
    world = scissors(lower=-0.9, upper=0.9)
    stepper = treesim.Stepper(world, engine="generic")
    now = stepper.reset(world.close([0.4, 0.5 * np.cos(0.4)]), [0.0, 0.0])
    for _ in range(600):
        now, _ = stepper.step(now, [2.0, 0.0])
    np.testing.assert_allclose(now.q, [0.9, 0.5 * np.cos(0.9)], rtol=0, atol=1e-8)
    np.testing.assert_allclose(now.v, 0, atol=1e-9)


def test_panda_stands_on_its_hand_while_its_fingers_move():
    robot = treesim.load("panda")
    q = robot.neutral()
    q[[1, 3, 5]] = 0.3, -1.5, 1.2
    q[-1] = 0.01
    world = treesim.World(robot, FrameConstraint("panda_hand"), q=q)
    stepper = treesim.Stepper(world, engine="generic")
    now, force = stepper.reset(q), np.zeros(robot.nv)
    force[-1] = 0.3
    for _ in range(50):
        now, report = stepper.step(now, force)
        report.check()
    assert np.abs(world.gaps(now.q)).max() < 1e-12
    assert now.q[-1] > 0.011


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::treesim.UrdfWarning")
@pytest.mark.parametrize(("name", "base"), REAL)
def test_installed_robots(name, base):
    robot = treesim.load(name, base=base)
    armature = robot.armature + 0.05 * (name == "romeo")  # whose fingers, and their leaders, have no inertia
    q, v, tau, f_ext = state(robot, 1)
    q = np.where(np.abs(q) > 3, 0.1, q) if base == "fixed" else q
    tip, other = robot.body_names[-1], robot.body_names[robot.n_bodies // 2]
    loop = LoopConstraint(other, tip, rows=[[0, 0, 0, 1, 0, 0]])
    first, second = (treesim.frame_jacobian(robot, q, frame) for frame in (tip, other))
    M, C = dense(robot, q, v, f_ext, armature)
    for method, constraints, J in (
        ("pv", [FrameConstraint(tip, rows="linear"), loop], np.vstack([first[:3], (second - first)[3:4]])),
        ("caba", [FrameConstraint(tip, rows="linear")], first[:3]),
    ):
        found = treesim.constrained_dynamics(
            robot, q, v, tau, constraints, f_ext=f_ext, method=method, armature=armature
        )
        scale = np.abs(C).max() + np.abs(J.T @ found.force).max()
        np.testing.assert_allclose(M @ found.acceleration + C, tau + J.T @ found.force, rtol=0, atol=1e-11 * scale)
        assert np.abs(found.residual).max() < 1e-8
    if name != "romeo":
        start = robot.neutral() if base == "floating" else np.clip(robot.neutral(), robot.lower, robot.upper)
        world = treesim.World(robot, FrameConstraint(tip), q=start)
        stepper = treesim.Stepper(world)
        now = stepper.reset(start)
        for _ in range(20):
            now, _ = stepper.step(now)
        assert np.abs(world.gaps(now.q)).max() < 1e-8
