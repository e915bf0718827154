"""Armstrong's recursion for spherical joints (1979; Jain 1991, eq. 48) is the articulated-body algorithm.

Per link, in its own frame: moment N = tau - C at its joint, lever l to the child's joint, J and m c about the joint.
The link's angular acceleration and the force at its joint are written as functions of the joint's acceleration vd,
wd = lam (L vd + n), F = Omega vd + beta. Branches add up, which the original, for chains, has no need of.
"""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treesim
from tests import trees
from tests.operators import Operators, skew
from tests.trees import random_state, relative_error
from treesim.model import generators as make

ROUND_OFF = 1e-11


class Link(NamedTuple):
    """What the recursion finds for a link; carried: the sum of the children's Omega."""

    lam: np.ndarray
    L: np.ndarray
    n: np.ndarray
    Omega: np.ndarray
    beta: np.ndarray
    carried: np.ndarray


def to_parent(poses, parent, i):
    """Rotation from link i to its parent's axes, and its joint's place there."""
    relative = np.linalg.solve(poses[parent], poses[i])
    return relative[:3, :3], relative[:3, 3]


def inward(robot, poses, N):
    """The coefficients of every link, tip to base (eq. 48)."""
    links = {}
    for i in range(robot.n_bodies, 0, -1):
        inertia = robot.bodies[i - 1].inertia
        mc = inertia.mass * skew(inertia.com)
        J = inertia.rotational - mc @ skew(inertia.com)
        carried, L, n, beta = np.zeros((3, 3)), -mc, N[i - 1].copy(), np.zeros(3)
        for c in (c for c in links if robot.bodies[c - 1].parent == i):
            E, l = to_parent(poses, i, c)  # noqa: E741 - the paper's symbol
            Omega, pull = E @ links[c].Omega @ E.T, E @ links[c].beta
            carried += Omega
            J -= skew(l) @ Omega @ skew(l)
            L -= skew(l) @ Omega
            n -= E @ N[c - 1] + np.cross(l, pull)
            beta += pull
        lam = np.linalg.inv(J)
        Omega = carried + inertia.mass * np.eye(3) - L.T @ lam @ L
        links[i] = Link(lam, L, n, Omega, beta - L.T @ lam @ n, carried)
    return links


def outward(robot, poses, links):
    """Joint accelerations, base to tip, of a system at rest whose base stands still."""
    wd, vd = np.zeros((2, robot.n_bodies + 1, 3))
    qdd = np.zeros((robot.n_bodies, 3))
    for i, body in enumerate(robot.bodies, start=1):
        R, l = to_parent(poses, body.parent, i)  # noqa: E741 - the paper's symbol
        vd[i] = R.T @ (vd[body.parent] + np.cross(wd[body.parent], l))
        wd[i] = links[i].lam @ (links[i].L @ vd[i] + links[i].n)
        qdd[i - 1] = wd[i] - R.T @ wd[body.parent]
    return qdd.reshape(-1)


def armstrong(robot, state):
    """Forward dynamics by Armstrong's recursion, and its coefficients."""
    poses = treesim.body_poses(robot, state.q)
    N = (state.tau - treesim.bias_forces(robot, state.q, state.v, state.f_ext)).reshape(-1, 3)
    links = inward(robot, poses, N)
    return outward(robot, poses, links), links


def check(robot, seed):
    """Forward dynamics against `aba`, and the coefficients against articulated inertias (eq. 49)."""
    state = random_state(robot, seed)
    qdd, links = armstrong(robot, state)
    aba = treesim.forward_dynamics(robot, state.q, state.v, state.tau, f_ext=state.f_ext, backend="aba")
    assert relative_error(qdd, aba) < ROUND_OFF
    o = Operators(robot, state.q)
    P_plus = (o.one - o.articulated[2] @ o.Hb) @ o.P  # what the joint lets through
    for i, link in links.items():
        whole = link.carried + robot.bodies[i - 1].inertia.mass * np.eye(3)
        expected = np.block([[np.linalg.inv(link.lam), -link.L], [-link.L.T, whole]])
        assert relative_error(o.block(o.P, i), expected) < ROUND_OFF
        beyond = np.zeros((6, 6))
        beyond[3:, 3:] = link.Omega
        assert relative_error(o.block(P_plus, i), beyond) < ROUND_OFF


@pytest.mark.parametrize("seed", range(5))
def test_on_a_spherical_chain(seed):
    check(make.chain(6, ("spherical",)), seed)


@pytest.mark.nojit
@given(trees.random_trees(8, joint_types=("spherical",)), st.integers(0, 1000))
def test_on_spherical_trees(robot, seed):
    check(robot, seed)
