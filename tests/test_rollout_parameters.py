"""Physics of every rollout's own, against robots built one by one, closed forms, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest

import treesim
from tests import trees
from treesim.engine.generic import runs_compiled

B = 5
JOINT_FIELDS = {"armature": "armature", "damping": "damping", "friction": "friction", "effort": "effort"}


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
        "gravity": rng.normal(size=(count, 3)) + [0, 0, -9.81],
    }


def rebuilt(robot, fields, b):
    """The robot of rollout b, built of bodies and joints."""
    bodies = []
    for i, body in enumerate(robot.bodies):
        I = body.inertia  # noqa: E741
        own = {"mass": I.mass, "center_of_mass": I.com, "inertia": I.rotational}
        inertia = treesim.Inertia(*(fields[x][b, i] if x in fields else own[x] for x in own))
        where = robot.spanning.v_index[body.joint.name]
        changes = {name: fields[name][b, where] for name in JOINT_FIELDS if name in fields}
        changes |= {
            name: fields[name][b, where] for name in ("lower", "upper") if name in fields and body.joint.nq == 1
        }
        bodies.append(replace(body, inertia=inertia, joint=replace(body.joint, **changes)))
    gravity = fields["gravity"][b] if "gravity" in fields else robot.gravity
    frames = tuple(robot.frames.values())[robot.n_bodies :]
    return treesim.Tree(robot.name, bodies, frames, gravity=gravity, shapes=robot.shapes)


def start(robot, seed=0, count=B, speed=0.3):
    rng = np.random.default_rng(seed)
    q = np.array([robot.random(rng) for _ in range(count)])
    return q, speed * rng.normal(size=(count, robot.nv)), rng


def assert_rebuilt(robot, fields, q, v, u, tolerance=1e-13, world=lambda robot: robot, **options):
    found = treesim.rollout(world(robot), q, v, u, parameters_of=fields, **options)
    assert (found.diverged < 0).all()
    for b in range(len(q)):
        gains = {name: fields[name][b] for name in ("kp", "kd") if name in fields}
        alone = treesim.rollout(world(rebuilt(robot, fields, b)), q[b], v[b], u, **{**options, **gains})
        assert trees.relative_error(found.q[b], alone.q[0]) < tolerance
        assert trees.relative_error(found.v[b], alone.v[0]) < tolerance
    return found


@pytest.mark.parametrize("name", ["random_a", "humanoid_2005"])
@pytest.mark.parametrize("work", [False, True])
def test_inertias_gravity_rotors_and_damping_are_those_of_robots_built_one_by_one(name, engine, work):
    robot = trees.tree(name)
    q, v, rng = start(robot)
    fields = inertial(robot, rng) | {
        "armature": rng.uniform(0, 0.2, (B, robot.nv)),
        "damping": rng.uniform(0, 0.2, (B, robot.nv)),
    }
    u = 0.1 * rng.normal(size=(20, robot.nv))
    found = assert_rebuilt(robot, fields, q, v, u, engine=engine, substeps=2, work=work)
    if work:
        kinetic, potential = treesim.energy(rebuilt(robot, fields, 2), found.q[2], found.v[2])
        assert np.abs(found.energy[2] - kinetic - potential).max() < 1e-12 * np.abs(found.energy[2]).max()
        assert np.abs(found.energy_error).max() < 1e-3 * np.abs(found.energy).max()
