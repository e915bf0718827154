"""Bodies that touch each other: towers, a grasp, free bodies beside a robot."""

import pickle

import numpy as np
import pytest

import treesim
from treesim.contact.bodies import MOST_FREE, engine_of_one_state, meeting


def boxes(masses, side=0.2):
    return [treesim.free_body(f"box_{k}", "box", (side,) * 3, mass) for k, mass in enumerate(masses)]


def tower(masses, side=0.2, **options):
    """A world in which boxes stand on one another, and where they are."""
    first, *others = boxes(masses, side)
    world = treesim.World(
        first, bodies=others, ground=treesim.Ground(friction=0.5), surface=treesim.Surface(friction=0.5), **options
    )
    heights = {f"box_{k}_joint": (0, 0, (k + 0.5) * side, 0, 0, 0, 1) for k in range(len(masses))}
    return world, world.robot.configuration(heights)


@pytest.mark.parametrize(
    ("masses", "solver"),
    [
        ((1.0, 1.0, 1000.0), "pgs"),
        *(pytest.param((1.0,) * 6, solver, marks=pytest.mark.slow) for solver in ("pgs", "admm")),
    ],
)
def test_a_tower_stands(masses, solver):
    world, q = tower(masses)
    run = treesim.Simulation(world, contact_solver=solver).run(0.3, q0=q)
    weight = 9.81 * sum(masses)
    assert np.abs(run.q[-1] - q).max() < 1e-8
    assert run.penetration.max() < 1e-9 and run.energy_certificate.max() < 1e-9
    contact = run.contact.wrench[-2].sum(axis=0)  # what bodies do to each other adds up to nothing
    np.testing.assert_allclose(contact[:3], (0, 0, weight), rtol=0, atol=1e-6 * weight)


def test_a_twisted_tower_stands():
    """Corners of one stand beside the faces of the next: what carries are the crossings of their borders."""
    world, q = tower((1.0,) * 3)
    for k, start in enumerate((0, 7, 14)):
        q[start : start + 7] = (0.01 * k, 0.005 * k, 0.1 + 0.2 * k, 0, 0, np.sin(0.2 * k), np.cos(0.2 * k))
    run = treesim.Simulation(world).run(0.3, q0=q)
    assert np.abs(run.q[-1] - q).max() < 1e-8 and run.penetration.max() < 1e-9


def test_sticks_lie_crosswise():
    """A capsule across a heavy one, and across a heavy box on its edge: between their ends, at one point."""
    h = np.sqrt(0.5)
    across = (h, 0, 0, h)
    for kind, size, high, place in (
        ("capsule", (0.05, 1.0), 0.05, (0, h, 0, h)),
        ("box", (1.0, 0.1, 0.1), np.sqrt(2) * 0.05, (np.sin(np.pi / 8), 0, 0, np.cos(np.pi / 8))),
    ):
        low, stick = treesim.free_body("low", kind, size, 1e3), treesim.free_body("stick", "capsule", (0.05, 1.0), 1.0)
        world = treesim.World(low, bodies=[stick], ground=treesim.Ground(), surface=treesim.Surface(friction=0.5))
        q = world.robot.configuration(
            {"low_joint": (0, 0, high, *place), "stick_joint": (0.02, 0, 2 * high + 0.05, *across)}
        )
        run = treesim.Simulation(world).run(0.2, q0=q)
        assert run.contact_wrench("stick", "low")[-2, 2] == pytest.approx(9.81, rel=1e-6)
        assert abs(run.q[-1] - q)[7:].max() < 1e-6


@pytest.mark.slow
def test_a_tower_with_the_heavy_on_top_stands_two_seconds():
    """C8."""
    world, q = tower((1.0, 1.0, 1.0, 1.0, 1.0, 1000.0))
    run = treesim.Simulation(world).run(2.0, q0=q)
    assert np.abs(run.q[-1] - q).max() < 1e-6 and run.penetration.max() < 1e-6
    weight = 9.81 * 1005.0
    np.testing.assert_allclose(run.contact.wrench[-2].sum(axis=0)[:3], (0, 0, weight), rtol=0, atol=1e-5 * weight)


def test_a_box_pushed_beyond_its_edge_falls_off():
    world, q = tower((5.0, 1.0))
    q[world.robot.q_index["box_1_joint"].start] = 0.11  # its centre is beyond the edge of the one below
    run = treesim.Simulation(world).run(0.8, q0=q)
    assert run["box_1_joint"].q[-1, 2] < 0.25 and np.abs(run["box_0_joint"].q[-1, 2] - 0.1) < 1e-6
    assert np.diff(run.energy).max() < 1e-3


def gripper():
    """Two fingers on slides that close towards each other."""
    bodies, shapes = [], []
    for number, (name, side) in enumerate((("left", 1), ("right", -1)), start=1):
        place = treesim.Placement(translation=(-0.1 * side, 0, 0))
        slide = treesim.Joint(name, "prismatic", placement=place, axis=(side, 0, 0), lower=0, upper=0.1, damping=5.0)
        bodies.append(treesim.Body(f"{name}_finger", 0, slide, treesim.Inertia(0.1, (0, 0, 0), 1e-4 * np.eye(3))))
        shapes.append(treesim.CollisionShape(number, treesim.Placement(), "box", size=(0.02, 0.04, 0.04), link=name))
    return treesim.Tree("gripper", bodies, shapes=shapes)


