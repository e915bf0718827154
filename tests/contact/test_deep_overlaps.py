"""Fast bodies end on the surface they hit, and a warning names those that end below it."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import treesim
from treesim import ContactWarning, Ground, World, free_body
from treesim.contact import deep_overlaps
from treesim.contact.history import ContactHistory
from treesim.kernels.contact.layout import INFO, PAIR, STATE_INFO
from treesim.kernels.contact.tables import touch_tables

pytestmark = [
    pytest.mark.filterwarnings("error::treesim.ContactWarning"),
    pytest.mark.filterwarnings("ignore::treesim.EnergyWarning"),
]


def thrown(size, seed, integrator="implicit_midpoint", **ground):
    """A cube that turns and hits the ground at 100 m/s: its simulation, and its start."""
    rng = np.random.default_rng(seed)
    cube = free_body("cube", "box", (size,) * 3, 1.0)
    q, v = cube.neutral(), np.zeros(6)
    q[2], turn = 1 + rng.uniform(0, 0.1), rng.normal(size=4)
    q[3:], v[2] = turn / np.linalg.norm(turn), -100
    v[3:] = 10 * rng.normal(size=3)
    return treesim.Simulation(World(cube, ground=Ground(friction=0.5, **ground)), 1e-3, integrator=integrator), q, v


@pytest.mark.parametrize("integrator", ["implicit_midpoint", "semi_implicit_euler"])
def test_cubes_that_turn_do_not_sink_in(integrator):
    """All corners that may arrive in the step have rows: the first alone would turn a cube below the ground."""
    for size, seed in ((0.02, 2), (0.03, 11), (0.05, 2), (0.05, 7)):
        simulation, *start = thrown(size, seed, integrator)
        assert simulation.run(0.03, *start).penetration.max() < 1e-3 * size


def test_a_run_warns_of_what_ends_deep():
    simulation, *start = thrown(0.02, 44, "semi_implicit_euler")
    with pytest.warns(
        ContactWarning, match=r"'cube', of radius 0.0173 m, is up to 0.00\d+ m deep .* smaller dt"
    ) as found:
        run = simulation.run(0.03, *start)
    (text,) = (str(one.message) for one in found if one.category is ContactWarning)
    assert f"{run.penetration.max():.3g} m deep" in text


@pytest.mark.parametrize(("part", "expected"), [(0.048, False), (0.052, True)])
def test_what_is_deep_is_a_twentieth_of_a_radius(part, expected):
    """After steps of one state, of a simulation, and of rollouts; the radius is half the diagonal of the cube."""
    touching = thrown(0.02, 17)[0].world.touching
    solver_info, wrench = np.zeros((2, STATE_INFO)), np.ones((2, 2, 6))
    solver_info[1, INFO.penetration] = depth = part * 0.01 * 3**0.5
    report = SimpleNamespace(touching=touching, solver_info=solver_info[1], wrench_array=wrench[1])
    checks = SimpleNamespace(growth=np.array([depth]), body=np.array([1]), step=np.array([3]))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        deep_overlaps.warn_of_step(report, ("cube",), 1e-3)
        deep_overlaps.warn_of_run(touching, ContactHistory(("cube",), wrench[:, 1:], solver_info), np.arange(2), 1e-3)
        deep_overlaps.warn_of_states(touching, checks, ("cube",), 1e-3, "rollouts")
    assert ["'cube', of radius 0.0173 m, is up to" in str(one.message) for one in caught] == 3 * expected * [True]


@pytest.mark.parametrize("states", [1, 3])
def test_a_stepper_warns_once_of_what_ends_deep(states):
    simulation, q, v = thrown(0.02, 44, "semi_implicit_euler")
    stepper = treesim.Stepper(simulation.world, 1e-3, integrator="semi_implicit_euler")
    state = stepper.reset(*(np.tile(x, (states, 1)) if states > 1 else x for x in (q, v)))
    with pytest.warns(ContactWarning, match="'cube', of radius") as found:
        for _ in range(30):
            state, _ = stepper.step(state)
    assert len([one for one in found if one.category is ContactWarning]) == 1


@pytest.mark.parametrize("engine", ["auto", "generic"])
def test_rollouts_warn_once_of_what_ends_deep(engine):
    """The second rollout is the cube of the tests above; the others fly. The generic engine does not use lanes."""
    simulation, q, v = thrown(0.02, 44, "semi_implicit_euler")
    q, v = np.tile(q, (3, 1)), np.tile(v, (3, 1))
    q[[0, 2], 2] += 50
    with pytest.warns(
        ContactWarning, match=r"'cube', of radius 0.0173 m, .* step \d+ of number 1, the worst of 1"
    ) as found:
        treesim.rollout(simulation.world, q, v, steps=30, integrator="semi_implicit_euler", engine=engine)
    assert len([one for one in found if one.category is ContactWarning]) == 1


def test_a_batch_stepper_warns_once_of_what_ends_deep():
    simulation, q, v = thrown(0.02, 44, "semi_implicit_euler")
    stepper = treesim.BatchStepper(simulation.world, 2, integrator="semi_implicit_euler")
    stepper.put(slice(0, 2), q, v)
    with pytest.warns(ContactWarning, match=r"'cube', of radius .* such states") as found:
        for _ in range(30):
            stepper.step()
    assert len([one for one in found if one.category is ContactWarning]) == 1
    q[2:], v[:] = (0.005, 0, 0, 0, 1), 0  # a start that overlaps is no growth
    stepper = treesim.BatchStepper(simulation.world, 2, integrator="semi_implicit_euler")
    stepper.step()
    stepper.put(slice(0, 1), q, v)
    stepper.step()
    stepper.step()


def test_soft_surfaces_and_starts_that_overlap_are_not_warned_of():
    simulation, *start = thrown(0.02, 44, "semi_implicit_euler", stiffness=1e5)
    simulation.run(0.03, *start)
    simulation, q, _ = thrown(0.05, 1)
    q[2:] = 0.02, 0, 0, 0, 1
    simulation.run(0.02, q)


def test_rollouts_on_lanes_do_not_sink_in():
    """Corners of cubes that hit the ground among others, at the end of every step."""
    size = 0.02
    throws = [thrown(size, seed) for seed in range(8)]
    q, v = (np.array([throw[k] for throw in throws]) for k in (1, 2))
    runs = treesim.rollout(throws[0][0].world, q, v, dt=1e-3, steps=30)
    x, y, z, w = np.moveaxis(runs.q[..., 3:], -1, 0)
    up = np.stack([2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)], axis=-1)
    lowest = runs.q[..., 2] - size / 2 * np.abs(up).sum(axis=-1)
    hit = np.linalg.norm(runs.v[:, -1, :3], axis=1) < 90  # the others fly elsewhere: velocities are in body axes
    assert hit.sum() >= 3 and lowest.min() > -1e-3 * size


def test_a_body_has_the_radius_of_its_largest_shape():
    robot = treesim.load("anymal_c", base="floating")
    touching = World(robot, ground=Ground(), bodies=free_body("ball", "sphere", (0.3,), 1.0)).touching
    tables = touch_tables(touching.layout, touching.geometry)
    for body, radius in zip(touching.bodies, touching.radii, strict=True):
        own = tables.ball[tables.pair[:, PAIR.body] == body, 3]
        assert radius == (own.max() if own.size and own.max() > 0 else np.inf)
    assert len(set(touching.radii)) > 2
