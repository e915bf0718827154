"""What a live session and a replay show alike: a robot with its reference run on a viewer, and states on its pages."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...contact.surface import StaticSurface
from ...dynamics.operational.motion import center_of_mass
from ...model.tree import Tree
from ..protocols import GroundViewer, InteractiveViewer, Message, ReferenceViewer, Viewer
from .mouse_spring import G
from .panel import STATE_SECONDS, effective_mass_at, momenta, touched
from .reference import Reference, apart


class Screen:
    """A viewer, and what of a motion it can show; the rest is left out.

    clock: returns the time [s]. is_interactive: whether the viewer's pages control what it shows.
    """

    def __init__(self, viewer: Viewer, clock: Callable[[], float]) -> None:
        self.viewer, self._clock = viewer, clock
        self.is_interactive = isinstance(viewer, InteractiveViewer)
        self._sent = -math.inf  # time of the last message to pages, on the clock

    @property
    def is_due(self) -> bool:
        """Whether pages wait for a state."""
        return self._clock() - self._sent >= STATE_SECONDS

    def show(self, robot: Tree, q: np.ndarray, ground: Sequence[StaticSurface], panel: Message) -> None:
        """Draw a robot at q on its ground, and offer the settings of a panel."""
        self.viewer.show(robot, q)
        if ground and isinstance(self.viewer, GroundViewer):
            self.viewer.show_ground(ground)
        if isinstance(self.viewer, InteractiveViewer):
            self.viewer.show_panel(panel)

    def move(self, q: np.ndarray, reference: Reference | None) -> None:
        """Move the robot to q, and its reference run to where that is."""
        if isinstance(self.viewer, ReferenceViewer):
            self.viewer.set_reference(None if reference is None else reference.q)
        self.viewer.update(q)

    def send(self, state: Callable[[], Message]) -> None:
        """Send a state to all pages."""
        if isinstance(self.viewer, InteractiveViewer):
            self._sent = self._clock()
            self.viewer.show_state(state())


def motion_state(
    robot: Tree,
    joints: dict[str, int],
    q: np.ndarray,
    v: np.ndarray,
    forces: np.ndarray,
    frame: str,
    reference: Reference | None,
) -> dict[str, Any]:
    """Return what pages display of a robot's motion as JSON values.

    joints: index in q of each joint with a slider. forces (n_bodies, 3): of contact on bodies [N]. frame: whose
    effective mass is displayed.
    """
    return {
        "robot": robot.name,
        "q": q.tolist(),
        "v": v.tolist(),
        "joints": {name: float(q[i]) for name, i in joints.items()},
        "momentum": momenta(robot, q, v),
        "contactForce": float(np.linalg.norm(forces.sum(axis=0))),
        "contacts": touched(robot, q, forces),
        "com": center_of_mass(robot, q).tolist() if robot.mass > 0 else None,
        "weight": robot.mass * G,
        "frame": frame,
        "effective_mass": effective_mass_at(robot, q, frame),
        "apart": None if reference is None else apart(robot, q, reference.q),
    }
