"""Other numberings of a robot: the same physics passes, and whatever assumes depth-first numbering is found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import treesim
from tests import layouts
from tests.compare.test_checks import URDF
from treesim import plugins
from treesim.compare import CANONICAL, NUMBERED, compare
from treesim.compare.renumbering import renumbered
from treesim.compare.treesim_engine import TreesimEngine, TreesimModel
from treesim.errors import UnsupportedError
from treesim.model.generators import featherstone_2005_humanoid
from treesim.model.links import is_depth_first


class Assuming(TreesimModel):
    """treesim's model, with a mass matrix that is wrong unless bodies are numbered depth-first.

    faulty: known faults.
    """

    def __init__(self, robot, faulty):
        super().__init__(robot, None)
        self.faulty = faulty

    def evaluate(self, states):
        results = super().evaluate(states)
        if not is_depth_first(self.robot.parent.tolist()):
            results.values["mass_matrix"][:, 0, 0] += 1.0
        return replace(results, faulty=self.faulty)


class Other(TreesimEngine):
    """treesim as the other engine; at one level it has the fault of `Assuming`."""

    name = title = "other"
    levels = (CANONICAL, NUMBERED)

    def __init__(self, level=None, faulty=()):
        super().__init__(None)
        self.level, self.faulty = level, dict(faulty)

    def read(self, robot, urdf="", level=CANONICAL):
        return Assuming(robot, self.faulty) if level == self.level else TreesimModel(robot, None)


class AssumingMethod:
    """Forward dynamics with the fault of `Assuming`."""

    name = "assuming"
    capabilities = plugins.get("dynamics", "aba").capabilities

    def __str__(self):
        return self.name

    def forward_dynamics(self, robot, q, v, tau, *options):
        qdd = treesim.forward_dynamics(robot, q, v, tau)
        return qdd if is_depth_first(robot.parent.tolist()) else 1.1 * qdd


@pytest.fixture
def few_methods(monkeypatch):
    """Offer few methods of treesim, since each is compiled; return the names by kind, to which others can be added."""
    names = {"dynamics": ["aba", "rjk"], "operational": ["rjk"]}
    monkeypatch.setattr(plugins, "available", lambda kind: tuple(names[kind]))
    return names


def robot():
    """Return a tree numbered depth-first."""
    return featherstone_2005_humanoid()


def test_a_renumbered_robot_has_the_same_physics():
    tree, rng = layouts.robot(3, True, ("revolute", "prismatic", "spherical")), np.random.default_rng(0)
    other = renumbered(tree, rng)
    assert not is_depth_first(other.robot.parent.tolist()) and set(other.robot.body_names) == set(tree.body_names)
    q = tree.random(rng)
    M = treesim.mass_matrix(other.robot, other.layout.configuration_to_engine(q))
    np.testing.assert_allclose(other.layout.matrix_from_engine(q, M), treesim.mass_matrix(tree, q), atol=1e-13)
    layouts.check(tree, other.layout, 1)


def test_a_robot_without_branches_has_one_numbering():
    with pytest.raises(UnsupportedError, match="it has no branches"):
        renumbered(treesim.load(URDF), np.random.default_rng(0))
    report = compare(URDF, Other(), base="fixed", states=2, steps=0, renumber=True)
    assert report.passed and "it has no branches" in report.skipped["renumbered"]


def test_the_same_physics_passes(few_methods):
    report = compare(robot(), Other(), states=2, steps=0, renumber=True)
    levels = {row.level for row in report.rows}
    assert report.passed and levels == {"canonical", "renumbered", "numbered"}
    own = {row.quantity for row in report.rows if row.quantity.startswith("treesim ")}
    assert {"treesim mass_matrix", "treesim aba", "treesim rjk", "treesim operational rjk"} <= own


@pytest.mark.parametrize(("level", "label"), [(CANONICAL, "renumbered"), (NUMBERED, "numbered")])
def test_an_engine_that_assumes_depth_first_numbering_is_found(few_methods, level, label):
    report = compare(robot(), Other(level), states=2, steps=0, renumber=True)
    assert [(row.quantity, row.level) for row in report.rows if not row.passed] == [("mass_matrix", label)]
    assert not report.passed and f"first on mass matrix ({label} level)" in report.summary


def test_a_known_fault_is_accepted_and_named(few_methods):
    engine = Other(NUMBERED, {"mass_matrix": "it assumes an order"})
    report = compare(robot(), engine, states=2, steps=0, renumber=True)
    row = report.row("mass_matrix", "numbered")
    assert not row.passed and row.outcome == "known fault" and report.passed
    assert "known fault: it assumes an order" in report.summary
    assert report.to_dict()["rows"][report.rows.index(row)]["known_fault"] == "it assumes an order"


def test_a_method_of_treesim_that_assumes_depth_first_numbering_is_found(few_methods):
    few_methods["dynamics"].append(AssumingMethod())
    report = compare(robot(), Other(), states=2, steps=0, renumber=True)
    assert [row.quantity for row in report.rows if not row.passed] == ["treesim assuming"]
    assert "a method of treesim assumes" in report.summary
