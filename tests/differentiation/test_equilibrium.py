"""Static equilibria against closed forms, and in simulations."""

import sys
from pathlib import Path

import numpy as np
import pytest

import treesim
from treesim import Body, CollisionShape, Ground, Inertia, Joint, Placement, World, equilibrium

FOUR_BAR = Path(__file__).parents[2] / "assets" / "four_bar.urdf"
G = 9.80665


def crate(name="crate", mass=2.0):
    return treesim.free_body(name, kind="box", size=(1, 1, 1), mass=mass)


def on_slope(angle, friction):
    """Return a crate of 2 kg on a slope, and its configuration."""
    robot = crate()
    ground = Ground(normal=(np.sin(angle), 0, np.cos(angle)), friction=friction)
    q = robot.neutral()
    q[3:7] = 0, np.sin(angle / 2), 0, np.cos(angle / 2)
    return World(robot, ground=ground), treesim.standing(robot, q, ground)


@pytest.mark.parametrize("beyond", [1e-5, 1e-2])
def test_a_crate_on_a_slope_rests_up_to_the_angle_of_friction(beyond):
    weight = 2 * np.linalg.norm(crate().gravity)
    found = equilibrium(*on_slope(np.arctan(0.5) - beyond, 0.5))
    assert found.feasible and found.residual < 1e-8 and not found.control.any()
    np.testing.assert_allclose(found.contact_forces["force"].sum(axis=0), [0, 0, weight], atol=1e-8)
    angle = np.arctan(0.5) + beyond
    found = equilibrium(*on_slope(angle, 0.5))
    missing = weight * (np.sin(angle) - 0.5 * np.cos(angle))  # along the slope, with the weight's normal force
    assert not found.feasible and 0.5 * missing < found.residual < 1.1 * missing
    points = found.contact_forces
    normal = np.einsum("ci,ci->c", points["force"], points["normal"])
    along = np.linalg.norm(points["force"] - normal[:, None] * points["normal"], axis=-1)
    assert (along <= 0.5 * normal + 1e-9).all()


def test_without_friction_a_slope_pushes_along_its_normal():
    angle = 0.2
    found = equilibrium(*on_slope(angle, 0.0))
    assert not found.feasible
    points = found.contact_forces
    assert not np.cross(points["force"], points["normal"]).any()
    flat = equilibrium(*on_slope(0.0, 0.0))
    assert flat.feasible and flat.contact_forces["force"][:, 2].sum() == pytest.approx(
        2 * np.linalg.norm(crate().gravity)
    )


def biped(effort=100.0):
    """Return a beam of 3 kg on two massless legs 0.3 m behind and 0.6 m before its centre."""
    legs = [
        Body(
            f"leg_{k}",
            1,
            Joint(
                f"slide_{k}",
                "prismatic",
                placement=Placement(translation=(x, 0, 0)),
                axis=(0, 0, 1),
                effort_limit=effort,
            ),
            Inertia(1e-9),
        )
        for k, x in enumerate((-0.3, 0.6))
    ]
    beam = Body("beam", 0, Joint("base", "floating"), Inertia(3.0, rotational=np.eye(3)))
    balls = [CollisionShape(2 + k, Placement(), "sphere", size=(0.1,), link=f"leg_{k}") for k in range(2)]
    return treesim.Tree("biped", [beam, *legs], shapes=balls, gravity=(0, 0, -G))


def standing_biped(effort=100.0):
    robot = biped(effort)
    q = robot.neutral()
    q[2] = 0.1
    return equilibrium(World(robot, ground=Ground()), q)


def test_two_feet_carry_the_weight_by_the_lever():
    found = standing_biped()
    assert found.feasible and found.residual < 1e-8
    forces = dict(zip(found.contact_forces["body"], found.contact_forces["force"], strict=True))
    np.testing.assert_allclose(forces["leg_0"], [0, 0, 2 * G], atol=1e-6)
    np.testing.assert_allclose(forces["leg_1"], [0, 0, G], atol=1e-6)
    np.testing.assert_allclose(found.control, [0] * 6 + [-2 * G, -G], atol=1e-6)
    assert standing_biped(2 * G + 1e-4).feasible
    weak = standing_biped(2 * G - 1e-2)
    assert not weak.feasible and weak.residual > 1e-3 and abs(weak.control).max() <= 2 * G - 1e-2


def arm(friction):
    """Return the world of an arm of two links whose tip touches the ground, and the configuration."""
    link = Inertia(1.0, (0.25, 0, 0), np.eye(3) * 1e-2)
    ahead = Placement(translation=(0.5, 0, 0))
    bodies = [
        Body("upper", 0, Joint("shoulder", "revolute", axis=(0, 1, 0), effort_limit=50), link),
        Body("lower", 1, Joint("elbow", "revolute", placement=ahead, axis=(0, 1, 0), effort_limit=10), link),
    ]
    shapes = [CollisionShape(2, ahead, "sphere", size=(0.05,), link="lower")]
    robot = treesim.Tree("arm", bodies, frames=[treesim.Frame("tip", 2, ahead)], shapes=shapes, gravity=(0, 0, -G))
    q = np.array([0.2, 0.7])
    depth = treesim.frame_pose(robot, q, "tip")[2, 3] - 0.05
    return World(robot, ground=Ground(height=depth, friction=friction)), q


