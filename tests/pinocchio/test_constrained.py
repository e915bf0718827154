"""Humanoids that stand: constrained accelerations against Pinocchio's `constraintDynamics`."""

import numpy as np
import pinocchio as pin
import pytest

import treesim
from tests.pinocchio import oracle
from tests.pinocchio.robots import path
from tests.trees import random_state

pytestmark = pytest.mark.filterwarnings("ignore::treesim.urdf.UrdfWarning")
FEET = {
    "simple_humanoid": ("r_ankle", "l_ankle"),
    "talos_full_v2": ("leg_left_6_link", "leg_right_6_link"),
}
TOLERANCE = {"direct": 1e-12, "pv": 1e-12, "proximal": 1e-9, "caba": 1e-9}  # the last two stop at residuals of 1e-10
CONTACTS = {  # where Pinocchio constrains the derivative of the velocity's own numbers, as treesim does
    "six rows, local axes": (pin.ContactType.CONTACT_6D, pin.LOCAL, None, "local"),
    "point, world axes": (pin.ContactType.CONTACT_3D, pin.LOCAL_WORLD_ALIGNED, "linear", "world"),
}


@pytest.fixture(scope="module", params=FEET)
def pair(request):
    """A robot, Pinocchio's model of it, and the names of its feet."""
    options = {"mimic": "free"} if request.param.startswith("talos") else {}
    robot = treesim.load(path(request.param), base="floating", **options)
    return robot, oracle.from_urdf(robot, path(request.param), "floating"), FEET[request.param]


def constraint_dynamics(asked, feet, kind, axes, q, v, tau):
    """Pinocchio's accelerations with the feet held."""
    models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for foot in feet:
        frame = asked.model.frames[asked._frame(foot)]
        models.append(pin.RigidConstraintModel(kind, asked.model, frame.parentJoint, frame.placement, axes))
    return solved_by_pinocchio(asked, models, datas, q, v, tau)


def solved_by_pinocchio(asked, models, datas, q, v, tau):
    """The accelerations of `constraintDynamics`."""
    for model in models:
        datas.append(model.createData())
    data = asked.model.createData()
    pin.initConstraintDynamics(asked.model, data, models, datas)
    state = asked.configuration(q), asked.velocity(v), asked.velocity(tau)
    settings = pin.ProximalSettings(1e-14, 0.0, 10)
    return pin.constraintDynamics(asked.model, data, *state, models, datas, settings)[asked.order]


@pytest.mark.parametrize("contact", CONTACTS)
@pytest.mark.parametrize("method", treesim.available("constrained"))
def test_both_feet_held(pair, method, contact):
    robot, asked, feet = pair
    kind, axes, rows, reference = CONTACTS[contact]
    for seed in range(3):
        q, v, a, _, _ = random_state(robot, seed)
        tau = treesim.inverse_dynamics(robot, q, v, a)
        truth = constraint_dynamics(asked, feet, kind, axes, q, v, tau)
        held = [treesim.FrameConstraint(foot, rows, reference=reference) for foot in feet]
        found = treesim.constrained_dynamics(robot, q, v, tau, held, method=method)
        error = np.linalg.norm(found.acceleration - truth) / np.linalg.norm(truth)
        assert error < TOLERANCE[method]


@pytest.mark.parametrize("reference", ["local", "world"])
@pytest.mark.parametrize("method", ["direct", "proximal", "pv"])
def test_a_loop_between_two_bodies(pair, method, reference):
    """A hand grasps the torso: two frames in one place, at rest, where both engines mean the same by a closed loop."""
    robot, asked, _ = pair
    hand, torso = robot.bodies[-1].name, robot.bodies[robot.n_bodies // 2].name
    q, tau, still = random_state(robot, 1).q, np.zeros(robot.nv), np.zeros(robot.nv)
    pose = np.linalg.solve(treesim.frame_pose(robot, q, torso), treesim.frame_pose(robot, q, hand))
    handle = treesim.Frame("handle", robot.body_names.index(torso) + 1, treesim.Placement(pose[:3, :3], pose[:3, 3]))
    with_handle = treesim.Tree(robot.name, robot.bodies, [handle], gravity=robot.gravity)
    loop = treesim.LoopConstraint(hand, "handle", reference=reference)
    found = treesim.constrained_dynamics(with_handle, q, still, tau, loop, method=method)

    frames = [asked.model.frames[asked._frame(name)] for name in (hand, torso)]
    at_torso = frames[1].placement * pin.SE3(pose)
    models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    models.append(
        pin.RigidConstraintModel(
            pin.ContactType.CONTACT_6D, asked.model,
            frames[0].parentJoint, frames[0].placement, frames[1].parentJoint, at_torso, pin.LOCAL,
        )
    )  # fmt: skip
    truth = solved_by_pinocchio(asked, models, datas, q, still, tau)
    assert np.linalg.norm(found.acceleration - truth) < (1e-10 if method != "proximal" else 1e-7) * np.linalg.norm(
        truth
    )
