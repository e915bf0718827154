"""Surfaces of links and of pairs: which one acts, how two are mixed, and refusals."""

import numpy as np
import pytest

import treesim
from treesim import ArgumentError, Ground, Surface, UnknownNameError, World
from treesim.contact.surfaces import mixed
from treesim.kernels.contact.tables import touch_tables
from treesim.simulation.serialization import plain, restored

ICE, RUBBER = Surface(friction=0.05), Surface(friction=1.25)


def box(name, z=0.1):
    return treesim.free_body(name, "box", (0.2, 0.2, 0.2), 1.0)


def world(**options):
    return World(box("one"), bodies=box("two"), ground=[Ground(friction=0.8), Ground(height=-5, name="low")], **options)


def friction(made, one, other):
    """The friction of a pair in the tables of contact."""
    tables = touch_tables(made.touching.layout, made.touching.geometry)
    (found,) = {tables.surface[k, 0] for k, names in enumerate(made.touching.links) if set(names) == {one, other}}
    return found


def test_a_pair_goes_before_links_and_these_are_mixed():
    made = world(surface=ICE)
    assert friction(made, "one", "two") == 0.05 and friction(made, "one", "ground[0]") == 0.8
    made = world(surface=ICE, surfaces={"one": RUBBER})
    assert friction(made, "one", "two") == 1.25
    assert friction(made, "one", "ground[0]") == pytest.approx(1.0) and friction(made, "two", "ground[0]") == 0.8
    made = world(surfaces={"one": RUBBER, "two": ICE}, pairs={("ground", "one"): Surface(friction=0.3)})
    assert friction(made, "two", "one") == pytest.approx(0.25)
    assert friction(made, "one", "ground[0]") == friction(made, "one", "low") == 0.3
    made = world(pairs={("ground", "one"): ICE, ("one", "low"): RUBBER, ("two", "one"): RUBBER})
    assert [friction(made, "one", name) for name in ("ground[0]", "low", "two")] == [0.05, 1.25, 1.25]


def test_mixed_springs_are_in_series():
    soft, hard = Surface(stiffness=1e3, dissipation_time=0.1), Surface(stiffness=3e3, restitution=0.2)
    found = mixed(soft, hard)
    assert found.stiffness == pytest.approx(750) and found.dissipation_time == pytest.approx(0.075)
    assert found.restitution == 0.2 and mixed(soft, Surface()).stiffness == pytest.approx(1e3)
    assert mixed(Surface(), Surface()) == Surface() and mixed(hard, soft) == found


def test_every_way_of_stepping_takes_the_surfaces_of_links():
    """On a slope of 1 in 2 the box with friction 1.25 stays, and the one with 0.05 slides."""
    slope, half = Ground(normal=(-1, 0, 2), friction=1.0), np.arctan(-0.5) / 2
    q, v = np.array([*(0.1 * np.array([-1, 0, 2]) / np.sqrt(5)), 0, np.sin(half), 0, np.cos(half)]), np.zeros(6)
    for name, slides in (("one", False), ("two", True)):
        made = World(box(name), ground=slope, surfaces={name: ICE if slides else RUBBER})
        run = treesim.Simulation(made, dt=1e-3).run(0.1, q, v)
        assert (np.linalg.norm(run.v[-1, :3]) > 0.1) == slides
        stepper, batch = treesim.Stepper(made, 1e-3), treesim.BatchStepper(made, 1, 1e-3, steps=100)
        state = stepper.reset(q, v)
        for _ in range(100):
            state, _ = stepper.step(state)
        batch.put(slice(1), q, v)
        batch.step()
        rolled = treesim.rollout(made, q, v, steps=100, dt=1e-3).v[0, -1]
        for found in (state.v, batch.v[0], rolled):
            np.testing.assert_allclose(found, run.v[-1], rtol=0, atol=1e-9)


def test_files_and_other_robots_keep_surfaces():
    made = world(surfaces={"one": RUBBER}, pairs={("one", "two"): ICE})
    for again in (restored(plain(made)), made.with_robot(made.alone)):
        assert again.surfaces == made.surfaces and again.pairs == made.pairs
        assert np.array_equal(again.touching.geometry, made.touching.geometry)


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"surfaces": {"on": RUBBER}}, UnknownNameError, "surfaces: link .* 'on': did you mean 'one'"),
        ({"surfaces": {"one": 0.5}}, ArgumentError, r"surfaces\['one'\] must be a Surface, got 0.5"),
        ({"surfaces": 3}, ArgumentError, "surfaces must be a mapping"),
        ({"pairs": {("one", "tow"): ICE}}, UnknownNameError, "pairs: .* 'tow': did you mean 'two'"),
        ({"pairs": {"one": ICE}}, ArgumentError, "keys must be two names, got 'one'"),
        ({"pairs": {("low", "ground"): ICE}}, ArgumentError, "never touch each other"),
        ({"pairs": {("one", "two"): ICE, ("two", "one"): RUBBER}}, ArgumentError, "is given twice"),
    ],
)
def test_wrong_names_and_values_are_refused(options, error, text):
    with pytest.raises(error, match=text):
        world(**options)


def test_ground_friction_does_not_replace_surfaces_of_links():
    made, v = world(surfaces={"one": ICE}), np.zeros(12)
    with pytest.raises(ArgumentError, match=r"ground_friction.* would replace the friction of links"):
        treesim.rollout(made, made.robot.neutral(), v, steps=1, model_parameters={"ground_friction": [0.1, 0.2]})
