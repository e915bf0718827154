"""Trajectories and rollouts as tables of Apache Arrow, with units in the schema; and Parquet files of trajectories.

Source: Apache Parquet format 2.9, encodings 2.9: numbers are split into streams of bytes
(BYTE_STREAM_SPLIT), which is lossless and compresses better than whole numbers.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from ..model.coordinates import configuration_names, distinct, velocity_names
from ..simulation.trajectory import Trajectory
from ..system.archives import COMPRESSED, check_unpacked
from ..system.input_files import LARGEST_RECORDING, open_input, size_of_stream
from ..system.memory import check_memory
from .columns import WORK, arrays_of, sensor_columns, sensor_units, table_of, units_of, without_points
from .description import described, read_description, restored
from .libraries import required
from .units import configuration_units, velocity_units

if TYPE_CHECKING:
    from ..rollouts.rollout import Rollouts

KEY = b"treesim"  # of the description in a schema's metadata


def table_of_trajectory(trajectory: Trajectory) -> Any:
    """Return the table documented at `Trajectory.to_arrow`."""
    return _table_of_columns(without_points(trajectory))


def _table_of_columns(trajectory: Trajectory) -> Any:
    names, table = table_of(trajectory)
    return _table(names, units_of(trajectory), list(table.T), {KEY: described(trajectory)})


def table_of_rollouts(rollouts: Rollouts) -> Any:
    """Return the table documented at `Rollouts.to_arrow`."""
    count, records, _ = rollouts.q.shape
    names, units, blocks = _joint_columns(rollouts)
    numbers = [np.repeat(np.arange(count), records), np.tile(rollouts.t, count)]
    columns = [x.reshape(count * records, -1)[:, k] for x in blocks for k in range(x.shape[2])]
    details = {"stopped": rollouts.stopped}
    details |= {name: getattr(rollouts, name).tolist() for name in ("diverged", "diverged_at", "done")}
    if rollouts.robot is not None:
        details["robot_name"] = rollouts.robot.name
    return _table(["rollout", "t", *names], ["1", "s", *units], [*numbers, *columns], {KEY: json.dumps(details)})


def _joint_columns(rollouts: Rollouts) -> tuple[list[str], list[str], list[np.ndarray]]:
    """Return names and units of columns, and the arrays (B, K, n) with their numbers."""
    blocks = [rollouts.q, rollouts.v]
    if rollouts.robot is None:
        names = [f"{label}.{k}" for label, x in zip("qv", blocks, strict=True) for k in range(x.shape[2])]
        units = [""] * len(names)
    else:
        moving = [body.joint for body in rollouts.robot.bodies if body.joint.mimic is None]
        joints, types = [joint.name for joint in moving], [joint.type for joint in moving]
        names = [f"q.{name}" for name in configuration_names(joints, types)]
        names = distinct([*names, *(f"v.{name}" for name in velocity_names(joints, types))])
        units = [*configuration_units(types), *velocity_units(types)]
    if rollouts.work is not None:
        names, units, blocks = [*names, *WORK], [*units, "J", "J"], [*blocks, rollouts.work]
    read = rollouts.sensors
    named = [name for sensor, columns in read.columns.items() for name in sensor_columns(sensor, columns)]
    return [*names, *named], [*units, *sensor_units(read)], [*blocks, *read.values()]


def _table(names: Sequence[str], units: Sequence[str], columns: Sequence[np.ndarray], details: dict[bytes, str]) -> Any:
    arrow = required("pyarrow", "tables")
    arrays = [arrow.array(column) for column in columns]
    fields = [
        arrow.field(name, array.type, nullable=False, metadata={"unit": unit} if unit else None)
        for name, unit, array in zip(names, units, arrays, strict=True)
    ]
    return arrow.Table.from_arrays(arrays, schema=arrow.schema(fields, details))


def write(trajectory: Trajectory, stream: IO[bytes]) -> None:
    """Write the table of a trajectory to a stream of bytes."""
    parquet = required("pyarrow.parquet", "Parquet files")
    table = _table_of_columns(without_points(trajectory))
    parquet.write_table(table, stream, compression="zstd", use_dictionary=False, use_byte_stream_split=True)


def read(path: Path) -> Trajectory:
    """Return the trajectory of a Parquet file that `write` wrote."""
    parquet = required("pyarrow.parquet", "Parquet files")
    try:
        return _trajectory_of(parquet, path)
    except required("pyarrow", "Parquet files").ArrowException as error:
        raise ValueError(str(error)) from error


def _trajectory_of(parquet: Any, path: Path) -> Trajectory:
    with open_input(path, LARGEST_RECORDING) as stream:
        file = parquet.ParquetFile(stream)
        announced = file.metadata.num_rows * file.metadata.num_columns * np.dtype(float).itemsize
        check_unpacked(announced, size_of_stream(stream), COMPRESSED)
        check_memory(announced, "its table", "read it on a machine with more memory")
        description = read_description((file.schema_arrow.metadata or {})[KEY])
        if not all(str(kind) == "double" for kind in file.schema_arrow.types):
            raise ValueError("its columns are not all numbers in double precision")
        table = file.read()
    columns = [column.to_numpy() for column in table.columns]
    return restored(description, arrays_of(description, table.column_names, np.column_stack(columns)))
