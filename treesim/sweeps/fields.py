"""Fields that a sweep can vary: model parameters, starts, gains and policy parameters, with nominal values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..contact.surface import Surface
from ..errors import ArgumentError, quoted, unknown_name
from ..model.coordinates import configuration_names, velocity_names
from ..rollouts.actuator_parameters import nominal_actuators
from ..simulation.step_settings import simple_joints
from ..simulation.world import World
from .distributions import Around, Distribution, Scale, as_distribution, values_of
from .samples import uniforms

STARTS = ("q0", "v0", "p")  # separate arguments of `rollout`, no model parameters
EACH = "*"
AXES = ("x", "y", "z")
TARGET = re.compile(r"(\w+)(?:\[(.+)\])?", re.DOTALL)


class Field(NamedTuple):
    """Field that can be varied.

    nominal: its value in one rollout. kind: what the entries of its first axis belong to. places: index of each
    by name. meant: entries that are set if `vary` names none; None for all. kinematic: entries of kinematic bodies,
    which keep their own values.
    """

    nominal: np.ndarray
    kind: str
    places: Mapping[str, int | slice]
    meant: np.ndarray | None = None
    kinematic: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Variation:
    """Entry of `vary`.

    place: index in the field; None for the whole field, EACH for one draw for each entry of its first axis.
    shape: of a draw for one sample. scales: whether a draw multiplies the nominal value. meant: entries of a
    whole field that are set, None for all.
    """

    name: str
    field: str
    place: int | slice | str | None
    distribution: Distribution
    shape: tuple[int, ...]
    scales: bool = False
    center: tuple[float, ...] | None = None  # of `around`
    meant: tuple[int, ...] | None = None

    def drawn(self, seed: int, samples: np.ndarray) -> np.ndarray:
        """Return the draws (B, *shape) of samples (B,)."""
        each = self.shape[0] if self.place == EACH else 1
        u = uniforms(seed, samples, self.name, each * self.distribution.needs)
        rows = u.reshape(-1, self.distribution.needs)
        values = np.asarray(values_of(self.distribution, rows), float)
        return values.reshape(len(samples), *self.shape)

    def put(self, values: np.ndarray, into: np.ndarray) -> None:
        """Write draws (B, *shape) into their place in a field's values (B, ...). Overwrites `into`."""
        part = into[:, self.place] if isinstance(self.place, int | slice) else into
        spread = values.reshape(*values.shape, *[1] * (part.ndim - values.ndim))
        new = part * spread if self.scales else np.broadcast_to(spread, part.shape)
        if self.meant is not None:
            part[:, self.meant] = new[:, self.meant]
        else:
            part[...] = new


def fields(world: World, starts: Mapping[str, np.ndarray], gains: Mapping[str, np.ndarray]) -> dict[str, Field]:
    """Return all fields of a world that can be varied, by name.

    starts: q0 (nq,), v0 (nv,), p (k,). gains: kp, kd (nv,).
    """
    robot = world.robot
    moving = [body.joint for body in robot.bodies if body.joint.mimic is None]
    names = [joint.name for joint in moving], [joint.type for joint in moving]
    links = _indices(robot.body_names)
    q: dict[str, int | slice] = {**_indices(configuration_names(*names)), **robot.q_index}
    v: dict[str, int | slice] = {**_indices(velocity_names(*names)), **robot.v_index}
    inertias = [body.inertia for body in robot.bodies]
    held = np.flatnonzero([joint.type != "floating" for joint in moving for _ in range(joint.nv)])
    moved = world.kinematic_bodies.bodies
    given = frozenset(body.number - 1 for body in moved)
    free = np.array([k for k in range(len(inertias)) if k not in given]) if given else None
    steered = frozenset(k for body in moved for k in range(robot.nv)[body.v])
    found = {
        "mass": Field(np.array([one.mass for one in inertias]), "link", links, free, given),
        "center_of_mass": Field(np.array([one.com for one in inertias]).reshape(-1, 3), "link", links, free, given),
        "inertia": Field(np.array([one.rotational for one in inertias]).reshape(-1, 3, 3), "link", links, free, given),
        "effort_limit": Field(robot.effort_limit, "joint", v, held),
        "gravity": Field(robot.gravity, "axis", _indices(AXES)),
        "q0": Field(starts["q0"], "coordinate", q),
        "v0": Field(starts["v0"], "joint", v),
        "p": Field(starts["p"], "parameter", _indices(map(str, range(len(starts["p"]))))),
    }
    of_joints = ("damping", "joint_friction", "armature")
    found |= {name: Field(getattr(robot, name), "joint", v, held, steered) for name in of_joints}
    of_simple = {**gains, "stiffness": robot.stiffness, "rest": robot.rest}
    simple = np.flatnonzero(simple_joints(robot))
    found |= {name: Field(value, "joint", v, simple) for name, value in of_simple.items()}
    found |= {name: Field(nominal, "joint", v, meant) for name, (nominal, meant) in nominal_actuators(world).items()}
    if world.ground:
        found["ground_friction"] = Field(np.array(_ground_friction(world.ground)), "", {})
    return found


