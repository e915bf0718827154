"""MuJoCo agrees with treesim on real robots and random trees, and its layout is invertible."""

from __future__ import annotations

import warnings
from pathlib import Path

import mujoco
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from treesim_mujoco import contact
from treesim_mujoco.adapter import MujocoAdapter
from treesim_mujoco.layout import MujocoLayout

import treesim
from tests import layouts
from tests.compare.test_scenes import FINGERS, ON_PLANE, stool
from tests.optional import need
from treesim.compare import EngineAdapter, EngineError, Motion, States, compare, explain
from treesim.compare.cases import ContactScene
from treesim.compare.scene_kinds import SCENES
from treesim.compare.source import read as read_source
from treesim.errors import UnsupportedError
from treesim.urdf import to_urdf

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
TYPES = ("revolute", "continuous", "prismatic", "spherical")
SLOW = pytest.mark.slow
ROBOTS = [("humanoid", "floating"), ("panda", "fixed"), pytest.param("simple_humanoid", "floating", marks=SLOW)]


def scenes():
    """Return the module with the scenes of `treesim bench --contact`."""
    return pytest.importorskip("treesim_lab.bench.contact_scenes")


def humanoid():
    """Return the options of scenes with a humanoid."""
    robot = scenes().bare_robot(read_source("simple_humanoid", "floating").robot)
    return scenes().SceneOptions(robot, 3000.0, 0.8)


def read(robot):
    return MujocoAdapter().read(robot, "", "canonical")


def test_it_is_an_engine_adapter():
    assert isinstance(MujocoAdapter(), EngineAdapter)
    assert treesim.plugins.get("engines", "mujoco").version() == MujocoAdapter().version()


@pytest.mark.parametrize(("name", "base"), ROBOTS)
def test_agrees(name, base):
    if name == "humanoid":
        need("pybullet")  # which brings it
    report = compare(name, MujocoAdapter(), base=base, states=10, steps=300)
    assert report.passed, report.summary
    assert len(report.rows) == 19 and not report.skipped
    assert any("removed" in change for change in report.changes["raw"])


@pytest.mark.parametrize("floating", [True, pytest.param(False, marks=SLOW)])
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=SLOW)])
def test_random_trees_agree(seed, floating):
    report = compare(layouts.robot(seed, floating, TYPES), MujocoAdapter(), states=5, steps=300)
    assert report.passed, report.summary


@pytest.mark.parametrize("floating", [True, False])
@given(seed=st.integers(0, 2**32 - 1))
def test_layout(floating, seed):
    robot = layouts.robot(seed % 5, floating, TYPES)
    layout = read(robot).layout
    assert isinstance(layout, MujocoLayout)
    layouts.check(robot, layout, seed)


def test_a_mass_matrix_of_a_floating_base_comes_back():
    """The kinetic energy is equal in both layouts, which `layouts.check` cannot check."""
    robot = layouts.robot(1, True, TYPES)
    layout, rng = read(robot).layout, np.random.default_rng(0)
    q, v = robot.random(rng), rng.normal(size=robot.nv)
    M = treesim.mass_matrix(robot, q)
    theirs = layout.velocity_to_engine(q, v)
    assert theirs @ layout.matrix_to_engine(q, M) @ theirs == pytest.approx(v @ M @ v, rel=1e-13)


@pytest.mark.parametrize("kind", ["planar", "floating"])
def test_joints_that_mujoco_has_not_are_refused(kind):
    inertia = treesim.Inertia(1.0, np.zeros(3), np.eye(3))
    bodies = [
        treesim.Body(name, k, treesim.Joint(f"{name}_joint", kind), inertia) for k, name in enumerate(("near", "far"))
    ]
    with pytest.raises(UnsupportedError, match=f"MuJoCo has no {kind} joint inside a robot"):
        compare(treesim.Tree("table", bodies), MujocoAdapter(), states=2, steps=0)


def test_bodies_without_mass_are_refused():
    joint = treesim.Joint("slide", "prismatic")
    with pytest.raises(UnsupportedError, match=r"MuJoCo cannot take this robot \(.*mass"):
        read(treesim.Tree("reference", [treesim.Body("reference", 0, joint)]))


def test_a_file_with_inertias_that_no_solid_body_has_is_left_out():
    report = compare("allegro_right_hand", MujocoAdapter(), base="fixed", states=3, steps=0)
    assert report.passed and "inertia must satisfy" in report.skipped["raw level"]


def test_the_inertia_that_mujoco_loses_as_it_merges_is_a_known_fault():
    file = Path(__file__).parents[3] / "docs/faults/massless_inertia.urdf"
    report = compare(file, MujocoAdapter(), base="fixed", states=3, steps=0)
    assert not report.row("inertia", "raw").passed and report.row("inertia", "canonical").passed
    assert report.explanations == ("MuJoCo loses the inertia of massless links as it merges them: foot",)


