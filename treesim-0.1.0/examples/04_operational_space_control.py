"""ASIMO's hands follow circles while its feet stand still: operational-space control after Featherstone 2010.

The equation of motion in the tasks' coordinates, xddot = Λ^-1 F + β, gives the task forces F for wanted accelerations;
tau = J'F + N'tau0 adds a posture that does not disturb them. The feet's distance is asked for once more, as a relative
task: rows that are redundant lower the rank of Λ^-1, and nothing singular is inverted.
"""

import numpy as np

import treesim
from treesim import FrameTask, RelativeTask
from treesim.model import generators

RADIUS, PERIOD, DURATION = 0.06, 1.0, 1.5  # m, s, s
STIFFNESS, DAMPING = 400.0, 40.0  # 1/s^2, 1/s: of every task and of the posture, critically damped

robot = generators.asimo()
HANDS = ("left_arm_wrist_roll", "right_arm_wrist_roll")
FEET = ("left_leg_ankle_roll", "right_leg_ankle_roll")
TASKS = [*(FrameTask(hand, "linear") for hand in HANDS), *FEET, RelativeTask(*FEET)]


def stance() -> np.ndarray:
    """Knees and elbows bent, so that neither legs nor arms are stretched."""
    q = robot.neutral()
    angles = {"hip_pitch": -0.5, "knee_pitch": 1.0, "ankle_pitch": -0.5, "shoulder_pitch": -0.4, "elbow_pitch": -1.2}
    for joint, where in robot.q_index.items():
        q[where] += sum(angle for name, angle in angles.items() if name in joint)
    return q


q0 = stance()
STARTS = {name: treesim.frame_pose(robot, q0, name) for name in (*HANDS, *FEET)}


def circle(t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A circle in the y-z plane from rest: its angle grows smoothly to a steady rate. Displacement and derivatives."""
    rate, rise = 2 * np.pi / PERIOD, min(t / 0.5, 1.0)
    blend, slope = rise * rise * (3 - 2 * rise), 6 * rise * (1 - rise) / 0.5
    w, dw = rate * blend, rate * slope
    angle = rate * 0.5 * (rise**3 - rise**4 / 2) + rate * max(t - 0.5, 0.0)
    along, out = np.array([0, np.cos(angle), np.sin(angle)]), np.array([0, -np.sin(angle), np.cos(angle)])
    return RADIUS * (along - [0, 1, 0]), RADIUS * w * out, RADIUS * (dw * out - w * w * along)


def turn_between(R: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The small rotation from R to `wanted`, as a vector along the world's axes."""
    E = wanted @ R.T
    return 0.5 * np.array([E[2, 1] - E[1, 2], E[0, 2] - E[2, 0], E[1, 0] - E[0, 1]])


class OperationalSpaceController:
    """Feedback-linearised tasks, and a posture in their null space."""

    def torque(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        space = treesim.operational_space(robot, q, v, TASKS)
        assert space.rank == 18, "hands and feet are 18 rows; the feet's relative motion adds none"
        error, wanted_velocity, feedforward = self._wanted(t, q)
        wanted = feedforward + DAMPING * (wanted_velocity - space.jacobian @ v) + STIFFNESS * error
        posture = STIFFNESS * robot.difference(q, q0) - DAMPING * v
        return space.torque(space.force(wanted), treesim.inverse_dynamics(robot, q, v, posture))

    def _wanted(self, t: float, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Position error, velocity and acceleration of all rows."""
        x, dx, ddx = circle(t)
        still = np.zeros(18)  # two feet, and their relative motion, which the feet themselves take care of
        feet = []
        for foot in FEET:
            pose, start = treesim.frame_pose(robot, q, foot), STARTS[foot]
            feet += [*(start - pose)[:3, 3], *turn_between(pose[:3, :3], start[:3, :3])]
        relative = np.subtract(feet[6:], feet[:6])
        hands = [(STARTS[hand] - treesim.frame_pose(robot, q, hand))[:3, 3] + x for hand in HANDS]
        return np.r_[hands[0], hands[1], feet, relative], np.r_[dx, dx, still], np.r_[ddx, ddx, still]


simulation = treesim.Simulation(robot, controller=OperationalSpaceController(), dt=2e-3)
trajectory = simulation.run(DURATION, q0=q0)

hand_error, foot_error = 0.0, 0.0
for t, q in zip(trajectory.t, trajectory.q, strict=True):
    for name in HANDS:
        off = treesim.frame_pose(robot, q, name)[:3, 3] - STARTS[name][:3, 3] - circle(t)[0]
        hand_error = max(hand_error, np.linalg.norm(off))
    for name in FEET:
        foot_error = max(foot_error, np.abs(treesim.frame_pose(robot, q, name) - STARTS[name]).max())
print(f"in {DURATION} s the hands stray from their circles by at most {1e3 * hand_error:.2f} mm")
print(f"the feet move by at most {1e3 * foot_error:.2f} mm")
assert hand_error < 2e-3 and foot_error < 1e-3

# What drives the floating base is the ground's work: forces on the feet that make up for the base's six rows of tau.
q, v = trajectory.q[-1], trajectory.v[-1]
tau = OperationalSpaceController().torque(DURATION, q, v)
J_feet = np.concatenate([treesim.frame_jacobian(robot, q, foot) for foot in FEET])
ground = np.linalg.lstsq(J_feet.T[:6], tau[:6], rcond=None)[0]
motors = tau - J_feet.T @ ground
print(f"the ground carries {ground[2] + ground[8]:.0f} N of {9.81 * robot.mass:.0f} N, motors give up to "
      f"{np.abs(motors).max():.0f} N m")  # fmt: skip
assert np.abs(motors[:6]).max() < 1e-9 * np.abs(tau).max()