def _ground_friction(surfaces: Sequence[Surface]) -> float:
    """Return the friction coefficient of a world's ground; NaN if its surfaces have different ones."""
    coefficients = {surface.friction for surface in surfaces}
    return coefficients.pop() if len(coefficients) == 1 else float("nan")


def _indices(names: Iterable[str]) -> dict[str, int | slice]:
    return {name: k for k, name in enumerate(names)}


def variation(name: str, given: Any, known: Mapping[str, Field]) -> Variation:
    """Return an entry of `vary`.

    Raises UnknownNameError with similar names for an unknown name, ArgumentError for a distribution that does
    not fit it.
    """
    match = TARGET.fullmatch(name) if isinstance(name, str) else None
    if match is None or match[1] not in known:
        if match is not None and match[1] == "ground_friction":
            raise ArgumentError("vary['ground_friction']: the world has no ground: give it one, World(ground=...)")
        raise unknown_name("name in vary:", name if match is None else match[1], sorted(known), limit=20)
    field = known[match[1]]
    place = _place(name, match[2], field)
    part = field.nominal if place is None else field.nominal[0 if place == EACH else place]
    meant = None if isinstance(place, int | slice) else field.meant
    if isinstance(given, Around):
        return _around(name, given, place, known)
    scales = isinstance(given, Scale)
    distribution = as_distribution(name, given.factor if scales else given)
    if distribution.shape not in ((), np.shape(part)):
        wanted = " or ".join(sorted({"()", str(np.shape(part))}))
        raise ArgumentError(
            f"vary[{quoted(name)}]: {distribution} has shape {distribution.shape}, but {wanted} is needed"
        )
    if scales and not np.isfinite(part if meant is None else field.nominal[meant]).all():
        raise ArgumentError(
            f"vary[{quoted(name)}]: there is no one nominal value to scale: give values without scale()"
        )
    each = (len(field.nominal),) if place == EACH else ()
    shape = (*each, *distribution.shape)
    entries = None if meant is None else tuple(meant.tolist())
    return Variation(name, match[1], place, distribution, shape, scales, meant=entries)


def _place(name: str, inside: str | None, field: Field) -> int | slice | str | None:
    """Return the index selected by the brackets of a name in `vary`, see `Variation`."""
    if inside is None:
        return None
    if not field.nominal.ndim:
        raise ArgumentError(f"vary[{quoted(name)}]: there is one number of it: leave out [{inside}]")
    if inside == EACH:
        return EACH
    if inside not in field.places and inside[1:-1] in field.places and inside[0] == inside[-1] == '"':
        inside = inside[1:-1]
    if inside not in field.places:
        raise unknown_name(f"{field.kind} in vary[{quoted(name)}]:", inside, field.places)
    place = field.places[inside]
    if field.kinematic & {*np.atleast_1d(np.arange(len(field.nominal))[place]).tolist()}:
        raise ArgumentError(
            f"vary[{quoted(name)}]: {quoted(inside)} belongs to a kinematic body, which keeps its own values, whatever "
            "its motion: leave it out"
        )
    return place


def _around(name: str, given: Around, place: Any, known: Mapping[str, Field]) -> Variation:
    if name != "q0" or place is not None:
        raise ArgumentError(f"vary[{quoted(name)}]: around() gives configurations: it is for q0 alone")
    q, nv = known["q0"].nominal, len(known["v0"].nominal)
    center = q if given.q is None else np.asarray(given.q)
    if center.shape != q.shape:
        raise ArgumentError(f"vary['q0']: q of around has shape {center.shape}, but {q.shape} is needed")
    return Variation(name, "q0", None, given.displacement(nv), (nv,), center=tuple(center.tolist()))
