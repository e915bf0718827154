"""Real robots from installed packages: loaded as Pinocchio reads them, or refused with the reason that is theirs."""

import warnings

import numpy as np
import pytest
from lxml import etree

import treesim
from tests.urdf_versions import FEW as VERSIONED
from tests.urdf_versions import rewritten
from treesim.errors import UrdfError
from treesim.urdf import installed_robots, load

pin = pytest.importorskip("pinocchio")
pytest.importorskip("pybullet_data")

ROBOTS = {entry.name: entry.path for entry in installed_robots()}
if "talos_full_v2" not in ROBOTS:
    pytest.skip("example-robot-data is not installed", allow_module_level=True)

FEW = [
    "talos_full_v2", "talos_reduced", "simple_humanoid", "panda", "ur5", "anymal_c", "solo12", "allegro_right_hand",
    "human", "double_pendulum", "double_pendulum_continuous", "g1", "pr2", "kuka_iiwa", "pybullet_data/a1",
    "pybullet_data/laikago", "cartpole", "r2d2", "minitaur", "pendulum5",
]  # fmt: skip

# Refused although their mimic joints are left free: the codes of the errors.
REFUSED = {
    "alex_psyonic_hands": {"U407"}, "romeo_laas_small": {"U305"}, "ur3": {"U201", "U207"},
    "bike": {"U301"}, "biped2d_pybullet": {"U301", "U404"}, "cube_no_rotation": {"U404"}, "husky": {"U103"},
    "microtaur": {"U302"}, "spirit40newer": {"U208"}, "torus_deform": {"U207"},
}  # fmt: skip


def quietly(source, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return load(source, mimic="free", **options)


def pinocchio_model(name, floating):
    """Pinocchio reads no spherical joints, and floating and planar ones only at the root."""
    root = (pin.JointModelFreeFlyer(),) if floating else ()
    return pin.buildModelFromUrdf(str(ROBOTS[name]), *root)


def close(a, b, scale=1.0):
    assert np.shape(a) == np.shape(b)
    assert np.abs(np.asarray(a) - np.asarray(b)).max(initial=0) <= 1e-12 * max(1.0, scale), (a, b)


def compare(name, floating):
    tree = quietly(name, base="floating" if floating else "fixed")
    compare_with_model(tree, pinocchio_model(name, floating))


def compare_with_model(tree, model):
    assert (tree.n_bodies, tree.nv) == (model.njoints - 1, model.nv)
    assert set(tree.joint_names) == set(model.names[1:])
    mass = sum(inertia.mass for inertia in model.inertias.tolist()[1:])
    close(tree.mass, mass, mass)
    for body in tree.bodies:
        joint, k = body.joint, model.getJointId(body.joint.name)
        parent = tree.bodies[body.parent - 1].joint.name if body.parent else "universe"
        assert model.names[model.parents[k]] == parent
        close(joint.placement.matrix(), model.jointPlacements[k].homogeneous)
        assert body.inertia.mass == pytest.approx(model.inertias[k].mass, rel=1e-14, abs=1e-15)
        if body.inertia.mass:  # where a body without mass has its centre is anyone's choice
            close(body.inertia.com, model.inertias[k].lever)
        close(body.inertia.rotational, model.inertias[k].inertia)
        if joint.kind.name in ("revolute", "prismatic", "continuous"):
            v = model.idx_vs[k]
            assert joint.damping[0] == model.damping[v]
            assert joint.joint_friction[0] == model.upperDryFrictionLimit[v]
            assert joint.effort_limit[0] in (model.upperEffortLimit[v], np.inf)
            assert joint.velocity_limit[0] in (model.upperVelocityLimit[v], np.inf)
        if joint.kind.name in ("revolute", "prismatic") and np.isfinite(joint.lower[0]):
            q = model.idx_qs[k]
            assert (joint.lower[0], joint.upper[0]) == (model.lowerPositionLimit[q], model.upperPositionLimit[q])
    for frame in model.frames.tolist():
        if frame.type == pin.FrameType.BODY and frame.name != "universe":
            ours = tree.frame(frame.name)
            assert (tree.bodies[ours.body - 1].joint.name if ours.body else "universe") == model.names[
                frame.parentJoint
            ]
            close(ours.placement.matrix(), frame.placement.homogeneous)


@pytest.mark.parametrize("floating", [False, True], ids=["fixed", "floating"])
@pytest.mark.parametrize("name", FEW)
def test_robot_is_read_as_by_pinocchio(name, floating):
    compare(name, floating)


@pytest.mark.parametrize("version", ["1.1", "1.2"])
@pytest.mark.parametrize("name", VERSIONED)
def test_later_versions_are_read_as_by_pinocchio(name, version):
    text = rewritten(ROBOTS[name], version, motion_limits=True)
    tree, model = quietly(text), pin.buildModelFromXML(text.decode())
    compare_with_model(tree, model)
    limits = {joint.get("name"): joint.find("limit") for joint in etree.fromstring(text).iterfind("joint")}
    assert tree.nv and model.nv
    for body in tree.bodies:
        for attribute in ("acceleration", "deceleration", "jerk"):
            (limit,), written = getattr(body.joint, f"{attribute}_limit"), limits[body.joint.name]
            assert limit == (np.inf if version == "1.1" else float(written.get(attribute)))
    data, moved = model.createData(), np.random.default_rng(7).uniform(-1, 1, model.nv)
    pin.framesForwardKinematics(model, data, pin.integrate(model, pin.neutral(model), moved))
    q = np.zeros(tree.nq)
    for joint, v in zip(model.names.tolist()[1:], model.idx_vs.tolist()[1:], strict=True):
        q[tree.q_index[joint]] = moved[v]
    for frame, pose in zip(model.frames.tolist(), data.oMf.tolist(), strict=True):
        if frame.type == pin.FrameType.BODY and frame.name != "universe":
            np.testing.assert_allclose(treesim.frame_pose(tree, q, frame.name), pose.homogeneous, rtol=0, atol=1e-14)


@pytest.mark.parametrize("name", REFUSED)
def test_wrong_robot_is_refused_with_its_reason(name):
    with pytest.raises(UrdfError) as refusal:
        quietly(name)
    assert {finding.code for finding in refusal.value.findings} == REFUSED[name]


def test_pybullets_humanoid_has_spherical_joints():
    humanoid = quietly("humanoid", base="floating")
    types = [body.joint.type for body in humanoid.bodies]
    assert types.count("spherical") == 8 and types.count("revolute") == 4
    assert (humanoid.nq, humanoid.nv) == (7 + 8 * 4 + 4, 6 + 8 * 3 + 4)


def test_romeo_loads_with_a_note_on_each_massless_leaf():
    notes = [note for note in quietly("romeo").notes if note.code == "U310"]
    assert len(notes) == 24 and "'RThumb3'" in notes[0].message


@pytest.mark.slow
def test_every_installed_robot_is_read_as_by_pinocchio_or_refused():
    for path, name in {path: name for name, path in reversed(ROBOTS.items())}.items():
        if name in REFUSED or REFUSED.keys() & {known for known, where in ROBOTS.items() if where == path}:
            continue
        tree = quietly(name)
        if all(body.joint.kind.has_axis and body.joint.type != "planar" for body in tree.bodies):
            compare(name, floating=False)
