"""The text of a step: actuators, resistance, both rules, with any backend's dynamics."""

import importlib

import numpy as np
import pytest

import treesim
from tests import trees
from treesim import plugins
from treesim.kernels.algebra.limits import UNLIMITED, within
from treesim.kernels.algebra.numbers import select
from treesim.kernels.entries.status import FINE, NOT_CONVERGED, NOT_FINITE
from treesim.kernels.stepping.step import mark_failure
from treesim.model import generators as make
from treesim.simulation.step import compiled_rule, forward_kernel
from treesim.simulation.stepper import Stepper

ROBOT = trees.tree("random_a")
SLOW = pytest.mark.slow
BACKENDS = [
    name
    for name in treesim.available("dynamics")
    if name not in ("reference", "auto") and plugins.get("dynamics", name)
]


def rough(name="random_a", damping=0.3, friction=0.05):
    """A tree with damping and friction in its simple joints, and an effort limit on the first of these."""
    bodies = []
    for body in trees.tree(name).bodies:
        joint = body.joint
        if joint.nv == 1:
            given = {"axis": joint.axis, "damping": damping, "joint_friction": friction, "effort_limit": 2.0}
            joint = treesim.Joint(joint.name, joint.type, placement=joint.placement, **given)
        bodies.append(treesim.Body(body.name, body.parent, joint, body.inertia))
    return treesim.Tree(f"rough_{name}", bodies)


def state(robot, seed=0):
    rng = np.random.default_rng(seed)
    return robot.random(rng), rng.normal(size=robot.nv), rng.normal(size=robot.nv)


@pytest.mark.nojit
def test_limits_hold_and_nan_stays():
    assert within(3.0, 2.0) == 2.0 and within(-3.0, 2.0) == -2.0 and within(1.5, 2.0) == 1.5
    assert np.isnan(within(np.nan, 2.0)) and within(1e40, UNLIMITED) == 1e40
    assert select(1, 2.0, 3.0) == 2.0


@pytest.mark.nojit
@np.errstate(invalid="ignore")
@pytest.mark.parametrize("status", [NOT_CONVERGED, NOT_FINITE])
def test_velocities_after_dynamics_that_fail_are_not_numbers(status):
    v = np.array([0.0, 1.0, -2.0])
    assert mark_failure(v, FINE) == FINE and v.tolist() == [0.0, 1.0, -2.0]
    assert mark_failure(v, status) == status and np.isnan(v).all()


@SLOW
def test_a_rollout_by_conjugate_gradients_that_do_not_converge_diverges():
    robot = make.chain(200, axes=((0.0, 1.0, 0.0),))
    q, tau = 0.01 * trees.random_state(robot).q, trees.random_state(robot).tau
    with pytest.warns(treesim.DivergedWarning):
        found = treesim.rollout(
            robot, q[None], np.zeros(200), tau[None], 1e-6, backend="conjugate_gradient_hrh",
            integrator="semi_implicit_euler",
        )  # fmt: skip
    assert np.isnan(found.v).all()


def check_backend(backend, integrator):
    """Additions to the diagonal reach every backend: the step of each is that of the reference, in the interpreter."""
    robot = rough()
    q, v, tau = state(robot)
    expected, _ = Stepper(robot, 1e-3, integrator=integrator, backend="reference").step(Stepper(robot).reset(q, v), tau)
    stepper = Stepper(robot, 1e-3, integrator=integrator, backend=backend, engine="generic")
    found, report = stepper.step(stepper.reset(q, v), tau)
    factor = plugins.get("dynamics", backend).capabilities.error_factor
    assert report.ok
    np.testing.assert_allclose(found.v, expected.v, rtol=1e-9 * factor, atol=1e-10 * factor)
    np.testing.assert_allclose(found.q, expected.q, rtol=1e-9 * factor, atol=1e-12 * factor)


# each pair of a rule and a backend is code of its own to compile: every day one backend of each kind
EVERYDAY = ("aba", "crba_ltdl", "rjk", "constraint_force", "divide_and_conquer", "conjugate_gradient")


@pytest.mark.parametrize("backend", [name if name in EVERYDAY else pytest.param(name, marks=SLOW) for name in BACKENDS])
def test_every_backend_steps_alike(backend):
    check_backend(backend, "implicit_midpoint")


@pytest.mark.parametrize("backend", [name if name == "aba" else pytest.param(name, marks=SLOW) for name in BACKENDS])
def test_every_backend_steps_alike_by_the_other_rule(backend):
    check_backend(backend, "semi_implicit_euler")


