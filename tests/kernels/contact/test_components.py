"""Components of contact: what a body does depends on those alone that contacts connect it with."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

import treesim
from treesim.contact.subtrees import subtrees_of
from treesim.kernels.contact.component_functions import SEVERAL, component_memory, find_components, keep_component
from treesim.kernels.contact.components import (
    SortedContacts,
    all_subtrees,
    components_memory,
    has_constraints,
    put_starts,
)
from treesim.kernels.contact.layout import INFO, PAIR, RESULT_INFO, SUBTREE
from treesim.kernels.contact.one_state import IMPULSES

DT = 1e-3
RULES = ["semi_implicit_euler", "implicit_midpoint"]


def touching_of(count, edges, kinematic=(), constrained=(), component=1000):
    """Tables of `count` free bodies whose pair k is edges[k]."""
    pair, table = np.zeros((len(edges), len(PAIR)), np.int64), np.zeros((count + 1, len(SUBTREE)), np.int64)
    pair[:, PAIR.body], pair[:, PAIR.solid_body] = np.reshape(edges, (-1, 2)).T
    table[:, SUBTREE.body], table[:, SUBTREE.dof] = np.arange(1, count + 2), 6 * np.arange(count + 1)
    subtree_of = np.r_[-1, np.arange(count)]
    for i in kinematic:
        table[i - 1, SUBTREE.kinematic], subtree_of[i] = 1, -1
    for i in constrained:
        table[i - 1, SUBTREE.constrained] = 1
    return SimpleNamespace(
        capacity=max(len(edges), 1), most=4, pair=pair, subtree=table, subtree_of=subtree_of, component=component,
        reports_points=0,
    )  # fmt: skip


class Room:
    """Memory of a step with a contact for each pair."""

    def __init__(self, touch):
        self.touch, self.components = touch, components_memory(touch, 100, np.zeros(1))
        self.info, self.count, C = np.zeros(RESULT_INFO), np.zeros(1), touch.capacity
        self.contacts = SortedContacts(
            np.arange(C), np.arange(C), np.arange(C) + 0.5, *np.zeros((2, C, 3)), np.arange(C)
        )
        self.points, self.rows = np.zeros((1, 17)), SimpleNamespace(_replace=SimpleNamespace)
        self.rows.component = all_subtrees(touch)

    def _replace(self, **changes):
        return SimpleNamespace(touch=self.touch, **changes)

    def found(self, nc):
        """The subtrees and the contacts of each component."""
        count = find_components(self, nc, False, SimpleNamespace(impulses=IMPULSES))
        parts = [component_memory(self, k, nc) for k in range(count)]
        return [(part.rows.component.subtrees.tolist(), part.contacts.pair.tolist()) for part, _ in parts]


@pytest.mark.parametrize("seed", range(6))
def test_components_are_those_of_the_graph_of_contacts(seed):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 60))
    kinematic = {int(i) for i in rng.integers(1, count + 1, count // 6)}
    edges = rng.integers(0, count + 1, (int(rng.integers(0, 2 * count)), 2))
    edges = np.array([(a, b) for a, b in edges if a != b and not {int(a), int(b)} <= kinematic | {0}]).reshape(-1, 2)
    found = Room(touching_of(count, edges, kinematic)).found(len(edges))
    joined = np.array([(a, b) for a, b in edges if not {int(a), int(b)} & (kinematic | {0})]).reshape(-1, 2)
    graph = coo_matrix((np.ones(len(joined)), joined.T - 1), (count, count))
    _, label = connected_components(graph, directed=False)
    moving = [i for i in range(1, count + 1) if i not in kinematic]
    expected = {tuple(i - 1 for i in moving if label[i - 1] == k) for k in {label[i - 1] for i in moving}}
    assert {tuple(subtrees) for subtrees, _ in found} == expected
    assert [subtrees[0] for subtrees, _ in found] == sorted(subtrees[0] for subtrees, _ in found)
    for subtrees, contacts in found:
        own = [k for k, edge in enumerate(edges) if {int(i) - 1 for i in edge} & {*subtrees}]
        assert sorted(contacts) == own


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_contacts_depends_on_the_subtrees_that_touch(seed):
    """And on no other contact: of a part of the contacts, between the same subtrees, the order is the same."""
    rng = np.random.default_rng(seed)
    edges = np.sort(rng.integers(0, 12, (14, 2)), axis=1)
    edges = np.repeat(edges[edges[:, 0] != edges[:, 1]], 4, axis=0)[
        rng.permutation(4 * sum(edges[:, 0] != edges[:, 1]))
    ]
    _, first = np.unique(edges, axis=0, return_index=True)
    part = np.unique(np.r_[first, rng.integers(0, len(edges), 10)])
    every = [contacts for _, contacts in Room(touching_of(12, edges)).found(len(edges))]
    some = [[part[c] for c in contacts] for _, contacts in Room(touching_of(12, edges[part])).found(len(part))]
    assert some == [[c for c in contacts if c in part] for contacts in every]


def test_kinematic_and_static_bodies_join_nothing():
    edges = [(1, 2), (3, 2), (1, 0), (3, 0)]
    assert Room(touching_of(3, edges, {2})).found(4) == [([0], [0, 2]), ([2], [1, 3])]
    assert Room(touching_of(3, edges)).found(4) == [([0, 1, 2], [0, 2, 1, 3])]


@pytest.mark.parametrize("seed", range(3))
def test_contacts_of_a_row_of_bodies_are_sorted_along_it(seed):
    """Bodies in any order, each on the plane and at the next; the search begins at the end of smaller number."""
    row = np.random.default_rng(seed).permutation(9) + 1
    edges = sorted([(int(a), 0) for a in row] + [(int(min(a, b)), int(max(a, b))) for a, b in pairwise(row)])
    ((_, contacts),) = Room(touching_of(9, edges)).found(len(edges))
    place = {int(a): k for k, a in enumerate(row if row[0] < row[-1] else row[::-1])}
    places = [sorted(place[i] for i in edges[c] if i) for c in contacts]
    assert [first for first, *_ in places] == sorted(first for first, *_ in places) and places[0][0] == 0


def test_all_constraints_are_those_of_one_component():
    room = Room(touching_of(4, [(1, 0), (2, 0)], constrained={1, 3}))
    assert [subtrees for subtrees, _ in room.found(2)] == [[0, 2], [1], [3]]
    parts = [component_memory(room, k, 2)[0].rows.component for k in range(3)]
    assert [has_constraints(part) for part in parts] == [True, False, False]


@pytest.mark.parametrize(("component", "left_out"), [(3, 0), (2, 1)])
def test_contacts_beyond_the_room_are_counted(component, left_out):
    room = Room(touching_of(2, [(1, 0), (2, 0), (1, 0), (1, 0)], component=component))
    contacts = [own for _, own in room.found(4)]
    assert contacts == [[0, 2, 3][: 3 - left_out], [1]]
    assert (room.info[INFO.left_out], room.info[INFO.largest]) == (left_out, 3)


@pytest.mark.parametrize("order", [(1, 0), (0, 1)])
def test_a_residual_that_is_no_number_is_kept(order):
    room = Room(touching_of(2, [(1, 0), (2, 0)]))
    assert find_components(room, 2, False, SimpleNamespace(impulses=IMPULSES)) == 2
    for k in order:
        part, _ = component_memory(room, k, 2)
        part.info[INFO.residual], part.info[INFO.iterations] = (np.nan, 3) if k else (1e-3, 5)
        keep_component(room, part, 3, False, False, SimpleNamespace(components=SEVERAL))
    assert np.isnan(room.info[INFO.residual]) and room.info[INFO.iterations] == 5
    assert room.info[INFO.island] == 1 and room.info[INFO.components] == 2


def test_starts():
    start, place = np.zeros(4, np.int64), np.zeros(3, np.int64)
    put_starts(np.array([2, 0, -1, 2]), 4, 3, start, place)
    assert start.tolist() == [0, 1, 1, 3] and place.tolist() == [0, 1, 1]


def test_subtrees_of_worlds():
    """A robot on a fixed base is one subtree, another robot and each free body are others."""
    panda, box = treesim.load("panda"), treesim.free_body("box", "box", (0.1,) * 3, 1.0)
    robot = treesim.World(panda, bodies=[box, treesim.load("ur5"), box.with_name("other")]).robot
    table, subtree_of, several = subtrees_of(robot, (), (), (1, 1 + panda.n_bodies, 2 + panda.n_bodies), ([], [], []))
    assert several and len(table) == 5 and subtree_of[0] == -1 and max(subtree_of) == 3
    assert [row.dof for row in table] == sorted(row.dof for row in table) and table[-1].dof == robot.spanning.nv
    alone, _, several = subtrees_of(panda, (), (), (1,), ([], [], []))
    assert not several and len(alone) == 2 and alone[0].constrained == 1  # its fingers mimic each other


def test_interleaved_subtrees_are_one():
    hinge, still = treesim.Joint("a", "floating"), treesim.Inertia(1.0, (0, 0, 0), np.eye(3))
    bodies = [
        treesim.Body("a", 0, hinge, still), treesim.Body("b", 0, treesim.Joint("b", "floating"), still),
        treesim.Body("c", 1, treesim.Joint("c", "revolute"), still),
        treesim.Body("d", 0, treesim.Joint("d", "floating"), still),
    ]  # fmt: skip
    table, subtree_of, _ = subtrees_of(treesim.Tree("mixed", bodies), (), (), (1,), ([], [], []))
    assert subtree_of == [-1, 0, 0, 0, 1] and [row.body for row in table] == [1, 4, 5]


def tower(count, x, prefix):
    """Bodies of a tower at x, their positions, and its top's kick."""
    bodies = [treesim.free_body(f"{prefix}{k}", "box", (0.2,) * 3, 1.0) for k in range(count)]
    q, v = np.zeros((count, 7)), np.zeros((count, 6))
    q[:, 0], q[:, 2], q[:, 6] = x, 0.1 + 0.2 * np.arange(count), 1.0
    q[:, 1] = 0.01 * np.arange(count) % 0.02
    v[-1, 0] = 1.5
    return bodies, q, v


