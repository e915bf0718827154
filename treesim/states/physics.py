"""Validation of batched model parameters, and their conversion to numbers of a robot's table.

A field is an array over all bodies or degrees of freedom, or of the world, with or without leading batch axes. It may
also be a mapping {name: array} of single bodies or joints.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import ArgumentError, NonFiniteError, quoted, unknown_name
from ..kernels.algebra.tables import N_INERTIA, N_PLACEMENT
from ..model.matrices import product
from ..model.named_axes import body_axis, velocity_axis
from ..model.tree import Tree
from ..validation.arrays import Argument, coerce
from ..validation.values import known_name

LINKS, JOINTS, WORLD = "links", "joints", "world"
AXES = {LINKS: body_axis, JOINTS: velocity_axis}
ASYMMETRY = 1e-9  # of the largest entry, see `Inertia`
TRIANGLE = 1e-6  # C - A - B of the principal moments over the largest
Shape = tuple[int, ...]


class Field(NamedTuple):
    """A field of model parameters.

    of: LINKS, JOINTS or WORLD. shape: of one element. unit: for messages. infinite: whether infinity is allowed.
    least: smallest allowed value.
    """

    of: str
    shape: Shape = ()
    unit: str = ""
    infinite: bool = False
    least: float | None = None


INERTIAL = {
    "mass": Field(LINKS, (), "kg", least=0.0),
    "center_of_mass": Field(LINKS, (3,), "m"),
    "inertia": Field(LINKS, (3, 3), "kg m^2"),
    "armature": Field(JOINTS, (), "kg m^2", least=0.0),
}
OF_ROBOT = {**INERTIAL, "gravity": Field(WORLD, (3,), "m/s^2")}


class Given(NamedTuple):
    """A validated field: indices `which` (n,) of bodies or degrees of freedom, and values (..., n, *shape)."""

    which: np.ndarray
    values: np.ndarray

    def over(self, values: np.ndarray) -> np.ndarray:
        """Return values (..., N, *shape) of all elements, taken from `values` (N, *shape) where not given."""
        batch = self.values.shape[: self.values.ndim - values.ndim]
        whole = np.broadcast_to(values, (*batch, *values.shape)).copy()
        place: Any = (..., self.which, *(slice(None),) * (values.ndim - 1))
        whole[place] = self.values
        return whole


class Numbers(NamedTuple):
    """Batched elements of a flat table: their indices `places` (K,), and values (..., K)."""

    places: np.ndarray
    values: np.ndarray


def given_physics(
    robot: Tree, given: Mapping[str, Any], known: Mapping[str, Field], what: str
) -> dict[str, Given]:  # fmt: skip
    """Return the validated fields of model parameters, in the order of `known`.

    what: the function, for messages. Raises UnknownNameError for unknown fields, bodies and joints; ArgumentError for
    wrong shapes and implausible values; NonFiniteError for NaN. Errors name the sample and the link or joint.
    """
    if not isinstance(given, Mapping):
        raise ArgumentError(f"model_parameters must be a mapping of fields to arrays, not {type(given).__name__}")
    for name in given:
        if name not in known:
            raise unknown_name(f"field of model_parameters for {what}", str(name), list(known))
    return {name: _given(robot, name, given[name], field) for name, field in known.items() if name in given}


def _given(robot: Tree, name: str, value: Any, field: Field) -> Given:
    label = f"model_parameters[{quoted(name)}]"
    if isinstance(value, Mapping):
        found = _by_name(robot, label, value, field)
    else:
        count = {LINKS: (robot.n_bodies,), JOINTS: (robot.nv,), WORLD: ()}[field.of]
        axes = (AXES[field.of], *(None,) * len(field.shape)) if field.of in AXES else ()
        values = coerce(Argument(label, value, (*count, *field.shape), axes=axes, robot=robot), batch="B")
        which = np.arange(count[0]) if count else np.zeros(1, int)
        found = Given(which, values if count else np.expand_dims(values, values.ndim - len(field.shape)))
    _check(robot, name, found, field)
    return found


def _by_name(robot: Tree, label: str, value: Mapping[str, Any], field: Field) -> Given:
    """Parse {name: value} for links or joints; values are broadcast together."""
    if field.of == WORLD:
        raise ArgumentError(f"{label} is of the world: give an array, not a mapping of names")
    parts, which = [], []
    for name, x in value.items():
        places = _places(robot, name, field)
        one = (len(places), *field.shape)
        own = f"{label}[{quoted(name)}]"
        axes = (..., None, *(slice(None),) * len(field.shape))
        numbers = coerce(Argument(own, x, one[1:] if len(places) == 1 else one), batch="B")
        parts.append(numbers[axes] if len(places) == 1 else numbers)
        which.append(places)
    if not which:
        raise ArgumentError(f"{label} names no {'link' if field.of == LINKS else 'joint'}")
    axis = 1 + len(field.shape)
    try:
        batch = np.broadcast_shapes(*(x.shape[: x.ndim - axis] for x in parts))
    except ValueError:
        raise ArgumentError(f"{label}: the batch axes of its arrays do not fit together") from None
    wide = [np.broadcast_to(x, (*batch, *x.shape[x.ndim - axis :])) for x in parts]
    return Given(np.concatenate(which), np.concatenate(wide, axis=-axis))


def _places(robot: Tree, name: str, field: Field) -> np.ndarray:
    """Return the index of a link's body, or the indices of a joint's degrees of freedom."""
    if field.of == JOINTS:
        where = robot.v_index[name]
        return np.arange(where.start, where.stop)
    return np.array([robot.body_names.index(known_name("body", name, robot.body_names, of=repr(robot.name)))])


def name_of(robot: Tree, field: Field, place: int) -> str:
    """Return the name of the link or joint with index `place`, as part of a message."""
    if field.of == WORLD:
        return ""
    if field.of == LINKS:
        return f" of link {robot.body_names[place]!r}"
    return f" of joint {robot.dof_name(place)!r}"


def refuse_first(
    robot: Tree, name: str, field: Field, found: Given, wrong: np.ndarray, right: str, error: type[Exception]
) -> None:  # fmt: skip
    """Raise `error`, naming the first sample and link or joint where `wrong` (..., n) is True.

    right: what would be valid. Without a True element nothing is raised.
    """
    if not wrong.any():
        return
    *sample, k = (int(x) for x in np.argwhere(wrong)[0])
    value = found.values[(*sample, k)]
    details = f"sample {', '.join(map(str, sample))}: " if sample else ""
    shown = np.array2string(value, precision=6, separator=", ").replace("\n", "") if value.ndim else f"{value:.6g}"
    place = name_of(robot, field, int(found.which[k]))
    raise error(f"model_parameters: {details}{name}{place} is {shown} {field.unit}".rstrip() + f"; {right}")


def _check(robot: Tree, name: str, found: Given, field: Field) -> None:
    def refuse(wrong: np.ndarray, right: str, error: type[Exception] = ArgumentError) -> None:
        refuse_first(robot, name, field, found, wrong, right, error)

    values, axes = found.values, tuple(range(-len(field.shape), 0))
    bad = np.isnan(values) if field.infinite else ~np.isfinite(values)
    right = "it must be a number" if field.infinite else "it must be finite"
    refuse(bad.any(axis=axes) if axes else bad, right, NonFiniteError)
    if field.least is not None:
        refuse(values < field.least, f"it must be {field.least:g} or more")
    if name == "inertia":
        largest = np.abs(values).max(axis=axes)
        skew = np.abs(values - values.swapaxes(-1, -2)).max(axis=axes)
        refuse(skew > ASYMMETRY * largest, "it must be symmetric")
        refuse(
            _implausible(values), "a body's principal moments are not negative, and none is above the sum of the others"
        )


def _implausible(inertia: np.ndarray) -> np.ndarray:
    """Return where inertias (..., 3, 3) are not those of a rigid body.

    The second moments of mass S = tr(I) / 2 - I must be positive semidefinite (Wensing, Kim and Slotine 2018), that is
    A + B >= C for the principal moments.
    """
    trace = np.trace(inertia, axis1=-2, axis2=-1)
    shift = (0.5 + TRIANGLE) * trace
    xx, yy, zz = (shift - inertia[..., k, k] for k in range(3))
    xy, xz, yz = -inertia[..., 0, 1], -inertia[..., 0, 2], -inertia[..., 1, 2]
    pairs = xx * yy - xy * xy
    whole = xx * (yy * zz - yz * yz) - xy * (xy * zz - yz * xz) + xz * (xy * yz - yy * xz)
    found: np.ndarray = (trace < 0) | (xx < 0) | (pairs < 0) | (whole < 0)
    return found


def joined_numbers(parts: Sequence[Numbers]) -> Numbers:
    """Return elements of one table as one `Numbers`, with batch axes broadcast together.

    Raises ArgumentError if the batch axes do not fit together.
    """
    try:
        batch = np.broadcast_shapes(*(x.values.shape[:-1] for x in parts))
    except ValueError:
        raise ArgumentError("model_parameters: the batch axes of its arrays do not fit together") from None
    wide = [np.broadcast_to(x.values, (*batch, x.values.shape[-1])) for x in parts]
    places = [np.empty(0, np.int64), *(x.places for x in parts)]
    return Numbers(np.concatenate(places).astype(np.int64), np.concatenate([np.empty((*batch, 0)), *wide], axis=-1))


def robot_numbers(robot: Tree, fields: Mapping[str, Given]) -> Numbers:
    """Return the elements that fields of OF_ROBOT set in the real table of a robot or its spanning tree (`pack`)."""
    return joined_numbers([_PUT[name](robot, field) for name, field in fields.items() if name in _PUT])


def field_gradient(robot: Tree, name: str, given: Given, gradient: np.ndarray) -> np.ndarray:
    """Return the gradient (B, n, *shape) in a field's values from that (B, K) in the numbers of `robot_numbers`."""
    count, n = len(gradient), given.which.size
    if name == "center_of_mass":
        return product(robot.body_rotations[given.which + 1], gradient.reshape(count, n, 3, 1))[..., 0]
    if name == "inertia":
        xx, yy, zz, xy, xz, yz = np.moveaxis(gradient.reshape(count, n, 6), -1, 0)
        rows = [xx, xy / 2, xz / 2, xy / 2, yy, yz / 2, xz / 2, yz / 2, zz]
        B = robot.body_rotations[given.which + 1]
        return product(product(B, np.stack(rows, axis=-1).reshape(count, n, 3, 3)), B.swapaxes(-1, -2))
    return gradient[:, None] if name == "gravity" else gradient[:, :n]  # behind armature come zeros of mimic joints


