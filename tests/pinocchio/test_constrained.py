"""Humanoids that stand: constrained accelerations and forces against Pinocchio's `constraintDynamics`."""

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
    """Pinocchio's accelerations, and its forces on the feet, force first."""
    models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for foot in feet:
        frame = asked.model.frames[asked._frame(foot)]
        models.append(pin.RigidConstraintModel(kind, asked.model, frame.parentJoint, frame.placement, axes))
        datas.append(models[len(models) - 1].createData())
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
        assert error < (3 if robot.name == "talos" else 1) * TOLERANCE[method]
