"""Scenes in treesim."""

from __future__ import annotations

import warnings

import numpy as np

import treesim

from ..errors import TreesimWarning
from ..simulation.trajectory import Trajectory
from .scenes import GroundForces, Scene, SceneRun, centre_of_pressure

PLANE = "plane"
SOLVES = "rigid limits and contacts, exact friction cone; mimic joints without coordinates of their own"


def simulate(scene: Scene, integrator: str) -> SceneRun:
    """Return the motion of a scene in treesim, by generic code; NaN after an early end."""
    robot, ground = scene.robot, None if scene.friction is None else treesim.Ground(friction=scene.friction, name=PLANE)
    world = treesim.World(
        robot, ground=ground, use_limits=scene.limits, use_loops=False, use_joint_friction=False
    )  # fmt: skip
    simulation = treesim.Simulation(
        world, dt=scene.dt, integrator=integrator, engine="generic", substeps=1,
        controller=lambda t, q, v: scene.law.torque(robot, t, q, v),
    )  # fmt: skip
    with warnings.catch_warnings(action="ignore", category=TreesimWarning):
        run = simulation.run(scene.steps * scene.dt, q0=scene.q0, v0=scene.v0)
    missing = ((0, scene.steps + 1 - len(run.q)), (0, 0))
    q, v = (np.pad(x, missing, constant_values=np.nan) for x in (run.q, run.v))
    return SceneRun(q, v, integrator, SOLVES, ground=None if ground is None else _ground_forces(run))


def _ground_forces(run: Trajectory) -> GroundForces:
    """Return the plane's forces on the robot."""
    assert run.contact is not None  # there is ground
    on_plane = [run.contact_wrench(PLANE, body)[:-1] for body in run.contact.bodies if body != PLANE]
    wrench = -np.sum(on_plane, axis=0)  # about the world's origin
    return GroundForces(wrench[:, :3], centre_of_pressure(wrench[:, :3], wrench[:, 3:]), run.penetration[:-1])
