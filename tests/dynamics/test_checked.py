"""Backends check their accelerations by inverse dynamics: they refine them, or refuse them, and keep their factors."""

from functools import cache

import numpy as np
import pytest

import treesim
from tests import trees
from tests.trees import random_state
from treesim import Body, Inertia, Joint, Tree, plugins
from treesim.dynamics import assemblies, constraint_force
from treesim.dynamics.checked import ROUNDINGS, CheckedBackend
from treesim.engine.interpreter import Tally, run
from treesim.errors import AccuracyError, NonFiniteError
from treesim.kernels.algebra.tables import put_transform
from treesim.kernels.dynamics.aba import forward_dynamics_states
from treesim.kernels.dynamics.aba import scratch_for as aba_memory
from treesim.kernels.entries.entry import entry
from treesim.kernels.entries.status import NOT_FINITE
from treesim.kernels.kinematics.bodies import body_transform
from treesim.kernels.published.residual_check import REFINED, REFUSED, checked_entry, residual_states
from treesim.model import generators as make
from treesim.states.states import on_states
from treesim.testing import bounds

ROUNDED = 1e-16  # what `worst_error_factor` multiplies, with the condition number
BACKENDS = tuple(name for name in treesim.available("dynamics") if name != "auto")
CHECKED = tuple(name for name in BACKENDS if isinstance(plugins.get("dynamics", name), CheckedBackend))
AXES = ((0, 0, 1), (0, 1, 0), (1, 0, 1))
JOINTS = ("revolute", "prismatic", "spherical", "continuous", "planar", "floating")


def scaled(robot, factors):
    """The robot with the inertia of every body multiplied."""
    bodies = [
        Body(b.name, b.parent, b.joint, Inertia(f * b.inertia.mass, b.inertia.com, f * b.inertia.rotational))
        for b, f in zip(robot.bodies, factors, strict=True)
    ]
    return Tree("scaled", bodies)


@cache
def alternating(lightness, n=8):
    """A chain of rods, every second of them lighter."""
    return scaled(make.chain(n, axes=AXES), [1.0 if k % 2 == 0 else lightness for k in range(n)])


def prescribed(robot, seed=0):
    """A state, the torques that bring about a motion of order one, and its accelerations."""
    q, v, a, *_ = random_state(robot, seed)
    return q, v, treesim.inverse_dynamics(robot, q, v, a), a


def unlike_tree(seed):
    """A random tree or chain of 3 to 12 bodies whose masses have a ratio of 1 to 1e9."""
    rng = np.random.default_rng(seed)
    n, ratio, kind = int(rng.integers(3, 13)), 10.0 ** rng.uniform(0, 9), seed % 4
    robot = make.random_tree(rng, n, (("revolute",), ("revolute",), JOINTS[:4], JOINTS)[kind])
    if kind == 0:
        robot = Tree("chain", [Body(b.name, i, b.joint, b.inertia) for i, b in enumerate(robot.bodies)])
    return scaled(robot, ratio ** rng.uniform(0, 1, n) if seed % 3 else np.where(np.arange(n) % 2, 1 / ratio, 1.0))


def errors_of(robot, q, v, tau, a, backend):
    """The error of a backend over the condition number times 1e-16; None if it raises AccuracyError."""
    try:
        found = treesim.forward_dynamics(robot, q, v, tau, backend=backend)
    except AccuracyError:
        return None
    condition = np.linalg.cond(treesim.mass_matrix(robot, q))
    return np.abs(found - a).max() / np.abs(a).max() / condition / ROUNDED


def test_methods_that_divide_by_single_inertias_or_iterate_are_checked():
    assert set(BACKENDS) - set(CHECKED) == {
        "aba", "crba_ltdl", "crba_ltl", "rjk", "innovations", "explicit_inverse", "reference",
    }  # fmt: skip


@pytest.mark.parametrize("backend", BACKENDS)
def test_no_error_beyond_the_declared_factor_is_silent(backend):
    factor = plugins.get("dynamics", backend).capabilities.worst_error_factor
    cases = [alternating(1e-5), alternating(1e-9), *map(unlike_tree, range(4))]
    found = [errors_of(robot, *prescribed(robot), backend) for robot in cases]
    assert all(error is None or error <= factor for error in found)
    assert backend == "constraint_force_pcr" or None not in found


def exact_of():
    return pytest.importorskip("treesim_lab.cost.error_growth").exact_acceleration


