"""Actions of a live session that pages request by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...errors import ArgumentError
from ...states.arguments import short_repr
from .forces import Force
from .physics import LivePhysics


def _push(physics: LivePhysics, name: Any, body: Any, point: Any, vector: Any) -> None:
    """Set or remove (None) the external force of a page's request."""
    if not isinstance(name, str) or not name:
        raise ArgumentError(f"the name of a force must be text, got {short_repr(name)}")
    physics.push(name, None if vector is None else Force(physics.robot, body, point, vector))


def _put(physics: LivePhysics, q: Any, v: Any) -> None:
    """Pause at a state of a page's request, in which controllers then hold the robot."""
    q, v = physics.player.simulation.initial_state(q, v)
    physics.run(False)
    physics.put(physics.player.t, q, v)
    physics.target = q.copy()
    physics.drive.aim(physics.target)


ACTIONS: dict[str, tuple[Callable[..., object], tuple[str, ...]]] = {  # and the values of a request that each takes
    "reset": (LivePhysics.reset, ()),
    "step": (LivePhysics.step, ()),
    "put": (_put, ("q", "v")),
    "seek": (LivePhysics.seek, ("t",)),
    "pull": (LivePhysics.take, ("body", "point", "target")),
    "release": (LivePhysics.release, ()),
    "force": (_push, ("name", "body", "point", "force")),
    "meet": (LivePhysics.meet, ()),
}
