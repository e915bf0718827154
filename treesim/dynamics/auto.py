"""The backend that is advised for the robot, chosen once a tree."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from .. import plugins
from ..model.tree import Tree
from .advice import advise
from .base import Capabilities, DynamicsBackend


class Auto:
    """The backend that `treesim cost` advises for the robot."""

    name = "auto"
    capabilities = Capabilities(cost="that of the backend it takes", source="measured")

    def __init__(self) -> None:
        self._taken: WeakKeyDictionary[Tree, DynamicsBackend] = WeakKeyDictionary()  # trees are compared by identity

    def taken(self, robot: Tree) -> DynamicsBackend:
        """Return the backend that `robot` gets."""
        backend = self._taken.get(robot)
        if backend is None:
            backend = self._taken[robot] = plugins.get("dynamics", advise(robot).name)
        return backend

    def forward_dynamics(
        self,
        robot: Tree,
        q: Any,
        v: Any,
        tau: Any,
        f_ext: Any = None,
        gravity: Any = None,
        armature: Any = None,
        **choices: Any,
    ) -> np.ndarray:
        """Return qdd (..., nv); see `treesim.forward_dynamics`. choices: the engine, and out."""
        return self.taken(robot).forward_dynamics(robot, q, v, tau, f_ext, gravity, armature, **choices)
