"""The limits of models: just below and just above each of them."""

from types import SimpleNamespace

import numpy as np
import pytest

from treesim import Tree
from treesim.errors import ArgumentError, ModelError
from treesim.model import generators
from treesim.model.inertia import Inertia
from treesim.model.joints import Joint
from treesim.model.shapes import UNUSABLE, supports
from treesim.model.topology import Topology
from treesim.model.tree import Body
from treesim.states.physics import OF_ROBOT, given_physics


def test_an_axis_shorter_than_1e_12_has_no_direction():
    assert Joint("j", "revolute", axis=(0, 1.03e-12, 0)).axis.tolist() == [0, 1, 0]
    with pytest.raises(ModelError, match="axis is zero or as good as zero"):
        Joint("j", "revolute", axis=(0, 0.97e-12, 0))


@pytest.mark.parametrize(("limit", "reaches"), [(0.97e6, True), (1.03e6, False)])
def test_limits_beyond_a_thousand_kilometres_are_none_for_random_configurations(limit, reaches):
    joints = [Joint(f"j{k}", "prismatic", lower=-limit, upper=limit) for k in range(4)]
    unit = Inertia(1.0, np.zeros(3), np.eye(3))
    robot = Tree("sliders", [Body(f"b{k}", k, joint, unit) for k, joint in enumerate(joints)])
    assert (np.abs(robot.random(0)).max() > 1e5) == reaches


@pytest.mark.parametrize("count", [3, 4])
def test_three_lost_shapes_are_told(count):
    notes = [SimpleNamespace(code=UNUSABLE, message=f"shape {k}") for k in range(count)]
    found = supports(SimpleNamespace(notes=notes, shapes=()))
    assert found.endswith("shape 0; shape 1; shape 2")


def test_a_tree_has_16_million_degrees_of_freedom(monkeypatch):
    class AcceptedError(Exception):
        pass

    def expand(topology):
        raise AcceptedError  # before the tables take gigabytes

    monkeypatch.setattr(Topology, "_expand", expand)
    with pytest.raises(AcceptedError):
        Topology((0,), (16_400_000,))
    with pytest.raises(ModelError, match="at most 16,777,216 degrees of freedom, got 17,100,000"):
        Topology((0,), (17_100_000,))


def given(inertia):
    return given_physics(generators.chain(1), {"inertia": [inertia]}, OF_ROBOT, "dynamics")


def test_given_inertias_are_symmetric_up_to_a_billionth():
    inertia = np.diag([1.0, 1.0, 1.0])
    inertia[0, 1] = 0.97e-9
    assert given(inertia)
    inertia[0, 1] = 1.03e-9
    with pytest.raises(ArgumentError, match="it must be symmetric"):
        given(inertia)


def test_given_moments_fulfil_the_triangle_inequality_up_to_a_millionth():
    """Of their sum, for each of the second moments of mass, of which the least is half of what is missing."""
    assert given(np.diag([1.0, 1.0, 2 + 7.8e-6]))
    with pytest.raises(ArgumentError, match="none is above the sum of the others"):
        given(np.diag([1.0, 1.0, 2 + 8.2e-6]))
