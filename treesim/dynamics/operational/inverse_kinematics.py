"""Inverse kinematics of frames, relative frames and the centre of mass, for batches of targets and initial states."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ... import plugins
from ...engine.call.evaluate import evaluate
from ...engine.call.fast_entry import FastEntry
from ...errors import ArgumentError, ModelError, NonFiniteError, ReachWarning, listed, quoted
from ...kernels.entries.status import FINE
from ...kernels.operational.inverse_kinematics import inverse_kinematics_states
from ...kernels.operational.inverse_kinematics_tasks import CENTER, FIRST, FRAME, RELATIVE, WORLD
from ...model.conventions import warn_of_conventions
from ...model.frozen import frozen
from ...model.matrices import is_rotation
from ...model.named_axes import coordinate_argument
from ...model.quaternions import configuration, unit_quaternions
from ...model.tree import Tree
from ...states.arguments import checked_robot
from ...system.display import ReprMixin, arrays, html_table, span
from ...system.user_warnings import warn
from ...validation.arrays import Argument, check_copy, coerce, precision, real_numbers
from ...validation.values import checked_flag, checked_parts, checked_text, positive_number, short_repr, whole_number
from ..tables import frame_tables
from .frames import in_world_axes
from .motion import massive
from .rows import is_all, row_matrix
from .tasks import CenterOfMassTask, FrameTask, RelativeTask

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

IKTask: TypeAlias = str | FrameTask | RelativeTask | CenterOfMassTask
FAST, NO_POSTURE = FastEntry(inverse_kinematics_states), np.empty(0)
UNLIMITED = 1e300  # instead of infinity, which entries do not accept
ROTATED = 1e-6  # deviation of a pose's rotation from an orthogonal matrix
MOST_ITERATIONS, MOST_RESTARTS = 1_000_000, 10_000  # a call uses all of them if a target cannot be reached
LAST_ROW = np.array([0.0, 0.0, 0.0, 1.0])  # of a pose


@dataclass(frozen=True, eq=False, repr=False)
class IKTarget(ReprMixin):
    """Target of inverse kinematics: a task, the value that the task shall reach, and a weight.

    Parameters
    ----------
    task : str, FrameTask, RelativeTask or CenterOfMassTask
        Name of a frame, or a task. The rows of a task select components of the error, along the axes of the task.
    value : array_like
        (..., 4, 4) pose, or (..., 3) position, which leaves the orientation free. Values are given in the world; for a
        RelativeTask, as the pose or position of `second` in the axes of `first`.
    weight : float or array_like, optional
        Positive weight of the squared error [m, rad], or one weight for each row. If targets contradict one another,
        weights decide which errors remain. If all targets can be reached, weights have no influence on the reached
        poses.
    name : str, optional
        Name of the target in results. By default the name of the frame, "first -> second", or "center of mass".

    Examples
    --------
    >>> treesim.IKTarget(treesim.FrameTask("ee_link", "linear"), [0.3, 0.2, 0.5]).name
    'ee_link'
    """

    task: IKTask
    value: ArrayLike
    _: KW_ONLY
    weight: ArrayLike = 1.0
    name: str = ""

    def __post_init__(self) -> None:
        task = FrameTask(checked_text("task", self.task)) if isinstance(self.task, str) else self.task
        if type(task) not in (FrameTask, RelativeTask, CenterOfMassTask):
            raise ArgumentError(
                "task must be a frame's name, a FrameTask, RelativeTask or CenterOfMassTask, got " + short_repr(task)
            )
        object.__setattr__(self, "task", task)
        object.__setattr__(self, "name", checked_text("name", self.name) or _name_of(task))
        value = _value(self.name, self.value)
        object.__setattr__(self, "value", frozen(value, value.dtype.type))
        weight = _weight(self, len(_rows(task, _values(self).turned)))
        object.__setattr__(self, "weight", frozen(weight) if weight.ndim else float(weight))

    _row_labels = ("task", "value", "weight")

    def __repr__(self) -> str:
        return f"<IKTarget {self.name!r}>"


def _name_of(task: Any) -> str:
    if isinstance(task, FrameTask):
        return task.frame
    return f"{task.first} -> {task.second}" if isinstance(task, RelativeTask) else "center of mass"


class IKResult(NamedTuple):
    """Result of `treesim.solve_ik` for each state.

    Parameters
    ----------
    q : ndarray, shape (..., nq)
        Configurations.
    converged : ndarray of bool, shape (...)
        True where all errors of a state are below the tolerance.
    error : dict of str to ndarray
        {target: length (...) of the error}, which combines distance [m] and angle [rad].
    iterations : ndarray of int, shape (...)
        Number of iterations, including those of restarts.
    limiting_joints : dict of str to ndarray of bool
        {joint: mask (...)}, True where q is at a limit of the joint. In states that have not converged, only limits
        that prevent a smaller error are marked. Joints that are at a limit in no state are left out.

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> pose = treesim.frame_pose(robot, np.full(6, 0.5), "ee_link")
    >>> result = treesim.solve_ik(robot, {"ee_link": [pose, pose]}, np.zeros(6))
    >>> result.q.shape, result.converged, list(result.error)
    ((2, 6), array([ True,  True]), ['ee_link'])
    """

    q: np.ndarray
    converged: np.ndarray
    error: dict[str, np.ndarray]
    iterations: np.ndarray
    limiting_joints: dict[str, np.ndarray]

    def __repr__(self) -> str:
        count = self.converged.size
        return f"<IKResult: {int(self.converged.sum())} of {count} converged, {self._worst()}>"

    def _repr_html_(self) -> str:
        errors = [(f"error of {name!r}", span(np.ravel(error).tolist())) for name, error in self.error.items()]
        limits = ", ".join(self.limiting_joints) or "none"
        return html_table(repr(self), [*arrays(self, "q", "iterations"), *errors, ("limiting joints", limits)])

    def _worst(self) -> str:
        largest = {name: float(np.max(error, initial=0.0)) for name, error in self.error.items()}
        name = max(largest, key=lambda each: largest[each])
        return f"largest error {largest[name]:.3g} of {name!r}"

    def plot(self, *, axes: Axes | None = None, path: str | os.PathLike[str] | None = None) -> Figure:
        """Plot the errors of all states by target, sorted; crosses mark states that have not converged.

        Parameters
        ----------
        axes, path
            As in `treesim.Trajectory.plot`, whose errors this method raises.

        Returns
        -------
        matplotlib.figure.Figure
            The figure, which a notebook shows.
        """
        figure: Figure = plugins.get("plots", "inverse_kinematics")(self, axes, path)
        return figure

    def report(self) -> str:
        """Return the names of missed targets, and of joints at their limits, as text.

        Returns
        -------
        str
            Text of one line.

        Examples
        --------
        >>> robot = treesim.load("ur5")
        >>> treesim.solve_ik(robot, {"ee_link": [0.4, 0.3, 0.2]}, robot.neutral()).report()
        'all states reached their targets'
        """
        failed = ~self.converged
        if not failed.any():
            return "all states reached their targets"
        missed = {name: float(error[failed].max()) for name, error in self.error.items()}
        scale = max(missed.values())
        names = [f"{name!r} by up to {error:.3g} [m, rad]" for name, error in missed.items() if error > 1e-3 * scale]
        joints = [name for name, at_limit in self.limiting_joints.items() if (at_limit & failed).any()]
        limits = f"; at their limits: {listed(joints, limit=5)}" if joints else ""
        return f"{int(failed.sum())} of {failed.size} states did not reach their targets: {', '.join(names)}{limits}"


class TargetTable(NamedTuple):
    """Constants of one target: kind, frames and axes as the kernel has them, rows (r, 6) and weights (r,) as bytes."""

    kind: int
    first: str
    second: str
    axes: int
    rows: bytes
    weights: bytes


def solve_ik(
    robot: Tree,
    targets: Mapping[str, ArrayLike] | Sequence[IKTarget],
    q0: ArrayLike,
    *,
    posture: ArrayLike | None = None,
    limits: bool = True,
    tolerance: float = 1e-6,
    max_iterations: int = 100,
    restarts: int = 30,
    seed: int = 0,
) -> IKResult:
    """Solve inverse kinematics by damped least squares: find configurations in which frames have given poses.

    Leading batch axes of targets and initial configurations are broadcast together.

    Parameters
    ----------
    robot : Tree
        Robot, with joints of any type, on any base.
    targets : mapping or sequence of IKTarget
        {name of a frame: pose (..., 4, 4) or position (..., 3) in the world}, or targets with tasks and weights.
    q0 : array_like
        (..., nq) configurations from which the iteration starts. The solution depends on them.
    posture : array_like, optional
        (..., nq) preferred configurations. If many configurations reach the targets, the solver uses the redundant
        motion to approach the posture. Among these configurations, the result is locally the closest to the posture, to
        first order.
    limits : bool
        Keep q within the position limits. An initial configuration beyond its limits is first moved to the limits.
    tolerance : float
        A state has converged if the error of every target is below the tolerance [m, rad].
    max_iterations : int
        Largest number of iterations of each state without restarts, and towards the posture; at most 1,000,000.
    restarts : int
        Largest number of restarts of each state, at most 10,000, each of which adds 10 iterations to their largest
        number. A state whose iteration makes little progress starts again from a random configuration (`Tree.random`),
        in which a floating base keeps its pose of q0. With 0 restarts, only solutions that a continuous motion connects
        with q0 are found.
    seed : int
        Seed of the random configurations, which are the same for all states.

    Returns
    -------
    IKResult
        Configurations, convergence, errors by target, iterations, and joints at their limits. If a state has not
        converged, its q has the smallest weighted error that was found. If q0 and all targets are float32 arrays, q and
        errors are float32.

    Raises
    ------
    UnknownNameError
        If a frame is unknown.
    ArgumentError
        If a type or shape does not fit, or a pose is not a rigid motion.
    ModelError
        If the robot has no joints. If a target is the centre of mass of a robot without mass.
    NonFiniteError
        If an argument is not finite.

    Warns
    -----
    ReachWarning
        If states did not reach their targets. The warning names the targets and the joints at their limits.

    Notes
    -----
    The solver uses the method of Levenberg and Marquardt on the configuration manifold. Its damping is proportional to
    the squared error (Sugihara 2011), and an active set enforces the limits. An iteration is one trial step and costs
    O(N) plus O(m^2 nv), where m is the number of rows of all targets. The error of a pose consists of the difference of
    positions and the rotation vector between the axes. Lengths and angles therefore have separate weights. Batches run
    on several threads.

    References
    ----------
    T. Sugihara, Solvability-unconcerned inverse kinematics by the Levenberg-Marquardt method, IEEE Trans. Robotics 27
    (2011).

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> pose = treesim.frame_pose(robot, np.full(6, 0.5), "ee_link")
    >>> result = treesim.solve_ik(robot, {"ee_link": pose}, np.zeros(6))
    >>> bool(result.converged), np.allclose(treesim.frame_pose(robot, result.q, "ee_link"), pose, atol=2e-6)
    (True, True)
    """
    robot = checked_robot(robot)
    if robot.nq == 0:
        raise ModelError(f"{quoted(robot.name)} has no joints: inverse kinematics have nothing to move")
    several = _several(targets)
    values = [_values(target) for target in several]
    batch = _batch(several, values)
    poses = np.empty((*batch, len(several), 12))
    for k, value in enumerate(values):
        poses[..., k, :] = value.numbers
    table = tuple(_table(robot, *each) for each in zip(several, values, strict=True))
    settings = (
        checked_flag("limits", limits),
        positive_number("tolerance", tolerance),
        whole_number("max_iterations", max_iterations, most=MOST_ITERATIONS),
        whole_number("restarts", restarts, most=MOST_RESTARTS),
        whole_number("seed", seed),
    )
    constants = _constants(robot, table, *settings)
    found = _run(robot, constants, q0, poses, posture)
    if precision(q0, *(target.value for target in several)) == np.float32:
        found = found._replace(q=found.q.astype(np.float32), error=found.error.astype(np.float32))
    result = _result(robot, several, found)
    if not result.converged.all():
        warn(f"inverse kinematics of {robot.name!r}: {result.report()}{_REMEDY}", ReachWarning)
    return result


_REMEDY = "; try another q0, restarts=, or more max_iterations"


class TargetValues(NamedTuple):
    """Values of a target: rotations by rows and positions (..., 12), and whether they have rotations."""

    numbers: np.ndarray
    turned: bool


class Solutions(NamedTuple):
    """Results of the kernel for all states."""

    q: np.ndarray
    error: np.ndarray  # (..., k)
    report: np.ndarray  # (..., 2) iterations, and 1 where the targets are reached
    limiting: np.ndarray  # (..., nv)

    @property
    def converged(self) -> np.ndarray:
        """Whether (...) all errors are below the tolerance."""
        return np.asarray(self.report[..., 1] > 0)


def _several(targets: Any) -> list[IKTarget]:
    """Return the targets as objects; raises ArgumentError for other values, for none, and for a name given twice."""
    if isinstance(targets, Mapping):
        several = [IKTarget(frame, value) for frame, value in targets.items()]
    else:
        several = list(checked_parts("targets", (targets,) if isinstance(targets, IKTarget) else targets, IKTarget))
    if not several:
        raise ArgumentError("targets is empty: inverse kinematics need at least one")
    names = [target.name for target in several]
    for name in names:
        if names.count(name) > 1:
            raise ArgumentError(
                f"two targets have the name {quoted(name)}: give one of them another, with IKTarget(name=)"
            )
    return several


def _value(name: str, value: Any) -> np.ndarray:
    """Return the finite numbers of a target's value, poses (..., 4, 4) or positions (..., 3), in their precision."""
    label = f"value of the target of {quoted(name)}"
    array = real_numbers(label, value, precision(value))
    if array.shape[-2:] != (4, 4) and array.shape[-1:] != (3,):
        raise ArgumentError(f"{label} has shape {array.shape}, but (..., 4, 4) or (..., 3) is needed")
    check_copy(label, array.shape)
    if not np.isfinite(array).all():
        raise NonFiniteError(f"{label} contains NaN or infinity")
    return array


