"""Zarr store of a sweep's results: columns over samples, to which each task writes one chunk.

run.zarr/                a Zarr v3 group with consolidated metadata, which xarray opens
    zarr.json            contains the digest of plan.json, and one of itself, the store's identity
    mass[torso]/ ...     a column: samples on the first axis, padded to whole chunks
    treesim/plan.json    the plan in plain values, to compare sweeps
    treesim/plan.pickle  the plan as a program, for `Study.replay` (see `programs`)
    treesim/manifest     finished chunks, one a line (see `manifest`)
"""

from __future__ import annotations

import json
import os
import shutil
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np

from ..errors import ArgumentError, SweepError, quoted, reason_of
from ..system.files import DAMAGED, cannot_write, digest_of, part_name, rename_new, write_whole
from ..system.input_files import LARGEST_DETAILS, read_input
from ..system.installation import installed_by

if TYPE_CHECKING:
    from .plan import Plan

ASIDE = "treesim"  # the folder next to the columns, and the attribute of the group
DESCRIPTION, GROUP = f"{ASIDE}/plan.json", "zarr.json"
SAMPLE = "sample"  # the axis
NEEDED = ("zarr", "xarray", "cloudpickle")
NOT_IN_NAMES = '<>:"/\\|?*'  # of files and folders, on Linux or Windows
SENSOR = "sensor."  # begins the name of a column of readings
LONGEST_NAME = 200  # bytes of a column's name, which is that of a folder


def require_zarr() -> None:
    """Raise ArgumentError, with installation advice, if packages of the extra are missing."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise ArgumentError(f"sweeps need {' and '.join(missing)}: {installed_by('.[sweep]')}")


class Store:
    """Columns of a sweep in a folder.

    samples: their number. chunk: number of samples that are written together. columns: shape and dtype of one
    sample, by name. identity: the digest of zarr.json, unique to this store.

    Raises ArgumentError, naming the file, if there is no sweep, or zarr.json was changed.
    """

    def __init__(self, folder: str | Path, mode: str = "r+") -> None:
        require_zarr()
        import zarr

        self.folder = Path(folder)
        self.attributes = _attributes(self.folder)
        try:
            self.samples, self.chunk = int(self.attributes["samples"]), int(self.attributes["chunk"])
            self.identity = str(self.attributes["digest"])
            self.group: Any = zarr.open_group(os.fspath(folder), mode=mode)  # type: ignore[arg-type]
            self._arrays: dict[str, Any] = {name: self.group[key] for name, key in self.attributes["columns"].items()}
        except (OSError, *DAMAGED) as error:
            raise _no_sweep(self.folder, error) from None
        self.columns = {name: (one.shape[1:], one.dtype) for name, one in self._arrays.items()}

    def description(self) -> dict[str, Any]:
        """Return the plan in plain values; raises ArgumentError if plan.json was changed."""
        try:
            found = json.loads(read_input(self.folder / DESCRIPTION, LARGEST_DETAILS))
            if digest_of(found) == self.attributes["plan.json"]:
                return dict(found)
            reason = f"it is not the one that belongs to {GROUP}"
        except (OSError, *DAMAGED) as error:
            reason = str(error)
        raise ArgumentError(damaged(self.folder, DESCRIPTION, reason))

    @property
    def starts(self) -> range:
        """First sample of each chunk."""
        return range(0, self.samples, self.chunk)

    def blank(self) -> dict[str, np.ndarray]:
        """Return the columns of a chunk with fill values."""
        return {
            name: np.full((self.chunk, *shape), fill_value(name, number), number)
            for name, (shape, number) in self.columns.items()
        }

    def write(self, start: int, columns: Mapping[str, np.ndarray]) -> None:
        """Write all columns of a chunk; raises ArgumentError for a full disk."""
        with report_full_disk(self.folder):
            for name, column in columns.items():
                self._arrays[name][start : start + self.chunk] = column

    def read(self, start: int, stop: int | None = None) -> dict[str, np.ndarray]:
        """Return the columns of a chunk, or of samples up to `stop`; raises what Zarr raises if they are damaged."""
        stop = start + self.chunk if stop is None else stop
        return {name: np.asarray(self._arrays[name][start:stop]) for name in self.columns}

    def column(self, name: str) -> np.ndarray:
        """Return a column of all samples; raises SweepError if it is damaged."""
        try:
            return np.asarray(self._arrays[name][: self.samples])
        except Exception as error:  # of Zarr and its codecs
            raise SweepError(
                f"column {quoted(name)} of {self.folder} cannot be read: {type(error).__name__}: {reason_of(error)}: "
                "the same call of treesim.sweep computes again what is damaged"
            ) from error


def damaged(folder: Path, file: str, reason: str) -> str:
    """Return the message for a file of a store that was changed."""
    return (
        f"{folder / file} is damaged, or another sweep's: {reason}: bring back the file from a copy, or make the sweep "
        f"again in another store; xarray.open_zarr reads what is there"
    )


def _attributes(folder: Path) -> dict[str, Any]:
    """Return the sweep's attributes in the group's metadata; raises ArgumentError if their digest does not fit."""
    try:
        content = read_input(folder / GROUP, LARGEST_DETAILS)
        metadata = json.loads(content)
        kept: Any = metadata["attributes"][ASIDE]
        if "digest" not in kept:
            raise ArgumentError(
                f"{folder / GROUP} holds no digest: the sweep is of an older version of treesim, which goes on with "
                f"it, or the file is damaged; xarray.open_zarr reads what is there"
            )
        if kept["digest"] == _digest_without(metadata):
            return dict(kept)
    except ArgumentError:
        raise
    except (OSError, *DAMAGED) as error:
        if (folder / DESCRIPTION).is_file():
            raise ArgumentError(damaged(folder, GROUP, str(error))) from None
        raise _no_sweep(folder, error) from None
    raise ArgumentError(damaged(folder, GROUP, "it does not have the digest that it holds"))


def _no_sweep(folder: Path, error: Exception) -> ArgumentError:
    return ArgumentError(f"{folder} holds no sweep of treesim's: {error}")


def _digest_without(metadata: Mapping[str, Any]) -> str:
    """Return the digest of a group's metadata, without the entry that stores this digest."""
    attributes = metadata["attributes"]
    own = {name: value for name, value in attributes[ASIDE].items() if name != "digest"}
    return digest_of({**metadata, "attributes": {**attributes, ASIDE: own}})


