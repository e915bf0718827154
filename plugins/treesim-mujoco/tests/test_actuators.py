"""Actuators of worlds have the forces of MuJoCo's motor, position and velocity actuators."""

import mujoco
import numpy as np
import pytest

import treesim
from treesim import Motor, PositionServo, VelocityServo

pytestmark = pytest.mark.filterwarnings("ignore::treesim.UrdfWarning")
INTEGRATORS = "implicit_midpoint", "semi_implicit_euler"
# gain, bias and gear in MuJoCo
KINDS = {
    "motor": (Motor(gear=5, rotor_inertia=0.004), (1.0,), (0.0, 0.0, 0.0), 5.0),
    "position": (PositionServo(20, 2, rotor_inertia=0.1), (20.0,), (0.0, -20.0, -2.0), 1.0),
    "velocity": (VelocityServo(2, rotor_inertia=0.1), (2.0,), (0.0, 0.0, -2.0), 1.0),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["ur5", "hyq", "go2", "g1_29dof_rev_1_0", "simple_humanoid"])
def test_trajectories_converge_to_mujocos(name, kind):
    """MuJoCo's error is of order 1, and so is the distance of the midpoint rule from it."""
    rng = np.random.default_rng(0)
    robot = treesim.load(name, base="fixed" if name == "ur5" else "floating")
    for joint in robot.joint_names:
        robot = robot.with_joint(joint, effort_limit=np.full(robot.joint(joint).nv, np.inf))
    actuator, gain, bias, gear = KINDS[kind]
    world = treesim.World(robot, actuators={"*": actuator}, use_limits=False, use_joint_friction=False)
    driven = np.flatnonzero(world.actuator_table.driven)
    q, v = robot.integrate(robot.neutral(), 0.3 * rng.normal(size=robot.nv)), 0.3 * rng.normal(size=robot.nv)
    u = np.zeros(robot.nv)
    u[driven] = rng.normal(size=driven.size)
    spec = treesim.to_mujoco_spec(world.robot)
    for k in driven:
        added = spec.add_actuator(target=robot.dof_joint(int(k)), trntype=mujoco.mjtTrn.mjTRN_JOINT)
        added.gainprm[: len(gain)], added.biasprm[:3], added.gear[0] = gain, bias, gear
        added.gaintype, added.biastype = mujoco.mjtGain.mjGAIN_FIXED, mujoco.mjtBias.mjBIAS_AFFINE
    model = spec.compile()
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    dts, apart = 1e-3 / 2.0 ** np.arange(4), []
    for dt in dts:
        data, model.opt.timestep, steps = mujoco.MjData(model), dt, round(0.05 / dt)
        data.qpos[:], data.qvel[:] = treesim.convert_state(world.robot, q, v, to="mujoco")
        data.ctrl[:] = u[driven]
        mujoco.mj_step(model, data, nstep=steps)
        theirs, _ = treesim.convert_state(world.robot, data.qpos, data.qvel, source="mujoco")
        how = {"steps": steps, "dt": dt, "substeps": 1, "keep": "last", "engine": "generic"}
        control = np.tile(u, (1, steps, 1))
        ours = treesim.rollout(world, q[None], v[None], control, **how | {"steps": None}).q[0, -1]
        apart.append(np.linalg.norm(robot.difference(ours, theirs)))
    order = np.polyfit(np.log(dts), np.log(apart), 1)[0]
    assert 0.9 < order < 1.1 and apart[-1] < 1e-2, (order, apart)