@pytest.mark.parametrize("name", ["world", "elsewhere"])
def test_a_free_root_may_be_called_world(name):
    joint = treesim.Joint("swing", "revolute", axis=(0, 1, 0))
    inertia = treesim.Inertia(1.0, (0.1, 0.0, 0.0), np.diag([0.1, 0.2, 0.2]))
    tree = treesim.Tree("called", [treesim.Body(name, 0, treesim.Joint("root_joint", "floating"), inertia),
                                   treesim.Body("arm", 1, joint, inertia)])  # fmt: skip
    text = to_urdf(tree)
    assert f'<link name="{name}"' in text
    report = compare(text, MujocoAdapter(), base="floating", states=3, steps=3)
    assert report.passed and {row.level for row in report.rows} == {"raw", "canonical"}, report.summary


def test_a_file_that_mujoco_reads_otherwise_is_told():
    robot = treesim.load("ur5", base="fixed")
    fewer = treesim.Tree("fewer", robot.bodies[:3])
    with pytest.raises(EngineError, match="MuJoCo reads other joints"):
        MujocoAdapter().read(robot, to_urdf(fewer), "raw")


def test_cases_of_single_states_and_rollouts():
    robot = layouts.robot(3, True, TYPES)
    model, rng = read(robot), np.random.default_rng(1)
    q, (v, a) = robot.random(rng), rng.normal(size=(2, robot.nv))
    tau = treesim.inverse_dynamics(robot, q, v, a)
    model.prepare_timing()
    found = {case.quantity: case.result() for case in model.calls(States(q, v, a, tau))}
    np.testing.assert_allclose(found["forward dynamics"], a, atol=1e-9)
    np.testing.assert_allclose(found["inverse dynamics"], tau, atol=1e-9)
    np.testing.assert_allclose(found["mass matrix"], treesim.mass_matrix(robot, q), atol=1e-9)
    np.testing.assert_allclose(found["M⁻¹ τ"], treesim.solve_mass_matrix(robot, q, tau), atol=1e-9)
    assert model.batches(States(q, v, a, tau), 1) == [] == model.operational(States(q, v, a, tau), ("hull",), True)


def test_derivatives_of_a_step_are_those_of_forward_dynamics():
    robot = layouts.robot(0, False, ("revolute", "prismatic"))
    model, rng = read(robot), np.random.default_rng(2)
    model.model.opt.timestep = 1e-3
    q = np.array([robot.random(rng) for _ in range(2)])
    v, a = rng.normal(size=(2, 2, robot.nv))
    tau = treesim.inverse_dynamics(robot, q, v, a)
    [case] = model.derivatives(States(q, v, a, tau))
    assert case.states == 2 and case.result() is None
    dv = case.call()[robot.nv :] / 1e-3  # at the last state
    order = np.argsort(model.layout.v_order)
    ours = treesim.forward_dynamics_derivatives(robot, q[1], v[1], tau[1])
    for theirs, x in ((dv[:, : robot.nv], ours.dqdd_dq), (dv[:, robot.nv :] - 1e3 * np.eye(robot.nv), ours.dqdd_dv)):
        np.testing.assert_allclose(theirs[np.ix_(order, order)], x, atol=1e-4 * np.abs(x).max())


def test_a_batch_starts_anew_at_each_call():
    robot = layouts.robot(0, False, TYPES)
    rng = np.random.default_rng(0)
    q = np.array([robot.random(rng) for _ in range(3)])
    motion = Motion(q, 0 * q[:, : robot.nv], np.zeros((3, 5, robot.nv)), 1e-3)
    batches = [case for case in read(robot).rollouts(motion, 2) if case.name.startswith("mujoco.batch")]
    assert len(batches) == 2
    for case in batches:
        first = {name: record.copy() for name, record in case.call().items()}
        for name, record in case.call().items():
            np.testing.assert_array_equal(record, first[name])


def test_ways_of_stepping_what_stands_keep_its_contacts_alone():
    scene = scenes().standing_scene(humanoid())
    model = read(scene.robot)
    ways = model.steppings(scene)
    assert len(ways) == len({way.name for way in ways}) == len(contact.WAYS)
    for way in ways:
        way.start()
        assert (way.state()[0] == scene.q0[0]).all() and not way.state()[1].any()
        for _ in range(5):
            way.step()
        q, v = way.state()
        assert np.isfinite(v).all() and abs(q[2] - scene.q0[0, 2]) < 1e-3  # it does not fall: 5 ms are 1.2e-4 m
        assert 0 <= way.overlap() < 1e-3


@pytest.mark.parametrize("name", ["stairs", "terrain", "stack", "stack-pushed"])
def test_other_scenes_are_those_of_treesim(name):
    """After 20 steps both are at the same place, up to the softness of MuJoCo's contacts."""
    (kind,) = scenes().chosen_scenes([name])
    scene = kind.make(humanoid())
    theirs = read(scene.robot).steppings(scene)[1]
    ours = pytest.importorskip("treesim_lab.bench.contact").our_steppings(scene)[0]
    for way in (theirs, ours):
        way.start(len(scene.q0) - 1)
        for _ in range(20):
            way.step()
    assert theirs.overlap() > 0
    np.testing.assert_allclose(theirs.state()[0], ours.state()[0], atol=5e-3)