def create(folder: Path, plan: Plan, chunk: int, columns: Mapping[str, np.ndarray]) -> Store:
    """Create the store of a sweep with empty columns.

    columns: of any samples, for shapes and dtypes.
    """
    import zarr

    description = json.loads(json.dumps(plan.description()))
    padded = -(-plan.samples // chunk) * chunk
    kept = {"samples": plan.samples, "chunk": chunk, "steps": plan.steps, "dt": plan.options.dt, "seed": plan.seed}
    robot = plan.world.robot
    names = {"robot": robot.name, "dofs": list(robot.dof_names), "columns": {name: _key(name) for name in columns}}
    group = zarr.create_group(
        os.fspath(folder), attributes={ASIDE: {**kept, **names, "plan.json": digest_of(description)}}
    )  # fmt: skip
    for name, column in columns.items():
        own = column.shape[1:]
        axes = (SAMPLE, *_axes(name, len(own)))
        group.create_array(
            _key(name), shape=(padded, *own), chunks=(chunk, *own), dtype=column.dtype,
            fill_value=fill_value(name, column.dtype), dimension_names=axes,
        )  # fmt: skip
    with warnings.catch_warnings(action="ignore"):  # consolidated metadata are an extension of the format
        zarr.consolidate_metadata(group.store)
    metadata = json.loads(read_input(folder / GROUP, LARGEST_DETAILS))
    metadata["attributes"][ASIDE]["digest"] = _digest_without(metadata)
    _write_json(folder / GROUP, metadata)
    (folder / ASIDE).mkdir(exist_ok=True)
    _write_json(folder / DESCRIPTION, description)
    return Store(folder)


def _write_json(path: Path, value: Any) -> None:
    text = json.dumps(value, indent=1, ensure_ascii=False)
    write_whole(path, lambda stream: stream.write(text.encode()))


def _axes(name: str, count: int) -> tuple[str, ...]:
    if (name in ("q", "v") or name.startswith(SENSOR)) and count:
        return (("step",) if count == 2 else ()) + (f"{name}_index",)
    return tuple(f"{name}_{k}" for k in range(count))


def _key(name: str) -> str:
    r"""Return the name of a column's folder in the store.

    "%", characters that Windows or Linux do not allow in names, and those that do not print, are percent-encoded; a
    long name is shortened and ends with a digest.
    """
    key = "".join(c if c.isprintable() and c not in f"%{NOT_IN_NAMES}" else quote(c, safe="") for c in name)
    encoded = os.fsencode(key)
    if len(encoded) <= LONGEST_NAME:
        return key
    return f"{encoded[: LONGEST_NAME - 40].decode(errors='ignore')}~{digest_of(name)[:32]}"


def check_column(label: str, name: str) -> None:
    """Raise ArgumentError unless a column may have this name, which is that of a folder in the store."""
    reserved = name in (ASIDE, GROUP) or name.startswith((".", "__")) or "/" in name
    if reserved or not name.isprintable() or not 0 < len(os.fsencode(name)) <= LONGEST_NAME:
        raise ArgumentError(
            f"{label}: a column of the store cannot have this name: take a short one (up to {LONGEST_NAME} bytes) that "
            f"prints, without /, other than {ASIDE} and {GROUP}, which does not start with . or __"
        )


def fill_value(name: str, number: np.dtype[Any]) -> Any:
    """Return the value of a column where nothing is computed."""
    if number.kind == "f":
        return np.nan
    return -1 if name in ("failed_step", "failed_dof") else 0


@contextmanager
def in_the_making(folder: Path) -> Iterator[Path]:
    """Yield a temporary folder for a new store; renamed if the block succeeds, removed if it fails.

    Raises FileExistsError if the name exists by then: of two calls that create a store, one succeeds.
    """
    missing = [path for path in folder.parents if not path.exists()]
    temporary = folder.with_name(part_name())
    try:
        with report_full_disk(folder):
            folder.parent.mkdir(parents=True, exist_ok=True)
            temporary.mkdir()
        yield temporary
        _named(temporary, folder)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        for path in missing:  # those that another call uses are not empty
            with suppress(OSError):
                path.rmdir()
        raise


def _named(temporary: Path, folder: Path) -> None:
    try:
        rename_new(temporary, folder)
    except FileExistsError:
        raise
    except OSError as error:
        raise cannot_write(folder, error) from error


@contextmanager
def report_full_disk(folder: Path) -> Iterator[None]:
    """Convert OSError to an ArgumentError with the reason, such as a full disk."""
    try:
        yield
    except OSError as error:
        raise cannot_write(folder, error) from error
