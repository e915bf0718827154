"""Options of `simulate`, `view` and `sweep` that define a simulation, and its construction."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, NamedTuple, cast

import treesim

from ..errors import ArgumentError, UnknownNameError, quoted
from ..plugins import DEFAULT_INTEGRATOR
from . import common
from .common import (
    CONTACT,
    CONTROL,
    INTEGRATOR_PANEL,
    MODEL,
    START,
    BaseOption,
    MimicOption,
    SubstepsOption,
    checked_name,
    checked_seconds,
    described_robot,
    named_on_command_line,
    option,
)
from .states import SPELLINGS, external_force, gravity_vector, initial_state, push_vector
from .world_files import WorldStart, is_world_file, load_world

if TYPE_CHECKING:
    import numpy as np

    from ..contact.ground import Ground
    from ..contact.surface import StaticSurface
    from ..model.tree import Tree
    from ..policies import Policy
    from ..simulation.control import PD, Controller, Zero
    from ..simulation.external_forces import ExternalForce
    from ..simulation.simulation import Simulation
    from ..simulation.world import World
    from ..types import ControllerName
    from .policies import ContractPolicy

DT, BACKEND, INTEGRATOR, SOLVER = 1e-3, "aba", DEFAULT_INTEGRATOR, "pgs"
KP, KD, FRICTION = 100.0, 10.0, 0.8
CARRYING = 5.0  # times m g h, the negative stiffness of gravity on an upright robot
KD_PART = 0.05  # [s] kd / kp of a standing robot
PUSH_AT, PUSH_FOR = 1.0, 0.2


@dataclass(frozen=True)
class SimulationOptions:
    """Options that define a simulation, of `simulate`, `view` and `sweep`.

    Options
    -------
    --convex-parts
        Replace each collision mesh that is not convex by its convex parts. The first time, this may take minutes.
    --gravity
        Gravity (m/s^2): its z component, or x,y,z. Default: the robot's gravity.
    --controller
        none, hold or pd. hold is PD control to the initial configuration, pd to the neutral one, moved into the
        position limits.
    --kp
        Position gain of PD control (N m/rad, N/m). The default of hold supports a floating robot on a ground.
    --kd
        Velocity gain of PD control (N m s/rad, N s/m).
    --ground
        Add a floor at z = 0. A robot with a floating base is placed on the floor.
    --ground-friction
        Coefficient of Coulomb friction of --ground or --terrain.
    --terrain
        Mesh file (in metres) of a static surface that replaces the floor. The normals of its triangles must point out
        of the solid.
    --contact-solver
        Contact solver. `treesim plugins` lists all contact solvers.
    --dt
        Time step (s).
    --integrator
        Integrator. `treesim plugins` lists all integrators.
    --backend
        Forward-dynamics backend. `treesim plugins` lists all backends.
    """

    base: BaseOption = "auto"
    mimic: MimicOption = None
    convex_parts: Annotated[bool, option("--convex-parts", panel=MODEL)] = False
    gravity: Annotated[str | None, option(panel=MODEL)] = None
    q0: Annotated[
        str | None,
        option(help=f"Initial configuration: {SPELLINGS}.", panel=START, autocompletion=common.completed("joints")),
    ] = None
    v0: Annotated[str | None, option(help=f"Initial velocity: {SPELLINGS}.", panel=START)] = None
    controller: Annotated[str | None, option(panel=CONTROL)] = "none"
    kp: Annotated[float | None, option(panel=CONTROL, show_default=f"{KP:g}")] = None
    kd: Annotated[float | None, option(panel=CONTROL, show_default=f"{KD:g}")] = None
    ground: Annotated[bool | None, option("--ground", panel=CONTACT)] = False
    ground_friction: Annotated[float | None, option(panel=CONTACT, show_default=f"{FRICTION:g}")] = None
    terrain: Annotated[str | None, option(panel=CONTACT, metavar="FILE")] = None
    contact_solver: Annotated[str, option(panel=CONTACT, autocompletion=common.completed("contact_solvers"))] = SOLVER
    dt: Annotated[float, option(panel=INTEGRATOR_PANEL)] = DT
    integrator: Annotated[str, option(panel=INTEGRATOR_PANEL, autocompletion=common.completed("integrators"))] = (
        INTEGRATOR
    )
    backend: Annotated[str, option(panel=INTEGRATOR_PANEL, autocompletion=common.completed("dynamics"))] = BACKEND
    substeps: SubstepsOption = None


@dataclass(frozen=True)
class RunOptions(SimulationOptions):
    """Options of a single simulation: the command `simulate`.

    Options
    -------
    --seed
        Seed of a random initial configuration.
    --push
        Force that pushes the root link: x,y,z (N) along the world's axes.
    --push-at
        Time at which --push starts (s).
    --push-for
        Duration of --push (s).
    --force
        External force on a link, written as LINK:x,y,z (N) along the world's axes. With @start:stop (s), the force acts
        from start to stop. May be repeated.
    others
        Further robot in the world, at a place (m). May be repeated. Default of the place: 1 m to the left of the one
        before.
    """

    controller: Annotated[str | None, option(panel=CONTROL, show_default="none; hold with actuators of a file")] = None
    seed: Annotated[int | None, option(panel=START, min=0)] = None
    push: Annotated[str | None, option(panel=CONTROL)] = None
    push_at: Annotated[float | None, option(panel=CONTROL, show_default=f"{PUSH_AT:g}")] = None
    push_for: Annotated[float | None, option(panel=CONTROL, show_default=f"{PUSH_FOR:g}")] = None
    force: Annotated[list[str] | None, option(panel=CONTROL, metavar="LINK:X,Y,Z[@START:STOP]")] = None
    others: Annotated[list[str] | None, option("--with", panel=MODEL, metavar="ROBOT[@X,Y,Z]")] = None


@dataclass(frozen=True)
class ViewOptions(RunOptions):
    """Options of `view`, which selects controller and ground if they are not given."""

    controller: Annotated[str | None, option(panel=CONTROL, show_default="hold on a ground, else none")] = None
    ground: Annotated[
        bool | None,
        option(
            "--ground/--no-ground",
            panel=CONTACT,
            show_default="if a floating-base robot has collision shapes",
        ),
    ] = None


class SimulationSetup(NamedTuple):
    """A simulation ready to run.

    robot, its initial state q (nq,), v (nv,), the simulation, its controller's name and gains, and push: wraps
    the controller with a push force, if requested. policy: the network that controls the robot, if there is one.
    """

    robot: Tree
    q: np.ndarray
    v: np.ndarray
    simulation: Simulation
    controller: ControllerName
    kp: float
    kd: float
    push: Callable[[Controller], Controller] | None
    policy: Policy | None = None


def checked_steps(duration: float, dt: float) -> int:
    """Return the number of steps of --dt in --duration; raises ArgumentError if they do not match."""
    from ..simulation.durations import step_count

    checked_seconds("--duration", duration)
    checked_seconds("--dt", dt)
    return step_count(duration, dt, ("--duration", "--dt"))


def build_simulation(source: str, options: RunOptions, policy: ContractPolicy | None = None) -> SimulationSetup:
    """Return the simulation that the options define; policy: a network that controls the robot.

    source: a robot, or a Python file that defines a world. ground: None adds one if a floating-base robot has shapes to
    stand on. controller: None selects, with ViewOptions, that of `treesim.control.default_controller`; else none, or
    "hold" for a world with actuators. By default, the gains of "hold" on a ground support a floating robot. Raises a
    TreesimError that names the wrong option.
    """
    _check_names(source, options)
    _check_floor_and_push(options)
    checked_seconds("--dt", options.dt)
    field = None if options.gravity is None else gravity_vector(options.gravity)
    if is_world_file(source):
        if policy is not None:
            raise ArgumentError("--policy: a policy controls a robot, and this is a world: name its robot instead")
        start = _world_start(source, options)
    else:
        start = _robots_start(source, options, policy)
    robot, q, v, network = start.world.robot, start.q, start.v, start.policy
    controller = options.controller or start.controller
    stiffness, damping = start.kp if options.kp is None else options.kp, start.kd if options.kd is None else options.kd
    inner = _drive(robot, q, controller, stiffness, damping)
    drive: Controller = inner
    if policy is not None and network is not None:
        drive = policy.controller(network, options.dt)
    elif start.world.actuator_table is not None:  # servos get their targets, as on a page
        from ..simulation.control import ActuatorCommands

        drive = ActuatorCommands(start.world, inner)
    around = None
    if options.push is not None:
        around = partial(_with_push, robot=robot, push=options.push, push_at=options.push_at, push_for=options.push_for)
        drive = around(drive)
    simulation = treesim.Simulation(
        start.world, options.dt, integrator=options.integrator, backend=options.backend, controller=drive,
        gravity=field, substeps=options.substeps, contact_solver=options.contact_solver,
        external_forces=_external_forces(robot, options.force),
    )  # fmt: skip
    return SimulationSetup(
        robot, q, v, simulation, cast("ControllerName", controller), stiffness, damping, around, network
    )


def _robots_start(source: str, options: RunOptions, policy: ContractPolicy | None) -> WorldStart:
    """Return the world of a robot, other robots and a ground, with the initial state."""
    from ..simulation.control import default_controller
    from ..states.support import usable_shapes
    from .other_robots import joined, on_ground, other_robots

    described = described_robot(source, options.base, options.mimic, options.convex_parts)
    robot = named_on_command_line(described, source)
    q, v = initial_state(robot, options.q0, options.v0, options.seed)
    network = None if policy is None else policy.policy(described)
    if network is not None and options.q0 is None:
        q = network.posture.copy()
    if options.others and policy is not None:
        raise ArgumentError("--with: a policy controls one robot: leave out --policy")
    robots = [(robot, q), *other_robots(options.others or ())]
    bodies = [each for each, _ in robots[1:]]
    ground = options.ground
    if ground is None:
        shapes = any(each.base == "floating" and usable_shapes(each) for each, _ in robots)
        ground = options.ground_friction is not None or shapes
    ground = bool(ground or options.terrain)
    if ground:
        world = _world(robot, options.ground_friction, options.terrain, bodies)
    else:
        world = treesim.World(robot, bodies=bodies)
    if network is not None:
        world = treesim.World(robot, ground=world.ground or None, actuators=network.actuators)
    if options.q0 is None:
        robots[0] = robot, (treesim.World(robot) if bodies else world).close(q)
    if ground:
        robots[options.q0 is not None :] = on_ground(robots[options.q0 is not None :], cast("Ground", world.ground[0]))
    stands = ground and any(each.base == "floating" for each, _ in robots)
    gains = KP, KD
    if options.controller != "pd" and stands:
        gains = max(_carrying(each, q) for each, q in robots if each.base == "floating")
    controller: ControllerName = "none"
    if isinstance(options, ViewOptions):
        controller = default_controller(robot, ground, (options.kp, options.kd) != (None, None))
    return WorldStart(world, *joined(robots, v), controller, *gains, network)


def _world_start(source: str, options: RunOptions) -> WorldStart:
    """Return the world of a Python file with its initial state."""
    world, start = load_world(source, options)
    robot = world.robot
    q, v = initial_state(robot, options.q0, options.v0, options.seed, start)
    stands = bool(world.ground) and robot.base == "floating" and options.controller != "pd"
    gains = _carrying(robot, q) if stands else (KP, KD)
    holds = world.actuators or (isinstance(options, ViewOptions) and robot.effort_limit.any())
    controller: ControllerName = "hold" if holds else "none"
    return WorldStart(world, q, v, controller, *gains)


def _carrying(robot: Tree, q: np.ndarray) -> tuple[float, float]:
    """Return PD gains (kp, kd) that support a standing robot.

    kp is a multiple of m g h, with h the base's height in q, rounded to two digits.
    """
    g, floating = math.hypot(*robot.gravity), robot.q_index[robot.bodies[0].joint.name].start
    kp = max(CARRYING * robot.mass * g * abs(float(q[floating + 2])), 1.0)
    kp = float(f"{kp:.1e}")
    return kp, kp * KD_PART


def _world(robot: Tree, friction: float | None, terrain: str | None, bodies: Sequence[Tree]) -> World:
    """Return the robot's world with other robots and a floor, or the mesh of a file `terrain`.

    Raises ArgumentError without shapes, or for invalid friction; for a mesh also ModelError.
    """
    mu = FRICTION if friction is None else friction
    try:
        floor: StaticSurface = treesim.Ground(friction=mu)
    except ArgumentError as error:
        raise ArgumentError(f"--ground-friction: {error}") from None
    try:
        if terrain is not None:
            floor = treesim.StaticMesh.from_file(terrain, friction=mu)
        return treesim.World(robot, ground=floor, bodies=bodies)
    except ArgumentError as error:
        raise ArgumentError(f"{'--ground' if terrain is None else '--terrain'}: {error}") from None


def _drive(robot: Tree, q: np.ndarray, controller: str, kp: float, kd: float) -> Zero | PD:
    """Return the named controller; raises ArgumentError for invalid gains, or if all effort limits are 0."""
    from ..simulation.control import make_controller

    name = cast("ControllerName", controller)
    made = make_controller(name, robot, q, kp, kd)
    if controller != "none" and not robot.effort_limit.any():
        raise ArgumentError(
            f"--controller {controller}: every effort limit of {quoted(robot.name)} is 0, so nothing can be driven"
        )
    return made


def _with_push(drive: Controller, robot: Tree, push: str, push_at: float | None, push_for: float | None) -> Controller:
    """Return the controller with a push force added.

    Raises ArgumentError without a floating base, or for invalid numbers.
    """
    from ..states.arguments import positive_number

    force = push_vector(push)
    start = positive_number("--push-at", PUSH_AT if push_at is None else push_at, zero=True)
    duration = positive_number("--push-for", PUSH_FOR if push_for is None else push_for)
    try:
        return treesim.Pushed(drive, robot, force, start=start, duration=duration)
    except ArgumentError as error:
        raise ArgumentError(f"--push: {error}") from None


def _external_forces(robot: Tree, given: list[str] | None) -> list[ExternalForce]:
    """Return the external forces of --force; raises ArgumentError, and UnknownNameError for an unknown link."""
    forces = [external_force(text) for text in given or ()]
    for force in forces:
        try:
            robot.frame(force.link)
        except UnknownNameError as error:
            raise ArgumentError(f"--force: {error.args[0]}") from None
    return forces


def _check_floor_and_push(options: RunOptions) -> None:
    if options.ground_friction is not None and options.ground is False and options.terrain is None:
        raise ArgumentError("--ground-friction is that of the floor: give --ground too, or leave it out")
    if options.push is None and not (options.push_at is None and options.push_for is None):
        raise ArgumentError("--push-at and --push-for are times of a push: give its force, --push, or leave them out")


def _check_names(source: str, options: RunOptions) -> None:
    from .. import plugins
    from ..simulation.control import CONTROLLERS

    plugins.get("dynamics", options.backend)
    plugins.get("integrators", options.integrator)
    plugins.get("contact_solvers", options.contact_solver)
    controller = options.controller
    if controller is None and not (isinstance(options, ViewOptions) or is_world_file(source)):
        controller = "none"
    if options.controller is not None:
        checked_name("controller", options.controller, CONTROLLERS)
    for name, gain in {"--kp": options.kp, "--kd": options.kd}.items():
        if controller == "none" and gain is not None:
            raise ArgumentError(f"{name} is a gain of --controller hold or pd: take one of them, or leave it out")
