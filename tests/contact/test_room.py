"""There is room for every contact: however many bodies touch, none falls through the floor."""

import numpy as np
import pytest

import treesim
import treesim.contact.tables
from treesim import Ground, Simulation, World, free_body
from treesim.contact import contact_solve
from treesim.kernels.contact.layout import INFO


def rows_of(count, kind, size, height, apart):
    """Bodies in rows of ten on a floor."""
    bodies = [free_body(f"{kind}{i}", kind, size, 1.0) for i in range(count)]
    q0 = np.concatenate([[(i % 10) * apart, (i // 10) * apart, height, 0, 0, 0, 1] for i in range(count)])
    return World(bodies[0], bodies=bodies[1:], ground=Ground()), q0


@pytest.mark.parametrize(
    ("count", "kind", "size", "height"),
    [(33, "box", (0.1, 0.1, 0.1), 0.05), (130, "sphere", (0.05,), 0.05)],
)
def test_none_of_many_bodies_falls_through_the_floor(count, kind, size, height):
    world, q0 = rows_of(count, kind, size, height, 0.2)
    run = Simulation(world, dt=2e-3, engine="generic").run(0.01, q0)
    z = run.q[-1].reshape(count, 7)[:, 2]
    assert np.abs(z - height).max() < 1e-6
    assert run.contact.solver_info[:-1, INFO.left_out].max() == 0 and run.penetration.max() < 1e-6
    assert run.contact.solver_info[:-1, 3].min() >= min(count, 129)


def test_ten_thin_sheets_lie_on_each_other():
    sheets = [free_body(f"sheet{i}", "box", (0.1, 0.1, 1e-3), 0.02) for i in range(10)]
    q0 = np.concatenate([[0, 0, 1e-3 * (i + 0.5), 0, 0, 0, 1] for i in range(10)])
    run = Simulation(World(sheets[0], bodies=sheets[1:], ground=Ground()), engine="generic").run(0.01, q0)
    assert np.abs(run.q[-1] - q0).max() < 1e-6 and run.residual.max() < 1e-9


def test_rollouts_have_room_too(monkeypatch):
    """As single steps: the same states, whatever there was room for before."""
    monkeypatch.setattr(treesim.contact.tables, "CAPACITY", 8)
    monkeypatch.setattr(contact_solve, "ROOM", 8)
    world, q0 = rows_of(6, "box", (0.1, 0.1, 0.1), 0.05, 0.2)
    assert world.touching.counts.capacity == 8 and world.touching.most_contacts >= 24
    q = np.tile(q0, (3, 1))
    q[1, 2::7] += 0.01
    runs = treesim.rollout(world, q, np.zeros(world.robot.nv), steps=20)
    monkeypatch.undo()
    roomy, _ = rows_of(6, "box", (0.1, 0.1, 0.1), 0.05, 0.2)
    assert roomy.touching.counts.capacity > 24
    for k in range(3):
        single = Simulation(roomy).run(0.02, q[k])
        np.testing.assert_allclose(runs.q[k, -1], single.q[-1], atol=1e-9)


def test_where_memory_ends_the_report_tells(monkeypatch):
    world, q0 = rows_of(40, "box", (0.1, 0.1, 0.1), 0.05, 0.2)
    monkeypatch.setattr(contact_solve, "free_memory", lambda: 1 << 20)
    stepper = treesim.Stepper(world, engine="generic")
    report = stepper.step(stepper.reset(q0))[1]
    assert report.contact.left_out == 160 - 128
