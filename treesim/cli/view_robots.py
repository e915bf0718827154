"""Robots offered on a live page: installed ones, each set up as `treesim view` would."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING

from ..errors import ArgumentError, quoted
from .common import BASES, print_warning
from .simulation_options import SimulationSetup, ViewOptions, build_simulation
from .world_files import is_world_file

if TYPE_CHECKING:
    from ..viewing.live import LiveSession
    from ..viewing.live.scene import Scene
    from ..viewing.live.settings import Settings
    from .policies import ContractPolicy


LOOK_SECONDS = 0.5  # between two looks at the file of a robot


class InstalledRobots:
    """Robots to choose from: that of the command line, and all installed ones.

    source: the robot of the command line, whose name is `name`. options: of `build_simulation`, for all robots;
    q0, v0 and push apply to the first only. policy: of the first, if it has one.
    """

    def __init__(self, name: str, source: str, options: ViewOptions, policy: ContractPolicy | None = None) -> None:
        from ..urdf import installed_robots

        self._source, self._policy = {name: source}, policy
        self._options = replace(options, q0=None, v0=None, push=None, push_at=None, push_for=None, force=None)
        self.robots = list(dict.fromkeys([name, *(entry.name for entry in installed_robots())]))
        self.bases = list(BASES)

    def load(self, robot: str, base: str) -> tuple[Scene, Settings]:
        """Return a robot's scene and initial settings; raises TreesimError."""
        source = self._source.get(robot, robot)
        chosen = "auto" if is_world_file(source) else base
        options = replace(self._options, base=chosen, ground=None, controller=None, kp=None, kd=None)
        policy = self._policy if robot in self._source else None
        if robot not in self._source:
            options = replace(options, others=None)
        setup = build_simulation(source, options, policy)
        if is_world_file(source) and base != setup.robot.base:
            raise ArgumentError(f"base {quoted(base)}: {quoted(source)} defines the base of its robot: change the file")
        return scene_of(setup, options, policy=policy)


@contextmanager
def reloading(session: LiveSession, source: str, name: str) -> Iterator[None]:
    """Context in which a session that shows the robot `name` loads its file `source` again whenever this changes."""
    path, over = Path(source), Event()
    first = _changed_at(path)  # before the thread runs: a change until then counts

    def failed(why: str) -> None:
        print_warning(why)
        session.physics.trouble = why  # which pages show until a robot is loaded

    def watch() -> None:
        before = first
        while not over.wait(LOOK_SECONDS):
            now = _changed_at(path)
            if now is not None and now != before and session.physics.robot.name == name:
                session.receive({"set": {"robot": name}}, failed)
            before = now or before

    watcher = Thread(target=watch, daemon=True)
    if path.is_file():
        watcher.start()
    try:
        yield
    finally:
        over.set()
        if watcher.is_alive():
            watcher.join()


def _changed_at(path: Path) -> int | None:
    """Return the time of a file's last change [ns]; None if it cannot be read now, as while it is replaced."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return None


def scene_of(
    setup: SimulationSetup, options: ViewOptions, speed: float = 1.0, policy: ContractPolicy | None = None
) -> tuple[Scene, Settings]:
    """Return the scene and initial settings of a simulation setup; policy: that of its robot."""
    from ..viewing.live.panel import POLICY
    from ..viewing.live.scene import Scene
    from ..viewing.live.settings import Settings

    simulation = setup.simulation
    x, y, z = setup.robot.gravity if simulation.gravity is None else simulation.gravity
    gravity = float(x), float(y), float(z)
    methods = options.backend, options.integrator, options.contact_solver
    controller, gains = setup.controller if policy is None else POLICY, (setup.kp, setup.kd)
    settings = Settings(*methods, gravity, simulation.dt, controller, *gains, speed, simulation.substeps)
    start = simulation.world, setup.q, setup.v, setup.robot.base
    command = () if policy is None or setup.policy is None else policy.numbers(setup.policy)
    return Scene(
        *start, setup.push, simulation.external_forces, setup.policy, command, policy and policy.noise
    ), settings
