"""Inverse kinematics of 1,000 poses of three arms and of a humanoid's hand: how many are found, and how fast.

Where pink is installed (`pip install pin-pink daqp`), it gets the same targets, start, tolerance and number of
iterations, with the damping that suits it best of five. A last line lets a humanoid reach with both hands at once, with
its feet in place and its centre of mass above them.
"""

import time
import warnings
from importlib.util import find_spec

import numpy as np

import treesim

ARMS = {"panda": "panda_hand", "ur5": "ee_link", "xarm7": "link_eef", "g1": "left_rubber_hand"}
COUNT, TOLERANCE, ITERATIONS = 1000, 1e-6, 100
DAMPINGS = (0.0, 1e-3, 1e-2, 1e-1, 1.0)  # of pink's FrameTask
warnings.simplefilter("ignore", treesim.TreesimWarning)  # of targets that are not found


def middle(robot):
    """The middle of all limits."""
    limited = (robot.lower > -10) & (robot.upper < 10)
    return np.where(limited, (np.maximum(robot.lower, -10) + np.minimum(robot.upper, 10)) / 2, 0.0)


def by_pink(robot, frame, poses, q0, damping):
    """How many of the poses pink reaches, its time (s), and its iterations."""
    import pink
    import pinocchio

    model = treesim.to_pinocchio(robot)
    data, limits = model.createData(), [pink.limits.ConfigurationLimit(model, config_limit_gain=0.999)]
    task = pink.tasks.FrameTask(frame, position_cost=1.0, orientation_cost=1.0, lm_damping=damping)
    found = iterations = 0
    begin = time.perf_counter()
    for pose in poses:
        configuration = pink.Configuration(model, data, q0)
        task.set_target(pinocchio.SE3(pose))
        for _ in range(ITERATIONS):
            if np.linalg.norm(task.compute_error(configuration)) < TOLERANCE:
                found += 1
                break
            try:
                velocity = pink.solve_ik(configuration, [task], 1.0, solver="daqp", limits=limits)
            except pink.exceptions.PinkError:
                break  # the quadratic program has no solution
            configuration.integrate_inplace(velocity, 1.0)
            iterations += 1
    return found, time.perf_counter() - begin, iterations


print("robot  solver   found [%]  without restarts [%]  iterations  one of a batch [us]  alone [us]")
for name, frame in ARMS.items():
    robot = treesim.load(name)
    rng = np.random.default_rng(1)
    poses = treesim.frame_pose(robot, np.array([robot.random(rng) for _ in range(COUNT)]), frame)
    q0, options = middle(robot), {"tolerance": TOLERANCE, "max_iterations": ITERATIONS}
    treesim.solve_ik(robot, {frame: poses[0]}, q0)  # compiles
    begin = time.perf_counter()
    result = treesim.solve_ik(robot, {frame: poses}, q0, **options)
    together = time.perf_counter() - begin
    begin = time.perf_counter()
    for pose in poses:
        treesim.solve_ik(robot, {frame: pose}, q0, **options)
    alone = time.perf_counter() - begin
    local = treesim.solve_ik(robot, {frame: poses}, q0, restarts=0, **options).converged.mean()
    found = result.converged.mean()
    apart = np.abs(treesim.frame_pose(robot, result.q, frame) - poses)[result.converged].max()
    assert apart < 2 * TOLERANCE and found > 0.9
    print(
        f"{name:5}  treesim  {100 * found:9.1f}  {100 * local:20.1f}  {result.iterations.mean():10.0f}"
        f"  {together / COUNT * 1e6:19.0f}  {alone / COUNT * 1e6:10.0f}"
    )
    if find_spec("pink") and find_spec("daqp"):
        count, seconds, iterations = max(by_pink(robot, frame, poses, q0, damping) for damping in DAMPINGS)
        each, us = iterations / COUNT, seconds / COUNT * 1e6
        print(f"{name:5}  pink     {100 * count / COUNT:9.1f}  {'-':>20}  {each:10.0f}  {'-':>19}  {us:10.0f}")
        assert count / COUNT <= found and seconds > max(together, alone)

robot = treesim.load("g1", base="floating")
bent = {"hip_pitch": -0.4, "knee": 0.8, "ankle_pitch": -0.4}
legs = {f"{side}_{part}_joint": angle for side in ("left", "right") for part, angle in bent.items()}
q0 = treesim.standing(robot, robot.configuration(legs))
feet = ["left_ankle_roll_link", "right_ankle_roll_link"]
targets = [treesim.IKTarget(foot, pose) for foot, pose in zip(feet, treesim.frame_poses(robot, q0, feet), strict=True)]
targets += [
    treesim.IKTarget("left_rubber_hand", [0.35, 0.2, 0.9]),
    treesim.IKTarget("right_rubber_hand", [0.35, -0.2, 0.7]),
]
com = treesim.center_of_mass(robot, q0)
targets.append(treesim.IKTarget(treesim.CenterOfMassTask([[1, 0, 0], [0, 1, 0]]), com))
result = treesim.solve_ik(robot, targets, q0, posture=q0)
assert result.converged
print(f"g1 reaches with both hands after {result.iterations} iterations; at limits: {list(result.limiting_joints)}")
