"""`treesim.to_pinocchio`: same mechanics, limits, damping, friction, names and frames; differences are found."""

from __future__ import annotations

import gc
import sys
from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from treesim_pinocchio import parts
from treesim_pinocchio.adapter import PinocchioAdapter

import treesim
from tests import layouts
from treesim.compare import EngineError
from treesim.compare.conversion import layout_of
from treesim.errors import ConversionWarning, UnsupportedError
from treesim.model import generators
from treesim.model.mimic import MimicMap
from treesim.urdf import installed_robots

pytestmark = pytest.mark.filterwarnings("ignore::treesim.UrdfWarning")
TYPES = ("revolute", "continuous", "prismatic", "spherical", "planar")
G1 = treesim.load("g1_29dof_rev_1_0", base="floating")


def with_losses(robot, seed=0):
    """Return the robot with other limits, damping, friction and armature in every joint but a floating base."""
    rng, bodies = np.random.default_rng(seed), []
    for body in robot.bodies:
        nv, joint = body.joint.nv, body.joint
        labels = ("velocity_limit", "effort_limit", "damping", "joint_friction", "armature")
        own = {label: np.full(nv, rng.uniform(0.1, 2.0)) for label in labels}
        if nv == 1 and joint.type != "continuous":
            own |= {"lower": -rng.uniform(1, 2), "upper": rng.uniform(1, 2)}
        bodies.append(body if joint.type == "floating" else replace(body, joint=replace(joint, **own)))
    return treesim.Tree(
        robot.name, bodies, frames=list(robot.frames.values())[robot.n_bodies :], gravity=(1.0, 2.0, -9.0)
    )


@pytest.mark.parametrize("floating", [True, False])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_random_trees_of_every_joint_type_are_the_same(seed, floating):
    robot = with_losses(layouts.robot(seed, floating, TYPES), seed)
    model = treesim.to_pinocchio(robot)
    q, v = robot.random(seed), np.random.default_rng(seed).normal(size=robot.nv)
    theirs = treesim.convert_state(robot, q, v, to="pinocchio")
    data = model.createData()
    pin.computeCentroidalMomentum(model, data, *theirs)
    np.testing.assert_allclose(data.hg.linear, treesim.momentum(robot, q, v)[:3], rtol=1e-10, atol=1e-10)


def test_springs_are_left_out_with_a_warning():
    robot = treesim.load("ur5").with_joint("elbow_joint", stiffness=2.0)
    with pytest.warns(ConversionWarning, match="springs of joints are left out, which Pinocchio .*: 'elbow_joint'"):
        assert treesim.to_pinocchio(robot).nv == 6


def test_limits_losses_and_names_are_carried_over():
    robot = with_losses(G1)
    model = treesim.to_pinocchio(robot)
    assert (model.name, list(model.names)[1:]) == (robot.name, list(robot.joint_names))
    for name in robot.joint_names[1:]:
        joint, q, v = model.joints[model.getJointId(name)], robot.q_index[name], robot.v_index[name]
        own = {
            "lowerPositionLimit": (joint.idx_q, robot.lower[q]), "upperPositionLimit": (joint.idx_q, robot.upper[q]),
            "upperVelocityLimit": (joint.idx_v, robot.velocity_limit[v]), "damping": (joint.idx_v, robot.damping[v]),
            "upperEffortLimit": (joint.idx_v, robot.effort_limit[v]), "armature": (joint.idx_v, robot.armature[v]),
            "lowerEffortLimit": (joint.idx_v, -robot.effort_limit[v]),
            "upperDryFrictionLimit": (joint.idx_v, robot.joint_friction[v]),
        }  # fmt: skip
        for label, (place, values) in own.items():
            assert getattr(model, label)[place] == values[0], (name, label)
    np.testing.assert_array_equal(model.gravity.linear, robot.gravity)
    assert (model.upperPositionLimit[3:7] == 1.01).all() and np.isfinite(model.upperPositionLimit).all()


def test_frames_stand_where_they_stand_here():
    model = treesim.to_pinocchio(G1)
    data, q = model.createData(), G1.random(0)
    theirs, _ = treesim.convert_state(G1, q, np.zeros(G1.nv), to="pinocchio")
    pin.framesForwardKinematics(model, data, theirs)
    for name in G1.frame_names:
        kind = pin.BODY if name in G1.body_names else pin.OP_FRAME
        found = data.oMf[model.getFrameId(name, kind)].homogeneous
        np.testing.assert_allclose(found, treesim.frame_pose(G1, q, name), atol=1e-13)


