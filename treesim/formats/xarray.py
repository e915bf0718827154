"""Trajectories and rollouts as xarray.Dataset with named axes and units; and netCDF.

A Dataset can be written to Zarr by its own `to_zarr`, and read back by `xarray.open_zarr`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from ..contact.history import PARTS, SOLVER_INFO_NAMES, ContactHistory
from ..contact.points import LINKS, point_type
from ..errors import ArgumentError, quoted, reason_of
from ..model.coordinates import Q_PARTS, V_PARTS, configuration_names, velocity_names
from ..simulation.readings import recorded
from ..simulation.trajectory import Trajectory
from ..system.input_files import LARGEST_RECORDING, open_input
from .description import Description, described, read_description, restored
from .libraries import required
from .units import configuration_units, force_units, velocity_units

if TYPE_CHECKING:
    from ..rollouts.rollout import Rollouts

LARGEST = 1 << 31  # bytes of one variable in a file of netCDF 3 with 64-bit offsets
LONGEST_NAME = 50  # of a sensor in a variable's name: file names have 255 bytes at most
POINTS = "contact_points"  # their number in every step
OLD_SOLVER_INFO = "contact_told"  # its name in files of older versions
NUMBERS = {  # of a trajectory: axes and attributes
    "q": (("time", "coordinate"), {"long_name": "configuration"}),
    "v": (("time", "dof"), {"long_name": "velocity"}),
    "tau": (("time", "dof"), {"long_name": "generalised forces in the step that starts here"}),
    "energy": (("time",), {"long_name": "kinetic and potential energy", "units": "J"}),
    "work": (("time", "account"), {"long_name": "work up to here", "units": "J"}),
}
ACCOUNTS = ("controls", "damping_and_friction")
OF_ROLLOUT = {  # attributes of variables with one value per rollout
    "diverged": {"long_name": "whether a state is not finite"},
    "diverged_at": {"long_name": "index of the first recorded state that is not finite, -1: none"},
    "done": {"long_name": "recorded times that are computed"},
    "ended": {"long_name": "whether a measure ended it"},
    "ended_at": {"long_name": "number of the step that ended it, -1: none did"},
    "energy_at_start": {"long_name": "kinetic and potential energy at the start", "units": "J"},
    "residual": {"long_name": "largest complementarity residual of contacts, limits and joint friction"},
}


def dataset_of(trajectory: Trajectory) -> Any:
    """Return the Dataset documented at `Trajectory.to_xarray`."""
    variables: dict[str, Any] = {
        label: (axes, getattr(trajectory, label), attributes) for label, (axes, attributes) in NUMBERS.items()
    }
    names = _joint_axes(trajectory.joint_names, trajectory.joint_types) | {
        "time": ("time", trajectory.t, {"units": "s"}),
        "account": ("account", _texts(ACCOUNTS)),
    }
    if trajectory.contact is not None:
        contact_variables, contact_names = _contact(trajectory.contact)
        variables, names = variables | contact_variables, names | contact_names
    for k, (sensor, columns) in enumerate(trajectory.sensors.columns.items()):
        label, axis = _sensor_variable(sensor, k)
        variables[label] = ("time", axis), trajectory.sensors[sensor], {"long_name": f"readings of {sensor}"}
        names[axis] = axis, _texts(columns)
    attributes = {"robot_name": trajectory.robot_name, "treesim": described(trajectory)}
    return required("xarray", "datasets").Dataset(variables, names, attributes)


def _sensor_variable(sensor: str, k: int, plain: bool = True) -> tuple[str, str]:
    """Return the names of the variable and of the axis of sensor k.

    Both contain the sensor's name, unless `plain` is False, or a file of Zarr cannot have that name.
    """
    if plain and "/" not in sensor and "\\" not in sensor and sensor.isprintable() and len(sensor) <= LONGEST_NAME:
        return f"sensor.{sensor}", f"{sensor}.column"
    return f"sensor_{k}", f"sensor_{k}:column"


def _joint_axes(joints: tuple[str, ...], types: tuple[str, ...]) -> dict[str, Any]:
    """Return names of coordinates and degrees of freedom, their joints, and units."""
    return {
        "coordinate": ("coordinate", _texts(configuration_names(joints, types))),
        "dof": ("dof", _texts(velocity_names(joints, types))),
        "joint_of_coordinate": ("coordinate", _texts(_repeated(joints, types, Q_PARTS))),
        "joint_of_dof": ("dof", _texts(_repeated(joints, types, V_PARTS))),
        "unit_of_q": ("coordinate", _texts(configuration_units(types))),
        "unit_of_v": ("dof", _texts(velocity_units(types))),
        "unit_of_tau": ("dof", _texts(force_units(types))),
    }


def _texts(names: Sequence[str]) -> np.ndarray:
    """Return strings as an object array, which Zarr supports, unlike numpy's padded strings."""
    wrong = next((name for name in names if "\0" in name), None)
    if wrong is not None:
        raise ArgumentError(f"netCDF and Zarr hold no names with NUL, as {quoted(wrong)}: rename that, or take .npz")
    return np.array(names, dtype=object)


