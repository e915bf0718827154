"""Whole-body control with pink on a model of `treesim.to_pinocchio`: a humanoid stands, and its hand draws a circle.

Its other hand is pushed. pink (python -m pip install pin-pink daqp) solves a quadratic program for the joint velocities
of a reference motion: its feet stay, its centre of mass stays above them, its hand follows a circle, within the limits
of joints and velocities. The torques are those that carry its weight by its feet, with springs and dampers to it.
18_whole_body_control.py solves for torques and foot wrenches instead. treesim simulates the contact.
"""

import sys

import numpy as np

import treesim

try:
    import pink
    import pinocchio
    from pink.tasks import ComTask, FrameTask, PostureTask
except ImportError as error:
    sys.exit(f"this example needs pink: python -m pip install pin-pink daqp ({error})")

FEET = ("left_ankle_roll_link", "right_ankle_roll_link")
HAND, PUSHED = "left_wrist_yaw_link", "right_wrist_yaw_link"
RADIUS, PERIOD, DURATION, DT = 0.04, 2.0, 4.0, 1e-3  # m, s
PUSH = treesim.ExternalForce(PUSHED, force=(10.0, 5.0, 0.0), start=2.0, stop=2.5)

robot = treesim.load("g1_29dof_rev_1_0", base="floating")
bent = robot.configuration({
    **{f"{side}_{joint}": angle for side in ("left", "right")
       for joint, angle in {"hip_pitch_joint": -0.3, "knee_joint": 0.6, "ankle_pitch_joint": -0.3,
                            "elbow_joint": 0.8, "shoulder_pitch_joint": 0.2}.items()},
})  # fmt: skip
start = robot.standing(bent)
model = treesim.to_pinocchio(robot)
reference = pink.Configuration(model, model.createData(), start)
feet = [FrameTask(foot, position_cost=100.0, orientation_cost=100.0) for foot in FEET]
trunk = FrameTask("pelvis", position_cost=0.0, orientation_cost=10.0)
center, posture = ComTask(cost=10.0, gain=5.0 * DT), PostureTask(cost=1e-3, gain=5.0 * DT)  # approached in 0.2 s
hand = FrameTask(HAND, position_cost=50.0, orientation_cost=0.0)
tasks = [*feet, trunk, center, posture, hand]
for task in (*feet, trunk, hand):
    task.set_target_from_configuration(reference)
posture.set_target(start)
above_feet = treesim.frame_poses(robot, start, FEET)[:, :3, 3].mean(axis=0)
center.set_target(np.array([*above_feet[:2], treesim.center_of_mass(robot, start)[2]]))
hand_at_start = treesim.frame_pose(robot, start, HAND)
kp = np.minimum(500.0, 10.0 * robot.effort_limit[6:])  # N m/rad
kd = 0.03 * kp


def circle(t):
    """Return the hand's position on its circle, with an angular velocity from 0 to w."""
    w = 2 * np.pi / PERIOD
    angle = w * t * t / (2 * PERIOD) if t < PERIOD else w * (t - PERIOD / 2)
    return hand_at_start[:3, 3] + RADIUS * np.array([0, np.cos(angle) - 1, np.sin(angle)])


def carried(q):
    """Return the joint torques (nv - 6,) of a robot at rest that its feet carry, with least foot wrenches."""
    g = treesim.gravity_forces(robot, q)
    J = np.concatenate([treesim.frame_jacobian(robot, q, foot) for foot in FEET])
    wrenches = np.linalg.lstsq(J[:, :6].T, g[:6], rcond=None)[0]
    return g[6:] - J[:, 6:].T @ wrenches


class WholeBody:
    """Controller that tracks pink's reference; `stiffness` and `damping` (nv,) make its springs implicit in steps."""

    stiffness, damping = (np.concatenate([np.zeros(6), gains]) for gains in (kp, kd))

    def torque(self, t, q, v):
        """Return the joint torques (nv,); those of the base are 0."""
        hand.set_target(pinocchio.SE3(hand_at_start[:3, :3], circle(t + DT)))
        velocity = pink.solve_ik(reference, tasks, DT, solver="daqp")
        reference.integrate_inplace(velocity, DT)
        aim = reference.q
        return np.concatenate([np.zeros(6), carried(aim) + kp * (aim - q)[7:] + kd * (velocity - v)[6:]])


world = treesim.World(robot, ground=treesim.Ground())
run = treesim.Simulation(world, DT, controller=WholeBody(), external_forces=[PUSH]).run(DURATION, start)
assert run.stopped is None, run.stopped

hands = np.array([treesim.frame_pose(robot, q, HAND)[:3, 3] for q in run.q])
error = np.linalg.norm(hands - [circle(t) for t in run.t], axis=1)
slipped = max(
    np.linalg.norm(treesim.frame_pose(robot, run.q[-1], foot)[:3, 3] - treesim.frame_pose(robot, start, foot)[:3, 3])
    for foot in FEET
)
before, during = run.t < PUSH.start, (run.t >= PUSH.start) & (run.t <= PUSH.stop + 0.3)
print(f"the hand is on its circle to {1e3 * error[before].max():.1f} mm, while the other is pushed to "
      f"{1e3 * error[during].max():.1f} mm, at the end to {1e3 * error[-1]:.1f} mm")  # fmt: skip
print(f"the feet moved by {1e3 * slipped:.2f} mm, the pelvis is at {run.q[-1, 2]:.3f} m")
assert error[before].max() < 2e-2 and error[-1] < 2e-2 and slipped < 1e-4
