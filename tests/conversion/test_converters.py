"""States between treesim and other engines: there and back, and every convention that docs/conventions.md tells."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treesim
from tests import layouts
from tests.engines import usable_engines
from treesim import ArgumentError, PluginError, UnsupportedError, testing
from treesim.compare.conversion import layout_of
from treesim.compare.drake import DrakeLayout
from treesim.compare.layouts import SpanningLayout

pytestmark = pytest.mark.filterwarnings("ignore::treesim.UrdfWarning")
EVERY = ("revolute", "continuous", "prismatic", "spherical", "planar")
TYPES = {
    "treesim": EVERY,
    "pinocchio": EVERY,
    "mujoco": ("revolute", "continuous", "prismatic", "spherical"),
    "pybullet": ("revolute", "continuous", "prismatic", "spherical"),
    "drake": ("revolute", "continuous", "prismatic", "planar"),
}
ENGINES = [name for name in TYPES if name in ("treesim", "drake") or name in usable_engines()]
G1 = treesim.load("g1_29dof_rev_1_0", base="floating")


def a_state(robot, seed=0, shape=()):
    rng = np.random.default_rng(seed)
    q = np.array([robot.random(rng) for _ in range(int(np.prod(shape)))]).reshape(*shape, robot.nq)
    return q, rng.normal(size=(*shape, robot.nv))


def converted(engine, q, v):
    """The floating g1's numbers in an engine."""
    if engine not in ENGINES:
        pytest.skip(f"needs the plugin treesim-{engine}")
    return treesim.convert_state(G1, q, v, to=engine)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("floating", [True, False])
def test_there_and_back_for_every_joint_type(engine, floating):
    robot = layouts.robot(5, floating, TYPES[engine])

    @given(st.integers(0, 2**31), st.sampled_from([(), (3,), (2, 2)]))
    def check(seed, shape):
        q, v = a_state(robot, seed, shape)
        there = treesim.convert_state(robot, q, v, to=engine)
        assert [x.shape[:-1] for x in there] == [shape, shape]
        back, v_back = treesim.convert_state(robot, *there, source=engine)
        assert np.abs(robot.difference(q, back)).max() < 1e-12
        np.testing.assert_allclose(v_back, v, atol=1e-12)

    check()


@pytest.mark.parametrize("source", ENGINES)
@pytest.mark.parametrize("to", ENGINES)
def test_from_any_engine_to_any_other(source, to):
    q, v = a_state(G1)
    direct = treesim.convert_state(G1, q, v, to=to)
    around = treesim.convert_state(G1, *treesim.convert_state(G1, q, v, to=source), to=to, source=source)
    np.testing.assert_allclose(np.abs(around[0]), np.abs(direct[0]), atol=1e-12)  # a quaternion may change its sign
    np.testing.assert_allclose(around[1], direct[1], atol=1e-12)


@given(st.integers(0, 2**31))
def test_drakes_layout_keeps_power_and_the_rates_of_velocities(seed):
    robot = layouts.robot(seed % 5, True, TYPES["drake"])
    testing.check_layout(DrakeLayout(robot), robot, seed)


@pytest.mark.parametrize("seed", range(3))
def test_drakes_velocities_of_joints_are_the_rates_of_their_numbers(seed):
    robot, step = layouts.robot(seed, False, TYPES["drake"]), 1e-5
    layout, q = DrakeLayout(robot), robot.random(seed)
    v = np.random.default_rng(seed).normal(size=robot.nv)
    later, before = (layout.configuration_to_engine(robot.integrate(q, t * v)) for t in (step, -step))
    np.testing.assert_allclose(layout.velocity_to_engine(q, v), (later - before) / (2 * step), atol=1e-8)


@pytest.mark.parametrize("engine", ENGINES)
def test_robots_with_followers(engine):
    """Engines that have numbers for followers are given those that follow; from them, only the leaders' count."""
    robot = treesim.load("panda")
    q, v = a_state(robot, 1, (2,))
    there = treesim.convert_state(robot, q, v, to=engine)
    for back, own in zip(treesim.convert_state(robot, *there, source=engine), (q, v), strict=True):
        np.testing.assert_allclose(back, own, atol=1e-12)
    if engine not in ("treesim", "pinocchio"):
        whole = treesim.convert_state(robot.spanning, robot.expand(q), robot.expand_velocity(v), to=engine)
        for found, due in zip(there, whole, strict=True):
            np.testing.assert_array_equal(found, due)


