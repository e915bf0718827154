"""The spatial-operator identities of Jain 1991 (J91) on trees with joints of several degrees of freedom, built densely.

With bodies numbered from the base, 1 + H phi K is block upper triangular. Rotors (armature) add to M and to D, and
change no identity.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treesim
from tests import trees
from tests.operators import Operators, cross_motion
from tests.trees import random_state, relative_error
from treesim.kernels import aba
from treesim.kernels.tables import tree_tables

ROUND_OFF = 1e-10


def beyond(phi):
    """phi - 1."""
    return phi - np.eye(len(phi))


IDENTITIES = {
    "M = H phi I phi* H* (eq. 22)": lambda o: (o.M, o.Hb @ o.phi @ o.Ib @ o.phi.T @ o.Hb.T + o.rotors),
    "I = R - E R E* (eq. 26)": lambda o: (o.Ib, o.R - o.E_phi @ o.R @ o.E_phi.T),
    "phi I phi* = R + (phi - 1) R + R (phi - 1)* (eq. 27)": lambda o: (
        o.phi @ o.Ib @ o.phi.T,
        o.R + beyond(o.phi) @ o.R + o.R @ beyond(o.phi).T,
    ),
    "psi^-1 = phi^-1 + K H (Lemma 6.1)": lambda o: (np.linalg.inv(o.psi), np.linalg.inv(o.phi) + o.K @ o.Hb),
    "M = [1 + H phi K] D [1 + H phi K]* (Lemma 6.2)": lambda o: (o.M, o.factor @ o.D @ o.factor.T),
    "[1 + H phi K]^-1 = 1 - H psi K (Lemma 6.3)": lambda o: (np.linalg.inv(o.factor), o.inverse_factor),
    "M^-1 = [1 - H psi K]* D^-1 [1 - H psi K] (Lemma 6.4)": lambda o: (
        np.linalg.inv(o.M),
        o.inverse_factor.T @ np.linalg.inv(o.D) @ o.inverse_factor,
    ),
    "[1 - H psi K] H phi = H psi (eq. 57)": lambda o: (o.inverse_factor @ o.Hb @ o.phi, o.Hb @ o.psi),
    "psi I phi* = psi P + P (phi - 1)* (eq. 58)": lambda o: (
        o.psi @ o.Ib @ o.phi.T,
        o.psi @ o.P + o.P @ beyond(o.phi).T,
    ),
    "[1 - H psi K]* D^-1 H P (phi - 1)* = K* psi* (eq. 59)": lambda o: (
        o.inverse_factor.T @ np.linalg.inv(o.D) @ o.Hb @ o.P @ beyond(o.phi).T,
        o.K.T @ o.psi.T,
    ),
    "Omega = psi* H* D^-1 H psi": lambda o: (o.Omega, o.psi.T @ o.Hb.T @ np.linalg.inv(o.D) @ o.Hb @ o.psi),
}


@pytest.mark.parametrize("identity", IDENTITIES.values(), ids=IDENTITIES)
@given(trees.random_trees(7, armature=0.3), st.integers(0, 1000))
def test_identity_holds_on_random_trees(identity, robot, seed):
    left, right = identity(Operators(robot, random_state(robot, seed).q))
    assert relative_error(left, right) < ROUND_OFF


@given(trees.random_trees(7, armature=0.3), st.integers(0, 1000))
def test_force_through_a_joint_is_that_of_the_locked_tree_and_a_correction(robot, seed):
    """f = R alpha + y, y = (phi - 1) R H* qdd (Lemma 3.2), at rest."""
    state = random_state(robot, seed)
    o = Operators(robot, state.q)
    alpha = o.phi.T @ o.Hb.T @ state.a
    y = beyond(o.phi) @ o.R @ o.Hb.T @ state.a
    tau = o.Hb @ (o.R @ alpha + y) + o.rotors @ state.a
    at_rest = treesim.inverse_dynamics(robot, state.q, 0 * state.v, state.a, gravity=(0, 0, 0), method="composite")
    assert relative_error(tau, at_rest) < ROUND_OFF


def velocity_terms(o, v):
    """a and b of J91 in body coordinates: v x S qd, with gravity in the first bodies' a; v x* I v."""
    V = (o.phi.T @ o.Hb.T @ v).reshape(-1, 6)
    rates = (o.Hb.T @ v).reshape(-1, 6)
    a = np.array([cross_motion(twist) @ rate for twist, rate in zip(V, rates, strict=True)])
    for i, body in enumerate(o.robot.bodies, start=1):
        if body.parent == 0:
            a[i - 1, 3:] -= o.poses[i][:3, :3].T @ o.robot.gravity
    momentum = (o.Ib @ V.reshape(-1)).reshape(-1, 6)
    b = np.array([-cross_motion(twist).T @ h for twist, h in zip(V, momentum, strict=True)])
    return a.reshape(-1), b.reshape(-1)


