"""Trees whose joints follow others, and their dynamics by dense algebra on the spanning tree."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

import treesim
from tests import trees
from treesim import Mimic, Tree
from treesim.kernels.entries.status import FINE
from treesim.kernels.mimic.mimic_entry import mimic_entry

SIMPLE = ("revolute", "prismatic", "continuous")


def tie(robot: Tree, seed: int, most: int = 4) -> Tree:
    """The tree with some of its joints, wherever they are, following others: chains, several of one leader, k < 0."""
    rng = np.random.default_rng(seed)
    simple = [joint.name for joint in (body.joint for body in robot.bodies) if joint.nv == 1]
    order = [simple[i] for i in rng.permutation(len(simple))]
    lines = {}
    for place, name in enumerate(order[1 : 1 + most], start=1):
        mimicked = order[int(rng.integers(0, place))]
        lines[name] = Mimic(mimicked, float(rng.choice([-1, 1]) * rng.uniform(0.3, 2.0)), float(rng.normal()))
    return with_mimics(robot, lines)


def with_mimics(robot: Tree, lines: dict[str, Mimic]) -> Tree:
    """The tree with the joints named following others."""
    bodies = [replace(body, joint=replace(body.joint, mimic=lines.get(body.joint.name))) for body in robot.bodies]
    return Tree(robot.name, bodies, frames=tuple(robot.frames.values())[robot.n_bodies :], gravity=robot.gravity)


@cache
def coupled(seed: int) -> Tree:
    """A random tree on a floating base, or on none, with several kinds of joints, rotors, and followers."""
    robot = trees.random_tree(seed, 9, joint_types=(*SIMPLE, "spherical", "prismatic", "revolute"), armature=0.3)
    tied = tie(trees.on_floating_base(robot) if seed % 2 else robot, seed)
    return tied if tied.mimic_joints else coupled(seed + 100)


def state(robot: Tree, seed: int = 0):
    """q, v, tau and wrenches of order one."""
    rng = np.random.default_rng(seed)
    return robot.random(rng), *rng.normal(size=(2, robot.nv)), rng.normal(size=(robot.n_bodies, 6))


def dense(robot: Tree, q, v, f_ext=None, armature=None):
    """G' M G and G' C, from the spanning tree's."""
    whole, G = robot.spanning, robot.mimic_map.G
    Q, V = robot.expand(q), robot.expand_velocity(v)
    M = G.T @ treesim.mass_matrix(whole, Q) @ G
    if armature is not None:
        M += np.diag(armature - robot.armature)
    return M, G.T @ treesim.bias_forces(whole, Q, V, f_ext=f_ext)


def residual(robot: Tree, qdd, q, v, tau, f_ext=None, armature=None) -> float:
    """What accelerations leave of the equation of motion, relative to its terms."""
    M, C = dense(robot, q, v, f_ext, armature)
    return np.abs(M @ qdd + C - tau).max() / (np.abs(M) @ np.abs(qdd) + np.abs(C) + np.abs(tau)).max()


def in_the_interpreter(backend, robot: Tree, q, v, tau):
    """A backend's forward dynamics by its kernel's own text: nothing is compiled for it."""
    ints = backend.constants(robot)[0]
    tables = ints if ints is not robot.ints else robot.spanning_tables()[0], *robot.spanning_tables()[1:]
    qdd = np.empty(robot.nv)
    assert mimic_entry(type(backend).entry)(*tables, q, v, tau, np.empty(0), qdd) == FINE
    return qdd
