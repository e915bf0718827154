"""Export of trajectories as a LeRobotDataset of version 3.0: one episode each, states and actions.

Layout: meta/info.json, meta/stats.json, meta/tasks.parquet, and one file each of meta/episodes and data, as
`lerobot` 0.4 reads and writes them. Frames are states at a constant rate. A frame's "observation.state" is
q, then v; its "action" is the generalised force of the step that starts there; readings of a sensor in that
step are "observation.NAME". Numbers are in single precision. Quantiles in the statistics are exact; lerobot's
come from a histogram.

Source: Hugging Face, lerobot, LeRobotDataset v3.0.
"""

from __future__ import annotations

import errno
import json
import os
import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ArgumentError, quoted
from ..simulation.trajectory import Trajectory
from ..system.files import cannot_write, path_of, sync_folder
from ..validation.values import checked_parts, checked_text, whole_number
from .libraries import required

FILE = "chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
LARGEST = float(np.finfo(np.float32).max)
QUANTILES = {"q01": 0.01, "q10": 0.1, "q50": 0.5, "q90": 0.9, "q99": 0.99}
Frames = dict[str, np.ndarray]  # features by name: (K, n), or (K,) of what every dataset has


def write_lerobot(
    trajectories: Trajectory | Sequence[Trajectory],
    folder: str | PathLike[str],
    fps: int = 50,
    task: str = "simulation",
) -> Path:
    """Write trajectories of one robot to a new LeRobotDataset, each as one episode.

    The dataset contains numbers in single precision. treesim cannot read the dataset. The folder appears when it is
    complete; after an error, no folder remains. The last state of a trajectory starts no step, so the dataset has no
    frame for it.

    Parameters
    ----------
    trajectories : Trajectory or sequence of Trajectory
        Trajectories of one robot.
    folder : path
        Folder to create.
    fps : int
        Frames per second. In every trajectory, 1 / fps must be a whole number of steps.
    task : str
        Description of the task that the episodes show.

    Returns
    -------
    Path
        Path of the folder.

    Raises
    ------
    ArgumentError
        If the folder exists or cannot be written. If robots differ or have no joints. If the frame rate does not fit.
        If numbers are not finite in single precision. If pyarrow is missing.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from treesim.formats import write_lerobot
    >>> simulation = treesim.Simulation(treesim.load("ur5"))
    >>> runs = [simulation.run(0.1, q0=np.full(6, angle)) for angle in (0.1, 0.2)]
    >>> path = write_lerobot(runs, Path(tempfile.mkdtemp()) / "swings", fps=100, task="swing freely")
    >>> sorted(file.name for file in (path / "meta").iterdir())
    ['episodes', 'info.json', 'stats.json', 'tasks.parquet']
    """
    arrow, parquet = required("pyarrow", "datasets"), required("pyarrow.parquet", "datasets")
    fps, runs = whole_number("fps", fps, 1), checked_parts("trajectories", trajectories, Trajectory)
    if not checked_text("task", task).strip():
        raise ArgumentError("task must describe the episodes in words")
    episodes = _episodes(runs, fps)
    with _new_folder(folder) as path:
        for name, content in (("info", _info(runs[0], episodes, fps)), ("stats", _statistics(_joined(episodes)))):
            (path / "meta" / f"{name}.json").write_text(json.dumps(content, indent=4), encoding="utf-8")
        parquet.write_table(_tasks(arrow, task), path / "meta" / "tasks.parquet")
        of = FILE.format(chunk_index=0, file_index=0)
        parquet.write_table(_frames(arrow, _joined(episodes)), path / "data" / of)
        rows = [_episode(frames, task) for frames in episodes]
        parquet.write_table(arrow.Table.from_pylist(rows), path / "meta" / "episodes" / of)
    return Path(folder)


