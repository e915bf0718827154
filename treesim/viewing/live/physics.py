"""Physics of a live simulation: robot, world, reference run, settings, and mouse spring."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from ...contact.ground import planes_of
from ...errors import ArgumentError, TreesimError, quoted
from ...model.tree import Tree
from ...policies.controller import PolicyController
from ...simulation.control import PD, make_controller
from ...simulation.player import Frame, Player
from ...simulation.trajectory import Trajectory
from ...simulation.world import World
from ...states.arguments import short_repr
from ...states.standing import standing
from ...validation.values import known_name
from .controller import Commands, Drive, without_effort_limits
from .forces import Force
from .history import History, Moment
from .mouse_spring import MouseSpring
from .panel import NO_FRAME, POLICY, finite, is_number, movable, points_of, readings, seconds_of, total_energy
from .reference import NONE, SIMULATION, RecordedReference, Reference, ReferenceSettings, SimulatedReference
from .scene import Scene
from .screen import motion_state
from .settings import CHECKS, Settings
from .timed import TimedSimulation

FPS = 60.0
AT_LIMIT = 1e-9  # rad, m: tolerance of limits for rounded values of sliders
PACE_WINDOW = 1.0  # s: window of the real-time factor
MOST_FORCES = 100
COMPILED = ("backend", "integrator", "solver")  # settings whose change may require compilation


class LivePhysics:
    """Simulation whose settings, targets and state change while it runs; for one thread.

    scene: start. settings: initial settings. show(frame), clock, sleep: of the player. recordings: motions for
    the reference run, by name. Backends, integrators and solvers run by the engine "generic", so that another robot
    needs no compilation. Raises what `treesim.Simulation` raises.
    """

    def __init__(
        self,
        scene: Scene,
        settings: Settings,
        show: Callable[[Frame], object],
        clock: Callable[[], float],
        sleep: Callable[[float], object],
        recordings: Mapping[str, Trajectory] | None = None,
    ) -> None:
        self._clock, self.recordings = clock, dict(recordings or {})
        self.history, self._paces = History(), deque[tuple[float, float]]()
        self.settings, self.pull = settings, None
        self.reference_settings, self.reference, self.trouble = ReferenceSettings(), None, None
        self._place(scene)
        simulation = self.simulation(settings, self.drive)
        self.player = Player(
            simulation, q0=scene.q, v0=scene.v, show=show, fps=FPS, speed=settings.speed, clock=clock, sleep=sleep
        )
        self._began()

    pull: MouseSpring | None
    reference: Reference | None
    trouble: str | None
    robot: Tree
    world: World

    # ---- the world ----

    def _place(self, scene: Scene) -> None:
        self.scene, self.robot = scene, scene.world.robot
        self.world = scene.world
        if not scene.world.actuators:
            self.world = scene.world.with_robot(without_effort_limits(scene.world.alone))
        self.joints = movable(self.robot)
        self.target = scene.q.copy()
        self.frame, self.forces, self.command = NO_FRAME, dict[str, Force](), np.array(scene.command, float)
        self.drive = self._drive(self.settings)
        self.drive.forces = self.forces

    def _drive(self, settings: Settings) -> Drive | Commands:
        if settings.controller == POLICY:
            inner: Any = self.scene.policy_controller(settings.dt, self.command)
        else:
            inner = make_controller(settings.controller, self.robot, self.target, settings.kp, settings.kd)
        if self.world.actuators:
            return Commands(self.world, inner, self.scene.push)
        return Drive(self.robot, inner, self.scene.push)

    def simulation(self, settings: Settings, drive: Drive | Commands) -> TimedSimulation:
        """Return a simulation with given settings; raises what `treesim.Simulation` raises."""
        return TimedSimulation(
            self.world, settings.dt, integrator=settings.integrator, backend=settings.backend,
            controller=drive.controller, gravity=settings.gravity, engine="generic", substeps=settings.substeps,
            contact_solver=settings.solver, external_forces=drive.external_forces(self.scene.external_forces),
        )  # fmt: skip

    def warm(self, settings: Settings) -> None:
        """Compile all code for some settings, by one step, and one step with a joint at its limit.

        May be called from any thread; raises what a step raises.
        """
        simulation = self.simulation(settings, self._drive(settings))
        q, v = self.scene.q.copy(), np.zeros(self.robot.nv)
        at_limit = q.copy()
        for i in self.joints.values():
            if math.isfinite(self.robot.upper[i]):
                at_limit[i] = self.robot.upper[i]
                break
        for start in (q, at_limit):
            simulation.system.forget()
            simulation.step(0.0, start, v)
        total_energy(self.robot, q, v, np.array(settings.gravity))
        if self.robot.n_bodies:
            MouseSpring(self.robot, self.robot.body_names[-1], np.zeros(3), np.ones(3), settings.dt).tune(q)

    def place(self, scene: Scene, settings: Settings) -> None:
        """Replace the world, and start there without reference run and external forces."""
        before = self.scene, self.settings
        try:
            self.settings, self.pull = settings, None
            self._place(scene)
            self.player.change(self.simulation(settings, self.drive))
        except TreesimError:
            self.settings = before[1]
            self._place(before[0])
            raise
        self.recordings = {}
        self.adopt_reference(ReferenceSettings())
        self.reset()

    # ---- settings ----

    def adopt(self, settings: Settings) -> None:
        """Continue from the same state with other settings.

        Raises what `treesim.Simulation` raises; the settings are then unchanged.
        """
        if settings == self.settings:
            return
        before = self.player.simulation
        drive = self._drive(settings)
        drive.go_on(self.drive)
        drive.pull, drive.forces = self.pull, self.forces
        simulation = self.simulation(settings, drive)
        with suppress(ArithmeticError):  # the state may be invalid, as before
            simulation.step(self.player.t, self.player.q, self.player.v)
        simulation.system.actuators = before.system.actuators if settings.dt == before.dt else None
        self.player.change(simulation)
        try:
            self.player.speed = settings.speed
        except ArgumentError:
            self.player.change(before)
            raise
        self.drive, self.settings = drive, settings
        if self.pull is not None:
            self.pull.dt = settings.dt
        self._paces.clear()
        if self.reference_settings.of == SIMULATION:
            self.adopt_reference(self.reference_settings)

    @property
    def references(self) -> list[str]:
        """Available reference runs: values of `ReferenceSettings.of`."""
        return [NONE, SIMULATION, *self.recordings]

    def adopt_reference(self, reference_settings: ReferenceSettings) -> None:
        """Set the reference run: another one, none, or the same by other methods.

        Raises what `treesim.Simulation` raises, UnknownNameError for an unknown recording, ArgumentError for one of
        another robot.
        """
        known_name("reference", reference_settings.of, self.references)
        if reference_settings.of != SIMULATION:
            recording = self.recordings.get(reference_settings.of)
            self.reference = None if recording is None else RecordedReference(self.robot, recording, self.player.t)
        else:
            settings = reference_settings.over(self.settings)
            drive = self._drive(settings)
            simulation = self.simulation(settings, drive)
            if isinstance(self.reference, SimulatedReference):
                self.reference.change(simulation, drive)
            else:
                self.reference = SimulatedReference(simulation, drive, self._moment(), self.drive)
        self.reference_settings, self.trouble = reference_settings, None

    def meet(self) -> None:
        """Move the reference run to the robot's state."""
        if self.reference is not None:
            self.reference.begin(self._moment(), self.drive)

    def run(self, running: Any) -> None:
        """Play (True) or pause (False); raises ArgumentError for other values."""
        if not isinstance(running, bool):
            raise ArgumentError(f"running must be true or false, got {short_repr(running)}")
        if running != self.player.paused:
            return
        (self.player.resume if running else self.player.pause)()
        self._paces.clear()

    def set_command(self, values: Mapping[str, float]) -> None:
        """Set validated numbers of the policy's command."""
        names = list(self.scene.commands)
        for name, value in values.items():
            self.command[names.index(name)] = value
        if isinstance(self.drive.inner, PolicyController):
            self.drive.inner.command = self.command

    def checked_joints(self, values: Any) -> dict[str, float]:
        """Return validated positions {joint: value}; raises ArgumentError, UnknownNameError."""
        if not isinstance(values, Mapping):
            raise ArgumentError(f"joints must be {{name: position}}, got {short_repr(values)}")
        return {name: self._position(name, value) for name, value in values.items()}

    def _position(self, name: str, value: Any) -> float:
        i = self.joints[known_name("joint", name, self.joints, of=repr(self.robot.name))]
        lower, upper = self.robot.lower[i], self.robot.upper[i]
        if not is_number(value) or not lower - AT_LIMIT <= value <= upper + AT_LIMIT:
            raise ArgumentError(
                f"joint {quoted(name)} goes from {lower:.6g} to {upper:.6g}; it cannot be set to {short_repr(value)}"
            )
        return float(np.clip(value, lower, upper))

    def set_joints(self, positions: Mapping[str, float]) -> None:
        """Set validated joint positions: the robot's while it is paused, else the controller's targets.

        If there is no controller, the running robot gets the controller "hold". Raises ArgumentError if a policy
        computes the targets.
        """
        if self.settings.controller == POLICY and not self.player.paused:
            raise ArgumentError("the policy sets the targets of joints: pause, or choose the controller 'hold'")
        target, places = self.target.copy(), [self.joints[name] for name in positions]
        target[places] = list(positions.values())
        if self.player.paused:
            q = self.player.q.copy()
            q[places] = list(positions.values())
            self.put(self.player.t, self._above_ground(q), self.player.v)
        self.target = target
        if self.settings.controller == "none" and not self.player.paused:
            self.target = self.player.q.copy()
            self.target[places] = target[places]
            self.adopt(replace(self.settings, controller="hold"))
        self.drive.aim(self.target)

    def _above_ground(self, q: np.ndarray) -> np.ndarray:
        """Return q, with a floating base lifted onto the ground if links are inside it."""
        try:
            self.world.start(q)
        except ArgumentError:
            planes = planes_of(self.world.ground)
            if self.scene.base != "floating" or not planes:
                raise
            return standing(self.robot, q, planes[0])
        return q

    # ---- time ----

    def put(self, t: float, q: np.ndarray, v: np.ndarray) -> None:
        """Continue from a state at time t."""
        self.player.reset(q, v, t)
        self._paces.clear()
        self.history.add(self._moment())
        self.meet()

    def _moment(self) -> Moment:
        return Moment(self.player.t, self.player.q.copy(), self.player.v.copy())

    def _began(self) -> None:
        self.history.clear()
        self.history.add(self._moment())
        self._paces.clear()
        self.meet()

    def reset(self) -> None:
        """Restart from the scene's state, target and command, without mouse spring and memory of the policy."""
        self.release()
        self.target, self.command = self.scene.q.copy(), np.array(self.scene.command, float)
        self.drive.aim(self.target)
        self.drive.go_on(self._drive(self.settings))
        self.player.reset(self.scene.q, self.scene.v)
        self._began()

    def step(self) -> None:
        """Pause, and take one step."""
        self.run(False)
        self.player.step()

    def seek(self, t: Any) -> None:
        """Pause at the last recorded state at or before t [s]; later states remain until the motion continues."""
        moment = self.history.at(seconds_of(t))
        if moment is None:
            return
        self.run(False)
        self.player.reset(moment.q, moment.v, moment.t)
        self._paces.clear()
        if self.reference is not None:
            self.reference.seek(moment, self.drive)

    def shown(self, frame: Frame) -> None:
        """Record a frame and advance the reference run; if that fails, remove it, with the reason in `trouble`."""
        self._follow(frame.t)
        self.history.add(Moment(frame.t, frame.q, frame.v))
        now = self._clock()
        self._paces.append((now, frame.t))
        while now - self._paces[0][0] > PACE_WINDOW:
            self._paces.popleft()
        if self.pull is not None:
            self.pull.tune(frame.q)

    def _follow(self, t: float) -> None:
        if self.reference is None:
            return
        try:
            self.reference.advance(t, self.drive)
        except (TreesimError, ArithmeticError) as error:
            self.adopt_reference(replace(self.reference_settings, of=NONE))
            self.trouble = f"the reference cannot continue and is removed: {error}"

    @property
    def pace(self) -> float:
        """Recent speed of the motion as a multiple of real time; NaN if unknown."""
        if len(self._paces) < 2:
            return math.nan
        (began, start), (now, t) = self._paces[0], self._paces[-1]
        return (t - start) / (now - began) if now > began else math.nan

    # ---- mouse spring and forces ----

    def take(self, body: Any, point: Any, target: Any) -> None:
        """Attach the mouse spring to a point (3,) of a body, with a target (3,) in the world [m].

        Raises ArgumentError.
        """
        pull = MouseSpring(self.world.robot, body, point, target, self.settings.dt)
        pull.tune(self.player.q)
        pull.generalised(self.player.q, self.player.v)
        self.pull = self.drive.pull = pull

    def release(self) -> None:
        """Remove the mouse spring."""
        self.pull = self.drive.pull = None

    def push(self, name: str, force: Force | None) -> None:
        """Set the external force of a name, or remove it (None); raises ArgumentError for too many."""
        if force is None:
            self.forces.pop(name, None)
        elif len(self.forces) < MOST_FORCES or name in self.forces:
            self.forces[name] = force
        else:
            raise ArgumentError(f"there are {MOST_FORCES} forces already: remove some, or use the name of one of them")

    # ---- state for pages ----

    def state(self) -> dict[str, Any]:
        """Return the current state and settings as JSON values."""
        player, settings = self.player, self.settings
        return {
            "t": player.t,
            "running": not player.paused,
            "base": self.scene.base,
            **{name: getattr(settings, name) for name in CHECKS},
            "gravity": list(settings.gravity),
            "realTimeFactor": None if player.paused else finite(self.pace),
            "stepTime": getattr(player.simulation, "step_seconds", None),
            "history": list(self.history.span),
            **self._motion(),
            **self.reference_settings.to_dict(),
            "referenceStepTime": None if self.reference is None else self.reference.step_seconds,
        }

    def _motion(self) -> dict[str, Any]:
        """Return motion, forces, energy and momentum of the robot as JSON values."""
        player, robot, settings = self.player, self.robot, self.settings
        q, v = player.q, player.v
        system = player.simulation.system
        wrench = system.contact.wrench_array[1:, :3]
        held = settings.controller != "none"
        aim = self.drive.inner.posture if isinstance(self.drive.inner, PD) else None
        return {
            **motion_state(robot, self.joints, q, v, wrench, self.frame, self.reference),
            "command": dict(zip(self.scene.commands, self.command.tolist(), strict=True)),
            "tau": self.drive.motors(player.t, q, v, system.applied).tolist(),
            "targets": {name: float(aim[i]) for name, i in self.joints.items()} if held and aim is not None else None,
            "energy": total_energy(robot, q, v, np.array(settings.gravity)),
            "points": points_of(system.contact.points) if wrench.any() else [],
            "sensors": readings(system.readings()) if self.world.sensors else {},
            "pull": None if self.pull is None else self.pull.to_dict(),
            "forces": {name: force.to_dict() for name, force in self.forces.items()},
        }
