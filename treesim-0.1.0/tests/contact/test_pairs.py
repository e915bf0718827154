"""What bodies do to each other, pair by pair: Newton's third law, sums over partners, names, files and pictures."""

import numpy as np
import pytest

import treesim
from tests.contact.scenes import G


@pytest.fixture(scope="module")
def tumbled():
    """A run of two boxes that fall onto each other, the floor and a wall, and the wall's and floor's names."""
    first, second = (treesim.free_body(name, "box", (0.2, 0.2, 0.2), m) for name, m in (("a", 1.0), ("b.fx", 2.0)))
    grounds = [treesim.Ground(friction=0.5), treesim.Ground(normal=(-1, 0, 0), height=-0.35, name="wall")]
    world = treesim.World(first, bodies=[second], ground=grounds)
    q = world.robot.configuration(
        {"a_joint": (0, 0, 0.12, 0, 0, 0, 1), "b.fx_joint": (0.05, 0.03, 0.4, 0, 0.6, 0, 0.8)}
    )
    v = np.zeros(12)
    v[[0, 3, 6, 9]] = 1.0, 2.0, 1.5, -1.0
    return world, treesim.Simulation(world, substeps=1).run(0.4, q, v)


def shifted(wrench, to):
    """Wrenches (K, 6) about points `to` (K, 3) farther on."""
    return np.hstack([wrench[:, :3], wrench[:, 3:] - np.cross(to, wrench[:, :3])])


def origin(run, body):
    start = 7 * ("a", "b.fx").index(body)
    return run.q[:, start : start + 3]


def test_what_two_bodies_do_to_each_other_is_opposite_at_one_point(tumbled):
    _, run = tumbled
    on_a, on_b = run.contact_wrench("a", "b.fx"), run.contact_wrench("b.fx", "a")
    size = np.abs(on_a).max()
    assert size > 10
    np.testing.assert_allclose(shifted(on_a, origin(run, "b.fx") - origin(run, "a")), -on_b, rtol=0, atol=1e-13 * size)


@pytest.mark.parametrize("body", ["a", "b.fx"])
@pytest.mark.parametrize("surface", ["ground[0]", "wall"])
def test_what_a_surface_gets_is_opposite_at_the_worlds_origin(tumbled, body, surface):
    _, run = tumbled
    on_body, on_world = run.contact_wrench(body, surface), run.contact_wrench(surface, body)
    np.testing.assert_allclose(
        shifted(on_body, -origin(run, body)), -on_world, rtol=0, atol=1e-13 * max(np.abs(on_body).max(), 1)
    )


@pytest.mark.parametrize("body, other", [("a", "b.fx"), ("b.fx", "a")])
def test_partners_add_up_to_the_whole(tumbled, body, other):
    _, run = tumbled
    whole, size = run.contact_wrench(body), np.abs(run.contact_wrench(body)).max()
    parts = [run.contact_wrench(body, name) for name in (other, "ground[0]", "wall")]
    assert [bool(part.any()) for part in parts].count(True) >= 2
    np.testing.assert_allclose(sum(parts), whole, rtol=0, atol=1e-13 * size)
    np.testing.assert_allclose(parts[1] + parts[2], run.contact_wrench(body, "ground"), rtol=0, atol=1e-13 * size)


def test_a_tower_presses_with_what_stands_above():
    first, *others = [treesim.free_body(f"box_{k}", "box", (0.2,) * 3, 1.0) for k in range(3)]
    world = treesim.World(first, bodies=others, ground=treesim.Ground(name="floor"))
    q = world.robot.configuration({f"box_{k}_joint": (0, 0, 0.1 + 0.2 * k, 0, 0, 0, 1) for k in range(3)})
    stepper = treesim.Stepper(world, substeps=2)
    _, report = stepper.step(stepper.reset(np.tile(q, (2, 1))))
    for k, below in enumerate(("floor", "box_0", "box_1")):
        wrench = report.contact.between(f"box_{k}", below)
        np.testing.assert_allclose(wrench, [[0, 0, (3 - k) * G, 0, 0, 0]] * 2, rtol=0, atol=1e-5)  # 1e-9 m/s in a step
    assert not report.contact.between("box_0", "box_2").any()


@pytest.mark.parametrize("suffix", [".npz", ".csv"])
def test_files_keep_pairs_to_the_bit(tumbled, tmp_path, suffix):
    _, run = tumbled
    back = treesim.Trajectory.load(run.save(tmp_path / f"run{suffix}"))
    for names in (("a", "b.fx"), ("b.fx", "wall"), ("wall", "a"), ("a",)):
        assert np.array_equal(back.contact_wrench(*names), run.contact_wrench(*names))
    assert back.contact.pairs == run.contact.pairs


def test_columns_of_data_frames_are_named_by_pair(tumbled):
    pytest.importorskip("pandas")
    _, run = tumbled
    frame = run.to_dataframe()
    assert np.array_equal(frame["contact[a, b.fx].fz"], run.contact_wrench("a", "b.fx")[:, 2])
    assert np.array_equal(frame["contact[b.fx, a].my"], run.contact_wrench("b.fx", "a")[:, 4])


def test_names_that_nothing_has_are_refused(tumbled):
    _, run = tumbled
    for names in (("a", "wal"), ("c", "a"), ("a", "ground[7]")):
        with pytest.raises(treesim.errors.UnknownNameError):
            run.contact_wrench(*names)


@pytest.mark.parametrize("name", ["ground", "box", "twice"])
def test_a_surfaces_name_is_its_own(name):
    box = treesim.free_body("box", "box", (0.1,) * 3, 1.0)
    grounds = [treesim.Ground(name=name), treesim.Ground(normal=(1, 0, 0), name="twice")]
    with pytest.raises(treesim.ArgumentError, match=name):
        treesim.World(box, ground=grounds)


def test_a_world_tells_its_surfaces_by_name():
    box = treesim.free_body("box", "box", (0.1,) * 3, 1.0)
    assert repr(treesim.World(box, ground=treesim.Ground(name="floor"))) == "<World of 'box': Ground 'floor'>"