@pytest.mark.nightly
@pytest.mark.slow
def test_factors_are_those_measured_on_500_random_trees():
    """Under random torques and under those of a motion, against 40 digits; no factor is 30 times what is found."""
    exact, worst, refused = exact_of(), dict.fromkeys(BACKENDS, 0.0), dict.fromkeys(BACKENDS, 0)
    for seed in range(500):
        robot = unlike_tree(seed)
        q, v, tau, _ = prescribed(robot, seed)
        for forces in (tau, random_state(robot, seed).tau):
            a = exact(robot, q, v, forces)
            for backend in BACKENDS:
                error = errors_of(robot, q, v, forces, a, backend)
                worst[backend] = max(worst[backend], error or 0.0)
                refused[backend] += error is None
    for backend in BACKENDS:
        factor = plugins.get("dynamics", backend).capabilities.worst_error_factor
        assert factor / 30 < worst[backend] <= factor, (backend, worst[backend])
        assert refused[backend] < (200 if backend == "constraint_force_pcr" else 1), backend


@pytest.mark.nightly
@pytest.mark.slow
def test_factors_on_robots_without_large_mass_ratios_are_those_measured():
    exact, worst = exact_of(), dict.fromkeys(BACKENDS, 0.0)
    for name in trees.CATALOGUE:
        robot = trees.tree(name)
        for seed in range(8):
            q, v, tau, _ = prescribed(robot, seed)
            for forces in (tau, random_state(robot, seed).tau):
                a = exact(robot, q, v, forces)
                allowed = bounds.of_forces(robot, q, v, forces, a) * np.abs(a).max()
                for backend in BACKENDS:
                    found = treesim.forward_dynamics(robot, q, v, forces, backend=backend)
                    worst[backend] = max(worst[backend], np.abs(found - a).max() / allowed)
    for backend in BACKENDS:
        factor = plugins.get("dynamics", backend).capabilities.error_factor
        assert factor / 100 < worst[backend] <= factor, (backend, worst[backend])


# ---- limits


def placed_aba(tree, q, v, tau, f_ext, qdd, X, error, memory):
    """Forward dynamics of articulated bodies, wrong by a part `error`."""
    for i in range(1, tree.n_bodies + 1):
        put_transform(X, i, body_transform(tree, i, q))
    forward_dynamics_states.one(tree, q, v, tau, f_ext, qdd, memory)
    for k in range(tree.nv):
        qdd[k] = qdd[k] * (1 + error[0])


def wrong_by(part):
    """The checked entry of a method whose accelerations are wrong by a part of them."""

    def scratch(tree, q):
        return np.empty((tree.n_bodies + 1, 12), q.dtype), [part], aba_memory(tree, q)

    method = entry(placed_aba, scratch, q="nq", v="nv", tau="nv'", f_ext="N, 6 | none", qdd="-> nv", follows="qdd")
    return checked_entry(method, lambda memory: memory[0])


def pendulum(tau=1.0, **options):
    """A joint about a vertical axis, which gravity does not turn, a state at rest, and a torque."""
    link = Body("link", 0, Joint("hinge", "revolute", axis=(0, 0, 1)), Inertia(2.0, (0.3, 0, 0), np.eye(3)))
    return Tree("pendulum", [link], **options), np.zeros(1), np.zeros(1), np.array([tau])


def found_by(part, tau=1.0, **options):
    """The acceleration times the inertia, divided by the torque."""
    robot, *state = pendulum(tau, **options)
    (qdd,) = run(wrong_by(part), (robot.ints, robot.reals), (*state, np.empty(0)), [(1,)], float)
    return float(qdd[0]) * treesim.mass_matrix(robot, state[0])[0, 0] / tau


@pytest.mark.parametrize("sign", [1, -1])
def test_residuals_above_a_limit_are_refined_and_above_another_after_that_refused(sign):
    """A part x of the acceleration leaves a part x of the force; one refinement leaves x^2."""
    assert found_by(0.99 * sign * REFINED) == pytest.approx(1 + 0.99 * sign * REFINED, abs=1e-14)
    assert found_by(1.01 * sign * REFINED) == pytest.approx(1, abs=1e-14)
    just_below, just_above = (sign * np.sqrt(part * REFUSED) for part in (0.99, 1.01))
    assert abs(found_by(just_below) - 1) == pytest.approx(0.99 * REFUSED, rel=1e-6)
    with pytest.raises(NonFiniteError):
        found_by(just_above)


@pytest.mark.parametrize("tau", [1e-200, 1e-9, 1e9, 1e200])
def test_limits_are_relative_to_the_forces(tau):
    weightless = {"gravity": (0.0, 0.0, 0.0)}
    assert found_by(0.9 * np.sqrt(REFUSED), tau, **weightless) == pytest.approx(1, abs=REFUSED)
    with pytest.raises(NonFiniteError):
        found_by(1.1 * np.sqrt(REFUSED), tau, **weightless)


