"""Scenes of `treesim bench --worlds`: free bodies apart, in stacks, falling over and poured, and around robots."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from treesim import Conveyor, Ground, Surface
from treesim.compare.cases import ContactScene
from treesim.contact.bodies import free_body
from treesim.errors import UrdfWarning
from treesim.model.inertia import Placement
from treesim.model.tree import Tree
from treesim.simulation.stepper import Stepper
from treesim.simulation.world import World
from treesim.states.standing import standing
from treesim.types import CollisionKind
from treesim.urdf import load
from treesim.validation.values import known_name

from .contact_scenes import DAMPING_TIME, DT, STATES, bare_robot, targets

FRICTION, SIDE, ASIDE, APART = 0.5, 0.2, 0.02, 0.5  # side [m] of boxes; standard deviation of places, distance [m]
KICK = 1.0  # m/s
DOMINO, BETWEEN, TOPPLES = (0.03, 0.1, 0.2), 0.1, 2.0  # lengths [m], distance [m], speed of the first [rad/s]
BALL, SMALL = 0.05, 0.1  # radius of poured balls and side of poured boxes [m]
FALLS = 0.02  # m: lowest gap from which bodies are poured
HAND, HELD, HAND_KP, CURLED = "allegro_right_hand", 0.035, 3.0, 0.9  # robot, radius [m], gain [N m/rad], angle [rad]
CLOSED, THUMB = 1.5, (1.2, 0.4, 0.8, 0.8)  # rad: angles of fingers and thumb towards which the hand closes
ABOVE = (0.02, 0.0, 0.05)  # m: place of the ball, above the palm
HUMANOID, HUMANOID_KP, IN_RING = "g1_29dof_rev_1_0", 500.0, 0.35  # robot, gain [N m/rad], radius of rings [m]
BELT, BELT_SPEED = (6.0, 1.0, 0.1), 0.5  # lengths [m], speed [m/s]
KINDS: tuple[tuple[CollisionKind, tuple[float, ...]], ...] = (
    ("box", (0.2, 0.2, 0.2)), ("box", (0.3, 0.1, 0.1)), ("box", (0.2, 0.2, 0.05)), ("sphere", (0.1,)),
    ("sphere", (0.06,)), ("capsule", (0.05, 0.2)), ("capsule", (0.08, 0.1)), ("box", (0.1, 0.15, 0.2)),
)  # fmt: skip


def scene_of(trees: Sequence[Tree], q0: np.ndarray, v0: np.ndarray, on_plane: bool = True) -> ContactScene:
    """Return the scene of a robot and free bodies, or of free bodies alone, without control."""
    ground = Ground(friction=FRICTION) if on_plane else None
    world = World(trees[0], bodies=trees[1:], ground=ground, surface=Surface(friction=FRICTION))
    rest = np.zeros(world.robot.nv)
    q0, v0 = np.atleast_2d(q0), np.atleast_2d(v0)
    return ContactScene(world, np.array(np.broadcast_to(q0, (len(v0), q0.shape[1]))), v0, q0[0], rest, rest, DT)


def boxes(count: int, size: Sequence[float] = (SIDE,) * 3) -> list[Tree]:
    """Return homogeneous boxes of 1 kg."""
    return [free_body(f"box_{k}", "box", size, 1.0) for k in range(count)]


def places(positions: np.ndarray, turns: np.ndarray | None = None) -> np.ndarray:
    """Return the configuration of free bodies at positions (n, 3), by default not turned; turns: quaternions (n, 4)."""
    straight = np.tile([0.0, 0, 0, 1], (len(positions), 1))
    return np.concatenate([positions, straight if turns is None else turns], axis=1).ravel()


def grid(count: int, distance: float) -> np.ndarray:
    """Return places (count, 2) on a square grid around the origin."""
    side = int(np.ceil(np.sqrt(count)))
    return distance * (np.stack(np.divmod(np.arange(count), side), axis=1) - (side - 1) / 2)


def boxes_apart(count: int, speed: float = KICK) -> ContactScene:
    """Return boxes on the plane, half a metre apart, which slide at speeds up to `speed`; at rest for speed 0."""
    positions, v0 = np.c_[grid(count, APART), np.full(count, SIDE / 2)], np.zeros((count, 6))
    angles, parts = np.random.default_rng(0).uniform((0, 0.3), (2 * np.pi, 1), (count, 2)).T
    v0[:, :2] = (speed * parts * np.stack([np.cos(angles), np.sin(angles)])).T
    return scene_of(boxes(count), places(positions), v0.ravel())


def towers(height: int, count: int = 1, kick: float = KICK) -> ContactScene:
    """Return towers of boxes, half a metre apart and not quite in line, whose top boxes start in 8 directions."""
    aside = ASIDE * np.random.default_rng(0).normal(size=(count * height, 2))
    level, tower = np.tile(np.arange(height), count), np.repeat(np.arange(count), height)
    positions = np.c_[aside[:, 0] + APART * tower, aside[:, 1], SIDE * (level + 0.5)]
    angles, v0 = 2 * np.pi * np.arange(STATES) / STATES, np.zeros((STATES, count, height, 6))
    directions = angles[:, None] + np.arange(count)
    v0[:, :, -1, :2] = kick * np.stack([np.cos(directions), np.sin(directions)], axis=-1)
    return scene_of(boxes(count * height), places(positions), v0.reshape(STATES, -1))


def dominoes(count: int = 12) -> ContactScene:
    """Return a row of dominoes, the first of which falls against the next."""
    positions = np.c_[BETWEEN * np.arange(count), np.zeros(count), np.full(count, DOMINO[2] / 2)]
    v0 = np.zeros((count, 6))
    v0[0, 0], v0[0, 4] = TOPPLES * DOMINO[2] / 2, TOPPLES
    return scene_of(boxes(count, DOMINO), places(positions), v0.ravel())


def in_layers(count: int, distance: float, lowest: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return positions (count, 3) in layers of nine, not quite in line, and random quaternions (count, 4)."""
    random, layer = np.random.default_rng(seed), np.arange(count) // 9
    xy = grid(9, distance)[np.arange(count) % 9] + 0.1 * distance * random.uniform(-1, 1, (count, 2))
    turns = random.normal(size=(count, 4))
    return np.c_[xy, lowest + distance * layer], turns / np.linalg.norm(turns, axis=1, keepdims=True)


