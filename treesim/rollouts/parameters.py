"""Batched model parameters of rollouts, as entries of the tables that compiled steps read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..dynamics.base import check_supported, chosen_backend
from ..dynamics.mass_matrix import mass_matrix
from ..dynamics.physics import Parameters
from ..engine.call.batched import BatchedTables
from ..errors import ArgumentError, UnsupportedError, quoted
from ..kernels.algebra.limits import UNLIMITED
from ..kernels.contact.layout import PAIR, SURFACE, bounds_at, surface_at
from ..kernels.stepping.rules import CONTACT_RULES
from ..kernels.stepping.step import Settings
from ..model.parts import changed_joints
from ..model.tree import Tree
from ..simulation.step_settings import (
    compliance,
    gains_of,
    has_limited_gains,
    implicitness,
    lightest,
    simple_joints,
    step_stiffness,
    tried_configurations,
)
from ..simulation.world import World
from ..states.physics import (
    INERTIAL,
    JOINTS,
    LINKS,
    OF_ROBOT,
    WORLD,
    Field,
    Given,
    Numbers,
    given_physics,
    joined_numbers,
    refuse_first,
    robot_numbers,
)
from .actuator_parameters import OF_ACTUATORS, checked_actuators, of_joints, rates_numbers
from .arguments import Method
from .energy import BatchedRobots

OF_STEP = {
    "damping": Field(JOINTS, (), "N m s/rad"),
    "effort_limit": Field(JOINTS, (), "N m", infinite=True, least=0.0),
    "kp": Field(JOINTS, (), "N m/rad", least=0.0),
    "kd": Field(JOINTS, (), "N m s/rad", least=0.0),
    "stiffness": Field(JOINTS, (), "N m/rad", least=0.0),
    "rest": Field(JOINTS, (), "rad"),
}
OF_CONTACT = {
    "joint_friction": Field(JOINTS, (), "N m", least=0.0),
    "lower": Field(JOINTS, (), "rad", infinite=True),
    "upper": Field(JOINTS, (), "rad", infinite=True),
    "ground_friction": Field(WORLD, (), "", least=0.0),
}
OF_SPRINGS = ("stiffness", "rest")
FIELDS = {**OF_ROBOT, **OF_STEP, **OF_CONTACT, **OF_ACTUATORS}
OF_LAWS = ("gain", "stall", "slope")  # further columns of settings, which fields of actuators change
FAR = 1e7  # rad, m: limit of a robot without one, where some rollouts have one
STATES = 1024  # rollouts whose mass matrices are in memory at a time


class Physics(NamedTuple):
    """Batched model parameters.

    tables: entries by table: of the robot, of a step's settings, and of contact. fields: the fields that they
    come from. used: the tables and numbers of the batched entries that `within` returned.
    """

    tables: dict[str, Numbers]
    fields: dict[str, Given]
    used: list[tuple[tuple[str, ...], np.ndarray]]

    @property
    def counts(self) -> set[int]:
        """Numbers of rollouts for which the parameters are given, without 1."""
        sizes = {x.values.shape[0] for x in self.tables.values() if x.values.ndim > 1}
        return sizes - {1}

    def within(self, entry: Any, *names: str, count: int, number: Any = float) -> BatchedTables | None:
        """Return the entries of the named tables for `count` rollouts, as varied constants of an entry; or None."""
        constants = ["ints", "reals", *entry.signature.tables]
        used = [name for name in names if self.tables[name].places.size]
        if not used:
            return None
        numbers = np.concatenate(
            [np.broadcast_to(self.tables[name].values, (count, self.tables[name].places.size)) for name in used], axis=1
        )
        places = tuple(self.tables[name].places for name in used)
        numbers = np.ascontiguousarray(numbers, number)  # concatenate keeps a transposed layout
        self.used.append((tuple(used), numbers))
        return BatchedTables(tuple(constants.index(name) for name in used), places, numbers)

    def of_each(self, count: int) -> Physics:
        """Return the same parameters with arrays of `count` rollouts, which `put` overwrites."""

        def each(values: np.ndarray, axes: int = 1) -> np.ndarray:
            return np.broadcast_to(values, (count, *values.shape[-axes:])).copy()

        tables = {name: Numbers(places, each(values)) for name, (places, values) in self.tables.items()}
        fields = {
            name: Given(which, each(values, 1 + len(FIELDS[name].shape)))
            for name, (which, values) in self.fields.items()
        }
        return Physics(tables, fields, [])

    def put(self, rows: Any, given: Sequence[np.ndarray]) -> None:
        """Overwrite the arrays of some rollouts, also those that steps use, after `of_each`."""
        for own, new in zip(self.arrays, given, strict=True):
            own[rows] = new
        for names, used in self.used:
            used[rows] = np.concatenate([self.tables[name].values[rows] for name in names], axis=1)

    @property
    def arrays(self) -> list[np.ndarray]:
        """Arrays of the numbers of tables, and of the values of fields."""
        return [x.values for x in self.tables.values()] + [x.values for x in self.fields.values()]

    def in_free_motion(self) -> Physics:
        """Return those of steps without contact."""
        fields = {name: given for name, given in self.fields.items() if name not in OF_CONTACT}
        return Physics({**self.tables, "geometry": joined_numbers([])}, fields, [])

    def of_robots(self, robot: Tree, count: int) -> BatchedRobots | None:
        """Return the model parameters of the first `count` rollouts' robots; None if all are the same robot."""
        numbers = self.tables["reals"]
        springs = self._springs(robot, count)
        if not numbers.places.size and springs is None:
            return None
        mass = self.fields["mass"].over(_masses(robot)).sum(axis=-1) if "mass" in self.fields else robot.mass
        gravity = self.fields["gravity"].values[..., 0, :] if "gravity" in self.fields else robot.gravity
        return BatchedRobots(
            Numbers(numbers.places, np.broadcast_to(numbers.values, (count, numbers.places.size))),
            np.broadcast_to(mass, (count,)), np.broadcast_to(np.linalg.norm(gravity, axis=-1), (count,)), springs,
        )  # fmt: skip

    def _springs(self, robot: Tree, count: int) -> np.ndarray | None:
        """Return stiffness and rest position (count, 2, nv) of joint springs; None if no field gives them."""
        if self.fields.keys().isdisjoint(OF_SPRINGS):
            return None
        own = {name: getattr(robot, name) for name in OF_SPRINGS}
        given = [self.fields[name].over(x) if name in self.fields else x for name, x in own.items()]
        return np.stack([np.broadcast_to(x, (count, robot.nv)) for x in given], axis=1)

    @property
    def needs_armature(self) -> bool:
        """True if a field adds to the mass matrix's diagonal."""
        return not {"armature", "damping", "kp", "kd", "stiffness"}.isdisjoint(self.fields)