def _values(target: IKTarget) -> TargetValues:
    """Return the numbers of a target's value; raises ArgumentError for a matrix that is no pose."""
    label, value = f"value of the target of {target.name!r}", np.asarray(target.value, float)
    numbers = np.empty((*value.shape[:-2], 12) if value.shape[-2:] == (4, 4) else (*value.shape[:-1], 12))
    if value.shape[-2:] == (4, 4):
        R = value[..., :3, :3]
        if not _are_rotations(R) or (value[..., 3, :] != LAST_ROW).any():
            raise ArgumentError(f"{label} is no pose: its rotation is not orthogonal, or its last row is not 0 0 0 1")
        numbers[..., :9], numbers[..., 9:] = R.reshape(*R.shape[:-2], 9), value[..., :3, 3]
        return TargetValues(numbers, True)
    numbers[..., :9], numbers[..., 9:] = np.eye(3).ravel(), value
    return TargetValues(numbers, False)


def _are_rotations(R: np.ndarray) -> bool:
    """Return whether matrices (..., 3, 3) are rotations to 1e-6."""
    if R.ndim == 2:
        return is_rotation(R)
    apart = np.abs(np.swapaxes(R, -1, -2) @ R - np.eye(3)).max(initial=0.0)
    return bool(apart <= ROTATED and (np.linalg.det(R) > 0).all())


