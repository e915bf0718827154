"""Conjugate gradients: how many steps they take, what they leave, and what they say when they do not arrive."""

import mpmath
import numpy as np
import pytest

import treesim
from tests import sensitivity, trees
from tests.pinocchio.robots import path
from tests.trees import CATALOGUE, random_state, relative_error
from treesim import plugins
from treesim.dynamics.conjugate_gradient import solve
from treesim.engine.interpreter import Tally, run
from treesim.errors import ArgumentError, ConvergenceError, NonFiniteError, SingularInertiaError
from treesim.kernels.dynamics.rnea import inverse_dynamics_states
from treesim.kernels.published.conjugate_gradient import (
    TOLERANCE,
    forward_dynamics_plain_states,
    forward_dynamics_within_states,
)
from treesim.model import generators as make

pytestmark = pytest.mark.filterwarnings("ignore::treesim.UrdfWarning")  # of the robots' own inertias and mimics
both = pytest.mark.parametrize("preconditioned", [False, True], ids=["plain", "hrh"])
backends = pytest.mark.parametrize("backend", ["conjugate_gradient", "conjugate_gradient_hrh"])


def steps(robot, seed=0):
    """Iterations without and with the preconditioner, for the torques of a random motion."""
    q, v, a, *_ = random_state(robot, seed)
    tau = treesim.inverse_dynamics(robot, q, v, a)
    return [int(solve(robot, q, v, tau, preconditioned=choice).iterations) for choice in (False, True)]


def random_chain(n, seed):
    """A chain of random bodies on revolute joints."""
    bodies = trees.random_tree(seed, n, joint_types=("revolute",)).bodies
    return treesim.Tree("random_chain", [treesim.Body(b.name, i, b.joint, b.inertia) for i, b in enumerate(bodies)])


def straight_pendulum(n, bend=0.01):
    """A planar pendulum of n rods, its state nearly straight and at rest."""
    robot = make.chain(n, axes=((0.0, 1.0, 0.0),))
    q = bend * random_state(robot).q
    return robot, q, np.zeros(robot.nv)


@pytest.mark.paper("J91 section 4, preconditioner")
@pytest.mark.parametrize(
    "name, options, expected", [("simple_humanoid", {}, (55, 43)), ("talos_full_v2", {"mimic": "free"}, (330, 58))]
)
@pytest.mark.parametrize("seed", range(3))
def test_the_preconditioner_pays_on_humanoids(name, options, expected, seed):
    taken = steps(treesim.load(path(name), base="floating", **options), seed)
    assert taken == pytest.approx(expected, rel=0.3)  # states differ, and roundings change the course: 279 to 382
    assert taken[1] < taken[0]


@pytest.mark.paper("J91 section 4, preconditioner")
@pytest.mark.parametrize("seed", range(3))
def test_the_preconditioner_costs_on_long_chains(seed):
    taken = steps(random_chain(100, seed), seed)
    assert taken == pytest.approx((345, 480), rel=0.3)
    assert taken[1] > 1.2 * taken[0]


@pytest.mark.paper("J91 eq. 30")
@both
@pytest.mark.parametrize("name", CATALOGUE)
def test_the_residual_told_is_the_true_one_and_the_accelerations_are_right(name, preconditioned):
    robot = trees.tree(name)
    q, v, _, tau, f_ext = random_state(robot, 1)
    qdd, _, residual = solve(robot, q, v, tau, f_ext, preconditioned=preconditioned)
    right = tau - treesim.bias_forces(robot, q, v, f_ext=f_ext)
    M, size = treesim.mass_matrix(robot, q), np.linalg.norm(right)
    rounded = sensitivity.OF_A_SWEEP * np.linalg.norm(np.abs(M) @ np.abs(qdd) + np.abs(right)) / size
    assert residual <= TOLERANCE and np.linalg.norm(right - M @ qdd) / size < TOLERANCE + rounded
    bound = sensitivity.of_forward_dynamics(robot, q, v, tau, qdd, "conjugate_gradient", f_ext=f_ext)
    assert sensitivity.farthest(qdd, treesim.forward_dynamics(robot, q, v, tau, f_ext=f_ext)) < 2 * bound