def _masses(robot: Tree) -> np.ndarray:
    return np.array([body.inertia.mass for body in robot.bodies])


def given_fields(world: World, model_parameters: Parameters | None, integrator: str) -> dict[str, Given]:
    """Return the validated fields of `model_parameters` for rollouts in a world.

    Raises what `given_physics` raises. Raises ArgumentError for values that no rollout can have, and for
    limits, friction or ground that the world leaves out. Raises UnsupportedError for these under integrators
    without a contact solve.
    """
    if model_parameters is None:
        return {}
    fields = given_physics(world.robot, model_parameters, FIELDS, "rollouts")
    for name, given in fields.items():
        if given.values.ndim - 1 - len(FIELDS[name].shape) > 1:
            raise ArgumentError(
                f"model_parameters[{quoted(name)}] has more than one batch axis: rollouts have one, (B, ...)"
            )
    touching = [name for name in fields if name in OF_CONTACT]
    if touching and integrator not in CONTACT_RULES:
        known = " or ".join(map(repr, CONTACT_RULES))
        raise UnsupportedError(
            f"integrator {integrator!r} does not simulate {touching[0]} of joints or the ground: take {known}"
        )
    parts = (("joint_friction", world.use_joint_friction), ("lower", world.use_limits), ("upper", world.use_limits))
    for name, there in (*parts, ("ground_friction", bool(world.ground))):
        if name in fields and not there:
            raise ArgumentError(
                f"model_parameters[{quoted(name)}]: {quoted(world)} has none; take a World(robot, ...) with it"
            )
    if "ground_friction" in fields and (world.surfaces or world.pairs):
        raise ArgumentError(
            "model_parameters['ground_friction'] would replace the friction of links: take a World without surfaces "
            "and pairs"
        )
    _check_gains(world, fields)
    fields = checked_actuators(world, fields)
    _check_limits(world.robot, fields)
    return _without_kinematic(world, fields)