def _batch(several: Sequence[IKTarget], values: Sequence[TargetValues]) -> tuple[int, ...]:
    """Return the leading axes of all targets; raises ArgumentError if they do not fit together."""
    shapes = {target.name: value.numbers.shape[:-1] for target, value in zip(several, values, strict=True)}
    try:
        return np.broadcast_shapes(*shapes.values())
    except ValueError:
        raise ArgumentError(f"leading axes of the targets do not fit together: {shapes}") from None


def _table(robot: Tree, target: IKTarget, values: TargetValues) -> TargetTable:
    """Return a target's constants; raises ArgumentError if its rows or weights do not fit its value."""
    task: Any = target.task
    rows = _rows(task, values.turned)
    if isinstance(task, CenterOfMassTask):
        massive(robot)
        kind, first, second, axes = CENTER, "", "", WORLD
    else:
        local = task.reference is not None and not in_world_axes(task.reference)
        kind, axes = FRAME if isinstance(task, FrameTask) else RELATIVE, FIRST if local else WORLD
        first, second = task.frames[0], task.frames[-1]
    if not values.turned and rows[:, 3:].any():
        raise ArgumentError(
            f"the target of {quoted(target.name)} is a position, but its rows select angles: give a pose"
        )
    if isinstance(task, CenterOfMassTask) and values.turned:
        raise ArgumentError("the target of the centre of mass is a pose: give a position (..., 3)")
    weights = np.broadcast_to(np.asarray(target.weight), len(rows)).astype(float)
    return TargetTable(kind, first, second, axes, rows.astype(float).tobytes(), weights.tobytes())