def test_a_model_that_differs_is_refused_and_its_body_named(monkeypatch):
    right = PinocchioAdapter.convert

    def heavier(self, robot):
        made = right(self, robot)
        made.model.inertias[3].mass *= 1 + 1e-9
        return made

    monkeypatch.setattr(PinocchioAdapter, "convert", heavier)
    with pytest.raises(EngineError, match=f"mass of body '{G1.body_names[2]}' is off by 1e-09"):
        treesim.to_pinocchio(G1)


@pytest.mark.parametrize("seed", [0, 1])
def test_parts_of_a_large_model_are_the_same(seed, monkeypatch):
    robot = with_losses(layouts.robot(seed, True, TYPES), seed)
    monkeypatch.setattr(parts, "PART", 3)
    made = PinocchioAdapter().convert(robot)
    found = list(made.parts())
    assert len(found) > 2 and [name for part in found for name in part.robot.joint_names] == [*robot.joint_names]
    assert treesim.to_pinocchio(robot) == made.model


def carried_by_another(model):
    model.parents[15] = 1


def shifted(model):
    model.jointPlacements[9].translation += np.array([0, 0, 1e-9])


@pytest.mark.parametrize("change, message", [
    (carried_by_another, f"joint '{G1.joint_names[14]}' has another parent"), (shifted, "pose of .* is off by"),
])  # fmt: skip
def test_differences_between_parts_are_found(change, message, monkeypatch):
    made = PinocchioAdapter().convert(G1)
    change(made.model)
    monkeypatch.setattr(parts, "PART", 8)
    monkeypatch.setattr(PinocchioAdapter, "convert", lambda self, robot: made)
    with pytest.raises(EngineError, match=message):
        treesim.to_pinocchio(G1)


def test_time_and_memory_are_linear_in_the_bodies(monkeypatch):
    """Counts calls of functions of Python and C, and the third power of sizes, which `pinocchio.Data` needs."""
    allocate, cubes = pin.Model.createData, []
    monkeypatch.setattr(pin.Model, "createData", lambda model: cubes.append(model.nv**3) or allocate(model))
    monkeypatch.setattr(parts, "PART", 4)

    def work(count):
        robot, calls = generators.chain(count), [0]
        cubes.clear()

        def counted(frame, event, _):
            calls[0] += event in ("call", "c_call")

        gc.disable()  # libraries let the collector call functions of theirs
        sys.setprofile(counted)
        try:
            treesim.to_pinocchio(robot)
        finally:
            sys.setprofile(None)
            gc.enable()
        return np.array([calls[0], sum(cubes)])

    work(8)  # compiles
    assert (work(24) <= 2 * work(12)).all()


INERTIA = treesim.Inertia(1.0, (0.1, 0, 0), np.eye(3) * 0.01)


def geared(mimic_joint, mimicked, carried):
    """Return two continuous joints with rotors, of which one mimics the other.

    carried: the second joint is on the first joint's body.
    """
    joints = {name: treesim.Joint(name, "continuous", axis=(0, 1, 0), armature=0.2) for name in "ab"}
    joints[mimic_joint] = replace(joints[mimic_joint], mimic=treesim.Mimic(mimicked, -0.3, 0.2))
    bodies = [treesim.Body("one", 0, joints["a"], INERTIA), treesim.Body("two", int(carried), joints["b"], INERTIA)]
    return treesim.Tree("gear", bodies)


@pytest.mark.parametrize("robot", [
    treesim.load("panda"),
    treesim.load("tiago_pro"),  # where followers come before their leaders
    geared("b", "a", True),
    geared("a", "b", False),
], ids=["panda", "tiago_pro", "later", "earlier"])  # fmt: skip
def test_followers_are_mimic_joints(robot):
    """The conversion compares forces and the mass matrix.

    This test checks Pinocchio's own crba, and positions of all joints after more than a turn of continuous
    ones.
    """
    model = treesim.to_pinocchio(robot)
    assert (model.nv, len(model.mimicking_joints)) == (robot.nv, len(robot.mimic_joints))
    q = np.minimum(robot.random(0) + 4.0, robot.upper)
    theirs, _ = treesim.convert_state(robot, q, np.zeros(robot.nv), to="pinocchio")
    data = model.createData()
    M = np.triu(pin.crba(model, data, theirs))
    M = layout_of(robot, "pinocchio").matrix_from_engine(q, M + np.triu(M, 1).T)
    np.testing.assert_allclose(M, treesim.mass_matrix(robot, q), atol=1e-12 * M.max())
    pin.framesForwardKinematics(model, data, theirs)
    for name in robot.body_names:
        found = data.oMf[model.getFrameId(name, pin.BODY)].homogeneous
        np.testing.assert_allclose(found, treesim.frame_pose(robot, q, name), atol=1e-12)


