"""Benchmark of steps on a plane: its rows, and the accuracy of treesim's own methods of stepping."""

from __future__ import annotations

import numpy as np
import pytest
from treesim_lab.bench.contact import (
    SLOPE,
    SPEEDS,
    box_on_incline,
    moving_scene,
    our_steppings,
    speed_on_incline,
    standing_scene,
    time_contact,
)
from treesim_lab.bench.results import Benchmark

from treesim.compare.source import read
from treesim.contact.contact_solve import SHARE
from treesim.errors import ArgumentError

KEYS = ("min_s", "median_s", "drift_m", "penetration_m", "stick_error", "slip_error")


@pytest.fixture(scope="module")
def found() -> Benchmark:
    return time_contact("simple_humanoid", 3000.0, duration=0.02, rounds=1, count=2, steps=2, engines=[])


def test_every_way_of_stepping_has_a_row_of_finite_numbers(found: Benchmark) -> None:
    assert [row["call"] for row in found.rows] == [f"Stepper.step, {rule}" for rule in reversed(SHARE)]
    assert all(np.isfinite(row[key]) and row[key] >= 0 for row in found.rows for key in KEYS)
    assert {(row["threads"], row["call"]) for row in found.more["rollouts"]} >= {
        (1, f"rollout, {rule}") for rule in SHARE
    }


def test_a_box_sticks_and_slides_on_either_side_of_the_threshold(found: Benchmark) -> None:
    """Cases C1 and C2 of the contact cases."""
    assert speed_on_incline(SLOPE + 1e-3) == 0
    assert speed_on_incline(SLOPE - 1e-3) == pytest.approx(8.774331e-3, rel=1e-6)
    for row in found.rows:
        assert row["stick_error"] < 1e-9 and row["slip_error"] < 1e-8 and row["penetration_m"] < 1e-9


def test_a_robot_starts_at_rest_in_its_posture() -> None:
    scene = standing_scene(read("simple_humanoid", "floating").robot, kp=7.0)
    assert not scene.kp[:6].any() and scene.kp.max() == 7.0 and not np.isfinite(scene.robot.effort_limit[6:]).any()
    way = our_steppings(scene)[0]
    way.step()
    way.start()
    q, v = way.state()
    assert (q == scene.q0).all() and not v.any()


def test_runs_that_differ_start_with_their_own_velocities_and_have_rows_by_speed(found: Benchmark) -> None:
    scene = moving_scene(standing_scene(read("simple_humanoid", "floating").robot), 0.3)
    assert not scene.v0[:, :6].any() and scene.v0[:, 6:].std() == pytest.approx(0.3, rel=0.1)
    way = our_steppings(scene)[0]
    for k in (0, 5):
        way.start(k)
        assert (way.state()[1] == scene.v0[k]).all()
    assert {(row["speed"], row["call"]) for row in found.more["moving"]} == {
        (speed, f"Stepper.step, {rule}") for speed in SPEEDS for rule in SHARE
    }
    assert {row["speed"] for row in found.more["rollouts"]} == {0.0, *SPEEDS}


def test_the_box_lies_on_its_incline() -> None:
    scene = box_on_incline(0.3)
    assert scene.normal[0] / scene.normal[2] == pytest.approx(SLOPE)
    assert scene.q0[:3] == pytest.approx(0.1 * scene.normal)


def test_a_robot_without_a_floating_base_does_not_stand() -> None:
    with pytest.raises(ArgumentError, match="cannot be moved to the ground"):
        standing_scene(read("ur5", "fixed").robot)
