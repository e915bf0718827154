"""Physics of every rollout's own, against robots built one by one, closed forms, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treesim
from tests import trees
from tests.coupled import coupled
from treesim.engine.call.generic import runs_compiled
from treesim.model import generators
from treesim.rollouts import parameters

B = 5
JOINT_FIELDS = ("armature", "damping", "joint_friction", "effort_limit", "stiffness", "rest")


@pytest.fixture(params=["specialized", "generic"])
def engine(request):
    if request.param == "specialized" and not runs_compiled():
        pytest.skip("kernels run as plain Python")
    return request.param


def inertial(robot, rng, count=B):
    """Masses, centres and inertias near a robot's own, and gravity."""
    own = [body.inertia for body in robot.bodies]
    scale = rng.uniform(0.7, 1.3, (count, robot.n_bodies))
    return {
        "mass": scale * [x.mass for x in own],
        "center_of_mass": np.array([x.com for x in own]) + rng.uniform(-0.02, 0.02, (count, robot.n_bodies, 3)),
        "inertia": np.array([x.rotational for x in own]) * rng.uniform(0.8, 1.2, (count, robot.n_bodies, 1, 1)),
        "gravity": rng.normal((0, 0, -9.81), size=(count, 3)),
    }


def rebuilt(robot, fields, b):
    """The robot of rollout b, built of bodies and joints."""
    bodies = []
    for i, body in enumerate(robot.bodies):
        I = body.inertia  # noqa: E741
        own = {"mass": I.mass, "center_of_mass": I.com, "inertia": I.rotational}
        inertia = treesim.Inertia(*(fields[x][b, i] if x in fields else own[x] for x in own))
        where = robot.v_index.get(body.joint.name)  # None: it follows another
        changes = {name: fields[name][b, where] for name in JOINT_FIELDS if name in fields}
        limits = [name for name in ("lower", "upper") if name in fields and body.joint.nq == 1]
        changes |= {name: fields[name][b, where] for name in limits}
        bodies.append(replace(body, inertia=inertia, joint=replace(body.joint, **changes)))
    gravity = fields["gravity"][b] if "gravity" in fields else robot.gravity
    frames = tuple(robot.frames.values())[robot.n_bodies :]
    return treesim.Tree(robot.name, bodies, frames=frames, gravity=gravity, shapes=robot.shapes)


def start(robot, seed=0, count=B, speed=0.3):
    rng = np.random.default_rng(seed)
    q = np.array([robot.random(rng) for _ in range(count)])
    return q, speed * rng.normal(size=(count, robot.nv)), rng


def assert_rebuilt(robot, fields, q, v, u, tolerance=1e-13, world=lambda robot: robot, **options):
    """Rollouts are those of robots built one by one, by the engine for all robots, which compiles none of these."""
    found = treesim.rollout(world(robot), q, v, u, model_parameters=fields, **options)
    assert not found.diverged.any()
    options["engine"] = "generic"
    for b in range(len(q)):
        gains = {name: fields[name][b] for name in ("kp", "kd") if name in fields}
        alone = treesim.rollout(world(rebuilt(robot, fields, b)), q[b], v[b], u, **{**options, **gains})
        assert trees.relative_error(found.q[b], alone.q[0]) < tolerance
        assert trees.relative_error(found.v[b], alone.v[0]) < tolerance
    return found


@pytest.mark.parametrize("name", ["random_a", pytest.param("humanoid_2005", marks=pytest.mark.slow)])
@pytest.mark.parametrize("work", [False, True])
def test_inertias_gravity_rotors_and_damping_are_those_of_robots_built_one_by_one(name, engine, work):
    robot = trees.tree(name)
    q, v, rng = start(robot, speed=0.1)
    fields = inertial(robot, rng) | {
        "armature": rng.uniform(0, 0.2, (B, robot.nv)),
        "damping": rng.uniform(0, 0.2, (B, robot.nv)),
    }
    u = 0.1 * rng.normal(size=(20, robot.nv))
    found = assert_rebuilt(robot, fields, q, v, u, engine=engine, substeps=4, work=work)
    if work:
        kinetic, potential = treesim.energy(rebuilt(robot, fields, 2), found.q[2], found.v[2])
        assert np.abs(found.energy[2] - kinetic - potential).max() < 1e-12 * np.abs(found.energy[2]).max()
        assert np.abs(found.energy_error).max() < 1e-2 * np.abs(found.energy).max()