def test_a_refinement_that_makes_the_residual_larger_is_not_taken():
    """Of a method that is wrong by twice as much, a refinement turns a wrong sign only."""
    with pytest.raises(NonFiniteError):
        found_by(-2.5)
    robot, *state = pendulum()
    qdd = np.zeros(1)
    status = wrong_by(-2.5)(robot.ints, robot.reals, *state, np.empty(0), qdd)
    assert status == NOT_FINITE and qdd[0] * treesim.mass_matrix(robot, state[0])[0, 0] == pytest.approx(-1.5)


def test_a_body_that_spins_or_rests_in_equilibrium_is_no_loss_of_digits():
    """Joint forces that are rounding errors of 0 leave residuals of their own size."""
    inertia = Inertia(2.0, (0.3, 0.0, 0.0), 0.1 * np.eye(3))
    body = Tree("satellite", [Body("body", 0, Joint("free", "floating"), inertia)])
    turn = np.array([0.3, -20.0, 0.7])
    spin = np.concatenate([-np.cross(turn, inertia.com), turn])  # about the centre of mass
    weight = np.array([0.0, 0.0, 2.0 * 9.81])
    held = np.concatenate([weight, np.cross(inertia.com, weight)])[None]
    rods, along = make.chain(6), np.tile([1.0, 0, 0, 0, 0, 0], (6, 1))
    for backend in CHECKED:
        still = treesim.forward_dynamics(
            body, body.neutral(), spin, np.zeros(6), gravity=(0, 0, 0), backend=backend
        )  # in axes of the body, whose origin turns about the centre of mass
        assert np.abs(still[3:]).max() < 1e-12
        rest = treesim.forward_dynamics(body, body.neutral(), np.zeros(6), np.zeros(6), f_ext=held, backend=backend)
        assert np.abs(rest).max() < 1e-12
        pulled = treesim.forward_dynamics(rods, *np.zeros((3, 6)), gravity=(0, 0, 0), f_ext=along, backend=backend)
        assert np.abs(pulled).max() < 1e-12
        assert not treesim.forward_dynamics(rods, *np.zeros((3, 6)), gravity=(0, 0, 0), backend=backend).any()


DOWN, PUSHED = {"gravity": (0.0, -10.0, 0.0)}, np.array([[0.0, 0.0, 7.0, 0.0, 0.0, 0.0]])  # angular part first


@pytest.mark.parametrize(
    "tau, v, f_ext, options, left, force",
    [
        (5.0, 0.0, None, {}, 5.0, 5.0),
        (0.0, 0.0, None, DOWN, 6.0, 6.0),  # m g c
        (0.0, 0.0, PUSHED, {}, 7.0, 7.0),
        (1.0, 0.0, PUSHED, DOWN, None, 7.0),
        (0.0, 3.0, None, {}, 0.0, 1e-6 * 1.18 * 3.0**2),  # none, but a millionth of the momentum times the velocity
        (0.0, 0.0, None, {}, 0.0, 0.0),
    ],
    ids=["torque", "gravity", "wrench", "all of them", "velocity", "nothing"],
)
def test_the_scale_of_forces_is_the_largest_of_its_parts(tau, v, f_ext, options, left, force):
    robot, q, *_ = pendulum(**{"gravity": (0.0, 0.0, 0.0)} | options)
    values = {"q": q, "v": np.array([v]), "tau": np.array([tau]), "f_ext": f_ext, "qdd": np.zeros(1)}
    found = on_states(residual_states, robot, (robot.ints, robot.reals), values)[0]
    assert found[1] == pytest.approx(force) and (left is None or found[0] == pytest.approx(left))


# ---- all ways to a backend


LOST = alternating(1e-9)
MESSAGE = (
    r"constraint_force_pcr lost its digits on 'scaled'{}: .* leave \d\.\de.* more than 1e-06; use the backend 'aba'"
)


def test_every_call_refuses_and_names_the_state():
    q, v, tau, _ = prescribed(LOST)
    backend, calls = "constraint_force_pcr", []
    calls.append(lambda: treesim.forward_dynamics(LOST, q, v, tau, backend=backend))
    calls.append(lambda: treesim.forward_dynamics(LOST, q, v, tau, backend=backend, out=np.empty(LOST.nv)))
    single = [x.astype(np.float32) for x in (q, v, tau)]
    calls.append(lambda: treesim.forward_dynamics(LOST, *single, backend=backend))
    calls.append(lambda: treesim.Dynamics(LOST, backend=backend).forward_dynamics(q, v, tau))
    calls.append(lambda: treesim.Dynamics(LOST, backend=backend, dtype=np.float32).forward_dynamics(q, v, tau))
    calls.append(lambda: treesim.joint_wrenches(LOST, q, v, tau, backend=backend))
    for call in calls:
        with pytest.raises(AccuracyError, match=MESSAGE.format("")):
            call()
    several = np.stack([q, q]), np.stack([v, v]), np.stack([np.zeros(LOST.nv), tau])
    with pytest.raises(AccuracyError, match=MESSAGE.format(r" in state \(1,\)")):
        treesim.forward_dynamics(LOST, *several, backend=backend)
    with pytest.raises(AccuracyError, match=MESSAGE.format(r" in state \(1,\)")):
        treesim.Dynamics(LOST, backend=backend).forward_dynamics(*several)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::treesim.LightJointWarning")