def moved(parts, rule, steps, **options):
    """Configurations of each of several groups of bodies after steps of a world of all."""
    bodies = [body for group, _, _ in parts for body in group]
    ground = treesim.Ground(friction=0.5, **options)
    world = treesim.World(bodies[0], bodies=bodies[1:], ground=ground)
    stepper = treesim.Stepper(world, DT, integrator=rule, substeps=1)
    state = stepper.reset(
        np.concatenate([q.ravel() for _, q, _ in parts]), np.concatenate([v.ravel() for *_, v in parts])
    )
    for _ in range(steps):
        state, report = stepper.step(state)
    ends = np.cumsum([q.size for _, q, _ in parts])
    return np.split(state.q, ends[:-1]), report


@pytest.mark.parametrize("options", [{}, {"restitution": 0.5, "rolling_friction": 0.01}, {"stiffness": 1e5}], ids=str)
@pytest.mark.parametrize("rule", RULES)
def test_a_tower_has_the_bits_that_it_has_alone(rule, options):
    """Whatever the number of others, their order and what they do; here another one falls."""
    parts = [tower(3, 0.0, "a"), tower(4, 3.0, "b"), tower(2, 6.0, "c")]
    alone = [moved([part], rule, 120, **options)[0][0] for part in parts]
    together, report = moved(parts, rule, 120, **options)
    reversed_order, _ = moved(parts[::-1], rule, 120, **options)
    for one, other, third in zip(alone, together, reversed_order[::-1], strict=True):
        np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(one, third)
    assert report.contact.island_count == 3 and np.ptp([q[0] for q in together[:2]]) > 1


@pytest.mark.parametrize("rule", RULES)
def test_bodies_that_meet_have_equal_bits_before(rule):
    one, other, far = tower(1, 0.0, "a"), tower(1, 0.35, "b"), tower(1, 9.0, "c")
    other[2][:] = 0.0
    for steps, equal in ((80, True), (200, False)):
        apart = moved([one, far], rule, steps)[0][0]
        assert (moved([one, other], rule, steps)[0][0] == apart).all() == equal


@pytest.mark.parametrize("rule", RULES)
def test_bits_do_not_depend_on_the_number_of_bodies(rule):
    parts = [tower(3, 3.0 * k, f"{k}-") for k in range(5)]
    together, _ = moved(parts, rule, 60)
    np.testing.assert_array_equal(moved(parts[2:3], rule, 60)[0][0], together[2])
