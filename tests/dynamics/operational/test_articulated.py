"""One pass of articulated quantities: every answer against dense algebra on the mass matrix."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treesim
from tests import coupled, sensitivity, trees
from tests.trees import CATALOGUE, random_state
from treesim import Body, Frame, Tree
from treesim.dynamics.operational.articulated_bodies import MANY
from treesim.errors import ArgumentError, NonFiniteError, SingularInertiaError, UnsupportedError

OPERATIONS = ("multiply", "multiply_transposed", "solve_lower", "solve_lower_transposed", "solve")


def reconstructs(art, M, scale=1e-10):
    """The residual of L' D L = M, relative to the products' sizes."""
    L, D = art.L, art.D
    sizes = np.swapaxes(np.abs(L), -1, -2) * D[..., None, :] @ np.abs(L)
    return np.abs(np.swapaxes(L, -1, -2) * D[..., None, :] @ L - M).max() <= scale * sizes.max()


@pytest.mark.paper("J91 Lemma 6.2 to 6.4, products")
@pytest.mark.nojit
@pytest.mark.parametrize("name", [*CATALOGUE, "mimic_1", "mimic_2"])
def test_products_and_solves_are_those_of_the_dense_factor(name):
    robot = coupled.coupled(int(name[-1])) if name.startswith("mimic") else trees.tree(name)
    q = random_state(robot)[0]
    M, art, x = treesim.mass_matrix(robot, q), treesim.articulated(robot, q), np.linspace(-1, 2, robot.nv)
    assert reconstructs(art, M) and (np.diag(art.L) == 1).all() and not np.triu(art.L, 1).any()
    for name in OPERATIONS[:2]:
        dense = art.L if name == "multiply" else art.L.T
        assert np.abs(getattr(art, name)(x) - dense @ x).max() <= 1e-12 * (np.abs(dense) @ np.abs(x)).max()
    assert np.allclose(art.multiply(art.solve_lower(x)), x, rtol=1e-8, atol=1e-8)
    assert np.allclose(art.multiply_transposed(art.solve_lower_transposed(x)), x, rtol=1e-8, atol=1e-8)
    expected = np.linalg.solve(M, x)
    assert sensitivity.farthest(art.solve(x), expected) < 2 * sensitivity.of_solution(M, np.abs(x), expected)
    assert np.isclose(art.log_det, np.linalg.slogdet(M)[1], rtol=1e-9, atol=1e-9)


@pytest.mark.paper("J91 Lemma 6.2 to 6.4, products")
@given(trees.random_trees(), st.integers(0, 1000))
def test_white_noise_has_the_covariance_of_the_inverse_mass_matrix(robot, seed):
    """Exactly, without drawing: the columns of the coloring C have C C' = M^-1 or M, and whitening inverts it."""
    q = random_state(robot, seed)[0]
    M, art, unit = treesim.mass_matrix(robot, q), treesim.articulated(robot, q), np.eye(robot.nv)
    velocities, forces = art.color_velocities(unit), art.color_forces(unit)
    size = np.abs(velocities) @ np.abs(velocities.T) @ np.abs(M)
    assert np.abs(velocities @ velocities.T @ M - unit).max() <= 1e-12 * size.max()
    assert np.abs(forces @ forces.T - M).max() <= 1e-13 * (np.abs(forces) @ np.abs(forces.T)).max()
    scale = (np.abs(velocities).T @ np.abs(forces)).max()
    assert np.abs(velocities.T @ forces - unit).max() <= 1e-13 * scale  # W^-1 and W' of one factor
    assert np.abs(art.whiten_velocities(velocities) - unit).max() <= 1e-12 * scale
    assert np.abs(art.whiten_forces(forces) - unit).max() <= 1e-12 * scale


@pytest.mark.parametrize("make", [lambda: trees.tree("random_b"), lambda: coupled.coupled(3)], ids=["free", "mimic"])
def test_samples(make):
    robot, count = make(), 40_000
    q = random_state(robot)[0]
    art, M = treesim.articulated(robot, q), treesim.mass_matrix(robot, q)
    samples = art.sample(np.random.default_rng(1), count)
    assert samples.shape == (count, robot.nv)
    white = art.whiten_velocities(samples.T)
    covariance = white @ white.T / count
    assert np.abs(covariance - np.eye(robot.nv)).max() < 6 * np.sqrt(2 / count)  # six standard deviations
    energy = 0.5 * np.einsum("ij,jk,ik->i", samples, M, samples)
    assert abs(energy.mean() - robot.nv / 2) < 6 * np.sqrt(robot.nv / 2 / count)  # equipartition
    again = art.sample(np.random.default_rng(1), (2, 3))
    assert np.array_equal(again, art.sample(np.random.default_rng(1), (2, 3))) and again.shape == (2, 3, robot.nv)
    assert art.sample(np.random.default_rng(1)).shape == (robot.nv,)
    with pytest.raises(ArgumentError, match="default_rng"):
        art.sample(np.random.RandomState(0))
    for size in (-1, "a", (2, 1.5)):
        with pytest.raises(ArgumentError, match="size must be"):
            art.sample(np.random.default_rng(0), size)


