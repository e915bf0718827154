"""Contact accuracy of a robot that stands, is pushed and falls on a plane; one row for each run."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from treesim.contact.ground import Ground
from treesim.dynamics.operational.motion import center_of_mass
from treesim.errors import ArgumentError, ContactWarning, TreesimError, UrdfError
from treesim.model.tree import Tree
from treesim.simulation.control import PD, Controller, Zero
from treesim.simulation.simulation import Simulation
from treesim.simulation.trajectory import Trajectory
from treesim.simulation.world import World
from treesim.simulation.wrapped_controllers import Pushed
from treesim.states.standing import standing
from treesim.states.support import gaps
from treesim.types import Base
from treesim.urdf import load
from treesim.urdf.resolve import is_robot_name

SCENES = ("stands", "pushed", "falls")  # of a floating base; a fixed one falls onto a plane within its reach
STIFFNESS = 10.0  # of joints, in weights of the robot times the height of its centre of mass per rad
DAMPING_TIME = 0.05  # s: kd = 0.05 s kp
PUSH, PUSHED_AT, PUSHED_FOR = 0.5, 0.3, 0.1  # weights of the robot, s, s
UP = np.array([0.0, 0.0, 1.0])
REACHED = 2e-3  # [m] shapes that descend by more reach the plane
LEAST_LENGTH = 1e-3  # m


class ContactSettings(NamedTuple):
    """Settings of simulations on the plane.

    Names of integrators, time steps [s], duration [s], substeps as in `treesim.Stepper`, and the seed of the
    configurations from which robots with a fixed base fall.
    """

    integrators: tuple[str, ...] = ("implicit_midpoint", "semi_implicit_euler")
    dts: tuple[float, ...] = (1e-3,)
    duration: float = 1.0
    substeps: int | None = None
    seed: int = 0


class ContactRun(NamedTuple):
    """Summary of one run of a robot on a plane, or the reason `why` it did not run.

    contacts: largest number in a step. residual, position_residual: largest residuals of velocities and of
    positions [m/s, rad/s]; None for positions if contact reports none. penetration: largest overlap [m]. given:
    largest energy that impulses added in a step [J]. iterations_mean, iterations_max: of the solver in a step.
    step_s: seconds for a step of `Simulation.run`, by the generic engine. warning: text of the ContactWarning,
    "" for none. why: reason why it did not run, or ended early.
    """

    robot: str
    base: str
    scene: str
    integrator: str
    dt: float
    nv: int | None = None
    steps: int = 0
    contacts: int = 0
    residual: float | None = None
    position_residual: float | None = None
    penetration: float | None = None
    given: float | None = None
    iterations_mean: float | None = None
    iterations_max: int | None = None
    step_s: float | None = None
    warning: str = ""
    why: str = ""


def contact_runs(name: str, base: Base, settings: ContactSettings) -> list[ContactRun]:
    """Return a row for each scene, time step and integrator of one robot on a base.

    If nothing can run, return one row with the reason. name: any source that `treesim.load` reads.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            robot = load(name, base=base)
            start, ground = _start(robot, base, settings)
    except TreesimError as error:
        return [ContactRun(name, base, "", "", 0.0, why=_reason(error))]
    return list(_rows(name if is_robot_name(name) else robot.name, robot, base, start, ground, settings))


def _start(robot: Tree, base: Base, settings: ContactSettings) -> tuple[np.ndarray, Ground]:
    """Return the initial configuration (nq,) of a robot, and the plane below it.

    For a fixed base, the plane's distance is half of how far the shapes descend in free motion.
    """
    if robot.nv == 0:
        raise ArgumentError("nothing of it can move")
    if not robot.mass > 0:
        raise ArgumentError("it has no mass")
    if base == "floating":
        return standing(robot, robot.clamp(robot.neutral())), Ground()
    q = robot.random(np.random.default_rng(settings.seed))
    gaps(robot, q, UP, 0.0)  # raises for a robot without shapes
    free = Simulation(World(robot), integrator=settings.integrators[0], dt=settings.dts[0], engine="generic")
    run = free.run(settings.duration, q)
    lowest = gaps(robot, run.q, UP, 0.0).min(axis=-1)
    if not lowest.min() < lowest[0] - REACHED:
        raise ArgumentError("no shape comes lower than where it starts: no plane is reached")
    return q, Ground(height=float(lowest[0] + lowest.min()) / 2)