def _without_kinematic(world: World, fields: dict[str, Given]) -> dict[str, Given]:
    """Return the fields without the elements of kinematic bodies, whose inertia for steps is infinite.

    Raises ArgumentError if they differ from the bodies' own: the work of the motions is that of the own ones.
    """
    robot, kept = world.robot, dict(fields)
    moving = world.kinematic_bodies.bodies
    places = {
        LINKS: [body.number - 1 for body in moving],
        JOINTS: [k for body in moving for k in range(robot.nv)[body.v]],
    }
    for name, given in fields.items():
        field = FIELDS[name]
        there = np.isin(given.which, places.get(field.of, []))
        if there.any() and (name in INERTIAL or name == "damping"):
            own = _own_numbers(robot, name)[given.which]
            wrong = (given.values != own).any(axis=tuple(range(-len(field.shape), 0))) & there
            right = "a kinematic body keeps its own, whatever its motion: leave it out"
            refuse_first(robot, name, field, given, wrong, right, ArgumentError)
            part: Any = (..., ~there, *(slice(None),) * len(field.shape))
            kept[name] = Given(given.which[~there], given.values[part])
    return {name: given for name, given in kept.items() if given.which.size}


def _own_numbers(robot: Tree, name: str) -> np.ndarray:
    """Return the robot's numbers (N, ...) or (nv,) of an inertial field, or its damping."""
    if FIELDS[name].of == JOINTS:
        return np.asarray(getattr(robot, name))
    part = {"center_of_mass": "com", "inertia": "rotational"}.get(name, name)
    return np.array([getattr(body.inertia, part) for body in robot.bodies])


def _check_gains(world: World, fields: Mapping[str, Given]) -> None:
    robot, actuators = world.robot, world.actuator_table
    simple = simple_joints(robot)
    for name in ("kp", "kd"):
        if name in fields and actuators is not None:
            other = (actuators.driven * actuators.gain)[fields[name].which] > 0
            wrong = other & np.ones(fields[name].values.shape, bool)
            right = "of all actuators, only position servos have gains that differ between rollouts"
            refuse_first(robot, name, FIELDS[name], fields[name], wrong, right, UnsupportedError)
    for name in ("kp", "kd", *OF_SPRINGS):
        if name in fields:
            wrong = (fields[name].values != 0) & (simple[fields[name].which] == 0)
            has = "no spring" if name in OF_SPRINGS else "it takes forces, not targets"
            right = f"its joint has several degrees of freedom: {has}"
            refuse_first(robot, name, FIELDS[name], fields[name], wrong, right, UnsupportedError)


