"""`treesim.to_mujoco`: same mechanics, limits, damping, friction, names and sites; differences are found and named."""

from __future__ import annotations

from dataclasses import replace

import mujoco
import numpy as np
import pytest
from treesim_mujoco.adapter import MujocoAdapter

import treesim
from tests import layouts
from treesim.compare import EngineError
from treesim.dynamics.springs import spring_forces
from treesim.errors import ConversionWarning, UnsupportedError
from treesim.model.mimic import MimicMap

pytestmark = pytest.mark.filterwarnings("ignore::treesim.UrdfWarning")
TYPES = ("revolute", "continuous", "prismatic", "spherical")
G1 = treesim.load("g1_29dof_rev_1_0", base="floating")


def with_losses(robot, seed=0):
    """Return the robot with other limits, losses, armature and springs in every joint but a floating base."""
    rng, bodies = np.random.default_rng(seed), []
    for body in robot.bodies:
        joint = body.joint
        labels = ("velocity_limit", "effort_limit", "damping", "joint_friction", "armature")
        own = {label: np.full(joint.nv, rng.uniform(0.1, 2.0)) for label in labels}
        if joint.nv == 1:
            own |= {"stiffness": rng.uniform(0.1, 2.0), "rest": rng.uniform(-1, 1)}
        if joint.nv == 1 and joint.type != "continuous":
            own |= {"lower": -rng.uniform(1, 2), "upper": rng.uniform(1, 2)}
        bodies.append(body if joint.type == "floating" else replace(body, joint=replace(joint, **own)))
    return treesim.Tree(
        robot.name, bodies, frames=list(robot.frames.values())[robot.n_bodies :], gravity=(1.0, 2.0, -9.0)
    )


