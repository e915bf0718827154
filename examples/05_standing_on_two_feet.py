"""A humanoid stands on two held feet: its contact forces come to carry its weight, whichever method finds them."""

import numpy as np

import treesim

robot = treesim.load("simple_humanoid", base="floating")
print(robot)

# knees bent; springs and dampers at the joints, stiffer the more the joint carries
q = robot.neutral()
for side in "RL":
    for joint, angle in (("HIP_P", -0.4), ("KNEE", 0.8), ("ANKLE_P", -0.4)):
        q[robot.q_index[f"{side}LEG_{joint}"]] = angle
v, dt, steps = np.zeros(robot.nv), 1e-3, 2000
carried = np.diag(treesim.mass_matrix(robot, q)).copy()
carried[:6] = 0  # nothing drives the base
posture = q


def torque(q, v):
    """Springs and dampers that hold the posture."""
    return carried * (400 * robot.difference(q, posture) - 40 * v)


feet = [
    treesim.FrameConstraint(foot, damping=100.0, stiffness=2500.0, pose=treesim.frame_pose(robot, q, foot))
    for foot in ("r_ankle", "l_ankle")
]
for _ in range(steps):
    v = v + dt * treesim.constrained_dynamics(robot, q, v, torque(q, v), feet, method="pv").acceleration
    q = robot.integrate(q, dt * v)
print(f"after {steps * dt:.0f} s the fastest joint moves at {np.abs(v).max():.1e}")

weight = robot.mass * 9.81
for method in treesim.available("constrained"):
    found = treesim.constrained_dynamics(robot, q, v, torque(q, v), feet, method=method)
    forces = found.force.reshape(2, 6)[:, :3]  # of each foot, along the world's axes
    print(f"{method:9s} right {forces[0, 2]:8.3f} N, left {forces[1, 2]:8.3f} N, iterations {found.iterations}, "
          f"residual {np.abs(found.residual).max():.0e}")  # fmt: skip
    assert np.abs(forces.sum(axis=0) - [0, 0, weight]).max() < 1e-4 * weight, method
    assert np.abs(found.acceleration).max() < 1e-2, method
print(f"the robot weighs {weight:8.3f} N")
