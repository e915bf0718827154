"""One body on a plane in Bullet and in treesim, compared with closed forms: `python -m treesim_pybullet.contact`.

The plane is z = 0; slopes are made by rotating gravity. Bullet's parameters are its defaults except for
these: no drag, friction and restitution of the pair only, 200 iterations without early end, and bounces for
impacts above 0.05 m/s, as in treesim.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pybullet
from pybullet_utils.bullet_client import BulletClient

import treesim

G, H = 9.81, 1e-3
SLOPE, HEADING = float(np.arctan(0.5)), float(np.radians(37))
STEADY = 1e3  # kg m^2: a box with such an inertia neither tips nor rocks
NO_DRAG = {"linearDamping": 0.0, "angularDamping": 0.0, "jointDamping": 0.0}


class Scene(NamedTuple):
    """A body on the plane.

    Kind and size as in treesim.CollisionShape, mass [kg], inertia [kg m^2] about each axis, Coulomb's mu,
    restitution, slope [rad], height of the centre [m], velocity (3,) [m/s], duration [s].
    """

    kind: str
    size: tuple[float, ...]
    mass: float
    inertia: float
    mu: float = 0.0
    restitution: float = 0.0
    slope: float = 0.0
    height: float = 0.1
    velocity: tuple[float, float, float] = (0.0, 0.0, 0.0)
    duration: float = 1.0

    @property
    def gravity(self) -> tuple[float, float, float]:
        """Gravity along the plane and into it [m/s^2]."""
        return G * float(np.sin(self.slope)), 0.0, -G * float(np.cos(self.slope))


class Run(NamedTuple):
    """Centre (K, 3) [m], its velocity (K, 3) [m/s] and the normal force (K,) [N] after every step of 1 ms."""

    x: np.ndarray
    v: np.ndarray
    force: np.ndarray


def in_treesim(scene: Scene) -> Run:
    """Return the motion of a scene in treesim, along the plane's axes."""
    inertia = treesim.Inertia(scene.mass, (0, 0, 0), scene.inertia * np.eye(3))
    shape = treesim.CollisionShape(1, treesim.Placement(), scene.kind, size=scene.size)  # type: ignore[arg-type]
    body = treesim.Tree("body", [treesim.Body("body", 0, treesim.Joint("free", "floating"), inertia)], shapes=[shape])
    ground = treesim.Ground(friction=scene.mu, restitution=scene.restitution)
    simulation = treesim.Simulation(treesim.World(body, ground=ground), dt=H, gravity=scene.gravity, substeps=1)
    q, v = [0, 0, scene.height, 0, 0, 0, 1], [*scene.velocity, 0, 0, 0]
    run = simulation.run(scene.duration, q0=q, v0=v)
    x = run.q[:, :3]
    return Run(x[1:], np.array(run.v[1:, :3]), run.contact_wrench("body")[:-1, 2])


def in_bullet(scene: Scene, cone: bool = True) -> Run:
    """Return the motion of a scene in Bullet; cone: with its friction cone, else the pyramid (enableConeFriction=0)."""
    client = BulletClient(pybullet.DIRECT)  # which disconnects when it is deleted
    body, plane = _laid(scene, cone, client)
    rows = []
    for _ in range(round(scene.duration / H)):
        client.stepSimulation()
        x, _ = client.getBasePositionAndOrientation(body)
        v, _ = client.getBaseVelocity(body)
        rows.append((*x, *v, _normal_force(body, plane, client)))
    x, v, force = np.split(np.array(rows), [3, 6], axis=1)
    return Run(x, v, force[:, 0])


def _world(gravity: tuple[float, float, float], cone: bool, client: BulletClient) -> int:
    """Create a plane in Bullet; return its number."""
    client.setGravity(*gravity)
    client.setTimeStep(H)
    client.setPhysicsEngineParameter(
        numSubSteps=0, enableConeFriction=int(cone), numSolverIterations=200, solverResidualThreshold=0,
        restitutionVelocityThreshold=0.05,
    )  # fmt: skip
    plane = client.createMultiBody(0, client.createCollisionShape(client.GEOM_PLANE))
    client.changeDynamics(plane, -1, lateralFriction=1, restitution=1)  # they are multiplied
    return plane


def _laid(scene: Scene, cone: bool, client: BulletClient) -> tuple[int, int]:
    """Create the body of a scene and the plane; return their numbers."""
    plane = _world(scene.gravity, cone, client)
    half = [length / 2 for length in scene.size]
    size: dict[str, Any] = {"halfExtents": half} if scene.kind == "box" else {"radius": scene.size[0]}
    kind = client.GEOM_BOX if scene.kind == "box" else client.GEOM_SPHERE
    shape = client.createCollisionShape(kind, **size)
    body = client.createMultiBody(scene.mass, shape, basePosition=[0, 0, scene.height])
    client.changeDynamics(
        body, -1, lateralFriction=scene.mu, restitution=scene.restitution, localInertiaDiagonal=[scene.inertia] * 3,
        rollingFriction=0, spinningFriction=0, **NO_DRAG,
    )  # fmt: skip
    client.resetBaseVelocity(body, scene.velocity, (0, 0, 0))
    return body, plane


