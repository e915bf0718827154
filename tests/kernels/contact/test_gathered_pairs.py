"""Rows of pairs of free bodies that steps gather are those of tables with a row of each pair."""

import numpy as np
import pytest

import treesim
from tests.kernels.contact.test_near_pairs import State, random_rotation, robot_of, state_of
from treesim.contact import shape_pairs
from treesim.kernels.contact.collision import VARIANTS, find_contacts
from treesim.kernels.contact.gathered_pairs import NONE, gathered_row
from treesim.kernels.contact.layout import PAIR
from treesim.kernels.contact.near_pairs import list_near, listed

pytestmark = pytest.mark.nojit
SIZES = {"box": (0.2, 0.3, 0.25), "sphere": (0.1,), "capsule": (0.08, 0.2)}
OWN = ("first_point", "first_slot", "number")  # columns that refer to other tables


@pytest.fixture
def worlds(monkeypatch):
    """The same world with gathered rows and with a row of each pair: two arms, and bodies of three kinds of shapes."""
    rng = np.random.default_rng(2)
    kinds = [str(kind) for kind in rng.choice(list(SIZES), 20)]
    bodies = [treesim.free_body(f"b{k}", kind, SIZES[kind], 1.0) for k, kind in enumerate(kinds)]
    surfaces = {f"b{k}": treesim.Surface(friction=0.3, restitution=0.1 * (k % 2)) for k in range(0, 20, 5)}
    grounds = [treesim.Ground(), treesim.StaticBox((0.5,) * 3, treesim.Placement(rotation=random_rotation(rng)))]
    pairs = {("b3", "b7"): treesim.Surface(friction=0.05), ("b4", "ground"): treesim.Surface(friction=0.9)}
    robot, made = robot_of(rng), []
    for few in (16, 100):
        monkeypatch.setattr(shape_pairs, "FEW_FREE", few)
        made.append(treesim.World(robot, ground=grounds, bodies=bodies, surfaces=surfaces, pairs=pairs))
    return made


def numbers_of(tables):
    """Numbers of all pairs of a world with gathered rows, ascending, and the tables after the last row is gathered."""
    touch = VARIANTS[tables.solids].tables(tables.layout, tables.geometry)
    every = range(touch.ready + 2 * touch.shapes**2)
    return [k for k in every if gathered_row(touch, k, 0) != NONE], touch


def test_gathered_rows_are_those_of_full_tables(worlds):
    gathered, full = (world.touching for world in worlds)
    numbers, touch = numbers_of(gathered)
    expected = VARIANTS[full.solids].tables(full.layout, full.geometry)
    assert (touch.shapes, touch.kinds) == (20, 9) and expected.shapes == 0 and len(numbers) == full.counts.pairs
    assert gathered.groups == full.groups and gathered.counts.groups == full.counts.groups == len(full.groups)
    assert gathered.most_contacts == full.most_contacts and gathered.longest_name == full.longest_name
    columns, last = [k for name, k in PAIR._asdict().items() if name not in OWN], -1
    for row, number in enumerate(numbers):
        k = gathered_row(touch, number, 3)
        assert touch.pair[k, PAIR.number] == number and expected.pair[row, PAIR.number] == row
        assert k == (number if number < touch.ready else touch.ready + 3)
        assert touch.pair[k, columns].tolist() == expected.pair[row, columns].tolist()
        points = [x.point[x.pair[y, PAIR.first_point]] for x, y in ((touch, k), (expected, row))]
        assert points[0].tolist() == points[1].tolist()
        for name in ("solid", "size", "surface", "mu", "ball"):
            assert np.array_equal(getattr(touch, name)[k], getattr(expected, name)[row])
        assert gathered.names_of(number) == full.names_of(row)
        slots = touch.pair[k, PAIR.first_slot] + np.array([0, touch.pair[k, PAIR.slots] - 1])
        assert last < slots[0] and slots[1] < gathered.counts.slots
        last = slots[1]


def test_contacts_are_those_of_full_tables(worlds):
    """Also if the list of near pairs has too little room, so that all are considered."""
    (gathered, full), rng, count = worlds, np.random.default_rng(1), 0
    numbers, _ = numbers_of(gathered.touching)
    for spread, speed, dt, room in ((0.3, 0.0, 1e-3, None), (0.6, 3.0, 1e-2, 40)):
        q, v = state_of(rng, full.robot, spread), rng.normal(size=full.robot.nv) * speed
        every = []
        for world in worlds:
            state = State(world.robot, world.touching, q, v)
            if room is not None and world is gathered:
                near = state.memory.near
                state.memory = state.memory._replace(near=near._replace(pair=near.pair[:room]))
                n = list_near(state.touch, state.bodies, dt, 2e-3, state.memory.near)
                assert n == state.touch.ready + 2 * 20**2 and listed(state.memory.near, 7, n) == 7
            n = find_contacts(
                state.touch, state.bodies, dt, 2e-3, np.full((1, 9), -1.0), state.memory,
                VARIANTS[world.touching.solids],
            )  # fmt: skip
            m = state.memory
            pairs = state.touch.pair[m.pair[:n], PAIR.number].tolist()
            every.append((pairs, np.column_stack([m.gap[:n], m.point[:n], m.normal[:n]])))
        assert every[0][0] == [numbers[row] for row in every[1][0]]
        np.testing.assert_array_equal(every[0][1], every[1][1])
        count += len(every[0][0])
    assert count > 30
