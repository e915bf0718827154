"""One robot in PyBullet, spoken to in treesim's layout. Only the worker process imports this module."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pybullet as bullet

from .conversions import (
    BulletBase,
    InertialFrame,
    base_acceleration_from_bullet,
    base_acceleration_to_bullet,
    base_from_bullet,
    base_motion_map,
    base_to_bullet,
    base_wrench_from_bullet,
    base_wrench_to_bullet,
    quaternion_of,
    rotation_of,
    spherical_from_bullet,
    spherical_to_bullet,
)

BASE = -1  # Bullet's number of the root link
UNIT_STEP = 1.0  # [s]; v+ - v = dt a holds for any dt, and dt = 1 rounds least
NO_DRAG = {
    "linearDamping": 0.0,
    "angularDamping": 0.0,
    "jointDamping": 0.0,
    "maxJointVelocity": 1e9,  # the default caps every speed at 100, that of the base too
}


@dataclass(frozen=True, eq=False)
class BulletJoint:
    """A moving joint: its number in Bullet, its type, its slices of treesim's q and v and of Bullet's degrees of
    freedom, and the inertial frame of the link it moves."""

    index: int
    type: str
    q: slice
    v: slice
    dofs: slice
    inertial: InertialFrame


class BulletMachine:
    """A robot loaded from the URDF file at `path`.

    job: "floating", "gravity" (3,) [m/s^2], "moments" (see strip.Stripped),
    "joints" = treesim's table [{"name", "type", "body", "q", "v"}],
    "motors" (leave Bullet's default motors on) and "merge" (let Bullet merge fixed links): two ways to go wrong.
    Raises ValueError when Bullet's joints are not treesim's.
    """

    def __init__(self, path: str, job: dict[str, Any]) -> None:
        self.floating = bool(job["floating"])
        self.gravity = np.array(job["gravity"], dtype=float)
        bullet.connect(bullet.DIRECT)
        bullet.setPhysicsEngineParameter(numSubSteps=0, enableFileCaching=0)
        flags = bullet.URDF_USE_INERTIA_FROM_FILE
        if job["merge"]:
            flags |= bullet.URDF_MERGE_FIXED_LINKS
        self.robot = bullet.loadURDF(path, flags=flags, useFixedBase=not self.floating)
        self.infos = [bullet.getJointInfo(self.robot, i) for i in range(bullet.getNumJoints(self.robot))]
        self.links = [BASE, *range(len(self.infos))]
        for link in self.links:
            bullet.changeDynamics(self.robot, link, **NO_DRAG)
        self._put_back(job["moments"])
        self.inertial = {link: self._inertial_frame(link) for link in self.links}
        self.bodies = [row["body"] for row in job["joints"]]
        self.joints = self._joint_table(job["joints"])
        self.nq = max((row["q"][1] for row in job["joints"]), default=0)
        self.nv = max((row["v"][1] for row in job["joints"]), default=0)
        if not job["motors"]:
            self._motors_off()

    def _put_back(self, moments: dict[str, list[float]]) -> None:
        """Give links the principal moments that Bullet set to zero while loading; before its first evaluation."""
        names = {BASE: bullet.getBodyInfo(self.robot)[0], **{info[0]: info[12] for info in self.infos}}
        for link, name in names.items():
            if name.decode() in moments:
                bullet.changeDynamics(self.robot, link, localInertiaDiagonal=moments[name.decode()])

    # --- what was loaded ------------------------------------------------------------------------------------------

    def model(self) -> dict[str, np.ndarray]:
        """Return "mass" (N,), "com" (N, 3) and "inertia" (N, 3, 3) about the centre of mass of treesim's bodies.

        Links that a fixed joint holds are added to the body they belong to, with Bullet's poses of the links.
        """
        carrier = self._carriers()
        poses = self._link_poses(self._neutral())
        N = len(self.bodies)
        mass, com, inertia = np.zeros(N), np.zeros((N, 3)), np.zeros((N, 3, 3))
        members: list[list[int]] = [[] for _ in range(N)]
        for link, body in carrier.items():
            if body is not None:
                members[body].append(link)
        for i, links in enumerate(members):
            parts = [self._part(link, poses[self._body_link(i)], poses[link]) for link in links]
            mass[i] = sum(m for m, _, _ in parts)
            if mass[i] > 0:
                com[i] = sum(m * c for m, c, _ in parts) / mass[i]
            for m, c, I_c in parts:
                d = c - com[i]
                inertia[i] += I_c + m * (d @ d * np.eye(3) - np.outer(d, d))
        return {"mass": mass, "com": com, "inertia": inertia}

    def _inertial_frame(self, link: int) -> InertialFrame:
        info = bullet.getDynamicsInfo(self.robot, link)
        return InertialFrame(np.array(info[3]), rotation_of(np.array(info[4])))

    def _joint_table(self, rows: list[dict[str, Any]]) -> list[BulletJoint]:
        by_name = {info[1].decode(): info for info in self.infos}
        joints = []
        for row in rows[1:] if self.floating else rows:
            info = by_name.pop(row["name"], None)
            if info is None:
                raise ValueError(f"Bullet has no joint {row['name']!r}")
            size = row["v"][1] - row["v"][0]
            first = info[4] - (0 if self.floating else 6)  # Bullet counts the base's six, free or not
            dofs = slice(first, first + size)
            joints.append(
                BulletJoint(info[0], row["type"], slice(*row["q"]), slice(*row["v"]), dofs, self.inertial[info[0]])
            )
        extra = [name for name, info in by_name.items() if info[2] != bullet.JOINT_FIXED]
        if extra:
            raise ValueError(f"Bullet moves joints that treesim has not: {', '.join(extra)}")
        return joints

    def _body_link(self, body: int) -> int:
        if self.floating:
            return BASE if body == 0 else self.joints[body - 1].index
        return self.joints[body].index

    def _carriers(self) -> dict[int, int | None]:
        """Bullet link -> treesim's body (from 0) it belongs to; None for what is fixed to the world."""
        carrier: dict[int, int | None] = {BASE: 0 if self.floating else None}
        own = {self._body_link(i): i for i in range(len(self.bodies))}
        for info in self.infos:  # parents come before children
            carrier[info[0]] = own[info[0]] if info[0] in own else carrier[info[16]]
        return carrier

    def _part(
        self, link: int, body_pose: tuple[np.ndarray, np.ndarray], link_pose: tuple[np.ndarray, np.ndarray]
    ) -> tuple[float, np.ndarray, np.ndarray]:
        info = bullet.getDynamicsInfo(self.robot, link)
        (R_b, p_b), (R_l, p_l) = body_pose, link_pose
        axes = R_b.T @ R_l @ self.inertial[link].rotation
        com = R_b.T @ (p_l + R_l @ self.inertial[link].com - p_b)
        return info[0], com, axes @ np.diag(info[2]) @ axes.T

    # --- state ----------------------------------------------------------------------------------------------------

    def set_state(self, q: np.ndarray, v: np.ndarray) -> None:
        """Put the robot into configuration q (nq,) with velocity v (nv,)."""
        if self.floating:
            base = base_to_bullet(q[:7], v[:6], self.inertial[BASE])
            bullet.resetBasePositionAndOrientation(self.robot, base.position, base.quaternion)
            bullet.resetBaseVelocity(self.robot, base.linear, base.angular)
        for joint in self.joints:
            if joint.type == "spherical":
                turn = spherical_to_bullet(q[joint.q], joint.inertial)
                spin = joint.inertial.rotation.T @ v[joint.v]
                bullet.resetJointStateMultiDof(self.robot, joint.index, turn, spin)
            else:
                bullet.resetJointState(self.robot, joint.index, q[joint.q][0], v[joint.v][0])

    def state(self) -> tuple[np.ndarray, np.ndarray]:
        """Return q (nq,) and v (nv,)."""
        q, v = np.zeros(self.nq), np.zeros(self.nv)
        if self.floating:
            q[:7], v[:6] = base_from_bullet(self._base(), self.inertial[BASE])
        for joint in self.joints:
            if joint.type == "spherical":
                turn, spin, *_ = bullet.getJointStateMultiDof(self.robot, joint.index)
                q[joint.q] = spherical_from_bullet(np.array(turn), joint.inertial)
                v[joint.v] = joint.inertial.rotation @ np.array(spin)
            else:
                position, velocity, *_ = bullet.getJointState(self.robot, joint.index)
                q[joint.q], v[joint.v] = position, velocity
        return q, v

    def _base(self) -> BulletBase:
        position, quaternion = bullet.getBasePositionAndOrientation(self.robot)
        linear, angular = bullet.getBaseVelocity(self.robot)
        return BulletBase(*(np.array(part) for part in (position, quaternion, linear, angular)))

    def _motors_off(self) -> None:
        for joint in self.joints:
            if joint.type == "spherical":
                bullet.setJointMotorControlMultiDof(
                    self.robot, joint.index, bullet.POSITION_CONTROL, targetPosition=[0, 0, 0, 1],
                    positionGain=0, velocityGain=0, force=[0, 0, 0],
                )  # fmt: skip
            else:
                bullet.setJointMotorControl2(self.robot, joint.index, bullet.VELOCITY_CONTROL, force=0)

    def _apply(self, q: np.ndarray, tau: np.ndarray) -> None:
        """Apply generalised forces (nv,) for one step in configuration q."""
        if self.floating:
            force, moment = base_wrench_to_bullet(tau[:6], q[:7], self.inertial[BASE])
            at, _ = bullet.getBasePositionAndOrientation(self.robot)
            bullet.applyExternalForce(self.robot, BASE, force, at, bullet.WORLD_FRAME)
            bullet.applyExternalTorque(self.robot, BASE, moment, bullet.WORLD_FRAME)
        for joint in self.joints:
            if joint.type == "spherical":
                torque = joint.inertial.rotation.T @ tau[joint.v]
                bullet.setJointMotorControlMultiDof(self.robot, joint.index, bullet.TORQUE_CONTROL, force=torque)
            else:
                bullet.setJointMotorControl2(self.robot, joint.index, bullet.TORQUE_CONTROL, force=tau[joint.v][0])

    # --- evaluations ----------------------------------------------------------------------------------------------

    def body_poses(self, q: np.ndarray) -> np.ndarray:
        """Return the world poses (N, 4, 4) of treesim's bodies in configuration q."""
        poses = self._link_poses(q)
        result = np.tile(np.eye(4), (len(self.bodies), 1, 1))
        for i in range(len(self.bodies)):
            result[i, :3, :3], result[i, :3, 3] = poses[self._body_link(i)]
        return result

    def _link_poses(self, q: np.ndarray) -> dict[int, tuple[np.ndarray, np.ndarray]]:
        """World rotation and position of every link frame; from the centre-of-mass pose, for the link-frame pose that
        Bullet hands out is in single precision."""
        self.set_state(q, np.zeros(self.nv))
        base_position, base_quaternion = bullet.getBasePositionAndOrientation(self.robot)
        poses = {BASE: self._frame_pose(BASE, base_position, base_quaternion)}
        for link in self.links[1:]:
            position, quaternion, *_ = bullet.getLinkState(self.robot, link, computeForwardKinematics=True)
            poses[link] = self._frame_pose(link, position, quaternion)
        return poses

    def _frame_pose(self, link: int, position: Any, quaternion: Any) -> tuple[np.ndarray, np.ndarray]:
        inertial = self.inertial[link]
        R = rotation_of(np.array(quaternion)) @ inertial.rotation.T
        return R, np.array(position) - R @ inertial.com

    def _neutral(self) -> np.ndarray:
        q = np.zeros(self.nq)
        if self.floating:
            q[6] = 1.0
        for joint in self.joints:
            if joint.type == "spherical":
                q[joint.q.stop - 1] = 1.0
        return q

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """Return M (nv, nv); robots without spherical joints only."""
        found = np.array(bullet.calculateMassMatrix(self.robot, list(self.dof_vector(q, "q"))))
        T = np.eye(self.nv)
        if self.floating:
            T[:6, :6] = np.linalg.inv(base_motion_map(self.inertial[BASE]))
        order = self._dof_order()
        return T.T @ found[np.ix_(order, order)] @ T

    def inverse_dynamics(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Return tau (nv,); robots without spherical joints only.

        Bullet errs when its base is turned (free: about several axes; fixed: at all), so the base stays level and
        gravity turns instead.
        """
        attitude = rotation_of(q[3:7]) if self.floating else np.eye(3)
        bullet.setGravity(*((attitude @ self.inertial[BASE].rotation).T @ self.gravity))
        Q, V, A = self.dof_vector(q, "q"), self.dof_vector(v, "v"), self.dof_vector(a, "v")
        level = np.concatenate([np.zeros(3), quaternion_of(self.inertial[BASE].rotation.T)])
        if self.floating:
            base = base_to_bullet(level, v[:6], self.inertial[BASE])
            linear, angular = base_acceleration_to_bullet(a[:6], level, v[:6], self.inertial[BASE])
            Q = np.concatenate([np.zeros(6), [1.0], Q])
            V = np.concatenate([base.angular, base.linear, V])
            A = np.concatenate([angular, linear, A])
        found = np.array(bullet.calculateInverseDynamics(self.robot, list(Q), list(V), list(A)))
        tau = found[self._dof_order()]
        if self.floating:  # velocities go in angular first, forces come out linear first
            tau[:6] = base_wrench_from_bullet(found[:3], found[3:6], level, self.inertial[BASE])
        return tau

    def dof_vector(self, values: np.ndarray, kind: str) -> np.ndarray:
        """treesim's q or v without the base, in the order of Bullet's degrees of freedom."""
        offset = 6 if self.floating else 0
        result = np.zeros(self.nv - offset)
        for joint in self.joints:
            source = joint.q if kind == "q" else joint.v
            result[joint.dofs.start - offset : joint.dofs.stop - offset] = values[source]
        return result

    def _dof_order(self) -> np.ndarray:
        """Bullet's number of each of treesim's degrees of freedom."""
        order = np.arange(self.nv)
        for joint in self.joints:
            order[joint.v] = np.arange(joint.dofs.start, joint.dofs.stop)
        return order

    def forward_dynamics(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """Return dv/dt (nv,) from one step: Bullet has no function for it."""
        bullet.setGravity(*self.gravity)
        return self._step_acceleration(q, v, tau)

    def inverse_mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """Return M^-1 (nv, nv), one unit force a column, at rest and without gravity."""
        bullet.setGravity(0, 0, 0)
        rest = np.zeros(self.nv)
        return np.column_stack([self._step_acceleration(q, rest, unit) for unit in np.eye(self.nv)])

    def _step_acceleration(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        self.set_state(q, v)
        before = self._base()
        self._apply(q, tau)
        bullet.setTimeStep(UNIT_STEP)
        bullet.stepSimulation()
        _, after = self.state()
        a = (after - v) / UNIT_STEP
        if self.floating:
            base = self._base()
            a[:6] = base_acceleration_from_bullet(
                (base.linear - before.linear) / UNIT_STEP, (base.angular - before.angular) / UNIT_STEP,
                q[:7], v[:6], self.inertial[BASE],
            )  # fmt: skip
        return a

    def trajectory(self, q0: np.ndarray, v0: np.ndarray, steps: int, dt: float) -> tuple[np.ndarray, np.ndarray]:
        """Return q (steps + 1, nq) and v (steps + 1, nv) of free motion under gravity from (q0, v0)."""
        bullet.setGravity(*self.gravity)
        bullet.setTimeStep(dt)
        self.set_state(q0, v0)
        q, v = [q0], [v0]
        for _ in range(steps):
            bullet.stepSimulation()
            state = self.state()
            q.append(state[0])
            v.append(state[1])
        return np.array(q), np.array(v)
