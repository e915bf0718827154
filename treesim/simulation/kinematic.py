"""Kinematic bodies: free bodies that follow a given motion, whatever touches them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..dynamics.constrained.constraints import ConstraintTables
from ..dynamics.energy import energy
from ..errors import ArgumentError, ContactWarning, EnergyWarning, quoted, reason_of, unknown_name
from ..model.matrices import is_rotation, rotation_of
from ..model.parts import changed_joints
from ..model.tree import Tree
from ..system.user_warnings import warn
from ..validation.values import short_repr
from .motions import STRAIGHT, Conveyor, Motion, unit_quaternion

IMMOVABLE = 1e100  # kg, kg m^2: rotor inertia of a kinematic body's joint, whose inverse is 0 in all sums with others
# m/s, rad/s: larger changes of a body's velocity from one step to the next are jumps of its pose
SPEEDS_OF_JUMPS = np.array([10.0, 100.0])
Times = float | np.ndarray  # one, or (B,) of the states of a batch


class KinematicBody(NamedTuple):
    """A body with its number, the slices of its coordinates and velocities, and its motion."""

    name: str
    number: int
    q: slice
    v: slice
    motion: Motion

    def pose(self, t: float) -> np.ndarray:
        """Return q (7,) at time t [s]; raises ArgumentError for a function that returns no pose."""
        try:
            given = np.asarray(self.motion(float(t)))
        except Exception as error:
            what = f"{type(error).__name__}: {reason_of(error)}"
            raise ArgumentError(f"the motion of {quoted(self.name)} failed at t = {t:g} s: {what}") from error
        if given.dtype.kind in "fiu" and np.isfinite(given).all():
            if given.shape == (3,):
                return np.array([*given, *STRAIGHT])
            if given.shape == (7,):
                return np.concatenate([given[:3], unit_quaternion(given[3:].astype(float))])
            if given.shape == (4, 4) and is_rotation(given[:3, :3]) and (given[3] == STRAIGHT).all():
                from scipy.spatial.transform import Rotation

                return np.concatenate([given[:3, 3], Rotation.from_matrix(given[:3, :3]).as_quat()])
        raise ArgumentError(
            f"the motion of {quoted(self.name)} must return a position (3,), a position and a quaternion (7,), or a "
            f"pose (4, 4), got {short_repr(given.tolist())} at t = {t:g} s"
        )


class KinematicBodies:
    """The kinematic bodies of a world.

    In every step each body moves from its pose at the step's start to that at its end (`StepMotion`), with an inverse
    inertia of zero. robot: tree of the world. motions: by name of a free body. Raises ArgumentError for other values
    and bodies, UnknownNameError for unknown ones.
    """

    def __init__(self, robot: Tree, motions: Mapping[str, Motion] | None) -> None:
        try:
            self.motions = {} if motions is None else dict(motions)
        except Exception:  # whatever a user's class raises
            raise ArgumentError(
                f'kinematic must be motions by name of a body, as {{"lift": treesim.Waypoints(...)}}, got '
                f"{short_repr(motions)}"
            ) from None
        self.robot, self.bodies = robot, tuple(_body_of(robot, name, motion) for name, motion in self.motions.items())
        self.numbers = frozenset(body.number for body in self.bodies)
        self.dofs = np.concatenate([np.r_[body.v] for body in self.bodies]) if self.bodies else np.zeros(0, int)
        self.warned: set[int] = set()  # numbers of bodies whose jumps are reported

    def __bool__(self) -> bool:
        return bool(self.bodies)

    @cached_property
    def stepped(self) -> Tree:
        """The tree that steps move: kinematic bodies have an infinite inertia for all that acts on them."""
        if not self.bodies:
            return self.robot
        given = {self.robot.joint_names[number - 1] for number in self.numbers}
        infinite = {"armature": np.full(6, IMMOVABLE)}
        bodies = changed_joints(self.robot.bodies, lambda joint: infinite if joint.name in given else {})
        return self.robot._with(bodies=bodies)

    def refuse_forces(self, label: str, table: np.ndarray) -> None:
        """Raise ArgumentError if a table (..., N, 21) of external forces has some on a kinematic body.

        label: the argument that they come from.
        """
        for body in self.bodies:
            if table[..., body.number - 1, :].any():
                raise ArgumentError(f"{label}: {quoted(body.name)} is a kinematic body, which no force moves")

    def check_constraints(self, tables: ConstraintTables) -> None:
        """Raise ArgumentError for a constraint that nothing but given motions could satisfy.

        Issues an EnergyWarning for loops from other bodies to kinematic ones.
        """
        for constraint, ends in zip(tables.constraints, tables.bodies.tolist(), strict=True):
            if self.numbers & {*ends} and self.numbers | {0} >= {*ends}:
                raise ArgumentError(
                    f"{constraint.label} holds no body but kinematic ones, which follow given motions alone"
                )
            if self.numbers & {*ends}:
                warn(
                    f"{constraint.label} holds a kinematic body: its work is left out of the energy balance of runs",
                    EnergyWarning,
                )

    def begin(self, t: float, dt: float, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return states q (..., nq), v (..., nv) with the poses at t, and the velocities until t + dt [s]."""
        return StepMotion(self, t, dt, 1, False).begin(0, q, v) if self.bodies else (q, v)

    def poses(self, t: Times) -> np.ndarray:
        """Return configurations (nq,), or (B, nq) for times (B,) [s], with the bodies' poses; others are neutral."""
        if isinstance(t, np.ndarray):
            times, which = np.unique(t, return_inverse=True)
            return np.array([self.poses(now) for now in times.tolist()])[which.reshape(t.shape)]
        q = self.robot.neutral().copy()
        for body in self.bodies:
            q[body.q] = body.pose(t)
        return q

    def poses_if_known(self, t: Times) -> tuple[np.ndarray, np.ndarray]:
        """Return `poses`, and whether they are known at each time (...): a motion may end; then they are neutral."""
        if isinstance(t, np.ndarray):
            poses, known = zip(*map(self.poses_if_known, t.tolist()), strict=True)
            return np.array(poses), np.array(known)
        try:
            return self.poses(t), np.array(True)
        except ArgumentError:  # the next step, if there is one, raises it
            return self.robot.neutral(), np.array(False)

    @cached_property
    def alone(self) -> dict[int, Tree]:
        """Trees of each body alone, by its number."""
        bodies = self.robot.bodies
        return {i: Tree(bodies[i - 1].name, [bodies[i - 1]], gravity=self.robot.gravity) for i in self.numbers}


