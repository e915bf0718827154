"""What is made wrong on purpose is noticed where it changes a number, and only then asked to be."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import treesim
from tests.compare.test_checks import URDF, Mirror, MirrorModel
from treesim.compare import compare
from treesim.compare.controls import HEAVIER, flipped, gyroscopic, heavier, own_controls, visible
from treesim.compare.source import without_losses
from treesim.compare.treesim_engine import TreesimModel, random_batch

FEW = {"base": "fixed", "states": 3, "steps": 0, "controls": True}
ROBOT = without_losses(treesim.load(URDF))


def test_one_body_is_heavier():
    masses = [body.inertia.mass for body in heavier(ROBOT).bodies]
    assert masses == [2 * HEAVIER, 1.0]


def test_one_product_of_inertia_has_the_other_sign():
    before, after = (robot.bodies[0].inertia.rotational for robot in (ROBOT, flipped(ROBOT)))
    assert after[0, 1] == -before[0, 1] != 0
    np.testing.assert_allclose(np.linalg.eigvalsh(after), np.linalg.eigvalsh(before), rtol=1e-14)
    assert flipped(ROBOT).bodies[1].inertia == ROBOT.bodies[1].inertia


def test_the_gyroscopic_term_is_what_spherical_inertias_do_not_have():
    """The bias at zero gravity is that of point masses alone if I is the same about all axes: then w x I w = 0."""
    rng = np.random.default_rng(0)
    q, v = rng.normal(size=(2, 2))
    assert np.abs(gyroscopic(ROBOT, q, v)).max() > 1e-4
    round_bodies = [replace(body, inertia=replace(body.inertia, rotational=0.03 * np.eye(3))) for body in ROBOT.bodies]
    assert np.abs(gyroscopic(treesim.Tree("round", round_bodies), q, v)).max() < 1e-16


def test_the_gyroscopic_term_is_the_change_of_bias_with_the_bodies_turning():
    """The bias is linear in the inertias about the centres of mass: that part of it is J^T (I Jdot v + w x I w)."""
    model = own_controls(None)["gyroscopic term left out"].read(ROBOT)
    batch = random_batch(ROBOT, 2, 0, 0, 1e-3)
    whole, without = (each.evaluate(batch).values for each in (TreesimModel(ROBOT, None), model))
    missing = np.array([gyroscopic(ROBOT, q, v) for q, v in zip(batch.q, batch.v, strict=True)])
    np.testing.assert_allclose(whole["bias"] - without["bias"], missing, atol=1e-14)
    np.testing.assert_allclose(
        np.einsum("kij,kj->ki", whole["mass_matrix"], without["forward_dynamics"] - whole["forward_dynamics"]),
        missing, atol=1e-12,
    )  # fmt: skip


def test_all_controls_are_noticed():
    report = compare(URDF, Mirror(), **FEW)
    assert report.passed and len(report.controls) == 3
    assert all(control.applies and control.noticed and control.passed for control in report.controls)
    assert [control.found.split(" (")[0] for control in report.controls] == ["mass", "inertia", "bias"]


def test_what_changes_nothing_need_not_be_noticed():
    report = compare(URDF.replace('ixy="0.001"', 'ixy="0"'), Mirror(), **FEW)
    control = report.controls[1]
    assert not control.applies and not control.noticed and control.passed and report.passed
    assert control.found == "changes no number of this robot"


class SetUpWrongly(Mirror):
    """Its one control changes a number that no comparison looks at, or one that it does."""

    def __init__(self, quantity):
        super().__init__()
        self.quantity = quantity

    def controls(self):
        def distort(values):
            values[self.quantity] = values.get(self.quantity, np.ones((1, 1))) * 1.5

        return {f"{self.quantity} wrong": Mirror(distort)}

    def read(self, robot, urdf, level):
        model = MirrorModel(self, robot)
        self.distort = lambda values: values.setdefault("colour", np.ones((1, 1)))
        return model


@pytest.mark.parametrize(("quantity", "noticed"), [("pose", True), ("colour", False)])
def test_what_changes_a_number_must_be_noticed(quantity, noticed):
    report = compare(URDF, SetUpWrongly(quantity), **FEW)
    (control,) = report.controls[3:]
    assert control.applies and control.noticed is noticed is report.passed
    assert ("not noticed: colour wrong" in report.summary) is not noticed


def test_visible_is_more_than_rounding():
    right = {"bias": np.array([[1.0, 100.0]])}
    assert not visible(right, {"bias": right["bias"] + 1e-7})
    assert visible(right, {"bias": right["bias"] + 1e-5}) and visible(right, {"bias": right["bias"] * np.nan})
    assert visible(right, {})
