"""Scenes: a robot with losses, limits or ground under a control law, given alike to every engine."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..model.tree import Tree


class Law(NamedTuple):
    """Control law tau = constant + amplitude sin(2 pi frequency t) + kp (posture - q) - kd v.

    An engine evaluates the law for its own state at the start of each step. The torque is constant during the step.

    Parameters
    ----------
    constant, amplitude : ndarray, shape (nv,)
        Joint forces [N, N m].
    frequency : float
        Frequency [Hz].
    kp, kd : ndarray, shape (nv,)
        Gains; 0 for joints with several degrees of freedom.
    posture : ndarray, shape (nq,)
        Target configuration.
    """

    constant: np.ndarray
    amplitude: np.ndarray
    frequency: float
    kp: np.ndarray
    kd: np.ndarray
    posture: np.ndarray

    def torque(self, robot: Tree, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the joint forces that the control law computes for a time and a state.

        Parameters
        ----------
        robot : Tree
            Robot of the scene.
        t : float
            Time [s].
        q : ndarray, shape (nq,)
            Configuration.
        v : ndarray, shape (nv,)
            Velocity.

        Returns
        -------
        ndarray, shape (nv,)
            Joint forces [N, N m].
        """
        tau = self.constant + self.amplitude * np.sin(2 * np.pi * self.frequency * t) - self.kd * v
        return tau + self.kp * robot.difference(q, self.posture) if self.kp.any() else tau


class Scene(NamedTuple):
    """Motion that every engine simulates from the same initial state under the same control law.

    Parameters
    ----------
    name : str
        Kind of scene.
    robot : Tree
        Robot with its gravity. Damping, armature, mimic joints and shapes that do not belong to the scene have been
        removed.
    law : Law
        Control law.
    q0 : ndarray, shape (nq,)
        Initial configuration.
    v0 : ndarray, shape (nv,)
        Initial velocity.
    steps : int
        Number of steps.
    dt : float
        Time step [s].
    limits : bool
        True if joints stop at their position limits.
    friction : float, optional
        Coulomb's coefficient between the robot and the plane z = 0; None without a plane.
    """

    name: str
    robot: Tree
    law: Law
    q0: np.ndarray
    v0: np.ndarray
    steps: int
    dt: float
    limits: bool = False
    friction: float | None = None


class Softness(NamedTuple):
    """Compliance of an engine's joint limits and contacts, whose gaps close exponentially.

    Parameters
    ----------
    time_constant : float
        Time [s] in which a gap without load decreases to 1/e.
    regularization : float
        Additional acceleration by compliance, divided by the acceleration of the robot under the same force.
    """

    time_constant: float
    regularization: float

    def static_gap(self, acceleration: float) -> float:
        """Return the gap of a soft limit or contact that a constant load causes at rest [m, rad].

        Parameters
        ----------
        acceleration : float
            Acceleration [m/s^2, rad/s^2] that the load would cause without the constraint.

        Returns
        -------
        float
            Gap [m, rad].
        """
        return self.regularization * self.time_constant**2 * abs(acceleration)


class GroundForces(NamedTuple):
    """Forces of the ground plane on the robot at each step of a scene.

    Parameters
    ----------
    force : ndarray, shape (steps, 3)
        Total force [N] in the world.
    centre : ndarray, shape (steps, 2)
        Centre of pressure [m]; NaN without contact.
    overlap : ndarray, shape (steps,)
        Largest depth of a contact [m].
    margin : float
        Distance [m] by which the engine extends shapes.
    """

    force: np.ndarray
    centre: np.ndarray
    overlap: np.ndarray
    margin: float = 0.0

    @classmethod
    def of_points(
        cls, points: list[tuple[np.ndarray, np.ndarray]], overlap: list[float], margin: float = 0.0
    ) -> GroundForces:
        """Return the ground forces of each step, summed over the contact points of the step.

        Parameters
        ----------
        points : list of (ndarray, ndarray)
            For each step, points (n, 3) [m] and forces (n, 3) [N] on the robot, in the world.
        overlap : list of float
            Largest depth [m] of each step.
        margin : float
            Distance [m] by which the engine extends shapes.

        Returns
        -------
        GroundForces
            Total forces.
        """
        force = np.array([f.reshape(-1, 3).sum(axis=0) for _, f in points])
        moment = np.array([np.cross(p.reshape(-1, 3), f.reshape(-1, 3)).sum(axis=0) for p, f in points])
        return cls(force, centre_of_pressure(force, moment), np.array(overlap), margin)


def centre_of_pressure(force: np.ndarray, moment: np.ndarray) -> np.ndarray:
    """Return the centres of pressure (K, 2) on z = 0 of forces (K, 3) and moments (K, 3) about the origin.

    They are NaN without a force.
    """
    normal = np.where(force[:, 2] > 0, force[:, 2], np.nan)
    return np.stack([-moment[:, 1] / normal, moment[:, 0] / normal], axis=1)


class SceneRun(NamedTuple):
    """Motion of a scene in an engine, in treesim's layout.

    Parameters
    ----------
    q : ndarray, shape (steps + 1, nq)
        Configurations.
    v : ndarray, shape (steps + 1, nv)
        Velocities.
    integrator : str
        Name of treesim's integrator that is equal to the integrator of the engine.
    solves : str
        Description of the equations that the engine solves.
    softness : Softness, optional
        Compliance of the engine's limits, contacts or mimic constraints; None if the scene has none of these, or they
        are rigid.
    ground : GroundForces, optional
        Forces of the plane.
    mimic_gap : float
        Largest deviation [rad, m] of a mimic joint from its position.
    limit_impulse : ndarray, shape (nv,), optional
        Total impulse [N s, N m s] of the position limits, if the engine reports it.
    """

    q: np.ndarray
    v: np.ndarray
    integrator: str
    solves: str
    softness: Softness | None = None
    ground: GroundForces | None = None
    mimic_gap: float = 0.0
    limit_impulse: np.ndarray | None = None
