"""Serialization of robots, worlds and controllers to JSON values and back, equal to the bit."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np

from ..actuators.actuators import DCMotor, Motor, PositionServo, VelocityServo
from ..contact.description import GROUNDS
from ..contact.surface import Surface
from ..dynamics.constrained.constraints import FrameConstraint, LoopConstraint
from ..errors import ArgumentError, TreesimError, UnsupportedError, quoted
from ..model.inertia import Inertia, Placement
from ..model.joints import Joint
from ..model.loops import Loop
from ..model.mimic import Mimic
from ..model.parts import Body, Frame, Visual
from ..model.shapes import CollisionShape
from ..model.tree import Tree
from ..model.welds import Weld
from ..validation.values import checked_parts, is_name_of, short_repr, whole_number
from .control import PD, ActuatorCommands, Zero
from .external_forces import ExternalForce
from .motions import Conveyor, Waypoints
from .sensors import ContactForce, ForceTorque, FramePose, Imu, JointTorque
from .world import World
from .wrapped_controllers import ExtendedController, Pushed

RECORDS: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        Body, ExternalForce, Frame, FrameConstraint, Inertia, Joint, Loop, LoopConstraint, Mimic, Placement, Imu,
        ForceTorque, ContactForce, FramePose, JointTorque, Surface, Waypoints, Conveyor, Weld,
        Motor, DCMotor, PositionServo, VelocityServo, *GROUNDS.values(),
    )
}  # fmt: skip
OLDER: dict[str, dict[str, str]] = {  # arguments' names in files of older versions
    "Joint": {"velocity": "velocity_limit", "effort": "effort_limit", "friction": "joint_friction"},
    "World": {
        "loops": "use_loops", "limits": "use_limits", "friction": "use_joint_friction",
        "speed_limits": "use_velocity_limits",
    },
}  # fmt: skip
NUMBERS = ("float64", "int64", "bool")  # of arrays
PACKED = ("<f4", "<f8")  # types of the bytes of arrays of more floats than LISTED
LISTED = 64


class Made(NamedTuple):
    """Serialization of one class: `arguments(object)` are such that `make(*arguments)` returns an equal object."""

    make: Callable[..., Any]
    arguments: Callable[[Any], tuple[Any, ...]]


def _tree_parts(robot: Tree) -> tuple[Any, ...]:
    """Return the arguments of a tree without notes, and without visuals if some are meshes: files are not stored."""
    frames = tuple(robot.frames.values())[robot.n_bodies :]  # the bodies' own come first
    visuals = () if any(visual.kind == "mesh" for visual in robot.visuals) else robot.visuals
    return robot.name, robot.bodies, frames, visuals, robot.gravity, (), robot.shapes, robot.loops, robot.welds


TREE_PARTS = ("name", "bodies", "frames", "visuals", "gravity", "notes", "shapes", "loops", "welds")


def _tree(*parts: Any) -> Tree:
    """Return a tree from its serialized arguments; files of older versions have no welds."""
    count = max(len(parts), len(TREE_PARTS) - 1)
    return Tree(**dict(zip(TREE_PARTS[:count], parts, strict=True)))


def _shape_parts(shape: CollisionShape) -> tuple[Any, ...]:
    """Return the arguments of a shape, with vertices instead of its mesh file."""
    vertices = shape.vertices if shape.kind == "hull" else None
    return shape.body, shape.placement, shape.kind, shape.size, vertices, shape.link


def _world_parts(world: World) -> tuple[Any, ...]:
    """Return the arguments of a world; collision shapes are left out if nothing can touch."""
    robot, constraints, options = world.__reduce__()[1]
    if not (world.ground or world.bodies or world.self_collision):
        robot = robot._with(shapes=())
    return robot, constraints, tuple(options.items())


def _world(robot: Tree, constraints: tuple[Any, ...], options: tuple[tuple[str, Any], ...]) -> World:
    return World(robot, constraints, **_renamed("World", dict(options)))


def _by_name(kind: Callable[..., Any], arguments: str, attributes: str = "") -> Made:
    """Return the serialization of a class by its arguments' names; attributes: their names in objects, if others."""
    names, own = arguments.split(), (attributes or arguments).split()
    return Made(
        lambda *values: kind(**dict(zip(names, values, strict=True))), lambda x: tuple(getattr(x, name) for name in own)
    )


MADE: dict[type, Made] = {
    Tree: Made(_tree, _tree_parts),
    CollisionShape: _by_name(CollisionShape, "body placement kind size vertices link")._replace(arguments=_shape_parts),
    Visual: _by_name(Visual, "body placement kind size color"),  # no names of files
    World: Made(_world, _world_parts),
    PD: _by_name(PD, "robot posture kp kd", "robot posture stiffness damping"),
    ActuatorCommands: _by_name(ActuatorCommands, "world inner"),
    Pushed: _by_name(Pushed, "controller robot force start duration"),
    ExtendedController: _by_name(ExtendedController, "controller alone whole"),
}
MAKERS = {kind.__name__: made.make for kind, made in MADE.items()}
MAKERS["Hold"] = MAKERS["PD"]  # of older files


