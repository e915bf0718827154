"""Arrows of contact forces: origin, direction, length and visibility."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh
from scipy.spatial.transform import Rotation
from treesim_meshcat.forces import G, _reach, application, arrow_mesh, centre_of_pressure, contact_arrows, frame_means
from treesim_meshcat.recording import recording_html

import treesim
from treesim import Ground
from treesim.contact.description import described
from treesim.contact.history import ContactHistory
from treesim.errors import ArgumentError
from treesim.kernels.contact.layout import STATE_INFO
from treesim.simulation.trajectory import Trajectory

MASS, SIDE, HEIGHT = 2.0, 0.2, 0.3
SLOPE = (0.6, 0.0, 0.8)


@pytest.fixture
def crate():
    """Return a box that moves freely."""
    return treesim.free_body("crate", "box", (SIDE, SIDE, SIDE), MASS)


@pytest.fixture
def touched(crate):
    """Return a function from forces (K, 3) [N] on a resting crate, at `point` (3,) off its centre, to a trajectory."""

    def made(forces, point=(0.0, 0.0, -SIDE / 2), body="crate"):
        count = len(forces)
        q = np.tile([0, 0, HEIGHT + SIDE / 2, 0, 0, 0, 1.0], (count, 1))
        wrench = np.concatenate([forces, np.cross(point, forces)], axis=1)[:, None]
        floor = {"ground": [described(Ground(height=HEIGHT))]}
        still, contact = np.zeros((count, 6)), ContactHistory((body,), wrench, np.zeros((count, STATE_INFO)))
        t = 0.1 * np.arange(count)
        return Trajectory.of(crate, t, q, still, still, t, floor, contact=contact)

    return made


def arrows(robot, trajectory, index, weight_length=0.5):
    """Return the arrows in the frames that show states `index`."""
    poses = treesim.body_poses(robot, trajectory.q[index])
    return contact_arrows(robot, trajectory, np.asarray(index), poses, weight_length)


@pytest.mark.parametrize("seed", range(5))
def test_about_the_centre_of_pressure_the_moment_is_along_the_normal(seed):
    rng = np.random.default_rng(seed)
    n = rng.normal(size=3)
    n /= np.linalg.norm(n)
    points = rng.normal(size=(4, 3))
    points += np.outer(0.7 - points @ n, n)  # of the plane n . r = 0.7
    forces = rng.normal(size=(4, 3)) * 0.3 + 2 * n
    force, moment = forces.sum(axis=0), np.cross(points, forces).sum(axis=0)
    r = centre_of_pressure(force, moment, n, 0.7)
    assert n @ r == pytest.approx(0.7, abs=1e-12)
    np.testing.assert_allclose(np.cross(n, moment - np.cross(r, force)), 0, atol=1e-12)
    weights = forces @ n / (force @ n)
    along = n * (n @ r) + (points - np.outer(points @ n, n)).T @ weights  # the mean of points, by normal force
    np.testing.assert_allclose(r, along, atol=1e-12)


def test_a_force_off_a_plane_acts_at_the_body_s_origin():
    up, slope, aside = np.array([0, 0, 5.0]), Ground(normal=SLOPE, friction=0.1), np.array([5.0, 0, 0])
    level, nothing = Ground(friction=0.5), np.zeros(3)
    origin = np.array([0, 0, 0.1])
    np.testing.assert_allclose(application(up, nothing, origin, [slope, level], 0.2), (0, 0, -0.1), atol=1e-15)
    for force, planes, reach in ((up, [], 1.0), (up, [slope], 1.0), (aside, [level], 1.0), (up, [level], 0.05)):
        np.testing.assert_array_equal(application(force, nothing, origin, planes, reach), 0)


def test_arrows_begin_at_the_sole_and_are_as_long_as_the_force(crate, touched):
    force, point = np.array([0.3 * MASS * G, 0, 0.4 * MASS * G]), np.array([0.05, -0.02, -SIDE / 2])
    names, rows = arrows(crate, touched(np.tile(force, (5, 1)), point), [0, 2, 4])
    assert names == ("crate",) and rows.shape == (3, 1, 8)
    np.testing.assert_allclose(rows[:, 0, :3], [(0.05, -0.02, HEIGHT)] * 3, atol=1e-6)
    np.testing.assert_allclose(Rotation.from_quat(rows[:, 0, 3:7]).apply([0, 0, 1]), [SLOPE] * 3, atol=1e-6)
    np.testing.assert_allclose(rows[:, 0, 7], 0.5 * 0.5, rtol=1e-6)


def test_a_frame_shows_the_mean_of_its_steps(crate, touched):
    forces = np.zeros((7, 3))
    forces[:6, 2] = MASS * G * np.array([0, 0, 0, 3.0, 0, 0])  # an impact between two frames
    _, rows = arrows(crate, touched(forces), [0, 2, 5, 6], weight_length=1.0)
    np.testing.assert_allclose(rows[:, 0, 7], [0, 1, 0, 0], atol=1e-6)
    assert (rows[:, 0, :7] == rows[1, 0, :7]).all(), "hidden arrows stay where they were shown"
    means = frame_means(forces, np.array([0, 2, 5, 6]))
    np.testing.assert_allclose(means[:3, 2] @ [2, 3, 1], forces[:6, 2].sum())  # no impulse is lost


@pytest.mark.parametrize(("weights", "drawn"), [(3.97, 3.97), (4.03, 4.0), (100, 4.0)])
def test_the_arrow_of_an_impact_is_cut_at_four_weights(weights, drawn, crate, touched):
    _, rows = arrows(crate, touched(np.tile([0, 0, weights * MASS * G], (3, 1))), [0, 2])
    np.testing.assert_allclose(rows[:, 0, 7], drawn * 0.5, rtol=1e-6)


@pytest.mark.parametrize(("out", "inside"), [(0.96e-6, True), (1.04e-6, False)])
def test_forces_are_in_the_friction_cone_up_to_a_millionth(out, inside):
    """Their cosine with the normal, relative to that of the cone."""
    cosine = (1 - out) / np.hypot(1.0, 0.5)
    force = np.array([np.sqrt(1 - cosine**2), 0, cosine])
    found = application(force, np.zeros(3), np.array([0, 0, 0.1]), [Ground(friction=0.5)], 1.0)
    assert bool(found.any()) == inside


def test_a_force_acts_within_1_05_times_the_reach_of_the_shapes(crate):
    assert _reach(crate, 1) == pytest.approx(1.05 * np.sqrt(3) * SIDE / 2)


@pytest.mark.parametrize("forces", [np.zeros((3, 3)), np.full((3, 3), np.nan), np.ones((1, 3))])
def test_nothing_to_show_is_no_arrow(crate, touched, forces):
    assert arrows(crate, touched(forces), np.arange(len(forces)))[0] == ()


def test_contact_of_another_robot_is_refused(crate, touched):
    with pytest.raises(ArgumentError, match="'leg'"):
        arrows(crate, touched(np.ones((3, 3)), body="leg"), [0, 2])


def test_the_arrow_is_closed_and_one_long():
    mesh = arrow_mesh()
    solid = trimesh.Trimesh(mesh.vertices, mesh.faces)
    solid.merge_vertices()
    solid.update_faces(solid.nondegenerate_faces())
    assert solid.is_watertight and solid.volume > 0
    np.testing.assert_allclose(solid.bounds[:, 2], (0, 1))


def test_recordings_hold_arrows_and_their_scale(touched, crate, scene_in):
    scene = scene_in(recording_html(crate, touched(np.tile([0, 0, MASS * G], (11, 1)))))
    forces = scene["animation"]["forces"]
    rows = forces["rows"].reshape(len(scene["animation"]["times"]), len(forces["paths"]), 8)
    assert forces["paths"] == ["/forces/0 crate"]
    assert (rows[..., 7] == np.float32(scene["view"]["weight"])).all()
    assert scene["title"].endswith("forces: 0.1 m is its weight, 19.61 N")


def test_recordings_without_contact_hold_none(robot, motion, scene_in):
    scene = scene_in(recording_html(robot, motion(robot)))
    assert "forces" not in scene["animation"] and "weight" not in scene["title"]


def test_bodies_that_touch_each_other_have_an_arrow_each():
    """The forces between two stacked crates act through the upper one's centre."""
    lower, upper = (treesim.free_body(name, "box", (SIDE, SIDE, SIDE), MASS) for name in ("lower", "upper"))
    world = treesim.World(lower, bodies=[upper], ground=Ground())
    q = world.robot.configuration(
        {"lower_joint": (0, 0, SIDE / 2, 0, 0, 0, 1), "upper_joint": (0.02, 0, 1.5 * SIDE, 0, 0, 0, 1)}
    )
    run = treesim.Simulation(world, gravity=(0, 0, -G)).run(0.01, q0=q)
    names, rows = arrows(world.robot, run, [0, 4, 8])
    assert names == ("lower from ground[0]", "lower from upper", "upper from lower")
    up = Rotation.from_quat(rows[0, :, 3:7]).apply([0, 0, 1])[:, 2]
    np.testing.assert_allclose(up, (1, -1, 1), atol=1e-6)
    np.testing.assert_allclose(rows[0, :, 7], (0.5, 0.25, 0.25), rtol=1e-5)  # of the weight of both
    np.testing.assert_allclose(rows[0, :, 0], (0.01, 0.02, 0.02), atol=1e-5)
