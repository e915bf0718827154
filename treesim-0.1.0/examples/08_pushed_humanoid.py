"""A humanoid stands on the floor and is pushed: it stays after 50 N, and falls after 250 N."""

import numpy as np

import treesim

robot = treesim.load("g1_29dof_rev_1_0", base="floating")
world = treesim.World(robot, ground=treesim.Ground(friction=0.8))
q = treesim.standing(robot, robot.neutral())
hold = treesim.PD(robot, q, kp=2000.0, kd=100.0)
print(world)

for force in (50.0, 250.0):
    pushed = treesim.Pushed(hold, robot, (0, force, 0), start=0.5, duration=0.3)  # to its left, at the pelvis
    run = treesim.Simulation(world, controller=pushed, substeps=1).run(1.6, q)
    feet = sum(run.contact_wrench(f"{side}_ankle_roll_link")[:, 2] for side in ("left", "right"))
    tilt = np.degrees(2 * np.arcsin(np.linalg.norm(run.q[:, 3:6], axis=1)))
    print(f"{force:4.0f} N: tilted by {tilt.max():5.1f} degrees at most, {tilt[-1]:5.1f} at the end; feet carry "
          f"{feet[400]:.3f} N before; penetration {run.penetration.max():.0e} m at most")  # fmt: skip
    assert (tilt[-1] < 1) == (force < 100)
    assert abs(feet[400] - 9.81 * robot.mass) < 0.1
try:
    from treesim.plugins import get

    print("recorded:", get("viewers", "meshcat").record(robot, run, "pushed.html").name)
except treesim.TreesimError as missing:
    print(f"not recorded: {missing}")