def test_gains_and_efforts_are_those_of_rollouts_alone(engine):
    robot = trees.tree("side_branches_5")
    q, v, rng = start(robot)
    simple = np.concatenate([np.full(body.joint.nv, body.joint.nv == 1) for body in robot.bodies])
    fields = {
        "kp": rng.uniform(10, 3000, (B, robot.nv)) * simple,
        "kd": rng.uniform(0, 300, (B, robot.nv)) * simple,  # stiff: theta differs from rollout to rollout
        "effort_limit": rng.uniform(1, 300, (B, robot.nv)),
        "mass": inertial(robot, rng)["mass"],
    }
    u = rng.normal(size=(20, robot.nv))
    assert_rebuilt(robot, fields, q, v, u, 1e-12, engine=engine, substeps=2)


@pytest.mark.parametrize("given", [("stiffness", "rest"), ("rest",), ("stiffness", "mass")])
def test_springs_are_those_of_robots_built_one_by_one(given):
    bodies = trees.tree("side_branches_5").bodies
    own = [replace(body.joint, stiffness=3.0, rest=0.2) if body.joint.nv == 1 else body.joint for body in bodies]
    robot = treesim.Tree("t", [replace(body, joint=joint) for body, joint in zip(bodies, own, strict=True)])
    q, v, rng = start(robot, speed=0.1)
    fields = inertial(robot, rng) | {
        "stiffness": rng.uniform(0, 40, (B, robot.nv)) * (robot.stiffness > 0),
        "rest": rng.uniform(-1, 1, (B, robot.nv)) * (robot.stiffness > 0),
    }
    fields = {name: fields[name] for name in given}
    found = assert_rebuilt(robot, fields, q, v, np.zeros((20, robot.nv)), 1e-12, substeps=2, work=True)
    energies = sum(treesim.energy(rebuilt(robot, fields, 3), found.q[3], found.v[3]))
    np.testing.assert_allclose(found.energy[3], energies, rtol=1e-12)
    assert np.abs(found.energy_error).max() < 1e-2 * np.abs(found.energy).max()


def test_springs_of_joints_of_several_degrees_of_freedom_are_refused():
    robot = trees.random_tree(3, 3, joint_types=("spherical",))
    q, v, _ = start(robot)
    with pytest.raises(treesim.UnsupportedError, match="has several degrees of freedom: no spring"):
        treesim.rollout(robot, q, v, steps=2, model_parameters={"stiffness": np.ones(robot.nv)})


def test_policies_move_the_robot_of_their_rollout(engine):
    robot = trees.tree("random_a")
    q, v, rng = start(robot)
    fields, p = inertial(robot, rng), rng.uniform(0, 1, (B, 1))

    def policy(t, q, v, p, u):
        u[:] = np.sin(t) - p[0] * v

    options = {"steps": 10, "substeps": 2, "engine": engine}
    found = treesim.rollout(robot, q, v, policy, policy_parameters=p, model_parameters=fields, **options)
    alone = treesim.rollout(rebuilt(robot, fields, 3), q[3], v[3], policy, policy_parameters=p[3], **options)
    assert trees.relative_error(found.v[3], alone.v[0]) < 1e-13


@given(seed=st.integers(0, 40))
def test_batches_of_random_trees(seed):
    robot = coupled(seed) if seed % 3 == 0 else trees.random_tree(seed, 5, armature=0.2)
    q, v, rng = start(robot, count=2)
    fields = inertial(robot, rng, 2)
    tau = rng.normal(size=(2, robot.nv))
    own = {"model_parameters": fields, "engine": "generic"}
    found = (
        treesim.forward_dynamics(robot, q, v, tau, **own),
        treesim.inverse_dynamics(robot, q, v, tau, **own),
        treesim.mass_matrix(robot, q, **own),
        treesim.energy(robot, q, v, **own)[0],
        treesim.momentum(robot, q, v, **own),
    )
    for b in range(2):
        one = rebuilt(robot, fields, b)
        wanted = (
            treesim.forward_dynamics(one, q[b], v[b], tau[b]),
            treesim.inverse_dynamics(one, q[b], v[b], tau[b]),
            treesim.mass_matrix(one, q[b]),
            treesim.energy(one, q[b], v[b])[0],
            treesim.momentum(one, q[b], v[b]),
        )
        for x, y in zip(found, wanted, strict=True):
            assert trees.relative_error(x[b], y) < 1e-12