@given(st.integers(0, 2**31))
def test_layouts_of_spanning_trees_keep_power_and_the_rates_of_velocities(seed):
    robot = treesim.load("panda", base="floating")
    testing.check_layout(SpanningLayout(robot, DrakeLayout(robot.spanning)), robot, seed)


@pytest.mark.parametrize("engine, order", [("mujoco", "wxyz"), ("drake", "wxyz"), ("pinocchio", "xyzw")])
def test_quaternions(engine, order):
    q, v = a_state(G1)
    theirs, _ = converted(engine, q, v)
    start = 0 if engine == "drake" else 3
    own = dict(zip("xyzw", q[3:7], strict=True))
    np.testing.assert_allclose(theirs[start : start + 4], [own[axis] for axis in order], atol=1e-15)


def test_base_velocities_in_whose_axes():
    q, v = a_state(G1)
    R = treesim.frame_pose(G1, q, G1.body_names[0])[:3, :3]
    world = np.concatenate([R @ v[:3], R @ v[3:6]])
    expected = {
        "treesim": v[:6],
        "pinocchio": v[:6],
        "mujoco": np.concatenate([world[:3], v[3:6]]),
        "drake": np.concatenate([world[3:], world[:3]]),
    }
    for engine in set(ENGINES) & set(expected):
        np.testing.assert_allclose(converted(engine, q, v)[1][:6], expected[engine], atol=1e-13, err_msg=engine)


def test_bullets_base_is_its_centre_of_mass_along_principal_axes():
    q, v = a_state(G1)
    theirs, velocity = converted("pybullet", q, v)
    pose, com = treesim.frame_pose(G1, q, G1.body_names[0]), G1.bodies[0].inertia.com
    np.testing.assert_allclose(theirs[:3], pose[:3, :3] @ com + pose[:3, 3], atol=1e-12)
    np.testing.assert_allclose(velocity[3:6], pose[:3, :3] @ v[3:6], atol=1e-12)
    np.testing.assert_allclose(velocity[:3], pose[:3, :3] @ (v[:3] + np.cross(v[3:6], com)), atol=1e-12)


@pytest.mark.parametrize("engine, numbers", [("pinocchio", 2), ("mujoco", 1), ("pybullet", 1), ("drake", 1)])
def test_continuous_joints(engine, numbers):
    if engine not in ENGINES:
        pytest.skip(f"needs the plugin treesim-{engine}")
    wheel = treesim.Body("wheel", 0, treesim.Joint("axle", "continuous"), treesim.Inertia(1.0, rotational=np.eye(3)))
    robot = treesim.Tree("cart", [wheel])
    theirs, _ = treesim.convert_state(robot, [4.0], [1.0], to=engine)
    np.testing.assert_allclose(theirs, [np.cos(4.0), np.sin(4.0)] if numbers == 2 else [4.0])
    back, _ = treesim.convert_state(robot, theirs, [1.0], source=engine)
    np.testing.assert_allclose(back, 4.0 - 2 * np.pi if numbers == 2 else 4.0)


def test_orders_of_joints():
    """Two limbs, the later one of the alphabet first in the file."""
    inertia = treesim.Inertia(1.0, rotational=np.eye(3))
    names = ("right", "left")
    robot = treesim.Tree("pair", [treesim.Body(n, 0, treesim.Joint(f"{n}_hip", "revolute"), inertia) for n in names])
    q, v = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    for engine in ENGINES:
        theirs = treesim.convert_state(robot, q, v, to=engine)
        np.testing.assert_array_equal(theirs, [q, v], err_msg=engine)
    pin = pytest.importorskip("pinocchio", reason="needs the package pin")
    assert list(pin.buildModelFromXML(treesim.to_urdf(robot)).names)[1:] == ["left_hip", "right_hip"]


