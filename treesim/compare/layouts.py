"""Maps between treesim's and another engine's coordinates, velocities and forces: one object per robot and engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from ..model.matrices import rotation_of
from ..model.tree import Tree


class Layout(Protocol):
    """Conversion of states and forces between treesim's layout and an engine's, in both directions.

    All arguments may have leading batch axes. If the engine uses other axes, velocities and forces are rotated. The
    rotation depends on the configuration q, which is in treesim's layout.

    In all methods, q (..., nq) is a configuration, v (..., nv) a velocity, a (..., nv) the time derivative of v, tau
    (..., nv) generalised forces, and M (..., nv, nv) a mass matrix, all in treesim's layout. The quantity `theirs` is
    in the engine's layout. Methods `..._to_engine` return the quantity in the engine's layout, and methods
    `..._from_engine` in treesim's.
    """

    def configuration_to_engine(self, q: np.ndarray) -> np.ndarray:
        """Convert a configuration from treesim's layout to the engine's."""

    def configuration_from_engine(self, theirs: np.ndarray) -> np.ndarray:
        """Convert a configuration from the engine's layout to treesim's."""

    def velocity_to_engine(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Convert a velocity from treesim's layout to the engine's."""

    def velocity_from_engine(self, q: np.ndarray, theirs: np.ndarray) -> np.ndarray:
        """Convert a velocity from the engine's layout to treesim's."""

    def acceleration_to_engine(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Convert an acceleration to the time derivative of the engine's velocity."""

    def acceleration_from_engine(self, q: np.ndarray, v: np.ndarray, theirs: np.ndarray) -> np.ndarray:
        """Convert the time derivative of the engine's velocity to that of treesim's velocity v."""

    def force_to_engine(self, q: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """Convert generalised forces from treesim's layout to the engine's."""

    def force_from_engine(self, q: np.ndarray, theirs: np.ndarray) -> np.ndarray:
        """Convert generalised forces from the engine's layout to treesim's."""

    def matrix_to_engine(self, q: np.ndarray, M: np.ndarray) -> np.ndarray:
        """Convert a mass matrix from treesim's layout to the engine's."""

    def matrix_from_engine(self, q: np.ndarray, theirs: np.ndarray) -> np.ndarray:
        """Convert a mass matrix from the engine's layout to treesim's."""


class Reordered:
    """Layout with treesim's coordinates in another order.

    q_order, v_order: for each of the engine's coordinates, its index in treesim. If the engine's axes differ
    too, override `velocity_to_engine` and `velocity_from_engine`. An orthogonal map of velocities also maps
    forces and mass matrices.
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
        """Return a (..., nv) mapped as velocities are: the axes do not rotate."""
        return self.velocity_to_engine(q, a)

    def acceleration_from_engine(self, q: np.ndarray, v: np.ndarray, theirs: np.ndarray) -> np.ndarray:
        """Return the engine's acceleration mapped as velocities are: the axes do not rotate."""
        return self.velocity_from_engine(q, theirs)

    def force_to_engine(self, q: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """Return tau (..., nv) mapped as velocities are: the map is orthogonal."""
        return self.velocity_to_engine(q, tau)

    def force_from_engine(self, q: np.ndarray, theirs: np.ndarray) -> np.ndarray:
        """Return the engine's forces mapped as velocities are: the map is orthogonal."""
        return self.velocity_from_engine(q, theirs)

    def matrix_to_engine(self, q: np.ndarray, M: np.ndarray) -> np.ndarray:
        """Return M (..., nv, nv) with rows and columns mapped as forces."""
        rows = self.force_to_engine(q[..., None, :], M)
        return np.swapaxes(self.force_to_engine(q[..., None, :], np.swapaxes(rows, -1, -2)), -1, -2)

    def matrix_from_engine(self, q: np.ndarray, theirs: np.ndarray) -> np.ndarray:
        """Return the engine's matrix with rows and columns mapped as forces."""
        rows = self.force_from_engine(q[..., None, :], theirs)
        return np.swapaxes(self.force_from_engine(q[..., None, :], np.swapaxes(rows, -1, -2)), -1, -2)


def reordered(robot: Tree, joints: Sequence[str]) -> Reordered:
    """Return the layout of an engine in which the robot's joints have this order."""
    indices = ([index[name] for name in joints] for index in (robot.q_index, robot.v_index))
    return Reordered(*(np.concatenate([np.zeros(0, int), *(np.r_[where] for where in each)]) for each in indices))


class SpanningLayout:
    """Layout of a robot in an engine that has separate coordinates for mimic joints.

    Mimic coordinates are computed from the mimicked joints (`Tree.expand`) for the engine, and dropped on the way back.

    robot: may have mimic joints. whole: the layout of `robot.spanning`. Forces are applied to independent joints only.
    With G of v = G yd, the engine's forces map to G' tau and its mass matrices to G' M G (RBDA eq. 3.9, 8.20).
    """

    def __init__(self, robot: Tree, whole: Layout) -> None:
        self.robot, self.whole = robot, whole
        self.independent_q, self.independent_v = robot.kept()
        self.G = np.eye(robot.nv) if robot.mimic_map is None else robot.mimic_map.G

    def configuration_to_engine(self, q: np.ndarray) -> np.ndarray:
        """Return q (..., nq) in the engine's layout, including mimic joints."""
        return self.whole.configuration_to_engine(self.robot.expand(q))

    def configuration_from_engine(self, theirs: np.ndarray) -> np.ndarray:
        """Return the engine's configuration as q (..., nq), ignoring mimic joints."""
        return self.whole.configuration_from_engine(theirs)[..., self.independent_q]

    def velocity_to_engine(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return v (..., nv) in the engine's layout, including mimic joints."""
        return self.whole.velocity_to_engine(self.robot.expand(q), self.robot.expand_velocity(v))

    def velocity_from_engine(self, q: np.ndarray, theirs: np.ndarray) -> np.ndarray:
        """Return the engine's velocity as v (..., nv), ignoring mimic joints."""
        return self.whole.velocity_from_engine(self.robot.expand(q), theirs)[..., self.independent_v]

    def acceleration_to_engine(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Return a, the derivative of v (..., nv), in the engine's layout, including mimic joints."""
        v, a = self.robot.expand_velocity(v), self.robot.expand_velocity(a)
        return self.whole.acceleration_to_engine(self.robot.expand(q), v, a)

    def acceleration_from_engine(self, q: np.ndarray, v: np.ndarray, theirs: np.ndarray) -> np.ndarray:
        """Return the derivative of the engine's velocity as that of v (..., nv), ignoring mimic joints."""
        v = self.robot.expand_velocity(v)
        return self.whole.acceleration_from_engine(self.robot.expand(q), v, theirs)[..., self.independent_v]

    def force_to_engine(self, q: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """Return tau (..., nv) in the engine's layout, with zeros for mimic joints."""
        whole = np.zeros((*tau.shape[:-1], len(self.G)))
        whole[..., self.independent_v] = tau
        return self.whole.force_to_engine(self.robot.expand(q), whole)

    def force_from_engine(self, q: np.ndarray, theirs: np.ndarray) -> np.ndarray:
        """Return the engine's forces as G' tau (..., nv)."""
        return self.whole.force_from_engine(self.robot.expand(q), theirs) @ self.G

    def matrix_to_engine(self, q: np.ndarray, M: np.ndarray) -> np.ndarray:
        """Return M (..., nv, nv) in the engine's layout, with zero rows and columns for mimic joints."""
        whole = np.zeros((*M.shape[:-2], len(self.G), len(self.G)))
        whole[..., self.independent_v[:, None], self.independent_v] = M
        return self.whole.matrix_to_engine(self.robot.expand(q), whole)

    def matrix_from_engine(self, q: np.ndarray, theirs: np.ndarray) -> np.ndarray:
        """Return the engine's mass matrix as G' M G (..., nv, nv)."""
        return self.G.T @ self.whole.matrix_from_engine(self.robot.expand(q), theirs) @ self.G


class WorldAxes(Reordered):
    """Layout in which parts of the velocities of floating joints are in world axes.

    floating: first indices in q and v of the floating joints on the fixed base, with q of position and quaternion, and
    v of linear and angular velocity in the body's axes. parts: number of these velocities, linear first, that the
    engine expresses in world axes.
    """

    def __init__(
        self, q_order: np.ndarray, v_order: np.ndarray, floating: Sequence[tuple[int, int]], parts: int
    ) -> None:
        super().__init__(q_order, v_order)
        self.floating, self.parts = tuple(floating), parts

    def velocity_to_engine(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return v (..., nv) as the engine's velocity."""
        return self._turned("...ij,...j->...i", q, v)[..., self.v_order]

    def velocity_from_engine(self, q: np.ndarray, theirs: np.ndarray) -> np.ndarray:
        """Return the engine's velocity as v (..., nv)."""
        return self._turned("...ji,...j->...i", q, super().velocity_from_engine(q, theirs))

    def acceleration_to_engine(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Return a, the derivative of v (..., nv) in rotating body axes, as that of the engine's velocity."""
        return self.velocity_to_engine(q, self._with_turning_axes(v, a, 1.0))

    def acceleration_from_engine(self, q: np.ndarray, v: np.ndarray, theirs: np.ndarray) -> np.ndarray:
        """Return the derivative of the engine's velocity as that of v (..., nv)."""
        return self._with_turning_axes(v, self.velocity_from_engine(q, theirs), -1.0)

    def _turned(self, product: str, q: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Rotate the floating joints' parts to world axes, or back."""
        if not self.floating:
            return x
        turned = np.array(np.broadcast_to(x, (*np.broadcast_shapes(q.shape[:-1], x.shape[:-1]), x.shape[-1])))
        for i, j in self.floating:
            R = rotation_of(q[..., i + 3 : i + 7])
            for k in range(j, j + 3 * self.parts, 3):
                turned[..., k : k + 3] = np.einsum(product, R, x[..., k : k + 3])
        return turned

    def _with_turning_axes(self, v: np.ndarray, a: np.ndarray, sign: float) -> np.ndarray:
        """Add (or subtract) the effect of rotating axes, w x v, on linear accelerations of floating joints."""
        found = np.array(a)
        for _, k in self.floating:
            found[..., k : k + 3] += sign * np.cross(v[..., k + 3 : k + 6], v[..., k : k + 3])
        return found


def floating_joints(robot: Tree) -> list[tuple[int, int]]:
    """Return first indices in q and v of the floating joints on the fixed base."""
    free = [body.joint.name for body in robot.bodies if body.parent == 0 and body.joint.type == "floating"]
    return [(robot.q_index[name].start, robot.v_index[name].start) for name in free]


def put_back(theirs: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Invert the reordering `x[..., order]`."""
    ours = np.empty((*theirs.shape[:-1], len(order)), dtype=theirs.dtype)
    ours[..., order] = theirs
    return ours


def both_triangles(upper: np.ndarray) -> np.ndarray:
    """Return the symmetric matrix (..., n, n) with the given upper triangle."""
    upper = np.triu(upper)
    return upper + np.swapaxes(np.triu(upper, 1), -1, -2)