@pytest.mark.nojit
def test_one_semi_implicit_step_is_the_equation_of_the_text():
    robot = rough()
    q, v, tau = state(robot)
    h = 1e-3
    coefficient = robot.damping
    force = np.clip(tau, -robot.effort_limit, robot.effort_limit)
    a = np.linalg.solve(
        treesim.mass_matrix(robot, q) + np.diag(h * coefficient),
        force - treesim.bias_forces(robot, q, v) - coefficient * v,
    )
    free = treesim.World(robot, use_limits=False, use_joint_friction=False)
    stepper = Stepper(free, h, integrator="semi_implicit_euler", engine="generic")
    found, report = stepper.step(stepper.reset(q, v), tau)
    simple = np.concatenate([np.full(body.joint.nv, body.joint.nv == 1) for body in robot.bodies])
    np.testing.assert_allclose(found.v[simple], (v + h * a)[simple], rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(report.force, force, atol=0)


@pytest.mark.nojit
def test_the_midpoint_equation_is_solved():
    """v+ = v + h qdd(middle), q+ = q (+) h (v + v+) / 2 on a tree of simple joints."""
    robot = trees.random_tree(0, 5, joint_types=("revolute", "prismatic"))
    q, v, tau = state(robot)
    h = 2e-4
    stepper = Stepper(robot, h, substeps=1, engine="generic")
    found, _ = stepper.step(stepper.reset(q, v), tau)
    mean = (v + found.v) / 2
    middle = treesim.forward_dynamics(robot, q + h / 2 * mean, mean, tau)
    np.testing.assert_allclose(found.v, v + h * middle, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.q, q + h * mean, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("integrator", treesim.available("integrators"))
def test_orders_in_rollouts(integrator):
    """The order of what rollouts do, with joints that turn in space, a floating base, and damping."""
    robot = rough("free_random", friction=0.0)
    q, v, tau = state(robot)
    ends = []
    for steps in (8, 16, 32, 256):
        forces = np.broadcast_to(0.5 * tau, (steps, robot.nv))
        runs = treesim.rollout(
            robot, q, 0.5 * v, forces, 0.02 / steps, every=steps, integrator=integrator, substeps=1, engine="generic"
        )
        ends.append(np.concatenate([runs.q[0, -1], runs.v[0, -1]]))
    errors = [np.abs(end - ends[-1]).max() for end in ends[:3]]
    order = plugins.get("integrators", integrator).order
    assert np.log2(errors[0] / errors[1]) > order - 0.3 and np.log2(errors[1] / errors[2]) > order - 0.3, errors


def test_a_backend_without_a_kernel_is_named():
    with pytest.raises(treesim.UnsupportedError, match="backend 'reference' is no kernel"):
        forward_kernel(ROBOT, "reference")


def test_an_integrator_of_python_s_is_named(monkeypatch):
    class Own:
        name, order, friction = "own", 1, False

        def step(self, system, t, q, v, dt):
            return q, v

    monkeypatch.setattr(plugins, "get", lambda kind, name: Own())
    with pytest.raises(treesim.UnsupportedError, match="integrator 'own' is not compiled: take one of 'bullet', "):
        compiled_rule("own")


PLUGIN = """
from treesim.dynamics.base import Capabilities, CompiledBackend
from treesim.kernels.entries.entry import entry
from treesim.kernels.dynamics.inertia_matrix_dynamics import scratch_for, solve_ltdl
from treesim.kernels.dynamics.via_bias import bias_memory, right_hand_side


def halved(tree, x, times):
    for k in range(tree.nv):
        x[k] = x[k] / times


def forward_dynamics(tree, q, v, tau, f_ext, qdd, bias, memory):
    right_hand_side(tree, q, v, tau, f_ext, qdd, bias)
    solve_ltdl(tree, q, memory, qdd)
    halved(tree, qdd, TIMES)


shapes = {"q": "nq", "v": "nv", "tau": "nv", "f_ext": "N, 6 | none", "qdd": "-> nv"}
forward_dynamics_states = entry(forward_dynamics, (bias_memory, scratch_for), **shapes)


class Slow(CompiledBackend):
    name = "slow"
    capabilities = Capabilities()
    entry = forward_dynamics_states
"""


@pytest.mark.parametrize("engine", ["auto", "generic"])
def test_backends_of_plugins_are_stepped_by_their_own_text(engine, tmp_path, monkeypatch):
    """Two plugins whose kernels have the same names, which those of `aba` have too, keep their own code."""
    monkeypatch.syspath_prepend(tmp_path)
    robot, ends = treesim.load("ur5"), []
    known = plugins.get
    for times in (2, 4):
        name = f"slow_dynamics_{engine}_{times}"
        (tmp_path / f"{name}.py").write_text(PLUGIN.replace("TIMES", str(times)))
        backend = importlib.import_module(name).Slow()
        own = {"slow": backend}
        monkeypatch.setattr(plugins, "get", lambda kind, label, own=own: own.get(label) or known(kind, label))
        stepper = Stepper(robot, 1e-3, integrator="semi_implicit_euler", backend="slow", engine=engine)
        ends.append(stepper.step(stepper.reset(np.full(6, 0.5)))[0].v)
    stepper = Stepper(robot, 1e-3, integrator="semi_implicit_euler", engine=engine)
    whole = stepper.step(stepper.reset(np.full(6, 0.5)))[0].v
    np.testing.assert_allclose([2 * ends[0], 4 * ends[1]], [whole, whole], rtol=1e-10)
