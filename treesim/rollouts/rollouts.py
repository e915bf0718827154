"""Results of rollouts: states, measures, and diagnostics."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import plugins
from ..contact import deep_overlaps
from ..contact.checks import ContactChecks
from ..contact.unsolved import warn_of_states
from ..errors import ArgumentError, DivergedWarning
from ..model.tree import Tree
from ..simulation.readings import NO_READINGS, Readings, recorded
from ..simulation.step_settings import speed_hint
from ..system.display import ReprMixin, arrays
from ..system.user_warnings import warn
from .arguments import Method, Start
from .energy import BatchedRobots, balance, total_energy, warn_of_errors
from .reduction import Measuring
from .time_slices import Progress

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLOCK = 256  # rollouts searched together for states that are not finite


@dataclass(frozen=True, repr=False)
class Rollouts(ReprMixin):
    """States of B rollouts at K recorded times.

    If the argument `out` of `rollout` was a path, then q, v and work are memory-mapped files. If `out` consisted of
    arrays, then q, v and work are these arrays. If the computation ended early, only rollouts that were begun are
    stored. K is then the number of recorded times of the longest rollout, and missing states are NaN.

    Parameters
    ----------
    t : ndarray, shape (K,)
        Times [s].
    q : ndarray, shape (B, K, nq)
        Configurations, float64 or float32.
    v : ndarray, shape (B, K, nv)
        Velocities.
    diverged : ndarray of bool, shape (B,)
        True for rollouts with a state that is not finite. Integers are read as `diverged_at`, as in older versions.
    done : ndarray of int, shape (B,)
        Number of recorded states. It is K, unless the computation ended early.
    stopped : str or None
        Reason for an early end; None if the computation was completed.
    work : ndarray, shape (B, K, 2), optional
        Work from the start to each recorded state [J]. Column 0: work of the controls. Column 1: work of damping,
        friction, joint limits and contacts. None without work=True.
    robot : Tree, optional
        The robot; None if the rollouts were read from files.
    energy_at_start : ndarray, shape (B,), optional
        Kinetic plus potential energy at the start [J]; None without work=True.
    residual : ndarray, shape (B,), optional
        Largest complementarity residual of contacts, joint limits and joint friction in any step [m/s, rad/s]. None for
        worlds without contacts, joint limits and joint friction. Solvers reach about 1e-9; a step with a residual above
        1e-5 counts as not solved.
    own : BatchedRobots, optional
        Batched model parameters of the rollouts.
    measures : mapping of str to ndarray
        {name: result (B,) or (B, bins)} of each measure, see `treesim.measures`.
    measured : ndarray of int, shape (B,), optional
        Number of measured steps. It is the number of all steps, unless the rollout diverged, was interrupted, or was
        ended by `treesim.measures.stop`.
    ended : ndarray of bool, shape (B,)
        True for rollouts that a measure ended. The state is constant afterwards. Integers are read as `ended_at`.
    sensors : Readings
        {sensor: readings (B, K, n)} of the world's sensors in the steps that end at the recorded times. NaN after the
        end of a rollout, and for states that are not finite.
    diverged_at : ndarray of int, shape (B,), optional
        Index of the first recorded state that is not finite; -1 if all recorded states are finite. Computed by default.
    ended_at : ndarray of int, shape (B,), optional
        Number of the step after which a measure ended the rollout; -1 if no measure did.
    policy_memory : ndarray, shape (B, k), optional
        Memory of a policy after the last step; None for policies without memory.

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> runs = treesim.rollout(robot, np.zeros((10, 6)), np.zeros(6), np.full((20, 6), 5.0), every=5, work=True)
    >>> runs.q.shape, runs.t
    ((10, 4, 6), array([0.005, 0.01 , 0.015, 0.02 ]))
    >>> bool(abs(runs.energy_error).max() < 1e-4 * runs.work[..., 0].max())
    True
    """

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    diverged: np.ndarray
    done: np.ndarray
    stopped: str | None = None
    work: np.ndarray | None = None
    robot: Tree | None = None
    energy_at_start: np.ndarray | None = None
    residual: np.ndarray | None = None
    own: BatchedRobots | None = None
    measures: Mapping[str, np.ndarray] = field(default_factory=dict)
    measured: np.ndarray | None = None
    ended: np.ndarray = None  # type: ignore[assignment]  # none, see __post_init__
    sensors: Readings = NO_READINGS
    diverged_at: np.ndarray = None  # type: ignore[assignment]  # see __post_init__
    ended_at: np.ndarray = None  # type: ignore[assignment]  # see __post_init__
    policy_memory: np.ndarray | None = None

    def __post_init__(self) -> None:
        """Complete flags by indices, and indices by flags; integers in the place of flags are indices."""
        ended = np.zeros(len(self.q), bool) if self.ended is None else np.asarray(self.ended)
        diverged, diverged_at, ended_at = np.asarray(self.diverged), self.diverged_at, self.ended_at
        if diverged.dtype != bool:
            diverged, diverged_at = diverged >= 0, diverged
        if ended.dtype != bool:
            ended, ended_at = ended >= 0, ended
        if diverged_at is None:
            diverged_at = first_diverged(self.q, self.v, self.done)
        if ended_at is None:
            ended_at = np.where(ended, -1 if self.measured is None else self.measured, -1)
        vars(self).update(diverged=diverged, diverged_at=diverged_at, ended=ended, ended_at=ended_at)

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.__post_init__()  # pickles of older versions hold indices alone

    @property
    def energy(self) -> np.ndarray:
        """Kinetic plus potential energy (B, K) of the recorded states [J]; NaN for states that are not finite.

        The energy is computed in double precision at the first access. Cost of a state: O(N). Raises ArgumentError if
        the rollouts were read from files without the robot.
        """
        if self.robot is None:
            raise ArgumentError("energies need the robot: give it to read_unfinished")
        return total_energy(self.robot, self.q, self.v, self.done, self.own)

    @property
    def energy_error(self) -> np.ndarray:
        """Integration error (B, K) [J]: change of a rollout's energy since the start, minus both columns of `work`.

        The error is NaN for states that are not finite. The error is computed at the first access. Cost of a state:
        O(N). Raises ArgumentError if the work or the energy at the start is unknown.
        """
        if self.work is None:
            raise ArgumentError("the work of these rollouts was not counted: roll out with work=True")
        if self.energy_at_start is None:
            raise ArgumentError(
                "the energy at the start is not stored in files: subtract it, and the work, from energy"
            )
        return self.energy - self.energy_at_start[:, None] - self.work.sum(axis=-1, dtype=float)

    def to_xarray(self) -> Any:
        """Return the rollouts as an xarray Dataset, without copying arrays.

        Returns
        -------
        xarray.Dataset
            Variables q (rollout, time, coordinate), v (rollout, time, dof), work (rollout, time, account), sensor.NAME
            (rollout, time, NAME.column), and diverged, diverged_at, done, ended, ended_at, residual and energy_at_start
            (rollout). If the robot is known, coordinates contain the names and units of joints, as in
            `Trajectory.to_xarray`.

        Raises
        ------
        ArgumentError
            If xarray is not installed.

        Examples
        --------
        >>> runs = treesim.rollout(treesim.load("ur5"), np.zeros((10, 6)), np.zeros(6), steps=20)
        >>> bool(runs.to_xarray().q.sel(coordinate="elbow_joint").isel(time=0).max() == runs.q[:, 0, 2].max())
        True
        """
        return plugins.get("formats", "nc").dataset_of_rollouts(self)

    def to_arrow(self) -> Any:
        """Return a copy of the rollouts as a pyarrow Table, with one row for each recorded state.

        The function `pyarrow.parquet.write_table` writes the table to a Parquet file.

        Returns
        -------
        pyarrow.Table
            Columns rollout, t, q.NAME, v.NAME, sensor.NAME.COLUMN, and work, if the work was integrated. The metadata
            of each field contain the unit. If the robot is unknown, numbers replace the names of joints.

        Raises
        ------
        ArgumentError
            If pyarrow is not installed.

        Examples
        --------
        >>> runs = treesim.rollout(treesim.load("ur5"), np.zeros((10, 6)), np.zeros(6), steps=20)
        >>> runs.to_arrow().num_rows
        200
        """
        return plugins.get("formats", "parquet").table_of_rollouts(self)

    def plot(
        self,
        quantity: str | Sequence[str] | None = None,
        *,
        joints: str | Sequence[str] | None = None,
        axes: Axes | Sequence[Axes] | None = None,
        path: str | os.PathLike[str] | None = None,
    ) -> Figure:
        """Plot the median of all rollouts over time, with a band from the 5th to the 95th percentile.

        Parameters
        ----------
        quantity : str or sequence of str, optional
            "position", "velocity", "energy", or names of sensors. By default position and velocity.
        joints : str or sequence of str, optional
            Joints or coordinates to draw, as names or patterns. By default the four coordinates of the widest range.
        axes, path
            As in `treesim.Trajectory.plot`, whose errors this method raises.

        Returns
        -------
        matplotlib.figure.Figure
            The figure, which a notebook shows.
        """
        figure: Figure = plugins.get("plots", "rollouts")(self, quantity, joints, axes, path)
        return figure

    def __repr__(self) -> str:
        count, records, _ = self.q.shape
        span = f", {self.t[0]:g} ... {self.t[-1]:g} s" if records else ""
        diverged, ended = int(self.diverged.sum()), int(self.ended.sum())
        endings = [f"{n} {what}" for n, what in ((ended, "ended"), (diverged, "diverged")) if n]
        endings += [f"stopped: {self.stopped}"] * bool(self.stopped)
        return f"<Rollouts: {count} of {records} states{span}, {self.q.dtype}{''.join(f', {e}' for e in endings)}>"

    def _repr_fields(self) -> list[tuple[str, Any]]:
        diverged = np.flatnonzero(self.diverged)
        complete = int((self.done == len(self.t)).sum())
        endings = [("complete", complete), ("diverged", diverged.tolist()), ("stopped", self.stopped)]
        known = [name for name in ("work", "residual") if getattr(self, name) is not None]
        return [*arrays(self, "t", "q", "v", *known), *endings, *self.measures.items(), *self.sensors.items()]


def times(dt: float, every: int, records: int) -> np.ndarray:
    """Return the times (K,) of records after every `every` steps of dt [s]."""
    return dt * every * np.arange(1, records + 1)


def begun(
    done: Progress, arrays: Sequence[np.ndarray], t: np.ndarray
) -> tuple[np.ndarray, list[np.ndarray], np.ndarray]:
    """Return times, arrays and numbers of records of the rollouts that were begun; missing records become NaN.

    arrays: q, v and, if it is integrated, the work of all rollouts.
    """
    records = len(t)
    if not done.records:
        done = Progress(done.complete)
    if not done.complete and done.partial:
        records = done.records
    end = done.complete + done.partial
    begun = [x[:end, :records] for x in arrays]
    for x in begun:
        if done.partial and done.records < records and x.flags.writeable:
            x[done.complete :, done.records :] = np.nan
    counts = np.full(end, records)
    counts[done.complete :] = min(done.records, records)
    return t[:records], begun, counts


def read_arrays(
    arrays: Sequence[np.ndarray], columns: Mapping[str, Sequence[str]]
) -> tuple[Sequence[np.ndarray], Readings]:
    """Return the states' arrays, and the readings of sensors, which follow them; columns: names of these by sensor."""
    last = len(arrays) - len(columns)
    found = dict(zip(columns, arrays[last:], strict=True))
    return arrays[:last], recorded(columns, found, axes=2) if columns else NO_READINGS


