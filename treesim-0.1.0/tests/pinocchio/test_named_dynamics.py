"""Functions that Pinocchio has under its own names, on robots of example-robot-data: momenta, Coriolis, regressor."""

import numpy as np
import pinocchio as pin
import pytest

import treesim
from tests.pinocchio import oracle
from tests.trees import random_state, relative_error
from treesim.dynamics.joint_wrenches import wrenches_of_motion
from treesim.urdf.installed import find_robot

pytestmark = pytest.mark.filterwarnings("ignore::treesim.UrdfWarning")  # of the robots' own inertias and mimics
EXACT = 1e-12
QUICK = ("panda", "ur5", "g1", "talos")
OTHERS = (
    "a1", "allegro_right_hand", "anymal", "anymal_kinova", "b1", "baxter", "bolt", "go2", "hyq", "icub", "iris",
    "kinova", "laikago", "simple_humanoid", "solo12", "talos_full", "tiago_no_hand", "ur10", "xarm7", "z1",
)  # fmt: skip
AXES = {"local_world_aligned": pin.LOCAL_WORLD_ALIGNED, "local": pin.LOCAL, "spatial": pin.WORLD}


@pytest.mark.parametrize("base", ["fixed", "floating"])
@pytest.mark.parametrize("name", [*QUICK, *(pytest.param(name, marks=pytest.mark.slow) for name in OTHERS)])
def test_each_is_what_pinocchio_computes(name, base):
    robot = treesim.load(name, base=base, mimic="free")
    engine = oracle.from_urdf(robot, find_robot(name), base)
    model, data, to = engine.model, engine.data, engine.layout
    for seed in range(2):
        q, v, a, *_ = random_state(robot, seed)
        theirs = to.configuration_to_engine(q), to.velocity_to_engine(q, v), to.acceleration_to_engine(q, v, a)
        expected = {
            "gravity_forces": (treesim.gravity_forces(robot, q), to.force_from_engine(q, gravity(model, data, theirs))),
            "coriolis_matrix": (
                treesim.coriolis_matrix(robot, q, v),
                to.matrix_from_engine(q, pin.computeCoriolisMatrix(model, data, *theirs[:2])),
            ),
            "centroidal_momentum": (
                treesim.centroidal_momentum(robot, q, v),
                pin.computeCentroidalMomentum(model, data, *theirs[:2]).vector.copy(),
            ),
            "centroidal_momentum_matrix": (
                treesim.centroidal_momentum_matrix(robot, q),
                to.columns_from_engine(pin.computeCentroidalMap(model, data, theirs[0])),
            ),
            "centroidal_dynamics": (
                treesim.centroidal_dynamics(robot, q, v, a),
                pin.computeCentroidalMomentumTimeVariation(model, data, *theirs).vector.copy(),
            ),
            "joint_torque_regressor": (
                treesim.joint_torque_regressor(robot, q, v, a),
                regressor(robot, engine, q, pin.computeJointTorqueRegressor(model, data, *theirs)),
            ),
            "joint_wrenches": wrenches(robot, engine, q, v, a, theirs),
        }
        for function, (ours, other) in expected.items():
            assert relative_error(ours, other) < EXACT, function
        frame = robot.frame_names[-1]
        pin.computeJointJacobiansTimeVariation(model, data, *theirs[:2])
        pin.updateFramePlacements(model, data)
        for reference, axes in AXES.items():
            other = pin.getFrameJacobianTimeVariation(model, data, engine.frame(frame), axes)
            ours = treesim.frame_jacobian_derivative(robot, q, v, frame, reference=reference)
            assert relative_error(ours, to.columns_from_engine(other)) < EXACT, reference


def gravity(model, data, theirs):
    return pin.computeGeneralizedGravity(model, data, theirs[0])


def regressor(robot, engine, q, theirs):
    """Return Pinocchio's regressor with rows and bodies in treesim's order."""
    places = [engine.model.getJointId(joint) - 1 for joint in robot.joint_names]
    columns = np.concatenate([np.arange(10 * k, 10 * k + 10) for k in places])
    return engine.layout.force_from_engine(q, theirs.T).T[:, columns]


def wrenches(robot, engine, q, v, a, theirs):
    """Return the wrenches across the joints, driven by the forces of a motion, and Pinocchio's of this motion."""
    pin.rnea(engine.model, engine.data, *theirs)
    other = np.array([engine.data.f[engine.model.getJointId(joint)].vector for joint in robot.joint_names])
    tau = treesim.inverse_dynamics(robot, q, v, a)
    ours = wrenches_of_motion(robot, q, v, a, welds=False)
    driven = treesim.joint_wrenches(robot, q, v, tau, refinements=1)
    assert relative_error(driven, other) < 1e-9
    return ours, other
