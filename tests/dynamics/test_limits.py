"""The limits of dynamics: which bodies, rows, poses and directions count, just below and just above each limit."""

from types import SimpleNamespace

import numpy as np
import pytest

from treesim import FrameConstraint, Tree
from treesim.dynamics import conjugate_gradient
from treesim.dynamics.assemblies import solid_bodies
from treesim.dynamics.constrained.constraint_rows import closure_table, held_constraint
from treesim.dynamics.operational.inverse_kinematics import _are_rotations
from treesim.dynamics.operational.space import invert_on_range
from treesim.model import generators
from treesim.model.inertia import Inertia
from treesim.model.joints import Joint
from treesim.model.tree import Body


def chain_of(*inertias):
    return Tree("r", [Body(f"b{k}", k, Joint(f"j{k}", "revolute"), one) for k, one in enumerate(inertias)])


def body(mass=1.0, moment=1.0, aside=0.0):
    return Inertia(mass, np.array([aside, 0.0, 0.0]), moment * np.eye(3))


@pytest.mark.parametrize(
    ("below", "above"),
    [
        (body(mass=0.97e-3), body(mass=1.03e-3)),
        (body(moment=0.97e-3), body(moment=1.03e-3)),
    ],
)
def test_bodies_are_light_below_a_thousandth_of_a_neighbour(below, above):
    assert solid_bodies(chain_of(body(), below)) == [True, False]
    assert solid_bodies(chain_of(body(), above)) == [True, True]
    assert solid_bodies(chain_of(below, body())) == [False, True]


def test_moments_below_1e_10_of_those_about_the_origin_are_rounding():
    """Of 1 kg at 1 m, whose moments about the origin have the sum 2."""
    assert solid_bodies(chain_of(body(moment=1.94e-10, aside=1.0))) == [False]
    assert solid_bodies(chain_of(body(moment=2.06e-10, aside=1.0))) == [True]


@pytest.mark.parametrize(("entry", "closed"), [(0.97e-12, 1.0), (1.03e-12, 0.0)])
def test_entries_of_a_row_are_zero_below_1e_12(entry, closed):
    rows = np.eye(3, 6)
    rows[:, 4] = entry
    tables = SimpleNamespace(rows=rows, start=[0, 3])
    table = closure_table([SimpleNamespace(reference="local")], tables)
    assert table[:3].tolist() == 3 * [closed]


@pytest.mark.parametrize(("skew", "kept"), [(3.45e-15, True), (3.66e-15, False)])
def test_rotations_are_kept_to_the_bit_up_to_16_roundings(skew, kept):
    robot = generators.chain(1)
    pose = np.eye(4)
    pose[0, 1] = skew
    held = held_constraint(robot, FrameConstraint(robot.body_names[0], pose=pose), robot.neutral())
    assert (held.pose == pose).all() == kept


@pytest.mark.parametrize(("skew", "accepted"), [(0.97e-6, True), (1.03e-6, False)])
def test_poses_of_targets_are_rotations_to_a_millionth(skew, accepted):
    R = np.stack([np.eye(3), np.eye(3)])
    R[1, 0, 1] = skew
    assert _are_rotations(R) == accepted


@pytest.mark.parametrize(
    ("matrix", "below", "above"),
    [
        (lambda x: [[1.0, 1 - 2 * x], [1 - 2 * x, 1.0]], 0.97e-9, 1.03e-9),  # of the largest eigenvalue
        (lambda x: [[1.0, 0.0], [0.0, x]], 0.97e-12, 1.03e-12),  # and of a thousandth of the largest entry
    ],
)
def test_directions_count_above_1e_9(matrix, below, above):
    assert invert_on_range(np.array(matrix(below)))[1] == 1
    assert invert_on_range(np.array(matrix(above)))[1] == 2


def test_conjugate_gradients_stop_at_1e_13_or_after_20_steps_for_each_degree_of_freedom(monkeypatch):
    robot, seen = generators.chain(5), []
    monkeypatch.setattr(conjugate_gradient, "_solve", lambda *arguments: seen.append(arguments[3]))
    conjugate_gradient.solve(robot, robot.neutral(), np.zeros(5), np.zeros(5))
    assert 0.97e-13 < seen[0][0] < 1.03e-13 and seen[0][1] == 100
