"""Impulses that older versions stored, three for each slot: runs continue from them to the bit."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

import treesim
from treesim.contact.stored_impulses import clear_unlisted, current_impulses

ROLLING = {"torsional_friction": 0.01, "rolling_friction": 0.01}


def hinged_box(**surface):
    """A world with contacts and joint limits."""
    inertia = treesim.Inertia(1.0, (0, 0, 0), 0.01 * np.eye(3))
    free, hinge = treesim.Joint("free", "floating"), treesim.Joint("hinge", "revolute", lower=-0.1, upper=0.1)
    bodies = [treesim.Body("box", 0, free, inertia), treesim.Body("arm", 1, hinge, inertia)]
    shapes = [
        treesim.CollisionShape(1, treesim.Placement(), "box", size=(0.2, 0.2, 0.2), link="box"),
        treesim.CollisionShape(2, treesim.Placement(translation=(0.3, 0, 0)), "sphere", size=(0.1,), link="arm"),
    ]
    return treesim.World(treesim.Tree("robot", bodies, shapes=shapes), ground=treesim.Ground(**surface))


Q, V = [0, 0, 0.1, 0, 0, 0, 1, 0.1], [0.3, 0, 0, 0, 0, 0, 2.0]


def by_slot(contact, touching):
    """The impulses (R,) as older versions stored them."""
    n, rows, size = touching.counts, touching.scalar_rows, touching.stored_size
    linear, angular = np.zeros((n.slots, 3)), np.zeros((n.slots * n.resists, 3))
    for entry in contact[1 : 1 + size * int(contact[0])].reshape(-1, size):
        linear[int(entry[0])] = entry[1:4]
        if n.resists:
            angular[int(entry[0])] = entry[4:]
    return np.concatenate([linear.ravel(), contact[contact.size - rows :], angular.ravel()])


@pytest.mark.parametrize("surface", [{}, ROLLING], ids=["", "rolling"])
def test_a_state_of_an_older_version_goes_on(surface):
    world = hinged_box(**surface)
    stepper = treesim.Stepper(world, integrator="semi_implicit_euler")
    state, _ = stepper.step(stepper.reset(Q, V))
    old = by_slot(state.contact, world.touching)
    assert old.any() and old.size != state.contact.size
    assert (current_impulses(old, world.touching) == state.contact).all()
    assert (current_impulses(np.stack([old, 0 * old]), world.touching)[0] == state.contact).all()
    expected, _ = stepper.step(state)
    after, report = stepper.step(replace(state, contact=old))
    assert (after.q == expected.q).all() and (after.v == expected.v).all() and report.status == 0
    simulation = treesim.Simulation(world, integrator="semi_implicit_euler")
    assert (simulation.run_from(0.001, replace(state, contact=old)).q[-1] == expected.q).all()


def test_impulses_of_another_world_do_not_fit():
    touching = hinged_box().touching
    assert current_impulses(np.zeros(touching.warm_start_size + 1), touching) is None
    assert current_impulses(np.array(0.0), touching) is None


def test_a_batch_of_an_older_version_goes_on():
    world = hinged_box()
    stepper = treesim.BatchStepper(world, 3, integrator="semi_implicit_euler")
    stepper.put(slice(0, 3), Q, V)
    stepper.step(np.zeros((3, 7)))
    *_, state = stepper.__reduce__()
    impulses = state.impulses
    old = np.stack([by_slot(each, world.touching) for each in impulses])
    other = pickle.loads(pickle.dumps(stepper))
    other.__setstate__(state._replace(impulses=old))
    for each in (stepper, other):
        each.step(np.zeros((3, 7)))
    assert (stepper.q == other.q).all() and (stepper.v == other.v).all()
    with pytest.warns(treesim.errors.ContinuationWarning, match="do not fit this version"):
        other.__setstate__(state._replace(impulses=impulses[:, 1:]))


def test_numbers_behind_the_listed_contacts_are_cleared():
    touching = hinged_box().touching
    x = np.ones((2, touching.warm_start_size))
    x[1, 0] = 0.0
    clear_unlisted(x, touching)
    assert (x[0, :5] == 1).all() and not x[0, 5 : x.shape[1] - 2].any()
    assert not x[1, : x.shape[1] - 2].any() and (x[:, -2:] == 1).all()