@pytest.mark.parametrize("integrator", ["implicit_midpoint", "rk4"])
def test_steps_of_refused_accelerations_fail(integrator):
    """Single steps report it, rollouts return NaN, and a run stops with the reason."""
    q, v, tau, _ = prescribed(LOST)
    given = {"backend": "constraint_force_pcr", "integrator": integrator}
    stepper = treesim.Stepper(LOST, 1e-6, **given)
    state, report = stepper.step(stepper.reset(q, v), tau)
    assert not report.ok and np.isnan(state.v).all()
    with pytest.warns(treesim.DivergedWarning):
        rollouts = treesim.rollout(LOST, q[None], v[None], np.tile(tau, (1, 3, 1)), 1e-6, **given)
    assert np.isnan(rollouts.v).all()
    with pytest.warns(treesim.DivergedWarning, match="constraint_force_pcr lost its digits"):
        stopped = treesim.Simulation(LOST, 1e-6, controller=lambda t, q, v: tau, **given).run(1e-5, q, v)
    assert "lost its digits" in str(stopped.stopped)


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["constraint_force", "divide_and_conquer"])
def test_threads_refine_and_refuse_as_one_thread_does(backend, monkeypatch):
    module = constraint_force if backend == "constraint_force" else assemblies
    robot = scaled(make.chain(8, axes=AXES), [30.0**k for k in range(8)])
    lost = scaled(make.chain(8, axes=AXES), [100.0**k for k in range(8)])
    (q, v, tau, _), hopeless = prescribed(robot), prescribed(lost)[:3]
    alone = treesim.forward_dynamics(robot, q, v, tau, backend=backend)
    monkeypatch.setattr(module, "LARGE", 1)
    monkeypatch.setattr(module, "thread_count", lambda: 2)
    monkeypatch.setattr("treesim.engine.call.stages.thread_count", lambda: 2)
    assert plugins.get("dynamics", backend).runner(robot) is not None
    assert (treesim.forward_dynamics(robot, q, v, tau, backend=backend) == alone).all()
    with pytest.raises(AccuracyError, match=backend):
        treesim.forward_dynamics(lost, *hopeless, backend=backend)


@pytest.mark.slow
def test_wrenches_across_joints_follow_refined_accelerations():
    robot = alternating(1e-5)
    q, v, tau, _ = prescribed(robot)
    found, expected = (treesim.joint_wrenches(robot, q, v, tau, backend=name) for name in ("constraint_force", "aba"))
    assert np.abs(found - expected).max() < 1e-8 * np.abs(expected).max()


def test_refinements_take_accelerations_that_would_be_refused_alone_unless_the_residual_grows():
    """Those that rounding errors of the forces cause cannot be confirmed, but need not be."""
    robot, backend = alternating(1e-5), plugins.get("dynamics", "constraint_force")
    q, v, tau, a = prescribed(robot)
    states = [np.stack([x, x]) for x in (q, v, tau, a)]
    allowed = bounds.of_forces(robot, q, v, tau, a) * np.abs(a).max()
    found = treesim.forward_dynamics(robot, *states[:3], backend="constraint_force", refinements=2)
    assert np.abs(found - a).max() < allowed
    for growth, taken in ((0.99 * ROUNDINGS, True), (1.01 * ROUNDINGS, False)):
        sizes = iter([np.ones((2, robot.nv)), np.array([[0.5], [growth]]) * np.ones(robot.nv)])
        changed = backend.improved(robot, states[0], states[3], lambda _, sizes=sizes: next(sizes), None, "auto")
        assert (changed != states[3]).any(axis=1).tolist() == [True, taken]


@pytest.mark.slow
def test_the_check_is_a_small_part_of_the_operations():
    robot = make.chain(8, axes=AXES)
    q, v, tau, _ = prescribed(robot)
    for backend in CHECKED:
        solver, counts = plugins.get("dynamics", backend), []
        for method in (solver.counted_entry(), type(solver).entry):
            tally = Tally()
            given = (*(tally.variables(x) for x in (q, v, tau)), np.empty(0))
            run(method, solver.constants(robot), given, [(robot.nv,)], tally.number)
            counts.append(tally.operations.total())
        assert counts[0] < counts[1] < 1.16 * counts[0], backend