def _row_places(robot: Tree, which: np.ndarray, columns: Sequence[int]) -> np.ndarray:
    """Return the indices in the real table of some columns of the inertias of bodies `which`."""
    rows = (robot.n_bodies + 1) * N_PLACEMENT + N_INERTIA * (which + 1)
    return (rows[:, None] + np.asarray(columns)).ravel()


def _put_mass(robot: Tree, given: Given) -> Numbers:
    return Numbers(_row_places(robot, given.which, [9]), given.values)


def _put_center(robot: Tree, given: Given) -> Numbers:
    """Centres of mass B' c in the bodies' kernel frames."""
    own = product(given.values[..., None, :], robot.body_rotations[given.which + 1])[..., 0, :]
    return Numbers(_row_places(robot, given.which, [6, 7, 8]), own.reshape(*own.shape[:-2], -1))


def _put_inertia(robot: Tree, given: Given) -> Numbers:
    """Rotational inertias B' I B in the bodies' kernel frames."""
    B = robot.body_rotations[given.which + 1]
    S = product(product(B.swapaxes(-1, -2), given.values), B)
    own = S[..., [0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
    return Numbers(_row_places(robot, given.which, range(6)), own.reshape(*own.shape[:-2], -1))


def _put_armature(robot: Tree, given: Given) -> Numbers:
    """Rotor inertias of independent joints; zero for their mimic joints, whose rotors are included."""
    whole, mimic_map = robot.spanning, robot.mimic_map
    first = whole.reals.size - 3 - whole.nv
    if mimic_map is None:
        return Numbers(first + given.which, given.values)
    led = mimic_map.v[np.isin(mimic_map.onto, given.which)]
    values = np.concatenate([given.values, np.zeros((*given.values.shape[:-1], led.size))], axis=-1)
    return Numbers(first + np.concatenate([mimic_map.independent_v[given.which], led]), values)


def _put_gravity(robot: Tree, given: Given) -> Numbers:
    size = robot.spanning.reals.size
    return Numbers(np.arange(size - 3, size), given.values[..., 0, :])


_PUT = {
    "mass": _put_mass, "center_of_mass": _put_center, "inertia": _put_inertia, "armature": _put_armature,
    "gravity": _put_gravity,
}  # fmt: skip