def _normal_force(body: int, plane: int, client: BulletClient) -> float:
    return float(sum(point[9] for point in client.getContactPoints(body, plane)))


def standing_in_treesim(name: str, kp: float, kd: float, duration: float = 2.0) -> float:
    """Return the normal force under a robot after standing for `duration` [s], over its weight, minus 1."""
    robot = treesim.load(name, base="floating")
    q = treesim.standing(robot, robot.neutral())
    hold = treesim.PD(robot, q, kp=kp, kd=kd)
    run = treesim.Simulation(treesim.World(robot, ground=treesim.Ground()), dt=H, controller=hold).run(duration, q)
    return float(sum(run.contact_wrench(body, "ground")[-2, 2] for body in run.contact.bodies) / (G * robot.mass) - 1)


def standing_in_bullet(name: str, duration: float = 2.0) -> float:
    """Return the result of `standing_in_treesim` for Bullet.

    Bullet uses its own position motors, and treesim's masses and collision shapes.
    """
    robot = treesim.load(name, base="floating")
    q = treesim.standing(robot, robot.neutral())
    client = BulletClient(pybullet.DIRECT)
    plane = _world((0.0, 0.0, -G), True, client)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "robot.urdf"
        path.write_text(treesim.to_urdf(robot, principal=True, welds=False), encoding="utf-8")
        flags = client.URDF_USE_INERTIA_FROM_FILE
        body = client.loadURDF(str(path), flags=flags)
    _, _, _, com, turn, *_ = client.getDynamicsInfo(body, -1)
    client.resetBasePositionAndOrientation(body, q[:3] + np.array(com), turn)
    for i in range(-1, client.getNumJoints(body)):
        client.changeDynamics(body, i, lateralFriction=0.8, **NO_DRAG)
        if i >= 0 and client.getJointInfo(body, i)[2] != client.JOINT_FIXED:
            client.setJointMotorControl2(body, i, client.POSITION_CONTROL, targetPosition=0.0, force=1e4)
    for _ in range(round(duration / H)):
        client.stepSimulation()
    return _normal_force(body, plane, client) / (G * robot.mass) - 1


BOX = Scene("box", (0.2, 0.2, 0.2), 10.0, 10 * 0.04 / 6)
SLIDER = BOX._replace(mu=0.4, inertia=STEADY, velocity=(2 * float(np.cos(HEADING)), 2 * float(np.sin(HEADING)), 0.0))
BALL = Scene("sphere", (0.1,), 1.0, 4e-3, height=1.1, duration=1.3)


def second_top(run: Run) -> float:
    """Return the height of a ball after its first impact [m]."""
    z = run.x[:, 2] - 0.1
    bottom = int(np.argmax(run.v[:, 2] > 0))
    return float(z[bottom:].max())


def distance(run: Run) -> float:
    """Return the final distance of a body along the plane [m]."""
    return float(np.linalg.norm(run.x[-1, :2]))


def heading(run: Run) -> float:
    """Return the final direction of a body in the plane [degrees]."""
    return float(np.degrees(np.arctan2(run.x[-1, 1], run.x[-1, 0])))


def cases() -> Iterator[tuple[str, float, float, float]]:
    """Yield name, closed form, treesim's and Bullet's value of every case."""
    own, other = in_treesim(BOX), in_bullet(BOX)
    yield "box of 10 kg: normal force [N]", 10 * G, own.force[-1], other.force[-1]
    yield "box of 10 kg: depth [m]", 0.0, 0.1 - own.x[-1, 2], 0.1 - other.x[-1, 2]
    yield (
        "solo12 stands: normal force / weight - 1",
        0.0,
        standing_in_treesim("solo12", 20, 1),
        standing_in_bullet("solo12"),
    )
    for mu, inertia, name in ((0.501, None, ""), (0.499, None, ""), (0.499, STEADY, ", steady"), (0.3, None, "")):
        scene = BOX._replace(mu=mu, slope=SLOPE, inertia=inertia or BOX.inertia)
        exact = max(0.0, G * float(np.sin(SLOPE) - mu * np.cos(SLOPE)))
        speeds = (float(run.v[-1, 0]) for run in (in_treesim(scene), in_bullet(scene)))
        yield f"slope of 1 in 2, mu {mu}{name}: speed after 1 s [m/s]", exact, *speeds
    own = in_treesim(SLIDER)
    for name, cone in (("cone", True), ("pyramid", False)):
        other = in_bullet(SLIDER, cone)
        yield f"slides at 37 degrees, {name}: stops after [m]", 4 / (2 * 0.4 * G), distance(own), distance(other)
        yield f"slides at 37 degrees, {name}: direction [degrees]", 37.0, heading(own), heading(other)
    for e in (1.0, 0.8, 0.5):
        scene = BALL._replace(restitution=e)
        yield (
            f"ball from 1 m, restitution {e:g}: second top [m]",
            e * e,
            *(second_top(run) for run in (in_treesim(scene), in_bullet(scene))),
        )


def main() -> None:
    """Print the table."""
    print(f"{'':58s}{'exact':>12s}{'treesim off by':>16s}{'Bullet off by':>16s}")
    for name, exact, own, other in cases():
        print(f"{name:58s}{exact:12.7g}{own - exact:+16.1e}{other - exact:+16.1e}")


if __name__ == "__main__":
    main()
