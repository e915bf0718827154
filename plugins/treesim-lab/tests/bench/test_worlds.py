"""Benchmark of worlds of many bodies: its scenes, and its rows."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from treesim_lab.bench import time_worlds
from treesim_lab.bench.contact_scenes import targets
from treesim_lab.bench.many_bodies import (
    KICK,
    MANY_BODIES,
    ManyBodies,
    balls_poured,
    boxes_apart,
    boxes_poured,
    chosen_worlds,
    dominoes,
    hand_with_ball,
    towers,
)
from treesim_lab.bench.worlds import steps_of

import treesim
from treesim.contact.unsolved import UNSOLVED
from treesim.errors import ContactWarning, UnknownNameError
from treesim.kernels.stepping.rules import CONTACT_RULES

LARGE = ("apart-200", "rest-1000")
SMALL = [each for each in MANY_BODIES if each.name not in LARGE]
SOLVED = 1e-9  # m/s, rad/s: the default tolerance
# mean numbers of solves in a step by semi-implicit Euler and by the implicit midpoint rule
SOLVES = {
    "apart-1": (2, 4), "apart-10": (2, 4), "apart-50": (2, 4), "apart-100": (2, 4), "rest-10": (0, 0),
    "rest-100": (0, 0), "stack-5": (5.4, 9.6), "stack-10": (6.6, 13.3), "stack-20": (20.5, 24.2),
    "towers": (11.8, 21.5), "dominoes": (19.8, 22.7), "boxes-poured": (21.9, 40.3), "balls-poured": (7.9, 17.4),
    "balls-100": (2, 4), "kinds-40": (11.5, 22.2), "hand": (3.3, 5.7), "heap": (5.5, 9.2), "belt": (2, 4),
}  # fmt: skip


@pytest.mark.parametrize("kind", SMALL, ids=lambda kind: kind.name)
def test_every_scene_steps_and_is_solved(kind: ManyBodies) -> None:
    scene = kind.make()
    stepper = treesim.Stepper(
        scene.world, scene.dt, integrator="semi_implicit_euler", kp=scene.kp, kd=scene.kd, engine="generic"
    )
    state, u = stepper.reset(scene.q0[-1], scene.v0[-1]), targets(scene)
    for _ in range(3):
        state, report = stepper.step(state, u)
        assert max(report.contact.residual, report.contact.position_residual) <= SOLVED
    assert "poured" in kind.name or "kinds" in kind.name or report.contact.count > 0


@pytest.mark.nightly
@pytest.mark.parametrize("rule", range(2), ids=tuple(reversed(CONTACT_RULES)))
@pytest.mark.parametrize("kind", SMALL, ids=lambda kind: kind.name)
def test_scenes_take_no_more_solves_and_steps_that_miss_are_reported(kind: ManyBodies, rule: int) -> None:
    """Where rows change often, the number of solves differs between processors by some tens of percent."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        steps = steps_of(kind.make(), tuple(reversed(CONTACT_RULES))[rule], kind.steps)
    assert steps.iterations.mean() <= 1.5 * SOLVES[kind.name][rule]
    reported = any(issubclass(each.category, ContactWarning) for each in caught)
    assert steps.residual.max() <= UNSOLVED or reported


def test_scenes_have_as_many_bodies_as_asked_for() -> None:
    assert [boxes_apart(n).robot.n_bodies for n in (1, 7)] == [1, 7]
    assert [each.robot.n_bodies for each in (towers(3, 4), dominoes(5), boxes_poured(9), balls_poured(4))] == [
        12,
        5,
        9,
        4,
    ]


def test_top_boxes_are_kicked_in_eight_directions() -> None:
    v0 = towers(3, 2).v0.reshape(8, 2, 3, 6)
    np.testing.assert_allclose(np.linalg.norm(v0[:, :, -1, :2], axis=-1), KICK)
    assert not v0[:, :, :-1].any() and not np.allclose(v0[0, 0], v0[0, 1])


def test_poured_bodies_are_those_of_their_seed() -> None:
    one, same, other = (boxes_poured(5, seed).q0 for seed in (0, 0, 1))
    assert (one == same).all() and not (one == other).all()


def test_dominoes_topple_one_another() -> None:
    scene = dominoes(3)
    run = treesim.Simulation(scene.world).run(1.0, scene.q0[0], scene.v0[0])
    assert (run.q[-1].reshape(3, 7)[:, 2] < 0.6 * scene.q0[0].reshape(3, 7)[:, 2]).all()


def test_the_hand_holds_its_ball() -> None:
    scene = hand_with_ball()
    steps = steps_of(scene, "semi_implicit_euler", 3)
    assert (steps.contacts >= 3).all() and (steps.iterations > 0).any() and len(steps.q) == len(scene.q0)


def test_every_integrator_has_a_row_with_solves_and_times() -> None:
    found = time_worlds(["stack-5"], rounds=1, engines=[])
    assert [row["call"] for row in found.rows] == [*reversed(CONTACT_RULES)]
    for row in found.rows:
        assert row["contacts"] == 20 and row["residual"] <= SOLVED and row["ratio"] is None
        assert row["iterations_mean"] <= row["iterations_max"] and row["iterations_90"] <= row["iterations_max"]
        assert 0 < row["min_s"] <= row["mean_s"] <= row["longest_s"] and row["rollout_s"] > 0 and row["steps_s"] > 0


@pytest.mark.slow
def test_mujoco_steps_the_same_worlds() -> None:
    pytest.importorskip("treesim_mujoco")
    found = time_worlds(["apart-1", "belt"], rounds=1)
    by_scene = {row["scene"]: row for row in found.rows}
    assert by_scene["apart-1"]["ratio"] > 0 and by_scene["belt"]["ratio"] is None


def test_scenes_are_chosen_by_name() -> None:
    assert [each.name for each in chosen_worlds(["towers", "belt", "towers"])] == ["towers", "belt"]
    assert chosen_worlds(None) == list(MANY_BODIES)
    with pytest.raises(UnknownNameError, match="unknown scene 'tower': did you mean 'towers'"):
        chosen_worlds(["tower"])