@given(trees.random_trees(7, armature=0.3), st.integers(0, 1000))
def test_forward_dynamics_without_the_bias(robot, seed):
    """qdd = [1 - H psi K]* D^-1 [T - H psi (K T + b + P a)] - K* psi* a (Lemma 6.5): what `aba` computes."""
    state = random_state(robot, seed)
    o = Operators(robot, state.q)
    a, b = velocity_terms(o, state.v)
    innovations = state.tau - o.Hb @ o.psi @ (o.K @ state.tau + b + o.P @ a)
    qdd = o.inverse_factor.T @ np.linalg.solve(o.D, innovations) - o.K.T @ o.psi.T @ a
    assert relative_error(qdd, treesim.forward_dynamics(robot, *state[:2], state.tau, backend="aba")) < ROUND_OFF


@given(trees.random_trees(7, armature=0.3), st.integers(0, 1000))
def test_force_through_a_joint_is_an_articulated_inertia_and_a_correction(robot, seed):
    """f = P alpha + z at rest, z = psi K T (eq. 31, 46): Bae and Haug's, and every other algorithm's, decomposition."""
    state = random_state(robot, seed)
    o = Operators(robot, state.q)
    alpha = o.phi.T @ o.Hb.T @ state.a
    T = o.M @ state.a
    assert relative_error(o.phi @ o.Ib @ alpha, o.P @ alpha + o.psi @ o.K @ T) < ROUND_OFF


def bias_forces_of_aba(robot, state):
    """p^A of every body, in body coordinates, angular part first."""
    tree = tree_tables(robot.ints, robot.reals)
    B, nv = robot.n_bodies + 1, robot.nv
    X, V, C, IA, pA = (np.zeros((B, width)) for width in (12, 6, 6, 21, 6))
    f_ext, qdd, U, D_inv, nu = np.zeros((0, 6)), np.zeros(nv), np.zeros((nv, 6)), np.zeros(nv), np.zeros(nv)
    aba.forward_dynamics(tree, state.q, state.v, state.tau, f_ext, qdd, X, V, C, IA, pA, U, D_inv, nu)
    turned = np.einsum("bij,bpj->bpi", robot.body_rotations[1:], pA[1:].reshape(-1, 2, 3))
    return turned.reshape(-1)


@given(trees.random_trees(6, armature=0.3), st.integers(0, 1000))
def test_featherstones_bias_force_is_the_correction_without_its_own_joints_velocity_product(robot, seed):
    """p^A = z - P a, z = psi (K T + b + P a) of Lemma 6.5; p^A as the kernel of `aba` leaves it."""
    state = random_state(robot, seed)
    o = Operators(robot, state.q)
    a, b = velocity_terms(o, state.v)
    z = o.psi @ (o.K @ state.tau + b + o.P @ a)
    assert relative_error(bias_forces_of_aba(robot, state), z - o.P @ a) < ROUND_OFF


@given(trees.random_trees(7, armature=0.3), st.integers(0, 1000))
def test_forward_dynamics_from_the_bias(robot, seed):
    """qdd = [1 - H psi K]* D^-1 [1 - H psi K] (T - C), C = H phi (b + I phi* a) (eq. 55, 56): what `rjk` computes."""
    state = random_state(robot, seed)
    o = Operators(robot, state.q)
    a, b = velocity_terms(o, state.v)
    C = o.Hb @ o.phi @ (b + o.Ib @ o.phi.T @ a)
    assert relative_error(C, treesim.bias_forces(robot, state.q, state.v)) < ROUND_OFF
    qdd = o.inverse_factor.T @ np.linalg.solve(o.D, o.inverse_factor @ (state.tau - C))
    assert relative_error(qdd, treesim.forward_dynamics(robot, *state[:2], state.tau, backend="rjk")) < ROUND_OFF