@contextmanager
def _new_folder(folder: str | PathLike[str]) -> Iterator[Path]:
    """Context with a temporary folder that is renamed to the requested one at the end, or deleted on error."""
    path = _free_path(folder)
    temporary = path.with_name(f".treesim.{os.getpid()}.{secrets.token_hex(4)}.part")
    try:
        for part in ("data", "meta/episodes"):
            (temporary / part / "chunk-000").mkdir(parents=True)
        yield temporary
        os.rename(temporary, path)  # fails where there is something by now, other than an empty folder
        sync_folder(path.parent)
    except OSError as error:
        raise cannot_write(path, error) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _free_path(folder: str | PathLike[str]) -> Path:
    """Return the path of a folder that can be created; raises ArgumentError with the reason if it cannot."""
    path = path_of(folder, "folder").absolute()
    try:
        path.lstat()
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
    except ValueError:
        raise ArgumentError(f"cannot write {quoted(str(path))}: names of folders hold no NUL") from None
    except FileNotFoundError:
        if path.parent.is_dir():
            return path
        raise ArgumentError(f"cannot write {path}: there is no folder {path.parent}") from None
    except OSError as error:
        raise cannot_write(path, error) from error


def _episodes(trajectories: Sequence[Trajectory], fps: int) -> list[Frames]:
    """Return the frames of every trajectory, checked to be finite in single precision."""
    if not trajectories:
        raise ArgumentError("a dataset needs one trajectory at least")
    first, episodes, start = trajectories[0], [], 0
    for k, run in enumerate(trajectories):
        if (run.joint_names, run.joint_types) != (first.joint_names, first.joint_types):
            raise ArgumentError(
                f"trajectory {k} is of {quoted(run.robot_name)}, but the first is of {quoted(first.robot_name)}"
            )
        if not run.joint_names:
            raise ArgumentError(
                f"trajectory {k} is of {quoted(run.robot_name)}, which has no joints: it makes no frames"
            )
        kept = _kept(run, fps, k)
        if run.sensors.columns != first.sensors.columns:
            raise ArgumentError(f"trajectory {k} has {run.sensors}, but the first has {first.sensors}")
        for label, x in (("q", run.q), ("v", run.v), ("tau", run.tau), *_readings(run)):
            wrong = kept[~(np.abs(x[kept]) <= LARGEST).all(axis=1)]
            if wrong.size:
                raise ArgumentError(f"trajectory {k}: {label} of state {wrong[0]} is not finite in single precision")
        count = len(kept)
        numbers = np.arange(count)
        episodes.append({
            "observation.state": np.concatenate((run.q[kept], run.v[kept]), axis=1, dtype=np.float32),
            "action": run.tau[kept].astype(np.float32),
            **{label: x[kept].astype(np.float32) for label, x in _readings(run)},
            "timestamp": (numbers / fps).astype(np.float32),
            "frame_index": numbers, "episode_index": np.full(count, k), "index": start + numbers,
            "task_index": np.zeros(count, int),
        })  # fmt: skip
        start += count
    return episodes


def _readings(run: Trajectory) -> list[tuple[str, np.ndarray]]:
    """Return the feature and the readings (K, n) of every sensor."""
    return [(f"observation.{name}", readings) for name, readings in run.sensors.items()]


def _kept(run: Trajectory, fps: int, k: int) -> np.ndarray:
    """Return the indices of the states that become frames."""
    steps = np.diff(run.t)
    if not len(steps):
        raise ArgumentError(f"trajectory {k} has {len(run)} states, and no step")
    dt = float(steps.mean())
    every = round(1 / (fps * dt))
    if every < 1 or abs(every * dt * fps - 1) > 1e-6 or np.abs(steps - dt).max() > 1e-6 * dt:
        raise ArgumentError(
            f"trajectory {k} has steps of {dt:g} s, of which no whole number is 1/{fps} s, as fps={fps}"
        )
    return np.arange(0, len(steps), every)


def _joined(episodes: Sequence[Frames]) -> Frames:
    return {name: np.concatenate([frames[name] for frames in episodes]) for name in episodes[0]}


