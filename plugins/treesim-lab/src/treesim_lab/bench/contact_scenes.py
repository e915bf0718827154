"""Scenes of `treesim bench --contact`: robots on planes, stairs and height fields, and stacks of boxes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from treesim import Ground, HeightField, StaticBox, Surface
from treesim.compare.cases import ContactScene
from treesim.contact.bodies import free_body
from treesim.model.inertia import Inertia, Placement
from treesim.model.joints import Joint
from treesim.model.shapes import CollisionShape
from treesim.model.tree import Body, Tree
from treesim.simulation.stepper import Stepper
from treesim.simulation.world import World
from treesim.states.standing import standing
from treesim.validation.values import known_name

AnyGround = Ground | StaticBox | HeightField
DT = 1e-3  # s
STATES, STEPS = 8, 30  # initial states of scenes that move, and steps from each
DAMPING_TIME = 0.05  # s, kd / kp; at twice the default kp a humanoid chatters if stiffness is explicit, as in MuJoCo
PUSH = 0.5  # m/s
LIMP = 0.02  # of the standing kd: damping of the joints of a robot that falls
FIRST, APART = 100, 150  # steps of a fall before the first initial state, and between these
RISE, DEPTH, WIDTH = 0.1, 0.3, 8.0  # m, of a stair
BUMPS, SPACING = 0.01, 0.1  # m: largest height of the terrain, and distance of its nodes
BOXES, SIDE, ASIDE = 10, 0.2, 0.02  # of a stack: number, length of edges and standard deviation of their places [m]
SLOPE, GRAVITY = 0.5, 9.81  # of the incline, which is the friction at which a box begins to slide; m/s^2


class SceneOptions(NamedTuple):
    """Robot without limits and losses, gain kp [N m/rad, N/m] of its joints, and friction of all surfaces."""

    robot: Tree
    kp: float
    friction: float


class SceneKind(NamedTuple):
    """Kind of scene.

    name: its name on the command line. about: description. make: returns the scene. rests: whether it is at rest, so
    that it is stepped on from one state and its drift is measured. passive: whether no control acts, so that its energy
    may not increase.
    """

    name: str
    about: str
    make: Callable[[SceneOptions], ContactScene]
    rests: bool = False
    passive: bool = False


def bare_robot(robot: Tree) -> Tree:
    """Return the robot with its shapes, without joint limits, effort limits, damping, friction and armature."""
    free: dict[str, Any] = {
        "lower": -np.inf,
        "upper": np.inf,
        "effort_limit": np.inf,
        "damping": 0.0,
        "joint_friction": 0.0,
        "armature": 0.0,
    }
    bodies = [replace(body, joint=replace(body.joint, **free)) for body in robot.bodies]
    return Tree(robot.name, bodies, gravity=robot.gravity.tolist(), shapes=robot.shapes)


def standing_scene(options: SceneOptions, *ground: AnyGround) -> ContactScene:
    """Return a robot placed on the first surface, by default a plane, in its neutral posture under PD control.

    Raises ArgumentError for a robot that cannot stand.
    """
    robot, gains = options.robot, np.zeros(options.robot.nv)
    surfaces = ground or (Ground(friction=options.friction),)
    for body in robot.bodies:
        if body.joint.nv == 1:
            gains[robot.v_index[body.joint.name]] = options.kp
    q0 = standing(robot, robot.neutral(), surfaces[0])
    world = World(robot, ground=surfaces)
    return ContactScene(world, q0[None], np.zeros((1, robot.nv)), q0, gains, DAMPING_TIME * gains, DT)


def moving_scene(speed: float, options: SceneOptions, *ground: AnyGround) -> ContactScene:
    """Return a standing robot with random velocities of the joints that have gains; speed: standard deviation."""
    scene = standing_scene(options, *ground)
    random = np.random.default_rng(0).normal(size=(STATES, scene.robot.nv))
    return _from_each(scene, scene.q0[0], speed * random * (scene.kp > 0))


def _from_each(scene: ContactScene, q0: np.ndarray, v0: np.ndarray) -> ContactScene:
    """Return a scene with several initial states."""
    return scene._replace(q0=np.array(np.broadcast_to(q0, (len(v0), q0.shape[-1]))), v0=v0)


def pushed_scene(options: SceneOptions) -> ContactScene:
    """Return a standing robot whose base moves at 0.5 m/s in one of 8 horizontal directions."""
    scene, angles = standing_scene(options), 2 * np.pi * np.arange(STATES) / STATES
    v0 = np.zeros((STATES, scene.robot.nv))
    v0[:, :2] = PUSH * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return _from_each(scene, scene.q0[0], v0)


def falling_scene(options: SceneOptions) -> ContactScene:
    """Return a robot at 8 times of a fall from its standing posture, with damped joints and no other control."""
    scene = moving_scene(PUSH, options)
    scene = scene._replace(kp=0 * scene.kp, kd=LIMP * scene.kd)
    stepper = Stepper(scene.world, scene.dt, integrator="semi_implicit_euler", kp=scene.kp, kd=scene.kd, substeps=1)
    now, states = stepper.reset(scene.q0[0], scene.v0[0]), []
    for k in range(FIRST + APART * (STATES - 1) + 1):
        now, _ = stepper.step(now)
        if k >= FIRST and (k - FIRST) % APART == 0:
            states.append((now.q, now.v))
    return _from_each(scene, np.array([q for q, _ in states]), np.array([v for _, v in states]))


def stairs(friction: float) -> list[StaticBox]:
    """Return static boxes: a landing of 2 m x 8 m with its top at height 0, and four stairs that descend from it."""
    found = []
    for k in range(5):
        depth, before = (2.0, -1.0) if k == 0 else (DEPTH, 1.0 + DEPTH * (k - 1))
        place = (before + depth / 2, 0.0, -0.5 - RISE * k)
        found.append(StaticBox((depth, WIDTH, 1.0), Placement(translation=place), friction=friction))
    return found


def stairs_scene(options: SceneOptions) -> ContactScene:
    """Return a robot on the landing of `stairs`, with random joint velocities."""
    return moving_scene(0.3, options, *stairs(options.friction))


def terrain(friction: float) -> HeightField:
    """Return a height field of 8 m x 8 m with random heights of up to 1 cm."""
    heights = BUMPS * np.random.default_rng(0).uniform(size=(81, 81))
    return HeightField(heights=heights, spacing=(SPACING, SPACING), friction=friction)


def terrain_scene(options: SceneOptions) -> ContactScene:
    """Return a robot on `terrain`, with random joint velocities."""
    return moving_scene(0.3, options, terrain(options.friction))


def stack_scene(options: SceneOptions, push: float = 0.0) -> ContactScene:
    """Return ten boxes on top of each other, not quite in line.

    push: velocity [m/s] of the uppermost box in 8 horizontal directions.
    """
    boxes = [free_body(f"box_{k}", "box", (SIDE,) * 3, 1.0) for k in range(BOXES)]
    ground, surface = Ground(friction=options.friction), Surface(friction=options.friction)
    world = World(boxes[0], bodies=boxes[1:], ground=ground, surface=surface)
    q0, aside = world.robot.neutral(), ASIDE * np.random.default_rng(0).normal(size=(BOXES, 2))
    for k, x in enumerate(aside):
        q0[7 * k : 7 * k + 3] = *x, SIDE * (k + 0.5)
    rest = np.zeros(world.robot.nv)
    scene = ContactScene(world, q0[None], rest[None], q0, rest, rest, DT)
    if push:
        angles, v0 = 2 * np.pi * np.arange(STATES) / STATES, np.zeros((STATES, world.robot.nv))
        v0[:, -6:-4] = push * np.stack([np.cos(angles), np.sin(angles)], axis=1)
        scene = _from_each(scene, q0, v0)
    return scene


def targets(scene: ContactScene) -> np.ndarray:
    """Return the targets (nv,) of the PD controller."""
    found = np.zeros(scene.robot.nv)
    for body in scene.robot.bodies:
        k = scene.robot.v_index[body.joint.name]
        if scene.kp[k].any():
            found[k] = scene.posture[scene.robot.q_index[body.joint.name]]
    return found


def box_on_incline(friction: float) -> ContactScene:
    """Return a box of 10 kg on a plane of slope 0.5, aligned with it: it sticks if friction is at least 0.5."""
    half = math.atan(SLOPE) / 2
    inertia = Inertia(10.0, (0, 0, 0), np.diag([10 * 0.2**2 / 6] * 3))
    shape = CollisionShape(1, Placement(), "box", size=(0.2, 0.2, 0.2), link="box")
    box = Tree("box", [Body("box", 0, Joint("free", "floating"), inertia)], gravity=[0, 0, -GRAVITY], shapes=[shape])
    ground = Ground(normal=(math.sin(2 * half), 0.0, math.cos(2 * half)), friction=friction)
    q0, rest = standing(box, np.array([0, 0, 0, 0, math.sin(half), 0, math.cos(half)]), ground), np.zeros(6)
    return ContactScene(World(box, ground=ground), q0[None], rest[None], q0, rest, rest, DT)


def _moving(speed: float) -> SceneKind:
    about = f"with random joint velocities of standard deviation {speed:g} rad/s or m/s"
    return SceneKind(f"moving-{speed:g}", about, partial(moving_scene, speed))


SCENES = (
    SceneKind("standing", "at rest on a plane", standing_scene, rests=True),
    *map(_moving, (0.05, 0.3, 1.0)),
    SceneKind("pushed", "with 0.5 m/s of the base in 8 directions", pushed_scene),
    SceneKind("falling", "at 8 times of a fall with damped joints", falling_scene, passive=True),
    SceneKind("stairs", "on a landing of static boxes, with joint velocities of 0.3 rad/s", stairs_scene),
    SceneKind("terrain", "on a height field with bumps of 1 cm, with joint velocities of 0.3 rad/s", terrain_scene),
    SceneKind("stack", "ten boxes at rest, without the robot", stack_scene, rests=True, passive=True),
    SceneKind("stack-pushed", "the uppermost box starts with 0.5 m/s", partial(stack_scene, push=PUSH), passive=True),
)


def chosen_scenes(names: Sequence[str] | None) -> list[SceneKind]:
    """Return the scenes of these names, all by default; raises UnknownNameError for another name."""
    known = {kind.name: kind for kind in SCENES}
    return [known[known_name("scene", name, known)] for name in dict.fromkeys(names or known)]
