"""The backend "auto", which selects the advised backend once for each tree."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from .. import plugins
from ..model.tree import Tree
from .advice import advise
from .base import Backend, Capabilities, DynamicsBackend


class Auto(Backend):
    """The backend that `treesim cost` advises for the robot."""

    name = "auto"
    capabilities = Capabilities(cost="that of the backend it takes", source="measured")

    def __init__(self) -> None:
        self._taken: WeakKeyDictionary[Tree, DynamicsBackend] = WeakKeyDictionary()  # trees are compared by identity

    def taken(self, robot: Tree) -> DynamicsBackend:
        """Return the backend that is used for `robot`."""
        backend = self._taken.get(robot)
        if backend is None:
            backend = self._taken[robot] = plugins.get("dynamics", advise(robot).name)
        return backend

    def forward_dynamics(self, robot: Tree, *arguments: Any, **choices: Any) -> np.ndarray:
        """Return qdd (..., nv); arguments as of `CompiledBackend.forward_dynamics`."""
        return self.taken(robot).forward_dynamics(robot, *arguments, **choices)
