"""What `simulate` and `view` share: the options that make a simulation, and making it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NamedTuple, cast

import typer

from ..errors import ArgumentError
from .common import checked_name, checked_seconds, load_robot
from .states import SPELLINGS, gravity_vector, initial_state

if TYPE_CHECKING:
    import numpy as np

    from ..model.tree import Tree
    from ..simulation import Simulation
    from ..types import ControllerName
    from ..world import World

DT, BACKEND, INTEGRATOR, SOLVER = 1e-3, "aba", "implicit_midpoint", "pgs"
KP, KD, FRICTION = 100.0, 10.0, 0.8

DtOption = Annotated[float, typer.Option(help="Time step (s).")]
BackendOption = Annotated[str, typer.Option(help="Forward dynamics; `treesim plugins` lists them.")]
IntegratorOption = Annotated[str, typer.Option(help="Integration rule; `treesim plugins` lists them.")]
SubstepsOption = Annotated[
    int | None,
    typer.Option(min=1, help="Equal parts of a step; by default as many as the integrator needs.", show_default=False),
]
SeedOption = Annotated[int | None, typer.Option(min=0, help="Start at a random configuration drawn with it.")]
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
    typer.Option("--ground", help="A floor at z = 0, on which a robot with a floating base is put down."),
]
FrictionOption = Annotated[
    float | None, typer.Option(help="Coulomb friction of the --ground.", show_default=f"{FRICTION:g}")
]
ContactSolverOption = Annotated[str, typer.Option(help="Contact solver; `treesim plugins` lists them.")]


class Setup(NamedTuple):
    """A simulation ready to run: the robot, its initial state q (nq,), v (nv,), and the simulation."""

    robot: Tree
    q: np.ndarray
    v: np.ndarray
    simulation: Simulation


def checked_steps(duration: float, dt: float) -> int:
    """Return how many steps of --dt the --duration has; raises ArgumentError naming what is wrong with the two."""
    from ..simulation import step_count

    checked_seconds("--duration", duration)
    checked_seconds("--dt", dt)
    return step_count(duration, dt, ("--duration", "--dt"))


def set_up(
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
    controller: str,
    kp: float | None,
    kd: float | None,
    ground: bool,
    friction: float | None,
    contact_solver: str,
) -> Setup:
    """Return what the options ask for. Raises a TreesimError that names the option, or what it names, if wrong."""
    import treesim

    from ..control import make_controller

    _check_names(backend, integrator, controller, {"--kp": kp, "--kd": kd}, contact_solver)
    if friction is not None and not ground:
        raise ArgumentError("--friction is that of the floor: give --ground too, or leave it out")
    checked_seconds("--dt", dt)
    field = None if gravity is None else gravity_vector(gravity)
    robot = load_robot(source, base, mimic)
    q, v = initial_state(robot, q0, v0, seed)
    world = _world(robot, FRICTION if friction is None else friction) if ground else treesim.World(robot)
    if ground and q0 is None and base == "floating":
        q = treesim.standing(robot, q)
    name = cast("ControllerName", controller)
    drive = make_controller(name, robot, q, KP if kp is None else kp, KD if kd is None else kd)
    if controller != "none" and not robot.effort_limit.any():
        raise ArgumentError(
            f"--controller {controller}: every effort limit of {robot.name!r} is 0, so nothing can be driven"
        )
    how = {"substeps": substeps, "contact_solver": contact_solver}
    simulation = treesim.Simulation(world, backend, integrator, dt, drive, field, **how)  # type: ignore[arg-type]
    return Setup(robot, q, v, simulation)


def _world(robot: Tree, friction: float) -> World:
    """The robot on a floor; raises ArgumentError where it has nothing to stand on, or friction is none."""
    import treesim

    try:
        floor = treesim.Ground(friction=friction)
    except ArgumentError as error:
        raise ArgumentError(f"--friction: {error}") from None
    try:
        return treesim.World(robot, ground=floor)
    except ArgumentError as error:
        raise ArgumentError(f"--ground: {error}") from None


def _check_names(
    backend: str, integrator: str, controller: str, gains: dict[str, float | None], contact_solver: str
) -> None:
    """Refuse what is known to be wrong without the robot, which may take seconds to read."""
    from .. import plugins
    from ..control import CONTROLLERS

    plugins.get("dynamics", backend)
    plugins.get("integrators", integrator)
    plugins.get("contact_solvers", contact_solver)
    checked_name("controller", controller, CONTROLLERS)
    for option, gain in gains.items():
        if controller == "none" and gain is not None:
            raise ArgumentError(f"{option} is a gain of --controller hold or pd: take one of them, or leave it out")