def test_the_effort_of_an_arm_that_leans_on_its_tip_is_the_least():
    for friction in (5.0, 0.0):
        world, q = arm(friction)
        found = equilibrium(world, q)
        (point,) = found.contact_forces
        assert found.feasible and point["link"] == "lower" and point["other"] == "ground[0]"
        limit = world.robot.effort_limit
        J = treesim.frame_jacobian(world.robot, q, "tip")
        J = J[:3] + np.cross(J[3:], point["position"] - treesim.frame_pose(world.robot, q, "tip")[:3, 3], axis=0)
        J = J[[0, 2]] if friction else J[2:]  # forces in the plane of the arm
        gravity = treesim.gravity_forces(world.robot, q)
        best = np.linalg.lstsq(J.T / limit[:, None], gravity / limit, rcond=None)[0]
        assert best[-1] > 0
        np.testing.assert_allclose(point["force"][[0, 2]][-len(best) :], best, atol=1e-4)
        np.testing.assert_allclose(found.control, gravity - J.T @ best, atol=1e-4)


def test_without_contact_controls_are_gravity_forces_within_limits():
    robot = treesim.load("ur5")
    q = np.full(6, 0.5)
    found = equilibrium(robot, q)
    assert found.feasible and found.residual == 0 and len(found.contact_forces) == 0
    np.testing.assert_array_equal(found.control, treesim.gravity_forces(robot, q))
    assert equilibrium(treesim.Tree("post", []), []).feasible
    falling = equilibrium(World(crate()), crate().neutral())
    assert not falling.feasible and falling.residual == pytest.approx(2 * np.linalg.norm(crate().gravity))


def test_crates_on_each_other_push_each_other():
    lower, upper = crate("lower", 2.0), crate("upper", 1.0)
    world = World(lower, bodies=upper, ground=Ground())
    q = np.concatenate([lower.neutral(), upper.neutral()])
    q[2], q[9] = 0.5, 1.5
    found = equilibrium(world, q)
    points, weight = found.contact_forces, np.linalg.norm(lower.gravity)
    assert found.feasible
    on_ground, between = (points[(points["other"] == "ground[0]") == flag] for flag in (True, False))
    np.testing.assert_allclose(on_ground["force"].sum(axis=0), [0, 0, 3 * weight], atol=1e-6)
    signs = np.where(between["body"] == "upper", 1, -1)
    np.testing.assert_allclose(signs @ between["force"], [0, 0, weight], atol=1e-6)


def test_closed_loops_carry_loads():
    robot = treesim.load(FOUR_BAR)
    world = World(robot)
    q = world.close(robot.neutral() + 0.3)
    found = equilibrium(world, q)
    J, gravity = world.jacobian(q), treesim.gravity_forces(robot, q)
    assert found.feasible and found.residual < 1e-6
    left = gravity - found.control
    assert abs(left - J.T @ np.linalg.lstsq(J.T, left, rcond=None)[0]).max() < 1e-6
    assert np.linalg.norm(found.control) < np.linalg.norm(gravity)


def test_controls_keep_a_humanoid_still():
    robot = treesim.load("g1", base="floating")
    world = World(robot, ground=Ground())
    q = treesim.standing(robot, robot.neutral())
    found = equilibrium(world, q)
    kp = np.concatenate([np.zeros(6), robot.effort_limit[6:]])
    gains = treesim.PD(robot, q, kp=kp, kd=kp / 100)
    still, sagging = (
        treesim.Simulation(world, controller=lambda t, q, v, u=u: gains.torque(t, q, v) + u).run(1.0, q).q[-1]
        for u in (found.control, np.zeros(robot.nv))
    )
    assert abs(robot.difference(q, still)).max() < 1e-6
    assert abs(robot.difference(q, sagging)).max() > 1e-3


def test_bad_input_is_named(monkeypatch):
    world, q = on_slope(0.1, 0.5)
    with pytest.raises(treesim.ArgumentError, match="one configuration"):
        equilibrium(world, np.stack([q, q]))
    with pytest.raises(treesim.NonFiniteError, match="q"):
        equilibrium(world, q * np.nan)
    with pytest.raises(treesim.ArgumentError, match="robot must be"):
        equilibrium("g1", q)
    lift = World(crate(), kinematic={"crate": treesim.Conveyor((1, 0, 0))})
    with pytest.raises(treesim.UnsupportedError, match="'crate'"):
        equilibrium(lift, q)
    monkeypatch.setitem(sys.modules, "clarabel", None)
    with pytest.raises(treesim.ArgumentError, match="clarabel"):
        equilibrium(world, q)
