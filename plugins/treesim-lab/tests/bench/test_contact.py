"""Benchmark of steps with contact: its scenes, its rows, and the accuracy of treesim's own methods of stepping."""

from __future__ import annotations

import numpy as np
import pytest
from treesim_lab.bench.contact import our_steppings, run_steps, speed_on_incline, time_contact
from treesim_lab.bench.contact_scenes import (
    BOXES,
    PUSH,
    SCENES,
    SLOPE,
    STATES,
    STEPS,
    SceneOptions,
    bare_robot,
    box_on_incline,
    chosen_scenes,
    falling_scene,
    moving_scene,
    pushed_scene,
    stack_scene,
    standing_scene,
    terrain,
)
from treesim_lab.bench.results import Benchmark

from treesim.compare.cases import ContactScene
from treesim.compare.source import read
from treesim.errors import ArgumentError, UnknownNameError
from treesim.kernels.stepping.rules import CONTACT_RULES
from treesim.simulation.stepper import Stepper

NAMES = ["standing", "falling", "stack"]
QUICK = {"duration": 0.02, "rounds": 1, "count": 2, "steps": 2, "engines": []}


def options(kp: float = 3000.0, robot: str = "simple_humanoid") -> SceneOptions:
    return SceneOptions(bare_robot(read(robot, "floating").robot), kp, 0.8)


@pytest.fixture(scope="module")
def found() -> Benchmark:
    return time_contact("simple_humanoid", 3000.0, scenes=NAMES, **QUICK)


@pytest.mark.slow
def test_every_scene_and_method_has_a_row(found: Benchmark) -> None:
    assert {(row["scene"], row["call"]) for row in found.rows} == {
        (name, f"Stepper.step, {rule}") for name in NAMES for rule in CONTACT_RULES
    }
    assert {(row["scene"], row["call"]) for row in found.more["rollouts"]} == {
        (name, f"rollout, {rule}") for name in NAMES for rule in CONTACT_RULES
    }
    assert all(row["min_s"] > 0 for row in (*found.rows, *found.more["rollouts"]))


@pytest.mark.slow
def test_rows_have_drift_at_rest_and_a_gain_of_energy_without_control(found: Benchmark) -> None:
    kinds = {kind.name: kind for kind in SCENES}
    for row in found.rows:
        kind = kinds[row["scene"]]
        assert (row["drift_m"] is not None) == kind.rests
        assert (row["energy_gain"] is not None) == kind.passive
        assert row["residual"] < 1e-6 and row["overlap_m"] < 1e-3
        assert not kind.passive or row["energy_gain"] < 1e-6


@pytest.mark.slow
def test_a_box_sticks_and_slides_on_either_side_of_the_threshold(found: Benchmark) -> None:
    """Cases C1 and C2 of the contact cases."""
    assert speed_on_incline(SLOPE + 1e-3) == 0
    assert speed_on_incline(SLOPE - 1e-3) == pytest.approx(8.774331e-3, rel=1e-6)
    assert len(found.more["incline"]) == len(CONTACT_RULES)
    for row in found.more["incline"]:
        assert row["stick_error"] < 1e-9 and row["slip_error"] < 1e-8


def test_a_robot_starts_at_rest_in_its_posture() -> None:
    scene = standing_scene(options(7.0))
    assert not scene.kp[:6].any() and scene.kp.max() == 7.0 and not np.isfinite(scene.robot.effort_limit[6:]).any()
    way = our_steppings(scene)[0]
    way.step()
    way.start()
    q, v = way.state()
    assert (q == scene.q0[0]).all() and not v.any()


def test_runs_that_differ_start_with_their_own_states() -> None:
    scene = moving_scene(0.3, options())
    assert not scene.v0[:, :6].any() and scene.v0[:, 6:].std() == pytest.approx(0.3, rel=0.1)
    way = our_steppings(scene)[0]
    for k in (0, 5):
        way.start(k)
        assert (way.state()[1] == scene.v0[k]).all()


def test_pushes_are_horizontal_and_of_one_speed() -> None:
    for v0 in (pushed_scene(options()).v0, stack_scene(options(), PUSH).v0):
        assert len(v0) == STATES
        np.testing.assert_allclose(np.linalg.norm(v0, axis=1), PUSH)
        np.testing.assert_allclose(v0.sum(axis=0), 0, atol=1e-12)


def test_a_robot_falls_without_control() -> None:
    scene = falling_scene(options(robot="anymal_c"))
    assert not scene.kp.any() and scene.kd.any() and len(scene.q0) == STATES
    assert scene.q0[-1, 2] < 0.7 * scene.q0[0, 2]


@pytest.mark.parametrize("kind", SCENES, ids=lambda kind: kind.name)
def test_every_scene_starts_without_overlap_and_touches_soon(kind) -> None:
    scene = kind.make(options())
    assert isinstance(scene, ContactScene) and len(scene.q0) == len(scene.v0)
    assert len(scene.q0) == (1 if kind.rests else STATES)
    stepper, touches = Stepper(scene.world, scene.dt, integrator="semi_implicit_euler"), 0
    state = stepper.reset(scene.q0[-1], scene.v0[-1])
    for _ in range(STEPS):
        state, report = stepper.step(state)
        assert report.contact.penetration < 1e-3
        touches = max(touches, int(report.contact.count))
    assert touches >= 3


def test_stacked_boxes_rest_where_they_are() -> None:
    scene = stack_scene(options())
    assert scene.robot.n_bodies == BOXES
    way = our_steppings(scene)[0]
    run_steps(way, 50)
    np.testing.assert_allclose(way.state()[0], scene.q0[0], atol=1e-9)


def test_the_terrain_is_rough_and_always_the_same() -> None:
    heights = np.asarray(terrain(0.8).heights)
    assert 0 <= heights.min() < 1e-3 and 9e-3 < heights.max() <= 1e-2
    assert (heights == np.asarray(terrain(0.5).heights)).all()


def test_scenes_are_chosen_by_name() -> None:
    assert [kind.name for kind in chosen_scenes(["stack", "pushed", "stack"])] == ["stack", "pushed"]
    assert chosen_scenes(None) == list(SCENES)
    with pytest.raises(UnknownNameError, match="unknown scene 'stacks': did you mean 'stack'"):
        chosen_scenes(["stacks"])


def test_the_box_lies_on_its_incline() -> None:
    scene = box_on_incline(0.3)
    normal = np.asarray(scene.world.ground[0].normal)
    assert normal[0] / normal[2] == pytest.approx(SLOPE)
    assert scene.q0[0, :3] == pytest.approx(0.1 * normal)


def test_a_robot_without_a_floating_base_does_not_stand() -> None:
    with pytest.raises(ArgumentError, match="cannot be moved to the ground"):
        standing_scene(SceneOptions(bare_robot(read("ur5", "fixed").robot), 1.0, 0.8))
