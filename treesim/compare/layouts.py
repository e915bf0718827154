"""Between treesim's layout of states and forces and another engine's: one object per robot and engine."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from ..model.tree import Tree


class Layout(Protocol):
    """Every map with its way back; all take leading axes of states. q is the configuration in treesim's layout, at
    which velocities and forces are turned where the two engines take other axes."""

    def configuration_to_engine(self, q: np.ndarray) -> np.ndarray:
        """Return q (..., nq) as the engine's numbers."""
        ...

    def configuration_from_engine(self, theirs: np.ndarray) -> np.ndarray:
        """Return the engine's configuration as q (..., nq)."""
        ...

    def velocity_to_engine(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return v (..., nv) as the engine's velocity."""
        ...

    def velocity_from_engine(self, q: np.ndarray, theirs: np.ndarray) -> np.ndarray:
        """Return the engine's velocity as v (..., nv)."""
        ...

    def acceleration_to_engine(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Return a, the derivative of v (..., nv), as the derivative of the engine's velocity."""
        ...

    def acceleration_from_engine(self, q: np.ndarray, v: np.ndarray, theirs: np.ndarray) -> np.ndarray:
        """Return the derivative of the engine's velocity as that of v (..., nv)."""
        ...

    def force_to_engine(self, q: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """Return generalised forces tau (..., nv) as the engine's."""
        ...

    def force_from_engine(self, q: np.ndarray, theirs: np.ndarray) -> np.ndarray:
        """Return the engine's generalised forces as tau (..., nv)."""
        ...

    def matrix_to_engine(self, q: np.ndarray, M: np.ndarray) -> np.ndarray:
        """Return the mass matrix M (..., nv, nv) as the engine's."""
        ...

    def matrix_from_engine(self, q: np.ndarray, theirs: np.ndarray) -> np.ndarray:
        """Return the engine's mass matrix as M (..., nv, nv)."""
        ...


class Reordered:
    """A layout with the same numbers in another order.

    q_order, v_order: for each of the engine's numbers, treesim's index of it. Where the engine's axes differ as well,
    override what is needed: an orthogonal map of velocities, by `velocity_to_engine` and `velocity_from_engine`, is
    that of forces and of the mass matrix too.
    """

    def __init__(self, q_order: np.ndarray, v_order: np.ndarray) -> None:
        self.q_order, self.v_order = np.asarray(q_order, dtype=int), np.asarray(v_order, dtype=int)

    def configuration_to_engine(self, q: np.ndarray) -> np.ndarray:
        """Return q (..., nq) in the engine's order."""
        return q[..., self.q_order]

    def configuration_from_engine(self, theirs: np.ndarray) -> np.ndarray:
        """Return the engine's configuration as q (..., nq)."""
        return put_back(theirs, self.q_order)

    def velocity_to_engine(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return v (..., nv) in the engine's order."""
        return v[..., self.v_order]

    def velocity_from_engine(self, q: np.ndarray, theirs: np.ndarray) -> np.ndarray:
        """Return the engine's velocity as v (..., nv)."""
        return put_back(theirs, self.v_order)

    def acceleration_to_engine(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Return a (..., nv) as velocities are: the axes do not turn."""
        return self.velocity_to_engine(q, a)

    def acceleration_from_engine(self, q: np.ndarray, v: np.ndarray, theirs: np.ndarray) -> np.ndarray:
        """Return the engine's acceleration as velocities are: the axes do not turn."""
        return self.velocity_from_engine(q, theirs)

    def force_to_engine(self, q: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """Return tau (..., nv) as velocities are: the map is orthogonal."""
        return self.velocity_to_engine(q, tau)

    def force_from_engine(self, q: np.ndarray, theirs: np.ndarray) -> np.ndarray:
        """Return the engine's forces as velocities are: the map is orthogonal."""
        return self.velocity_from_engine(q, theirs)

    def matrix_to_engine(self, q: np.ndarray, M: np.ndarray) -> np.ndarray:
        """Return M (..., nv, nv) with rows and columns as the engine's forces."""
        rows = self.force_to_engine(q[..., None, :], M)
        return np.swapaxes(self.force_to_engine(q[..., None, :], np.swapaxes(rows, -1, -2)), -1, -2)

    def matrix_from_engine(self, q: np.ndarray, theirs: np.ndarray) -> np.ndarray:
        """Return the engine's matrix with rows and columns as treesim's forces."""
        rows = self.force_from_engine(q[..., None, :], theirs)
        return np.swapaxes(self.force_from_engine(q[..., None, :], np.swapaxes(rows, -1, -2)), -1, -2)


class SpanningLayout:
    """The layout of a robot in an engine in which joints that follow others have numbers of their own: to the engine go
    those that follow from their leaders' (`Tree.expand`), from the engine only the leaders' count.

    robot: may have followers. whole: the layout of `robot.spanning`. Forces on the robot act on the leaders alone; with
    G of v = G yd, forces of the engine count as G' tau, and its mass matrices as G' M G (RBDA eq. 3.9, 8.20).
    """

    def __init__(self, robot: Tree, whole: Layout) -> None:
        self.robot, self.whole = robot, whole
        self.independent_q, self.independent_v = robot.kept()
        self.G = np.eye(robot.nv) if robot.mimic_map is None else robot.mimic_map.G

    def configuration_to_engine(self, q: np.ndarray) -> np.ndarray:
        """Return q (..., nq) as the engine's numbers, the followers' among them."""
        return self.whole.configuration_to_engine(self.robot.expand(q))

    def configuration_from_engine(self, theirs: np.ndarray) -> np.ndarray:
        """Return the engine's configuration as q (..., nq), wherever its followers are."""
        return self.whole.configuration_from_engine(theirs)[..., self.independent_q]

    def velocity_to_engine(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return v (..., nv) as the engine's velocity, the followers' among it."""
        return self.whole.velocity_to_engine(self.robot.expand(q), self.robot.expand_velocity(v))

    def velocity_from_engine(self, q: np.ndarray, theirs: np.ndarray) -> np.ndarray:
        """Return the engine's velocity as v (..., nv), however its followers move."""
        return self.whole.velocity_from_engine(self.robot.expand(q), theirs)[..., self.independent_v]

    def acceleration_to_engine(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Return a, the derivative of v (..., nv), as that of the engine's velocity, the followers' among it."""
        v, a = self.robot.expand_velocity(v), self.robot.expand_velocity(a)
        return self.whole.acceleration_to_engine(self.robot.expand(q), v, a)

    def acceleration_from_engine(self, q: np.ndarray, v: np.ndarray, theirs: np.ndarray) -> np.ndarray:
        """Return the derivative of the engine's velocity as that of v (..., nv), however its followers move."""
        v = self.robot.expand_velocity(v)
        return self.whole.acceleration_from_engine(self.robot.expand(q), v, theirs)[..., self.independent_v]

    def force_to_engine(self, q: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """Return tau (..., nv) as the engine's forces, all of them on joints that follow none."""
        whole = np.zeros((*tau.shape[:-1], len(self.G)))
        whole[..., self.independent_v] = tau
        return self.whole.force_to_engine(self.robot.expand(q), whole)

    def force_from_engine(self, q: np.ndarray, theirs: np.ndarray) -> np.ndarray:
        """Return the engine's forces as G' tau (..., nv)."""
        return self.whole.force_from_engine(self.robot.expand(q), theirs) @ self.G

    def matrix_to_engine(self, q: np.ndarray, M: np.ndarray) -> np.ndarray:
        """Return M (..., nv, nv) as a matrix of the engine's, zero in the followers' rows and columns."""
        whole = np.zeros((*M.shape[:-2], len(self.G), len(self.G)))
        whole[..., self.independent_v[:, None], self.independent_v] = M
        return self.whole.matrix_to_engine(self.robot.expand(q), whole)

    def matrix_from_engine(self, q: np.ndarray, theirs: np.ndarray) -> np.ndarray:
        """Return the engine's mass matrix as G' M G (..., nv, nv)."""
        return self.G.T @ self.whole.matrix_from_engine(self.robot.expand(q), theirs) @ self.G


class WorldAxes(Reordered):
    """A layout in which parts of the floating base's velocity are in the world's axes.

    floating: whether body 0 is a floating base, whose q are position and quaternion, and whose v are linear and angular
    velocity in its own axes. parts: how many of these two, the linear one first, the engine gives in the world's axes.
    """

    def __init__(self, q_order: np.ndarray, v_order: np.ndarray, floating: bool, parts: int) -> None:
        super().__init__(q_order, v_order)
        self.floating, self.parts = floating, parts

    def velocity_to_engine(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return v (..., nv) as the engine's velocity."""
        return self._turned("...ij,...j->...i", q, v)[..., self.v_order]

    def velocity_from_engine(self, q: np.ndarray, theirs: np.ndarray) -> np.ndarray:
        """Return the engine's velocity as v (..., nv)."""
        return self._turned("...ji,...j->...i", q, super().velocity_from_engine(q, theirs))

    def acceleration_to_engine(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Return a, the derivative of v (..., nv) in axes that turn with the body, as that of the engine's velocity."""
        return self.velocity_to_engine(q, self._with_turning_axes(v, a, 1.0))

    def acceleration_from_engine(self, q: np.ndarray, v: np.ndarray, theirs: np.ndarray) -> np.ndarray:
        """Return the derivative of the engine's velocity as that of v (..., nv)."""
        return self._with_turning_axes(v, self.velocity_from_engine(q, theirs), -1.0)

    def _turned(self, product: str, q: np.ndarray, x: np.ndarray) -> np.ndarray:
        """These parts turned to the world's axes, or back."""
        if not self.floating:
            return x
        R, end = rotation_of(q[..., 3:7]), 3 * self.parts
        turned = [np.einsum(product, R, x[..., k : k + 3]) for k in range(0, end, 3)]
        return np.concatenate([*turned, x[..., end:]], axis=-1)

    def _with_turning_axes(self, v: np.ndarray, a: np.ndarray, sign: float) -> np.ndarray:
        """The base's linear acceleration with or without the turning of its axes."""
        if not self.floating:
            return a
        return np.concatenate([a[..., :3] + sign * np.cross(v[..., 3:6], v[..., :3]), a[..., 3:]], axis=-1)


def rotation_of(quaternion: np.ndarray) -> np.ndarray:
    """Return the rotations (..., 3, 3) of unit quaternions xyzw (..., 4)."""
    x, y, z, w = np.moveaxis(quaternion, -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))


def put_back(theirs: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Return what `x[..., order]` was taken from."""
    ours = np.empty((*theirs.shape[:-1], len(order)), dtype=theirs.dtype)
    ours[..., order] = theirs
    return ours


def both_triangles(upper: np.ndarray) -> np.ndarray:
    """Return the symmetric matrix (..., n, n) of which only the upper triangle is given."""
    upper = np.triu(upper)
    return upper + np.swapaxes(np.triu(upper, 1), -1, -2)
