"""The method "auto", which selects the advised method once for each robot and its frames."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike

from ... import plugins
from ...model.tree import Tree
from ...types import Reference
from .advice import advise
from .base import Method, OperationalMethod
from .frames import frame_codes


class Auto(Method):
    """The method that `treesim cost` advises for the robot and its frames."""

    name = "auto"
    source = "measured"

    def __init__(self) -> None:
        self._taken: WeakKeyDictionary[Tree, dict[tuple[str, ...], OperationalMethod]] = WeakKeyDictionary()

    def taken(self, robot: Tree, frames: tuple[str, ...]) -> OperationalMethod:
        """Return the method that is used for these frames of `robot`."""
        of_robot = self._taken.setdefault(robot, {})
        method = of_robot.get(frames)
        if method is None:
            method = of_robot[frames] = plugins.get("operational", advise(robot, frames).name)
        return method

    def inverse_inertia(self, robot: Tree, q: ArrayLike, frames: tuple[str, ...], reference: Reference) -> np.ndarray:
        """Return Λ^-1 (..., 6k, 6k); see `treesim.inverse_operational_inertia`."""
        frame_codes(robot, frames, reference)  # unknown names are refused before any method is chosen for them
        return self.taken(robot, frames).inverse_inertia(robot, q, frames, reference)
