"""External forces of steps: forces and wrenches on links, and the table of them that kernels read."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ..dynamics.tables import constants_of, frame_tables, kernel_wrenches
from ..dynamics.wrenches import LinkWrenches, link_of, moving_frame
from ..engine.call.bound_entry import BoundEntry
from ..engine.call.evaluate import lanes_for
from ..engine.call.specialized import BatchCode
from ..errors import ArgumentError, NonFiniteError, quoted
from ..kernels.stepping.external_forces import AT_POINTS, LOCAL, WORLD, WRENCHES, external_joint_forces_states
from ..model.frozen import frozen
from ..model.named_axes import wrenches_argument
from ..model.tree import Tree
from ..states.arguments import checked_robot, short_repr
from ..states.states import run_bound, serving
from ..system.display import ReprMixin, vector
from ..types import Engine, ForceFrame
from ..validation.arrays import Argument, check_copy, coerce, in_layout
from ..validation.values import (
    call_fault,
    checked_text,
    finite_or_nan,
    finite_vector,
    known_name,
    parts_or_none,
    positive_number,
)

SAME_TIME = 1e-9  # s: times of steps are products, and contain rounding errors
FRAMES = ("world", "local")


@dataclass(frozen=True, repr=False, eq=False)
class ExternalForce(ReprMixin):
    """External force and torque on a link, constant along the world's axes or along the link's axes.

    The force acts during every step that begins in the interval [start, stop). Effort limits do not apply to external
    forces. The energy balance adds the work of external forces to the work of the controls.

    Parameters
    ----------
    link : str
        Name of a link, or of another frame of the robot.
    force : array_like, shape (3,)
        Force [N] at `point`.
    torque : array_like, shape (3,)
        Torque [N m].
    point : array_like, shape (3,)
        Point of the link at which the force acts [m], in coordinates of the link's frame.
    frame : {"world", "local"}
        Axes of force and torque: the world's axes; or the link's axes, so that force and torque turn with the link.
    start : float
        Time at which the force begins [s].
    stop : float
        Time at which the force ends [s]. By default it never ends.

    Raises
    ------
    ArgumentError
        If a value is not finite or has another shape, or `stop` is before `start`.
    UnknownNameError
        If `frame` is neither "world" nor "local".

    Examples
    --------
    >>> treesim.ExternalForce("left_wrist_yaw_link", force=(0, 0, 50))
    <ExternalForce on 'left_wrist_yaw_link': force (0, 0, 50) N, world axes>
    """

    link: str
    force: ArrayLike = (0.0, 0.0, 0.0)
    _: KW_ONLY
    torque: ArrayLike = (0.0, 0.0, 0.0)
    point: ArrayLike = (0.0, 0.0, 0.0)
    frame: ForceFrame = "world"
    start: float = 0.0
    stop: float = math.inf

    def __post_init__(self) -> None:
        object.__setattr__(self, "link", checked_text("link", self.link))
        for label in ("force", "torque", "point"):
            object.__setattr__(self, label, finite_vector(label, getattr(self, label), 3))
        object.__setattr__(self, "frame", known_name("frame", self.frame, FRAMES))
        object.__setattr__(self, "start", positive_number("start", self.start, zero=True))
        stop = math.inf if type(self.stop) is float and self.stop == math.inf else finite_or_nan(self.stop)
        if not stop > self.start:
            raise ArgumentError(f"stop must be a time after start, {self.start:g} s, got {short_repr(self.stop)}")
        object.__setattr__(self, "stop", stop)

    def __repr__(self) -> str:
        shown = [("force", self.force, "N"), ("torque", self.torque, "N m")]
        parts = [f"{label} {vector(np.asarray(x))} {unit}" for label, x, unit in shown if np.any(x)] or ["no force"]
        end = "" if self.stop == math.inf else f" to {self.stop:g} s"
        when = f", from {self.start:g} s{end}" if self.start or end else ""
        return f"<ExternalForce on {self.link!r}: {', '.join(parts)}, {self.frame} axes{when}>"

    def _repr_fields(self) -> list[tuple[str, Any]]:
        vectors = [(label, vector(np.asarray(getattr(self, label)))) for label in ("force", "torque", "point")]
        return [("link", self.link), ("axes", self.frame), *vectors, ("start [s]", self.start), ("stop [s]", self.stop)]

    def acts(self, t: float) -> bool:
        """Return True if the force acts during the step that begins at a given time.

        Parameters
        ----------
        t : float
            Time at which the step begins [s].

        Returns
        -------
        bool
            True if the force acts.

        Examples
        --------
        >>> treesim.ExternalForce("hand", (0, 0, 50), start=1.0, stop=2.0).acts(1.5)
        True
        """
        return self.start - SAME_TIME <= t < self.stop - SAME_TIME


# values of `f_ext` and of `external_forces`
Wrenches: TypeAlias = LinkWrenches | ExternalForce | Sequence[ExternalForce]
ExternalForces: TypeAlias = (
    ExternalForce | Sequence[ExternalForce] | Callable[[float, np.ndarray, np.ndarray], Wrenches | None]
)


def checked_forces(robot: Tree, given: Any) -> tuple[ExternalForce, ...]:
    """Return external forces as a tuple.

    Raises ArgumentError for other values, UnknownNameError for a link the robot does not have.
    """
    forces = (given,) if isinstance(given, ExternalForce) else parts_or_none(given)
    if forces is None or not all(isinstance(force, ExternalForce) for force in forces):
        raise ArgumentError(f"external_forces must be treesim.ExternalForce objects in a list, got {short_repr(given)}")
    for force in forces:
        checked_robot(robot).frame(force.link)
    return forces


def given_forces(
    robot: Tree, given: ExternalForces
) -> tuple[ExternalForce, ...] | Callable[[float, np.ndarray, np.ndarray], Wrenches | None]:
    """Return the external forces of a simulation: those of `checked_forces`, or a function of (t, q, v).

    Raises ArgumentError for other values, UnknownNameError for a link the robot does not have.
    """
    if not callable(given):
        return checked_forces(robot, given)
    if fault := call_fault(given, 3):
        raise ArgumentError(f"external_forces, if a function, must take (t, q, v): {fault}")
    return given


def described_forces(forces: Any) -> list[dict[str, Any]]:
    """Return external forces for a trajectory's metadata: by link, or the name of the function that returns them."""
    if callable(forces):
        return [{"function": str(getattr(forces, "__name__", type(forces).__name__))}]
    return [
        {
            "link": force.link,
            **{label: np.asarray(getattr(force, label)).tolist() for label in ("force", "torque", "point")},
            "frame": force.frame,
            "start": force.start,
            "stop": force.stop if math.isfinite(force.stop) else None,
        }
        for force in forces
    ]