@pytest.mark.parametrize("floating", [True, False])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_random_trees_are_the_same(seed, floating):
    """Includes damping and springs, which change MuJoCo's acceleration by -M^-1 (d v + k (q - rest))."""
    robot = with_losses(layouts.robot(seed, floating, TYPES), seed)
    model = treesim.to_mujoco(robot)
    data = mujoco.MjData(model)
    q, v = robot.random(seed), np.random.default_rng(seed).normal(size=robot.nv)
    data.qpos[:], data.qvel[:] = treesim.convert_state(robot, q, v, to="mujoco")
    mujoco.mj_forward(model, data)
    layout = MujocoAdapter().convert(robot).layout
    passive = layout.force_from_engine(q, np.array(data.qfrc_passive))
    np.testing.assert_allclose(passive, spring_forces(robot, q) - robot.damping * v, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(model.opt.gravity, robot.gravity)


def test_limits_losses_and_names_are_carried_over():
    robot = with_losses(G1)
    model = treesim.to_mujoco(robot)
    assert {model.joint(k).name for k in range(model.njnt)} == set(robot.joint_names)
    limits = model.numeric("velocity_limit").data
    for name in robot.joint_names[1:]:
        joint, q, v = model.joint(name), robot.q_index[name].start, robot.v_index[name].start
        assert joint.range.tolist() == [robot.lower[q], robot.upper[q]]
        effort = robot.effort_limit[v]
        assert model.jnt_actfrcrange[joint.id].tolist() == [-effort, effort] and limits[v] == robot.velocity_limit[v]
        k = joint.dofadr[0]
        for theirs, ours in (("damping", "damping"), ("frictionloss", "joint_friction"), ("armature", "armature")):
            assert np.ravel(getattr(model, f"dof_{theirs}")[k])[0] == getattr(robot, ours)[v]
        assert np.ravel(joint.stiffness)[0] == robot.stiffness[v]
        assert model.qpos_spring[joint.qposadr[0]] == robot.rest[v]


def test_sites_stand_where_frames_stand_here():
    model = treesim.to_mujoco(G1)
    data, q = mujoco.MjData(model), G1.random(0)
    data.qpos[:], _ = treesim.convert_state(G1, q, np.zeros(G1.nv), to="mujoco")
    mujoco.mj_kinematics(model, data)
    frames = [name for name in G1.frame_names if name not in G1.body_names]
    assert frames and model.nsite == len(frames)
    for name in frames:
        pose = treesim.frame_pose(G1, q, name)
        np.testing.assert_allclose(data.site(name).xpos, pose[:3, 3], atol=1e-12)
        np.testing.assert_allclose(data.site(name).xmat.reshape(3, 3), pose[:3, :3], atol=1e-12)


def test_the_specification_as_text_makes_the_same_model():
    robot = treesim.load("ur5")
    spec = treesim.to_mujoco_spec(robot)
    again = mujoco.MjModel.from_xml_string(spec.to_xml())
    np.testing.assert_allclose(again.body_mass, treesim.to_mujoco(robot).body_mass, rtol=1e-5)  # text has six digits


def test_a_model_that_differs_is_refused_and_its_joint_named(monkeypatch):
    right = MujocoAdapter.convert

    def stiffer(self, robot):
        made = right(self, robot)
        made.model.dof_armature[7] += 1e-6
        return made

    monkeypatch.setattr(MujocoAdapter, "convert", stiffer)
    with pytest.raises(EngineError, match=f"mass_matrix of joint '{G1.dof_name(7)}'"):
        treesim.to_mujoco(G1)


@pytest.mark.parametrize("name, base", [("panda", "fixed"), ("tiago_pro", "floating")])
def test_followers_are_held_by_equality_constraints(name, base):
    """Constraints yield by MuJoCo's minimum, 1e-4 of the joints' own compliance, estimated at another posture.

    Mimic joints that move one another add up: 1e-3 for ten of them.
    """
    robot = treesim.load(name, base=base)
    made = MujocoAdapter().convert(robot)
    model, A = treesim.to_mujoco(robot), robot.mimic_map.A
    assert model.nv == robot.spanning.nv
    for k, (mimic_joint, (mimicked, multiplier, offset)) in enumerate(robot.mimic_map.lines().items()):
        assert (model.equality(k).name, model.joint(model.eq_obj2id[k]).name) == (mimic_joint, mimicked)
        assert model.eq_data[k, :5].tolist() == [offset, multiplier, 0, 0, 0]
    q, v = robot.random(0), np.random.default_rng(0).normal(size=robot.nv)
    tau = np.zeros(robot.spanning.nv)
    found, R = made.held(robot.expand(q), robot.expand_velocity(v), tau)
    inverse = A @ np.linalg.solve(treesim.mass_matrix(robot.spanning, robot.expand(q)), A.T)
    assert (2e-4 * np.diag(inverse) > R).all()
    free = treesim.forward_dynamics(robot.spanning, robot.expand(q), robot.expand_velocity(v), tau)
    exact = robot.expand_velocity(treesim.forward_dynamics(robot, q, v, np.zeros(robot.nv)))
    assert np.abs(A @ found).max() < 1e-3 * np.abs(A @ free).max()
    assert np.abs(found - exact).max() < 1e-3 * np.abs(free - exact).max()


def test_followers_keep_their_leaders_in_a_simulation_of_mujocos():
    robot = treesim.load("panda")
    model = treesim.to_mujoco(robot)
    data = mujoco.MjData(model)
    data.qpos[:], _ = treesim.convert_state(robot, np.full(robot.nq, 0.02), np.zeros(robot.nv), to="mujoco")
    data.qfrc_applied[model.joint("panda_finger_joint1").dofadr] = -0.2
    mujoco.mj_step(model, data, nstep=100)
    fingers = [data.joint(f"panda_finger_joint{k}").qpos[0] for k in (1, 2)]
    assert fingers[0] < 0.019 and abs(fingers[0] - fingers[1]) < 1e-4 * (0.02 - fingers[0])


@pytest.mark.parametrize("name", ["ur5", "hyq", "go2", "g1_29dof_rev_1_0", "simple_humanoid"])
def test_trajectories_with_springs_converge_to_mujocos(name):
    """MuJoCo's error is of order 1. To the same integrator here it is h^2 k qdd: MuJoCo evaluates springs at q."""
    rng, integrators = np.random.default_rng(0), ("implicit_midpoint", "semi_implicit_euler")
    robot = treesim.load(name, base="fixed" if name == "ur5" else "floating")
    for joint in robot.joint_names:
        if robot.joint(joint).nv == 1:
            spring = {"stiffness": rng.uniform(5, 50), "rest": rng.uniform(-1, 1)}
            robot = robot.with_joint(joint, armature=0.1, **spring)
    q, v = robot.integrate(robot.neutral(), 0.3 * rng.normal(size=robot.nv)), 0.3 * rng.normal(size=robot.nv)
    world = treesim.World(robot, use_limits=False, use_joint_friction=False)
    model, dts, apart = treesim.to_mujoco(robot), 1e-3 / 2.0 ** np.arange(4), []
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    for dt in dts:
        data, model.opt.timestep, steps = mujoco.MjData(model), dt, round(0.1 / dt)
        data.qpos[:], data.qvel[:] = treesim.convert_state(robot, q, v, to="mujoco")
        mujoco.mj_step(model, data, nstep=steps)
        theirs, _ = treesim.convert_state(robot, data.qpos, data.qvel, source="mujoco")
        options = {"steps": steps, "dt": dt, "substeps": 1, "keep": "last", "engine": "generic"}
        ours = [treesim.rollout(world, q, v, integrator=name, **options).q[0, -1] for name in integrators]
        apart.append([np.linalg.norm(robot.difference(one, theirs)) for one in ours])
    orders = np.polyfit(np.log(dts), np.log(apart), 1)[0]
    assert 0.9 < orders[0] < 1.1 and 1.9 < orders[1] < 2.1 and apart[-1][1] < 1e-4, (orders, apart)


def test_a_multiplier_that_differs_is_found(monkeypatch):
    right = MimicMap.lines
    monkeypatch.setattr(MimicMap, "lines", lambda self: {b: (a, k + 1e-6, o) for b, (a, k, o) in right(self).items()})
    with pytest.raises(EngineError, match="forward_dynamics of joint 'panda_finger_joint"):
        treesim.to_mujoco(treesim.load("panda"))


def test_a_body_called_world_has_another_name():
    robot = treesim.load("ur5", base="floating")
    with pytest.warns(ConversionWarning, match="body 'world' is called 'world_that_moves'"):
        model = treesim.to_mujoco(robot)
    assert model.nv == robot.nv and model.body("world_that_moves").dofnum == 6


def test_what_mujoco_cannot_say_is_refused_with_the_joint():
    planar = treesim.Tree("sled", [treesim.Body("sled", 0, treesim.Joint("slide", "planar"), treesim.Inertia(1.0))])
    with pytest.raises(UnsupportedError, match="planar joint"):
        treesim.to_mujoco(planar)
    ball = treesim.Joint("ball", "spherical", damping=(1, 2, 3))
    inertia = treesim.Inertia(1.0, rotational=np.eye(3))
    with pytest.raises(UnsupportedError, match="'ball': MuJoCo has one damping"):
        treesim.to_mujoco(treesim.Tree("top", [treesim.Body("top", 0, ball, inertia)]))


def test_inverse_kinematics_by_mink_reach_a_pose_of_treesim():
    mink = pytest.importorskip("mink", reason="needs the package mink")
    pytest.importorskip("quadprog", reason="needs the package quadprog")
    robot, q = treesim.load("ur5"), np.array([0.3, -1.0, 0.7, 0.2, 0.1, 0.4])
    task = mink.FrameTask("ee_link", "site", position_cost=1.0, orientation_cost=1.0)
    goal = treesim.frame_pose(robot, q, "ee_link")
    goal[:3, 3] += (0.05, -0.05, 0.1)
    task.set_target(mink.SE3.from_matrix(goal))
    found = mink.Configuration(treesim.to_mujoco(robot), q=q)
    for _ in range(200):
        found.integrate_inplace(mink.solve_ik(found, [task], 1e-2, "quadprog"), 1e-2)
    np.testing.assert_allclose(treesim.frame_pose(robot, found.q, "ee_link"), goal, atol=1e-9)