def test_followers_on_lanes_and_one_by_one(engine):
    robot = coupled(1)
    q, v, rng = start(robot, speed=0.1)
    assert_rebuilt(robot, inertial(robot, rng), q, v, np.zeros((10, robot.nv)), 1e-12, engine=engine, substeps=2)


def pendulum():
    hinge = treesim.Joint("hinge", "revolute", axis=(0, 1, 0))
    return treesim.Tree("pendulum", [treesim.Body("pole", 0, hinge, treesim.Inertia(1.0, (0, 0, -0.5)))])


def test_pendulums_of_any_mass_length_and_gravity(engine):
    """A point mass on a rod, with a rotor of inertia J: qdd = -m g l sin(q) / (m l^2 + J), whose small swings are
    harmonic."""
    m, l, g, J = np.random.default_rng(0).uniform(0.5, 2, (4, B)) * [[1], [1], [9.81], [0.3]]  # noqa: E741
    center, gravity = np.zeros((B, 1, 3)), np.zeros((B, 3))
    center[:, 0, 2], gravity[:, 2] = -l, -g
    fields = {"mass": m[:, None], "center_of_mass": center, "gravity": gravity, "armature": J[:, None]}
    fields |= {"inertia": np.zeros((1, 3, 3))}
    q = np.linspace(0.1, 3, B)[:, None]
    qdd = treesim.forward_dynamics(pendulum(), q, [0.0], [0.0], model_parameters=fields, engine=engine)
    assert np.abs(qdd[:, 0] + m * g * l * np.sin(q[:, 0]) / (m * l**2 + J)).max() < 1e-13 * np.abs(qdd).max()
    small, steps = 1e-4, 2000  # rad: a period is longer by small^2 / 16 of itself
    runs = treesim.rollout(pendulum(), [small], [0.0], steps=steps, substeps=2, model_parameters=fields, engine=engine)
    rate = np.sqrt(m * g * l / (m * l**2 + J))[:, None]
    phase = steps * 1e-3 * rate.max() * (rate.max() * 5e-4) ** 2 / 12  # that the midpoint rule lags behind by
    assert np.abs(runs.q[..., 0] - small * np.cos(rate * runs.t)).max() < 2 * phase * small


def test_a_rollout_depends_on_no_other_and_on_no_shape(engine):
    robot = trees.tree("random_a")
    q, v, rng = start(robot, speed=0.1)
    fields = inertial(robot, rng)
    options = {"steps": 10, "engine": engine, "substeps": 2}
    found = treesim.rollout(robot, q, v, model_parameters=fields, **options)
    part = treesim.rollout(robot, q[2:3], v[2:3], model_parameters={k: x[2:3] for k, x in fields.items()}, **options)
    assert np.array_equal(part.q[0], found.q[2])
    alone = treesim.rollout(robot, q[2], v[2], model_parameters={k: x[2] for k, x in fields.items()}, **options)
    assert np.array_equal(alone.q[0], found.q[2])


def test_single_links_by_name(engine):
    robot = trees.tree("random_a")
    q, v, rng = start(robot, speed=0.1)
    mass = inertial(robot, rng)["mass"]
    whole = np.broadcast_to([body.inertia.mass for body in robot.bodies], mass.shape).copy()
    whole[:, 2], options = mass[:, 2], {"steps": 5, "engine": engine, "substeps": 2}
    found = treesim.rollout(robot, q, v, model_parameters={"mass": {robot.body_names[2]: mass[:, 2]}}, **options)
    wanted = treesim.rollout(robot, q, v, model_parameters={"mass": whole}, **options)
    assert trees.relative_error(found.v, wanted.v) < 1e-13