def boxes_poured(count: int = 32, seed: int = 0) -> ContactScene:
    """Return boxes that fall onto the plane and onto each other, in random orientations."""
    diagonal = np.sqrt(3) * SMALL
    positions, turns = in_layers(count, 1.25 * diagonal, FALLS + diagonal / 2, seed)
    return scene_of(boxes(count, (SMALL,) * 3), places(positions, turns), np.zeros(6 * count))


def balls_poured(count: int = 48, seed: int = 0) -> ContactScene:
    """Return balls that fall onto the plane and onto each other."""
    balls = [free_body(f"ball_{k}", "sphere", (BALL,), 1.0) for k in range(count)]
    positions, _ = in_layers(count, 2.5 * BALL, FALLS + BALL, seed)
    return scene_of(balls, places(positions), np.zeros(6 * count))


def balls_apart(count: int = 100) -> ContactScene:
    """Return balls on the plane, apart, which slide and begin to roll."""
    balls = [free_body(f"ball_{k}", "sphere", (SIDE / 2,), 1.0) for k in range(count)]
    v0 = np.zeros((count, 6))
    v0[:, 0] = KICK
    return scene_of(balls, places(np.c_[grid(count, APART), np.full(count, SIDE / 2)]), v0.ravel())


def kinds_of_bodies(count: int = 40, seed: int = 0) -> ContactScene:
    """Return bodies of eight shapes and sizes that fall onto the plane and onto each other."""
    bodies = [free_body(f"body_{k}", *KINDS[k % len(KINDS)], mass=1.0) for k in range(count)]
    positions, turns = in_layers(count, 0.45, 0.25, seed)
    return scene_of(bodies, places(positions, turns), np.zeros(6 * count))


def with_control(scene: ContactScene, robot: Tree, gain: float, posture: np.ndarray) -> ContactScene:
    """Return the scene with PD control of the robot's joints of one degree of freedom towards a posture."""
    kp = np.zeros(scene.robot.nv)
    for body in robot.bodies:
        if body.joint.nv == 1:
            kp[robot.v_index[body.joint.name]] = gain
    return scene._replace(kp=kp, kd=DAMPING_TIME * kp, posture=posture)


def settled(scene: ContactScene, steps: int) -> np.ndarray:
    """Return the configuration after steps of the scene from its first state."""
    stepper = Stepper(scene.world, scene.dt, integrator="semi_implicit_euler", kp=scene.kp, kd=scene.kd)
    u, state = targets(scene), stepper.reset(scene.q0[0], scene.v0[0])
    for _ in range(steps):
        state, _ = stepper.step(state, u)
    return state.q