class Run(NamedTuple):
    """A run of rollouts: method, start, names of its sensors' columns, and where its diagnostics are written."""

    method: Method
    start: Start
    sensors: Mapping[str, Sequence[str]]
    checks: ContactChecks | None
    own: BatchedRobots | None
    measuring: Measuring | None

    def outcome(
        self,
        t: np.ndarray,
        arrays: Sequence[np.ndarray],
        done: np.ndarray,
        stopped: str | None = None,
        finite: bool = False,
    ) -> Rollouts:
        """Return the rollouts; warns of states that are not finite, of unsolved contact and of energy errors.

        finite: whether all states are known to be finite.
        """
        method, start, sensors, checks, own, measuring = self
        arrays, readings = read_arrays(arrays, sensors)
        robot, (q, v, *work) = method.world.robot, arrays
        diverged_at = np.full(len(q), -1) if finite else first_diverged(q, v, done)
        diverged = diverged_at >= 0
        if measuring is not None:
            diverged |= measuring.seen_to_diverge[: len(q)]
        if not finite and diverged.any():
            _warn_of_divergence(robot, diverged, diverged_at, t, v)
        if checks is not None:
            checks, touching = checks.of(slice(len(q))), method.world.touching
            warn_of_states(checks.residual, "rollouts")
            deep_overlaps.warn_of_states(touching, checks, robot.body_names, method.dt, "rollouts")
        own = None if own is None else own.of(slice(len(q)))
        residual = None if checks is None else checks.residual
        details: dict[str, Any] = {"residual": residual, "own": own, "sensors": readings, "diverged_at": diverged_at}
        if start.memory is not None:
            details["policy_memory"] = start.memory.end[: len(q)]
        if measuring is not None:
            details |= measuring.fields(len(q))
        if not work:
            return Rollouts(t, q, v, diverged, done, stopped, robot=robot, **details)
        found = balance(robot, (start.q[: len(q)], start.v[: len(q)]), q, v, work[0], start.steps, own)
        finite_ones = ~diverged & (done == len(t))
        warn_of_errors(robot, found, finite_ones, t, method.dt, method.options.integrator)
        return Rollouts(t, q, v, diverged, done, stopped, work[0], robot, found.start, **details)