def _check_limits(robot: Tree, fields: Mapping[str, Given]) -> None:
    """Raise ArgumentError for limits of joints of several coordinates, or a lower limit above the upper one."""
    given = {name: fields[name] for name in ("lower", "upper") if name in fields}
    simple = simple_joints(robot)
    for name, field in given.items():
        wrong = np.isfinite(field.values) & (simple[field.which] == 0)
        right = "its joint has several degrees of freedom, and no limits: give -inf and inf"
        refuse_first(robot, name, FIELDS[name], field, wrong, right, ArgumentError)
    lower, upper = (_limits(robot, fields, name) for name in ("lower", "upper"))
    lower, upper = np.broadcast_arrays(lower, upper) if _fit(lower, upper) else (lower, lower)
    for name, field in given.items():
        crossed = (lower > upper)[..., field.which]
        whole = Given(field.which, np.broadcast_to(field.values, crossed.shape))
        refuse_first(robot, name, FIELDS[name], whole, crossed, "no lower limit is above the upper one", ArgumentError)


def _fit(one: np.ndarray, other: np.ndarray) -> bool:
    """Return whether two arrays' batch axes broadcast; mismatches are reported elsewhere."""
    return one.ndim != other.ndim or 1 in (len(one), len(other)) or len(one) == len(other)


def _limits(robot: Tree, fields: Mapping[str, Given], name: str) -> np.ndarray:
    """Return all lower or upper limits (..., nv), infinite for joints of several degrees of freedom."""
    own = np.full(robot.nv, -np.inf if name == "lower" else np.inf)
    for joint, where in robot.v_index.items():
        if where.stop - where.start == 1:
            own[where.start] = getattr(robot, name)[robot.q_index[joint].start]
    return fields[name].over(own) if name in fields else own


def own_limits(robot: Tree, fields: Mapping[str, Given]) -> tuple[np.ndarray, np.ndarray] | None:
    """Return batched lower and upper position limits (..., nv), None if no limits are given."""
    if fields.keys().isdisjoint(("lower", "upper")):
        return None
    return _limits(robot, fields, "lower"), _limits(robot, fields, "upper")


def world_with_rows(world: World, fields: Mapping[str, Given]) -> World:
    """Return a world whose robot has limits and friction wherever a field gives them for some rollout.

    The rows of a step's contact solve then depend on the names of given fields, not on their values.
    """
    if not fields:
        return world
    robot, simple = world.robot, simple_joints(world.robot) > 0
    wanted = []
    for name, there in (
        ("joint_friction", robot.joint_friction > 0), ("lower", np.isfinite(_limits(robot, {}, "lower"))),
        ("upper", np.isfinite(_limits(robot, {}, "upper"))),
    ):  # fmt: skip
        places = fields[name].which if name in fields else np.empty(0, int)
        new = places[~there[places] & (simple[places] | (name == "joint_friction"))]
        wanted.append(tuple(int(k) for k in new))
    return _with_rows(world, *wanted) if any(wanted) else world


@lru_cache(maxsize=16)
def _with_rows(world: World, friction: tuple[int, ...], lower: tuple[int, ...], upper: tuple[int, ...]) -> World:
    robot = world.robot
    changes: dict[str, dict[str, Any]] = {}
    for k in friction:
        joint = robot.dof_joint(k)
        changes.setdefault(joint, {})["joint_friction"] = np.ones(
            robot.v_index[joint].stop - robot.v_index[joint].start
        )
    for name, dofs, far in (("lower", lower, -FAR), ("upper", upper, FAR)):
        for k in dofs:
            changes.setdefault(robot.dof_joint(k), {})[name] = far
    bodies = changed_joints(world.alone.bodies, lambda joint: changes.pop(joint.name, {}))
    if changes:
        raise UnsupportedError(
            f"joint {quoted(next(iter(changes)))} is of a free body: it can have no limits or friction"
        )
    return world.with_robot(Tree(world.alone.name, **world.alone._parts() | {"bodies": bodies}))


