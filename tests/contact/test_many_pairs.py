"""Wrenches of pairs of bodies in worlds of many: a step does not compute them, and they are computed when read."""

import pickle

import numpy as np
import pytest

import treesim
from treesim.contact import contact_solve, shape_pairs
from treesim.kernels.algebra.tables import tree_tables
from treesim.kernels.contact.collision import VARIANTS
from treesim.kernels.contact.components import components_memory
from treesim.kernels.contact.workspace import contact_memory

RULES = ("implicit_midpoint", "semi_implicit_euler")


def tower(count, drum=None):
    """Boxes on each other on a plane, one of which may be a drum, and the start in which they touch."""
    boxes = [treesim.free_body(f"box_{k}", "box", (0.2,) * 3, 1.0) for k in range(count)]
    if drum is not None:
        boxes[drum] = treesim.free_body(f"box_{drum}", "cylinder", (0.1, 0.2), 1.0)
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


def arrays_of(x):
    """Arrays in nested tuples, without views of the others."""
    if isinstance(x, tuple):
        return {k: array for part in x for k, array in arrays_of(part).items()}
    while isinstance(x, np.ndarray) and x.base is not None:
        x = x.base
    return {id(x): x} if isinstance(x, np.ndarray) else {}


def bytes_of(world):
    """Bytes of a world's contact tables, and of the tables, the memory of a step and the stored impulses together."""
    tables, robot = world.touching, world.robot
    touch = VARIANTS[tables.solids].tables(tables.layout, tables.geometry)
    tree, q = tree_tables(robot.ints, robot.reals), robot.neutral()
    memory = arrays_of(contact_memory(tree, touch, *tables.held, q, components_memory))
    own = tables.layout.nbytes + tables.geometry.nbytes
    return own, own + sum(array.nbytes for array in memory.values()) + 8 * tables.warm_start_size


def test_bytes_of_many_boxes_grow_with_their_number():
    """They did with its square: 3.7 MB of tables for 100 boxes, 14.5 MB for 200."""
    few, many = (bytes_of(tower(count)[0]) for count in (100, 200))
    assert many[0] < 2.2 * few[0] < 2.2 * 0.15e6 and many[1] < 2.2 * few[1]


def test_steps_and_names_of_many_bodies_are_those_of_few_by_full_tables(monkeypatch):
    """Rows of pairs that are gathered, in steps and in rollouts with friction of each state; names of an overlap.

    Rows of pairs with a body that is no sphere, capsule or box are ready.
    """
    found = []
    for few in (16, 100):
        monkeypatch.setattr(shape_pairs, "FEW_FREE", few)
        world, q = tower(18, drum=9)
        v = 0.3 * np.random.default_rng(1).normal(size=(3, world.robot.nv))
        stepper, batch = (
            treesim.Stepper(world, 1e-3),
            treesim.rollout(
                world, np.tile(q, (3, 1)), v, dt=1e-3, steps=20, model_parameters={"ground_friction": [0.2, 0.5, 0.8]}
            ),
        )
        state = stepper.reset(q, v[0])
        for _ in range(20):
            state, report = stepper.step(state)
        contact = report.contact
        named = sorted(zip(contact.pair_wrench.pairs, contact.pair_wrench_array.tolist(), strict=True))
        wrenches = contact.wrench["floor"], contact.between("box_3", "box_4"), [wrench for _, wrench in named]
        points = [contact.points[name] for name in contact.points.dtype.names]
        derivatives = treesim.linearize(stepper, q, v[0], None)[:2]
        found.append([*derivatives, state.q, state.v, batch.q, batch.v, *wrenches, *points])
        assert world.touching.counts.shapes == (17 if few < 17 else 0) and len(contact.points) > 50
        with pytest.raises(treesim.ArgumentError, match=r"link 'box_5' .* inside 'box_6'"):
            stepper.reset(q - np.repeat([0.0, 0.03], [6 * 7, 12 * 7]) * (np.arange(q.size) % 7 == 2))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)