TURN = np.array([[0.0, -0.6, 0.8], [1.0, 0.0, 0.0], [0.0, 0.8, 0.6]])
PLACE = treesim.Placement(TURN, (0.1, 0.2, -0.3))


def cut_loose(robot, number, q):
    """The subtree of a body on a floating base of its own, and its configuration."""
    kept = [number]
    for i in range(number + 1, robot.n_bodies + 1):
        if robot.bodies[i - 1].parent in kept:
            kept.append(i)
    place = {body: k + 1 for k, body in enumerate(kept)}
    bodies, numbers = [], []
    for i in kept:
        body = robot.bodies[i - 1]
        if i == number:
            bodies.append(Body(body.name, 0, treesim.Joint("free", "floating"), body.inertia))
            numbers.append([0.0, 0, 0, 0, 0, 0, 1])
        else:
            bodies.append(replace(body, parent=place[body.parent]))
            numbers.append(q[robot.q_index[body.joint.name]])
    return Tree("loose", bodies, frames=[Frame("here", 1, PLACE)]), np.concatenate(numbers)


@pytest.mark.nojit
@pytest.mark.parametrize("name", ["tree_1", "chain_mixed", "random_a", "random_b", "random_14", "asimo"])
def test_articulated_body_inertias_are_inverse_inertias_of_bodies_cut_loose(name):
    bodies = trees.tree(name).bodies
    robot = Tree(name, bodies, frames=[Frame(f"on {i}", i, PLACE) for i in range(1, len(bodies) + 1)])
    q = random_state(robot)[0]
    art = treesim.articulated(robot, q)
    for number in range(1, robot.n_bodies + 1):
        loose, state = cut_loose(robot, number, q)
        expected = treesim.inverse_operational_inertia(loose, state, "here", reference="local")
        inertia = art.inertia(f"on {number}")
        sizes = np.abs(expected) @ np.abs(inertia)
        assert np.abs(expected @ inertia - np.eye(6)).max() <= 1e-11 * max(1.0, sizes.max())
        assert np.abs(inertia - inertia.T).max() <= 1e-14 * np.abs(inertia).max()


@pytest.mark.nojit
@pytest.mark.parametrize("name", ["random_a", "free_random", "asimo"])
def test_other_answers_are_those_of_their_functions(name):
    robot = trees.tree(name)
    (q, v, tau), f_ext = random_state(robot)[:3], np.random.default_rng(3).normal(size=(robot.n_bodies, 6))
    art, frames = treesim.articulated(robot, q), robot.frame_names[-2:]
    for reference in ("local", "local_world_aligned"):
        expected = treesim.inverse_operational_inertia(robot, q, frames, reference=reference)
        assert np.array_equal(art.inverse_inertia(frames, reference), expected)
    for wrenches in (None, f_ext):
        a = treesim.forward_dynamics(robot, q, v, tau, f_ext=wrenches, backend="rjk")
        bound = sensitivity.of_forward_dynamics(robot, q, v, tau, a, f_ext=wrenches)
        assert sensitivity.farthest(art.forward_dynamics(v, tau, wrenches), a) < 2 * bound


def test_batches_columns_and_number_types():
    robot, rng = trees.tree("random_a"), np.random.default_rng(0)
    q = np.stack([robot.random(rng) for _ in range(3)])
    x, columns = rng.normal(size=(3, robot.nv)), rng.normal(size=(3, robot.nv, 2))
    art, ones = treesim.articulated(robot, q), [treesim.articulated(robot, one) for one in q]
    assert art.shape == (3, robot.nv) and art.log_det.shape == (3,)
    for name in (*OPERATIONS, "whiten_forces", "whiten_velocities", "color_forces", "color_velocities"):
        each = [getattr(one, name) for one in ones]
        assert np.array_equal(getattr(art, name)(x), [f(row) for f, row in zip(each, x, strict=True)])
        assert np.array_equal(getattr(art, name)(columns), [f(row) for f, row in zip(each, columns, strict=True)])
        assert np.array_equal(getattr(art, name)(columns)[:, :, 1], getattr(art, name)(columns[:, :, 1]))
    assert np.array_equal(art.L, [one.L for one in ones]) and np.array_equal(art.D, [one.D for one in ones])
    body = robot.bodies[3].name
    assert np.array_equal(art.inertia(body), [one.inertia(body) for one in ones])
    assert art.sample(rng, 4).shape == (4, 3, robot.nv) and art.inverse_inertia(body).shape == (3, 6, 6)
    single = treesim.articulated(robot, q.astype(np.float32))
    results = [single.solve(x), single.log_det, single.D, single.L, single.sample(rng), single.inertia(body)]
    assert {result.dtype for result in results} == {np.dtype(np.float32)}
    assert np.allclose(single.solve(x), art.solve(x), rtol=1e-3, atol=1e-3)