@both
def test_a_looser_tolerance_takes_fewer_steps(preconditioned):
    robot = trees.tree("asimo")
    q, v, _, tau, _ = random_state(robot)
    taken = [solve(robot, q, v, tau, tolerance=t, preconditioned=preconditioned) for t in (1e-3, 1e-8, 1e-13)]
    assert taken[0].iterations < taken[1].iterations < taken[2].iterations
    assert all(s.residual <= t for s, t in zip(taken, (1e-3, 1e-8, 1e-13), strict=True))


@pytest.mark.paper("J91 eq. 30, steps")
@both
def test_in_exact_arithmetic_as_many_steps_as_degrees_of_freedom_are_enough(preconditioned):
    robot = trees.tree("random_b")
    q, v, _, tau, _ = random_state(robot)
    with mpmath.workdps(100):
        constants = (robot.ints, robot.reals, np.array([1e-13, robot.nv]), int(preconditioned))
        shapes = [(robot.nv,), (2,)]
        qdd, (taken, residual) = run(
            forward_dynamics_within_states, constants, (q, v, tau, np.empty(0)), shapes, mpmath.mpf
        )
    assert taken <= robot.nv and residual <= 1e-13
    assert relative_error(qdd.astype(float), treesim.forward_dynamics(robot, q, v, tau)) < 1e-9


@pytest.mark.paper("J91 section 4, preconditioner")
def test_bodies_that_share_no_path_need_one_step():
    """Every body on the base: H is the block diagonal of its joints, which is what the preconditioner inverts."""
    bodies = trees.tree("random_c").bodies + trees.tree("chain_mixed").bodies
    robot = treesim.Tree(
        "apart",
        [
            treesim.Body(f"{i}", 0, treesim.Joint(f"j{i}", b.joint.type, placement=b.joint.placement), b.inertia)
            for i, b in enumerate(bodies)
        ],
    )
    q, v, _, tau, _ = random_state(robot)
    assert solve(robot, q, v, tau).iterations == 1
    assert solve(robot, q, v, tau, preconditioned=False).iterations > 10


def standard(r, z, r0, z0):
    return (r @ z) / (r0 @ z0)


def printed(r, z, r0, z0):
    """Jain 1991, eq. 30: z'z over the r'r of the step before."""
    return (z @ z) / (r0 @ r0)


@np.errstate(over="ignore", invalid="ignore")  # of what diverges
def preconditioned_steps(robot, coefficient, unit=1.0, most=3000, tolerance=TOLERANCE):
    """Steps with Phi = H R H* and a coefficient of the next direction, masses in `unit` kg; None if it diverges."""
    q, v, a, *_ = random_state(robot)
    H, right = treesim.mass_matrix(robot, q) / unit, treesim.inverse_dynamics(robot, q, v, a) / unit
    r = right - treesim.bias_forces(robot, q, v) / unit
    joint = np.repeat(np.arange(robot.n_bodies), robot.topology.dofs)
    inverse = np.linalg.inv(np.where(joint[:, None] == joint, H, 0.0))
    size, z = np.linalg.norm(r), inverse @ r
    p = z
    for step in range(1, most + 1):
        r0, z0 = r, z
        r = r0 - (r0 @ z0) / (p @ H @ p) * (H @ p)
        z = inverse @ r
        left = np.linalg.norm(r) / size
        if left < tolerance:
            return step
        if not left < 1e30:
            return None
        p = z + coefficient(r, z, r0, z0) * p
    raise AssertionError(f"neither converged nor diverged in {most} steps: {left}")


@pytest.mark.parametrize("name, base", [("ur5", "fixed"), ("simple_humanoid", "floating")])
def test_the_coefficient_as_printed_converges_slowly_in_small_units(name, base):
    """In grams it is next to nothing beside the gradient: what is left is steepest descent, in many times the steps."""
    robot, gram = treesim.load(path(name), base=base), 1e-3
    taken = preconditioned_steps(robot, standard)
    assert taken < 2 * robot.nv and abs(preconditioned_steps(robot, standard, gram) - taken) <= 3
    assert preconditioned_steps(robot, printed, gram) > 20 * taken


