"""Shapes of fixed bases are static: tables, pedestals, cabinets, as a robot, beside one, and under its own hand."""

import numpy as np
import pytest

import treesim
from treesim import Body, CollisionShape, Inertia, Joint, Placement, Simulation, Tree, World, free_body

HEIGHT = 0.7  # m, of a table's top
TOPS = {  # shapes whose highest point is at (0, 0, HEIGHT)
    "box": ((1.0, 1.0, 0.2), HEIGHT - 0.1),
    "sphere": ((0.3,), HEIGHT - 0.3),
    "capsule": ((0.1, 0.4), HEIGHT - 0.3),
}
BALL = free_body("ball", "sphere", (0.1,), 1.0)


def at(x, y, z):
    return Placement(translation=np.array([x, y, z]))


def furniture(kind, name="table", link="top"):
    size, z = TOPS[kind]
    return Tree(name, [], shapes=[CollisionShape(0, at(0, 0, z), kind, size=size, link=link)])


def worlds(thing, furniture):
    return {"robot": World(furniture, bodies=[thing]), "body": World(thing, bodies=[furniture])}


@pytest.mark.parametrize("given_as", ["robot", "body"])
@pytest.mark.parametrize("kind", TOPS)
def test_a_ball_rests_on_a_fixed_base(kind, given_as):
    run = Simulation(worlds(BALL, furniture(kind))[given_as]).run(0.5, [0, 0, HEIGHT + 0.11, 0, 0, 0, 1])
    assert run.q[-1][2] == pytest.approx(HEIGHT + 0.1, abs=1e-5) and run.residual.max() < 1e-9


@pytest.mark.parametrize("given_as", ["robot", "body"])
def test_a_crate_rests_on_a_table_and_the_table_feels_its_weight(given_as):
    crate = free_body("crate", "box", (0.2, 0.2, 0.2), 2.0)
    run = Simulation(worlds(crate, furniture("box"))[given_as]).run(0.5, [0.1, 0.2, HEIGHT + 0.1, 0, 0, 0, 1])
    assert run.q[-1][2] == pytest.approx(HEIGHT + 0.1, abs=1e-5) and np.abs(run.v[-1]).max() < 1e-9
    force = run.contact_wrench("crate", "top")[-2, :3]
    assert force == pytest.approx([0, 0, 2 * 9.81], abs=1e-6)
    assert run.contact_wrench("top", "crate")[-2, :3] == pytest.approx(-force, abs=1e-9)


def test_a_crate_over_the_edge_of_a_table_falls():
    crate = free_body("crate", "box", (0.2, 0.2, 0.2), 2.0)
    run = Simulation(World(crate, bodies=[furniture("box")])).run(0.5, [0.55, 0, HEIGHT + 0.1, 0, 0, 0, 1])
    assert run.q[-1][2] < HEIGHT


@pytest.mark.parametrize("kind", ["cylinder", "hull"])
def test_round_and_hull_bases_meet_by_coal(kind):
    pytest.importorskip("coal")
    corners = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.1, 0.1)])
    size = (0.4, 0.2) if kind == "cylinder" else ()
    shape = CollisionShape(
        0, at(0, 0, HEIGHT - 0.1), kind, size=size, vertices=corners if kind == "hull" else None, link="top"
    )
    run = Simulation(World(Tree("table", [], shapes=[shape]), bodies=[BALL], collision="coal")).run(
        0.3, [0.05, 0, HEIGHT + 0.11, 0, 0, 0, 1]
    )
    assert run.q[-1][2] == pytest.approx(HEIGHT + 0.1, abs=1e-5)


def lift(pedestal=0.5):
    """A hand that slides along z above its own pedestal, on a link in between."""
    shapes = [
        CollisionShape(0, at(0, 0, pedestal / 2), "box", size=(0.4, 0.4, pedestal), link="pedestal"),
        CollisionShape(2, Placement(), "sphere", size=(0.05,), link="hand"),
    ]
    light = Inertia(0.1, np.zeros(3), 0.01 * np.eye(3))
    turn = Joint("turn", "revolute", axis=(0, 0, 1), lower=-9, upper=9)
    slide = Joint("slide", "prismatic", placement=at(0, 0, 1.0), axis=(0, 0, 1), lower=-5, upper=5)
    hand = Body("hand", 1, slide, Inertia(1.0, np.zeros(3), 0.01 * np.eye(3)))
    return Tree("lift", [Body("rod", 0, turn, light), hand], shapes=shapes)


@pytest.mark.parametrize("self_collision", [True, False])
def test_a_hand_meets_its_own_pedestal_where_bodies_of_the_robot_meet(self_collision):
    run = Simulation(World(lift(), self_collision=self_collision, use_limits=False)).run(1.0, [0.0, 0.0])
    if self_collision:
        assert 1 + run.q[-1][1] == pytest.approx(0.55, abs=1e-5)
    else:
        assert 1 + run.q[-1][1] < 0


def test_what_its_base_touches_in_the_neutral_pose_is_left_out():
    run = Simulation(World(lift(pedestal=1.0), self_collision=True, use_limits=False)).run(0.5, [0.0, 0.0])
    assert run.q[-1][1] < -1


def test_the_base_of_another_robot_in_the_neutral_pose_is_not_left_out():
    """Only a robot's own bodies may overlap as they are built."""
    post = furniture("box", "post", "post")
    run = Simulation(World(lift(), bodies=[post], self_collision=True, use_limits=False)).run(0.5, [0.0, 0.0])
    assert 1 + run.q[-1][1] == pytest.approx(HEIGHT + 0.05, abs=1e-5)


def test_fixed_bases_do_not_meet_each_other_nor_the_ground():
    world = World(
        furniture("box"), bodies=[furniture("box", "other", "side"), BALL], ground=treesim.Ground(height=0.65)
    )
    assert {frozenset(group) for group in world.touching.groups} == {
        frozenset(("ball", "top")), frozenset(("ball", "side")), frozenset(("ball", "ground[0]"))
    }  # fmt: skip


def test_rollouts_and_single_steps_agree():
    world = World(BALL, bodies=[furniture("box")])
    q0 = np.array([[0.1 * k, 0, HEIGHT + 0.1 + 0.01 * k, 0, 0, 0, 1] for k in range(9)])
    runs = treesim.rollout(world, q0, np.zeros(6), steps=200)
    for k in (0, 4, 8):
        single = Simulation(world).run(0.2, q0[k])
        np.testing.assert_allclose(runs.q[k, -1], single.q[-1], atol=1e-9)


def test_a_base_whose_mesh_cannot_be_read_is_told(tmp_path):
    broken = CollisionShape(0, Placement(), "hull", link="shelf", file=str(tmp_path / "none.stl"))
    with pytest.warns(treesim.ShapeWarning, match=r"link 'shelf' of .*none.stl"):
        World(BALL, bodies=[Tree("rack", [], shapes=[broken])])
