"""Robots, worlds and controllers in plain values, as files keep them, and back, bit for bit."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..contact.ground import Ground, HeightField, StaticBox, Surface
from ..dynamics.constrained.constraints import FrameConstraint, LoopConstraint
from ..errors import ArgumentError, TreesimError, UnsupportedError, quoted
from ..model.frozen import frozen
from ..model.inertia import Inertia, Placement
from ..model.joints import Joint
from ..model.loops import Loop
from ..model.mimic import Mimic
from ..model.parts import Body, Frame
from ..model.shapes import CollisionShape
from ..model.tree import Tree
from ..validation.values import checked_parts, is_name_of, short_repr, whole_number
from .control import PD, BesideBodies, Hold, Pushed, Zero
from .world import World

RECORDS: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        Body, Frame, FrameConstraint, Ground, HeightField, Inertia, Joint, Loop, LoopConstraint, Mimic, Placement,
        StaticBox, Surface,
    )
}  # fmt: skip
NUMBERS = ("float64", "int64", "bool")  # of arrays
ROUNDED = 1e-9  # by how much a constructor may change what it is given, which is then put back


class Made(NamedTuple):
    """How objects of one class are made: `arguments` finds what `make` makes an equal one of."""

    make: Callable[..., Any]
    arguments: Callable[[Any], tuple[Any, ...]]


def _tree_parts(robot: Tree) -> tuple[Any, ...]:
    """All but what is only looked at: visuals and notes."""
    frames = tuple(robot.frames.values())[robot.n_bodies :]  # the bodies' own come first
    return robot.name, robot.bodies, frames, (), robot.gravity, (), robot.shapes, robot.loops


def _tree(name: Any, bodies: Any, frames: Any, visuals: Any, gravity: Any, notes: Any, shapes: Any, loops: Any) -> Tree:
    return Tree(name, bodies, frames=frames, visuals=visuals, gravity=gravity, notes=notes, shapes=shapes, loops=loops)


def _shape_parts(shape: CollisionShape) -> tuple[Any, ...]:
    """With vertices in the place of the mesh file that they come from."""
    vertices = shape.vertices if shape.kind == "hull" else None
    return shape.body, shape.placement, shape.kind, shape.size, vertices, shape.link


def _shape(body: Any, placement: Any, kind: Any, size: Any, vertices: Any, link: Any) -> CollisionShape:
    """A shape of a description, which never names a file."""
    return CollisionShape(body, placement, kind, size=size, vertices=vertices, link=link)


def _world_parts(world: World) -> tuple[Any, ...]:
    """Shapes only where they touch anything."""
    robot, constraints, options = world.__reduce__()[1]
    if not (world.ground or world.bodies or world.self_collision):
        name, bodies, frames, visuals, gravity, notes, _, loops = _tree_parts(robot)
        robot = _tree(name, bodies, frames, visuals, gravity, notes, (), loops)
    return robot, constraints, tuple(options.items())


def _world(robot: Tree, constraints: tuple[Any, ...], options: tuple[tuple[str, Any], ...]) -> World:
    return World(robot, constraints, **dict(options))


def _spring_parts(controller: PD) -> tuple[Any, ...]:
    return controller.robot, controller.target, controller.stiffness, controller.damping


def _spring(kind: type[PD], robot: Any, target: Any, kp: Any, kd: Any) -> PD:
    return kind(robot, target, kp=kp, kd=kd)


def _push_parts(pushed: Pushed) -> tuple[Any, ...]:
    return pushed.controller, pushed.robot, pushed.force, pushed.start, pushed.duration


def _push(controller: Any, robot: Any, force: Any, start: Any, duration: Any) -> Pushed:
    return Pushed(controller, robot, force, start=start, duration=duration)


def _beside_parts(controller: BesideBodies) -> tuple[Any, ...]:
    return controller.controller, controller.alone, controller.whole


MADE: dict[type, Made] = {
    Tree: Made(_tree, _tree_parts),
    CollisionShape: Made(_shape, _shape_parts),
    World: Made(_world, _world_parts),
    PD: Made(partial(_spring, PD), _spring_parts),
    Hold: Made(partial(_spring, Hold), _spring_parts),
    Pushed: Made(_push, _push_parts),
    BesideBodies: Made(BesideBodies, _beside_parts),
}
MAKERS = {kind.__name__: made.make for kind, made in MADE.items()}


def plain(value: Any, named: Mapping[str, Any] | None = None) -> Any:
    """Return a value as what JSON can hold: of numbers, texts, arrays, parts of robots, robots, worlds and treesim's
    own controllers; no torque (`control.Zero`) is None, as a simulation takes it. named: objects that stand for
    themselves by a name, which `restored` is given again.

    Of a robot what is only looked at is left out: visuals, and notes of the reader. Hulls hold their vertices, which
    are read from mesh files if need be. Raises UnsupportedError, telling what it is, for anything else.

    Example:
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
        return {"is": "array", "of": value.dtype.name, "shape": list(value.shape), "numbers": value.ravel().tolist()}
    if RECORDS.get(type(value).__name__) is type(value):
        return {"is": type(value).__name__} | {
            field.name: plain(getattr(value, field.name), named) for field in fields(value)
        }
    if type(value) in MADE:
        return {"is": type(value).__name__, "of": plain(MADE[type(value)].arguments(value), named)}
    raise UnsupportedError(f"{short_repr(value)} is nothing that a recording can hold")


def restored(description: Any, named: Mapping[str, Any] | None = None) -> Any:
    """Return the value that `plain` describes, with the same bits; lists come back as tuples.

    Constructors check every part, and no file is opened that a description names. Raises ArgumentError for what `plain`
    did not write, and what constructors raise.

    Example:
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
        return _record(RECORDS[kind], {name: restored(value, named) for name, value in description.items()})
    return MAKERS[kind](*restored(description["of"], named))


def _array(of: Any, shape: Any, numbers: Any) -> np.ndarray:
    """An array as it was, of numbers of one of three types."""
    if not is_name_of(of, NUMBERS):
        raise ArgumentError(f"arrays of {quoted(of)} are not known: {', '.join(NUMBERS)} are")
    found = np.array(numbers) if isinstance(numbers, list) else np.array(None)
    kinds = {"float64": "fi", "int64": "i", "bool": "b"}[of]
    if found.ndim != 1 or (found.size and found.dtype.kind not in kinds):
        raise ArgumentError(f"numbers of an array of {of} must be a list of such, got {short_repr(numbers)}")
    sizes = [whole_number("shape of an array", size) for size in checked_parts("shape of an array", shape, int)]
    if math.prod(sizes) != found.size:
        raise ArgumentError(f"an array of shape {sizes} does not hold {found.size} numbers")
    return found.astype(of).reshape(sizes)


def _record(kind: Any, values: dict[str, Any]) -> Any:
    """A record as its constructor checks and makes it, with what that rounded, such as unit vectors, put back."""
    made = kind(**values)
    for name, value in values.items():
        own = getattr(made, name)
        if isinstance(own, np.ndarray) or (isinstance(own, tuple) and own and isinstance(own[0], float)):
            exact = np.asarray(value, float)
            if np.shape(own) == exact.shape and np.allclose(own, exact, rtol=ROUNDED, atol=ROUNDED):
                object.__setattr__(made, name, frozen(exact) if isinstance(own, np.ndarray) else tuple(exact.tolist()))
    return made