@pytest.mark.paper("J91 eq. 30")
def test_the_coefficient_as_printed_diverges_in_large_units():
    """It has a unit, that of 1 / inertia^2."""
    robot, ton = treesim.load(path("simple_humanoid"), base="floating"), 1e3
    assert preconditioned_steps(robot, printed, ton) is None
    assert preconditioned_steps(robot, standard, ton) < 2 * robot.nv


@both
def test_equilibrium_takes_no_step(preconditioned):
    robot = trees.tree("random_a")
    q, v, *_ = random_state(robot)
    qdd, iterations, residual = solve(robot, q, v, treesim.bias_forces(robot, q, v), preconditioned=preconditioned)
    assert not qdd.any() and iterations == residual == 0


@both
def test_batches_are_single_states_side_by_side(preconditioned):
    robot = trees.tree("random_a")
    q, v, _, tau, _ = (np.stack(parts) for parts in zip(*(random_state(robot, s) for s in range(3)), strict=True))
    together = solve(robot, q, v, tau[0], preconditioned=preconditioned)
    assert together.qdd.shape == (3, robot.nv) and together.iterations.shape == together.residual.shape == (3,)
    for s in range(3):
        alone = solve(robot, q[s], v[s], tau[0], preconditioned=preconditioned)
        assert np.array_equal(together.qdd[s], alone.qdd) and together.iterations[s] == alone.iterations


def test_what_does_not_converge_is_an_error_that_keeps_all_states():
    robot, q, v = straight_pendulum(200)
    torque = np.stack([treesim.bias_forces(robot, q, v), random_state(robot).tau])
    with pytest.raises(
        ConvergenceError, match=r"'chain_200'.*state \(1,\): 4000 iterations.*residual.*'aba'"
    ) as caught:
        treesim.forward_dynamics(robot, q, v, torque, backend="conjugate_gradient_hrh")
    error = caught.value
    assert error.residual[0] <= TOLERANCE < error.residual[1]
    assert error.iterations.tolist() == [0, 4000] and not error.qdd[0].any() and error.qdd[1].all()
    assert solve(robot, q, v, torque).iterations.tolist() == [0, 4000]
    with pytest.raises(ConvergenceError, match="chain_200") as caught:
        treesim.forward_dynamics(robot, q, v, torque[1], backend="conjugate_gradient_hrh")
    assert caught.value.qdd.shape == (200,)


def test_the_plain_backend_points_to_the_preconditioned_one():
    robot, q, v = straight_pendulum(800)
    with pytest.raises(ConvergenceError, match=r"'conjugate_gradient_hrh'.*'aba'"):
        treesim.forward_dynamics(robot, q, v, random_state(robot).tau, backend="conjugate_gradient")


@both
def test_the_number_of_steps_can_be_bounded(preconditioned):
    robot = trees.tree("asimo")
    q, v, _, tau, _ = random_state(robot)
    qdd, iterations, residual = solve(robot, q, v, tau, preconditioned=preconditioned, max_iterations=3)
    assert iterations == 3 and residual > TOLERANCE and np.isfinite(qdd).all()


def robot_with_a_light_joint(joint, inertia):
    carrier = treesim.Body("a", 0, treesim.Joint("j1", "revolute"), treesim.Inertia(1.0, rotational=np.eye(3)))
    return treesim.Tree("light", [carrier, treesim.Body("b", 1, joint, inertia)])


@pytest.mark.nojit
@both
@pytest.mark.parametrize("kind, inertia", [("revolute", treesim.Inertia(0.0)), ("spherical", treesim.Inertia(2.0))])
def test_a_joint_that_moves_no_inertia_is_named_and_armature_helps(kind, inertia, preconditioned):
    robot = robot_with_a_light_joint(treesim.Joint("light", kind), inertia)
    q, v = robot.neutral(), np.zeros(robot.nv)
    with pytest.raises(SingularInertiaError, match="light"):
        solve(robot, q, v, v, preconditioned=preconditioned)
    rotors = np.full(robot.nv, 0.1)
    tau = np.ones(robot.nv)
    qdd = solve(robot, q, v, tau, armature=rotors, preconditioned=preconditioned).qdd
    assert relative_error(qdd, treesim.forward_dynamics(robot, q, v, tau, armature=rotors)) < 1e-12


