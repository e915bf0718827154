"""A humanoid shifts its weight from foot to foot: its centre of mass is the task, its feet stand by contact alone.

Feet that stand are rows of the task space for which no acceleration is wanted: in Λ of feet and centre of mass, the
block of the centre of mass is the inertia that the supported robot opposes to it. tau = J'F + N'tau0 makes all rows
accelerate as they should; the six rows of the floating base have no motor, so forces of the feet take their place, and
the joints give what is left.
"""

import numpy as np

import treesim

ASIDE, PERIOD, FRICTION = 0.04, 4.0, 0.8  # m, s
STIFFNESS, DAMPING = 100.0, 20.0  # 1/s^2, 1/s: of the centre of mass and of the posture, critically damped
SHARES = np.tile([1, 1, 1, 0.02, 0.02, 0.02], 2)  # feet push rather than twist: 1 N is as dear as 0.02 N m
FEET = ("left_ankle_roll_link", "right_ankle_roll_link")
TASKS = [*FEET, treesim.CenterOfMassTask()]

robot = treesim.load("g1_29dof_rev_1_0", base="floating")
bent = {"hip_pitch": -0.3, "knee": 0.6, "ankle_pitch": -0.3}
legs = {f"{side}_{name}_joint": angle for side in ("left", "right") for name, angle in bent.items()}
q0 = treesim.standing(robot, robot.configuration(legs))
com0 = treesim.center_of_mass(robot, q0)


def wanted(t):
    """Where the centre of mass is to be: from rest to the left, the right and back; its velocity and acceleration."""
    w = 2 * np.pi / PERIOD
    s, c = np.sin(w * t), np.cos(w * t)
    y = np.array([0, ASIDE, 0])
    return com0 + y * s**3, y * 3 * w * s * s * c, y * 3 * w * w * s * (2 * c * c - s * s)


def control(t, q, v):
    """The task space, the acceleration wanted of its rows, and the joints' torque."""
    space = treesim.operational_space(robot, q, v, TASKS)
    J = space.jacobian
    x, dx, ddx = wanted(t)
    com = ddx + DAMPING * (dx - J[12:] @ v) + STIFFNESS * (x - treesim.center_of_mass(robot, q))
    rows = np.r_[-DAMPING * (J[:12] @ v), com]
    posture = STIFFNESS * robot.difference(q, q0) - DAMPING * v
    tau = space.torque(space.force(rows), treesim.inverse_dynamics(robot, q, v, posture))
    feet = SHARES * np.linalg.lstsq(J[:12, :6].T * SHARES, tau[:6], rcond=None)[0]  # what moves the base
    return space, rows, np.r_[np.zeros(6), (tau - J[:12].T @ feet)[6:]]


world = treesim.World(robot, ground=treesim.Ground(friction=FRICTION))
run = treesim.Simulation(world, controller=lambda t, q, v: control(t, q, v)[2], dt=2e-3).run(PERIOD, q0)

com = treesim.center_of_mass(robot, run.q)
error = np.abs(com - [wanted(t)[0] for t in run.t]).max()
soles = np.array([treesim.frame_pose(robot, run.q, foot) for foot in FEET])
moved = np.abs(soles - soles[:, :1]).max()
forces = np.array([run.contact_wrench(foot)[:-1] for foot in FEET])  # (2, K, 6)
push = forces[..., 2]
used = (np.linalg.norm(forces[..., :2], axis=-1) / (FRICTION * push)).max()
aside = np.abs(com - com0)[:, 1].max()
print(f"the centre of mass goes {1e3 * aside:.1f} mm aside, off by {1e3 * error:.3f} mm at most")
print(f"the feet move by {moved:.0e} m, carry {push.min():.0f} to {push.max():.0f} N each, and use {100 * used:.0f} % "
      f"of their friction")  # fmt: skip
assert error < 1e-3 and moved < 1e-4 and push.min() > 50 and used < 0.2

# Held feet, solved for by another way, have the forces that the ground gives to feet that merely stand.
k = len(run.t) // 6
space, rows, tau = control(run.t[k], run.q[k], run.v[k])
held = treesim.constrained_dynamics(robot, run.q[k], run.v[k], tau, [treesim.FrameConstraint(foot) for foot in FEET])
off = np.abs(held.force - forces[:, k].ravel()).max() / (9.81 * robot.mass)
missed = np.abs(space.acceleration(tau + space.jacobian[:12].T @ held.force) - rows).max()
supported = np.diag(space.inertia)[12:]
print(f"forces of held feet differ from the ground's by {off:.0e} of the weight; accelerations miss by {missed:.0e}")
print(f"pushed along x, y, z, the centre of mass is {supported.round(1)} kg over the feet, {robot.mass:.1f} in the air")
assert off < 1e-3 and missed < 1e-3 and (supported > robot.mass).all()
