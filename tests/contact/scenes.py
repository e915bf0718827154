"""What tests of contact move: one free body of a few shapes, a pendulum, and runs of them on a ground."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import treesim

G = 9.81
RULES = ("implicit_midpoint", "semi_implicit_euler")
NOTHING = treesim.Placement()


class Run(NamedTuple):
    """States at the ends of steps, and what was told of the steps: q (K, nq), v (K, nv), wrench (K, N + 1, 6), told
    (K, 6), energy (K,)."""

    q: np.ndarray
    v: np.ndarray
    wrench: np.ndarray
    solver_info: np.ndarray
    energy: np.ndarray


def shape(kind, size=(), placement=NOTHING, body=1, vertices=None):
    """A collision shape of a link of the name of its kind."""
    return treesim.CollisionShape(body, placement, kind, size=size, vertices=vertices, link=kind)


def free_body(mass, inertia, *shapes, name="body"):
    """A body that moves freely: its inertia (3,) about its axes, centre of mass at its origin."""
    inertia = treesim.Inertia(mass, (0, 0, 0), np.diag(np.broadcast_to(inertia, 3)))
    return treesim.Tree(name, [treesim.Body(name, 0, treesim.Joint("free", "floating"), inertia)], shapes=shapes)


def ball(radius=0.1, mass=1.0):
    """A homogeneous sphere."""
    return free_body(mass, 0.4 * mass * radius**2, shape("sphere", (radius,)), name="ball")


def cube(length=0.1, mass=1.0):
    """A homogeneous cube."""
    return free_body(mass, mass * length**2 / 6, shape("box", (length,) * 3), name="cube")


def pendulum(**options):
    """A point of 1 kg, 1 m from a hinge about y, beside it at q = 0."""
    inertia = treesim.Inertia(1.0, (1.0, 0, 0), np.zeros((3, 3)))
    joint = treesim.Joint("hinge", "revolute", axis=(0, 1, 0), **options)
    return treesim.Tree("pendulum", [treesim.Body("arm", 0, joint, inertia)])


def at(x, R=None):
    """A configuration of a free body."""
    return np.r_[x, 0, 0, 0, 1.0] if R is None else np.r_[x, quaternion(R)]


def quaternion(R):
    """The quaternion xyzw of a rotation by less than half a turn."""
    w = np.sqrt(1 + np.trace(R)) / 2
    return np.r_[np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) / (4 * w), w]


def turned(axis, angle):
    """The rotation about an axis (3,) of the world, of length 1, by Rodrigues' formula."""
    x, y, z = axis
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]], float)
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K


def world_velocity(q, v):
    """The linear velocity of a free body along the world's axes."""
    x, y, z, w = q[3:7]
    u = np.array([x, y, z])
    return v[:3] + 2 * np.cross(u, np.cross(u, v[:3]) + w * v[:3])


def simulate(world, q, v=None, duration=1.0, dt=1e-3, control=None, substeps=1, **options):
    """A run of one state through a stepper."""
    stepper = treesim.Stepper(world, dt, substeps=substeps, **options)
    state, rows = stepper.reset(q, v), []
    for _ in range(round(duration / dt)):
        state, report = stepper.step(state, control)
        assert not report.status.any()  # whether contact is solved well enough, each test says itself
        rows.append((state.q, state.v, report.contact.wrench_array, report.contact.solver_info, float(report.energy)))
    return Run(*(np.array(x) for x in zip(*rows, strict=True)))