def grasp(squeeze, duration):
    """A run in which the gripper holds a crate of 0.2 kg with a force [N]; friction 0.5 on either side."""
    crate = treesim.free_body("crate", "box", (0.06, 0.03, 0.03), 0.2)
    world = treesim.World(gripper(), bodies=[crate], surface=treesim.Surface(friction=0.5))
    q = world.robot.configuration({"left": 0.06, "right": 0.06, "crate_joint": (0, 0, 0, 0, 0, 0, 1)})
    tau = np.zeros(world.robot.nv)
    tau[:2] = squeeze
    return treesim.Simulation(world, controller=lambda t, q, v: tau).run(duration, q0=q)["crate_joint"].q


@pytest.mark.parametrize("squeeze, duration", [(20.0, 1.0), pytest.param(20.0, 20.0, marks=pytest.mark.slow)])
def test_what_is_held_does_not_creep(squeeze, duration):
    q = grasp(squeeze, duration)
    assert np.abs(q[-1, :3]).max() < 1e-11  # 50 um/s where friction is regularised


@pytest.mark.slow
def test_a_grasp_slips_at_its_friction():
    weight = 0.2 * 9.81  # = 2 mu F at the least squeeze
    assert np.abs(grasp(1.004 * weight, 0.5)[-1, :3]).max() < 1e-9
    slipped = grasp(0.996 * weight, 0.5)[-1, 2]
    assert slipped < -0.004 * 9.81 * 0.5**2 / 2 * 0.5


def test_balls_meet_as_momentum_and_energy_say():
    """A ball hits an equal one at rest, without friction, head-on: with e = 1 they change places."""
    a, b = (treesim.free_body(name, "sphere", (0.1,), 1.0) for name in "ab")
    world = treesim.World(a, bodies=[b], surface=treesim.Surface(friction=0, restitution=1.0))
    q = world.robot.configuration({"a_joint": (-0.3, 0, 0, 0, 0, 0, 1), "b_joint": (0, 0, 0, 0, 0, 0, 1)})
    v = np.zeros(12)
    v[0] = 1.0
    run = treesim.Simulation(world, gravity=(0, 0, 0)).run(0.5, q0=q, v0=v)
    np.testing.assert_allclose(run.v[-1, [0, 6]], (0.0, 1.0), rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    "kind, size", [("sphere", (0.1,)), ("capsule", (0.05, 0.2)), ("box", (0.1, 0.2, 0.3)), ("cylinder", (0.1, 0.3))]
)
def test_free_bodies_have_the_inertia_of_their_shape(kind, size):
    """Against points drawn in the shape."""
    tree = treesim.free_body("part", kind, size, 2.0)
    rng = np.random.default_rng(0)
    reach = np.array(size) / 2 if kind == "box" else np.array([size[0], size[0], sum(size)])
    points = rng.uniform(-reach, reach, (400_000, 3))
    across, along = np.hypot(points[:, 0], points[:, 1]), np.abs(points[:, 2])
    inside = {
        "sphere": np.linalg.norm(points, axis=1) < size[0],
        "box": np.full(len(points), True),
        "cylinder": (across < size[0]) & (along < size[-1] / 2),
        "capsule": np.hypot(across, np.maximum(along - size[-1] / 2, 0)) < size[0],
    }[kind]
    x, y, z = points[inside].T
    drawn = 2.0 * np.array([np.mean(y * y + z * z), np.mean(x * x + z * z), np.mean(x * x + y * y)])
    own = np.diag(tree.bodies[0].inertia.rotational)
    np.testing.assert_allclose(own, drawn, rtol=0.02)


def test_bodies_beside_a_robot_keep_their_names_or_get_others():
    robot = treesim.load("g1_29dof_rev_1_0", base="floating")
    first, second = (treesim.free_body("crate", "box", (0.1,) * 3, 1.0).with_name(name) for name in ("one", "two"))
    world = treesim.World(robot, bodies=[first, second], ground=treesim.Ground())
    assert world.robot.body_names[-2:] == ("crate", "two.crate")
    assert world.robot.nq == robot.nq + 14 and world.robot.name == robot.name
    assert treesim.World(robot, bodies=[first] * 3).robot.body_names[-3:] == ("crate", "one.crate", "one_2.crate")


def test_neighbours_of_a_robot_do_not_meet_unless_other_bodies_do():
    robot = treesim.load("g1_29dof_rev_1_0", base="floating")
    shapes = tuple(robot.shapes)
    assert not list(meeting(robot, shapes, [0] * len(shapes), among_robot=False))
    for one, other in meeting(robot, shapes, [0] * len(shapes), among_robot=True):
        assert one.body != other.body
        assert robot.bodies[one.body - 1].parent != other.body and robot.bodies[other.body - 1].parent != one.body


def test_a_pickled_world_of_bodies_gives_the_same_bits():
    world, q = tower((1.0, 2.0))
    again = pickle.loads(pickle.dumps(world))
    runs = [treesim.Simulation(each).run(0.02, q0=q) for each in (world, again)]
    assert np.array_equal(runs[0].q, runs[1].q)


def test_what_is_no_free_body_is_refused():
    for bad in (("c", "hull", (), 1.0), ("c", "box", (0.1, 0.1, -1), 1.0), ("c", "sphere", (0.1,), 0.0)):
        with pytest.raises(treesim.TreesimError):
            treesim.free_body(*bad)


def test_steps_of_many_free_bodies_run_generic_code():
    """Only above a number of them, and unless an engine is given; a humanoid has many bodies, none of them free."""
    few, many = (
        treesim.World(x[0], bodies=x[1:]).robot for x in (boxes([1.0] * k) for k in (MOST_FREE, MOST_FREE + 1))
    )
    assert engine_of_one_state(few, "auto") == "auto" and engine_of_one_state(many, "auto") == "generic"
    assert engine_of_one_state(many, "specialized") == "specialized"
    assert engine_of_one_state(treesim.load("g1", base="floating"), "auto") == "auto"
