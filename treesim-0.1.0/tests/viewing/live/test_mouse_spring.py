"""The hand: a spring-damper at a point, as generalised forces."""

import numpy as np
import pytest

import treesim
from treesim.errors import ArgumentError
from treesim.model.generators import chain
from treesim.viewing.live.mouse_spring import FREQUENCY, MouseSpring

ROBOT = treesim.load("ur5")
BODY = "wrist_2_link"


def pulled(point=(0.1, -0.05, 0.02), target=(0.3, 0.4, 0.5), robot=ROBOT, body=BODY, dt=1e-3, seed=3):
    rng = np.random.default_rng(seed)
    q, v = robot.random(rng), rng.normal(size=robot.nv)
    pull = MouseSpring(robot, body, point, target, dt)
    pull.tune(q)
    return pull, q, v


def test_the_jacobian_is_the_rate_of_the_point():
    pull, q, v = pulled()
    h = 1e-6
    rate = (pull.at(ROBOT.integrate(q, h * v))[0] - pull.at(ROBOT.integrate(q, -h * v))[0]) / (2 * h)
    np.testing.assert_allclose(pull.at(q)[1] @ v, rate, atol=1e-8)


def test_the_point_is_that_of_the_body_and_power_is_force_times_velocity():
    pull, q, v = pulled()
    pose = treesim.frame_pose(ROBOT, q, BODY)
    x, J = pull.at(q)
    np.testing.assert_allclose(x, (pose @ [*pull.point, 1.0])[:3], atol=1e-14)
    tau = pull.generalised(q, v)
    assert tau @ v == pytest.approx(pull.force @ (J @ v), rel=1e-12)


def test_the_force_is_that_of_forward_dynamics_with_a_wrench_on_the_body():
    """J^T f moves the robot as the force on that point does, given as an external wrench in the body's axes."""
    pull, q, v = pulled()
    tau = pull.generalised(q, v)
    f = treesim.frame_pose(ROBOT, q, BODY)[:3, :3].T @ pull.force
    wrench = np.zeros((ROBOT.n_bodies, 6))
    wrench[ROBOT.body_names.index(BODY)] = [*f, *np.cross(pull.point, f)]
    expected = treesim.forward_dynamics(ROBOT, q, v, np.zeros(6), f_ext=wrench)
    np.testing.assert_allclose(treesim.forward_dynamics(ROBOT, q, v, tau), expected, rtol=1e-9, atol=1e-9)


def test_a_pull_at_rest_points_to_its_target_and_is_capped():
    pull, q, _ = pulled(target=(100.0, 0.0, 0.0))
    pull.generalised(q, np.zeros(6))
    along = pull.target - pull.at(q)[0]
    assert np.linalg.norm(pull.force) == pytest.approx(3.0 * ROBOT.mass * 9.80665)
    np.testing.assert_allclose(pull.force / np.linalg.norm(pull.force), along / np.linalg.norm(along), atol=1e-12)


def test_a_free_body_s_point_swings_in_without_overshoot():
    """The stiffness is that of the body's mass at 10 rad/s, where it is pulled at its centre of mass."""
    ball = treesim.free_body("ball", "sphere", (0.1,), 2.0)
    pull = MouseSpring(ball, "ball", (0, 0, 0), (0.05, 0, 0), 1e-3)
    pull.tune(ball.neutral())
    assert pull.stiffness == pytest.approx(2.0 * 10.0**2)
    assert pull.damping == pytest.approx(2 * 2.0 * 10.0)
    step = treesim.Simulation(ball, controller=lambda t, q, v: pull.generalised(q, v), gravity=(0, 0, 0))
    run = step.run(1.0)
    x, t = run.q[:, 0], run.t
    exact = 0.05 * (1 - (1 + FREQUENCY * t) * np.exp(-FREQUENCY * t))
    np.testing.assert_allclose(x, exact, atol=0.05 * FREQUENCY * 1e-3)  # the force is held for a step
    assert (np.diff(x) > 0).all()


@pytest.mark.parametrize(("mass", "strongest"), [(0.03, 1.0), (0.035, 3 * 0.035 * 9.80665)])
def test_light_robots_are_pulled_by_one_newton(mass, strongest):
    ball = treesim.free_body("ball", "sphere", (0.1,), mass)
    pull = MouseSpring(ball, "ball", (0, 0, 0), (100.0, 0, 0), 1e-3)
    pull.tune(ball.neutral())
    pull.generalised(ball.neutral(), np.zeros(6))
    assert np.linalg.norm(pull.force) == pytest.approx(strongest)


@pytest.mark.parametrize(("length", "has_direction"), [(0.95e-9, False), (1.05e-9, True)])
def test_a_spring_without_length_has_no_direction(length, has_direction):
    """The gains are then those of more than the effective mass along it."""
    far, q, _ = pulled(dt=1e-6)
    x, _ = far.at(q)
    near, _, _ = pulled(target=x + length * (far.target - x) / np.linalg.norm(far.target - x), dt=1e-6)
    assert (near.damping == pytest.approx(far.damping, rel=0.01)) == has_direction


@pytest.mark.parametrize("dt", [1e-3, 3e-2])
def test_light_tips_do_not_tremble(dt):
    """A chain whose last link is a hundred times lighter, pulled at its tip: speeds die away."""
    robot = chain(3)
    pull = MouseSpring(robot, robot.body_names[-1], (0, 0, 0.0), (5.0, 0, 0), dt)
    q = robot.random(1)
    pull.tune(q)
    J = pull.at(q)[1]
    inverse = J @ np.linalg.solve(treesim.mass_matrix(robot, q), J.T)
    largest = np.linalg.eigvalsh(inverse)[-1]
    if dt == 1e-3:
        assert pull.damping * largest * dt < 0.25 and pull.stiffness * largest * dt**2 < 0.25
    else:
        assert pull.damping * largest * dt == pytest.approx(0.25)
        assert pull.stiffness * largest * dt**2 == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("body", "point", "target", "message"),
    [
        ("nothing", (0, 0, 0), (0, 0, 0), "unknown body"),
        (BODY, (0, 0), (0, 0, 0), "point"),
        (BODY, (0, 0, 0), (0, 0, np.nan), "target"),
        (BODY, "abc", (0, 0, 0), "point"),
        (["x"], (0, 0, 0), (0, 0, 0), "unknown body"),
        (BODY, None, (0, 0, 0), "point"),
    ],
)
def test_what_cannot_be_pulled_is_refused(body, point, target, message):
    with pytest.raises(ArgumentError, match=message):
        MouseSpring(ROBOT, body, point, target, 1e-3)
