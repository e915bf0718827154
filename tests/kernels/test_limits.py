"""The limits of kernels, as plain Python: what counts as rounding, singular or lost just below and just above each."""

from types import SimpleNamespace

import numpy as np
import pytest

import treesim
from tests.contact.scenes import at, free_body, shape
from treesim import Tree
from treesim.kernels.algebra import blocks, cholesky
from treesim.kernels.algebra.tables import tree_tables
from treesim.kernels.contact.candidates import contacts_memory
from treesim.kernels.contact.collision import find_contacts
from treesim.kernels.contact.delassus import move_bodies, place, rows_memory
from treesim.kernels.contact.tables import touch_tables
from treesim.kernels.entries.status import FINE, NOT_FINITE, status_of_quaternions
from treesim.kernels.published import conjugate_gradient
from treesim.kernels.published.parallel import assemblies, assembly_tables, constraint_force
from treesim.kernels.stepping.constrained_step import within_energy
from treesim.model.inertia import Inertia
from treesim.model.joints import Joint
from treesim.model.quaternions import of_unit_length
from treesim.model.tree import Body


def one_body(kind, inertia=None):
    """A robot of one body, and its tables."""
    inertia = Inertia(2.0, np.zeros(3), np.eye(3)) if inertia is None else inertia
    robot = Tree("one", [Body("body", 0, Joint("joint", kind), inertia)])
    return robot, tree_tables(robot.ints, robot.reals)


@pytest.mark.parametrize(("length", "accepted"), [(0.99897, False), (0.99903, True), (1.00097, True), (1.00103, False)])
def test_quaternions_have_length_1_to_a_thousandth(length, accepted):
    q = np.array([0.6 * length, 0, 0, 0.8 * length])
    robot, _ = one_body("spherical")
    assert status_of_quaternions(robot.ints, q) == (FINE if accepted else NOT_FINITE)
    assert bool(of_unit_length(robot, q)) == accepted


@pytest.mark.parametrize(
    ("rows", "below", "above"),
    [
        (lambda x: [[1.0, 1.0], [1.0, 1 + x]], 0.96e-12, 1.04e-12),  # a pivot is rounding
        (lambda x: [[1.0, 0.0], [0.0, x]], 0.96e-24, 1.04e-24),  # a diagonal entry is, too
    ],
)
def test_rows_depend_on_others_below_a_pivot_of_1e_12(rows, below, above):
    assert cholesky.factor(np.array(rows(below))) == 1
    assert cholesky.factor(np.array(rows(above))) == -1


@pytest.mark.parametrize(("pivot", "definite"), [(0.96e-12, False), (1.04e-12, True)])
def test_inertias_are_definite_above_a_pivot_of_1e_12(pivot, definite):
    matrix = np.eye(6)
    matrix[0, 1] = matrix[1, 0] = 1
    matrix[1, 1] = 1 + pivot
    inertia = blocks.articulated_of_block(matrix)
    assert bool(blocks.factor_inertia(inertia, np.empty((6, 6)), np.empty((6, 6)))) == definite


@pytest.mark.parametrize(("moment", "regular"), [(0.96e-14, False), (1.04e-14, True)])
def test_joints_move_inertia_above_1e_14_of_a_diagonal_entry(moment, regular):
    """A floating body: its inertia about its centre of mass, against that about an origin 1 m away."""
    robot, tree = one_body("floating", Inertia(1.0, np.array([1.0, 0, 0]), moment * np.eye(3)))
    Phi, vectors = conjugate_gradient.scratch_for(tree, robot.neutral())
    assert bool(conjugate_gradient.factor_blocks(tree, robot.neutral(), vectors.X, vectors.R, Phi)) == regular


@pytest.mark.parametrize(("across", "kept"), [(0.97e-6, True), (1.03e-6, False)])
def test_assemblies_lose_digits_when_a_millionth_is_across_a_joint(across, kept):
    robot, tree = one_body("revolute")
    memory = assembly_tables.memory_of(tree, np.zeros(2 * assembly_tables.NUMBERS_PER_BODY))
    assemblies.place_base(tree, memory)
    assemblies.place(tree, robot.neutral(), np.zeros(1), memory, 1, 2)
    memory.A[0], memory.A[1, tree.screw[0]], memory.A[1, 5] = 0.0, 1.0, across
    qdd = np.empty(1)
    assemblies.read_accelerations(tree, memory, qdd, 1, 2)
    assert qdd[0] == 1.0 and (memory.margin[1] >= 0) == kept


@pytest.mark.parametrize(("across", "kept"), [(0.97e-3, True), (1.03e-3, False)])
def test_constraint_forces_leave_a_thousandth_across_a_joint(across, kept):
    """Of the body's acceleration and of that in its joint together."""
    _, tree = one_body("revolute")
    memory = SimpleNamespace(
        X=np.zeros((2, 12)), a=np.zeros((2, 6)), c=np.zeros((2, 6)), u=np.zeros((2, 6)),
        compliance=np.zeros((2, 6)), unsound=np.zeros(2, int),
    )  # fmt: skip
    memory.X[1, [0, 4, 8]] = 1
    memory.compliance[1, tree.screw[0]] = constraint_force.FREE
    memory.a[1, tree.screw[0]], memory.a[1, 5] = 1.0, across * np.sqrt(2)
    qdd = np.empty(1)
    constraint_force.joint_acceleration(tree, memory, 1, qdd)
    assert qdd[0] == 1.0 and (memory.unsound[1] == 0) == kept


def test_corrections_add_a_hundredth_of_the_energy_or_that_of_a_millimetre_per_second():
    """Of 2 kg: a correction of which a part x adds x^2 J adds no more than that."""
    _, tree = one_body("prismatic")
    at_rest = SimpleNamespace(V=np.zeros((2, 6)))
    assert within_energy(tree, at_rest, 0.0, 1.0) == pytest.approx(1e-3, rel=0.02)
    moving = SimpleNamespace(V=np.zeros((2, 6)))
    moving.V[1, 5] = 3.0  # m/s: 9 J
    assert within_energy(tree, moving, 0.0, 1.0) == pytest.approx(0.3, rel=0.02)


@pytest.mark.parametrize(("corners", "kept"), [(3, 3), (4, 4), (5, 4)])
def test_a_pair_has_four_contacts(corners, kept):
    """A foot with so many corners on the ground, whose stiffness is shared by as many contacts."""
    angle = np.linspace(0, 2 * np.pi, corners, endpoint=False)
    foot = np.column_stack([np.cos(angle), np.sin(angle), np.zeros(corners)])
    robot, q = free_body(1.0, 1.0, shape("hull", (), vertices=foot)), at((0, 0, 0))
    touching = treesim.World(robot, ground=treesim.Ground(stiffness=1200.0)).touching
    tree, touch = tree_tables(robot.ints, robot.reals), touch_tables(touching.layout, touching.geometry)
    bodies, memory = rows_memory(tree, 1, q), contacts_memory(touch, q)
    place(tree, q, bodies)
    move_bodies(tree, bodies, np.zeros(6))
    assert find_contacts(touch, bodies, 1e-3, 1e-3, np.empty((0, 9)), memory) == kept == touch.capacity
    assert touch.surface[0, 2] == 1200.0 / kept
