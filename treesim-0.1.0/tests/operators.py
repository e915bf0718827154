"""Spatial operators of a tree as dense matrices (Jain 1991, J91): 6N x 6N blocks in body coordinates, angular first.

They are made from poses, Jacobians and inertias; the articulated quantities come from a recursion in numpy. On a tree
the block of E_phi at (λ(i), i) is X_i', which carries forces from body i to its parent.
"""

from functools import cached_property

import numpy as np

import treesim

ANGULAR_FIRST = [3, 4, 5, 0, 1, 2]


def skew(p):
    """px, the matrix of p x."""
    return np.array([[0, -p[2], p[1]], [p[2], 0, -p[0]], [-p[1], p[0], 0]])


def spatial_inertia(inertia):
    """A body's inertia about its own origin, angular part first."""
    c, m = skew(inertia.com), inertia.mass
    return np.block([[inertia.rotational - m * c @ c, m * c], [-m * c, m * np.eye(3)]])


def cross_motion(v):
    """v x, of motions."""
    return np.block([[skew(v[:3]), np.zeros((3, 3))], [skew(v[3:]), skew(v[:3])]])


def block_diagonal(blocks):
    """The matrix with these blocks on its diagonal, of any shapes."""
    rows, columns = np.cumsum([(0, 0), *(block.shape for block in blocks)], axis=0).T
    whole = np.zeros((rows[-1], columns[-1]))
    for block, r, c in zip(blocks, rows, columns, strict=False):
        whole[r : r + block.shape[0], c : c + block.shape[1]] = block
    return whole


class Operators:
    """All operators of one robot at one configuration; names as in the paper, Hb = H, Ib = its M (link inertias)."""

    def __init__(self, robot, q):
        self.robot, self.q = robot, q
        self.one = np.eye(6 * robot.n_bodies)
        self.M = treesim.mass_matrix(robot, q)
        self.rotors = np.diag([armature for body in robot.bodies for armature in self._armature(body)])
        self.poses = treesim.body_poses(robot, q)
        self.X = [self._transform(i) for i in range(robot.n_bodies + 1)]
        self.S = [self._screws(i) for i in range(1, robot.n_bodies + 1)]
        self.Hb = block_diagonal([S.T for S in self.S])
        self.Ib = block_diagonal([spatial_inertia(body.inertia) for body in robot.bodies])
        self.E_phi = np.zeros_like(self.one)
        for i in range(1, robot.n_bodies + 1):
            if robot.parent[i - 1] > 0:
                self.E_phi[self.at(robot.parent[i - 1]), self.at(i)] = self.X[i].T
        self.phi = np.linalg.inv(self.one - self.E_phi)

    def _armature(self, body):
        where = self.robot.v_index[body.joint.name]
        return np.broadcast_to(body.joint.armature, where.stop - where.start)

    def at(self, i):
        """Rows of body i."""
        return slice(6 * (i - 1), 6 * i)

    def _transform(self, i):
        """X_i: motions of the parent's coordinates in those of body i."""
        if i == 0:
            return np.eye(6)
        relative = np.linalg.solve(self.poses[self.robot.parent[i - 1]], self.poses[i])
        E, p = relative[:3, :3].T, relative[:3, 3]
        return np.block([[E, np.zeros((3, 3))], [-E @ skew(p), E]])

    def _screws(self, i):
        """S_i, in coordinates of body i."""
        body = self.robot.bodies[i - 1]
        J = treesim.frame_jacobian(self.robot, self.q, body.name, reference="local")
        return J[ANGULAR_FIRST, self.robot.v_index[body.joint.name]]

    def block(self, matrix, i):
        """The diagonal block of body i."""
        return matrix[self.at(i), self.at(i)]

    @cached_property
    def R(self):
        """Composite inertias (J91 eq. 25)."""
        R = self.Ib.copy()
        for i in range(self.robot.n_bodies, 0, -1):
            p = self.robot.parent[i - 1]
            if p > 0:
                R[self.at(p), self.at(p)] += self.X[i].T @ self.block(R, i) @ self.X[i]
        return R

    @cached_property
    def articulated(self):
        """P, D, G (J91 eq. 42), blocks D_i of n_i x n_i."""
        P, D, G = self.Ib.copy(), [], []
        for i in range(self.robot.n_bodies, 0, -1):
            where = self.robot.v_index[self.robot.bodies[i - 1].joint.name]
            S, Pi = self.S[i - 1], self.block(P, i)
            D.append(S.T @ Pi @ S + self.rotors[where, where])
            G.append(Pi @ S @ np.linalg.inv(D[-1]))
            p = self.robot.parent[i - 1]
            if p > 0:
                P[self.at(p), self.at(p)] += self.X[i].T @ (Pi - G[-1] @ S.T @ Pi) @ self.X[i]
        return P, block_diagonal(D[::-1]), block_diagonal(G[::-1])

    @cached_property
    def P(self):
        return self.articulated[0]

    @cached_property
    def D(self):
        return self.articulated[1]

    @cached_property
    def K(self):
        return self.E_phi @ self.articulated[2]

    @cached_property
    def psi(self):
        """(1 - E_psi)^-1, E_psi = E_phi (1 - G H) (J91 eq. 53, 54)."""
        return np.linalg.inv(self.one - self.E_phi @ (self.one - self.articulated[2] @ self.Hb))

    @cached_property
    def factor(self):
        return np.eye(len(self.M)) + self.Hb @ self.phi @ self.K

    @cached_property
    def inverse_factor(self):
        return np.eye(len(self.M)) - self.Hb @ self.psi @ self.K

    @cached_property
    def Omega(self):
        """Inverse inertia between all bodies, from the library."""
        blocks = treesim.inverse_operational_inertia(self.robot, self.q, self.robot.body_names, reference="local")
        order = [6 * i + k for i in range(self.robot.n_bodies) for k in ANGULAR_FIRST]
        return blocks[np.ix_(order, order)]
