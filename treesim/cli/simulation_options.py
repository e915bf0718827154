"""Options of `simulate`, `view` and `sweep` that define a simulation, and its construction."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated, NamedTuple, cast

import typer

from ..errors import ArgumentError
from .common import checked_name, checked_seconds, load_robot
from .states import SPELLINGS, gravity_vector, initial_state, push_vector

if TYPE_CHECKING:
    import numpy as np

    from ..model.tree import Tree
    from ..simulation.control import Controller
    from ..simulation.simulation import Simulation
    from ..simulation.world import World
    from ..types import ControllerName

DT, BACKEND, INTEGRATOR, SOLVER = 1e-3, "aba", "implicit_midpoint", "pgs"
KP, KD, FRICTION = 100.0, 10.0, 0.8
CARRYING = 5.0  # times m g h, the negative stiffness of gravity on an upright robot
KD_PART = 0.05  # [s] kd / kp of a standing robot
PUSH_AT, PUSH_FOR = 1.0, 0.2

DtOption = Annotated[float, typer.Option(help="Time step (s).")]
BackendOption = Annotated[str, typer.Option(help="Forward-dynamics backend; `treesim plugins` lists them.")]
IntegratorOption = Annotated[str, typer.Option(help="Integrator; `treesim plugins` lists them.")]
SubstepsOption = Annotated[
    int | None,
    typer.Option(min=1, help="Substeps per step; by default as many as the integrator needs.", show_default=False),
]
SeedOption = Annotated[int | None, typer.Option(min=0, help="Seed of a random initial configuration.")]
Q0Option = Annotated[str | None, typer.Option(help=f"Initial configuration: {SPELLINGS}.")]
V0Option = Annotated[str | None, typer.Option(help=f"Initial velocity: {SPELLINGS}.")]
ControllerOption = Annotated[
    str, typer.Option(help="none; hold (PD about the start); pd (PD towards neutral, within limits).")
]
KpOption = Annotated[
    float | None, typer.Option(help="Stiffness of hold and pd (N m/rad, N/m).", show_default=f"{KP:g}")
]
KdOption = Annotated[
    float | None, typer.Option(help="Damping of hold and pd (N m s/rad, N s/m).", show_default=f"{KD:g}")
]
GravityOption = Annotated[
    str | None, typer.Option(help="Gravity (m/s^2): its z component or x,y,z; the robot's own if not given.")
]
GroundOption = Annotated[
    bool,
    typer.Option("--ground", help="Add a floor at z = 0; a floating-base robot is placed on it."),
]
FrictionOption = Annotated[
    float | None, typer.Option(help="Coulomb friction of the --ground.", show_default=f"{FRICTION:g}")
]
ContactSolverOption = Annotated[str, typer.Option(help="Contact solver; `treesim plugins` lists them.")]
PushOption = Annotated[
    str | None,
    typer.Option(help="Push the root link with this force: x,y,z (N) along the world's axes.", show_default=False),
]
PushAtOption = Annotated[float | None, typer.Option(help="Start of the --push (s).", show_default=f"{PUSH_AT:g}")]
PushForOption = Annotated[float | None, typer.Option(help="Duration of the --push (s).", show_default=f"{PUSH_FOR:g}")]


class SimulationSetup(NamedTuple):
    """A simulation ready to run.

    robot, its initial state q (nq,), v (nv,), the simulation, its controller's name and gains, and push: wraps
    the controller with a push force, if requested.
    """

    robot: Tree
    q: np.ndarray
    v: np.ndarray
    simulation: Simulation
    controller: ControllerName
    kp: float
    kd: float
    push: Callable[[Controller], Controller] | None


def checked_steps(duration: float, dt: float) -> int:
    """Return the number of steps of --dt in --duration; raises ArgumentError if they do not match."""
    from ..simulation.simulation import step_count

    checked_seconds("--duration", duration)
    checked_seconds("--dt", dt)
    return step_count(duration, dt, ("--duration", "--dt"))


def build_simulation(
    source: str,
    *,
    base: str,
    mimic: str | None,
    gravity: str | None,
    seed: int | None,
    q0: str | None,
    v0: str | None,
    dt: float,
    backend: str,
    integrator: str,
    substeps: int | None,
    controller: str | None,
    kp: float | None,
    kd: float | None,
    ground: bool | None,
    friction: float | None,
    contact_solver: str,
    push: str | None,
    push_at: float | None,
    push_for: float | None,
) -> SimulationSetup:
    """Return the simulation that the options define.

    ground: None adds one if a floating-base robot has shapes to stand on. controller: None selects that of
    `treesim.control.default_controller`, on a ground with gains that support the robot. Raises a TreesimError
    that names the wrong option.
    """
    import treesim

    from ..simulation.control import default_controller
    from ..states.support import candidates

    _check_names(backend, integrator, controller, {"--kp": kp, "--kd": kd}, contact_solver)
    _check_floor_and_push(friction, ground, push, push_at, push_for)
    checked_seconds("--dt", dt)
    field = None if gravity is None else gravity_vector(gravity)
    robot = load_robot(source, base, mimic)
    q, v = initial_state(robot, q0, v0, seed)
    if ground is None:
        ground = friction is not None or (robot.base == "floating" and bool(candidates(robot).shapes))
    world = _world(robot, FRICTION if friction is None else friction) if ground else treesim.World(robot)
    if q0 is None:
        q = world.close(q)
    if ground and q0 is None and robot.base == "floating":
        q = treesim.standing(robot, q)
    stiffness, damping = KP, KD
    if controller is None:
        controller = default_controller(robot, ground, (kp, kd) != (None, None))
        if ground and robot.base == "floating":
            stiffness, damping = _carrying(robot, q)
    stiffness, damping = stiffness if kp is None else kp, damping if kd is None else kd
    drive = _drive(robot, q, controller, stiffness, damping)
    around = None
    if push is not None:
        around = partial(_pushed, robot=robot, push=push, push_at=push_at, push_for=push_for)
        drive = around(drive)
    simulation = treesim.Simulation(
        world, dt, integrator=integrator, backend=backend, controller=drive, gravity=field, substeps=substeps,
        contact_solver=contact_solver,
    )  # fmt: skip
    return SimulationSetup(robot, q, v, simulation, cast("ControllerName", controller), stiffness, damping, around)


def _carrying(robot: Tree, q: np.ndarray) -> tuple[float, float]:
    """Return PD gains (kp, kd) that support a standing robot.

    kp is a multiple of m g h, with h the base's height in q, rounded to two digits.
    """
    g, floating = math.hypot(*robot.gravity), robot.q_index[robot.bodies[0].joint.name].start
    kp = max(CARRYING * robot.mass * g * abs(float(q[floating + 2])), 1.0)
    kp = float(f"{kp:.1e}")
    return kp, kp * KD_PART


def _world(robot: Tree, friction: float) -> World:
    """Return the robot's world with a floor; raises ArgumentError without shapes, or for invalid friction."""
    import treesim

    try:
        floor = treesim.Ground(friction=friction)
    except ArgumentError as error:
        raise ArgumentError(f"--friction: {error}") from None
    try:
        return treesim.World(robot, ground=floor)
    except ArgumentError as error:
        raise ArgumentError(f"--ground: {error}") from None


