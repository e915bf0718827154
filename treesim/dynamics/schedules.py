"""The schedules of the backends that work level by level."""

from __future__ import annotations

from typing import Any

from .. import plugins
from ..errors import UnsupportedError
from ..model.given import checked_robot
from ..model.schedule import Schedule
from ..model.tree import Tree


def schedule(robot: Tree, method: str = "tree_contraction") -> Schedule:
    """Return the stages of forward dynamics of `robot` by `method`, each of blocks that are independent.

    method: a name of `scheduled_methods()`. All stages are listed, from transforms to the accelerations of the joints,
    with the operations of every block: counted as the kernel's own text does its work, the robot's constants known
    (what they make free is not counted, and blocks without operations are left out). The sum is what `treesim cost`
    counts, and the depth too. Raises UnknownNameError, and UnsupportedError for a backend that works body after body.
    Cost: some milliseconds a body.

    Example:
        >>> from treesim.model import generators
        >>> treesim.schedule(generators.chain(8), "constraint_force_cr")
        <Schedule of 'constraint_force_cr': 22 stages, 6771 operations, 3418 on the critical path>
        >>> treesim.schedule(generators.chain(8), "aba")  # body after body
        <Schedule of 'aba': 24 stages, 1800 operations, 1800 on the critical path>
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
