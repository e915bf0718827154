"""Humanoids that stand: constrained accelerations against Pinocchio's `constraintDynamics`."""

import numpy as np
import pinocchio as pin
import pytest

import treesim
from tests import sensitivity
from tests.pinocchio import oracle
from tests.pinocchio.robots import path
from tests.trees import random_state

pytestmark = pytest.mark.filterwarnings("ignore::treesim.UrdfWarning")
FEET = {
    "simple_humanoid": ("r_ankle", "l_ankle"),
    "talos_full_v2": ("leg_left_6_link", "leg_right_6_link"),
}
STOPS = {"proximal": 1e-9, "caba": 1e-9}  # these two stop at residuals of 1e-10
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
        frame = asked.model.frames[asked.frame(foot)]
        models.append(pin.RigidConstraintModel(kind, asked.model, frame.parentJoint, frame.placement, axes))
    return solved_by_pinocchio(asked, models, datas, q, v, tau)


def solved_by_pinocchio(asked, models, datas, q, v, tau):
    """The accelerations of `constraintDynamics`."""
    for model in models:
        datas.append(model.createData())
    data = asked.model.createData()
    pin.initConstraintDynamics(asked.model, data, models, datas)
    to = asked.layout
    state = to.configuration_to_engine(q), to.velocity_to_engine(q, v), to.force_to_engine(q, tau)
    settings = pin.ProximalSettings(1e-14, 0.0, 10)
    return to.acceleration_from_engine(q, v, pin.constraintDynamics(asked.model, data, *state, models, datas, settings))


@pytest.mark.parametrize("contact", CONTACTS)
@pytest.mark.parametrize("method", treesim.available("constrained"))
def test_both_feet_held(pair, method, contact):
    robot, asked, feet = pair
    kind, axes, rows, reference = CONTACTS[contact]
    for seed in range(3):
        q, v, a, _, _ = random_state(robot, seed)
        tau = treesim.inverse_dynamics(robot, q, v, a)
        truth = constraint_dynamics(asked, feet, kind, axes, q, v, tau)
        held = [treesim.FrameConstraint(foot, rows=rows, reference=reference) for foot in feet]
        found = treesim.constrained_dynamics(robot, q, v, tau, held, method=method)
        J = np.concatenate(
            [treesim.frame_jacobian(robot, q, foot, reference=reference)[: 3 if rows else 6] for foot in feet]
        )
        assert_as_exact(robot, q, v, tau, J, found, truth, method)


def assert_as_exact(robot, q, v, tau, J, found, truth, method):
    """Accelerations agree as far as rounding the system of motion and constraints lets two engines."""
    a, f = found.acceleration, found.force
    forces = sensitivity.sizes([tau, *sensitivity.bias_parts(robot, q, v, {})])
    bound, _ = sensitivity.of_constrained(treesim.mass_matrix(robot, q), J, forces, J @ a, a, f)
    assert sensitivity.farthest(a, truth) < 2 * bound + STOPS.get(method, 0)


@pytest.mark.parametrize("reference", ["local", "world"])
@pytest.mark.parametrize("method", ["direct", "proximal", "pv"])
def test_a_loop_between_two_bodies(pair, method, reference):
    """A hand grasps the torso: two frames in one place, at rest, where both engines mean the same by a closed loop."""
    robot, asked, _ = pair
    hand, torso = robot.bodies[-1].name, robot.bodies[robot.n_bodies // 2].name
    q, tau, still = random_state(robot, 1).q, np.zeros(robot.nv), np.zeros(robot.nv)
    pose = np.linalg.solve(treesim.frame_pose(robot, q, torso), treesim.frame_pose(robot, q, hand))
    handle = treesim.Frame("handle", robot.body_names.index(torso) + 1, treesim.Placement(pose[:3, :3], pose[:3, 3]))
    with_handle = treesim.Tree(robot.name, robot.bodies, frames=[handle], gravity=robot.gravity)
    loop = treesim.LoopConstraint(hand, "handle", reference=reference)
    found = treesim.constrained_dynamics(with_handle, q, still, tau, loop, method=method)

    frames = [asked.model.frames[asked.frame(name)] for name in (hand, torso)]
    at_torso = frames[1].placement * pin.SE3(pose)
    models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    models.append(
        pin.RigidConstraintModel(
            pin.ContactType.CONTACT_6D, asked.model,
            frames[0].parentJoint, frames[0].placement, frames[1].parentJoint, at_torso, pin.LOCAL,
        )
    )  # fmt: skip
    truth = solved_by_pinocchio(asked, models, datas, q, still, tau)
    J = np.subtract(*(treesim.frame_jacobian(with_handle, q, frame, reference=reference) for frame in (hand, "handle")))
    assert_as_exact(robot, q, still, tau, J, found, truth, method)
