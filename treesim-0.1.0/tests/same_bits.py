"""Digests of what treesim computes, in one process: a program, whose lines are those of golden/same_bits.txt.

Arguments: names of digests, all if none are given. Every number that goes in is exact or comes from a generator of
random numbers, so that what differs was made by treesim.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable

import numpy as np

import treesim
from treesim.kernels.algebra import numbers

ROBOT = "g1_29dof_rev_1_0"


def digest(*arrays: np.ndarray) -> str:
    """Return a digest of arrays, to the last bit."""
    content = hashlib.sha256()
    for array in arrays:
        content.update(np.ascontiguousarray(array).tobytes())
    return content.hexdigest()[:16]


def robot() -> treesim.Tree:
    """Return a humanoid with a floating base."""
    return treesim.load(ROBOT, base="floating")


def states(body: treesim.Tree, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return states near the neutral configuration, made without a function that processors round differently."""
    random = np.random.default_rng(7)
    q = np.tile(body.neutral(), (count, 1))
    q[:, 7:] += random.uniform(-0.3, 0.3, (count, body.nq - 7))
    return q, random.uniform(-1, 1, (count, body.nv))


def policy(t, q, v, p, u):
    """Write forces that take every elementary function."""
    u[6:] = 5 * np.tanh(p[0] * np.sin(3 * t) - q[7:]) - 2 * v[6:] * np.exp(-v[6:] * v[6:])
    u[6] += numbers.atan2(q[7], 1 + q[8] * q[8]) + np.sqrt(1 + q[9] * q[9])


def description() -> str:
    """The robot's tables."""
    return digest(robot().reals)


def turned() -> treesim.Tree:
    """Return a chain whose every pose is turned by angles in text; each second joint is fixed, so that links merge."""
    random = np.random.default_rng(7)

    def words(count: int, reach: float) -> str:
        return " ".join(map(repr, random.uniform(-reach, reach, count).tolist()))

    text = ['<robot name="turned"><link name="l0"/>']
    for k in range(1, 41):
        kind = "fixed" if k % 2 else "revolute"
        text.append(
            f'<link name="l{k}"><inertial><origin xyz="{words(3, 0.2)}" rpy="{words(3, 3)}"/><mass value="1.3"/>'
            '<inertia ixx="0.02" ixy="0.001" ixz="0.002" iyy="0.03" iyz="-0.003" izz="0.025"/></inertial>'
            f'<collision><origin xyz="{words(3, 0.2)}" rpy="{words(3, 3)}"/>'
            '<geometry><cylinder radius="0.1" length="0.3"/></geometry></collision></link>'
            f'<joint name="j{k}" type="{kind}"><origin xyz="{words(3, 1)}" rpy="{words(3, 3)}"/>'
            f'<parent link="l{k - 1}"/><child link="l{k}"/><axis xyz="{words(3, 1)}"/>'
            '<limit effort="1" velocity="1" lower="-2" upper="2"/>'
            + (f'<mimic joint="j{k - 2}" multiplier="0" offset="{words(1, 2)}"/>' if k % 6 == 4 else "")
            + "</joint>"
        )
    return treesim.load("".join([*text, "</robot>"]))


def turned_description() -> str:
    """The tables of a robot with many rotations, and its collision shapes on a plane, and its text."""
    body = turned()
    touching = treesim.World(body, ground=treesim.Ground(normal=(0.1, 0.2, 1.0))).touching
    poses = np.array([shape.placement.matrix() for shape in body.shapes])
    text = np.frombuffer(treesim.to_urdf(body, principal=True).encode(), np.uint8)
    return digest(body.reals, body.body_rotations, poses, touching.geometry, text)


def batch(dtype: type = np.float64, count: int = 300) -> str:
    """Forward dynamics of a batch."""
    body = robot()
    q, v = (x.astype(dtype) for x in states(body, count))
    return digest(treesim.forward_dynamics(body, q, v, np.zeros_like(v), engine="specialized"))


def arm() -> str:
    """Forward dynamics of a batch of a small robot, whose code is looped where $TREESIM_CODE asks for that."""
    body = treesim.load("ur5")
    q, v = np.random.default_rng(7).uniform(-3, 3, (2, 100, body.nv))
    return digest(treesim.forward_dynamics(body, q, v, np.zeros_like(v), engine="specialized"))


def generic() -> str:
    """Forward dynamics and mass matrix by the engine for all robots."""
    body = robot()
    q, v = states(body, 5)
    found = treesim.forward_dynamics(body, q, v, np.zeros_like(v), engine="generic")
    return digest(found, treesim.mass_matrix(body, q, engine="generic"))


def rollout(dtype: type = np.float64, threads: int | None = None, part: slice = slice(0, 40)) -> str:
    """States under a policy."""
    body = robot()
    q, v = (x.astype(dtype)[part] for x in states(body, 40))
    runs = treesim.rollout(body, q, v, policy, steps=40, every=8, policy_parameters=[0.3], threads=threads)
    return digest(runs.q, runs.v)


def single() -> str:
    """One simulation by the default rule, a step at a time."""
    body = robot()
    q, v = states(body, 1)
    found = treesim.Simulation(body).run_from(0.04, (q[0], v[0]))
    return digest(found.q, found.v)


def contact() -> str:
    """Rollouts of a humanoid that lands on the ground."""
    world = treesim.World(robot(), ground=treesim.Ground())
    q, v = states(world.robot, 9)
    q[:, 2] = 1.0
    v[:, 2] = -3.0
    runs = treesim.rollout(world, q, v, steps=120, every=40)
    return digest(runs.q, runs.v)


def difference() -> str:
    """Displacements between configurations, by the engine for all robots."""
    body = robot()
    q, v = states(body, 20)
    return digest(np.array([body.difference(a, b) for a, b in zip(body.integrate(q, 2 * v), q, strict=True)]))


def contact_alone() -> str:
    """One humanoid that lands, a step at a time."""
    world = treesim.World(robot(), ground=treesim.Ground())
    q, v = states(world.robot, 1)
    q[0, 2], v[0, 2] = 1.0, -3.0
    found = treesim.Simulation(world).run_from(0.12, (q[0], v[0]))
    return digest(found.q, found.v)


def golden(integrator: str) -> str:
    """A thousand steps of one simulation by a rule."""
    body = robot()
    q, v = states(body, 1)
    found = treesim.Simulation(body, integrator=integrator).run_from(1.0, (q[0], 0.1 * v[0]))
    return digest(found.q[-1], found.v[-1])


DIGESTS: dict[str, Callable[[], str]] = {
    "description": description,
    "description, turned": turned_description,
    "batch": batch,
    "batch, float32": lambda: batch(np.float32),
    "arm": arm,
    "generic": generic,
    "difference": difference,
    "rollout": rollout,
    "rollout, float32": lambda: rollout(np.float32),
    "single": single,
    "contact": contact,
    "contact, alone": contact_alone,
    "implicit_midpoint": lambda: golden("implicit_midpoint"),
    "semi_implicit_euler": lambda: golden("semi_implicit_euler"),
}

if __name__ == "__main__":
    for name in sys.argv[1:] or DIGESTS:
        print(f"{name}: {DIGESTS[name]()}", flush=True)