def first_diverged(q: np.ndarray, v: np.ndarray, done: np.ndarray) -> np.ndarray:
    """Return the index (B,) of the first record that is not finite, -1 for none.

    done (B,): number of computed records.
    """
    first = np.full(len(q), -1)
    for start in range(0, len(q) if q.shape[1] else 0, BLOCK):  # in blocks, to limit the memory
        part = slice(start, start + BLOCK)
        bad = ~(np.isfinite(q[part]).all(axis=-1) & np.isfinite(v[part]).all(axis=-1))
        bad &= np.arange(q.shape[1]) < done[part, None]
        first[part] = np.where(bad.any(axis=1), np.argmax(bad, axis=1), -1)
    return first


def _warn_of_divergence(robot: Tree, diverged: np.ndarray, first: np.ndarray, t: np.ndarray, v: np.ndarray) -> None:
    wrong = np.flatnonzero(diverged)
    b = int(wrong[0])
    k = int(first[b])
    where = f", from t = {t[k]:.6g} s on" if k >= 0 else ""
    if k > 0:
        where += f", where joint {robot.dof_name(int(np.argmax(np.abs(v[b, k - 1]))))!r} moves fastest"
    warn(
        f"{len(wrong)} of {len(v)} rollouts are no longer finite at the end; the first is number {b}{where}: take "
        f"a smaller dt, or smaller gains and forces{speed_hint(robot)}",
        DivergedWarning,
    )