def plain(value: Any, named: Mapping[str, Any] | None = None) -> Any:
    """Return a value as JSON values: numbers, strings, arrays, robots and their parts, worlds, treesim's controllers.

    Notes of a robot are left out, and all its visuals if some are meshes. Convex hulls are stored as vertices, which
    are read from mesh files if need be. The controller `control.Zero` becomes None.

    Parameters
    ----------
    value : object
        The value to serialize.
    named : mapping, optional
        Objects that are stored by their name only; pass the same mapping to `restored`.

    Returns
    -------
    object
        Nested dicts, lists, numbers and strings.

    Raises
    ------
    UnsupportedError
        For an object of any other type, naming it.

    Examples
    --------
    >>> from treesim.simulation.serialization import plain
    >>> plain(treesim.Ground(height=0.1))["height"]
    0.1
    """
    for name, known in (named or {}).items():
        if value is known:
            return {"is": "named", "name": name}
    if type(value) in (bool, int, float, str):
        return value
    if value is None or type(value) is Zero:
        return None
    if isinstance(value, (np.bool_, np.integer, np.floating)):
        return value.item()
    if type(value) in (tuple, list):
        return [plain(one, named) for one in value]
    if isinstance(value, np.ndarray) and value.dtype.name in NUMBERS:
        return {"is": "array", "of": value.dtype.name, "shape": list(value.shape), **_numbers(value)}
    if RECORDS.get(type(value).__name__) is type(value):
        return {"is": type(value).__name__} | {
            field.name: plain(getattr(value, field.name), named) for field in fields(value)
        }
    if type(value) in MADE:
        return {"is": type(value).__name__, "of": plain(MADE[type(value)].arguments(value), named)}
    raise UnsupportedError(f"{short_repr(value)} is nothing that a recording can hold")


def _numbers(array: np.ndarray) -> dict[str, Any]:
    """Return the numbers of an array as a list, or many floats as bytes in base64: of four bytes each if exact."""
    if array.dtype.kind != "f" or array.size <= LISTED:
        return {"numbers": array.ravel().tolist()}
    with np.errstate(over="ignore"):
        single = array.astype(PACKED[0])  # as vertices of STL files are
    stored = single if (single == array).all() else array.astype(PACKED[1])
    return {"numbers": base64.b64encode(stored.tobytes()).decode(), "packed": stored.dtype.str}


def restored(description: Any, named: Mapping[str, Any] | None = None) -> Any:
    """Return the value that `plain` serialized, equal to the bit; lists become tuples.

    Constructors check every part. No file is opened.

    Parameters
    ----------
    description : object
        Result of `plain`.
    named : mapping, optional
        Objects that were stored by their name.

    Returns
    -------
    object
        The value.

    Raises
    ------
    ArgumentError
        If the description is damaged or was not written by `plain`; also what constructors raise.

    Examples
    --------
    >>> from treesim.simulation.serialization import plain, restored
    >>> robot = restored(plain(treesim.load("ur5")))
    >>> robot, np.array_equal(robot.reals, treesim.load("ur5").reals)
    (<Tree 'ur5': 6 bodies, nq 6, nv 6, 16.9939 kg>, True)
    """
    if isinstance(description, list):
        return tuple(restored(one, named) for one in description)
    if not isinstance(description, dict):
        return description
    try:
        return _restored(dict(description), named or {})
    except TreesimError:
        raise
    except (LookupError, TypeError, AttributeError, ValueError, OverflowError, RecursionError, MemoryError) as error:
        kind = quoted(description.get("is", "value"))
        raise ArgumentError(f"the description of a {kind} is damaged: {quoted(error)}") from None


def _restored(description: dict[str, Any], named: Mapping[str, Any]) -> Any:
    kind = description.pop("is")
    if kind == "named":
        return named[description["name"]]
    if kind == "array":
        return _array(**description)
    if kind in RECORDS:
        values = {name: restored(value, named) for name, value in description.items()}
        return RECORDS[kind](**_renamed(kind, values))
    return MAKERS[kind](*restored(description["of"], named))


def _renamed(kind: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a class by today's names."""
    names = OLDER.get(kind, {})
    return {names.get(name, name): value for name, value in arguments.items()}


def _array(of: Any, shape: Any, numbers: Any, packed: Any = None) -> np.ndarray:
    """Return an array from its serialized type, shape and numbers; raises ArgumentError if they do not fit together."""
    if not is_name_of(of, NUMBERS):
        raise ArgumentError(f"arrays of {quoted(of)} are not known: {', '.join(NUMBERS)} are")
    if packed is not None and is_name_of(packed, PACKED) and isinstance(numbers, str):
        found = np.frombuffer(base64.b64decode(numbers, validate=True), packed)
    else:
        found = np.array(numbers) if isinstance(numbers, list) else np.array(None)
    kinds = {"float64": "fi", "int64": "i", "bool": "b"}[of]
    if found.ndim != 1 or (found.size and found.dtype.kind not in kinds):
        raise ArgumentError(f"numbers of an array of {of} must be a list of such, got {short_repr(numbers)}")
    sizes = [whole_number("shape of an array", size) for size in checked_parts("shape of an array", shape, int)]
    if math.prod(sizes) != found.size:
        raise ArgumentError(f"an array of shape {sizes} does not hold {found.size} numbers")
    return found.astype(of).reshape(sizes)