class EndVelocities(NamedTuple):
    """Velocities (..., nv) at both ends of a substep, where those of kinematic bodies differ from their means.

    dofs (n,): indices of the bodies' degrees of freedom.
    """

    dofs: np.ndarray
    start: np.ndarray
    end: np.ndarray

    def put(self, start: np.ndarray | None, end: np.ndarray) -> None:
        """Write them into velocities (..., nv) at the start of the substep, if given, and at its end."""
        end[..., self.dofs] = self.end[..., self.dofs]
        if start is not None:
            start[..., self.dofs] = self.start[..., self.dofs]


class StepMotion:
    """Motion of the kinematic bodies in a step that consists of `count` equal substeps, from t to t + dt [s].

    Poses are known at both ends of the step. In between, velocities are linear in time, u + (s - 1/2) du for s from 0
    to 1, with the mean velocity u of the step. du is the change of u from the step before or to the step after,
    whichever is smaller; 0 where their signs differ (the minmod limiter of Harten 1983). So uniform acceleration is
    exact, and a body that starts suddenly does not move before. In a substep, bodies move at their mean velocity in it.
    The implicit midpoint rule solves contact with the velocity at the end: with the mean, contact would be lost on a
    table that falls at between g / 2 and g. t: one time, or (B,) of the states of a batch. midpoint: whether the
    integrator is this rule.
    """

    def __init__(self, bodies: KinematicBodies, t: Times, dt: float, count: int, midpoint: bool) -> None:
        self.of, self.t, self.dt, self.count, self.midpoint = bodies, t, dt, count, midpoint
        self.h = dt / count
        self.start, self.stop = bodies.poses(t), bodies.poses(t + dt)
        self._poses = {0: self.start, count: self.stop}
        self.mean = bodies.robot.difference(self.start, self.stop) / dt  # u, in the bodies' axes at the start

    def begin(self, k: int, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return states q (..., nq), v (..., nv) with the poses at the start of substep k, and the velocities in it."""
        if not k:
            self._warn_of_jumps()
        q, v, pose = q.copy(), v.copy(), self._pose(k)
        rate = self.mean if self.count == 1 else self.of.robot.difference(pose, self._pose(k + 1)) / self.h
        rate = self._surfaces(pose, rate)
        for body in self.of.bodies:
            q[..., body.q], v[..., body.v] = pose[..., body.q], rate[..., body.v]
        return q, v

    def end(self, k: int, q: np.ndarray) -> None:
        """Write the poses at the end of substep k into configurations q (..., nq)."""
        pose = self._pose(k + 1)
        for body in self.of.bodies:
            q[..., body.q] = pose[..., body.q]

    def end_velocities(self, k: int, v: np.ndarray) -> EndVelocities | None:
        """Return the velocities at both ends of substep k, which starts at v; None if they are those in the substep."""
        if not self.midpoint:
            return None
        end, s, pose = np.zeros_like(v), (k + 1) / self.count, self._pose(k + 1)
        rate = self.mean + (s - 0.5) * self._change
        for body in self.of.bodies:
            end[..., body.v] = _in_axes(pose[..., body.q], self.start[..., body.q], rate[..., body.v])
        return EndVelocities(self.of.dofs, v, self._surfaces(pose, end))

    def work(self, before: tuple[np.ndarray, np.ndarray], results: Sequence[Any], gravity: np.ndarray | None) -> Any:
        """Return the work (...) that moved the bodies in the substeps of a step [J].

        before: (q, v) at the start of the step. results: of its substeps (`StepResult`). gravity (3,) or (..., 3): that
        of the world's robot if None. It is the change of the bodies' energies, without the work of contact and controls
        on them. For turning bodies of order 2 in h.
        """
        done: Any = 0.0
        physics = None if gravity is None else {"gravity": gravity}
        for body in self.of.bodies:
            start, end = (
                sum(energy(self.of.alone[body.number], q[..., body.q], v[..., body.v], model_parameters=physics))
                for q, v in (before, results[-1][:2])
            )
            q, v = before
            done = done + end - start
            for part in results:
                done = done - self.h * self._power(body, q, v, part)
                q, v = part.q, part.v
        return done

    def _power(self, body: KinematicBody, q: np.ndarray, v: np.ndarray, part: Any) -> Any:
        """Return the power (...) of contact and controls on a body in a substep from (q, v) on."""
        R = rotation_of(q[..., body.q][..., 3:])
        rate = _turned(R, part.v[..., body.v])
        if self.midpoint:
            end = _turned(rotation_of(part.q[..., body.q][..., 3:]), part.v[..., body.v])
            rate = (_turned(R, v[..., body.v]) + end) / 2
        wrench = _turned(R, part.force[..., body.v])
        if part.wrench is not None:
            wrench = wrench + part.wrench[..., body.number, :]
        return (wrench * rate).sum(axis=-1)

    @cached_property
    def _change(self) -> np.ndarray:
        """du (..., nv) in the bodies' axes at the start; 0 in the first step, and in the last of a motion that ends."""
        begun = np.asarray(self.t > self.dt / 2)
        if not begun.any():
            return np.zeros_like(self.mean)
        following, known = self.of.poses_if_known(self.t + 2 * self.dt)
        after = self.of.robot.difference(self.stop, following) / self.dt
        for body in self.of.bodies:
            after[..., body.v] = _in_axes(self.start[..., body.q], self.stop[..., body.q], after[..., body.v])
        changes = self.mean - self._before, after - self.mean
        smaller = np.where(np.abs(changes[0]) < np.abs(changes[1]), *changes)
        return np.where((begun & known)[..., None] & (changes[0] * changes[1] > 0), smaller, 0.0)

    @cached_property
    def _before(self) -> np.ndarray:
        """Mean velocity (..., nv) in the step before, in the bodies' axes at the start; of no meaning before time 0."""
        earlier = self.of.poses(np.maximum(self.t - self.dt, 0.0))
        return -self.of.robot.difference(self.start, earlier) / self.dt

    def _warn_of_jumps(self) -> None:
        """Warn once of each body that is much faster than in the step before."""
        for body in self.of.bodies:
            speeds = _speeds(self.mean[..., body.v])
            if body.number in self.of.warned or not (speeds > SPEEDS_OF_JUMPS).any():
                continue
            jumps = _speeds((self.mean - self._before)[..., body.v]) > SPEEDS_OF_JUMPS
            jumps &= (speeds > SPEEDS_OF_JUMPS) & np.asarray(self.t > self.dt / 2)[..., None]
            if jumps.any():
                row = np.flatnonzero(jumps.any(axis=-1))[0]
                linear, angular = speeds.reshape(-1, 2)[row]
                self.of.warned.add(body.number)
                warn(
                    f"the motion of {quoted(body.name)} jumps at t = {np.ravel(self.t)[row]:g} s, by "
                    f"{linear * self.dt:.3g} m and {angular * self.dt:.3g} rad in a step of {self.dt:g} s: it throws "
                    f"what it touches at {linear:.3g} m/s and {angular:.3g} rad/s; let it move there in several steps",
                    ContactWarning,
                )

    def _pose(self, k: int) -> np.ndarray:
        """Return configurations (..., nq) at the start of substep k."""
        if k not in self._poses:
            s = k / self.count
            ahead = self.dt * (s * self.mean - s * (1 - s) / 2 * self._change)
            self._poses[k] = self.of.robot.integrate(self.start, ahead)
        return self._poses[k]

    def _surfaces(self, pose: np.ndarray, rate: np.ndarray) -> np.ndarray:
        """Return velocities with those of the surfaces of conveyors at poses (..., nq)."""
        for body in self.of.bodies:
            if isinstance(body.motion, Conveyor):
                linear = rotation_of(pose[..., body.q][..., 3:]).swapaxes(-1, -2) @ body.motion.velocity
                rate = rate.copy()
                rate[..., body.v] = np.concatenate([linear, np.zeros_like(linear)], axis=-1)
        return rate


def _speeds(rate: np.ndarray) -> np.ndarray:
    """Return the linear and angular speeds (..., 2) of velocities (..., 6)."""
    return np.linalg.norm(rate.reshape(*rate.shape[:-1], 2, 3), axis=-1)


def _turned(R: np.ndarray, twist: np.ndarray) -> np.ndarray:
    """Return velocities (..., 6) in the axes that rotations R (..., 3, 3) lead to."""
    parts = twist.reshape(*twist.shape[:-1], 2, 3)
    return np.asarray(parts @ R.swapaxes(-1, -2)).reshape(twist.shape)


def _in_axes(of: np.ndarray, given: np.ndarray, twist: np.ndarray) -> np.ndarray:
    """Return velocities (..., 6), which are along the axes of the poses `given` (..., 7), along those of poses `of`."""
    same = (of[..., 3:] == given[..., 3:]).all(axis=-1)[..., None]
    if same.all():
        return twist
    # a state's bits do not depend on whether the bodies of others turn
    return np.where(
        same, twist, _turned(rotation_of(of[..., 3:]).swapaxes(-1, -2) @ rotation_of(given[..., 3:]), twist)
    )


def _body_of(robot: Tree, name: str, motion: Motion) -> KinematicBody:
    """Return a kinematic body; raises ArgumentError, UnknownNameError."""
    if name not in robot.body_names:
        raise unknown_name("kinematic body", name, robot.body_names, of=repr(robot.name))
    number = robot.body_names.index(name) + 1
    body = robot.bodies[number - 1]
    carries = [other.name for other in robot.bodies if other.parent == number]
    if body.parent or body.joint.type != "floating" or carries:
        raise ArgumentError(
            f"kinematic: {quoted(name)} must be a free body that carries no other, as of treesim.free_body, but "
            + (
                f"it carries {quoted(carries[0])}"
                if carries
                else f"its joint {quoted(body.joint.name)} is {body.joint.type}"
            )
        )
    if not callable(motion):
        raise ArgumentError(
            f"kinematic: the motion of {quoted(name)} must be treesim.Waypoints, treesim.Conveyor or a function of the "
            f"time, got {short_repr(motion)}"
        )
    joint = body.joint.name
    return KinematicBody(name, number, robot.q_index[joint], robot.v_index[joint], motion)