def _rows(task: Any, turned: bool) -> np.ndarray:
    """Return the rows (r, 6) of a task for a target that is a pose (`turned`) or a position."""
    if isinstance(task, CenterOfMassTask):
        return np.hstack([task.matrix, np.zeros((task.count, 3))])
    rows = row_matrix("rows", task.rows)
    return rows[:3] if not turned and is_all(task.rows) else rows


def _weight(target: IKTarget, rows: int) -> np.ndarray:
    """Return a target's weight, a number or one for each row; raises ArgumentError for other values."""
    weight = real_numbers(f"weight of {quoted(target.name)}", target.weight)
    if weight.shape not in ((), (rows,)) or not (np.isfinite(weight) & (weight > 0)).all():
        raise ArgumentError(
            f"weight of {quoted(target.name)} must be a positive number, or one for each of {rows} rows"
        )
    return weight


@lru_cache(maxsize=64)
def _constants(
    robot: Tree,
    targets: tuple[TargetTable, ...],
    limits: bool,
    tolerance: float,
    max_iterations: int,
    restarts: int,
    seed: int,
) -> tuple[np.ndarray, ...]:
    """Return the kernel's tables: the spanning tree's, those of mimic joints, codes and numbers."""
    tables = robot.spanning_tables()
    if robot.mimic_map is None:
        ints = np.array([0, robot.nq, robot.nv, *range(robot.nq), *range(robot.nv)], dtype=np.int64)
        tables = (*tables, ints, np.zeros(robot.nv))
    rows = [np.frombuffer(each.rows).reshape(-1, 6) for each in targets]
    begin = np.cumsum([0, *map(len, rows)])
    ends = [frame_tables(robot, [each.first, each.second]) if each.first else None for each in targets]
    codes = [len(targets), begin[-1], int(any(each.kind == CENTER for each in targets)), max_iterations, restarts]
    for k, (each, end) in enumerate(zip(targets, ends, strict=True)):
        bodies = (0, 0) if end is None else end[0]
        codes += [each.kind, *bodies, each.axes, begin[k], begin[k + 1]]
    places, lower, upper = _bounds(robot, limits)
    rng = np.random.default_rng(seed)
    starts = [robot.random(rng) for _ in range(restarts)]
    offsets = [np.zeros(24) if end is None else end[1] for end in ends]
    weights = np.sqrt(np.concatenate([np.frombuffer(each.weights) for each in targets]))
    numbers = np.concatenate([[tolerance], lower, upper, *offsets, *map(np.ravel, rows), weights, *starts])
    return *tables, np.array([*codes, *places], dtype=np.int64), numbers


