"""treesim's own results, and the states at which both engines are evaluated."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import treesim

from ..model.tree import Tree
from .base import Answers, Question


class Own:
    """treesim as one of the engines compared, called as an adapter is. integrator: the stepping rule of the
    trajectory, None for no trajectory."""

    name = "treesim"

    def __init__(self, integrator: str | None) -> None:
        self.integrator = integrator

    def answer(self, question: Question) -> Answers:
        """Return treesim's arrays for the states of `question`."""
        robot, q, v = question.robot, question.q, question.v
        mass_matrix = treesim.mass_matrix(robot, q)
        values = body_table(robot) | {
            "pose": np.array([treesim.body_poses(robot, state)[1:] for state in q]),
            "mass_matrix": mass_matrix,
            "bias": treesim.bias_forces(robot, q, v),
            "inverse_dynamics": treesim.inverse_dynamics(robot, q, v, question.a),
            "forward_dynamics": treesim.forward_dynamics(robot, q, v, question.tau),
            "inverse_mass_matrix": np.linalg.inv(mass_matrix),
        }
        if question.steps:
            values["trajectory_q"], values["trajectory_v"] = self.trajectory(question, question.q0, question.v0)
        return Answers(values)

    def trajectory(self, question: Question, q0: np.ndarray, v0: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return q (steps + 1, nq) and v (steps + 1, nv) of the free motion from (q0, v0); NaN after an early end."""
        assert self.integrator is not None  # else the question has no steps
        simulation = treesim.Simulation(question.robot, integrator=self.integrator, dt=question.dt)
        run = simulation.run(question.steps * question.dt, q0=q0, v0=v0)
        missing = ((0, question.steps + 1 - len(run.q)), (0, 0))
        return np.pad(run.q, missing, constant_values=np.nan), np.pad(run.v, missing, constant_values=np.nan)


def body_table(robot: Tree) -> dict[str, np.ndarray]:
    """Return mass (N,), com (N, 3) and inertia (N, 3, 3) of the bodies."""
    inertias = [body.inertia for body in robot.bodies]
    return {
        "mass": np.array([part.mass for part in inertias]),
        "com": np.array([part.com for part in inertias]).reshape(-1, 3),
        "inertia": np.array([part.rotational for part in inertias]).reshape(-1, 3, 3),
    }


def without_losses(robot: Tree) -> Tree:
    """Return the robot's bodies alone, without joint damping, Coulomb friction and armature: engines treat these
    differently, and frames and shapes have no part in the dynamics."""
    bodies = [
        replace(body, joint=replace(body.joint, damping=0.0, friction=0.0, armature=0.0)) for body in robot.bodies
    ]
    return treesim.Tree(robot.name, bodies, gravity=robot.gravity.tolist())


def ask(robot: Tree, tier: str, urdf: str, states: int, seed: int, steps: int, dt: float) -> Question:
    """Return a batch of `states` random states; tau is that of a random acceleration of order 1."""
    rng = np.random.default_rng(seed)
    q = np.array([robot.random(rng) for _ in range(states)])
    v, a, target = rng.standard_normal((3, states, robot.nv))
    return Question(
        robot=robot, tier=tier, urdf=urdf, q=q, v=v, a=a, tau=treesim.inverse_dynamics(robot, q, v, target),
        q0=robot.random(rng), v0=rng.standard_normal(robot.nv), steps=steps, dt=dt,
    )  # fmt: skip
