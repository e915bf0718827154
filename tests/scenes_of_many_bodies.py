"""Scenes of many bodies for tests: those of `treesim bench --worlds`, functions of numbers of bodies.

Each returns a `treesim.compare.cases.ContactScene`: `world`, initial states `q0` (S, nq) and `v0` (S, nv), gains `kp`
and `kd` and the `posture` of a controller, whose targets are `targets(scene)`.
"""

from __future__ import annotations

import pytest

pytest.importorskip("treesim_lab.bench.many_bodies")
from treesim_lab.bench.contact_scenes import targets
from treesim_lab.bench.many_bodies import (
    MANY_BODIES,
    balls_apart,
    balls_poured,
    belt_with_boxes,
    boxes_apart,
    boxes_poured,
    dominoes,
    hand_with_ball,
    humanoid_in_heap,
    kinds_of_bodies,
    towers,
)

__all__ = [
    "MANY_BODIES", "balls_apart", "balls_poured", "belt_with_boxes", "boxes_apart", "boxes_poured", "dominoes",
    "hand_with_ball", "humanoid_in_heap", "kinds_of_bodies", "mujoco_model", "targets", "towers",
]  # fmt: skip


def mujoco_model(scene):
    """Return MuJoCo's model of a scene, with MuJoCo's default options and the scene's time step."""
    return pytest.importorskip("treesim_mujoco.contact").contact_model(scene)
