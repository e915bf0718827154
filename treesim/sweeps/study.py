"""What came of a sweep: its columns, what failed, and any sample again with all its states."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ArgumentError, SweepError, installed_by
from ..rollouts.rollout import Rollouts
from ..simulation.provenance import surroundings
from ..states.arguments import whole_number
from ..system.display import ReprMixin
from ..system.files import checked_output, write_whole
from .chunk import checksum, results, rolled
from .manifest import Manifest
from .plan import VERSIONS, Plan
from .programs import check_program, read_plan
from .store import SAMPLE, Store

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from xarray import Dataset


class Failure(NamedTuple):
    """A sample that failed. step: the first after which its state is not finite, t [s] its time, joint: the degree of
    freedom that was fastest before; step is -1, and joint "", for samples that are left out, since they raise an error
    or kill the process that computes them. reason: in words.

    Example:
        >>> treesim.sweeps.Failure(17, 3, 0.003, "elbow_joint", "the state is not finite").joint
        'elbow_joint'
    """

    sample: int
    step: int
    t: float
    joint: str
    reason: str


class Study(ReprMixin):
    """A sweep in its store, finished or not, as `treesim.sweep` returns it and `treesim.sweeps.open_study` opens it.

    path: of the store. samples: how many there are; done: how many of them are finished. stopped: why the sweep ended
    early, or None.

    Example:
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
            warnings.warn(loss, stacklevel=3)
        self.samples = self._store.samples

    @property
    def done(self) -> int:
        """How many samples are finished."""
        return self._manifest.done

    def __repr__(self) -> str:
        details = self._told
        part = "" if self.done == self.samples else f", {self.done} done"
        ended = f", stopped: {self.stopped}" * bool(self.stopped)
        return f"<Study of {details['robot']!r}: {self.samples} samples of {details['steps']} steps{part}{ended}>"

    def _repr_fields(self) -> Iterator[tuple[str, Any]]:
        yield "store", str(self.path)
        yield "columns", ", ".join(self._store.columns)
        yield "done", f"{self.done} of {self.samples}"

    @property
    def _told(self) -> dict[str, Any]:
        return self._store.attributes

    @cached_property
    def plan(self) -> Plan:
        """What is computed; it is a program that the store holds: read none of somebody whom you do not trust."""
        return read_plan(self.path, Manifest(self._store))

    @property
    def summary(self) -> Dataset:
        """The columns as an xarray.Dataset over samples, which is read as it is used: what was drawn, by the names in
        `vary` (the factor, where it scales), measures, kept states, and failed_step, failed_dof, failed_reason (0 for
        none, 1 for a state that is not finite, 2 for a sample that is left out). Samples that are not finished are NaN
        or 0: `finished` tells which are."""
        import xarray

        data = xarray.open_zarr(os.fspath(self.path), chunks=None, consolidated=True)  # type: ignore[no-untyped-call]
        data = data.rename({key: name for name, key in self._told["columns"].items() if key != name})
        data = data.isel({SAMPLE: slice(0, self.samples)})
        return data.assign_coords({SAMPLE: np.arange(self.samples)})

    @property
    def finished(self) -> np.ndarray:
        """Which samples are finished (samples,)."""
        found = np.zeros(self.samples, bool)
        for start in self._manifest.finished:
            found[start : start + self._store.chunk] = True
        return found

    @property
    def failed(self) -> tuple[Failure, ...]:
        """The samples that failed, in their order."""
        reasons = self._store.column("failed_reason")
        numbers = np.flatnonzero(reasons)
        if not len(numbers):
            return ()
        steps, dofs = (self._store.column(f"failed_{x}")[numbers] for x in ("step", "dof"))
        return tuple(self._failure(*one) for one in zip(numbers.tolist(), steps.tolist(), dofs.tolist(), strict=True))

    def _failure(self, sample: int, step: int, dof: int) -> Failure:
        details = self._told
        if sample in self._manifest.left_out:
            return Failure(sample, -1, float("nan"), "", f"left out: {self._manifest.left_out[sample]}")
        joint = details["dofs"][dof] if dof >= 0 else ""
        return Failure(sample, step, step * details["dt"], joint, "the state is not finite")

    def inputs(self, samples: ArrayLike) -> dict[str, np.ndarray]:
        """Return what was drawn for some samples (B,), by the names in `vary`, (B, ...) each: also what is too long to
        be kept in the store. Raises ArgumentError for samples that there are not."""
        return self.plan.inputs(self._checked(samples)).drawn

    def replay(self, sample: int, every: int = 1, threads: int | None = None) -> Rollouts:
        """Return one sample again, with its states after every `every` steps: the same bits. What it measures is
        compared with the store.

        Raises ArgumentError for a sample that there is not, and one that is left out, SweepError where its columns
        have other bits than the store, as they may have on another version of treesim. Cost: the sample's.
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
        """Why a sample has other bits than its column, as far as the store and the versions tell."""
        try:
            self._sound_chunk(sample - sample % self._store.chunk)
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
        """Return a figure of the mean of a column over another one, in equal parts of its range, with standard errors;
        samples that failed or are not finished do not count.

        name, over: columns of one number. path: a file for it, .png, .svg or .pdf. Raises UnknownNameError,
        ArgumentError for columns of several numbers, and without matplotlib.
        """
        from .plot import plot

        return plot(self, name, over, path, bins)

    def to_parquet(self, path: str | os.PathLike[str]) -> Path:
        """Write the summary of all finished samples to a Parquet file, a row for each, chunk by chunk; columns of
        several numbers become lists. Return the path; a file that it had stays until the new one is whole.

        Raises ArgumentError without pyarrow, and where the file cannot be written, SweepError where columns are
        damaged.
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
                    columns = [x[:count] for x in self._sound_chunk(start).values()]
                    rows = [arrow.array(np.arange(start, start + count))]
                    rows += [arrow.array(x if x.ndim == 1 else list(x.reshape(count, -1))) for x in columns]
                    writer.write_table(arrow.Table.from_arrays(rows, schema=schema))

        return write_whole(target, write)

    def _sound_chunk(self, start: int) -> dict[str, np.ndarray]:
        """The columns of a finished chunk; raises SweepError where they do not have the checksum in the manifest."""
        try:
            columns = self._store.read(start)
            reason = "they do not have the checksum in the manifest"
            if checksum(columns) == self._manifest.finished[start]["checksum"]:
                return columns
        except Exception as error:  # whatever Zarr and its codecs raise on damaged files
            reason = f"{type(error).__name__}: {error}"
        raise SweepError(
            f"columns of samples from {start} on in {self.path} are damaged: {reason}: the same call of treesim.sweep "
            f"computes them again"
        )

    def _arrow_fields(self, arrow: Any) -> Iterator[tuple[str, Any]]:
        for name, (shape, number) in self._store.columns.items():
            one = arrow.from_numpy_dtype(number)
            yield name, arrow.list_(one) if shape else one


def open_study(path: str | os.PathLike[str]) -> Study:
    """Return the sweep that a store holds, finished or not. Raises ArgumentError where there is none.

    Example:
        >>> treesim.sweeps.open_study("no_such_run.zarr")
        Traceback (most recent call last):
            ...
        treesim.errors.ArgumentError: no_such_run.zarr holds no sweep of treesim's: ...
    """
    return Study(path)
