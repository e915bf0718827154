"""Wrenches of pairs of bodies in worlds of many: a step does not compute them, and they are computed when read."""

import pickle

import numpy as np
import pytest

import treesim
from treesim.contact import contact_solve

RULES = ("implicit_midpoint", "semi_implicit_euler")


def tower(count):
    """Boxes on each other on a plane, and the start in which they touch."""
    boxes = [treesim.free_body(f"box_{k}", "box", (0.2,) * 3, 1.0) for k in range(count)]
    world = treesim.World(boxes[0], bodies=boxes[1:], ground=treesim.Ground(name="floor"))
    q = world.robot.neutral()
    q[2::7] = 0.2 * np.arange(count) + 0.1
    return world, q


def reports(world, q, rule):
    """Reports of steps of one state and of a batch, with substeps, and with a force on a box."""
    forces = {"box_1": [5.0, 0, 0, 0, 0, 1.0]}
    v = np.zeros((2, world.robot.nv))
    v[1, -6] = 0.3
    found = []
    for substeps in (1, 2):
        stepper = treesim.Stepper(world, integrator=rule, substeps=substeps)
        for start in (stepper.reset(q, v[1]), stepper.reset(np.tile(q, (2, 1)), v)):
            state, _ = stepper.step(start)
            found += [stepper.step(state)[1], stepper.step(state, f_ext=forces)[1]]
    return found


@pytest.mark.parametrize("rule", RULES)
def test_wrenches_that_are_computed_when_read_are_those_of_the_step(rule, monkeypatch):
    world, q = tower(3)
    at_once = reports(world, q, rule)
    monkeypatch.setattr(contact_solve, "FEW_PAIRS", 5)
    for now, later in zip(at_once, reports(world, q, rule), strict=True):
        assert later._substeps[0].pairs.shape[-2] == 1 < len(world.touching.groups) == 6
        kept = pickle.loads(pickle.dumps(later.contact))
        for found in (later.contact, kept):
            assert (np.asarray(found.pair_wrench) == np.asarray(now.contact.pair_wrench)).all()
        assert (later.contact.wrench_array == now.contact.wrench_array).all()
        assert later.contact.between("box_0", "floor")[..., 2].max() > 20


def test_steps_of_many_bodies_compute_no_wrenches_of_pairs():
    world, q = tower(contact_solve.FEW_PAIRS // 4)
    stepper = treesim.Stepper(world)
    _, report = stepper.step(stepper.reset(q))
    assert len(world.touching.groups) > contact_solve.FEW_PAIRS and report._substeps[0].pairs.size == 12
    run = treesim.Simulation(world).run(0.002, q)
    weight = 9.81 * world.robot.n_bodies
    assert run.contact.pair_wrench["box_0", "floor"][0, 2] == pytest.approx(weight, rel=1e-6)
    assert report.contact.between("box_0", "floor")[2] == pytest.approx(weight, rel=1e-6)
