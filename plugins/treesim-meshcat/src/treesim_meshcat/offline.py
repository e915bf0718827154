"""Simulation of a robot as one HTML file: a page that simulates from disk, without Python, server or network."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import treesim
from treesim import Tree, World
from treesim.actuators.table import check_commanded
from treesim.errors import ArgumentError, UnsupportedError, quoted
from treesim.export.contact_module import contact_module
from treesim.export.description import actuators, commands, description, joints
from treesim.export.kernel_module import command_module, mean_force_module
from treesim.export.policy_module import policy_module
from treesim.export.webassembly import step_module
from treesim.policies import Policy
from treesim.simulation.actuator_memory import ActuatorMemory, actuator_memory
from treesim.simulation.control import default_controller
from treesim.simulation.step import compiled_rule
from treesim.simulation.step_settings import StepSettings, substeps_of
from treesim.simulation.world import as_world
from treesim.system.files import write_whole

from .encoding import to_json
from .overlays import add_overlays
from .pages import page
from .scene import robot_parts, scene_message

BACKENDS = ("aba", "crba_ltdl", "rjk")
SOLVERS = ("pgs", "admm", "convex")
DT = 1e-3  # s
LARGEST_NETWORK = 1 << 23  # weights, of 8 bytes: browsers open no pages of hundreds of megabytes
POLICY = "policy"  # name of the controller that evaluates a policy
NOTE = (
    "This page simulates on its own, in this browser: the steps that treesim takes in Python, in double precision, "
    "with joint forces within their limits, damping, gravity, and the pull of the mouse (Ctrl-drag). "
)
STOPS = "Joint limits and joint friction act with %s. "
LACKS = "Reference runs, momenta, contact points and sensors are not computed here, but by treesim view. "
GROUND = "The robot's collision shapes meet the ground, with Coulomb friction; its links pass through each other."
NO_GROUND = "Contact is not simulated: links pass through each other and through the grid."
NOT_HELD = " Spherical and planar joints are not controlled."
WEIGHTLESS = " A floating robot starts without gravity, as there is no ground to support it."


def write_page(robot: Tree | World, path: str | PathLike[str], q0: ArrayLike | None = None, **settings: Any) -> Path:
    """Write an interactive simulation of a robot to the HTML file `path` and return its path.

    settings: those of `page_html`, with its errors. Raises ArgumentError if `path` cannot be written.
    """
    text = page_html(robot, q0, **settings).encode()
    return write_whole(Path(path), lambda stream: stream.write(text), len(text))


def page_html(
    robot: Tree | World,
    q0: ArrayLike | None = None,
    *,
    v0: ArrayLike | None = None,
    backend: str = "aba",
    integrator: str = "implicit_midpoint",
    contact_solver: str = "pgs",
    dt: float = DT,
    controller: str | None = None,
    kp: float | None = None,
    kd: float | None = None,
    gravity: ArrayLike | None = None,
    speed: float = 1.0,
    policy: Policy | None = None,
    command: ArrayLike | None = None,
    backends: Sequence[str] = BACKENDS,
    contact_solvers: Sequence[str] = SOLVERS,
) -> str:
    """Return an HTML file that simulates a robot, or a World with its ground, from q0 (nq,) and v0 (nv,).

    By default q0 is neutral and placed on the ground, and v0 is 0. backend, integrator, contact_solver, dt [s], gravity
    (3,) [m/s^2], speed: initial settings, which the page's user may change; backend and solver to others of `backends`
    and `contact_solvers`. policy, command: control the robot, whose World has the policy's actuators, without noise of
    observations; the default of q0 is the policy's posture, and that of the command 0. controller: without a policy,
    "none", or "hold", a spring and damper kp, kd about a target, without effect on
    spherical and planar joints. The default is that of `treesim.control.default_controller`, as on live pages; "hold"
    for a world with actuators, whose position servos get the targets, and whose motors no control. The default of kp,
    kd are gains that support the robot's weight. A robot with a floating base starts without gravity by default if
    there is no ground. Raises ArgumentError (a name that the page does not support), UnsupportedError for a world with
    constraints, for a large network, and for a backend without code for single robots, and what `treesim.Stepper`
    raises for actuators.
    Drawn delays are those of rollout 0 and seed 0. Cost: one or two seconds for each backend of a humanoid, and ten,
    the first time ever, for contact.
    """
    world = as_world(robot)
    robot = world.robot
    floating = _floats(robot)
    weightless = floating and not world.ground and gravity is None
    q = _start(world, policy) if q0 is None else np.asarray(q0, float)
    if controller is None:
        controller = default_controller(robot, bool(world.ground), (kp, kd) != (None, None))
        controller = "hold" if world.actuators else controller
    _check_name("controller", controller, ("none", "hold"))
    numbers = {}
    if policy is not None:
        controller, zeros = POLICY, np.zeros(len(policy.command_names))
        by = policy.controller(dt, zeros if command is None else command)
        check_commanded(by, world.actuator_table)
        if policy.network.weights.size > LARGEST_NETWORK:
            count, most = policy.network.weights.size, LARGEST_NETWORK
            raise UnsupportedError(f"the network has {count:,} weights, and pages without Python at most {most:,}")
        numbers = dict(zip(policy.command_names, by.command.tolist(), strict=True))
    stiff, damp = holding_gains(world, q)
    start = {
        "q": q.tolist(), "v": np.zeros(robot.nv).tolist() if v0 is None else np.asarray(v0, float).tolist(),
        "backend": backend, "integrator": integrator, "solver": contact_solver, "dt": dt,
        "controller": controller, "kp": stiff if kp is None else kp,
        "kd": damp if kd is None else kd, "speed": speed, "running": True,
        "command": numbers,
        "gravity": [0.0] * 3 if weightless else np.asarray(robot.gravity if gravity is None else gravity).tolist(),
    }  # fmt: skip
    physics = _physics(
        world, policy, start, dict.fromkeys((backend, *backends)), dict.fromkeys((contact_solver, *contact_solvers))
    )
    physics["note"] += WEIGHTLESS * weightless + NOT_HELD * any(
        body.joint.type in ("spherical", "planar") for body in robot.bodies
    )
    poses = treesim.body_poses(robot, q)[None]
    message = scene_message(robot, robot_parts(robot), poses, robot.name, world.ground)
    add_overlays(message, robot)
    message["view"]["follow"] = floating
    return page("offline", robot.name, scene=to_json({**message, "physics": physics}))


def _floats(robot: Tree) -> bool:
    return robot.base == "floating"


def _start(world: World, policy: Policy | None) -> np.ndarray:
    """Return the posture of the policy, or the neutral configuration, placed on the ground."""
    robot = world.robot
    q = robot.neutral() if policy is None else policy.posture
    return treesim.standing(robot, q) if world.ground and _floats(robot) else q


def _physics(
    world: World, policy: Policy | None, start: dict[str, Any], backends: Iterable[str], solvers: Iterable[str]
) -> dict[str, Any]:
    """Return the initial data of the page's Worker (see worker.js); raises errors for some actuators."""
    table = world.actuator_table
    pieces = 0 if table is None else len(table.pieces)
    modules = {name: step_module(world.robot, name, pieces=pieces) for name in backends}
    active = world.m or world.touching.active
    stages = {name: contact_module(world, name) for name in solvers} if active else {}
    rules = tuple(stages[start["solver"]].share) if stages and world.ground else modules[start["backend"]].rules
    _check_name("integrator", start["integrator"], rules)
    memory = _memory(world, start["integrator"], start["dt"])
    stops = STOPS % " and ".join(stages[start["solver"]].share) if stages else ""
    parts = {
        "modules": modules, "stages": stages, "means": mean_force_module(world),
        "commands": None if memory is None else command_module(memory),
        "policy": None if policy is None else policy_module(policy),
    }  # fmt: skip
    return {
        "facts": {**description(world.robot), "actuators": actuators(world, memory)}, "start": start,
        "panel": {} if policy is None else {"commands": commands(policy)}, "ground": bool(world.ground),
        "note": NOTE + stops + LACKS + (GROUND if world.ground else NO_GROUND),
        **_packed(parts),
    }  # fmt: skip


