"""Results of a sweep: columns, failures, and replay of single samples."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .. import plugins
from ..errors import ArgumentError, SweepError
from ..rollouts.rollout import Rollouts
from ..simulation.provenance import surroundings
from ..states.arguments import whole_number
from ..system.display import ReprMixin
from ..system.files import checked_output, write_whole
from ..system.installation import installed_by
from ..system.user_warnings import warn
from .chunk import results, rolled, sound_chunk
from .manifest import Manifest
from .plan import VERSIONS, Plan
from .programs import check_program, read_plan
from .store import SAMPLE, Store

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from xarray import Dataset


class Failure(NamedTuple):
    """Sample that diverged, or that has no results because it raises an error or kills its process.

    Parameters
    ----------
    sample : int
        Number of the sample.
    step : int
        First step after which the sample's state is not finite. -1 for a sample without results.
    t : float
        Time of this step [s].
    joint : str
        Fastest degree of freedom before this step; "" for a sample without results.
    reason : str
        Reason for the failure, as text.

    Examples
    --------
    >>> treesim.sweeps.Failure(17, 3, 0.003, "elbow_joint", "the state is not finite").joint
    'elbow_joint'
    """

    sample: int
    step: int
    t: float
    joint: str
    reason: str


class Study(ReprMixin):
    """Sweep with its stored results, finished or not; `treesim.sweep` and `treesim.sweeps.open_study` return it.

    Parameters
    ----------
    path : path-like
        The store.
    stopped : str, optional
        Reason for an early end.

    Attributes
    ----------
    samples : int
        Number of samples.

    Examples
    --------
    >>> treesim.sweeps.open_study("no_such_run.zarr")
    Traceback (most recent call last):
        ...
    treesim.errors.ArgumentError: no_such_run.zarr holds no sweep of treesim's: ...
    """

    def __init__(self, path: str | os.PathLike[str], stopped: str | None = None) -> None:
        self.path, self.stopped = Path(path), stopped
        self._store = Store(self.path, "r")
        self._store.description()
        self._manifest = Manifest(self._store)
        check_program(self.path, self._manifest)
        if (loss := self._manifest.loss()) is not None:
            warn(loss)
        self.samples = self._store.samples

    @property
    def done(self) -> int:
        """Number of finished samples."""
        return self._manifest.done

    def __repr__(self) -> str:
        details = self._store.attributes
        part = "" if self.done == self.samples else f", {self.done} done"
        ended = f", stopped: {self.stopped}" * bool(self.stopped)
        return f"<Study of {details['robot']!r}: {self.samples} samples of {details['steps']} steps{part}{ended}>"

    def _repr_fields(self) -> Iterator[tuple[str, Any]]:
        yield "store", str(self.path)
        yield "columns", ", ".join(self._store.columns)
        yield "done", f"{self.done} of {self.samples}"

    @cached_property
    def plan(self) -> Plan:
        """Plan of the sweep, loaded from a program in the store: open no store that you do not trust."""
        return read_plan(self.path, Manifest(self._store))

    @property
    def summary(self) -> Dataset:
        """Draws and results of all samples as an xarray.Dataset; a column is loaded when it is used.

        Columns are the draws by the names in `vary` (for `scale`, the factors), measures, recorded states, and
        failed_step, failed_dof, failed_reason (0: no failure, 1: a state is not finite, 2: sample without results).
        Values of unfinished samples are NaN or 0; see `finished`.
        """
        import xarray

        data = xarray.open_zarr(os.fspath(self.path), chunks=None, consolidated=True)  # type: ignore[no-untyped-call]
        data = data.rename({key: name for name, key in self._store.attributes["columns"].items() if key != name})
        data = data.isel({SAMPLE: slice(0, self.samples)})
        return data.assign_coords({SAMPLE: np.arange(self.samples)})

    @property
    def finished(self) -> np.ndarray:
        """Mask (samples,) of finished samples."""
        found = np.zeros(self.samples, bool)
        for start in self._manifest.finished:
            found[start : start + self._store.chunk] = True
        return found

    @property
    def failed(self) -> tuple[Failure, ...]:
        """Failed samples (`Failure`), in the order of their numbers."""
        reasons = self._store.column("failed_reason")
        numbers = np.flatnonzero(reasons)
        if not len(numbers):
            return ()
        steps, dofs = (self._store.column(f"failed_{x}")[numbers] for x in ("step", "dof"))
        return tuple(self._failure(*one) for one in zip(numbers.tolist(), steps.tolist(), dofs.tolist(), strict=True))

    def _failure(self, sample: int, step: int, dof: int) -> Failure:
        details = self._store.attributes
        if sample in self._manifest.left_out:
            return Failure(sample, -1, float("nan"), "", f"left out: {self._manifest.left_out[sample]}")
        joint = details["dofs"][dof] if dof >= 0 else ""
        return Failure(sample, step, step * details["dt"], joint, "the state is not finite")

    def inputs(self, samples: ArrayLike) -> dict[str, np.ndarray]:
        """Return the draws of some samples, including draws that are too large for the store.

        Parameters
        ----------
        samples : array_like of int, shape (B,)
            Numbers of samples.

        Returns
        -------
        dict of str to ndarray
            Draws (B, ...) by the names in `vary`.

        Raises
        ------
        ArgumentError
            If no sample has one of the numbers.
        """
        return self.plan.inputs(self._checked(samples)).drawn

    def replay(self, sample: int, every: int = 1, threads: int | None = None) -> Rollouts:
        """Compute one sample again, record its states, and compare its results with the stored ones.

        Parameters
        ----------
        sample : int
            Number of the sample.
        every : int
            Number of steps between two recorded states.
        threads : int, optional
            Number of threads.

        Returns
        -------
        Rollouts
            The sample's rollout, with the same bits as in the sweep.

        Raises
        ------
        ArgumentError
            If no sample has this number, or the sample has no results.
        SweepError
            If the results differ from the stored ones in any bit, as another version of treesim may cause.
        """
        number = self._checked([whole_number("sample", sample, 0, self.samples - 1)])
        if sample in self._manifest.left_out:
            raise ArgumentError(f"sample {sample} is left out: {self._manifest.left_out[sample]}")
        runs = rolled(self.plan, self.plan.inputs(number), "all", every, threads)
        if self.finished[sample]:
            self._compare(sample, results(self.plan, number, threads))
        return runs

    def _compare(self, sample: int, again: dict[str, np.ndarray]) -> None:
        kept = self._store.read(sample, sample + 1)
        wrong = [name for name, column in again.items() if column.tobytes() != kept[name].tobytes()]
        if wrong:
            name = wrong[0]
            raise SweepError(
                f"sample {sample} has other bits than in {self.path}: {name} is {again[name][0]!s} in the place of "
                f"{kept[name][0]!s}: {self._reason(sample)}"
            )

    def _reason(self, sample: int) -> str:
        """Return the likely reason why a sample's bits differ from its column."""
        try:
            sound_chunk(self._store, self._manifest, sample - sample % self._store.chunk)
        except SweepError as error:
            return str(error)
        made, here = self._store.description(), surroundings()
        for label in VERSIONS:
            if made.get(label) != here[label]:
                return f"it was made with {label} {made.get(label)}, and this is {here[label]}"
        return (
            "the store is as it was written: another processor, or other versions of NumPy or LLVM, can give other "
            "last bits, and so does a function of the sweep's (a policy, a measure, a distribution) that is not the "
            "same each time"
        )

    def _checked(self, samples: ArrayLike) -> np.ndarray:
        numbers = np.atleast_1d(np.asarray(samples))
        if numbers.dtype.kind not in "iu" or numbers.ndim != 1 or ((numbers < 0) | (numbers >= self.samples)).any():
            raise ArgumentError(f"samples must be whole numbers from 0 to {self.samples - 1}")
        return numbers

    def plot(self, name: str, over: str, path: str | os.PathLike[str] | None = None, bins: int = 20) -> Figure:
        """Plot the mean of one column over another, with standard errors; failed and unfinished samples are omitted.

        Parameters
        ----------
        name : str
            Column whose mean is plotted, with one number per sample.
        over : str
            Column of the horizontal axis, with one number per sample.
        path : path-like, optional
            File for the figure: .png, .svg or .pdf.
        bins : int
            Number of equal parts of the horizontal range.

        Returns
        -------
        matplotlib.figure.Figure
            The figure.

        Raises
        ------
        UnknownNameError
            For an unknown column.
        ArgumentError
            For a column of several numbers, or if matplotlib is not installed.
        """
        figure: Figure = plugins.get("plots", "study")(self, name, over, path, bins)
        return figure

    def to_parquet(self, path: str | os.PathLike[str]) -> Path:
        """Write draws and results of all finished samples to a Parquet file, with one row per sample.

        Columns with several numbers per sample become lists. An existing file is replaced when the new one is complete.

        Parameters
        ----------
        path : path-like
            The file.

        Returns
        -------
        Path
            The path.

        Raises
        ------
        ArgumentError
            If pyarrow is not installed, or the file cannot be written.
        SweepError
            If stored columns are damaged.
        """
        try:
            import pyarrow as arrow
            from pyarrow import parquet
        except ImportError:
            raise ArgumentError(f"Parquet needs pyarrow: {installed_by('.[sweep]')}") from None
        target = checked_output(path, (".parquet",))
        schema = arrow.schema([(SAMPLE, arrow.int64()), *self._arrow_fields(arrow)])

        def write(stream: IO[bytes]) -> None:
            with parquet.ParquetWriter(stream, schema) as writer:
                for start in sorted(self._manifest.finished):
                    count = min(self._store.chunk, self.samples - start)
                    columns = [x[:count] for x in sound_chunk(self._store, self._manifest, start).values()]
                    rows = [arrow.array(np.arange(start, start + count))]
                    rows += [arrow.array(x if x.ndim == 1 else list(x.reshape(count, -1))) for x in columns]
                    writer.write_table(arrow.Table.from_arrays(rows, schema=schema))

        return write_whole(target, write)

    def _arrow_fields(self, arrow: Any) -> Iterator[tuple[str, Any]]:
        for name, (shape, number) in self._store.columns.items():
            one = arrow.from_numpy_dtype(number)
            yield name, arrow.list_(one) if shape else one


def open_study(path: str | os.PathLike[str]) -> Study:
    """Return the sweep that a store contains, finished or not.

    Parameters
    ----------
    path : path-like
        The store.

    Returns
    -------
    Study
        The sweep.

    Raises
    ------
    ArgumentError
        If the path contains no sweep.

    Examples
    --------
    >>> treesim.sweeps.open_study("no_such_run.zarr")
    Traceback (most recent call last):
        ...
    treesim.errors.ArgumentError: no_such_run.zarr holds no sweep of treesim's: ...
    """
    return Study(path)
