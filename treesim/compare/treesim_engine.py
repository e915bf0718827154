"""treesim as an engine of comparisons, and the random states at which engines are evaluated."""

from __future__ import annotations

import warnings

import numpy as np

import treesim

from ..errors import EnergyWarning
from ..model.tree import Tree
from ..types import Engine
from .engine_model import EngineModel, bodies_of
from .layouts import Reordered
from .results import CANONICAL, RAW, Results, StateBatch


class TreesimModel(EngineModel):
    """treesim's model of a robot, with the interface of other engines' models.

    integrator: of the trajectory. engine_of_runs: argument `engine` of `treesim.Simulation`.
    """

    engine = "treesim"
    mimic_joints = True

    def __init__(self, robot: Tree, integrator: str | None, engine_of_runs: Engine = "auto") -> None:
        super().__init__(robot)
        self.integrator, self.engine_of_runs = integrator, engine_of_runs
        self.layout = Reordered(np.arange(robot.nq), np.arange(robot.nv))

    def evaluate(self, states: StateBatch) -> Results:
        """Return treesim's results for a batch of states, with one call for each quantity."""
        q, v = states.q, states.v
        mass_matrix = self.mass_matrix(q)
        values = self.bodies() | {
            "pose": np.array([self.body_poses(state) for state in q]),
            "mass_matrix": mass_matrix,
            "bias": treesim.bias_forces(self.robot, q, v),
            "inverse_dynamics": self.inverse_dynamics(q, v, states.a),
            "forward_dynamics": self.forward_dynamics(q, v, states.tau),
            "inverse_mass_matrix": np.linalg.inv(mass_matrix),
        }
        if states.steps:
            motion = self.trajectory(states.q0, states.v0, states.steps, states.dt)
            values["trajectory_q"], values["trajectory_v"] = motion
        if states.refinements:
            ends = [self.trajectory(states.q0, states.v0, steps, dt) for steps, dt in states.refinements]
            values["ends_q"], values["ends_v"] = (np.array([x[-1] for x in each]) for each in zip(*ends, strict=True))
        return Results(values)

    def body_poses(self, q: np.ndarray) -> np.ndarray:
        """Return the bodies' poses (N, 4, 4) in the world."""
        return treesim.body_poses(self.robot, q)[1:]

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """Return the mass matrix M (..., nv, nv)."""
        return treesim.mass_matrix(self.robot, q)

    def inverse_mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """Return the inverse of M (..., nv, nv), by numpy."""
        return np.linalg.inv(self.mass_matrix(q))

    def inverse_dynamics(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Return the joint forces tau (..., nv)."""
        return treesim.inverse_dynamics(self.robot, q, v, a)

    def forward_dynamics(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """Return the accelerations (..., nv), the time derivative of v."""
        return treesim.forward_dynamics(self.robot, q, v, tau)

    def trajectory(self, q0: np.ndarray, v0: np.ndarray, steps: int, dt: float) -> tuple[np.ndarray, np.ndarray]:
        """Return q (steps + 1, nq) and v (steps + 1, nv) of the free motion from (q0, v0); NaN after an early end.

        Energy warnings are suppressed: the integrator is the other engine's choice.
        """
        assert self.integrator is not None  # else there are no steps
        free = treesim.World(self.robot, use_limits=False)
        simulation = treesim.Simulation(free, integrator=self.integrator, dt=dt, engine=self.engine_of_runs)
        with warnings.catch_warnings(action="ignore", category=EnergyWarning):
            run = simulation.run(steps * dt, q0=q0, v0=v0)
        missing = ((0, steps + 1 - len(run.q)), (0, 0))
        return np.pad(run.q, missing, constant_values=np.nan), np.pad(run.v, missing, constant_values=np.nan)

    def bodies(self) -> dict[str, np.ndarray]:
        """Return mass (N,), com (N, 3) and inertia (N, 3, 3) of the bodies."""
        return bodies_of([body.inertia for body in self.robot.bodies])


class TreesimEngine:
    """treesim's engine adapter.

    integrator: of its trajectories, None for none. engine_of_runs: argument `engine` of `treesim.Simulation`.
    """

    name = title = "treesim"
    levels = (RAW, CANONICAL)
    timed = CANONICAL

    def __init__(self, integrator: str | None, engine_of_runs: Engine = "auto") -> None:
        self.integrator, self.engine_of_runs = integrator, engine_of_runs

    def version(self) -> str:
        """Return treesim's version."""
        return treesim.__version__

    def refuses(self, robot: Tree) -> str | None:
        """Return None: every robot is supported."""
        return None

    def read(self, robot: Tree, urdf: str = "", level: str = CANONICAL) -> TreesimModel:
        """Return the model of a robot that treesim has already read."""
        return TreesimModel(robot, self.integrator, self.engine_of_runs)


def random_batch(robot: Tree, states: int, seed: int, steps: int, dt: float) -> StateBatch:
    """Return a batch of `states` random states; tau belongs to a random acceleration of order 1."""
    rng = np.random.default_rng(seed)
    q = np.array([robot.random(rng) for _ in range(states)])
    v, a, target = rng.standard_normal((3, states, robot.nv))
    return StateBatch(
        q=q, v=v, a=a, tau=treesim.inverse_dynamics(robot, q, v, target),
        q0=robot.random(rng), v0=rng.standard_normal(robot.nv), steps=steps, dt=dt,
    )  # fmt: skip