def _repeated(joints: tuple[str, ...], types: tuple[str, ...], parts: Mapping[str, tuple[str, ...]]) -> list[str]:
    return [joint for joint, kind in zip(joints, types, strict=True) for _ in parts.get(kind, (kind,))]


def _contact(contact: ContactHistory) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return variables and names of contact; empty axes are left out, as netCDF has none of length 0."""
    forces = contact.pair_wrench_array.reshape(len(contact), len(contact.pairs), 2, len(PARTS))
    axes = {"long_name": "mean force [N] and moment [N m] in the step, along the world's axes"}
    variables: dict[str, Any] = {"contact_solver_info": (("time", "solver_info"), contact.solver_info)}
    names: dict[str, Sequence[str]] = {"solver_info": SOLVER_INFO_NAMES}
    if contact.bodies:
        variables["contact_wrench"] = ("time", "body", "part"), contact.wrench_array, axes
        names |= {"body": contact.bodies, "part": PARTS}
    if contact.pairs:
        variables["contact_pair_wrench"] = ("time", "pair", "side", "part"), forces, axes
        pairs = [f"{one}, {other}" for one, other in contact.pairs]
        names |= {"pair": pairs, "side": ("on_first", "on_second"), "part": PARTS}
    if contact.points is not None and contact.first_point is not None:
        variables |= _points(contact.points, contact.first_point)
    return variables, {axis: (axis, _texts(texts)) for axis, texts in names.items()}


def _points(points: np.ndarray, first: np.ndarray) -> dict[str, Any]:
    """Return the variables of contact points: a contiguous ragged array of the CF conventions, one block a state."""
    counts = np.diff(first)
    variables: dict[str, Any] = {POINTS: ("time", counts, {"sample_dimension": "contact_point"})}
    for label in (points.dtype.names or ()) if len(points) else ():  # netCDF has no axes of length 0
        field = points[label]
        axes = ("contact_point", "axis")[: field.ndim]
        variables[f"contact_point_{label}"] = axes, _texts(field.tolist()) if field.dtype.kind == "U" else field
    return variables


def trajectory_of(dataset: Any) -> Trajectory:
    """Return the trajectory in a Dataset of `Trajectory.to_xarray`, whatever file format it was stored in.

    Raises ArgumentError if it was made by another program, or lacks a variable.
    """
    try:
        description = read_description(dataset.attrs["treesim"])
        arrays: dict[str, Any] = {label: np.asarray(dataset[label].values) for label in NUMBERS}
        arrays["t"] = np.asarray(dataset["time"].values)
        if OLD_SOLVER_INFO in dataset:
            dataset = dataset.rename({OLD_SOLVER_INFO: "contact_solver_info"})
        if "contact_solver_info" in dataset:
            arrays["contact"] = _contact_of(dataset, description)
        found = {sensor: _readings_in(dataset, sensor, k) for k, sensor in enumerate(description.sensors)}
        arrays["sensors"] = recorded(description.sensors, found)
        return restored(description, arrays)
    except (LookupError, ValueError, TypeError, AttributeError) as error:
        raise ArgumentError(f"the dataset is not one of Trajectory.to_xarray: {reason_of(error)}") from error


def _readings_in(dataset: Any, sensor: str, k: int) -> np.ndarray:
    """Return the readings of sensor k, whatever its variable is called."""
    own = f"sensor.{sensor}"
    return np.asarray(dataset[own if own in dataset else f"sensor_{k}"].values)


def _contact_of(dataset: Any, description: Description) -> ContactHistory:
    solver_info, pairs = dataset["contact_solver_info"].values, description.pairs
    wrench = dataset["contact_wrench"].values if description.touching else np.zeros((len(solver_info), 0, 6))
    forces = (
        dataset["contact_pair_wrench"].values.reshape(len(solver_info), len(pairs), 2 * len(PARTS)) if pairs else None
    )
    contact = description.contact(wrench, solver_info, forces)
    if POINTS not in dataset:
        return contact
    first = np.concatenate([[0], np.cumsum(dataset[POINTS].values)])
    names = [x for x in ("body", "other", *LINKS) if f"contact_point_{x}" in dataset]
    found = {label: _text_of(dataset[f"contact_point_{label}"].values) for label in names}
    longest = max((x.dtype.itemsize // 4 for x in found.values()), default=1)
    kinds = [kind for kind in point_type(longest) if kind[0] not in LINKS or kind[0] in found or not first[-1]]
    points = np.zeros(int(first[-1]), kinds)
    for label in (points.dtype.names or ()) if len(points) else ():
        points[label] = found[label] if label in found else dataset[f"contact_point_{label}"].values
    return replace(contact, points=points, first_point=first)


def _text_of(names: np.ndarray) -> np.ndarray:
    """Return names, which netCDF holds as arrays of bytes, as text."""
    if names.ndim == 2:
        names = np.char.decode(np.ascontiguousarray(names).view(f"S{names.shape[1]}")[:, 0], "utf-8")
    return np.array(names.tolist(), dtype="U")  # of objects, or of the strings of NumPy 2, which Zarr returns


def dataset_of_rollouts(rollouts: Rollouts) -> Any:
    """Return the Dataset documented at `Rollouts.to_xarray`."""
    axes = {"q": "coordinate", "v": "dof", "work": "account"}
    arrays = {label: getattr(rollouts, label) for label in (*axes, *OF_ROLLOUT)}
    variables: dict[str, Any] = {
        label: (("rollout", "time", axes[label]) if label in axes else ("rollout",), array, OF_ROLLOUT.get(label))
        for label, array in arrays.items()
        if array is not None
    }
    names: dict[str, Any] = {"time": ("time", rollouts.t, {"units": "s"}), "rollout": np.arange(len(rollouts.q))}
    for k, (sensor, columns) in enumerate(rollouts.sensors.columns.items()):
        variable, axis = _sensor_variable(sensor, k)
        variables[variable] = ("rollout", "time", axis), rollouts.sensors[sensor]
        names[axis] = (axis, _texts(columns))
    for name, x in rollouts.measures.items():  # (rollout) or (rollout, bins)
        label = name if name not in variables else f"measure {name}"
        variables[label] = ("rollout", f"{name} bin")[: x.ndim], x, None
    attributes = {"stopped": rollouts.stopped or ""}
    if rollouts.work is not None:
        names["account"] = ("account", _texts(ACCOUNTS))
    if rollouts.robot is not None:
        moving = [body.joint for body in rollouts.robot.bodies if body.joint.mimic is None]
        names |= _joint_axes(tuple(joint.name for joint in moving), tuple(joint.type for joint in moving))
        attributes["robot_name"] = rollouts.robot.name
    return required("xarray", "datasets").Dataset(variables, names, attributes)


def write(trajectory: Trajectory, stream: IO[bytes]) -> None:
    """Write netCDF 3 with 64-bit offsets by SciPy, which every reader of netCDF supports.

    Raises ArgumentError for variables that netCDF cannot represent.
    """
    dataset = dataset_of(trajectory)
    for k, sensor in enumerate(trajectory.sensors):
        if not sensor.isascii():  # SciPy writes names of variables in Latin-1
            names = zip(_sensor_variable(sensor, k), _sensor_variable(sensor, k, plain=False), strict=True)
            dataset = dataset.rename({one: other for one, other in names if one != other})
    if 0 in dataset.sizes.values():
        raise ArgumentError("netCDF holds no trajectory without states, or of a robot without joints: take .npz")
    for label, variable in dataset.variables.items():
        if variable.nbytes >= LARGEST:
            raise ArgumentError(
                f"netCDF holds less than 2 GiB of {label}, not {variable.nbytes:,} bytes: take .parquet"
            )
    stream.write(dataset.to_netcdf(engine="scipy", format="NETCDF3_64BIT"))


def read(path: Path) -> Trajectory:
    """Return the trajectory of a netCDF file that `write` wrote."""
    opened = required("xarray", "netCDF files").open_dataset
    with open_input(path, LARGEST_RECORDING) as stream, opened(stream, engine="scipy", decode_cf=False) as dataset:
        return trajectory_of(dataset.load())
