"""Python calls of single operations, counted: a change that adds a loop over bodies to a call is seen here."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import treesim

ROBOT = treesim.load("g1_29dof_rev_1_0", base="floating")
Q, V = treesim.standing(ROBOT, ROBOT.neutral()), np.zeros(ROBOT.nv)
WORLD = treesim.World(ROBOT, ground=treesim.Ground())


def calls_of(operation: Callable[[], Any]) -> int:
    """The Python functions entered by an operation, once what is compiled or cached on first use is there."""
    operation(), operation()
    count = 0

    def tally(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(tally)
    try:
        operation()
    finally:
        sys.setprofile(before)
    return count - 1  # but for the operation's own


def test_forward_dynamics_makes_two_calls():
    assert calls_of(lambda: treesim.forward_dynamics(ROBOT, Q, V, V)) == 2


def test_a_step_makes_no_call_for_a_body():
    stepper = treesim.Stepper(WORLD, 1e-3)
    state = stepper.reset(Q, V)
    assert calls_of(lambda: stepper.step(state, V)) <= 80 < 3 * ROBOT.n_bodies


def test_a_rollout_makes_no_call_for_a_body():
    single = calls_of(lambda: treesim.rollout(ROBOT, Q[None], V[None], V[None], 1e-3, 1))
    assert single <= 280
    assert (
        calls_of(lambda: treesim.rollout(ROBOT, np.tile(Q, (64, 1)), V, np.zeros((20, ROBOT.nv)), 1e-3)) <= 1.2 * single
    )


def test_a_world_is_made_by_some_calls_for_a_shape():
    shapes = len(treesim.World(ROBOT, ground=treesim.Ground()).touching.links)
    assert calls_of(lambda: treesim.World(ROBOT, ground=treesim.Ground())) <= 45 * shapes
