"""The forces in all joints of a robot as unknowns: what methods that solve for them round.

Body coordinates, 6-vectors linear first. P takes the wrenches F that joints transmit to the net wrenches of bodies,
f = P F, and joints move at P' I^-1 f: the free part is what forces know, the held part must vanish.
"""

from functools import cache, lru_cache

import numpy as np

import treesim
from treesim.testing.bounds import ROUNDING


def moved_by_rounding(robot, q, v, a, f_ext=None, gravity=None):
    """How far accelerations (nv,) move for one rounding of every term of f = P F and of P' I^-1 f."""
    P, inverse, free, across_free, held, compliance = operators(robot, tuple(np.asarray(q, dtype=float).tolist()))
    wrenches = body_wrenches(robot, q, v, a, robot.gravity if gravity is None else np.asarray(gravity, dtype=float))
    pushes = np.zeros(P.shape[0]) if f_ext is None else np.asarray(f_ext).ravel()
    joints = np.linalg.solve(P, wrenches - pushes)
    terms = np.abs(P.T) @ (np.abs(inverse) @ (np.abs(P) @ np.abs(joints) + np.abs(wrenches) + np.abs(pushes)))
    return ROUNDING * (np.abs(free.T) @ terms + across_free @ (compliance @ (np.abs(held.T) @ terms)))


@lru_cache(maxsize=32)
def operators(robot, q):
    """P, I^-1, free, |free' K held|, held and |(held' K held)^-1|, K = P' I^-1 P: what depends on q, a tuple, alone."""
    P, inverse, (free, held) = to_bodies(robot, np.array(q)), inverse_inertias(robot), directions(robot, np.array(q))
    K = P.T @ inverse @ P
    return P, inverse, free, np.abs(free.T @ K @ held), held, np.abs(np.linalg.inv(held.T @ K @ held))


def to_bodies(robot, q):
    """P (6 N, 6 N)."""
    poses, P = treesim.body_poses(robot, q), np.eye(6 * robot.n_bodies)
    for i, parent in enumerate(robot.parent, start=1):
        if parent:
            X = np.linalg.solve(poses[parent], poses[i])
            R, arm = X[:3, :3], np.cross(X[:3, 3], np.eye(3)).T
            P[6 * parent - 6 : 6 * parent, 6 * i - 6 : 6 * i] = -np.block([[R, np.zeros((3, 3))], [arm @ R, R]])
    return P


@cache
def inverse_inertias(robot):
    """I^-1 (6 N, 6 N)."""
    inverse = np.zeros((6 * robot.n_bodies,) * 2)
    for i, body in enumerate(robot.bodies):
        inverse[6 * i : 6 * i + 6, 6 * i : 6 * i + 6] = np.linalg.inv(matrix_of(body.inertia))
    return inverse


@cache
def every_body_can_be_divided_by(robot):
    """Whether no body lacks mass or a moment of inertia."""
    return all(np.linalg.matrix_rank(matrix_of(body.inertia)) == 6 for body in robot.bodies)


def matrix_of(inertia):
    """The 6 x 6 inertia of a body at its origin."""
    lever = inertia.mass * np.cross(inertia.com, np.eye(3)).T
    return np.block([[inertia.mass * np.eye(3), -lever], [lever, inertia.about_origin()]])


def directions(robot, q):
    """Orthonormal columns (6 N, nv) along which joints move, and those (6 N, 6 N - nv) that they hold."""
    free, held = [], []
    for i, body in enumerate(robot.bodies):
        columns = robot.v_index[body.joint.name]
        S = treesim.frame_jacobian(robot, q, body.name, reference="local")[:, columns]
        basis = np.linalg.qr(S, mode="complete")[0]
        for into, part in ((free, S), (held, basis[:, S.shape[1] :])):
            whole = np.zeros((6 * robot.n_bodies, part.shape[1]))
            whole[6 * i : 6 * i + 6] = part
            into.append(whole)
    return np.concatenate(free, axis=1), np.concatenate(held, axis=1)


def body_wrenches(robot, q, v, a, gravity):
    """The wrenches (6 N,) that accelerate the bodies against gravity, and turn their momentum."""
    poses, wrenches = treesim.body_poses(robot, q)[1:], []
    for pose, body in zip(poses, robot.bodies, strict=True):
        acceleration = treesim.frame_acceleration(robot, q, v, a, body.name, reference="local")
        acceleration[:3] -= pose[:3, :3].T @ gravity
        turn = treesim.frame_velocity(robot, q, v, body.name, reference="local")[3:]
        mass, com = body.inertia.mass, body.inertia.com
        turning = [mass * np.cross(turn, np.cross(turn, com)), np.cross(turn, body.inertia.about_origin() @ turn)]
        wrenches.append(matrix_of(body.inertia) @ acceleration + np.concatenate(turning))
    return np.concatenate(wrenches)
