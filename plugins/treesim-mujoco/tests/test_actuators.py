"""Actuators of worlds have the forces of MuJoCo's motors, servos, delays, filters and DC motors."""

import mujoco
import numpy as np
import pytest

import treesim
from treesim import DCMotor, Motor, PositionServo, VelocityServo

pytestmark = pytest.mark.filterwarnings("ignore::treesim.UrdfWarning")
WINDING = {"resistance": 0.4, "torque_constant": 0.06, "back_emf": 0.06}  # MuJoCo keeps one constant


def affine(gain, *bias):
    """Return a function that gives a MuJoCo actuator the force gain u + bias of (1, q, v)."""

    def put(actuator):
        actuator.gainprm[0], actuator.biasprm[: len(bias)] = gain, bias
        actuator.gaintype, actuator.biastype = mujoco.mjtGain.mjGAIN_FIXED, mujoco.mjtBias.mjBIAS_AFFINE

    return put


def delayed(actuator):
    affine(20, 0, -20, -2)(actuator)
    actuator.delay, actuator.nsample = 0.008, 128


def filtered(actuator):
    affine(1)(actuator)
    actuator.dyntype, actuator.dynprm[0] = mujoco.mjtDyn.mjDYN_FILTEREXACT, 0.01


def dcmotor(inductance):
    constants = [WINDING["torque_constant"], WINDING["back_emf"]]
    return lambda actuator: actuator.set_to_dcmotor(constants, WINDING["resistance"], inductance=[inductance, 0.0])


KINDS = {
    "motor": (Motor(gear=5, rotor_inertia=0.004), affine(1), 5.0),
    "position": (PositionServo(20, 2, rotor_inertia=0.1), affine(20, 0, -20, -2), 1.0),
    "velocity": (VelocityServo(2, rotor_inertia=0.1), affine(2, 0, 0, -2), 1.0),
    "delay": (PositionServo(20, 2, rotor_inertia=0.1, delay=0.008, before="zero"), delayed, 1.0),
    "lag": (Motor(gear=5, rotor_inertia=0.004, lag=0.01), filtered, 5.0),
    "dcmotor": (DCMotor(**WINDING, gear=20, rotor_inertia=3e-4), dcmotor(0.0), 20.0),
    "inductance": (DCMotor(**WINDING, gear=20, rotor_inertia=3e-4, inductance=4e-3), dcmotor(4e-3), 20.0),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["ur5", "hyq", "go2", "g1_29dof_rev_1_0", "simple_humanoid"])
def test_trajectories_converge_to_mujocos(name, kind):
    """MuJoCo's error is of order 1, and so is the distance of the midpoint rule from it."""
    rng = np.random.default_rng(0)
    robot = treesim.load(name, base="fixed" if name == "ur5" else "floating")
    for joint in robot.joint_names:
        robot = robot.with_joint(joint, effort_limit=np.full(robot.joint(joint).nv, np.inf))
    actuator, put, gear = KINDS[kind]
    world = treesim.World(robot, actuators={"*": actuator}, use_limits=False, use_joint_friction=False)
    driven = np.flatnonzero(world.actuator_table.driven)
    q, v = robot.integrate(robot.neutral(), 0.3 * rng.normal(size=robot.nv)), 0.3 * rng.normal(size=robot.nv)
    size, rate = np.zeros(robot.nv), rng.uniform(20, 60, size=robot.nv)
    size[driven] = rng.normal(size=driven.size)
    spec = treesim.to_mujoco_spec(world.robot)
    for k in driven:
        added = spec.add_actuator(target=robot.dof_joint(int(k)), trntype=mujoco.mjtTrn.mjTRN_JOINT)
        put(added)
        added.gear[0] = gear
    model = spec.compile()
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    dts, apart = 1e-3 / 2.0 ** np.arange(4), []
    for dt in dts:
        data, model.opt.timestep, steps = mujoco.MjData(model), dt, round(0.05 / dt)
        data.qpos[:], data.qvel[:] = treesim.convert_state(world.robot, q, v, to="mujoco")
        control = size * np.cos(rate * dt * np.arange(steps)[:, None])
        for u in control:
            data.ctrl[:] = u[driven]
            mujoco.mj_step(model, data)
        theirs, _ = treesim.convert_state(world.robot, data.qpos, data.qvel, source="mujoco")
        ours = treesim.rollout(world, q, v, control, dt, substeps=1, keep="last", engine="generic").q[0, -1]
        apart.append(np.linalg.norm(robot.difference(ours, theirs)))
    order = np.polyfit(np.log(dts), np.log(apart), 1)[0]
    assert 0.9 < order < 1.1 and apart[-1] < 1e-2, (order, apart)
