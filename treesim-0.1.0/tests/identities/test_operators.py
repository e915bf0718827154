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
from tests.operators import ANGULAR_FIRST, Operators, block_diagonal, cross_motion
from tests.trees import random_state, relative_error
from treesim.kernels.algebra.blocks import put_articulated_block
from treesim.kernels.algebra.spatial import articulated
from treesim.kernels.algebra.tables import put_transform, rigid_at, tree_tables
from treesim.kernels.dynamics import aba, pivots
from treesim.kernels.kinematics.bodies import body_transform

ROUND_OFF = 1e-10


def beyond(phi):
    """phi - 1."""
    return phi - np.eye(len(phi))


IDENTITIES = {
    "M = H phi I phi* H* (eq. 21)": lambda o: (o.M, o.Hb @ o.phi @ o.Ib @ o.phi.T @ o.Hb.T + o.rotors),
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


@pytest.mark.paper(
    cases={
        "F05 eq. 5": "eq. 27",
        "F10 eq. 2": "eq. 27",
        "F10 eq. 24": "Lemma 6.2",
        "F10 eq. 25": "Lemma 6.3",
        "F10 eq. 26": "Lemma 6.4",
        "F10 eq. 27": "Omega = psi* H* D^-1 H psi",
        "F10 appendix B, propagators": "Omega = psi* H* D^-1 H psi",
        "F10 appendix B, Ω": "Omega = psi* H* D^-1 H psi",
        "J91 eq. 22": "eq. 21",
        "J91 eq. 24, 25": "eq. 26",
        "J91 eq. 26, Lemma 3.1": "eq. 26",
        "J91 eq. 27, Lemma 3.1": "eq. 27",
        "J91 Lemma 6.1": "Lemma 6.1",
        "J91 Lemma 6.2": "Lemma 6.2",
        "J91 Lemma 6.3": "Lemma 6.3",
        "J91 Lemma 6.4": "Lemma 6.4",
        "J91 eq. 57, 58, 59": ["eq. 57", "eq. 58", "eq. 59"],
    }
)
@pytest.mark.parametrize("identity", IDENTITIES.values(), ids=IDENTITIES)
@given(trees.random_trees(7, armature=0.3), st.integers(0, 1000))
def test_identity_holds_on_random_trees(identity, robot, seed):
    left, right = identity(Operators(robot, random_state(robot, seed).q))
    assert relative_error(left, right) < ROUND_OFF


@pytest.mark.paper("J91 eq. 20", "J91 eq. 54")
@given(trees.random_trees(7), st.integers(0, 1000))
def test_inverses_are_sums_of_powers_that_end(robot, seed):
    """phi = 1 + E + E² + ... of E_phi, and psi of E_psi, as their powers vanish (eq. 20, 54)."""
    o = Operators(robot, random_state(robot, seed).q)
    through = o.one - o.articulated[2] @ o.Hb
    for inverse, E in ((o.phi, o.E_phi), (o.psi, o.E_phi @ through)):
        powers = [np.linalg.matrix_power(E, k) for k in range(robot.n_bodies + 1)]
        assert relative_error(sum(powers), inverse) < ROUND_OFF and not powers[-1].any()


@pytest.mark.paper("J91 eq. 38, 39", "J91 eq. 40, 42", "J91 eq. 41", "J91 section 5, P")
@given(trees.random_trees(7), st.integers(0, 1000))
def test_joints_let_through_what_projects(robot, seed):
    """tau = 1 - G H projects: tau* H* = 0, H P tau* = 0 (eq. 38, 39); P tau* = tau P = tau P tau* (eq. 41); P = psi's
    recursion (eq. 40, 42), symmetric and positive definite. Without rotors."""
    o = Operators(robot, random_state(robot, seed).q)
    tau = o.one - o.articulated[2] @ o.Hb
    E_psi, scale = o.E_phi @ tau, np.abs(o.P).max()
    assert relative_error(tau @ tau, tau) < ROUND_OFF and np.abs(o.Hb @ tau).max() < ROUND_OFF
    assert np.abs(o.Hb @ o.P @ tau.T).max() < ROUND_OFF * scale
    for P_plus in (tau @ o.P, tau @ o.P @ tau.T):
        assert relative_error(P_plus, o.P @ tau.T) < ROUND_OFF
    for P in (o.Ib + o.E_phi @ o.P @ tau.T @ o.E_phi.T, o.Ib + E_psi @ o.P @ E_psi.T):
        assert relative_error(P, o.P) < ROUND_OFF
    assert relative_error(o.P.T, o.P) < ROUND_OFF and np.linalg.eigvalsh(o.P)[0] > 0


@pytest.mark.paper(
    "J91 section 2, recursions", "J91 eq. 32, 33", "J91 eq. 34, 35", "J91 eq. 43, 44", "J91 section 6, quantities"
)
@given(trees.random_trees(7, armature=0.3), st.integers(0, 1000))
def test_corrections_and_accelerations_by_either_recursion(robot, seed):
    """At rest: z = psi K T = E_phi (z + G eps) (eq. 43, 44), eps = T - H z, nu = D^-1 eps (eq. 32, 33), alpha =
    psi* H* nu, qdd = nu - K* alpha (eq. 32) and alpha = E_phi* alpha + H* qdd (eq. 34, 35)."""
    state = random_state(robot, seed)
    o = Operators(robot, state.q)
    _, D, G = o.articulated
    z = o.psi @ o.K @ state.tau
    eps = state.tau - o.Hb @ z
    nu = np.linalg.solve(D, eps)
    alpha = o.psi.T @ o.Hb.T @ nu
    qdd = nu - o.K.T @ alpha
    assert relative_error(o.E_phi @ (z + G @ eps), z) < ROUND_OFF
    assert relative_error(o.E_phi.T @ alpha + o.Hb.T @ qdd, alpha) < ROUND_OFF
    at_rest = treesim.forward_dynamics(robot, state.q, 0 * state.v, state.tau, backend="rjk", gravity=(0, 0, 0))
    assert relative_error(qdd, at_rest) < ROUND_OFF


@pytest.mark.paper("J91 eq. 50, 51")
@given(trees.random_trees(7), st.integers(0, 1000))
def test_forces_on_the_links_say_the_same_as_those_through_the_joints(robot, seed):
    """Q = (1 - E_phi) f = I alpha at rest, and H phi Q = H f = M qdd (eq. 50, 51): Bae and Haug's equations."""
    state = random_state(robot, seed)
    o = Operators(robot, state.q)
    alpha = o.phi.T @ o.Hb.T @ state.a
    f = o.phi @ o.Ib @ alpha
    Q = (o.one - o.E_phi) @ f
    tau = treesim.inverse_dynamics(robot, state.q, 0 * state.v, state.a, gravity=(0, 0, 0))
    assert relative_error(Q, o.Ib @ alpha) < ROUND_OFF and relative_error(o.Hb @ o.phi @ Q, tau) < ROUND_OFF


@pytest.mark.paper("F10 eq. 28, 29")
@given(trees.random_trees(6, joint_types=("revolute", "prismatic")), st.integers(0, 1000))
def test_rows_divided_by_the_sparse_factors_are_those_of_the_articulated_operators(robot, seed):
    """F10 eq. 28, 29, for joints of one degree of freedom: Y_d = psi* H*, Y = psi* H* D^-1/2, of all bodies."""
    o = Operators(robot, random_state(robot, seed).q)
    J = treesim.sparse_jacobian(robot, o.q, robot.body_names, reference="local")
    rows = [6 * i + k for i in range(robot.n_bodies) for k in ANGULAR_FIRST]
    Y_d = o.psi.T @ o.Hb.T
    for factors, expected in ((treesim.ltdl, Y_d), (treesim.ltl, Y_d @ np.diag(np.diag(o.D) ** -0.5))):
        _, Y = J.divide(factors(robot.dof_parent, o.M))
        assert relative_error(Y.dense()[rows], expected) < ROUND_OFF


@pytest.mark.paper("J91 Lemma 3.2")
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


@pytest.mark.paper("J91 Lemma 6.5", "J91 eq. 60")
@given(trees.random_trees(7, armature=0.3), st.integers(0, 1000))
def test_forward_dynamics_without_the_bias(robot, seed):
    """qdd = [1 - H psi K]* D^-1 [T - H psi (K T + b + P a)] - K* psi* a (Lemma 6.5): what `aba` computes."""
    state = random_state(robot, seed)
    o = Operators(robot, state.q)
    a, b = velocity_terms(o, state.v)
    innovations = state.tau - o.Hb @ o.psi @ (o.K @ state.tau + b + o.P @ a)
    qdd = o.inverse_factor.T @ np.linalg.solve(o.D, innovations) - o.K.T @ o.psi.T @ a
    assert relative_error(qdd, treesim.forward_dynamics(robot, *state[:2], state.tau, backend="aba")) < ROUND_OFF


def wrenches_at_rest(robot, q, tau):
    """f of every body by the library, for joint forces tau alone, angular part first."""
    f = treesim.joint_wrenches(robot, q, np.zeros(robot.nv), tau, gravity=(0, 0, 0))
    return f[:, ANGULAR_FIRST].reshape(-1)


def inertias_of_library(robot, q):
    """P of every body by the library, block diagonal, angular part first."""
    art = treesim.articulated(robot, q)
    return block_diagonal([art.inertia(name)[np.ix_(ANGULAR_FIRST, ANGULAR_FIRST)] for name in robot.body_names])


@pytest.mark.paper("J91 eq. 31", "J91 eq. 50, 51", "J91 eq. 52")
@given(trees.random_trees(7, armature=0.3), st.integers(0, 1000))
def test_force_through_a_joint_is_an_articulated_inertia_and_a_correction(robot, seed):
    """f = P alpha + z at rest, z = psi K T (eq. 31, 46, 52), and f - z = Q + L, Bae and Haug's: f and P are the
    library's."""
    state = random_state(robot, seed)
    o = Operators(robot, state.q)
    alpha = o.phi.T @ o.Hb.T @ state.a
    T = o.M @ state.a
    f, P = wrenches_at_rest(robot, state.q, T), inertias_of_library(robot, state.q)
    assert relative_error(f, o.phi @ o.Ib @ alpha) < ROUND_OFF
    assert relative_error(f, P @ alpha + o.psi @ o.K @ T) < ROUND_OFF
    Q = (o.one - o.E_phi) @ f  # the forces on the links, of which f is the sum over the bodies beyond (eq. 50)
    assert relative_error(Q, o.Ib @ alpha) < ROUND_OFF


@pytest.mark.paper("J91 eq. 54", "J91 Lemma 6.1", "J91 eq. 57, 58, 59")
@given(trees.random_trees(7, joint_types=("revolute", "prismatic"), armature=0.3), st.integers(0, 1000))
def test_the_library_applies_the_articulated_operators(robot, seed):
    """Sweeps of `articulated` against the operators, for joints of one degree of freedom.

    psi is a sum of powers (eq. 54), and from Lemma 6.1; eq. 57, 58 and 59 have the library's P and D."""
    state = random_state(robot, seed)
    o, art = Operators(robot, state.q), treesim.articulated(robot, state.q)
    E_psi = o.E_phi @ (o.one - o.articulated[2] @ o.Hb)
    powers = sum(np.linalg.matrix_power(E_psi, k) for k in range(robot.n_bodies))
    for psi in (powers, np.linalg.inv(np.linalg.inv(o.phi) + o.K @ o.Hb)):
        eps = state.tau - o.Hb @ psi @ o.K @ state.tau
        assert relative_error(art.solve_lower_transposed(state.tau), eps) < ROUND_OFF
    P = inertias_of_library(robot, state.q)
    assert relative_error(art.solve_lower_transposed(o.Hb @ o.phi), o.Hb @ o.psi) < ROUND_OFF  # eq. 57
    assert relative_error(o.psi @ o.Ib @ o.phi.T, o.psi @ P + P @ beyond(o.phi).T) < ROUND_OFF  # eq. 58
    right = o.Hb @ P @ beyond(o.phi).T / art.D[:, None]
    assert relative_error(art.solve_lower(right), o.K.T @ o.psi.T) < ROUND_OFF  # eq. 59


def composite_inertias(robot, q):
    """R of every body as the kernel sums them, block diagonal, angular part first."""
    tree = tree_tables(robot.ints, robot.reals)
    X, Ic, H = np.zeros((robot.n_bodies + 1, 12)), np.zeros((robot.n_bodies + 1, 10)), np.zeros(robot.nv)
    for i in range(1, robot.n_bodies + 1):
        put_transform(X, i, body_transform(tree, i, q))
    pivots.diagonal(tree, X, Ic, H)
    blocks = []
    for i in range(1, robot.n_bodies + 1):
        block = np.zeros((6, 6))
        put_articulated_block(block, articulated(rigid_at(Ic, i)))
        turn = np.kron(np.eye(2), robot.body_rotations[i])
        blocks.append(turn @ block @ turn.T)
    return block_diagonal(blocks)


@pytest.mark.paper("J91 eq. 26, Lemma 3.1", "J91 eq. 27, Lemma 3.1")
@given(trees.random_trees(7), st.integers(0, 1000))
def test_composite_inertias_of_the_kernel_satisfy_the_lemma(robot, seed):
    """I = R - E R E* (eq. 26) and phi I phi* = R + (phi - 1) R + R (phi - 1)* (eq. 27)."""
    o = Operators(robot, random_state(robot, seed).q)
    R = composite_inertias(robot, o.q)
    assert relative_error(o.Ib, R - o.E_phi @ R @ o.E_phi.T) < ROUND_OFF
    assert relative_error(o.phi @ o.Ib @ o.phi.T, R + beyond(o.phi) @ R + R @ beyond(o.phi).T) < ROUND_OFF


@pytest.mark.paper("J91 eq. 20")
@given(trees.random_trees(7), st.integers(0, 1000))
def test_external_forces_reach_the_joints_by_the_powers_of_E(robot, seed):
    """H phi f with phi = 1 + E + E^2 + ... (eq. 20): what inverse dynamics at rest subtracts for external forces f."""
    state = random_state(robot, seed)
    o, still = Operators(robot, state.q), np.zeros(robot.nv)
    f = np.random.default_rng(seed).normal(size=6 * robot.n_bodies)
    phi = sum(np.linalg.matrix_power(o.E_phi, k) for k in range(robot.n_bodies))
    linear_first = f.reshape(-1, 6)[:, ANGULAR_FIRST]
    tau = treesim.inverse_dynamics(robot, state.q, still, still, f_ext=linear_first, gravity=(0, 0, 0))
    assert relative_error(tau, -o.Hb @ phi @ f) < ROUND_OFF


def bias_forces_of_aba(robot, state):
    """p^A of every body, in body coordinates, angular part first."""
    tree = tree_tables(robot.ints, robot.reals)
    B, nv = robot.n_bodies + 1, robot.nv
    X, V, C, IA, pA = (np.zeros((B, width)) for width in (12, 6, 6, 21, 6))
    f_ext, qdd, U, D_inv, nu = np.zeros((0, 6)), np.zeros(nv), np.zeros((nv, 6)), np.zeros(nv), np.zeros(nv)
    aba.forward_dynamics(tree, state.q, state.v, state.tau, f_ext, qdd, X, V, C, IA, pA, U, D_inv, nu)
    turned = np.einsum("bij,bpj->bpi", robot.body_rotations[1:], pA[1:].reshape(-1, 2, 3))
    return turned.reshape(-1)


@pytest.mark.paper("J91 section 5, Featherstone")
@given(trees.random_trees(6, armature=0.3), st.integers(0, 1000))
def test_featherstones_bias_force_is_the_correction_without_its_own_joints_velocity_product(robot, seed):
    """p^A = z - P a, z = psi (K T + b + P a) of Lemma 6.5; p^A as the kernel of `aba` leaves it."""
    state = random_state(robot, seed)
    o = Operators(robot, state.q)
    a, b = velocity_terms(o, state.v)
    z = o.psi @ (o.K @ state.tau + b + o.P @ a)
    assert relative_error(bias_forces_of_aba(robot, state), z - o.P @ a) < ROUND_OFF


@pytest.mark.paper(
    "J91 eq. 13, 14",
    "J91 eq. 15, 16",
    "J91 eq. 21",
    "J91 eq. 22",
    "J91 eq. 40, 42",
    "J91 eq. 45, 46",
    "J91 eq. 55",
    "J91 eq. 56",
)
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