def _info(run: Trajectory, episodes: Sequence[Frames], fps: int) -> dict[str, Any]:
    """Return the contents of info.json."""
    names = {
        "observation.state": [*(f"q.{n}" for n in run.q_names), *(f"v.{n}" for n in run.v_names)],
        "action": [f"tau.{n}" for n in run.v_names],
        **{f"observation.{name}": list(parts) for name, parts in run.sensors.columns.items()},
    }
    features = {
        name: {"dtype": str(x.dtype), "shape": list(x.shape[1:]) or [1], "names": names.get(name)}
        for name, x in episodes[0].items()
    }
    return {
        "codebase_version": "v3.0", "robot_type": run.robot_name, "total_episodes": len(episodes),
        "total_frames": sum(len(frames["index"]) for frames in episodes), "total_tasks": 1, "chunks_size": 1000,
        "data_files_size_in_mb": 100, "video_files_size_in_mb": 200, "fps": fps,
        "splits": {"train": f"0:{len(episodes)}"}, "data_path": f"data/{FILE}", "video_path": None,
        "features": features,
    }  # fmt: skip


def _statistics(frames: Frames) -> dict[str, dict[str, list[Any]]]:
    """Return minimum, maximum, mean, standard deviation, count and quantiles of every feature."""
    return {name: _statistics_of(x.reshape(len(x), -1)) for name, x in frames.items()}


def _statistics_of(x: np.ndarray) -> dict[str, list[Any]]:
    wide = x.astype(float)
    levels = np.quantile(wide, list(QUANTILES.values()), axis=0)
    found = {"min": x.min(axis=0), "max": x.max(axis=0), "mean": wide.mean(axis=0), "std": wide.std(axis=0)}
    found |= {"count": np.array([len(x)]), **dict(zip(QUANTILES, levels, strict=True))}
    return {name: numbers.tolist() for name, numbers in found.items()}


def _tasks(arrow: Any, task: str) -> Any:
    """Return the table of tasks, with the index column of pandas."""
    index = "__index_level_0__"
    details = {
        "index_columns": [index], "column_indexes": [], "pandas_version": "2.2.0",
        "columns": [
            {"name": "task_index", "field_name": "task_index", "pandas_type": "int64", "numpy_type": "int64",
             "metadata": None},
            {"name": None, "field_name": index, "pandas_type": "unicode", "numpy_type": "object", "metadata": None},
        ],
    }  # fmt: skip
    return arrow.table({"task_index": [0], index: [task]}).replace_schema_metadata({"pandas": json.dumps(details)})


def _frames(arrow: Any, frames: Frames) -> Any:
    """Return the table of frames, with the types that the library datasets requires."""
    columns: dict[str, Any] = {}
    types: dict[str, Any] = {}
    for name, x in frames.items():
        value = {"dtype": str(x.dtype), "_type": "Value"}
        if x.ndim == 1:
            columns[name], types[name] = arrow.array(x), value
        else:
            columns[name] = arrow.FixedSizeListArray.from_arrays(arrow.array(x.ravel()), x.shape[1])
            types[name] = {"feature": value, "length": x.shape[1], "_type": "List"}
    details = json.dumps({"info": {"features": types}})
    return arrow.table(columns).replace_schema_metadata({"huggingface": details})


def _episode(frames: Frames, task: str) -> dict[str, Any]:
    """Return the table row of one episode."""
    index = frames["index"]
    row = {
        "episode_index": int(frames["episode_index"][0]), "tasks": [task], "length": len(index),
        "data/chunk_index": 0, "data/file_index": 0,
        "dataset_from_index": int(index[0]), "dataset_to_index": int(index[-1]) + 1,
    }  # fmt: skip
    found = {f"stats/{name}/{kind}": x for name, of in _statistics(frames).items() for kind, x in of.items()}
    return {**row, **found, "meta/episodes/chunk_index": 0, "meta/episodes/file_index": 0}
