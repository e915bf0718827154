"""Kinematic bodies: free bodies that follow a given motion, whatever touches them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..dynamics.constrained.constraints import ConstraintTables
from ..dynamics.energy import energy
from ..errors import ArgumentError, ContactWarning, EnergyWarning, quoted, unknown_name
from ..model.frozen import frozen
from ..model.matrices import is_rotation
from ..model.tree import Tree
from ..system.display import ReprMixin, vector
from ..validation.arrays import real_numbers
from ..validation.values import checked_flag, finite_vector, short_repr

IMMOVABLE = 1e100  # kg, kg m^2: rotor inertia of a kinematic body's joint, whose inverse is 0 in all sums with others
STRAIGHT = (0.0, 0.0, 0.0, 1.0)  # quaternion x, y, z, w without rotation
CLOSED = 1e-9  # m: largest distance of the first and the last waypoint of a periodic motion
# m/s, rad/s: larger changes of a kinematic body's velocity from one step to the next are jumps of its pose
JUMP, JUMP_OF_TURN = 10.0, 100.0
Motion = Callable[[float], ArrayLike]
Times = float | np.ndarray  # one, or (B,) of the states of a batch


@dataclass(frozen=True, repr=False, eq=False)
class Waypoints(ReprMixin):
    """Motion of a kinematic body through given poses, for example of a lift, a door or a moving obstacle.

    Between two poses, the body moves along a straight line and turns about a fixed axis, at constant speeds. Before the
    first and after the last pose, the body is at rest.

    Parameters
    ----------
    times : array_like, shape (K,)
        Times [s], increasing.
    positions : array_like, shape (K, 3)
        Positions of the body's frame in the world [m].
    quaternions : array_like, shape (K, 4), optional
        Orientations of the body as quaternions x, y, z, w. Without rotation by default.
    periodic : bool
        Repeat the motion. The last pose must then be equal to the first one.

    Raises
    ------
    ArgumentError
        If the arrays do not fit together, or times do not increase.

    Examples
    --------
    >>> lift = treesim.Waypoints([0.0, 1.0, 3.0], [(0, 0, 0), (0, 0, 0), (0, 0, 0.5)])
    >>> lift(2.0)
    array([0.  , 0.  , 0.25, 0.  , 0.  , 0.  , 1.  ])
    """

    times: np.ndarray
    positions: np.ndarray
    quaternions: np.ndarray = None  # type: ignore[assignment]  # without rotation, see __post_init__
    periodic: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        times = finite_vector("times of Waypoints", self.times)
        if not len(times) or (times[1:] <= times[:-1]).any():
            raise ArgumentError(f"times of Waypoints must increase, got {short_repr(self.times)}")
        turns = np.tile(STRAIGHT, (len(times), 1)) if self.quaternions is None else self.quaternions
        for label, given, n in (("positions", self.positions, 3), ("quaternions", turns, 4)):
            array = real_numbers(f"{label} of Waypoints", given)
            if array.shape != (len(times), n) or not np.isfinite(array).all():
                raise ArgumentError(
                    f"{label} of Waypoints must be {len(times)} x {n} finite numbers, a row for each of its times"
                )
            if label == "quaternions":
                array = np.array([_unit(row) for row in array])
            object.__setattr__(self, label, frozen(array))
        object.__setattr__(self, "times", frozen(times))
        checked_flag("periodic", self.periodic)
        if self.periodic and not (len(times) > 1 and _same_pose(self._at(times[0]), self._at(times[-1]))):
            raise ArgumentError("the last pose of periodic Waypoints must be the first one")

    def __call__(self, t: float) -> np.ndarray:
        """Return the pose (7,) at time t [s]: position, then quaternion."""
        first, last = self.times[0], self.times[-1]
        return self._at(first + (t - first) % (last - first) if self.periodic else t)

    def _at(self, t: float) -> np.ndarray:
        from scipy.spatial.transform import Rotation

        k = int(np.searchsorted(self.times, t, "right")) - 1
        if k < 0 or k == len(self.times) - 1:
            return np.concatenate([self.positions[max(k, 0)], self.quaternions[max(k, 0)]])
        s = (t - self.times[k]) / (self.times[k + 1] - self.times[k])
        start, end = (Rotation.from_quat(self.quaternions[i]) for i in (k, k + 1))
        turn = start * Rotation.from_rotvec(s * (start.inv() * end).as_rotvec())
        return np.concatenate([(1 - s) * self.positions[k] + s * self.positions[k + 1], turn.as_quat()])

    def __repr__(self) -> str:
        return f"<Waypoints: {len(self.times)} poses, {self.times[0]:g} ... {self.times[-1]:g} s>"

    def _repr_fields(self) -> list[tuple[str, Any]]:
        return [("periodic", self.periodic)]


@dataclass(frozen=True, repr=False)
class Conveyor(ReprMixin):
    """Motion of a conveyor belt: the pose of the kinematic body is constant, and its surface moves.

    Parameters
    ----------
    velocity : array_like, shape (3,)
        Velocity of the surface along the world's axes [m/s].
    position : array_like, shape (3,)
        Position of the body's frame in the world [m].
    quaternion : array_like, shape (4,)
        Orientation of the body as a quaternion x, y, z, w.

    Raises
    ------
    ArgumentError
        If a value has another shape or is not finite.

    Examples
    --------
    >>> belt = treesim.free_body("belt", "box", (4.0, 0.6, 0.1), 1.0)
    >>> crate = treesim.free_body("crate", "box", (0.2, 0.2, 0.2), 1.0)
    >>> world = treesim.World(crate, bodies=belt, kinematic={"belt": treesim.Conveyor((0.5, 0, 0))})
    >>> run = treesim.Simulation(world).run(1.0, q0=[0, 0, 0.15, 0, 0, 0, 1, *belt.neutral()])
    >>> run.v[-1, :3].round(6) + 0.0
    array([0.5, 0. , 0. ])
    """

    velocity: tuple[float, float, float]
    position: tuple[float, float, float] = (0.0, 0.0, 0.0)
    quaternion: tuple[float, float, float, float] = STRAIGHT

    def __post_init__(self) -> None:
        for label in ("velocity", "position"):
            object.__setattr__(
                self, label, tuple(finite_vector(f"{label} of Conveyor", getattr(self, label), 3).tolist())
            )
        turn = _unit(finite_vector("quaternion of Conveyor", self.quaternion, 4))
        object.__setattr__(self, "quaternion", tuple(turn.tolist()))

    def __call__(self, t: float) -> np.ndarray:
        """Return the pose (7,): position, then quaternion."""
        return np.array([*self.position, *self.quaternion])

    def __repr__(self) -> str:
        return f"<Conveyor: {vector(np.array(self.velocity))} m/s>"

    def _repr_fields(self) -> list[tuple[str, Any]]:
        return [("position [m]", vector(self.position))]


def _same_pose(one: np.ndarray, other: np.ndarray) -> bool:
    sign = np.where(one[3:] @ other[3:] < 0, -1.0, 1.0)  # q and -q are one orientation
    return bool(np.abs(one - np.concatenate([other[:3], sign * other[3:]])).max() <= CLOSED)


def _unit(quaternion: np.ndarray) -> np.ndarray:
    length = float(np.linalg.norm(quaternion))
    if not 0.5 < length < 2.0:
        raise ArgumentError(f"a quaternion must be of length 1, got {short_repr(quaternion.tolist())}")
    return quaternion / length


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
            what = f"{type(error).__name__}: {error}"
            raise ArgumentError(f"the motion of {self.name!r} failed at t = {t:g} s: {what}") from error
        if given.dtype.kind in "fiu" and np.isfinite(given).all():
            if given.shape == (3,):
                return np.array([*given, *STRAIGHT])
            if given.shape == (7,):
                return np.concatenate([given[:3], _unit(given[3:].astype(float))])
            if given.shape == (4, 4) and is_rotation(given[:3, :3]) and (given[3] == STRAIGHT).all():
                from scipy.spatial.transform import Rotation

                return np.concatenate([given[:3, 3], Rotation.from_matrix(given[:3, :3]).as_quat()])
        raise ArgumentError(
            f"the motion of {self.name!r} must return a position (3,), a position and a quaternion (7,), or a pose "
            f"(4, 4), got {short_repr(given.tolist())} at t = {t:g} s"
        )


class KinematicBodies:
    """The kinematic bodies of a world.

    In every step each body moves at constant velocity from its pose at the step's start to that at its end, with an
    inverse inertia of zero. robot: tree of the world. motions: by name of a free body. Raises ArgumentError for other
    values and bodies, UnknownNameError for unknown ones.
    """

    def __init__(self, robot: Tree, motions: Mapping[str, Motion] | None) -> None:
        try:
            self.motions = dict(motions or {})
        except (TypeError, ValueError):
            raise ArgumentError(
                f'kinematic must be motions by name of a body, as {{"lift": treesim.Waypoints(...)}}, got '
                f"{short_repr(motions)}"
            ) from None
        self.robot, self.bodies = robot, tuple(_body_of(robot, name, motion) for name, motion in self.motions.items())
        self.numbers = frozenset(body.number for body in self.bodies)
        self._warned: set[int] = set()  # numbers of bodies whose jumps are reported

    def __bool__(self) -> bool:
        return bool(self.bodies)

    @cached_property
    def stepped(self) -> Tree:
        """The tree that steps move: kinematic bodies have an infinite inertia for all that acts on them."""
        if not self.bodies:
            return self.robot
        bodies = [
            replace(body, joint=replace(body.joint, armature=np.full(6, IMMOVABLE))) if i in self.numbers else body
            for i, body in enumerate(self.robot.bodies, 1)
        ]
        return Tree(self.robot.name, **self.robot._parts() | {"bodies": bodies})

    def refuse_forces(self, label: str, table: np.ndarray) -> None:
        """Raise ArgumentError if a table (..., N, 21) of external forces has some on a kinematic body.

        label: the argument that they come from.
        """
        for body in self.bodies:
            if table[..., body.number - 1, :].any():
                raise ArgumentError(f"{label}: {quoted(body.name)} is a kinematic body, which no force moves")

    def check_constraints(self, tables: ConstraintTables, stacklevel: int) -> None:
        """Raise ArgumentError for a constraint that nothing but given motions could satisfy.

        Issues an EnergyWarning for loops from other bodies to kinematic ones.
        """
        for constraint, ends in zip(tables.constraints, tables.bodies.tolist(), strict=True):
            if self.numbers & {*ends} and self.numbers | {0} >= {*ends}:
                raise ArgumentError(
                    f"{constraint.label} holds no body but kinematic ones, which follow given motions alone"
                )
            if self.numbers & {*ends}:
                warnings.warn(
                    f"{constraint.label} holds a kinematic body: its work is left out of the energy balance of runs",
                    EnergyWarning,
                    stacklevel=stacklevel + 1,
                )

    def begin(self, t: Times, dt: float, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return states q (..., nq), v (..., nv) with the poses at t, and the velocities until t + dt [s].

        t: one time, or those of the states (B,), whose q and v then have two axes.
        """
        if not self.bodies:
            return q, v
        q, v = self.end(t, q.copy()), v.copy()
        for now, rows in _moments(t):
            rates = self._rates(now, dt)
            for body in self.bodies:
                v[(*rows, body.v)] = rates[body.v]
        return q, v

    def end(self, t: Times, q: np.ndarray) -> np.ndarray:
        """Write the poses at t [s], as in `begin`, into configurations q (..., nq), and return them."""
        for now, rows in _moments(t):
            for body in self.bodies:
                q[(*rows, body.q)] = body.pose(now)
        return q

    def _rates(self, t: float, dt: float) -> np.ndarray:
        """Return velocities (nv,) that move the bodies from their poses at t to those at t + dt; 0 of others."""
        neutral = self.robot.neutral()
        start, end = self.end(t, neutral.copy()), self.end(t + dt, neutral.copy())
        rates = self.robot.difference(start, end) / dt
        for body in self.bodies:
            if body.number not in self._warned and t > 0.5 * dt:
                self._warn_of_jump(body, t, dt, rates[body.v])
            if isinstance(body.motion, Conveyor):
                rates[body.v] = np.concatenate([_rotation(start[body.q]).T @ body.motion.velocity, np.zeros(3)])
        return rates

    def _warn_of_jump(self, body: KinematicBody, t: float, dt: float, rate: np.ndarray) -> None:
        """Warn of a body that moves much faster in a step than in the one before; rate (6,): of the step at t."""
        linear, angular = (float(np.linalg.norm(x)) for x in (rate[:3], rate[3:]))
        if linear <= JUMP and angular <= JUMP_OF_TURN:
            return
        start, end = (self.robot.neutral() for _ in range(2))
        start[body.q], end[body.q] = body.pose(t - dt), body.pose(t)
        change = rate - self.robot.difference(start, end)[body.v] / dt
        moved, turned = (float(np.linalg.norm(x)) for x in (change[:3], change[3:]))
        if moved > JUMP or turned > JUMP_OF_TURN:
            self._warned.add(body.number)
            warnings.warn(
                f"the motion of {quoted(body.name)} jumps at t = {t:g} s, by {linear * dt:.3g} m and "
                f"{angular * dt:.3g} rad in a step of {dt:g} s: it throws what it touches at {linear:.3g} m/s and "
                f"{angular:.3g} rad/s; let it move there in several steps",
                ContactWarning,
                stacklevel=2,
            )

    def work(
        self, dt: float, before: tuple[np.ndarray, np.ndarray], after: tuple[np.ndarray, np.ndarray],
        force: np.ndarray, wrench: np.ndarray | None, gravity: np.ndarray | None,
    ) -> Any:  # fmt: skip
        """Return the work (...) that moved the bodies in a step [J].

        before, after: (q, v) at both ends; force (..., nv): controls; wrench (..., N + 1, 6): mean contact wrenches
        along the world's axes about the bodies' origins at the start, None without contact; gravity (3,) or (..., 3):
        that of `robot` if None. It is the change of their energies, without the work of contact and controls on
        them. For turning bodies of order 2 in dt.
        """
        done, physics = 0.0, None if gravity is None else {"gravity": gravity}
        (q, v), (q_next, v_next) = before, after
        for body in self.bodies:
            own = self._alone[body.number]
            start, end = (
                sum(energy(own, q_of[..., body.q], v_of[..., body.v], model_parameters=physics))
                for q_of, v_of in ((q, v), (q_next, v_next))
            )
            rate = v_next[..., body.v]
            done = done + end - start - dt * (force[..., body.v] * rate).sum(axis=-1)
            if wrench is not None:
                R = _rotation(q[..., body.q])
                done = done - dt * (wrench[..., body.number, :] * _along_world(R, rate)).sum(axis=-1)
        return done

    @cached_property
    def _alone(self) -> dict[int, Tree]:
        """Trees of each body alone, by its number."""
        bodies = self.robot.bodies
        return {i: Tree(bodies[i - 1].name, [bodies[i - 1]], gravity=self.robot.gravity) for i in self.numbers}


def _moments(t: Times) -> Iterator[tuple[float, tuple[Any, ...]]]:
    """Yield each time once, and the index of its states in front of the last axis."""
    if not isinstance(t, np.ndarray):
        yield t, (...,)
        return
    every, which = np.unique(t, return_inverse=True)
    for k, now in enumerate(every.tolist()):
        yield now, (which == k,)


def _rotation(pose: np.ndarray) -> np.ndarray:
    """Return the rotation (..., 3, 3) of poses (..., 7)."""
    from scipy.spatial.transform import Rotation

    flat = pose.reshape(-1, 7)
    return Rotation.from_quat(flat[:, 3:]).as_matrix().reshape(*pose.shape[:-1], 3, 3)


def _along_world(R: np.ndarray, twist: np.ndarray) -> np.ndarray:
    """Return velocities (..., 6) along the body's axes along those of the world."""
    parts = twist.reshape(*twist.shape[:-1], 2, 3)
    return np.einsum("...ij,...kj->...ki", R, parts).reshape(twist.shape)


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