def _bounds(robot: Tree, limits: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return for each velocity the place in the spanning tree of its coordinate, or -1, and its limits (nv,)."""
    places = np.full(robot.nv, -1)
    lower, upper = np.full(robot.nv, -UNLIMITED), np.full(robot.nv, UNLIMITED)
    q_places = np.arange(robot.nq) if robot.mimic_map is None else robot.mimic_map.independent_q
    for joint, where in robot.v_index.items() if limits else ():
        if where.stop - where.start == 1:
            j, q = where.start, robot.q_index[joint].start
            low, high = float(robot.lower[q]), float(robot.upper[q])
            if low > -UNLIMITED or high < UNLIMITED:
                places[j], lower[j], upper[j] = q_places[q], max(low, -UNLIMITED), min(high, UNLIMITED)
    return places, lower, upper


def _run(
    robot: Tree, constants: tuple[np.ndarray, ...], q0: ArrayLike, poses: np.ndarray, posture: ArrayLike | None
) -> Solutions:
    """Return the kernel's results for all states."""
    k = poses.shape[-2]
    shapes = [(robot.nq,), (k,), (2,), (robot.nv,)]
    if posture is None and poses.ndim == 2:
        found = [np.empty(shape) for shape in shapes]
        if FAST.call(*constants, q0, poses, NO_POSTURE, *found) == FINE:
            warn_of_conventions(robot, "q0", np.asarray(q0))
            return Solutions(*found)  # anything but one state in a float array is coerced or explained below
    arguments = [configuration(robot, q0, "q0"), Argument("targets", poses, (k, 12))]
    if posture is not None:
        posture = coerce(configuration(robot, posture, "posture"))
        check_copy("posture", posture.shape)
        posture = unit_quaternions(robot, "posture", posture.astype(float))
    arguments.append(coordinate_argument(robot, "posture", posture, optional=True))
    return Solutions(*evaluate(inverse_kinematics_states, constants, arguments, shapes, engine="generic"))


def _result(robot: Tree, several: Sequence[IKTarget], found: Solutions) -> IKResult:
    """Return the results by names."""
    at_limit = found.limiting > 0
    joints = {
        joint: at_limit[..., where.start]
        for joint, where in robot.v_index.items()
        if where.stop - where.start == 1 and at_limit[..., where.start].any()
    }
    error = {target.name: found.error[..., k] for k, target in enumerate(several)}
    return IKResult(found.q, found.converged, error, found.report[..., 0].astype(int), joints)