def _memory(world: World, integrator: str, dt: float) -> ActuatorMemory | None:
    """Return the memory of a world's actuators in steps of dt [s]; raises errors, naming what is not possible."""
    if world.actuator_table is None:
        return None
    rule = compiled_rule(integrator)
    substeps = substeps_of(world.robot, rule, dt, None)
    settings = StepSettings.of(world.robot, rule, dt / substeps, actuators=world.actuator_table)
    return actuator_memory(world, rule, dt, substeps, settings)


def holding_gains(world: World, q: np.ndarray) -> tuple[float, float]:
    """Return kp [N m/rad, N/m] and kd [N m s/rad, N s/m] for all joints of a robot, soft enough for the mouse spring.

    kp is five times the largest gravity torque in a few configurations, to one digit, so that joints deflect by
    at most a fifth of a radian. For a robot on its feet at q it is at least five times m g h, with the base at
    height h; m g h is the stiffness that stabilizes an inverted pendulum. kd is a tenth of kp.
    """
    robot, rng = world.robot, np.random.default_rng(0)
    states = np.array([robot.neutral(), *(robot.random(rng) for _ in range(8))])
    at_rest = np.zeros((len(states), robot.nv))
    torque = np.abs(treesim.inverse_dynamics(robot, states, at_rest, at_rest))
    most = torque[:, [joint["v"] for joint in joints(robot)]].max(initial=0.2)
    if world.ground and _floats(robot):
        most = max(most, robot.mass * float(np.linalg.norm(robot.gravity)) * abs(float(q[2])))
    kp = float(f"{5 * most:.0e}")
    return kp, kp / 10


def _check_name(what: str, name: str, known: Sequence[str]) -> None:
    if name not in known:
        raise ArgumentError(
            f"{what} {quoted(name)} is not known to pages without Python: take one of {', '.join(known)}"
        )


def _packed(part: Any) -> Any:
    """Return modules as data for JSON, with compressed bytes, which the page decompresses; equal for equal modules."""
    if isinstance(part, bytes):
        return np.frombuffer(gzip.compress(part, mtime=0), np.uint8)
    fields = part._asdict() if hasattr(part, "_asdict") else part
    return {name: _packed(value) for name, value in fields.items()} if isinstance(fields, dict) else part