def test_a_multiplier_that_differs_is_found(monkeypatch):
    monkeypatch.setattr(MimicMap, "lines", lambda self: {"b": ("a", -0.3 - 1e-9, 0.2)})
    with pytest.raises(EngineError, match="is not the same"):
        treesim.to_pinocchio(geared("b", "a", True))


def test_followers_that_carry_their_leaders_are_refused_and_loops_are_told():
    with pytest.raises(UnsupportedError, match=r"'gear': .* no joint that follows one which hangs on it, as 'a'"):
        treesim.to_pinocchio(geared("a", "b", True))
    bodies = [treesim.Body(name, 0, treesim.Joint(name, "revolute"), INERTIA) for name in ("one", "two")]
    loop = treesim.Loop("pin", "one", "two")
    with pytest.warns(ConversionWarning, match="'pin'"):
        treesim.to_pinocchio(treesim.Tree("scissors", bodies, loops=[loop]))


def test_inverse_kinematics_by_pink_reach_a_pose_of_treesim():
    pink = pytest.importorskip("pink", reason="needs the package pin-pink")
    pytest.importorskip("quadprog", reason="needs the package quadprog")
    robot, q = treesim.load("ur5"), np.array([0.3, -1.0, 0.7, 0.2, 0.1, 0.4])
    model = treesim.to_pinocchio(robot)
    task = pink.tasks.FrameTask("ee_link", position_cost=1.0, orientation_cost=1.0)
    goal = treesim.frame_pose(robot, q, "ee_link")
    goal[:3, 3] += (0.05, -0.05, 0.1)
    task.set_target(pin.SE3(goal))
    found = pink.Configuration(model, model.createData(), q)
    for _ in range(200):
        found.integrate_inplace(pink.solve_ik(found, [task], 1e-2, solver="quadprog"), 1e-2)
    np.testing.assert_allclose(treesim.frame_pose(robot, found.q, "ee_link"), goal, atol=1e-9)


def read_by_pinocchio(robot, mimic=False):
    """Return the model that Pinocchio's reader makes of a robot with or without a floating base."""
    base = [pin.JointModelFreeFlyer()] if robot.joint(robot.joint_names[0]).type == "floating" else []
    fixed = treesim.load(robot.name) if base else robot
    return pin.buildModelFromXML(treesim.to_urdf(fixed), *base, mimic=mimic)


@pytest.mark.parametrize("name, base, mimic, nq", [
    ("a1", "floating", False, 19),  # the same numbers in another order
    ("tiago_pro", "fixed", False, 37),  # continuous joints, and mimic joints with coordinates
    ("tiago_pro", "floating", True, 34),  # and without
])  # fmt: skip
def test_states_for_models_that_pinocchio_read(name, base, mimic, nq):
    robot = treesim.load(name, base=base)
    model = read_by_pinocchio(robot, mimic)
    assert model.nq == nq
    q, v = np.stack([robot.random(0), robot.random(1)]), np.random.default_rng(0).normal(size=(2, robot.nv))
    theirs = treesim.convert_state(robot, q, v, to="pinocchio", model=model)
    assert not np.array_equal(theirs[0], treesim.convert_state(robot, q, v, to="pinocchio")[0])
    drakes = treesim.convert_state(robot, *theirs, source="pinocchio", to="drake", model=model)
    np.testing.assert_allclose(drakes[1], treesim.convert_state(robot, q, v, to="drake")[1], atol=1e-12)
    data = model.createData()
    for k in (0, 1):
        pin.forwardKinematics(model, data, theirs[0][k], theirs[1][k])
        pin.updateFramePlacements(model, data)
        for body in robot.body_names:
            frame = model.getFrameId(body, pin.BODY)
            pose, moving = data.oMf[frame], pin.getFrameVelocity(model, data, frame, pin.LOCAL_WORLD_ALIGNED)
            np.testing.assert_allclose(pose.homogeneous, treesim.frame_pose(robot, q[k], body), atol=1e-13)
            expected = treesim.frame_velocity(robot, q[k], v[k], body)
            np.testing.assert_allclose(moving.vector, expected, atol=1e-12)
    back, v_back = treesim.convert_state(robot, *theirs, source="pinocchio", model=model)
    assert np.abs(robot.difference(q, back)).max() < 1e-12
    np.testing.assert_allclose(v_back, v, atol=1e-12)


