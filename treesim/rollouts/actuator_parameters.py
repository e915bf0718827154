"""Parameters of actuators that differ between rollouts, as numbers of the tables of steps and commands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields as fields_of
from types import SimpleNamespace
from typing import Any, NoReturn

import numpy as np

from ..actuators.base import Actuator, Line
from ..errors import ArgumentError, UnsupportedError, quoted
from ..kernels.algebra.limits import UNLIMITED
from ..kernels.stepping.command import NUMBERS
from ..kernels.stepping.command import Numbers as Rates
from ..simulation.actuator_memory import ActuatorMemory, filter_shares
from ..simulation.world import World
from ..states.physics import JOINTS, Field, Given, Numbers, joined_numbers

OWN = "actuator_"  # begins the names of fields
STRENGTH = f"{OWN}strength"
OF_ACTUATORS = {
    STRENGTH: Field(JOINTS, (), "", least=0.0),
    **{
        OWN + name: Field(JOINTS, (), unit, least=0.0)
        for name, unit in {
            "delay": "s", "lag": "s", "rate_limit": "1/s", "velocity_limit": "rad/s", "gear": "",
            "rotor_inertia": "kg m^2", "resistance": "ohm", "torque_constant": "N m/A", "back_emf": "V s/rad",
            "voltage_limit": "V", "current_limit": "A",
        }.items()
    },
}  # fmt: skip
OF_COMMANDS = ("delay", "lag", "rate_limit")
COLUMNS = ("kp", "kd", "gain", "stall", "slope", "effort_limit")  # of settings, that the others change


def checked_actuators(world: World, given: dict[str, Given]) -> dict[str, Given]:
    """Return fields, those of actuators for joints whose actuators have the parameter; all others must be 0.

    Raises ArgumentError or UnsupportedError, naming the joint.
    """
    found = dict(given)
    for field in (name for name in given if name in OF_ACTUATORS):
        which, values = given[field]
        kept = np.array([_has(world, field, int(k)) for k in which], bool)
        for i in np.flatnonzero(~kept & (values != 0).reshape(-1, which.size).any(axis=0)):
            _refuse(world, field, int(which[i]), "has no actuator with this parameter: its value must be 0")
        if not kept.any():
            _refuse(world, field, int(which[0]), "has no actuator with this parameter")
        found[field] = Given(which[kept], values[..., kept])
        for k, own in zip(which[kept], np.moveaxis(values[..., kept], -1, 0), strict=True):
            _check_values(world, field, int(k), own)
    if f"{OWN}rotor_inertia" in given and "armature" in given:
        raise ArgumentError("model_parameters: armature contains rotors: leave out actuator_rotor_inertia")
    return found


def _actuator(world: World, k: int) -> Actuator | None:
    table = world.actuator_table
    return None if table is None else table.by_joint.get(world.robot.dof_joint(k))


def _has(world: World, field: str, k: int) -> bool:
    """Return whether the actuator of a degree of freedom has a parameter."""
    actuator = _actuator(world, k)
    return actuator is not None and (field == STRENGTH or bool(getattr(actuator, field.removeprefix(OWN), None)))


def _check_values(world: World, field: str, k: int, values: np.ndarray) -> None:
    """Raise ArgumentError or UnsupportedError for values (...) of a degree of freedom that steps cannot have."""
    actuator, name = _actuator(world, k), field.removeprefix(OWN)
    assert actuator is not None
    late = actuator._late
    if name not in OF_COMMANDS and (actuator._time_constant or actuator._period):
        why = "inductance" if actuator._time_constant else "a period"
        raise UnsupportedError(f"{_label(world, field, k)} has {why}: it has the same parameters in all rollouts")
    if name == "delay" and late.most > late.least:
        _refuse(world, field, k, "draws its delay: give the actuator one delay=, the largest of all")
    if name == "delay" and (values > late.most).any():
        _refuse(world, field, k, f"has a delay= of {late.most:g} s, the largest possible, got {values.max():g} s")
    if name not in ("delay", "lag", "strength", "rotor_inertia") and not (values > 0).all():
        _refuse(world, field, k, f"needs values above 0, got {values.min():g}")


def _label(world: World, field: str, k: int) -> str:
    return f"model_parameters[{quoted(field)}]: joint {quoted(world.robot.dof_joint(k))}"


def _refuse(world: World, field: str, k: int, why: str) -> NoReturn:
    raise ArgumentError(f"{_label(world, field, k)} {why}")


def of_joints(world: World, given: dict[str, Given]) -> dict[str, Given]:
    """Return fields with the columns of settings and the armature that fields of actuators change."""
    changed = [name for name in given if name in OF_ACTUATORS and name.removeprefix(OWN) not in OF_COMMANDS]
    table = world.actuator_table
    if not changed or table is None:
        return given
    robot, columns = world.robot, {name: dict[int, Any]() for name in (*COLUMNS, "armature")}
    for k in sorted({int(k) for name in changed for k in given[name].which}):
        actuator, own = table.by_joint[robot.dof_joint(k)], _values(given, k)
        parts = (world.alone, *world.bodies)
        joint = next(tree.joint(name) for tree in parts for name in tree.joint_names if name == robot.dof_joint(k))
        for name, value in zip(columns, _law_and_limits(actuator, own, joint), strict=True):
            columns[name][k] = value
    found = dict(given)
    for name, values in columns.items():
        which = np.array([*values], int)
        new = Given(which, np.stack(np.broadcast_arrays(*values.values()), axis=-1))
        found[name] = new if name not in given else _joined(given[name], new, robot.nv)
    return found


def _values(given: Mapping[str, Given], k: int) -> dict[str, np.ndarray]:
    """Return the values (...) of each field that is given for a degree of freedom."""
    found = {}
    for name, (which, values) in given.items():
        at = np.flatnonzero(which == k)
        if at.size and (name in OF_ACTUATORS or name in COLUMNS):
            found[name.removeprefix(OWN)] = values[..., at[0]]
    return found


def _law_and_limits(actuator: Actuator, given: Mapping[str, np.ndarray], joint: Any) -> list[Any]:
    """Return kp, kd, gain, stall, slope, effort limit and armature of an actuator with other parameters.

    The formulas are those of the actuator's class, on arrays.
    """
    own = {field.name: getattr(actuator, field.name) for field in fields_of(actuator)}
    strength = given.get("strength", 1.0)
    values = SimpleNamespace(**own | {name: x for name, x in given.items() if name in own})
    kind: Any = type(actuator)
    law = values._law = kind._law.fget(values)
    effort = np.minimum(kind._effort(values, float(np.ravel(joint.effort_limit)[0])), UNLIMITED)
    _, stall, slope = next(iter(kind._lines(values, effort)), Line())
    armature = float(np.ravel(joint.armature)[0]) + kind._armature.fget(values)
    return [strength * law.kp, strength * law.kd, strength * law.gain, stall, slope, effort, armature]


def _joined(given: Given, new: Given, nv: int) -> Given:
    """Return a field with the values of another one where both give them."""
    which = np.union1d(given.which, new.which)
    empty = np.zeros(nv)
    whole = np.broadcast_arrays(given.over(empty), new.over(empty))
    taken = np.isin(which, new.which)
    return Given(which, np.where(taken, whole[1][..., which], whole[0][..., which]))


def rates_numbers(memory: ActuatorMemory | None, given: Mapping[str, Given]) -> Numbers:
    """Return entries for the delay, lag and rate limit of each rollout, in the table `rates` of commands."""
    if memory is None:
        return joined_numbers([])
    h, parts = memory.dt / memory.substeps, []
    for row, dof in enumerate(memory.dofs):
        own, new = _values(given, dof), dict[str, Any]()
        if "delay" in own:
            new["delay"] = own["delay"] / memory.dt
        if "rate_limit" in own:
            new["change"] = own["rate_limit"] * h
        if "lag" in own:
            new["decay"], new["mean"] = filter_shares(own["lag"], h)
        for name, values in new.items():
            place = row * NUMBERS + Rates._fields.index(name)
            parts.append(Numbers(np.array([place]), np.asarray(values, float)[..., None]))
    return joined_numbers(parts)


def nominal_actuators(world: World) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return the values (nv,) of each field that actuators of a world have, and which degrees of freedom have it."""
    found = {}
    for field in OF_ACTUATORS:
        which = np.array([k for k in range(world.robot.nv) if _has(world, field, k)], int)
        if which.size:
            values, name = np.zeros(world.robot.nv), field.removeprefix(OWN)
            for k in which:
                given = 1.0 if field == STRENGTH else getattr(_actuator(world, int(k)), name)
                values[k] = given[1] if isinstance(given, tuple) else given
            found[field] = values, which
    return found
