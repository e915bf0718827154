"""Limits of the adapter: just below, and just above."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pinocchio as pin
import pytest
from treesim_pinocchio.conversion import converted
from treesim_pinocchio.limits import TOLERANCES, LimitSolver
from treesim_pinocchio.user_model import user_layout

import treesim
from treesim.errors import ArgumentError
from treesim.model.generators import chain

ARM = chain(2)


def test_missing_limits_are_the_largest_float_and_those_of_quaternions_1_01():
    model = converted(treesim.Tree("ball", treesim.free_body("ball", "sphere", (0.1,), 2.0).bodies)).model
    assert model.upperPositionLimit.tolist() == [sys.float_info.max] * 3 + [1.01] * 4
    assert model.lowerPositionLimit.tolist() == [-sys.float_info.max] * 3 + [-1.01] * 4
    assert (model.upperVelocityLimit == sys.float_info.max).all()


def test_joint_limits_are_solved_to_1e_12():
    settings = LimitSolver(ARM, converted(ARM))._settings
    assert [getattr(settings, name) for name in TOLERANCES] == [1e-12] * 4


@pytest.mark.parametrize(("off", "accepted"), [(0.97e-6, True), (1.03e-6, False)])
def test_models_of_users_differ_by_a_micrometre(off, accepted):
    model = converted(ARM).model
    model.jointPlacements[1].translation += np.array([0, 0, off])
    if accepted:
        assert user_layout(ARM, model).configuration_to_engine(np.array([0.1, 0.2])).tolist() == [0.1, 0.2]
    else:
        with pytest.raises(ArgumentError, match="poses of its body differ by 1e-06"):
            user_layout(ARM, model)


@pytest.mark.parametrize(("count", "named"), [(5, "'e'; make"), (6, "'e' and others; make")])
def test_five_joints_that_a_model_lacks_are_named(count, named):
    robot = SimpleNamespace(
        name="robot", joint_names="abcdef"[:count], joint=lambda name: SimpleNamespace(type="revolute")
    )
    with pytest.raises(ArgumentError, match=f"the model lacks 'a', 'b', 'c', 'd', {named}"):
        user_layout(robot, pin.Model())