def _rows(
    name: str, robot: Tree, base: Base, start: np.ndarray, ground: Ground, settings: ContactSettings
) -> Iterator[ContactRun]:
    for scene in SCENES if base == "floating" else SCENES[-1:]:
        for dt in settings.dts:
            for integrator in settings.integrators:
                row = ContactRun(name, base, scene, integrator, dt, robot.nv)
                try:
                    yield _run(row, World(robot, ground=ground), start, settings)
                except TreesimError as error:
                    yield row._replace(why=_reason(error))


def _run(row: ContactRun, world: World, start: np.ndarray, settings: ContactSettings) -> ContactRun:
    """Simulate a row's scene, and return the row with the results."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        controller = scene_controller(row.scene, world.robot, start)
        simulation = Simulation(
            world, integrator=row.integrator, dt=row.dt, controller=controller, engine="generic",
            substeps=settings.substeps,
        )  # fmt: skip
        simulation.step(0.0, *simulation.initial_state(start))  # kernels are compiled, or read
        run = simulation.run(settings.duration, start)
    unsolved = [str(each.message) for each in caught if issubclass(each.category, ContactWarning)]
    return _summary(row, run)._replace(warning="; ".join(unsolved), why=run.stopped or "")


def _summary(row: ContactRun, run: Trajectory) -> ContactRun:
    """Return the row with the numbers of a trajectory."""
    steps = len(run.t) - 1
    row = row._replace(steps=steps, step_s=run.metadata["wall_seconds"] / max(steps, 1))
    if run.contact is None or not steps:
        return row
    columns = {name: numbers[:steps] for name, numbers in run.contact.columns()}  # the last state begins no step
    contacts, iterations = columns["contact:contacts"], columns["contact:iterations"]
    positions = columns.get("contact:position_residual")
    return row._replace(
        contacts=int(contacts.max()),
        residual=float(columns["contact:residual"].max()),
        position_residual=None if positions is None else float(positions.max()),
        penetration=float(columns["contact:penetration"].max()),
        given=float(columns["contact:certificate"].max(initial=0.0)),
        iterations_mean=float(iterations.mean()),
        iterations_max=int(iterations.max()),
    )


def scene_controller(scene: str, robot: Tree, q: np.ndarray) -> Controller:
    """Return the controller of a scene.

    Joints are under PD control towards q (nq,) while the robot stands and is pushed, and free while it falls.
    The push, half the weight for 0.1 s, acts sideways on the root link.
    """
    if scene == "falls":
        return Zero(robot)
    kp = holding_gains(robot, q)
    hold = PD(robot, q, kp=kp, kd=DAMPING_TIME * kp)
    if scene == "stands":
        return hold
    return Pushed(hold, robot, (0.0, PUSH * _weight(robot), 0.0), start=PUSHED_AT, duration=PUSHED_FOR)


def holding_gains(robot: Tree, q: np.ndarray) -> np.ndarray:
    """Return PD gains (nv,) [N m/rad, N/m] that support a robot in q (nq,) on z = 0 with a small error.

    They are ten weights times the height of the centre of mass per radian; ten weights over that height for
    prismatic joints.
    """
    length = max(float(center_of_mass(robot, q)[2]), LEAST_LENGTH)
    kp = np.full(robot.nv, STIFFNESS * _weight(robot) * length)
    types = {body.joint.name: body.joint.type for body in robot.bodies}
    for name, where in robot.v_index.items():  # mimic joints have no coordinates
        if types[name] == "prismatic":
            kp[where] = STIFFNESS * _weight(robot) / length
    return kp


def _weight(robot: Tree) -> float:
    return float(robot.mass * np.linalg.norm(robot.gravity))


def _reason(error: TreesimError) -> str:
    """Return the error in one line; for a rejected file its first error, without the line."""
    if isinstance(error, UrdfError):
        for finding in error.findings:
            if finding.severity == "error":
                return f"the file is refused: {finding.code}: {finding.message}"
    return " ".join(str(error).split())