def _drive(robot: Tree, q: np.ndarray, controller: str, kp: float, kd: float) -> Controller:
    """Return the named controller; raises ArgumentError for invalid gains, or if all effort limits are 0."""
    from ..simulation.control import make_controller

    name = cast("ControllerName", controller)
    made = make_controller(name, robot, q, kp, kd)
    if controller != "none" and not robot.effort_limit.any():
        raise ArgumentError(
            f"--controller {controller}: every effort limit of {robot.name!r} is 0, so nothing can be driven"
        )
    return made


def _pushed(drive: Controller, robot: Tree, push: str, push_at: float | None, push_for: float | None) -> Controller:
    """Return the controller with a push force added.

    Raises ArgumentError without a floating base, or for invalid numbers.
    """
    import treesim

    from ..states.arguments import positive_number

    force = push_vector(push)
    start = positive_number("--push-at", PUSH_AT if push_at is None else push_at, zero=True)
    duration = positive_number("--push-for", PUSH_FOR if push_for is None else push_for)
    try:
        return treesim.Pushed(drive, robot, force, start=start, duration=duration)
    except ArgumentError as error:
        raise ArgumentError(f"--push: {error}") from None


def _check_floor_and_push(
    friction: float | None, ground: bool | None, push: str | None, push_at: float | None, push_for: float | None
) -> None:
    if friction is not None and ground is False:
        raise ArgumentError("--friction is that of the floor: give --ground too, or leave it out")
    if push is None and not (push_at is None and push_for is None):
        raise ArgumentError("--push-at and --push-for are times of a push: give its force, --push, or leave them out")


def _check_names(
    backend: str, integrator: str, controller: str | None, gains: dict[str, float | None], contact_solver: str
) -> None:
    from .. import plugins
    from ..simulation.control import CONTROLLERS

    plugins.get("dynamics", backend)
    plugins.get("integrators", integrator)
    plugins.get("contact_solvers", contact_solver)
    if controller is not None:
        checked_name("controller", controller, CONTROLLERS)
    for option, gain in gains.items():
        if controller == "none" and gain is not None:
            raise ArgumentError(f"{option} is a gain of --controller hold or pd: take one of them, or leave it out")
