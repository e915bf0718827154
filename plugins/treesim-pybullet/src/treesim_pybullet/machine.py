"""One robot in PyBullet, accessed in treesim's layout; importing this module loads Bullet into the process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pybullet
from pybullet import error as BulletError
from pybullet_utils.bullet_client import BulletClient

from treesim import Tree
from treesim.compare import EngineError
from treesim.errors import UnsupportedError, quoted

from .conversions import InertialFrame, quaternion_of, rotation_of
from .layout import BulletJoint, BulletLayout
from .strip import Stripped

BASE = -1  # Bullet's number of the root link
REFUSING = "Bullet's function refuses the robot, as it does with inertias that no solid body has"
UNIT_STEP = 1.0  # [s]; v+ - v = dt a holds for any dt, and dt = 1 rounds least
NO_DRAG = {
    "linearDamping": 0.0,
    "angularDamping": 0.0,
    "jointDamping": 0.0,
    "maxJointVelocity": 1e12,  # the default caps every speed at 100, that of the base too
}


class BulletMachine:
    """A robot loaded from the URDF file at `path`.

    moments: of its links, as in strip.Stripped. flags: names of the flags with which the file is loaded. motors:
    keep Bullet's default motors on. Raises ValueError if Bullet's joints are not treesim's.
    """

    def __init__(
        self, robot: Tree, path: Path, moments: dict[str, list[float]], flags: Sequence[str], motors: bool
    ) -> None:
        self.floating = robot.base == "floating"
        self.gravity = np.array(robot.gravity, dtype=float)
        self.bullet = bullet = BulletClient(pybullet.DIRECT)  # a new world: reused ones return old mass matrices
        bullet.setPhysicsEngineParameter(numSubSteps=0, enableFileCaching=0)
        added = sum(getattr(bullet, name) for name in flags)
        self.robot = bullet.loadURDF(str(path), flags=added, useFixedBase=not self.floating)
        self.infos = [bullet.getJointInfo(self.robot, i) for i in range(bullet.getNumJoints(self.robot))]
        self.links = [BASE, *range(len(self.infos))]
        for link in self.links:
            bullet.changeDynamics(self.robot, link, **NO_DRAG)
        self._put_back(moments)
        self.inertial = {link: self._inertial_frame(link) for link in self.links}
        self.bodies = robot.body_names
        self.joints = self._joint_table(robot)
        self.layout = BulletLayout(self.joints, self.inertial[BASE] if self.floating else None)
        self.nq, self.nv = self.layout.nq, self.layout.nv
        if not motors:
            self._motors_off()

    def _put_back(self, moments: dict[str, list[float]]) -> None:
        """Restore the principal moments that Bullet set to zero while loading; before its first evaluation."""
        names = {BASE: self.bullet.getBodyInfo(self.robot)[0], **{info[0]: info[12] for info in self.infos}}
        for link, name in names.items():
            if name.decode() in moments:
                self.bullet.changeDynamics(self.robot, link, localInertiaDiagonal=moments[name.decode()])

    # --- what was loaded ------------------------------------------------------------------------------------------

    def model(self) -> dict[str, np.ndarray]:
        """Return "mass" (N,), "com" (N, 3) and "inertia" (N, 3, 3) about the centre of mass of treesim's bodies.

        Links on fixed joints are merged into their bodies, at Bullet's poses of the links.
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
        info = self.bullet.getDynamicsInfo(self.robot, link)
        return InertialFrame(np.array(info[3]), rotation_of(np.array(info[4])))

    def _joint_table(self, robot: Tree) -> list[BulletJoint]:
        by_name = {info[1].decode(): info for info in self.infos}
        joints = []
        for joint in (body.joint for body in robot.bodies[self.floating :]):
            info = by_name.pop(joint.name, None)
            if info is None:
                raise ValueError(f"Bullet has no joint {quoted(joint.name)}")
            first = info[4] - (0 if self.floating else 6)  # Bullet counts the base's six, free or not
            q, v, dofs = robot.q_index[joint.name], robot.v_index[joint.name], slice(first, first + joint.nv)
            joints.append(BulletJoint(info[0], joint.type, q, v, dofs, self.inertial[info[0]]))
        extra = [name for name, info in by_name.items() if info[2] != self.bullet.JOINT_FIXED]
        if extra:
            raise ValueError(f"Bullet moves joints that treesim has not: {', '.join(extra)}")
        return joints

    def _body_link(self, body: int) -> int:
        if self.floating:
            return BASE if body == 0 else self.joints[body - 1].index
        return self.joints[body].index

    def _carriers(self) -> dict[int, int | None]:
        """Return treesim's body (from 0) of each Bullet link; None for links fixed to the world."""
        carrier: dict[int, int | None] = {BASE: 0 if self.floating else None}
        own = {self._body_link(i): i for i in range(len(self.bodies))}
        for info in self.infos:  # parents come before children
            carrier[info[0]] = own[info[0]] if info[0] in own else carrier[info[16]]
        return carrier

    def _part(
        self, link: int, body_pose: tuple[np.ndarray, np.ndarray], link_pose: tuple[np.ndarray, np.ndarray]
    ) -> tuple[float, np.ndarray, np.ndarray]:
        info = self.bullet.getDynamicsInfo(self.robot, link)
        (R_b, p_b), (R_l, p_l) = body_pose, link_pose
        axes = R_b.T @ R_l @ self.inertial[link].rotation
        com = R_b.T @ (p_l + R_l @ self.inertial[link].com - p_b)
        return info[0], com, axes @ np.diag(info[2]) @ axes.T

    # --- state ----------------------------------------------------------------------------------------------------

    def set_state(self, q: np.ndarray, v: np.ndarray) -> None:
        """Set configuration q (nq,) and velocity v (nv,)."""
        Q, V = self.layout.configuration_to_engine(q), self.layout.velocity_to_engine(q, v)
        if self.floating:
            self.bullet.resetBasePositionAndOrientation(self.robot, Q[:3], Q[3:7])
            self.bullet.resetBaseVelocity(self.robot, V[:3], V[3:6])
        for joint in self.joints:
            position, velocity = Q[self.layout.places[joint.index]], V[joint.dofs]
            if joint.spherical:
                self.bullet.resetJointStateMultiDof(self.robot, joint.index, position, velocity)
            else:
                self.bullet.resetJointState(self.robot, joint.index, position[0], velocity[0])

    def state(self) -> tuple[np.ndarray, np.ndarray]:
        """Return q (nq,) and v (nv,)."""
        Q, V = self._bullet_state()
        q = self.layout.configuration_from_engine(Q)
        return q, self.layout.velocity_from_engine(q, V)

    def _bullet_state(self) -> tuple[np.ndarray, np.ndarray]:
        """Return configuration and velocity in Bullet's layout."""
        Q, V = np.zeros(self.nq), np.zeros(self.nv)
        if self.floating:
            Q[:3], Q[3:7] = self.bullet.getBasePositionAndOrientation(self.robot)
            V[:3], V[3:6] = self.bullet.getBaseVelocity(self.robot)
        for joint in self.joints:
            read = self.bullet.getJointStateMultiDof if joint.spherical else self.bullet.getJointState
            Q[self.layout.places[joint.index]], V[joint.dofs], *_ = read(self.robot, joint.index)
        return Q, V

    def _motors_off(self) -> None:
        for joint in self.joints:
            if joint.spherical:
                self.bullet.setJointMotorControlMultiDof(
                    self.robot, joint.index, self.bullet.POSITION_CONTROL, targetPosition=[0, 0, 0, 1],
                    positionGain=0, velocityGain=0, force=[0, 0, 0],
                )  # fmt: skip
            else:
                self.bullet.setJointMotorControl2(self.robot, joint.index, self.bullet.VELOCITY_CONTROL, force=0)

    def apply(self, q: np.ndarray, tau: np.ndarray) -> None:
        """Apply generalised forces (nv,) for one step at configuration q."""
        bullet, forces = self.bullet, self.layout.force_to_engine(q, tau)
        if self.floating:
            at, _ = bullet.getBasePositionAndOrientation(self.robot)
            bullet.applyExternalForce(self.robot, BASE, forces[:3], at, bullet.WORLD_FRAME)
            bullet.applyExternalTorque(self.robot, BASE, forces[3:6], bullet.WORLD_FRAME)
        for joint in self.joints:
            force = forces[joint.dofs]
            if joint.spherical:
                bullet.setJointMotorControlMultiDof(self.robot, joint.index, bullet.TORQUE_CONTROL, force=force)
            else:
                bullet.setJointMotorControl2(self.robot, joint.index, bullet.TORQUE_CONTROL, force=force[0])

    # --- evaluations ----------------------------------------------------------------------------------------------

    def body_poses(self, q: np.ndarray) -> np.ndarray:
        """Return the world poses (N, 4, 4) of treesim's bodies in configuration q."""
        poses = self._link_poses(q)
        result = np.tile(np.eye(4), (len(self.bodies), 1, 1))
        for i in range(len(self.bodies)):
            result[i, :3, :3], result[i, :3, 3] = poses[self._body_link(i)]
        return result

    def _link_poses(self, q: np.ndarray) -> dict[int, tuple[np.ndarray, np.ndarray]]:
        """Return world rotation and position of every link frame.

        They are computed from the centre-of-mass pose: Bullet returns the link-frame pose in single precision.
        """
        self.set_state(q, np.zeros(self.nv))
        base_position, base_quaternion = self.bullet.getBasePositionAndOrientation(self.robot)
        poses = {BASE: self._frame_pose(BASE, base_position, base_quaternion)}
        for link in self.links[1:]:
            position, quaternion, *_ = self.bullet.getLinkState(self.robot, link, computeForwardKinematics=True)
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
            if joint.spherical:
                q[joint.q.stop - 1] = 1.0
        return q

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """Return the mass matrix M (nv, nv); only without spherical joints.

        Raises UnsupportedError if Bullet refuses.
        """
        found = self._ask(self.bullet.calculateMassMatrix, self.joint_positions(q))
        return self.layout.matrix_from_engine(q, found)

    def _ask(self, function: Callable[..., Any], *arrays: np.ndarray) -> np.ndarray:
        """Call one of Bullet's functions with the robot and arrays, and return its result."""
        try:
            return np.array(function(self.robot, *(array.tolist() for array in arrays)))
        except (BulletError, SystemError):  # PyBullet returns None and sets an error as well
            raise UnsupportedError(REFUSING) from None

    def inverse_dynamics(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Return the joint forces tau (nv,); only without spherical joints.

        Bullet is wrong for a rotated base (floating: about several axes; fixed: about any), so the base stays level
        and gravity is rotated instead. Raises UnsupportedError if Bullet refuses.
        """
        attitude = rotation_of(q[3:7]) if self.floating else np.eye(3)
        self.bullet.setGravity(*((attitude @ self.inertial[BASE].rotation).T @ self.gravity))
        level = q.copy()
        Q = self.joint_positions(q)
        if self.floating:
            level[:7] = np.concatenate([np.zeros(3), quaternion_of(self.inertial[BASE].rotation.T)])
            Q = np.concatenate([np.zeros(6), [1.0], Q])
        V = self._angular_first(self.layout.velocity_to_engine(level, v))
        A = self._angular_first(self.layout.acceleration_to_engine(level, v, a))
        found = self._ask(self.bullet.calculateInverseDynamics, Q, V, A)
        return self.layout.force_from_engine(level, found)  # arguments are angular first, results linear first

    def joint_positions(self, q: np.ndarray) -> np.ndarray:
        """Return the joints' part of q in Bullet's layout."""
        return self.layout.configuration_to_engine(q)[7 * self.floating :]

    def joint_velocities(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the joints' part of v in Bullet's layout."""
        return self.layout.velocity_to_engine(q, v)[6 * self.floating :]

    def _angular_first(self, velocity: np.ndarray) -> np.ndarray:
        return np.concatenate([velocity[3:6], velocity[:3], velocity[6:]]) if self.floating else velocity

    def forward_dynamics(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """Return the accelerations (nv,) from one step: Bullet has no function for them."""
        self.bullet.setGravity(*self.gravity)
        return self._step_acceleration(q, v, tau)

    def inverse_mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """Return M^-1 (nv, nv), one unit force per column, at rest and without gravity."""
        self.bullet.setGravity(0, 0, 0)
        rest = np.zeros(self.nv)
        return np.column_stack([self._step_acceleration(q, rest, unit) for unit in np.eye(self.nv)])

    def _step_acceleration(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        self.set_state(q, v)
        _, before = self._bullet_state()
        self.apply(q, tau)
        self.bullet.setTimeStep(UNIT_STEP)
        self.bullet.stepSimulation()
        _, after = self._bullet_state()
        return self.layout.acceleration_from_engine(q, v, (after - before) / UNIT_STEP)

    def trajectory(self, q0: np.ndarray, v0: np.ndarray, steps: int, dt: float) -> tuple[np.ndarray, np.ndarray]:
        """Return q (steps + 1, nq) and v (steps + 1, nv) of free motion under gravity from (q0, v0)."""
        self.bullet.setGravity(*self.gravity)
        self.bullet.setTimeStep(dt)
        self.set_state(q0, v0)
        q, v = [q0], [v0]
        for _ in range(steps):
            self.bullet.stepSimulation()
            state = self.state()
            q.append(state[0])
            v.append(state[1])
        return np.array(q), np.array(v)


def loaded(robot: Tree, stripped: Stripped, folder: Path, flags: Sequence[str], motors: bool = False) -> BulletMachine:
    """Return a robot in Bullet, by a file that is written to `folder`.

    Raises EngineError if Bullet does not load it, or moves other joints than treesim.
    """
    path = folder / "robot.urdf"
    path.write_text(stripped.urdf, encoding="utf-8")
    try:
        return BulletMachine(robot, path, stripped.moments, flags, motors)
    except (ValueError, BulletError) as error:
        raise EngineError(f"Bullet refused {quoted(robot.name)}: {error}") from error
