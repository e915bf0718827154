"""Scenes of a comparison in PyBullet: driven motions, limits, mimic joints, and feet on a plane."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from treesim import CollisionShape, Tree, lowest_point
from treesim.compare import GroundForces, Scene, SceneRun, Softness
from treesim.compare.source import without_losses
from treesim.errors import UnsupportedError
from treesim.states.support import candidates
from treesim.urdf import to_urdf

from .machine import BASE, BulletMachine, loaded
from .strip import strip

ERP = 0.2  # share of a position error that Bullet removes in a step
ITERATIONS, GEAR_ITERATIONS = 200, 1000  # gears converge slowly
MARGIN = 1e-3  # m: Bullet's URDF reader extends hulls by it
GEAR_FORCE = 1e6  # N m, N
UNCONSTRAINED, CONSTRAINED = "bullet", "semi_implicit_euler"  # treesim's integrators
FREE = "stepSimulation, damping explicit"
IMPULSES = f"impulses at velocities by Gauss-Seidel, {ERP:g} of a position error a step"
FLAGS = ("URDF_USE_INERTIA_FROM_FILE", "URDF_USE_IMPLICIT_CYLINDER")


def simulate(scene: Scene) -> SceneRun:
    """Return the motion of a scene by stepSimulation.

    Raises UnsupportedError for armature and for robots that cannot be prepared for Bullet, EngineError if it fails.
    """
    if scene.robot.armature.any():
        raise UnsupportedError("PyBullet has no rotor inertia of joints")
    with tempfile.TemporaryDirectory() as folder:
        machine = _loaded(scene, Path(folder))
    whole, kept = scene.robot.spanning, scene.robot.kept()
    _set_damping(machine, whole)
    _add_gears(machine, scene.robot)
    plane = None if scene.friction is None else _add_plane(machine, scene.friction)
    bullet = machine.bullet
    bullet.setGravity(*machine.gravity)
    bullet.setTimeStep(scene.dt)
    bullet.setPhysicsEngineParameter(
        numSolverIterations=ITERATIONS if whole is scene.robot else GEAR_ITERATIONS,
        solverResidualThreshold=0,
        enableConeFriction=1,
    )
    states = [(np.array(scene.robot.expand(scene.q0)), scene.robot.expand_velocity(scene.v0))]
    margin = 0.0
    if plane is not None:
        margin = _margin(whole, states[0][0])
        states[0][0][2] += margin  # of the base, so that the robot starts on the plane, not in it
    machine.set_state(*states[0])
    forces, overlap, gap = [], [], 0.0
    for k in range(scene.steps):
        q, v = states[-1]
        tau = np.zeros(whole.nv)
        tau[kept[1]] = scene.law.torque(scene.robot, k * scene.dt, q[kept[0]], v[kept[1]])
        machine.apply(q, tau)
        bullet.stepSimulation()
        q, v = machine.state()
        states.append((q, v))
        gap = max(gap, float(np.abs(q - scene.robot.expand(q[kept[0]])).max(initial=0.0)))
        if plane is not None:
            points = bullet.getContactPoints(machine.robot, plane)
            forces.append(_contact_forces(points))
            overlap.append(max((-point[8] for point in points), default=0.0))
    q, v = (np.array(x) for x in zip(*states, strict=True))
    stops = scene.limits or plane is not None
    constrained = stops or whole is not scene.robot
    return SceneRun(
        q[:, kept[0]], v[:, kept[1]], CONSTRAINED if stops else UNCONSTRAINED,
        f"{FREE}; {IMPULSES}" if constrained else FREE, Softness(scene.dt / ERP, 0.0) if constrained else None,
        None if plane is None else GroundForces.of_points(forces, overlap, margin), gap,
    )  # fmt: skip


def _loaded(scene: Scene, folder: Path) -> BulletMachine:
    """Return the scene's robot in Bullet, with its shapes and limits if the scene has any."""
    whole = scene.robot.spanning
    limited = _limited(whole) if scene.limits else []
    shaped = _with_shapes(whole, folder) if scene.friction is not None else without_losses(whole)
    stripped = strip(to_urdf(shaped, principal=True, welds=False), whole.base == "floating", ("collision",), limited)
    return loaded(whole, stripped, folder, FLAGS)


