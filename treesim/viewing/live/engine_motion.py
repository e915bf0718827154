"""Unconstrained motion of a robot, computed by another engine as a reference for treesim's motion."""

from __future__ import annotations

import numpy as np

from ...compare import CANONICAL, Isolated, StateBatch, find_engine
from ...compare.source import canonical, without_losses
from ...dynamics.energy import energy
from ...errors import UnsupportedError, quoted
from ...model.tree import Tree
from ...simulation.trajectory import Trajectory
from ...states.arguments import positive_number


def engine_motion(
    engine: str, robot: Tree, q0: np.ndarray, v0: np.ndarray, duration: float = 10.0, dt: float = 1e-3, t0: float = 0.0
) -> Trajectory:
    """Return the motion of a robot under gravity alone, computed by another engine's integrator.

    The motion is computed without controller, contact, limits, joint damping, friction and armature.

    Parameters
    ----------
    engine : str
        Name of an engine, see `available("engines")`.
    robot : Tree
        The robot.
    q0 : ndarray, shape (nq,)
        Initial configuration.
    v0 : ndarray, shape (nv,)
        Initial velocity.
    duration : float
        Time to simulate [s].
    dt : float
        Step [s].
    t0 : float
        Time of the first state [s].

    Returns
    -------
    Trajectory
        The motion.

    Raises
    ------
    PluginError
        If the engine is not installed.
    UnsupportedError
        If the engine does not support the robot.
    EngineError
        If the engine fails.

    Examples
    --------
    >>> from treesim.viewing.live import engine_motion
    >>> robot = treesim.load("ur5")
    >>> engine_motion("mujoco", robot, robot.neutral(), np.zeros(6), duration=0.1)
    <Trajectory of 'ur5': 101 states, 0 ... 0.1 s>
    """
    adapter = find_engine(engine)
    steps = max(round(positive_number("duration", duration) / positive_number("dt", dt)), 1)
    if reason := adapter.refuses(robot):
        raise UnsupportedError(f"{adapter.title}: {reason}")
    bodies = without_losses(robot)
    none = np.zeros((0, robot.nv))
    batch = StateBatch(np.zeros((0, robot.nq)), none, none, none, q0, v0, steps, dt)
    with Isolated(adapter) as isolated:  # where it may crash
        found = isolated.read(bodies, canonical(bodies), CANONICAL).evaluate(batch)
    if "trajectory_q" not in found.values:
        why = found.skipped.get("trajectory", "it has no function for trajectories")
        raise UnsupportedError(f"{adapter.title} makes no motion of {quoted(robot.name)}: {why}")
    q, v = found.values["trajectory_q"], found.values["trajectory_v"]
    kinetic, potential = energy(bodies, q, v)
    t = t0 + dt * np.arange(steps + 1)
    return Trajectory.of(robot, t, q, v, np.zeros_like(v), kinetic + potential)
