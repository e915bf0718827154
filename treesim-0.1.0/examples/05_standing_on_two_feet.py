"""A humanoid stands on two fixed feet: each method of constrained dynamics finds forces that carry its weight."""

import numpy as np

import treesim

robot = treesim.load("talos", base="floating")
print(robot)

q = robot.neutral()
for side in ("left", "right"):
    for joint, angle in ((3, -0.4), (4, 0.8), (5, -0.4)):  # hip, knee and ankle
        q[robot.q_index[f"leg_{side}_{joint}_joint"]] = angle

feet = [treesim.FrameConstraint(foot) for foot in ("right_sole_link", "left_sole_link")]
world = treesim.World(
    robot, feet, q=q, use_joint_friction=False
)  # as constrained dynamics, which know no friction of joints
hold = treesim.PD(robot, q, kp=3000.0, kd=500.0)
run = treesim.Simulation(world, controller=hold).run(3.0, q)
q, v, tau = run.q[-1], run.v[-1], run.tau[-1]
print(f"{world}: after {run.t[-1]:.0f} s the fastest joint moves at {np.abs(v).max():.1e}, "
      f"and the feet are off by {np.abs(world.gaps(run.q)).max():.0e} at most")  # fmt: skip

weight = robot.mass * 9.81
for method in treesim.available("constrained"):
    found = treesim.constrained_dynamics(robot, q, v, tau, feet, method=method)
    forces = found.force.reshape(2, 6)[:, :3]  # of each foot, along the world's axes
    print(f"{method:9s} right {forces[0, 2]:8.3f} N, left {forces[1, 2]:8.3f} N, iterations {found.iterations}, "
          f"residual {np.abs(found.residual).max():.0e}")  # fmt: skip
    assert np.abs(forces.sum(axis=0) - [0, 0, weight]).max() < 1e-4 * weight, method
    assert np.abs(found.residual).max() < 1e-6, method

stepper = treesim.Stepper(world)
state, report = stepper.step(stepper.reset(q, v), tau)
lifted = report.impulses.reshape(2, 6)[:, 2] / stepper.dt
print(f"a step    right {lifted[0]:8.3f} N, left {lifted[1]:8.3f} N")
print(f"the robot weighs {weight:8.3f} N")
assert np.abs(world.gaps(run.q)).max() < 1e-10 and abs(lifted.sum() - weight) < 1e-3 * weight