def physics_of_rollouts(method: Method, fields: dict[str, Given]) -> Physics | None:
    """Return the table entries of fields, None without fields; the options' gains are those that no field gives.

    method: of the world that `world_with_rows` returns. Raises ArgumentError if batch axes do not fit,
    UnsupportedError if the backend does not support the fields.
    """
    if not fields:
        return None
    world = method.world
    whole = of_joints(world, fields)
    own = robot_numbers(world.kinematic_bodies.stepped, whole)
    settings = _settings_numbers(method, whole, own)
    contact, rates = _contact_numbers(world, fields), rates_numbers(method.memory, fields)
    found = Physics({"reals": own, "settings": settings, "geometry": contact, "rates": rates}, fields, [])
    if len(found.counts) > 1:
        raise ArgumentError(f"model_parameters is for different numbers of rollouts: {sorted(found.counts)}")
    if found.needs_armature or "armature" in whole:
        check_supported(chosen_backend(method.options.backend), world.robot, 1.0)
    return found


def _settings_numbers(method: Method, fields: Mapping[str, Given], own: Numbers) -> Numbers:
    """Return entries for fields of a step, and for theta where it depends on fields (see `StepSettings`)."""
    robot = method.world.robot
    actuators = method.world.actuator_table
    gains = gains_of(robot, method.options.kp, method.options.kd, actuators=actuators)
    full = {
        name: fields[name].over(x) if name in fields else x
        for name, x in (("kp", gains[0]), ("kd", gains[1]), ("damping", robot.damping))
    }
    columns = (name for name in (*OF_STEP, *OF_LAWS) if name in fields)
    parts = [_column(robot, name, fields[name].which, fields[name].values) for name in columns]
    for part in parts:
        np.minimum(part.values, UNLIMITED, out=part.values)
    driven = _which(fields, "kp", "kd")
    if driven.size:
        follows = (full["kp"] != 0) | (full["kd"] != 0) | (actuators is not None and actuators.driven > 0)
        parts.append(_column(robot, "driven", driven, follows[..., driven].astype(float)))
    return joined_numbers([*parts, *_implicit_numbers(method, fields, full, own)])


def _implicit_numbers(
    method: Method, fields: Mapping[str, Given], full: Mapping[str, np.ndarray], own: Numbers
) -> list[Numbers]:
    """Return entries for theta and compliance of joints whose damping, gains, limits or inertia differ."""
    robot, rule, actuators = method.world.robot, method.rule, method.world.actuator_table
    laws = gains = [full["kp"], full["kd"]]
    if actuators is not None:
        slope = fields["slope"].over(actuators.slope) if "slope" in fields else actuators.slope
        kp, kd = gains
        laws, gains = actuators.of_laws(kp, kd), actuators.implicit(kp, kd, slope)
    effort = fields["effort_limit"].over(robot.effort_limit) if "effort_limit" in fields else robot.effort_limit
    limited = has_limited_gains(robot, rule, laws[0], laws[1], effort)
    stiffness = step_stiffness(method.dt / method.substeps, full["damping"], *gains)
    implicit, with_limits = _which(fields, "kp", "kd", "damping"), _which(fields, "kp", "kd", "effort_limit")
    if not rule.theta < 1:
        implicit = np.empty(0, int)
    least = np.zeros(robot.nv)
    if any(name in INERTIAL for name in fields):
        stiff = (robot.damping > 0) | np.logical_or(*((x != 0).reshape(-1, robot.nv).any(axis=0) for x in gains))
        implicit = np.union1d(implicit, np.flatnonzero(stiff)) if rule.theta < 1 else implicit
        with_limits = np.union1d(with_limits, np.flatnonzero(limited.reshape(-1, robot.nv).any(axis=0)))
        rotors = fields["armature"].over(robot.armature) if "armature" in fields else robot.armature
        if implicit.size or limited.any():
            least = _least_of_each(robot, own, rotors, np.where(limited, np.inf, stiffness))
    elif implicit.size or limited.any():
        least = lightest(robot)
    theta = implicitness(stiffness[..., implicit], least[..., implicit], rule)
    found = compliance(least, limited)
    columns = ("theta", implicit, theta), ("compliance", with_limits, found[..., with_limits])
    return [_column(robot, name, which, values) for name, which, values in columns if which.size]


