"""Robots offered on a live page: installed ones, each set up as `treesim view` would."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from .common import BASES
from .simulation_options import SimulationSetup, ViewOptions, build_simulation

if TYPE_CHECKING:
    from ..viewing.live.scene import Scene
    from ..viewing.live.settings import Settings
    from .policies import ContractPolicy


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
        options = replace(self._options, base=base, ground=None, controller=None, kp=None, kd=None)
        policy = self._policy if robot in self._source else None
        setup = build_simulation(self._source.get(robot, robot), options, policy)
        return scene_of(setup, options, policy=policy)


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