def test_robots_with_mimic_joints_answer_by_their_own_functions():
    robot = coupled.coupled(1)
    q, v, tau, f_ext = coupled.state(robot)
    art, frame = treesim.articulated(robot, q), robot.frame_names[-1]
    assert np.array_equal(art.inverse_inertia(frame), treesim.inverse_operational_inertia(robot, q, frame))
    expected = treesim.forward_dynamics(robot, q, v, tau, f_ext=f_ext)
    assert np.array_equal(art.forward_dynamics(v, tau, f_ext), expected)
    with pytest.raises(UnsupportedError, match="mimic joints"):
        art.inertia(frame)
    hinges = [treesim.Joint("first", "revolute"), treesim.Joint("second", "revolute", mimic=treesim.Mimic("first"))]
    bodies = [Body(joint.name, k, joint) for k, joint in enumerate(hinges)]
    with pytest.raises(SingularInertiaError, match=r"joint '(first|second)' moves no inertia"):
        treesim.articulated(Tree("ghost", bodies), np.zeros(1)).solve([1.0])


@pytest.mark.parametrize("make", [lambda: trees.tree("random_a"), lambda: coupled.coupled(1)], ids=["tree", "mimic"])
def test_answers_do_not_change_with_the_array_of_configurations(make):
    robot = make()
    q, v, tau = (np.array(x) for x in random_state(robot)[:3])
    art = treesim.articulated(robot, q)
    a, x = art.forward_dynamics(v, tau), treesim.articulated(robot, q).solve(tau)
    q[:] = robot.random(5)
    assert np.array_equal(art.forward_dynamics(v, tau), a) and np.array_equal(art.solve(tau), x)


def test_what_does_not_fit_is_refused():
    robot = trees.tree("tree_1")
    q = random_state(robot)[0]
    art = treesim.articulated(robot, q)
    with pytest.raises(ArgumentError, match=r"x has shape \(3,\), but \(\.\.\., 7\) or \(\.\.\., 7, k\)"):
        art.solve(np.zeros(3))
    with pytest.raises(NonFiniteError, match=r"x\[2\] is nan"):
        art.multiply([0, 0, np.nan, 0, 0, 0, 0])
    with pytest.raises(ArgumentError, match="z has shape"):
        art.color_velocities(np.zeros((2, 6)))
    with pytest.raises(treesim.UnknownNameError, match="nowhere"):
        art.inertia("nowhere")
    with pytest.raises(NonFiniteError, match="q"):
        treesim.articulated(robot, np.full(robot.nq, np.nan))
    bodies = [Body("ghost", 0, treesim.Joint("hinge", "revolute", axis=(0, 0, 1)))]
    with pytest.raises(SingularInertiaError, match="hinge"):
        treesim.articulated(Tree("haunted", bodies, frames=[Frame("floor", 0)]), np.zeros(1))
    still = treesim.articulated(Tree("rock", []), [])
    assert still.shape == (0,) and still.log_det == 0 and still.solve([]).shape == (0,)


@pytest.mark.parametrize("name", ["random_a", "free_random"])
def test_many_columns_are_solved_as_few(name):
    """By factors of the mass matrix: below and above the number from which they are."""
    robot, rng = trees.tree(name), np.random.default_rng(0)
    q, x = robot.random(rng), rng.normal(size=(robot.nv, MANY))
    art, M = treesim.articulated(robot, q), treesim.mass_matrix(robot, q)
    few = art.solve(np.ascontiguousarray(x[:, 1:]))
    assert np.array_equal(few[:, 0], art.solve(x[:, 1]))
    for found, right in zip(art.solve(x).T, x.T, strict=True):
        expected = np.linalg.solve(M, right)
        assert sensitivity.farthest(found, expected) < 2 * sensitivity.of_solution(M, np.abs(right), expected)
