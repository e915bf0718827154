"""Whole-body control: a humanoid stands by contact forces, its hand draws a circle, and the other hand is pushed.

In every step a least-squares problem yields accelerations a and foot wrenches F: the feet do not accelerate, the base,
which has no motors, moves by M a + h = J' F, and the accelerations of centre of mass, trunk, hand and posture are as
near as possible to those of springs and dampers. The joint torques are M a + h - J' F (Khatib 1987; Sentis and Khatib
2005). The controller does not know of the push. It plans the foot wrenches without bounds; the simulation has the
ground's friction and the feet's edges.
"""

import numpy as np
from scipy.spatial.transform import Rotation

import treesim

FEET = ("left_ankle_roll_link", "right_ankle_roll_link")
HAND, PUSHED = "left_wrist_yaw_link", "right_wrist_yaw_link"
RADIUS, PERIOD, DURATION = 0.04, 2.0, 4.0  # m, s, s
PUSH = treesim.ExternalForce(PUSHED, force=(10.0, 5.0, 0.0), start=2.0, stop=2.5)
WEIGHTS = {"center": 10.0, "trunk": 1.0, "hand": 100.0, "posture": 0.01}
STIFFNESS = 100.0  # 1/s^2, critically damped: of all tasks
ON_WRENCHES = 1e-6  # weight of the foot wrenches, which the equation of motion leaves undetermined

robot = treesim.load("g1_29dof_rev_1_0", base="floating")
bent = robot.configuration({
    **{f"{side}_{joint}": angle for side in ("left", "right")
       for joint, angle in {"hip_pitch_joint": -0.3, "knee_joint": 0.6, "ankle_pitch_joint": -0.3,
                            "elbow_joint": 0.8, "shoulder_pitch_joint": 0.2}.items()},
})  # fmt: skip
start = robot.standing(bent)
motors = slice(6, robot.nv)
hand_at_start = treesim.frame_pose(robot, start, HAND)[:3, 3]
trunk_at_start = treesim.frame_pose(robot, start, "pelvis")[:3, :3]
feet = treesim.frame_poses(robot, start, FEET)[:, :3, 3]
above_feet = np.array([*feet[:, :2].mean(axis=0), treesim.center_of_mass(robot, start)[2]])


def circle(t):
    """Return the hand's position, velocity and acceleration on its circle, with an angular velocity from 0 to w."""
    w, starts = 2 * np.pi / PERIOD, t < PERIOD
    angle, rate = (w * t * t / (2 * PERIOD), w * t / PERIOD) if starts else (w * (t - PERIOD / 2), w)
    along = RADIUS * np.array([0, -np.sin(angle), np.cos(angle)])
    inward = -RADIUS * np.array([0, np.cos(angle), np.sin(angle)])
    place = hand_at_start - inward - [0, RADIUS, 0]
    return place, rate * along, rate**2 * inward + (w / PERIOD if starts else 0.0) * along


def spring(error, speed):
    """Return the acceleration of a critically damped spring."""
    return STIFFNESS * error - 2 * np.sqrt(STIFFNESS) * speed


def tasks(t, q, v):
    """Yield the name, the Jacobian, the bias acceleration and the wanted acceleration of each task."""
    still = np.zeros(robot.nv)
    J = treesim.center_of_mass_jacobian(robot, q)
    bias = treesim.centroidal_dynamics(robot, q, v, still)[:3] / robot.mass
    yield "center", J, bias, spring(above_feet - treesim.center_of_mass(robot, q), J @ v)
    J = treesim.frame_jacobian(robot, q, "pelvis")[3:]
    turn = Rotation.from_matrix(trunk_at_start @ treesim.frame_pose(robot, q, "pelvis")[:3, :3].T).as_rotvec()
    yield "trunk", J, treesim.frame_acceleration(robot, q, v, still, "pelvis")[3:], spring(turn, J @ v)
    J, (place, speed, acceleration) = treesim.frame_jacobian(robot, q, HAND)[:3], circle(t)
    wanted = acceleration + spring(place - treesim.frame_pose(robot, q, HAND)[:3, 3], J @ v - speed)
    yield "hand", J, treesim.frame_acceleration(robot, q, v, still, HAND)[:3], wanted
    posture = spring(robot.difference(q, start), v)[motors]
    yield "posture", np.eye(robot.nv)[motors], np.zeros(robot.nv - 6), posture


def whole_body(t, q, v):
    """Return the joint torques (nv,) of the least-squares problem; those of the base are 0."""
    nv, still = robot.nv, np.zeros(robot.nv)
    M, h = treesim.mass_matrix(robot, q), treesim.bias_forces(robot, q, v)
    Jc = np.concatenate([treesim.frame_jacobian(robot, q, foot) for foot in FEET])
    bias = np.concatenate([treesim.frame_acceleration(robot, q, v, still, foot) for foot in FEET])
    rows, wanted = [], []
    for name, J, own, acceleration in tasks(t, q, v):
        scale = np.sqrt(WEIGHTS[name])
        rows.append(scale * np.hstack([J, np.zeros((len(J), 12))]))
        wanted.append(scale * (acceleration - own))
    rows.append(np.sqrt(ON_WRENCHES) * np.hstack([np.zeros((12, nv)), np.eye(12)]))
    A, b = np.concatenate(rows), np.concatenate([*wanted, np.zeros(12)])
    C = np.block([[M[:6], -Jc[:, :6].T], [Jc, np.zeros((12, 12))]])  # base without motors, feet that stay
    d = np.concatenate([-h[:6], -bias - 20.0 * Jc @ v])
    system = np.block([[A.T @ A, C.T], [C, np.zeros((len(C), len(C)))]])
    x = np.linalg.solve(system, np.concatenate([A.T @ b, d]))
    tau = M @ x[:nv] + h - Jc.T @ x[nv : nv + 12]
    tau[:6] = 0.0
    return tau


world = treesim.World(robot, ground=treesim.Ground())
simulation = treesim.Simulation(world, dt=1e-3, controller=whole_body, external_forces=[PUSH])
run = simulation.run(DURATION, start)
assert run.stopped is None and not (np.abs(run.tau[:, motors]) >= robot.effort_limit[motors]).any()

hand = np.array([treesim.frame_pose(robot, q, HAND)[:3, 3] for q in run.q])
error = np.linalg.norm(hand - [circle(t)[0] for t in run.t], axis=1)
other = np.array([treesim.frame_pose(robot, q, PUSHED)[:3, 3] for q in run.q])
slipped = max(
    np.linalg.norm(treesim.frame_pose(robot, run.q[-1], foot)[:3, 3] - at) for foot, at in zip(FEET, feet, strict=True)
)
before, during = run.t < PUSH.start, (run.t >= PUSH.start) & (run.t <= PUSH.stop + 0.3)
print(f"the hand is on its circle to {1e3 * error[before].max():.2f} mm, while the other is pushed to "
      f"{1e3 * error[during].max():.1f} mm, at the end to {1e3 * error[-1]:.2f} mm")  # fmt: skip
print(f"the pushed hand yields {1e2 * np.abs(other[during] - other[before][-1]).max():.1f} cm and returns to "
      f"{1e2 * np.abs(other[-1] - other[before][-1]).max():.1f} cm")  # fmt: skip
height = treesim.center_of_mass(robot, run.q[-1])[2]
print(f"the feet moved by {1e3 * slipped:.2f} mm, the centre of mass is at {height:.3f} m")
assert error[before].max() < 1e-3 and error[-1] < 1e-3 and slipped < 1e-4
