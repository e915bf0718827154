"""Let a humanoid swing from its pelvis for two seconds, and check that its energy is constant."""

import numpy as np

import treesim

robot = treesim.load("simple_humanoid", base="fixed")
print(robot)

q0 = robot.random(np.random.default_rng(1))
simulation = treesim.Simulation(robot, backend="aba", integrator="rk4", dt=1e-3)
trajectory = simulation.run(duration=2.0, q0=q0)

swing = np.ptp(trajectory.q, axis=0)
most = int(swing.argmax())
print(f"{trajectory.q_names[most]} swings most: over {swing[most]:.2f} rad")

if not (robot.damping.any() or robot.joint_friction.any()):
    kinetic, potential = treesim.energy(robot, trajectory.q[-1], trajectory.v[-1])
    change = trajectory.energy[-1] - trajectory.energy[0]
    print(f"energy after 2 s: {kinetic:.1f} J kinetic, {potential:.1f} J potential, changed by {change:+.1e} J")
    assert abs(change) < 1e-3 * kinetic
assert swing[most] > 0.5
