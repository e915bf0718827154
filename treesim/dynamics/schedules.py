"""The schedules of the backends that work level by level."""

from __future__ import annotations

from typing import Any

from .. import plugins
from ..errors import UnsupportedError
from ..model.given import checked_robot
from ..model.schedule import Schedule
from ..model.tree import Tree


def schedule(robot: Tree, method: str = "tree_contraction") -> Schedule:
    """Return the stages in which `method` eliminates the joints of `robot`, each of blocks that are independent.

    method: a name of `scheduled_methods()`. The way back, from which forces and accelerations come, takes the same
    stages in reverse. Raises UnknownNameError, and UnsupportedError for a backend that works body after body.

    Example:
        >>> from treesim.model import generators
        >>> treesim.schedule(generators.asimo())
        <Schedule of 'tree_contraction': 6 stages, 31 blocks, 15 at most>
    """
    robot = checked_robot(robot)
    backend = plugins.get("dynamics", method)
    if not _has_schedule(backend):
        raise UnsupportedError(f"{method} has no schedule; {', '.join(scheduled_methods())} have one")
    return backend.schedule(robot)


def scheduled_methods() -> tuple[str, ...]:
    """Return the names of the backends that have a schedule. Cost: imports every backend once.

    Example:
        >>> from treesim.dynamics.schedules import scheduled_methods
        >>> "tree_contraction" in scheduled_methods()
        True
    """
    names = plugins.available("dynamics")
    return tuple(name for name in names if _has_schedule(plugins.get("dynamics", name)))


def _has_schedule(backend: Any) -> bool:
    return callable(getattr(backend, "schedule", None))
