"""Legged robots stand on the floor for four seconds: how far they drift, and how much weight the floor carries."""

import numpy as np

import treesim

GAINS = {"g1_29dof_rev_1_0": (2000.0, 100.0), "anymal": (500.0, 20.0), "solo12": (20.0, 1.0)}

print(f"{'robot':18s}{'drift [m, rad]':>16s}{'penetration [m]':>17s}{'residual [m/s]':>16s}{'weight off by':>15s}")
for name, (kp, kd) in GAINS.items():
    robot = treesim.load(name, base="floating")
    q = treesim.standing(robot, robot.neutral())
    world = treesim.World(robot, ground=treesim.Ground(friction=0.8))
    run = treesim.Simulation(world, controller=treesim.PD(robot, q, kp=kp, kd=kd)).run(4.0, q)
    drift = np.ptp(run.q[-1000:], axis=0).max()  # of the last second
    carried = run.contact.wrench[-2, :, 2].sum() / (9.81 * robot.mass) - 1
    print(f"{name:18s}{drift:16.0e}{run.penetration.max():17.0e}{run.residual[-1000:].max():16.0e}{carried:+15.0e}")
    assert drift < 1e-6 and run.penetration.max() < 1e-8 and abs(carried) < 1e-5