def _least_of_each(robot: Tree, own: Numbers, rotors: np.ndarray, stiffness: np.ndarray) -> np.ndarray:
    """Return the least effective inertias (..., nv) of each rollout's robot, see `lightest`.

    They are at least the armature. Where the stiffness is at most twice the armature, theta is 1/2 for any
    inertia; the armature is then returned without computing a mass matrix.
    """
    batch = np.broadcast_shapes(own.values.shape[:-1], rotors.shape[:-1], stiffness.shape[:-1])
    least = np.broadcast_to(rotors, (*batch, robot.nv)).reshape(-1, robot.nv).copy()
    rows = np.broadcast_to(own.values, (*batch, own.places.size)).reshape(len(least), -1)
    stiff = (np.broadcast_to(stiffness, (*batch, robot.nv)).reshape(least.shape) > 2 * least).any(axis=1)
    wanted = np.flatnonzero(stiff)
    for first in range(0, wanted.size, STATES):
        part = wanted[first : first + STATES]
        physics, found = Numbers(own.places, rows[part]), np.full((part.size, robot.nv), np.inf)
        for q in tried_configurations(robot):
            found = np.minimum(found, _free_inertias(mass_matrix(robot, q, model_parameters=physics)))
        least[part] = np.maximum(found, 0)
    return least.reshape(*batch, robot.nv)


def _free_inertias(M: np.ndarray) -> np.ndarray:
    """Return 1 / (M^-1)_kk (B, nv) of mass matrices (B, nv, nv); 0 for singular ones."""
    try:
        return 1 / np.diagonal(np.linalg.inv(M), axis1=1, axis2=2)
    except np.linalg.LinAlgError:
        if len(M) == 1:
            return np.zeros(M.shape[:2])
    return np.concatenate([_free_inertias(one[None]) for one in M])


def _which(fields: Mapping[str, Given], *names: str) -> np.ndarray:
    """Return the degrees of freedom for which any of the named fields is given."""
    return np.unique(np.concatenate([np.empty(0, int), *(fields[x].which for x in names if x in fields)]))


def _column(robot: Tree, name: str, which: np.ndarray, values: np.ndarray) -> Numbers:
    """Return entries of degrees of freedom in one column of the settings table."""
    kept, column = robot.kept()[1], Settings._fields.index(name) - 1
    return Numbers(1 + column * robot.spanning.nv + kept[which], np.array(values))


def _contact_numbers(world: World, fields: Mapping[str, Given]) -> Numbers:
    """Return entries for limits, joint friction and ground friction in the contact table (`kernels.contact.tables`)."""
    touch, robot = world.touching.touch, world.robot
    bounds = bounds_at(len(touch.pair), len(touch.point))
    kept, parts = robot.kept()[1], []
    for name, side in (("lower", 1), ("upper", -1)):
        if name in fields:
            parts.append(_bounds(fields[name], kept, touch.limit, side, bounds))
    if "joint_friction" in fields:
        which, values = fields["joint_friction"]
        parts.append(Numbers(bounds + len(touch.limit) + np.searchsorted(touch.friction, kept[which]), values))
    if "ground_friction" in fields:
        met = np.flatnonzero((touch.pair[:, [PAIR.body, PAIR.solid_body]] == 0).any(axis=1))
        values = fields["ground_friction"].values
        numbers = np.broadcast_to(values, (*values.shape[:-1], met.size))
        parts.append(Numbers(surface_at(met) + SURFACE.friction, numbers))
    return joined_numbers(parts)


def _bounds(given: Given, kept: np.ndarray, limits: np.ndarray, side: int, first: int) -> Numbers:
    """Return entries for the limits of one side, for joints with a limit; infinite ones become UNLIMITED."""
    places = {int(k): row for row, (k, _, way) in enumerate(limits) if way == side}
    rows = [places.get(int(k), -1) for k in kept[given.which]]
    there = np.array([row >= 0 for row in rows], bool)
    values = np.clip(given.values[..., there], -UNLIMITED, UNLIMITED)
    return Numbers(first + np.array(rows, int)[there], values)
