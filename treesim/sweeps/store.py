"""Where results go: a Zarr store of columns over samples, in which a task writes whole chunks of its own.

run.zarr/                a Zarr v3 group, its metadata consolidated, which xarray opens
    mass[torso]/ ...     a column: samples on the first axis, padded to whole chunks
    treesim/plan.pickle  what is computed, as workers load it
    treesim/plan.json    the same for people, and for telling one sweep from another
    treesim/manifest     finished chunks, one a line (see `manifest`)
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ArgumentError, installed_by
from ..files import cannot_write, write_whole

if TYPE_CHECKING:
    from .plan import Plan

ASIDE = "treesim"  # the folder beside the columns
PLAN, TEXT = f"{ASIDE}/plan.pickle", f"{ASIDE}/plan.json"
SAMPLE = "sample"  # the axis
UNFINISHED = ".unfinished"  # a store that is being made
NEEDED = ("zarr", "xarray", "cloudpickle")


def require_zarr() -> None:
    """Raise ArgumentError, saying how to install them, if packages of the extra are missing."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise ArgumentError(f"sweeps need {' and '.join(missing)}: {installed_by('.[sweep]')}")


def write_plan(folder: Path, plan: Plan) -> str:
    """Write a plan into a folder for workers; return the digest by which they know it. Raises ArgumentError naming
    what cannot be sent to another process."""
    import cloudpickle

    try:
        content = cloudpickle.dumps(plan)
    except Exception as error:
        raise ArgumentError(f"the sweep cannot be sent to other processes: {error}") from error
    (folder / ASIDE).mkdir(parents=True, exist_ok=True)
    write_whole(folder / PLAN, lambda stream: stream.write(content))
    text = json.dumps(plan.description(), indent=1, ensure_ascii=False)
    write_whole(folder / TEXT, lambda stream: stream.write(text.encode()))
    return hashlib.sha256(content).hexdigest()


def read_plan(folder: str | Path, digest: str | None = None) -> Plan:
    """Return the plan of a store. It is a program: read no store of somebody whom you do not trust.

    digest: that of the file, None for any. Raises ArgumentError where there is none, or another one.
    """
    import pickle

    content = _plan_content(folder)
    if digest not in (None, hashlib.sha256(content).hexdigest()):
        raise ArgumentError(f"{folder} holds another sweep by now: its plan has changed")
    return pickle.loads(content)  # type: ignore[no-any-return]


def plan_digest(folder: Path) -> str:
    """Return the digest of a store's plan; raises ArgumentError where there is none."""
    return hashlib.sha256(_plan_content(folder)).hexdigest()


def _plan_content(folder: str | Path) -> bytes:
    try:
        return Path(folder, PLAN).read_bytes()
    except OSError as error:
        raise ArgumentError(f"{folder} holds no sweep of treesim's: {error.strerror or error}: {PLAN}") from None


def read_description(folder: str | Path) -> dict[str, Any]:
    """Return the plan of a store in plain values; raises ArgumentError where there is no sweep."""
    try:
        return json.loads(Path(folder, TEXT).read_text(encoding="utf-8"))  # type: ignore[no-any-return]
    except (OSError, ValueError) as error:
        raise ArgumentError(f"{folder} holds no sweep of treesim's: {error}") from None


class Store:
    """The columns of a sweep in a folder.

    samples: how many; chunk: how many of them are written together; columns: shape and type of number of one sample,
    by name.
    """

    def __init__(self, folder: str | Path, mode: str = "r+") -> None:
        require_zarr()
        import zarr

        self.folder = Path(folder)
        try:
            self.group: Any = zarr.open_group(os.fspath(folder), mode=mode)  # type: ignore[arg-type]
            told: Any = self.group.attrs["treesim"]
            self.samples, self.chunk = int(told["samples"]), int(told["chunk"])
        except (OSError, KeyError, ValueError, TypeError) as error:
            raise ArgumentError(f"{folder} holds no sweep of treesim's: {error}") from None
        self.columns = {name: (one.shape[1:], one.dtype) for name, one in self._arrays().items()}

    def _arrays(self) -> dict[str, Any]:
        return dict(self.group.arrays())

    @property
    def starts(self) -> range:
        """The first sample of each chunk."""
        return range(0, self.samples, self.chunk)

    def blank(self) -> dict[str, np.ndarray]:
        """Return the columns of a chunk in which nothing is computed."""
        return {
            name: np.full((self.chunk, *shape), fill_value(name, number), number)
            for name, (shape, number) in self.columns.items()
        }

    def write(self, start: int, columns: Mapping[str, np.ndarray]) -> None:
        """Write the columns of a chunk, all of it; raises ArgumentError where there is no room."""
        with _told_of_room(self.folder):
            for name, column in columns.items():
                self.group[_key(name)][start : start + self.chunk] = column

    def read(self, start: int, stop: int | None = None) -> dict[str, np.ndarray]:
        """Return the columns of a chunk, or of the samples up to `stop`; raises what Zarr raises where they are
        damaged."""
        stop = start + self.chunk if stop is None else stop
        return {name: np.asarray(self.group[_key(name)][start:stop]) for name in self.columns}


def create(folder: Path, plan: Plan, chunk: int, columns: Mapping[str, np.ndarray]) -> None:
    """Make the empty columns of a sweep; columns: of any samples, for their shapes and types of number."""
    import zarr

    padded = -(-plan.samples // chunk) * chunk
    told = {"samples": plan.samples, "chunk": chunk, "steps": plan.steps, "dt": plan.dt, "seed": plan.seed}
    robot = plan.world.robot
    names = {"robot": robot.name, "dofs": list(robot.dof_names)}
    group = zarr.create_group(os.fspath(folder), attributes={"treesim": {**told, **names}})
    for name, column in columns.items():
        own = column.shape[1:]
        axes = (SAMPLE, *_axes(name, len(own)))
        group.create_array(
            _key(name), shape=(padded, *own), chunks=(chunk, *own), dtype=column.dtype,
            fill_value=fill_value(name, column.dtype), dimension_names=axes,
        )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # consolidated metadata are no part of the format, which others may ignore
        zarr.consolidate_metadata(group.store)


def _axes(name: str, count: int) -> tuple[str, ...]:
    if name in ("q", "v") and count:
        return (("step",) if count == 2 else ()) + (f"{name}_index",)
    return tuple(f"{name}_{k}" for k in range(count))


def _key(name: str) -> str:
    """The name of a column in the store, where "/" would open a group."""
    return name.replace("/", "|")


def fill_value(name: str, number: np.dtype[Any]) -> Any:
    """Return what stands in a column where nothing is computed."""
    if number.kind == "f":
        return np.nan
    return -1 if name in ("failed_step", "failed_dof") else 0


@contextmanager
def in_the_making(folder: Path) -> Iterator[Path]:
    """A folder for a store that takes its name when the block ends well, and goes when it does not."""
    beside = folder.with_name(folder.name + UNFINISHED)
    shutil.rmtree(beside, ignore_errors=True)
    try:
        with _told_of_room(folder):
            beside.mkdir(parents=True)
            yield beside
            os.replace(beside, folder)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


@contextmanager
def _told_of_room(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise cannot_write(folder, error) from error