def _limited(robot: Tree) -> list[str]:
    """Return the joints with finite limits on both sides."""
    return [
        body.joint.name
        for body in robot.bodies
        if body.joint.nv == 1 and np.isfinite([*body.joint.lower, *body.joint.upper]).all()
    ]


def _with_shapes(robot: Tree, folder: Path) -> Tree:
    """Return the robot with its usable shapes, hulls as files in the folder, without losses."""
    shapes = [_in_file(shape, k, folder) for k, shape in enumerate(dict.fromkeys(candidates(robot).shapes))]
    bare = without_losses(robot)
    return Tree(robot.name, bare.bodies, gravity=robot.gravity.tolist(), shapes=shapes)


def _in_file(shape: CollisionShape, number: int, folder: Path) -> CollisionShape:
    if shape.kind != "hull":
        return shape
    path = folder / f"hull_{number}.obj"
    vertices = np.asarray(shape.vertices)
    lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in vertices.tolist()]
    lines += [f"f {i} {i + 1} {i + 2}" for i in range(1, len(vertices) - 1)]  # Bullet takes the hull of all vertices
    path.write_text("\n".join(lines), encoding="utf-8")
    return CollisionShape(shape.body, shape.placement, "hull", link=shape.link, file=str(path))


def _margin(robot: Tree, q: np.ndarray) -> float:
    """Return by how much Bullet extends the shapes that touch the plane at q."""
    foot = lowest_point(robot, q).link
    return MARGIN if any(shape.kind == "hull" for shape in robot.shapes if shape.link == foot) else 0.0


def _set_damping(machine: BulletMachine, robot: Tree) -> None:
    for joint in machine.joints:
        damping = robot.damping[joint.v]
        if damping.any():
            machine.bullet.changeDynamics(machine.robot, joint.index, jointDamping=float(damping[0]))


def _add_gears(machine: BulletMachine, robot: Tree) -> None:
    """Add a gear between each mimic joint and its mimicked joint."""
    if robot.mimic_map is None:
        return
    numbers = {info[1].decode(): info[0] for info in machine.infos}
    bullet = machine.bullet
    for mimic_joint, (mimicked, multiplier, offset) in robot.mimic_map.lines().items():
        ends = machine.robot, numbers[mimicked], machine.robot, numbers[mimic_joint]
        origin = [0.0, 0.0, 0.0]
        gear = bullet.createConstraint(*ends, bullet.JOINT_GEAR, [0, 0, 1], origin, origin)
        bullet.changeConstraint(
            gear, gearRatio=-1 / multiplier, relativePositionTarget=-offset / multiplier, erp=ERP, maxForce=GEAR_FORCE
        )


def _add_plane(machine: BulletMachine, friction: float) -> int:
    """Add the plane z = 0; Bullet multiplies the coefficients of friction of two bodies."""
    bullet = machine.bullet
    plane: int = bullet.createMultiBody(0, bullet.createCollisionShape(bullet.GEOM_PLANE))
    bullet.changeDynamics(plane, BASE, lateralFriction=1, restitution=0)
    for link in machine.links:
        bullet.changeDynamics(
            machine.robot, link, lateralFriction=friction, restitution=0, rollingFriction=0, spinningFriction=0
        )
    return plane


def _contact_forces(points: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return points (n, 3) and forces (n, 3) of the plane on the robot."""
    places = np.array([point[6] for point in points]).reshape(-1, 3)
    forces = np.array([sum(_parts(point)) for point in points]).reshape(-1, 3)
    return places, forces


def _parts(point: Any) -> Iterator[np.ndarray]:
    """Yield the normal force and both friction forces of a contact point."""
    yield point[9] * np.array(point[7])
    yield point[10] * np.array(point[11])
    yield point[12] * np.array(point[13])