def test_models_that_do_not_fit_are_refused():
    robot = treesim.load("a1")
    model = read_by_pinocchio(robot)

    def refused(message, robot=robot, model=model, **engines):
        with pytest.raises(treesim.ArgumentError, match=message):
            treesim.convert_state(robot, robot.neutral(), np.zeros(robot.nv), **engines, model=model)

    to = {"to": "pinocchio"}
    refused("'a1' lacks 'root_joint'", model=read_by_pinocchio(treesim.load("a1", base="floating")), **to)
    refused("the model lacks 'root_joint'", robot=treesim.load("a1", base="floating"), **to)
    refused("the model lacks 'FL_hip_joint'", model=pin.buildReducedModel(model, [1], pin.neutral(model)), **to)
    refused("must be a pinocchio.Model, got str", model="a1.urdf", **to)
    refused('add to="pinocchio"', to="drake")
    moved = model.copy()
    moved.jointPlacements[4].translation += np.array([0, 0, 1e-3])
    refused(f"joint '{model.names[4]}' moves otherwise", model=moved, source="pinocchio")
    turned = model.copy()
    name = turned.names[3]
    turned.jointPlacements[3] = turned.jointPlacements[3] * pin.SE3(pin.utils.rotate("z", np.pi), np.zeros(3))
    refused(f"joint '{name}' moves otherwise", model=turned, **to)
    panda = treesim.load("panda", mimic="free")
    refused("'panda_finger_joint2' has nq 0", robot=panda, model=treesim.to_pinocchio(treesim.load("panda")), **to)


def by_name(model):
    """Return the indices of the degrees of freedom of a model, in the order of the joints' names, and these."""
    names = sorted(list(model.names)[1:])
    joints = [model.joints[model.getJointId(name)] for name in names]
    return np.concatenate([range(joint.idx_v, joint.idx_v + joint.nv) for joint in joints]), names


@pytest.mark.parametrize("name, locked", [
    ("ur5", ["elbow_joint"]), ("go2", ["FL_hip_joint", "RR_calf_joint"]),
    ("talos", ["torso_1_joint", "arm_left_4_joint"]),
])  # fmt: skip
def test_models_can_be_reduced_as_those_that_pinocchio_reads(name, locked):
    robot = treesim.load(name, base="fixed")
    path = next(entry.path for entry in installed_robots() if entry.name == name)
    found = []
    for model in (treesim.to_pinocchio(robot), pin.buildModelFromUrdf(str(path))):
        q = np.array([0.1] * model.nq)
        reduced = pin.buildReducedModel(model, [model.getJointId(joint) for joint in locked], q)
        order, names = by_name(reduced)
        data = reduced.createData()
        M = pin.crba(reduced, data, np.full(reduced.nq, 0.1))
        M = np.triu(M) + np.triu(M, 1).T
        pin.framesForwardKinematics(reduced, data, np.full(reduced.nq, 0.1))
        poses = [data.oMf[reduced.getFrameId(body, pin.BODY)].homogeneous for body in robot.body_names]
        found.append((names, M[np.ix_(order, order)], poses))
    assert found[0][0] == found[1][0] == sorted(set(robot.joint_names) - set(locked))
    for ours, theirs in zip(found[0][1:], found[1][1:], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-13)


def test_frames_have_the_frames_of_their_links_as_parents():
    robot = treesim.load("ur5")
    model = treesim.to_pinocchio(robot)
    parents = {frame.name: model.frames[frame.parentFrame].name for frame in model.frames}
    assert parents["wrist_1_joint"] == "elbow_joint" and parents["wrist_1_link"] == "wrist_1_joint"
    assert [parents[weld.link] for weld in robot.welds] == [weld.parent or "universe" for weld in robot.welds]
