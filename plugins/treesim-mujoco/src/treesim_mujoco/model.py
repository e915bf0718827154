"""One robot in MuJoCo, evaluated in treesim's layout."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np

from treesim.compare import BenchmarkCase, ContactScene, EngineModel, Motion, States, Stepping

from . import contact, timed
from .layout import MujocoLayout
from .reading import body_name, massless_with_inertia, model_of

if TYPE_CHECKING:
    from treesim import Tree


INTEGRATORS = {
    "Euler": mujoco.mjtIntegrator.mjINT_EULER,
    "implicitfast": mujoco.mjtIntegrator.mjINT_IMPLICITFAST,
    "RK4": mujoco.mjtIntegrator.mjINT_RK4,
}

# warnings of MuJoCo for states that are not finite or too large, after which it resets the simulation
RESETS = tuple(int(getattr(mujoco.mjtWarning, f"mjWARN_BAD{what}")) for what in ("QPOS", "QVEL", "QACC"))


class MujocoModel(EngineModel):
    """MuJoCo's model of a robot's bodies, without contacts, limits and other constraints.

    urdf: text prepared for MuJoCo. changes: those made to it. Raises UnsupportedError if MuJoCo does not
    support the robot, and EngineError if it reads other joints than treesim.
    """

    engine = timed.ENGINE
    integrators = tuple(INTEGRATORS)

    def __init__(self, robot: Tree, urdf: str, changes: tuple[str, ...]) -> None:
        self._serve(robot, model_of(robot, urdf), (*changes, "constraints and contacts off, integrator Euler"))
        if lost := massless_with_inertia(urdf):
            self.known_faults = (
                f"{timed.ENGINE} loses the inertia of massless links as it merges them: {', '.join(lost)}",
            )

    def _serve(self, robot: Tree, model: Any, changes: tuple[str, ...]) -> None:
        """Use this MuJoCo model from now on."""
        super().__init__(robot)
        self.changes = changes
        self.model: Any = model
        self.data: Any = mujoco.MjData(self.model)
        self.layout: MujocoLayout = MujocoLayout(robot, self.model)
        self._bodies = [self.model.body(body_name(body.name)).id for body in robot.bodies]

    def bodies(self) -> dict[str, np.ndarray]:
        """Return the bodies' mass (N,), com (N, 3) and inertia (N, 3, 3) about it, each in the body's frame."""
        axes = np.array([_rotation(quaternion) for quaternion in self.model.body_iquat[self._bodies]]).reshape(-1, 3, 3)
        moments = self.model.body_inertia[self._bodies]
        return {
            "mass": self.model.body_mass[self._bodies],
            "com": self.model.body_ipos[self._bodies],
            "inertia": (axes * moments[:, None, :]) @ np.swapaxes(axes, 1, 2),
        }

    def body_poses(self, q: np.ndarray) -> np.ndarray:
        """Return the bodies' poses (N, 4, 4) in the world."""
        self._place(q)
        poses = np.tile(np.eye(4), (self.robot.n_bodies, 1, 1))
        poses[:, :3, :3] = self.data.xmat[self._bodies].reshape(-1, 3, 3)
        poses[:, :3, 3] = self.data.xpos[self._bodies]
        return poses

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """Return the mass matrix M (nv, nv)."""
        full = np.empty((self.model.nv, self.model.nv))
        self._place(q)
        mujoco.mj_makeM(self.model, self.data)
        mujoco.mj_fullM(self.model, self.data, full)
        return self.layout.matrix_from_engine(q, full)

    def inverse_mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """Return the inverse of M (nv, nv), from unit forces and the factors of M."""
        units = np.eye(self.model.nv)
        solved = np.empty_like(units)
        self._place(q)
        mujoco.mj_makeM(self.model, self.data)
        mujoco.mj_factorM(self.model, self.data)
        mujoco.mj_solveM(self.model, self.data, solved, units)
        return self.layout.matrix_from_engine(q, solved)

    def inverse_dynamics(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Return the joint forces tau (nv,)."""
        self._set(q, v)
        self.data.qacc[:] = self.layout.acceleration_to_engine(q, v, a)
        mujoco.mj_inverse(self.model, self.data)
        return self.layout.force_from_engine(q, np.array(self.data.qfrc_inverse))

    def forward_dynamics(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """Return the accelerations (nv,), the time derivative of v."""
        self._set(q, v)
        self.data.qfrc_applied[:] = self.layout.force_to_engine(q, tau)
        mujoco.mj_forward(self.model, self.data)
        return self.layout.acceleration_from_engine(q, v, np.array(self.data.qacc))

    def trajectory(self, q0: np.ndarray, v0: np.ndarray, steps: int, dt: float) -> tuple[np.ndarray, np.ndarray]:
        """Return q (steps + 1, nq) and v (steps + 1, nv) of the free motion, by semi-implicit Euler."""
        self._set(q0, v0)
        self.data.qfrc_applied[:] = 0.0
        self.model.opt.timestep = dt
        q, v = [np.array(self.data.qpos)], [np.array(self.data.qvel)]
        for _ in range(steps):
            mujoco.mj_step(self.model, self.data)
            q.append(np.array(self.data.qpos))
            v.append(np.array(self.data.qvel))
        ours = self.layout.configuration_from_engine(np.array(q))
        return ours, self.layout.velocity_from_engine(ours, np.array(v))

    def free_motion(
        self, q0: np.ndarray, v0: np.ndarray, dt: float, steps: int, every: int, integrator: str
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """Return q, v after every `every` steps of mj_step, and the run time [s].

        NaN after MuJoCo resets the simulation to its start, as it does after a divergence.
        """
        self.model.opt.integrator, self.model.opt.timestep = INTEGRATORS[integrator], dt
        mujoco.mj_resetData(self.model, self.data)
        self._set(q0, v0)
        q, v, seconds = [], [], 0.0
        for _ in range(steps // every):
            began = time.perf_counter()
            mujoco.mj_step(self.model, self.data, nstep=every)
            seconds += time.perf_counter() - began
            gone = any(self.data.warning[k].number for k in RESETS)
            q.append(np.full(self.model.nq, np.nan) if gone else np.array(self.data.qpos))
            v.append(np.full(self.model.nv, np.nan) if gone else np.array(self.data.qvel))
        self.model.opt.integrator = INTEGRATORS["Euler"]
        ours = self.layout.configuration_from_engine(np.array(q))
        return ours, self.layout.velocity_from_engine(ours, np.array(v)), seconds

    def _set(self, q: np.ndarray, v: np.ndarray) -> None:
        self.data.qpos[:] = self.layout.configuration_to_engine(q)
        self.data.qvel[:] = self.layout.velocity_to_engine(q, v)

    def _place(self, q: np.ndarray) -> None:
        """Set the configuration and compute the bodies' positions."""
        self.data.qpos[:] = self.layout.configuration_to_engine(q)
        mujoco.mj_kinematics(self.model, self.data)
        mujoco.mj_comPos(self.model, self.data)

    # calls to be timed

    def calls(self, state: States) -> list[BenchmarkCase]:
        """Return the calls on one state, which is written to MuJoCo's data beforehand."""
        return timed.calls(self.model, self.data, self.layout, state)

    def derivatives(self, states: States) -> list[BenchmarkCase]:
        """Return mjd_transitionFD, one state after the other."""
        return timed.derivatives(self.model, self.layout, states)

    def batches(self, states: States, threads: int) -> list[BenchmarkCase]:
        """Return no calls: MuJoCo's batches are rollouts."""
        return []

    def rollouts(self, motion: Motion, threads: int) -> list[BenchmarkCase]:
        """Return mujoco.rollout and mujoco.batch, by semi-implicit Euler.

        Forces on a floating base must be zero: in treesim they rotate with it, in MuJoCo they stay in world axes.
        """
        return timed.rollouts(self.model, self.layout, motion, threads)

    def steppings(self, scene: ContactScene) -> list[Stepping]:
        """Return mj_step by two integrators, with both friction cones, and with settings against creep of contacts."""
        return contact.steppings(scene)

    def contact_rollouts(self, scene: ContactScene, count: int, steps: int, threads: int) -> list[BenchmarkCase]:
        """Return mujoco.rollout and mujoco.batch of the scene, with both friction cones."""
        return contact.rollouts(scene, count, steps, threads)


def _rotation(quaternion: np.ndarray) -> np.ndarray:
    """Return the (3, 3) rotation of MuJoCo's quaternion, w first."""
    rotation = np.empty(9)
    mujoco.mju_quat2Mat(rotation, quaternion)
    return rotation.reshape(3, 3)