def test_gravity_by_default():
    down = [0.0, 0.0, -9.81]
    assert G1.gravity.tolist() == down
    if "pinocchio" in ENGINES:
        import pinocchio

        assert pinocchio.Model().gravity.linear.tolist() == down
    if "mujoco" in ENGINES:
        import mujoco

        assert mujoco.MjOption().gravity.tolist() == down
    if "pybullet" in ENGINES:
        import pybullet

        client = pybullet.connect(pybullet.DIRECT)
        parameters = pybullet.getPhysicsEngineParameters(physicsClientId=client)
        pybullet.disconnect(client)
        assert [parameters[f"gravityAcceleration{axis}"] for axis in "XYZ"] == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("name, base", [("ur5", "fixed"), ("g1_29dof_rev_1_0", "floating"), ("anymal", "floating")])
def test_drake_itself(name, base):
    """Poses, velocities and forces of a MultibodyPlant, in states that were converted."""
    drake = pytest.importorskip("pydrake.all", reason="needs the package drake")
    robot = treesim.load(name, base=base)
    plant = drake.MultibodyPlant(0.0)
    drake.Parser(plant).AddModelsFromString(treesim.to_urdf(robot, principal=True, shapes=False, welds=False), "urdf")
    plant.Finalize()
    assert plant.gravity_field().gravity_vector().tolist() == robot.gravity.tolist()
    context, (q, v) = plant.CreateDefaultContext(), a_state(robot)
    theirs = treesim.convert_state(robot, q, v, to="drake")
    plant.SetPositions(context, theirs[0])
    plant.SetVelocities(context, theirs[1])
    for body, pose in zip(robot.body_names, treesim.body_poses(robot, q)[1:], strict=True):
        at = plant.GetBodyByName(body)
        np.testing.assert_allclose(plant.EvalBodyPoseInWorld(context, at).GetAsMatrix4(), pose, atol=1e-13)
        moving = plant.EvalBodySpatialVelocityInWorld(context, at)
        found = np.concatenate([moving.translational(), moving.rotational()])
        np.testing.assert_allclose(found, treesim.frame_velocity(robot, q, v, body), atol=1e-12)
    layout, a = DrakeLayout(robot), np.random.default_rng(1).normal(size=robot.nv)
    acting = drake.MultibodyForces(plant)
    acting.AddInForces(_weights(drake, plant, context))
    found = plant.CalcInverseDynamics(context, layout.acceleration_to_engine(q, v, a), acting)
    expected = treesim.inverse_dynamics(robot, q, v, a)
    np.testing.assert_allclose(layout.force_from_engine(q, found), expected, atol=1e-12 * np.abs(expected).max())


def _weights(drake, plant, context):
    """Weights alone, without the damping of joints, which Drake counts as forces of elements."""
    weights = drake.MultibodyForces(plant)
    weights.mutable_generalized_forces()[:] = plant.CalcGravityGeneralizedForces(context)
    return weights


def test_layouts_are_kept_as_long_as_their_robot():
    assert layout_of(G1, "drake") is layout_of(G1, "drake")


def test_mistakes_are_named():
    q, v = a_state(G1)
    with pytest.raises(PluginError, match="no engine called 'bullet'"):
        treesim.convert_state(G1, q, v, to="bullet")
    with pytest.raises(ArgumentError, match=r"q has shape \(35,\), but \(36\)"):
        treesim.convert_state(G1, q[:-1], v, to="drake")
    with pytest.raises(ArgumentError, match="leading axes"):
        treesim.convert_state(G1, np.array([q, q]), v, to="drake")
    with pytest.raises(ArgumentError, match=r"length 0\.5"):
        treesim.convert_state(G1, np.concatenate([q[:3], q[3:7] / 2, q[7:]]), v, to="drake")
    ball = treesim.Tree("top", [treesim.Body("top", 0, treesim.Joint("ball", "spherical"))])
    with pytest.raises(UnsupportedError, match="'ball': Drake reads no spherical joint"):
        treesim.convert_state(ball, ball.neutral(), np.zeros(3), to="drake")