def wrench_table(
    robot: Tree, f_ext: Wrenches, t: float, batch: tuple[int, ...] = (), welds: bool = False
) -> np.ndarray:
    """Return the table (*batch, N, 21) of external forces in kernel coordinates (`kernels.stepping.external_forces`).

    welds: return the parts (*batch, W, 21) of it on welded links (`Tree.welds`), in the coordinates of their bodies.
    f_ext: wrenches (N, 6) or (*batch, N, 6) in the bodies' own axes, force first, on the bodies' own links; a mapping
    of links, or other frames, to wrenches (6,) or (*batch, 6) in their axes about their origins, or of pairs (link,
    "world") to those along the world's axes; or `ExternalForce`, one or several, of which those count that act at the
    time t [s]. Raises ArgumentError for other values, NonFiniteError, UnknownNameError.
    """
    shape = *batch, len(robot.welds) if welds else robot.n_bodies, WRENCHES
    check_copy("f_ext", shape)
    table = np.zeros(shape)
    place = _placed_on_weld if welds else _placed
    if isinstance(f_ext, Mapping):
        for link, wrench in f_ext.items():
            add = _add_local if isinstance(link, str) else _add_world
            add(table, place(robot, link_of(link)), _wrench(f"f_ext of {link!r}", wrench, batch))
    elif isinstance(f_ext, ExternalForce) or holds_forces(f_ext):
        for force in checked_forces(robot, f_ext):
            if force.acts(t):
                _add_force(table, place(robot, force.link), force)
    elif not welds:
        table[..., LOCAL : LOCAL + 6] = _all_wrenches(robot, f_ext, batch)
    return table


def holds_forces(value: Any) -> bool:
    """Return whether a value is a sequence with external forces."""
    parts = parts_or_none(value) if isinstance(value, Sequence) else None
    return parts is not None and any(isinstance(each, ExternalForce) for each in parts)


def _all_wrenches(robot: Tree, f_ext: Any, batch: tuple[int, ...]) -> np.ndarray:
    """Return wrenches on all bodies in kernel coordinates, moment first."""
    given = _broadcast(wrenches_argument(robot, f_ext), batch)
    if not np.isfinite(given).all():
        k = int(np.argwhere(~np.isfinite(given))[0][-2])
        raise NonFiniteError(f"f_ext: the wrench on {quoted(robot.body_names[k])} is not finite")
    turned = kernel_wrenches(robot, given)
    assert turned is not None
    return turned


def _wrench(label: str, value: Any, batch: tuple[int, ...]) -> np.ndarray:
    given = _broadcast(Argument(label, value, (6,)), batch)
    if not np.isfinite(given).all():
        raise NonFiniteError(f"{label} is not finite")
    return given


def _broadcast(argument: Argument, batch: tuple[int, ...]) -> np.ndarray:
    label, shape, given = argument.label, argument.shape, coerce(argument)
    try:
        return np.broadcast_to(given, (*batch, *shape))
    except ValueError:
        raise ArgumentError(f"{label} has shape {given.shape}, but {(*batch, *shape)} or {shape} is needed") from None


Placed: TypeAlias = tuple[int | None, np.ndarray, np.ndarray]


