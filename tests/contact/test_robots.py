"""Real robots stand, are pushed, and fall. Gains are such that all motion has settled in the time given."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

import treesim
from tests.contact.scenes import G
from treesim.contact.base import ContactSolver
from treesim.kernels.contact.pgs import pgs_memory, run_pgs

pytestmark = pytest.mark.slow
G1 = "g1_29dof_rev_1_0"


def stance(robot):
    """A standing configuration, and the targets that hold it."""
    q = treesim.standing(robot, robot.neutral())
    targets = np.zeros(robot.nv)
    for name, where in robot.v_index.items():
        if where.stop - where.start == 1:
            targets[where] = q[robot.q_index[name]]
    return q, targets


def held(robot, kp, kd, duration, push=None, integrator="implicit_midpoint"):
    """States (K, nq), reports, and the stance; push (K, 6): force and moment on the base, along its own axes."""
    q, targets = stance(robot)
    stepper = treesim.Stepper(treesim.World(robot, ground=treesim.Ground()), integrator=integrator, kp=kp, kd=kd)
    state, states, solver_info, force = stepper.reset(q), [], [], []
    for k in range(round(duration / stepper.dt)):
        if push is not None:
            targets[:6] = push[k]
        state, report = stepper.step(state, targets)
        states.append(state.q)
        solver_info.append(report.contact.solver_info)
        force.append(report.contact.wrench_array[1:, :3].sum(axis=0))
    return np.array(states), np.array(solver_info), np.array(force), state, q


def strong(robot):
    """The robot with motors of any effort."""
    return with_joints(robot, effort_limit=np.inf)


def with_joints(robot, **changes):
    """The robot with these fields of all joints but that of its base."""
    bodies = [b if b.joint.type == "floating" else replace(b, joint=replace(b.joint, **changes)) for b in robot.bodies]
    return treesim.Tree(robot.name, bodies, shapes=robot.shapes)


SOLES = {"talos": 2e-6}  # m: by how much points of soles differ in height
STANDING = [(G1, 2000.0, 100.0), ("simple_humanoid", 3000.0, 150.0), ("talos", 8000.0, 400.0), ("anymal", 500.0, 20.0),
            ("solo12", 20.0, 1.0)]  # fmt: skip


@pytest.mark.parametrize(("name", "kp", "kd"), STANDING)
def test_robots_stand_still(name, kp, kd):
    """C9: ten seconds: no creep in the last five, no overlap, and the ground carries the weight.

    simple_humanoid lies on a cylinder and a hull, whose points differ by 1e-5 m in height, talos on soles of meshes,
    whose points differ by 1e-6 m: within the 1e-5 m in which overlaps are left as they are."""
    robot = strong(treesim.load(name, base="floating"))
    states, solver_info, force, state, q = held(robot, kp, kd, 10.0)
    half, rough = len(states) // 2, name == "simple_humanoid"
    assert np.abs(states[half:] - states[half]).max() < (1e-7 if rough else 1e-8)
    assert (
        solver_info[1000:, 0].max() < SOLES.get(name, 1e-9)
        and solver_info[:, 2].max() <= 1e-12
        and solver_info[half:, 1].max() <= 1e-9
    )
    assert solver_info[:, 0].max() < (3e-5 if rough else SOLES.get(name, 1e-9))
    assert np.abs(state.v).max() < 1e-9 and abs(state.q[2] - q[2]) < 1e-3
    np.testing.assert_allclose(force[-1], [0, 0, robot.mass * G], rtol=0, atol=1e-5 * robot.mass * G)


def test_explicit_gains_throw_the_robot():
    """The negative control of standing: the same gains, taken at the start of each step, after five of them."""
    robot = treesim.load(G1, base="floating")
    q, targets = stance(robot)
    stepper = treesim.Stepper(treesim.World(strong(robot), ground=treesim.Ground()), substeps=1)
    state = stepper.reset(q)
    for _ in range(5):
        tau = np.r_[np.zeros(6), 2000.0 * (targets[6:] - state.q[7:]) - 100.0 * state.v[6:]]
        state, _ = stepper.step(state, tau)
    assert not np.abs(state.v).max() < 1e3  # it may be beyond all numbers


def test_g1_stands_with_motors_that_are_too_weak_for_its_arms():
    """Efforts as declared, but 0.5 N m in shoulders and elbows: arms sink until their limits, or they hang, and the
    legs stand; not one force is above its limit."""
    robot = treesim.load(G1, base="floating")
    weak = [
        replace(b, joint=replace(b.joint, effort_limit=0.5))
        if "shoulder" in b.joint.name or "elbow" in b.joint.name
        else b
        for b in robot.bodies
    ]
    robot = treesim.Tree(G1, weak, shapes=robot.shapes)
    q, targets = stance(robot)
    arms = [robot.q_index[f"{side}_elbow_joint"].start for side in ("left", "right")]
    q[arms], targets[[k - 1 for k in arms]] = 0.5, 0.5
    stepper = treesim.Stepper(treesim.World(robot, ground=treesim.Ground()), kp=2000.0, kd=100.0)
    state, feet = stepper.reset(treesim.standing(robot, q)), []
    for k in range(4000):
        state, report = stepper.step(state, targets)
        assert report.ok and report.contact.certificate <= 1e-9
        if k % 1000 == 999:
            feet.append(treesim.frame_pose(robot, state.q, "left_ankle_roll_link")[:3, 3])
    assert np.abs(state.q[arms] - 0.5).max() > 0.1
    assert np.ptp(feet, axis=0).max() < 1e-4 and abs(state.q[2] - q[2]) < 2e-3
    assert report.contact.wrench_array[1:, 2].sum() == pytest.approx(robot.mass * G, rel=0.05)


def squat_targets(robot, targets, t, depth):
    """Targets of a squat at 0.5 Hz, the trunk upright: hips and ankles bend by `depth`, knees by twice as much."""
    bend = depth * (1 - np.cos(np.pi * t)) / 2
    for side in ("left", "right"):
        for joint, part in (("hip_pitch", -1), ("knee", 2), ("ankle_pitch", -1)):
            targets[robot.v_index[f"{side}_{joint}_joint"]] = part * bend
    return targets


def squats(friction, duration, depth=0.5):
    """What is told of every step, heights of the base, and places of both feet every 0.1 s, of a g1 that squats."""
    robot = treesim.load(G1, base="floating")
    q, targets = stance(robot)
    stepper = treesim.Stepper(treesim.World(robot, ground=treesim.Ground(friction=friction)), kp=2000.0, kd=100.0)
    state, solver_info, heights, feet = stepper.reset(q), [], [], []
    for k in range(round(duration / stepper.dt)):
        state, report = stepper.step(state, squat_targets(robot, targets, (k + 1) * stepper.dt, depth))
        solver_info.append(report.contact.solver_info)
        heights.append(state.q[2])
        if k % 100 == 99:
            soles = (f"{side}_ankle_roll_link" for side in ("left", "right"))
            feet.append([treesim.frame_pose(robot, state.q, sole)[:3, 3] for sole in soles])
    return np.array(solver_info), np.array(heights), np.array(feet)


def test_g1_squats_and_its_feet_stay():
    """C10: five squats by 8 cm; feet that stick move by 2e-6 m in each, from turning while they are held."""
    solver_info, heights, feet = squats(0.8, 10.0)
    assert np.ptp(heights) > 0.075 and np.abs(heights[1999::2000] - heights[1999]).max() < 1e-5
    assert np.ptp(feet, axis=0).max() < 2e-5 and solver_info[:, 3].min() == 8
    assert solver_info[:, 0].max() < 1e-7 and solver_info[:, 1].max() < 1e-8 and solver_info[:, 2].max() <= 1e-12


def test_g1_squats_on_ice_and_its_feet_do_not_stay():
    """The negative control."""
    _, _, feet = squats(0.01, 1.0)
    assert np.ptp(feet, axis=0).max() > 1e-4


def test_g1_stands_by_euler_too():
    states, solver_info, _, _, _ = held(
        treesim.load(G1, base="floating"), 2000.0, 100.0, 3.0, integrator="semi_implicit_euler"
    )
    assert np.abs(states[-500:] - states[-500]).max() < 1e-6 and solver_info[:, 0].max() < 1e-8


def test_g1_is_pushed_and_comes_back():
    """20 N sideways for half a second: the ground answers with as much friction, and no foot slips."""
    robot = treesim.load(G1, base="floating")
    push = np.zeros((3000, 6))
    push[1000:1500, 1] = 20.0
    states, solver_info, force, state, _ = held(robot, 2000.0, 100.0, 3.0, push)
    sways = states[:, 1] - states[990, 1]
    assert np.abs(sways).max() > 1e-4 and abs(sways[-1]) < 1e-6
    assert force[1400:1500, 1].mean() == pytest.approx(-20.0, rel=0.01)
    for side in ("left", "right"):
        foot = f"{side}_ankle_roll_link"
        places = [treesim.frame_pose(robot, q, foot)[:3, 3] for q in (states[990], states[1490], states[-1])]
        assert np.ptp(places, axis=0).max() < 1e-5
    assert solver_info[:, 0].max() < 1e-6 and np.abs(state.v).max() < 1e-5


@pytest.mark.parametrize(("name", "kp", "kd"), STANDING)
def test_robots_are_pushed_with_50_newtons_and_stand(name, kp, kd):
    """solo12, of 2.5 kg, with 5 N. A foot may slide by some millimetres; then all is still again, and the ground
    carries the weight."""
    robot = strong(treesim.load(name, base="floating"))
    push = np.zeros((4000, 6))
    push[1000:1500, 1] = 5.0 if name == "solo12" else 50.0
    states, solver_info, force, state, q = held(robot, kp, kd, 4.0, push)
    assert abs(state.q[2] - q[2]) < 1e-3 and np.abs(states[-1, :2] - q[:2]).max() < 0.01
    assert solver_info[1000:, 0].max() < SOLES.get(name, 1e-6) and solver_info[:, 2].max() <= 1e-12
    assert np.abs(state.v).max() < 1e-4
    assert force[-1, 2] == pytest.approx(robot.mass * G, rel=1e-3)
    pushed_back = force[1400:1500, 1].mean()
    assert pushed_back == pytest.approx(-push[1400, 1], rel=0.05)


def fallen(robot, duration=4.0, **options):
    """The run of a robot that falls from its stance, within its limits, and how far joints are beyond them."""
    q = np.clip(stance(robot)[0], robot.lower, robot.upper)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of Euler's energy error, and of what Gauss-Seidel leaves
        run = treesim.Simulation(treesim.World(robot, ground=treesim.Ground()), substeps=1, **options).run(duration, q)
    assert run.stopped is None
    return run, np.maximum(run.q[:, 7:] - robot.upper[7:], robot.lower[7:] - run.q[:, 7:]).max()


@pytest.mark.parametrize(
    ("rule", "dt"),
    [("implicit_midpoint", 1e-3), ("semi_implicit_euler", 1e-3), ("implicit_midpoint", 2e-3),
     ("implicit_midpoint", 5e-3)],
)  # fmt: skip
def test_g1_falls_and_lies_still(rule, dt):
    """C11: damping 0.2 and friction 0.3 in every joint; with 1 ms all is still after four seconds."""
    run, beyond = fallen(
        with_joints(treesim.load(G1, base="floating"), damping=0.2, joint_friction=0.3), integrator=rule, dt=dt
    )
    assert np.abs(run.v[-1]).max() < (1e-9 if dt == 1e-3 else 0.1)
    assert np.diff(run.energy).max() < 1e-4 and run.energy_certificate.max() <= 1e-9
    assert (
        run.penetration.max() < 1e-3
        and run.energy[-1] < run.energy[0] - 100
        and beyond < (0.02 if dt == 5e-3 else 3e-3)
    )
    assert (run.residual > 1e-9).mean() < 0.03 and run.residual.max() < 1e-3


@pytest.mark.parametrize("name", ["simple_humanoid", "talos", "anymal", "solo12"])
def test_robots_fall_without_gaining_energy(name):
    """As g1 does; solo12, of 2.5 kg, has a fiftieth of its damping and friction. Where overlaps of rounded meshes are
    made good, talos, of 90 kg, is lifted by some 1e-7 m."""
    part = 0.02 if name == "solo12" else 1.0
    robot = with_joints(treesim.load(name, base="floating"), damping=0.2 * part, joint_friction=0.3 * part)
    run, beyond = fallen(robot, 3.0)
    lifted = SOLES.get(name, 0.0) / 2 * robot.mass * G  # J, where such soles roll over
    assert np.diff(run.energy).max() < max(1e-4, lifted) and run.energy_certificate.max() <= 1e-9
    assert run.penetration.max() < 1e-3 and beyond < 3e-3
    assert (run.residual > 1e-9).mean() < 0.03 and run.residual.max() < 1e-2


def test_fast_undamped_joints_gain_next_to_nothing():
    """Joints that meet their limits at up to 100 rad/s: without the second look at such steps 0.12 J in one of them.

    Of starts that differ by 1e-3 rad some gain 1e-4 J, some 1e-2 J in their worst step."""
    run, _ = fallen(with_joints(treesim.load(G1, base="floating"), damping=0.0, joint_friction=0.0), 2.0)
    rises = np.diff(run.energy)
    assert np.abs(run.v[:, 6:]).max() > 40
    assert rises.max() < 2e-2 and rises[rises > 0].sum() < 0.05


def ten_sweeps(problem, impulse, sigma, tolerance, most, memory):
    """Block Gauss-Seidel that ends after ten sweeps, whatever is left."""
    return run_pgs(problem, impulse, sigma, tolerance, 10)


class TenSweeps(ContactSolver):
    """As a solver."""

    name = "ten_sweeps"
    about = "ten sweeps"
    kernel = staticmethod(ten_sweeps)
    memory = staticmethod(pgs_memory)


def test_a_fall_under_ten_sweeps_gains_no_energy():
    """C12: what is not solved is told, and takes energy: impulses to start from are scaled along their ray."""
    robot = with_joints(treesim.load(G1, base="floating"), damping=0.2, joint_friction=0.3)
    run, _ = fallen(robot, 2.0, contact_solver=TenSweeps())
    assert run.energy_certificate.max() <= 1e-9 and np.diff(run.energy).max() < 1e-4
    assert run.residual.max() > 1e-6


def test_rollouts_stand_are_pushed_and_fall():
    """Three rollouts of one robot at once: one stands, one is pushed with 50 N, one falls: the states of steppers."""
    robot = strong(treesim.load(G1, base="floating"))
    q, targets = stance(robot)
    world, steps = treesim.World(robot, ground=treesim.Ground()), 4000
    controls = np.tile(targets, (3, steps, 1))
    controls[1, 1000:1500, 1] = 50.0
    start = np.stack([q] * 3)
    start[2, 3:7] = 0, np.sin(0.4), 0, np.cos(0.4)  # it leans by 0.8 rad, and has nothing to step on
    start[2] = treesim.standing(robot, start[2])
    runs = treesim.rollout(world, start, np.zeros(robot.nv), controls, kp=2000.0, kd=100.0, every=10)
    stands, pushed, falls = runs.q
    assert np.abs(stands[300:] - stands[300]).max() < 1e-6
    assert np.abs(pushed[-1, :2] - q[:2]).max() < 0.01 and abs(pushed[-1, 2] - q[2]) < 1e-3
    assert np.abs(pushed - stands).max() > 1e-4 and falls[-1, 2] < 0.5
    held_states, _, _, _, _ = held(robot, 2000.0, 100.0, 1.0)
    np.testing.assert_allclose(stands[:100], held_states[9::10], rtol=0, atol=1e-9)


def test_rollouts_fall_without_gaining_energy():
    robot = with_joints(treesim.load(G1, base="floating"), damping=0.2, joint_friction=0.3)
    world = treesim.World(robot, ground=treesim.Ground())
    start = np.stack([stance(robot)[0]] * 2)
    runs = treesim.rollout(world, start, np.array([[0.0] * robot.nv, [0.3] + [0.0] * (robot.nv - 1)]), steps=2000)
    for q, v in zip(runs.q, runs.v, strict=True):
        energies = np.sum(treesim.energy(robot, q, v), axis=0)
        assert np.diff(energies).max() < 1e-4 and energies[-1] < energies[0] - 100