@pytest.mark.parametrize("names", [("mass",), ("lower", "upper"), ("joint_friction", "mass")])
def test_limits_and_friction_of_each_rollout(names, engine):
    robot = treesim.load("ur5")
    rng = np.random.default_rng(0)
    q = 0.5 * (robot.lower + robot.upper) + 0.02 * rng.normal(size=(B, robot.nq))
    fields = {
        "mass": inertial(robot, rng)["mass"],
        "lower": q - rng.uniform(0.001, 0.01, q.shape),
        "upper": q + rng.uniform(0.001, 0.01, q.shape),
        "joint_friction": rng.uniform(0.1, 2, (B, robot.nv)),
    }
    some = {name: fields[name] for name in names}
    v = rng.normal(size=(B, robot.nv))
    # contact is solved to 1e-9 of a velocity in each of 15 steps
    found = assert_rebuilt(robot, some, q, v, np.zeros((15, robot.nv)), 15e-9, engine=engine, substeps=2)
    assert found.residual.max() < 1e-9
    if "lower" in names:
        assert (found.q < fields["upper"][:, None] + 1e-3).all()
        assert (found.q > fields["lower"][:, None] - 1e-3).all()


def test_a_block_slides_as_far_as_the_ground_lets_it():
    """v^2 / (2 mu g)."""
    block = treesim.free_body("block", "box", (0.2, 0.2, 0.1), 1.0)
    q = treesim.standing(block, block.neutral(), treesim.Ground())
    mu, v = np.array([0.4, 0.6, 0.9]), np.array([0.5, 0, 0, 0, 0, 0])
    world = treesim.World(block, ground=treesim.Ground())
    runs = treesim.rollout(world, q, v, steps=150, model_parameters={"ground_friction": mu})
    assert np.abs(runs.q[:, -1, 0] - q[0] - 0.25 / (2 * mu * 9.81)).max() < 1e-3


@pytest.mark.parametrize(
    ("fields", "details"),
    [
        ({"mass": np.array([[1.0], [-1.0]])}, "sample 1: mass of link 'pole' is -1 kg; it must be 0 or more"),
        ({"inertia": np.diag([1.0, 1, 3])[None]}, "inertia of link 'pole' .* none is above the sum of the others"),
        ({"inertia": np.diag([1.0, 1, -1])[None]}, "inertia of link 'pole' .* not negative"),
        ({"inertia": [[[1.0, 0.1, 0], [0, 1, 0], [0, 0, 1]]]}, "must be symmetric"),
        ({"center_of_mass": np.full((3, 1, 3), np.nan)}, "sample 0: center_of_mass of link 'pole'"),
        ({"armature": [-0.1]}, "armature of joint 'hinge' is -0.1"),
        ({"lower": [1.0], "upper": [[2.0], [0.5]]}, "sample 1: .* of joint 'hinge' .* no lower limit is above"),
        ({"mass": [1.0, 2.0]}, r"model_parameters\['mass'\] has shape \(2,\), but \(1\) or \(B, 1\)"),
        ({"weight": [1.0]}, "unknown field of model_parameters"),
        ({"mass": {"pol": 1.0}}, "did you mean 'pole'"),
        ({"ground_friction": 0.5}, "has none"),
        ({"mass": np.ones((2, 1)), "gravity": np.ones((3, 3))}, "do not fit together"),
    ],
)
def test_what_no_body_or_joint_has_is_refused(fields, details):
    with pytest.raises(treesim.TreesimError, match=details):
        treesim.rollout(pendulum(), [0.1], [0.0], steps=2, model_parameters=fields)


def test_what_cannot_vary_is_refused_by_name():
    fields = {"damping": [0.1]}
    with pytest.raises(treesim.UnknownNameError, match="forward_dynamics 'damping'"):
        treesim.forward_dynamics(pendulum(), [0.1], [0.0], [0.0], model_parameters=fields)
    with pytest.raises(treesim.UnsupportedError, match=r"explicit_euler.*friction"):
        options = {"integrator": "explicit_euler", "model_parameters": {"joint_friction": [0.1]}}
        treesim.rollout(pendulum(), [0.1], [0.0], steps=2, **options)


def test_limits_that_some_rollouts_have_are_far_away_in_the_others():
    robot = parameters._with_rows(treesim.World(generators.chain(2)), (), (0,), (1,)).robot
    assert (robot.lower[0], robot.upper[1]) == (-1e7, 1e7)
