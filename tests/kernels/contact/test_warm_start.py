"""Stored impulses: a list of contacts, sorted by slot, in which any slot is found, and which nothing breaks."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import treesim
from treesim.kernels.contact.one_state import IMPULSES
from treesim.kernels.contact.warm_start import end_of_entries, put_order, stored_contacts, stored_number

RULES = ("implicit_midpoint", "semi_implicit_euler")
BAD = (np.nan, np.inf, -np.inf, -1.0, 1e300, 1e9)


def touch_of(stored, resists=0):
    return SimpleNamespace(stored=stored, resists=resists)


def list_of(slots, room, resists=0, at=0):
    """The array of a state with contacts in these slots, whose first impulse is the contact's number."""
    size = 4 + 3 * resists
    x = np.full(at + 1 + size * room, np.nan)
    x[at] = len(slots)
    for k, slot in enumerate(slots):
        x[at + 1 + size * k : at + 1 + size * (k + 1)] = slot, k, *np.zeros(size - 2)
    return x


@pytest.mark.parametrize("resists", [0, 1])
def test_slots_are_found_whatever_is_guessed(resists):
    rng = np.random.default_rng(0)
    for count in (0, 1, 2, 3, 8, 21):
        slots = np.sort(rng.integers(0, 30, count))  # some contacts share their slot
        touch, x = touch_of(25, resists), list_of(slots, 25, resists, at=3)
        for slot in range(-1, 31):
            ends = {end_of_entries(touch, x, 3, slot, guess) for guess in range(count + 3)}
            assert ends == {np.searchsorted(slots, slot, "right")}
            found = stored_number(touch, x[3:], ends.pop(), slot, 0)
            same = np.flatnonzero(slots == slot)
            assert found == (same[-1] if same.size else 0), "the last contact of a slot, or nothing"


@pytest.mark.parametrize("count", [*BAD, 6.0])
def test_a_count_that_cannot_be_is_none(count):
    x = list_of([1, 2], 5)
    x[0] = count
    assert stored_contacts(touch_of(5), x, 0) == 0
    assert end_of_entries(touch_of(5), x, 0, 2, 1) == 0


def test_contacts_are_ordered_by_slots_and_equal_slots_by_their_numbers():
    rng = np.random.default_rng(1)
    for _ in range(20):
        pair = np.sort(rng.integers(0, 6, 15))
        slot = 4 * pair + rng.integers(0, 4, 15)
        m = SimpleNamespace(contacts=SimpleNamespace(pair=pair, slot=slot, order=np.full(15, np.nan)))
        put_order(m, 15, IMPULSES)
        assert (m.contacts.order[np.argsort(slot, kind="stable")] == np.arange(15)).all()


def stack(**surface):
    """Three boxes on each other and on a plane, the uppermost pushed."""
    boxes = [treesim.free_body(f"box_{k}", "box", (0.2,) * 3, 1.0) for k in range(3)]
    ground = treesim.Ground(friction=0.5, **surface)
    world = treesim.World(boxes[0], bodies=boxes[1:], ground=ground, surface=treesim.Surface(friction=0.5, **surface))
    q, v = world.robot.neutral(), np.zeros(18)
    q[2::7], v[12] = (0.1, 0.3, 0.5), 0.5
    return world, q, v


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("surface", [{}, {"torsional_friction": 0.01, "rolling_friction": 0.01}], ids=["", "rolling"])
def test_a_state_lists_its_contacts(rule, surface):
    world, q, v = stack(**surface)
    stepper = treesim.Stepper(world, integrator=rule)
    state, _ = stepper.step(stepper.reset(q, v))
    state, report = stepper.step(state)
    size, count = world.touching.stored_size, report.contact.count
    entries = state.contact[1:].reshape(-1, size)
    assert state.contact[0] == count == 12 and state.contact.size == world.touching.warm_start_size
    assert (np.diff(entries[:12, 0]) > 0).all() and (entries[:12, 3] > 0).all()
    assert not entries[12:].any(), "no more contacts are listed"
    assert not surface or entries[:12, 4:].any()


@pytest.mark.parametrize("bad", BAD)
def test_bad_impulses_are_no_more_than_a_bad_start(bad):
    world, q, v = stack()
    stepper = treesim.Stepper(world, integrator="semi_implicit_euler")
    state, _ = stepper.step(stepper.reset(q, v))
    contact = state.contact.copy()
    contact[0] = bad
    after, report = stepper.step(replace(state, contact=contact))
    assert report.status == 0 and report.contact.residual <= 1e-9
    contact = state.contact.copy()
    contact[1::4] = bad  # slots
    after, report = stepper.step(replace(state, contact=contact))
    assert report.status == 0 and report.contact.residual <= 1e-9 and np.isfinite(after.q).all()


def test_memory_of_impulses_grows_as_the_number_of_bodies():
    sizes = [boxes(n).touching.warm_start_size for n in (10, 40)]
    assert sizes[1] < 4 * sizes[0]


def boxes(count):
    first, *others = (treesim.free_body(f"box_{k}", "box", (0.2,) * 3, 1.0) for k in range(count))
    return treesim.World(first, bodies=others, ground=treesim.Ground())


def test_contacts_without_room_start_from_zero(monkeypatch):
    world, q, v = stack()
    monkeypatch.setattr("treesim.contact.tables.CAPACITY", 5)
    monkeypatch.setattr("treesim.contact.tables.STORED", 0)
    narrow, _, _ = stack()
    states = []
    for each in (world, narrow):
        stepper = treesim.Stepper(each, integrator="semi_implicit_euler")
        state = stepper.reset(q, v)
        for _ in range(5):
            state, report = stepper.step(state)
            assert report.contact.count == 12 and report.contact.residual <= 1e-9
        states.append(state)
    listed, few = (state.contact[1:].reshape(-1, 4) for state in states)
    assert states[1].contact[0] == len(few) == 5 and (few[:, 0] == listed[:5, 0]).all()
