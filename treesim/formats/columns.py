"""Trajectory as a table with one row per state and one column per number, for all tabular formats."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..contact.history import ContactHistory
from ..errors import ConversionWarning, quoted
from ..model.coordinates import distinct
from ..simulation.readings import Readings, recorded, unit_of
from ..simulation.trajectory import Trajectory
from ..system.user_warnings import warn
from .description import Description
from .units import configuration_units, force_units, velocity_units

WORK = ("work.controls", "work.damping_and_friction")  # older files have none
CONTACT_UNITS = {
    **dict.fromkeys(("fx", "fy", "fz"), "N"),
    **dict.fromkeys(("mx", "my", "mz"), "N m"),
    "contact:penetration": "m",
    "contact:residual": "m/s",
    "contact:certificate": "J",
}


def without_points(trajectory: Trajectory) -> Trajectory:
    """Return the trajectory without contact points, which a table with one row per state has no place for.

    Issues a ConversionWarning if it has any.
    """
    contact = trajectory.contact
    if contact is None or contact.points is None:
        return trajectory
    if len(contact.points):
        warn(
            f"tables and CSV and Parquet files hold no contact points: {len(contact.points)} points are left out; "
            "take .npz, .nc or .mcap to keep them",
            ConversionWarning,
        )
    return replace(trajectory, contact=replace(contact, points=None, first_point=None))


def table_of(trajectory: Trajectory) -> tuple[list[str], np.ndarray]:
    """Return the names of all columns, and the table (K, number of columns).

    Columns: t, q.NAME, v.NAME, tau.NAME, energy, work, and contact. Mimic joints follow the other joints' q and
    v. Equal names are numbered in their order, as "q.p.x" and "q.p.x (2)" of a planar joint p and a joint p.x.
    """
    led = [trajectory[name] for name in trajectory.mimic_joints]
    names = ["t", *(f"q.{n}" for n in (*trajectory.q_names, *trajectory.mimic_joints))]
    names += [f"v.{n}" for n in (*trajectory.v_names, *trajectory.mimic_joints)]
    names += [*(f"tau.{n}" for n in trajectory.v_names), "energy", *WORK]
    columns = [] if trajectory.contact is None else list(trajectory.contact.columns())
    for sensor, readings in trajectory.sensors.items():
        columns += zip(sensor_columns(sensor, trajectory.sensors.columns[sensor]), readings.T, strict=True)
    last = np.stack([x for _, x in columns], axis=1) if columns else np.empty((len(trajectory), 0))
    q, v = ((getattr(trajectory, label), *(getattr(joint, label) for joint in led)) for label in ("q", "v"))
    table = np.column_stack((trajectory.t, *q, *v, trajectory.tau, trajectory.energy, trajectory.work, last))
    return distinct([*names, *(name for name, _ in columns)]), table


def units_of(trajectory: Trajectory) -> list[str]:
    """Return the unit of each column of the table."""
    types = trajectory.joint_types
    of = dict(zip(trajectory.joint_names, types, strict=True))
    led = [of[mimicked] for mimicked, *_ in trajectory.mimic_joints.values()]
    moved = ["s", *configuration_units((*types, *led)), *velocity_units((*types, *led)), *force_units(types)]
    return [*moved, "J", "J", "J", *_contact_units(trajectory.contact), *sensor_units(trajectory.sensors)]


def sensor_columns(sensor: str, columns: Sequence[str]) -> list[str]:
    """Return the names of a sensor's columns in a table."""
    return [f"sensor.{sensor}.{column}" for column in columns]


def sensor_units(readings: Readings) -> list[str]:
    """Return the units of all columns of readings."""
    return [unit_of(part) for columns in readings.columns.values() for part in columns]


def _contact_units(contact: ContactHistory | None) -> Iterator[str]:
    for name, _ in () if contact is None else contact.columns():
        yield CONTACT_UNITS.get(name, CONTACT_UNITS.get(name.rpartition(".")[2], "1"))


def arrays_of(description: Description, names: Sequence[str], table: np.ndarray) -> dict[str, Any]:
    """Return the arrays of a trajectory from its table (K, number of columns) and its description.

    Raises ValueError for missing columns.
    """
    missing = [name for name in ("t", "energy") if name not in names]
    if missing:
        raise ValueError(f"it has no column {quoted(missing[0])}")

    def block(label: str) -> np.ndarray:
        own = [i for i, name in enumerate(names) if name.startswith(label + ".")]
        led = len(description.mimic_joints) if label in ("q", "v") else 0
        return table[:, own[: len(own) - led]]

    # equal names of columns of several sensors are numbered
    read = iter(distinct([name for one in description.sensors.items() for name in sensor_columns(*one)]))
    places = {sensor: [names.index(next(read)) for _ in columns] for sensor, columns in description.sensors.items()}
    sensors = {sensor: table[:, place] for sensor, place in places.items()}
    return {
        "t": table[:, names.index("t")],
        **{label: block(label) for label in ("q", "v", "tau")},
        "energy": table[:, names.index("energy")],
        "work": block("work") if WORK[0] in names else None,
        "contact": ContactHistory.from_columns(
            names, table, description.touching, description.surfaces, description.pairs
        ),
        "sensors": recorded(description.sensors, sensors),
    }