def test_velocities_of_several_free_bodies_are_in_world_axes():
    boxes = [treesim.free_body(name, "box", (0.1, 0.2, 0.3), 1.0) for name in ("one", "other")]
    robot, rng = treesim.World(boxes[0], bodies=boxes[1:]).robot, np.random.default_rng(0)
    q, v = robot.random(rng), rng.normal(size=robot.nv)
    layout = read(robot).layout
    there = layout.velocity_to_engine(q, v)
    for k, name in enumerate(("one", "other")):
        R = treesim.frame_pose(robot, q, name)[:3, :3]
        np.testing.assert_allclose(there[6 * k : 6 * k + 3], R @ v[6 * k : 6 * k + 3], atol=1e-12)
    np.testing.assert_allclose(layout.velocity_from_engine(q, there), v, atol=1e-12)


def test_rollouts_of_contact_are_those_of_mj_step():
    scene = scenes().moving_scene(0.3, humanoid())
    model = read(scene.robot)
    way, ends = next(each for each in model.steppings(scene) if each.name == contact.ROLLED[0].name), []
    for k in range(2):
        way.start(k)
        for _ in range(3):
            way.step()
        ends.append(way.state()[0])
    assert not np.allclose(*ends)
    cases = [case for case in model.contact_rollouts(scene, 2, 3, 1) if "pyramidal" in case.name]
    assert len(cases) == 2
    for case in cases:
        np.testing.assert_allclose(case.result(), ends, atol=1e-12)


def test_a_box_slides_on_its_incline_as_coulomb_says():
    """Its speed after 0.1 s is g (sin a - mu cos a) t, up to the softness of MuJoCo's contacts."""
    scene = scenes().box_on_incline(0.3)
    speed = pytest.importorskip("treesim_lab.bench.contact").speed_on_incline(0.3)
    way = read(scene.robot).steppings(scene)[1]
    way.start()
    for _ in range(100):
        way.step()
    assert np.linalg.norm(way.state()[1][:3]) == pytest.approx(0.1 * speed, rel=0.1)


@pytest.mark.parametrize(("robot", "owner"), [("bolt", "2 links"), ("pybullet_data/panda", "link 'panda_link7'")])
def test_inertia_that_is_lost_in_merging_is_told(robot, owner):
    """Inertia lost by MuJoCo's fusestatic; for panda of two links of one body."""
    if robot.startswith("pybullet_data"):
        need("pybullet")
    causes = explain(robot, MujocoAdapter(), base="fixed")
    (found,) = causes.explanations
    assert causes.complete and (found.kind, found.owner) == ("merged_massless_dropped", owner)


def scene_on(ball, ground):
    """Return a scene with a ball, at rest at its neutral configuration."""
    still = np.zeros(6)
    world = treesim.World(ball, ground=ground)
    return ContactScene(world, ball.neutral()[None], still[None], ball.neutral(), still, still, 1e-3)


def test_static_meshes_are_geoms_with_a_warning_unless_they_are_convex():
    ball, place = treesim.free_body("ball", "sphere", (0.1,), 1.0), treesim.Placement(translation=(1, 2, 3))
    vertices = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
    closed = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]]
    with warnings.catch_warnings():
        warnings.simplefilter("error", treesim.ConversionWarning)
        model = contact.contact_model(scene_on(ball, treesim.StaticMesh(vertices, closed, place, friction=0.3)))
    data, (geom,) = mujoco.MjData(model), np.flatnonzero(model.geom_type == mujoco.mjtGeom.mjGEOM_MESH)
    mujoco.mj_kinematics(model, data)
    first, count = model.mesh_vertadr[0], model.mesh_vertnum[0]
    points = model.mesh_vert[first : first + count] @ data.geom_xmat[geom].reshape(3, 3).T + data.geom_xpos[geom]
    assert {*map(tuple, points.round(6))} == {*map(tuple, np.add(vertices, (1.0, 2.0, 3.0)))}
    with pytest.warns(treesim.ConversionWarning, match="convex hull of the static mesh 'ground_0'"):
        contact.contact_model(scene_on(ball, treesim.StaticMesh(vertices, closed[:3])))
    with pytest.raises(UnsupportedError, match="flat"):
        contact.contact_model(scene_on(ball, treesim.StaticMesh(vertices, closed[:1])))


def test_rolling_friction_of_surfaces_is_that_of_geoms():
    ball = treesim.free_body("ball", "sphere", (0.1,), 1.0)
    for angular, condim in (({"torsional_friction": 0.003, "rolling_friction": 0.002}, 6), ({}, 3)):
        model = contact.contact_model(scene_on(ball, treesim.Ground(friction=0.7, **angular)))
        assert model.geom_condim.max() == condim
        np.testing.assert_array_equal(
            model.geom_friction.max(axis=0), [0.7, *angular.values()] if angular else [0.7, 0, 0]
        )


@pytest.mark.parametrize(("robot", "scenes"), [(FINGERS, SCENES.keys() - ON_PLANE), (stool(), {"push_sliding"})])
def test_scenes_agree(robot, scenes):
    report = compare(robot, MujocoAdapter(), base="fixed", states=2, steps=0, scenes=sorted(scenes))
    assert report.passed, report.summary
    assert not scenes & report.skipped.keys()