@pytest.mark.parametrize("options", [{"tolerance": 0}, {"tolerance": np.nan}, {"max_iterations": -1}])
def test_limits_that_make_no_sense_are_refused(options):
    robot = trees.tree("tree_1")
    with pytest.raises(ArgumentError, match=next(iter(options))):
        solve(robot, *np.zeros((3, 7)), **options)


@backends
def test_what_is_not_finite_is_refused_even_beside_states_that_do_not_converge(backend):
    robot, q, v = straight_pendulum(200)
    torque = np.stack([random_state(robot).tau, np.full(200, np.nan)])
    with pytest.raises(NonFiniteError, match="tau"):
        treesim.forward_dynamics(robot, q, v, torque, backend=backend)


def test_the_plain_engine_tells_too():
    robot = trees.tree("random_a")
    q, v, _, tau, _ = random_state(robot)
    constants = (robot.ints, robot.reals, np.array([1e-13, 2]), 0)
    with pytest.raises(ConvergenceError, match="forward_dynamics_within_states"):
        run(forward_dynamics_within_states, constants, (q, v, tau, np.empty(0)), [(robot.nv,), (2,)], float)


@backends
def test_operations_are_counted_over_all_steps(backend):
    """A step takes one product with H: the count grows with the steps, and the result is that of plain numbers."""
    robot = trees.tree("tree_1")
    q, v, _, tau, _ = random_state(robot)
    tally = Tally()
    arguments = (*(tally.variables(x) for x in (q, v, tau)), np.empty(0))
    entry = type(plugins.get("dynamics", backend)).entry
    (qdd,) = run(entry, (robot.ints, robot.reals), arguments, [(robot.nv,)], tally.number)
    assert relative_error(qdd.astype(float), treesim.forward_dynamics(robot, q, v, tau)) < 1e-11
    one_product = Tally()
    rest = (*(one_product.variables(x) for x in (q, 0 * v, tau)), np.empty(0))
    run(inverse_dynamics_states, (robot.ints, robot.reals), rest, [(robot.nv,)], one_product.number)
    assert tally.operations["mul"] > robot.nv * one_product.operations["mul"] / 2


@pytest.mark.paper("J91 section 4, products")
@both
def test_a_step_takes_operations_in_proportion_to_the_bodies(preconditioned):
    """J91 section 4: M p by inverse dynamics, so that a step is O(N)."""

    def operations(n, most):
        robot, tally = make.chain(n), Tally()
        q, v, _, tau, _ = random_state(robot)
        constants = (robot.ints, robot.reals, np.array([TOLERANCE, most]), int(preconditioned))
        arguments = (*(tally.variables(x) for x in (q, v, tau)), np.empty(0))
        with pytest.raises(ConvergenceError):
            run(forward_dynamics_within_states, constants, arguments, [(n,), (2,)], tally.number)
        return tally.operations.total()

    steps = [operations(n, 3) - operations(n, 2) for n in (8, 16, 24)]
    assert steps[2] - steps[1] == steps[1] - steps[0] > 0


def test_a_robot_that_cannot_move():
    robot = treesim.Tree("bench", [])
    assert solve(robot, *np.zeros((3, 0))).qdd.shape == (0,)


def test_sizes_that_do_not_fit_are_refused():
    robot = trees.tree("tree_1")
    with pytest.raises(ArgumentError, match="sizes"):
        wrong = (np.zeros(7), np.zeros(7), np.zeros(8), np.empty(0))
        run(forward_dynamics_plain_states, (robot.ints, robot.reals), wrong, [(7,)], float)


@pytest.mark.nojit
@backends
@pytest.mark.parametrize("factor", [1e155, 1e200, 1e300])
def test_residuals_beyond_all_numbers_are_told(backend, factor):
    """The norm overflows where the forces do not: no iteration can tell then when it has converged."""
    robot = make.chain(4)
    with pytest.raises(treesim.NonFiniteError, match="overflow"):
        treesim.forward_dynamics(robot, np.full(4, 0.3), np.zeros(4), np.full(4, factor), backend=backend)
