"""Initial states and gravity as command-line text."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from ..errors import ArgumentError, named, quoted, reason_of, unknown_name
from .common import finite_number

if TYPE_CHECKING:
    import numpy as np

    from ..model.tree import Tree
    from ..simulation.external_forces import ExternalForce

SPELLINGS = "comma-separated numbers, name=value pairs, or @file.npy"
_number = partial(finite_number, allowed=SPELLINGS)


def initial_state(
    robot: Tree, q0: str | None, v0: str | None, seed: int | None, start: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the initial configuration (nq,) and velocity (nv,).

    q0, v0: comma-separated numbers, name=value pairs that replace entries of start, by default neutral, or of zero, or
    @file.npy. seed: a random configuration instead of q0. Quaternions are normalised. Raises ArgumentError with the
    option's name.
    """
    import numpy as np

    from ..model.coordinates import configuration_names, velocity_names

    if q0 is not None and seed is not None:
        raise ArgumentError("--seed and --q0 both choose the initial configuration: give one of them")
    moving = [body.joint for body in robot.bodies if body.joint.mimic is None]
    joints, types = [joint.name for joint in moving], [joint.type for joint in moving]
    if seed is not None:
        start = robot.random(np.random.default_rng(seed))
    q = _vector("--q0", q0, configuration_names(joints, types), robot.neutral() if start is None else start)
    v = _vector("--v0", v0, velocity_names(joints, types), np.zeros(robot.nv))
    return _with_unit_quaternions(robot, q), v


def gravity_vector(text: str) -> tuple[float, float, float]:
    """Return gravity (3,) [m/s^2] from "x,y,z" or from one number, its component along z."""
    values = [_number("--gravity", part) for part in text.split(",")]
    if len(values) == 1:
        return 0.0, 0.0, values[0]
    if len(values) == 3:
        return values[0], values[1], values[2]
    raise ArgumentError(f"--gravity takes one number (along z) or three, got {quoted(text)}")


def push_vector(text: str) -> tuple[float, float, float]:
    """Return the force (3,) [N] of --push from "x,y,z"."""
    values = [_number("--push", part) for part in text.split(",")]
    if len(values) == 3:
        return values[0], values[1], values[2]
    raise ArgumentError(f"--push takes three numbers, a force in N along the world's axes, got {quoted(text)}")


def external_force(text: str) -> ExternalForce:
    """Return the external force of --force from "LINK:x,y,z" or "LINK:x,y,z@start:stop"; raises ArgumentError."""
    import treesim

    link, colon, rest = text.partition(":")
    numbers, at, times = rest.partition("@")
    values = [_number("--force", part) for part in numbers.split(",")] if colon else []
    if len(values) != 3 or not link:
        raise ArgumentError(
            f"--force takes a link, a force in N along the world's axes and its times in s, as hand:0,0,50@1:2 or "
            f"hand:0,0,50, got {quoted(text)}"
        )
    start, _, stop = times.partition(":")
    if at and not times:
        raise ArgumentError(f"--force: times in s, start:stop, must follow '@', got {quoted(text)}")
    begin, end = _number("--force", start or "0"), _number("--force", stop) if stop else math.inf
    try:
        return treesim.ExternalForce(link, values, start=begin, stop=end)
    except ArgumentError as error:
        raise ArgumentError(f"--force {quoted(text)}: {error}") from None


def _vector(option: str, text: str | None, names: Sequence[str], start: np.ndarray) -> np.ndarray:
    import numpy as np

    if text is None:
        return start
    if text.startswith("@"):
        values = _from_file(option, text[1:])
    elif "=" in text:
        return _from_pairs(option, text, names, start)
    else:
        values = np.array([_number(option, part) for part in text.split(",")])
    if values.shape != (len(names),):
        raise ArgumentError(f"{option} needs {len(names)} numbers ({_some(names)}), got {values.size}")
    if not np.isfinite(values).all():
        raise ArgumentError(f"{option}: {names[int(np.flatnonzero(~np.isfinite(values))[0])]} is not finite")
    return values


def _from_file(option: str, path: str) -> np.ndarray:
    import numpy as np

    from ..system.files import DAMAGED
    from ..system.input_files import LARGEST_ARRAYS, read_input

    try:
        values = np.load(io.BytesIO(read_input(path, LARGEST_ARRAYS)), allow_pickle=False)
        if not isinstance(values, np.ndarray) or values.dtype.kind not in "fiu":
            raise ValueError("it holds no array of real numbers")
        return values.astype(float)
    except OSError as error:
        raise ArgumentError(f"{option}: cannot read {quoted(path)}: {reason_of(error)}") from None
    except DAMAGED as error:
        what = reason_of(error).partition("\n")[0]
        raise ArgumentError(f"{option}: {quoted(path)} is not a .npy file of numbers: {what}") from None


def _from_pairs(option: str, text: str, names: Sequence[str], start: np.ndarray) -> np.ndarray:
    values = start.copy()
    for pair in text.split(","):
        name, equals, value = (part.strip() for part in pair.partition("="))
        if not equals:
            raise ArgumentError(f"{option}: {quoted(pair)} is not a name=value pair")
        if name not in names:
            raise unknown_name(f"coordinate in {option}:", name, names)
        values[names.index(name)] = _number(f"{option}: {name}", value)
    return values


def _some(names: Sequence[str]) -> str:
    shown = list(map(named, names))
    return ", ".join(shown) if len(shown) <= 4 else f"{', '.join(shown[:3])}, ..., {shown[-1]}"


def _with_unit_quaternions(robot: Tree, q: np.ndarray) -> np.ndarray:
    import numpy as np

    q = q.copy()
    for body in robot.bodies:
        if body.joint.type in ("spherical", "floating"):
            where = robot.q_index[body.joint.name]
            quaternion = q[where.stop - 4 : where.stop]  # a view: a joint's quaternion comes last
            length = np.linalg.norm(quaternion)
            if length < 1e-9:
                raise ArgumentError(
                    f"--q0: the quaternion of {quoted(body.joint.name)} is zero; xyzw = 0,0,0,1 is no turn"
                )
            quaternion /= length
    return q