def hand_with_ball(settles: int = 300) -> ContactScene:
    """Return a hand, palm up, whose fingers hold a ball that starts with small velocities."""
    upward = Placement(np.array([[0.0, 0, -1], [0, 1, 0], [1, 0, 0]]))  # the palm's normal, x, becomes z
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UrdfWarning)  # of inertias that no body has
        hand = bare_robot(load(HAND, base="fixed", base_pose=upward))
    posture = hand.neutral()
    for finger in range(3):
        posture[4 * finger + 1 : 4 * finger + 4] = CURLED
    closed = np.r_[np.where(posture[:12] > 0, CLOSED, 0.0), THUMB]
    ball = free_body("ball", "sphere", (HELD,), 0.1)
    scene = scene_of([hand, ball], np.r_[posture, ABOVE, 0, 0, 0, 1], np.zeros(hand.nv + 6), False)
    scene = with_control(scene, hand, HAND_KP, np.r_[closed, np.zeros(7)])
    v0 = np.zeros((STATES, scene.robot.nv))
    v0[:, -6:-3] = 0.05 * np.random.default_rng(0).normal(size=(STATES, 3))
    q0 = settled(scene, settles) if settles else scene.q0[0]
    return scene._replace(q0=np.tile(q0, (STATES, 1)), v0=v0)


def humanoid_in_heap(count: int = 12) -> ContactScene:
    """Return a standing humanoid, and two rings of boxes on each other that slide against its feet."""
    humanoid = bare_robot(load(HUMANOID, base="floating"))
    posture, ring, angles = standing(humanoid, humanoid.neutral()), -(-count // 2), 4 * np.pi * np.arange(count) / count
    inward, heights = -np.c_[np.cos(angles), np.sin(angles)], SMALL * (np.arange(count) // ring + 0.5)
    v0 = np.zeros((count, 6))
    v0[:, :2] = KICK * inward
    q0 = np.r_[posture, places(np.c_[-IN_RING * inward, heights])]
    scene = scene_of([humanoid, *boxes(count, (SMALL,) * 3)], q0, np.r_[np.zeros(humanoid.nv), v0.ravel()])
    return with_control(scene, humanoid, HUMANOID_KP, np.r_[posture, np.zeros(7 * count)])


def belt_with_boxes(count: int = 8) -> ContactScene:
    """Return boxes on a conveyor belt, which slide until they have its speed."""
    belt = free_body("belt", "box", BELT, 1.0)
    surface, motion = Surface(friction=FRICTION), {"belt": Conveyor((BELT_SPEED, 0, 0))}
    first, *others = boxes(count)
    world = World(first, bodies=[*others, belt], surface=surface, kinematic=motion)
    x, height = APART * np.arange(count) - BELT[0] / 2 + SIDE, np.full(count, (BELT[2] + SIDE) / 2)
    q0, rest = np.r_[places(np.c_[x, 0 * x, height]), belt.neutral()], np.zeros(world.robot.nv)
    return ContactScene(world, q0[None], rest[None], q0, rest, rest, DT)


class ManyBodies(NamedTuple):
    """Scene of many bodies.

    name: its name on the command line. about: description. make: returns the scene. steps: number of steps that are
    timed from each initial state, after a first one.
    """

    name: str
    about: str
    make: Callable[[], ContactScene]
    steps: int = 14


MANY_BODIES = (
    *(ManyBodies(f"apart-{n}", f"{n} boxes slide apart", partial(boxes_apart, n)) for n in (1, 10, 50, 100, 200)),
    *(ManyBodies(f"rest-{n}", f"{n} boxes rest apart", partial(boxes_apart, n, 0.0)) for n in (10, 100, 1000)),
    *(ManyBodies(f"stack-{n}", f"{n} boxes on each other, the top kicked", partial(towers, n)) for n in (5, 10, 20)),
    ManyBodies("towers", "ten towers of five boxes, their tops kicked", partial(towers, 5, 10)),
    ManyBodies("dominoes", "twelve dominoes fall", dominoes, 1000),
    ManyBodies("boxes-poured", "32 boxes fall onto each other", boxes_poured, 700),
    ManyBodies("balls-poured", "48 balls fall onto each other", balls_poured, 700),
    ManyBodies("balls-100", "100 balls slide and roll apart", balls_apart),
    ManyBodies("kinds-40", "40 bodies of 8 kinds fall onto each other", kinds_of_bodies, 700),
    ManyBodies("hand", "a hand holds a ball", hand_with_ball),
    ManyBodies("heap", "a humanoid stands in a heap of boxes", humanoid_in_heap, 300),
    ManyBodies("belt", "boxes on a conveyor belt", belt_with_boxes, 100),
)


def chosen_worlds(names: Sequence[str] | None) -> list[ManyBodies]:
    """Return the scenes of these names, all by default; raises UnknownNameError for another name."""
    known = {each.name: each for each in MANY_BODIES}
    return [known[known_name("scene", name, known)] for name in dict.fromkeys(names or known)]
