"""A quadruped trots over bumps, up stairs, and up worn steps that overhang, which are a mesh.

Its gait is hand-made: leg kinematics in closed form, springs at the joints.

Diagonal pairs of feet take turns on the ground. Each foot has a target position below its hip, in the body's axes. The
target of a foot in the air is shifted so that it reduces the error of the body's velocity (Raibert 1986). Springs pull
the joints to the angles that put the feet there. The controller does not know the ground.
"""

import numpy as np

import treesim

SPEED, PERIOD, HEIGHT, LIFT = 0.5, 0.4, 0.30, 0.08  # m/s, s of two steps, m of the hips over the feet, m
KP, KD = 200.0, 4.0  # N m/rad, N m s/rad: of every joint
LINK, ASIDE = 0.2, 0.0838  # m: length of thigh and of calf; how far the thigh is beside the hip's axis
SHIFT, STEER = 0.12, 2.0  # s: how far feet land off per error of velocity; 1/s: how fast a turn is undone
PHASE = {"FL": 0.0, "RR": 0.0, "FR": 0.5, "RL": 0.5}
HIPS = {leg: np.array([0.1805 if leg[0] == "F" else -0.1805, 0.047 if leg[1] == "L" else -0.047]) for leg in PHASE}
BUMPS, RISE, RUN, STEPS = 0.02, 0.03, 0.3, 5  # m up and down; m of each step of the stairs, and their number
DURATION = 5.0  # s

robot = treesim.load("a1", base="floating")

x, y = np.meshgrid(np.arange(-2, 5, 0.1), np.arange(-2, 2, 0.1), indexing="ij")
waves = BUMPS * np.sin(2 * np.pi * x / 0.9) * np.cos(2 * np.pi * y / 1.3)
bumps = treesim.HeightField(waves, spacing=(0.1, 0.1), center=(x.mean(), y.mean()), friction=0.7)

floor = treesim.Ground(friction=0.7, name="floor")
stairs = [floor]
for step in range(STEPS):
    length = 6 - RUN * step
    place = treesim.Placement(translation=(0.6 + RUN * step + length / 2, 0, RISE * (step + 0.5)))
    stairs.append(treesim.StaticBox((length, 4, RISE), place, friction=0.7, name=f"step {step}"))

# steps of triangles, whose edges overhang by 1 cm and are worn: vertices lie up to 3 mm off
profile, edge = [(-2.0, 0.0)], 0.6
for step in range(STEPS):
    profile += [(edge + RUN * step, RISE * step), (edge + RUN * step - 0.01, RISE * (step + 1))]
profile.append((6.0, RISE * STEPS))
across, along = np.linspace(-2, 2, 21), len(profile)
vertices = np.array([(x, y, z) for y in across for x, z in profile])
vertices += 0.003 * np.random.default_rng(0).uniform(-1, 1, size=vertices.shape)
corner = (along * np.arange(len(across) - 1)[:, None] + np.arange(along - 1)).ravel()
halves = [corner, corner + 1, corner + along + 1], [corner, corner + along + 1, corner + along]
worn = treesim.StaticMesh(vertices, np.concatenate([np.stack(half, axis=1) for half in halves]), friction=0.7)


def leg_angles(leg, foot):
    """Angles of hip, thigh and calf that put a foot at `foot` (3,), from the hip, along the body's axes."""
    x, y, z = foot
    aside = ASIDE * np.sign(HIPS[leg][1])
    down = np.sqrt(y * y + z * z - aside * aside)  # of the foot below the thigh's joint, in the leg's plane
    hip = np.arctan2(z, y) - np.arctan2(-down, aside)
    bend = np.arccos(min(np.hypot(x, down) / (2 * LINK), 1.0))
    return hip, np.arctan2(-x, down) + bend, -2 * bend


def heading(q):
    """The angle about the vertical of a floating base that is nearly upright."""
    return 2 * np.arctan2(q[5], q[6])


class Trot:
    """A controller that pulls the joints to the gait's angles. What pulls is told, so that the steps can take it in."""

    def __init__(self):
        actuated = np.r_[np.zeros(6), np.ones(12)]
        self.stiffness, self.damping = KP * actuated, KD * actuated
        self.shift = {leg: np.zeros(2) for leg in PHASE}  # of feet, by what went wrong when they were last in the air

    def torque(self, t, q, v):
        feet = {leg: self.foot(leg, (t / PERIOD + PHASE[leg]) % 1, q, v) for leg in PHASE}
        return self.stiffness * robot.difference(q, configuration(feet)) - self.damping * v

    def foot(self, leg, phase, q, v):
        """Where a foot is to be: in the first half of its period in the air, in the second on the ground."""
        if phase < 0.5:
            self.shift[leg] = SHIFT * (v[:2] - [SPEED, 0])
            along, lift = -np.cos(2 * np.pi * phase) / 2, LIFT * np.sin(2 * np.pi * phase) ** 2
        else:
            along, lift = 1.5 - 2 * phase, 0.0
        forth, aside = HIPS[leg]
        turn = -STEER * heading(q)  # rad/s
        stride = PERIOD / 2 * np.array([SPEED - turn * aside, turn * forth])
        x, y = self.shift[leg] + along * stride + [0, ASIDE * np.sign(aside)]
        return x, y, lift - HEIGHT


def configuration(feet):
    """The robot with its feet there, its base at the world's origin."""
    joints = {}
    for leg, foot in feet.items():
        for name, angle in zip(("hip", "thigh", "calf"), leg_angles(leg, foot), strict=True):
            joints[f"{leg}_{name}_joint"] = angle
    return robot.configuration(joints)


below = {leg: (0, ASIDE * np.sign(HIPS[leg][1]), -HEIGHT) for leg in PHASE}
grounds = {"bumps": (bumps, BUMPS, 12), "stairs": (stairs, 0.0, 12), "worn steps": (worn, 0.003, 15)}
for name, (ground, top, steepest) in grounds.items():
    start = treesim.standing(robot, configuration(below), treesim.Ground(height=top))
    run = treesim.Simulation(treesim.World(robot, ground=ground), controller=Trot()).run(DURATION, start)
    tilt = np.degrees(2 * np.arcsin(np.linalg.norm(run.q[:, 3:5], axis=1)))
    carried = run.contact.wrench[1000:-1, :, 2].sum(axis=1).mean() / (9.81 * robot.mass)
    others = [body for body in run.contact.bodies if not body.endswith("_calf")]  # feet are parts of the calves
    print(f"{name}, at {SPEED} m/s for {DURATION:.0f} s: {run.q[-1, 0]:.2f} m forward, {run.q[-1, 1]:+.2f} m aside, "
          f"{run.q[-1, 2] - start[2]:+.2f} m up, turned by {np.degrees(heading(run.q[-1])):+.0f} degrees")  # fmt: skip
    print(f"  tilted by {tilt.max():.1f} degrees at most; the ground carries {carried:.3f} of the weight on average; "
          f"{np.abs(run.tau).max():.1f} N m at most of {robot.effort_limit[6:].max():g}; "
          f"penetration {run.penetration.max():.0e} m")  # fmt: skip
    assert run.q[-1, 0] > 1.3 and abs(run.q[-1, 1]) < 0.3 and tilt.max() < steepest
    assert all(not run.contact_wrench(body).any() for body in others), "nothing but feet touches the ground"
    assert abs(carried - 1) < 0.02 and run.penetration.max() < 1e-5 and run.energy_certificate.max() < 1e-9