def _placed(robot: Tree, link: str) -> Placed:
    """Return the row of the body that carries a frame, and the frame's rotation and position on it."""
    (body,), placement = frame_tables(robot, (moving_frame(robot, link).name,))
    return int(body) - 1, placement[:9].reshape(3, 3), placement[9:]


def _placed_on_weld(robot: Tree, link: str) -> Placed:
    """Return the row of a welded link, and its rotation and position on its body; no row for any other frame."""
    row = next((k for k, weld in enumerate(robot.welds) if weld.link == link), None)
    return row, *_placed(robot, link)[1:]


def _add_local(table: np.ndarray, placed: Placed, wrench: np.ndarray) -> None:
    """Add a wrench (..., 6), force first, in a frame's axes about its origin."""
    row, R, p = placed
    if row is None:
        return
    force, moment = wrench[..., :3] @ R.T, wrench[..., 3:] @ R.T
    table[..., row, LOCAL : LOCAL + 3] += moment + np.cross(p, force)
    table[..., row, LOCAL + 3 : LOCAL + 6] += force


def _add_world(table: np.ndarray, placed: Placed, wrench: np.ndarray, point: np.ndarray | float = 0.0) -> None:
    """Add a wrench (..., 6), force first, along the world's axes, about a point of a frame in the frame's axes."""
    row, R, p = placed
    if row is None:
        return
    f, n = wrench[..., :3], wrench[..., 3:]
    table[..., row, WORLD : WORLD + 3] += n
    table[..., row, WORLD + 3 : WORLD + 6] += f
    arm = R @ np.broadcast_to(point, 3) + p
    table[..., row, AT_POINTS:] += (arm[:, None] * f[..., None, :]).reshape(*f.shape[:-1], 9)


def _add_force(table: np.ndarray, placed: Placed, force: ExternalForce) -> None:
    f, n, point = (np.asarray(x) for x in (force.force, force.torque, force.point))
    if force.frame == "local":
        _add_local(table, placed, np.concatenate([f, n + np.cross(point, f)]))
    else:
        _add_world(table, placed, np.concatenate([f, n]), point)


class ExternalJointForces:
    """Compiled joint forces J' F of tables of wrenches (`wrench_table`), for single states and batches.

    lead: time [s] after which they are evaluated, at constant velocity.
    """

    def __init__(self, robot: Tree, lead: float = 0.0, engine: Engine = "auto") -> None:
        self.size = WRENCHES * robot.n_bodies
        entry, tables = serving(external_joint_forces_states, robot, constants_of(robot))
        inputs = (robot.nq,), (robot.nv,), (self.size,)
        self.bound = BoundEntry(entry, (*tables, frozen([lead])), inputs, ((robot.nv,),), engine=engine)
        self._lanes: BatchCode | None = None

    def use_simd(self) -> None:
        """Compute batches of any size by SIMD code, if there is some: a state's bits then do not depend on the size."""
        bound, nv = self.bound, self.bound.inputs[1][0]
        if self._lanes is None and bound.engine != "generic":
            sizes = [shape[0] for shape in bound.inputs]
            self._lanes = lanes_for(bound.entry, bound.constants, sizes, [nv], np.dtype(float), bound.engine)

    def __call__(self, q: np.ndarray, v: np.ndarray, table: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Return the joint forces (..., nv) of the table (..., 21 N) at states q (..., nq), v (..., nv).

        out: array of a batch for the forces.
        """
        external = np.empty(v.shape) if out is None else out
        if q.ndim > 1 and self._lanes is not None:
            self._lanes.run([q, v, table, external], len(q))
            return external
        run_bound(self.bound, in_layout(q, v, table), [external])
        return external


def wrenches_in_world(
    robot: Tree, rotations: np.ndarray, tables: np.ndarray, bodies: Sequence[int] | None = None
) -> np.ndarray:
    """Return the wrenches (K, n, 6), force first, of tables (K, 21 n), in world axes about the bodies' origins.

    rotations (K, n, 3, 3): of the bodies. bodies (n,): their numbers, of all N by default.
    """
    F = tables.reshape(*rotations.shape[:2], WRENCHES)
    R = rotations @ (robot.body_rotations[1:] if bodies is None else robot.body_rotations[list(bodies)])
    local = F[..., LOCAL : LOCAL + 6].reshape(*F.shape[:2], 2, 3)
    moment, force = np.moveaxis(np.einsum("kbij,kbsj->kbsi", R, local), -2, 0)
    A = R @ F[..., AT_POINTS:].reshape(*F.shape[:2], 3, 3)  # sum (R p) f'
    turning = np.stack([A[..., 1, 2] - A[..., 2, 1], A[..., 2, 0] - A[..., 0, 2], A[..., 0, 1] - A[..., 1, 0]], axis=-1)
    moment = moment + turning + F[..., WORLD : WORLD + 3]
    return np.concatenate([force + F[..., WORLD + 3 : WORLD + 6], moment], axis=-1)
