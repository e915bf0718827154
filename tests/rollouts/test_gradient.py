"""Gradients of rollouts: differences, products with linearized steps, closed forms in contact, memory, refusals."""

import tracemalloc
from functools import cache

import numpy as np
import pytest

import treesim
from tests import trees
from tests.coupled import tie
from treesim.differentiation import step_sweep
from treesim.differentiation.contact_sweep import ContactSweep
from treesim.engine.call.generic import runs_compiled

STEP, EXACT = 1e-5, 1e-7  # of differences, and their accuracy, relative to the largest term
FREE = {"use_limits": False, "use_joint_friction": False}
B, K = 3, 5
SLIDING = treesim.World(
    treesim.free_body("box", "box", (0.2, 0.2, 0.2), 2.0), ground=treesim.Ground(friction=0.5), contact_tolerance=1e-14
)
ON_GROUND = [0, 0, 0.1, 0, 0, 0, 1]


@cache
def robot_named(name):
    made = {
        "mimic": lambda: tie(
            trees.random_tree(13, 4, joint_types=("revolute", "prismatic", "planar"), armature=0.5), 1, 1
        ),
        "floating": lambda: trees.random_tree(7, 3, joint_types=("spherical", "floating", "revolute"), armature=0.5),
        "arm": lambda: treesim.load("ur5"),
    }
    return made[name]()


def world_named(name):
    return treesim.World(robot_named(name), **FREE)


def policy(t, q, v, p, u):
    u[:] = p[0] * np.sin(3 * t) - p[1] * v + p[2] * q[0] * v[0]


def start(robot, seed=0, count=B):
    rng = np.random.default_rng(seed)
    q = robot.integrate(np.stack([robot.neutral()] * count), 0.3 * rng.normal(size=(count, robot.nv)))
    return q, *rng.normal(size=(2, count, robot.nv)) * 0.5, rng


def inner(one, other):
    return sum(float(np.sum(x * y)) for x, y in zip(one, other, strict=True))


def check(world, control, rng, q, v, exact=EXACT, step=STEP, **options):
    """Compare the gradients with differences along a random direction of all arguments; return them."""
    robot, model, parameters = world.robot, options.pop("model_parameters", {}), options.pop("policy_parameters", None)
    runs, pullback = treesim.rollout_vjp(
        world, q, v, control, model_parameters=model or None, policy_parameters=parameters, **options
    )
    weights = rng.normal(size=(2, *runs.v.shape))
    found = pullback(*weights)
    here = {"control": control, "policy_parameters": parameters, **model}
    moved = {k: rng.normal(size=np.shape(x)) for k, x in here.items() if x is not None and not callable(x)}
    moved |= {k: 0.1 * x for k, x in moved.items() if k in model}
    for k, x in moved.items():
        if k == "inertia":
            moved[k] = 0.01 * (x + x.swapaxes(-1, -2))
    d = rng.normal(size=(2, *v.shape))

    def value(h):
        at = {k: x if k not in moved else x + h * moved[k] for k, x in here.items()}
        own = {k: at[k] for k in model} or None
        end = treesim.rollout(
            world, robot.integrate(q, h * d[0]), v + h * d[1], at["control"], model_parameters=own,
            policy_parameters=at["policy_parameters"], **options,
        )  # fmt: skip
        return inner(weights, (robot.difference(runs.q, end.q), end.v - runs.v))

    gradients = {"control": found.control, "policy_parameters": found.policy_parameters, **found.model_parameters}
    terms = [inner((found.q0, found.v0), d), *(float(np.sum(gradients[k] * x)) for k, x in moved.items())]
    difference = (value(step) - value(-step)) / (2 * step)
    assert abs(sum(terms) - difference) < exact * max(1.0, *map(abs, terms))
    return found


# ---- free motion


@pytest.mark.parametrize("integrator", treesim.available("integrators"))
@pytest.mark.parametrize("name", ["mimic", "floating"])
def test_states_and_controls(integrator, name):
    world = world_named(name)
    q, v, _, rng = start(world.robot)
    u = rng.normal(size=(B, K, world.robot.nv))
    options = {"dt": 1e-2, "integrator": integrator, "substeps": 2}
    found, same = check(world, u, rng, q, v, **options), treesim.rollout(world, q, v, u, **options)
    runs, _ = treesim.rollout_vjp(world, q, v, u, **options)
    for one, other in ((runs.q, same.q), (runs.v, same.v), (runs.t, same.t), (runs.done, same.done)):
        np.testing.assert_array_equal(one, other)
    assert found.policy_parameters is None
    assert found.model_parameters == {}


@pytest.mark.parametrize("gains", [{}, {"kp": 100.0, "kd": 5.0}])
@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "implicit_midpoint"])
def test_products_with_linearized_steps(integrator, gains):
    """Gains whose forces are at their limits in some steps."""
    world = world_named("arm")
    q, v, target, rng = start(world.robot)
    u, w = np.repeat(3 * target[:, None], K, axis=1), rng.normal(size=(2, B, K, 6))
    options = {"integrator": integrator, "substeps": 2, **gains}
    runs, pullback = treesim.rollout_vjp(world, q, v, u, 1e-3, **options)
    found, stepper = pullback(*w), treesim.Stepper(world, dt=1e-3, **options)
    along, states = np.zeros((B, 12)), [(q, v), *zip(runs.q.swapaxes(0, 1), runs.v.swapaxes(0, 1), strict=True)]
    for k in reversed(range(K)):
        step, after = treesim.linearize(stepper, *states[k], u[:, k]), along + np.concatenate(w[:, :, k], axis=1)
        in_control = np.einsum("bij,bi->bj", step.B, after)
        np.testing.assert_allclose(found.control[:, k], in_control, rtol=0, atol=1e-12 * abs(found.control).max())
        along = np.einsum("bij,bi->bj", step.A, after)
    given = np.concatenate([found.q0, found.v0], axis=1)
    np.testing.assert_allclose(given, along, rtol=0, atol=1e-12 * abs(along).max())


@pytest.mark.parametrize("substeps", [1, 3])
def test_policies_and_checkpoints(substeps):
    """Checkpoints change nothing."""
    world = world_named("floating")
    q, v, _, rng = start(world.robot)
    p, options = np.array([1.0, 0.5, 0.2]), {"dt": 1e-2, "substeps": substeps, "integrator": "semi_implicit_euler"}
    check(world, policy, rng, q, v, steps=K, policy_parameters=p, **options)
    last = {"policy_parameters": p, "steps": 11, **options}
    w, on_control = rng.normal(size=(2, B, world.robot.nv)), rng.normal(size=(B, 11, world.robot.nv))
    runs, pullback = treesim.rollout_vjp(world, q, v, policy, **last)
    few, from_checkpoints = treesim.rollout_vjp(world, q, v, policy, keep="last", **last)
    np.testing.assert_array_equal(few.q[:, 0], runs.q[:, -1])
    np.testing.assert_array_equal(few.t, runs.t[-1:])
    one, other = pullback(*w, on_control), from_checkpoints(*w, on_control)
    assert one.control is None
    for x, y in zip(
        (one.q0, one.v0, one.policy_parameters), (other.q0, other.v0, other.policy_parameters), strict=True
    ):
        np.testing.assert_allclose(x, y, rtol=0, atol=1e-13 * abs(x).max())


def test_weights_of_controls():
    """The gradient of a policy's controls is that of controls that are given, and passed to the policy's parameters."""
    world = world_named("arm")
    q, v, _, rng = start(world.robot)
    options, on_control = {"dt": 1e-2, "substeps": 2}, rng.normal(size=(B, K, 6))

    def constant(t, q, v, p, u):
        u[:] = p

    p = rng.normal(size=(B, 6))
    by_policy = treesim.rollout_vjp(world, q, v, constant, steps=K, policy_parameters=p, **options)[1]
    by_controls = treesim.rollout_vjp(world, q, v, np.repeat(p[:, None], K, axis=1), **options)[1]
    w = rng.normal(size=(2, B, K, 6))
    one, other = by_policy(*w, on_control), by_controls(*w, on_control)
    np.testing.assert_allclose(one.policy_parameters, other.control.sum(axis=1), rtol=1e-11)
    np.testing.assert_allclose(other.control, by_controls(*w).control + on_control, rtol=1e-12)


@pytest.mark.parametrize("name", ["mimic", "floating"])
def test_model_parameters(name):
    world = world_named(name)
    robot = world.robot
    q, v, u, rng = start(robot)
    own = [body.inertia for body in robot.bodies]
    model = {
        "mass": rng.uniform(0.9, 1.1, (B, robot.n_bodies)) * [x.mass for x in own],
        "center_of_mass": np.array([x.com for x in own]),
        "inertia": np.array([x.rotational for x in own]),
        "armature": rng.uniform(0.1, 1.0, robot.nv),
        "gravity": rng.normal(size=(B, 3)),
    }
    controls = np.repeat(u[:, None], K, axis=1)
    found = check(
        world, controls, rng, q, v, dt=1e-2, integrator="semi_implicit_euler", substeps=1, model_parameters=model
    ).model_parameters
    assert {name: x.shape for name, x in found.items()} == {k: (B, *np.shape(x)[-n:]) for k, x, n in zip(
        model, model.values(), (1, 2, 3, 1, 1), strict=True)}  # fmt: skip


@pytest.mark.parametrize("integrator", ["implicit_midpoint", "rk4"])
def test_gains(integrator):
    """Gains, damping, springs, and effort limits that are reached, by rollout."""
    world = world_named("arm")
    q, v, target, rng = start(world.robot)
    model = {
        "damping": np.full(6, 0.3), "effort_limit": np.full(6, 8.0), "kp": np.full((B, 6), 30.0), "kd": np.full(6, 2.0),
        "stiffness": np.full((B, 6), 20.0), "rest": np.full(6, 0.4),
    }  # fmt: skip
    controls = np.repeat(3 * target[:, None], K, axis=1)
    found = check(world, controls, rng, q, v, dt=1e-3, integrator=integrator, substeps=2, model_parameters=model)
    assert found.model_parameters["effort_limit"].any()


def test_fields_by_name():
    world = world_named("arm")
    model = {"mass": {"forearm_link": 2.0, "wrist_1_link": [1.0, 1.5]}, "damping": {"elbow_joint": 0.3}}
    _, pullback = treesim.rollout_vjp(world, np.ones(6), np.ones(6), None, 1e-3, 3, model_parameters=model)
    found = pullback(None, np.ones((2, 6))).model_parameters
    whole = {
        "mass": [x.inertia.mass for x in world.robot.bodies] * np.ones((2, 1)),
        "damping": world.robot.damping.copy(),
    }
    place = [world.robot.body_names.index(name) for name in model["mass"]]
    whole["mass"][:, place] = [[2.0, 1.0], [2.0, 1.5]]
    whole["damping"][2] = 0.3
    _, pullback = treesim.rollout_vjp(world, np.ones(6), np.ones(6), None, 1e-3, 3, model_parameters=whole)
    same = pullback(None, np.ones((2, 6))).model_parameters
    np.testing.assert_allclose([*found["mass"].values()], same["mass"][:, place].T, rtol=1e-12)
    np.testing.assert_allclose(found["damping"]["elbow_joint"], same["damping"][:, 2], rtol=1e-12)


def test_steps_that_are_too_long_for_one_code(monkeypatch):
    world = world_named("floating")
    q, v, _, rng = start(world.robot)
    options = {"dt": 1e-2, "steps": K, "integrator": "midpoint", "policy_parameters": np.ones(3)}
    w = rng.normal(size=(2, B, K, world.robot.nv))
    found = treesim.rollout_vjp(world, q, v, policy, **options)[1](*w)
    step_sweep.free_sweep.cache_clear()
    monkeypatch.setattr(step_sweep, "lanes_for", lambda *_, **__: None)
    by_parts = treesim.rollout_vjp(world, q, v, policy, **options)[1](*w)
    step_sweep.free_sweep.cache_clear()
    for x, y in zip(found[:2], by_parts[:2], strict=True):
        np.testing.assert_allclose(x, y, rtol=0, atol=1e-12 * abs(x).max())
    np.testing.assert_allclose(found.policy_parameters, by_parts.policy_parameters, rtol=1e-11)


@pytest.mark.skipif(not runs_compiled(), reason="the interpreter takes minutes")
def test_memory_grows_as_the_root_of_the_number_of_steps(monkeypatch):
    monkeypatch.setenv("TREESIM_KEEP_MIB", "0")
    world = world_named("arm")
    q, v, _, _ = start(world.robot, count=128)
    options = {"policy_parameters": np.ones(3), "keep": "last", "dt": 1e-4, "substeps": 1}

    def peak(steps):
        tracemalloc.start()
        _, pullback = treesim.rollout_vjp(world, q, v, policy, steps=steps, **options)
        pullback(None, np.ones((128, 6)))
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    peak(9)
    few, more, many = map(peak, (100, 400, 1600))
    assert more < 2.05 * few
    assert many < 2.05 * more


def test_arguments_may_be_overwritten():
    world = world_named("arm")
    q, v, u = np.ones((1, 6)), np.ones((1, 6)), np.ones((1, K, 6))
    runs, pullback = treesim.rollout_vjp(world, q, v, u)
    before = pullback(None, np.ones((1, 6)))
    for x in (q, v, u):
        x[...] = 7.0
    np.testing.assert_array_equal(pullback(None, np.ones((1, 6))).q0, before.q0)
    with pytest.raises(ValueError, match="read-only"):
        runs.q[...] = 0


@pytest.mark.parametrize("keep", ["all", "last"])
def test_nothing_to_differentiate(keep):
    found = treesim.rollout_vjp(world_named("arm"), np.ones(6), np.ones(6), np.ones((0, 6)), keep=keep)[1]()
    assert found.control.shape == (1, 0, 6)
    assert not found.q0.any()
    stone = treesim.Tree("stone", [])
    runs, pullback = treesim.rollout_vjp(stone, np.empty(0), np.empty(0), steps=3, keep=keep)
    assert pullback().q0.shape == (1, 0)
    assert runs.q.shape[2] == 0


# ---- contact


def test_sliding():
    """v falls by mu g h in each step of h, whatever it is; a push u h / m lasts until the end."""
    h, steps = 1e-2, 6
    options = {"dt": h, "integrator": "semi_implicit_euler", "keep": "last"}
    runs, pullback = treesim.rollout_vjp(SLIDING, ON_GROUND, [1.0, 0, 0, 0, 0, 0], np.zeros((steps, 6)), **options)
    found = pullback([[1.0, 0, 0, 0, 0, 0]])
    np.testing.assert_allclose(runs.q[0, 0, 0], h * sum(1 - 0.5 * 9.81 * h * k for k in range(1, steps + 1)), rtol=1e-9)
    np.testing.assert_allclose(found.v0[0, 0], h * steps, rtol=1e-12)
    np.testing.assert_allclose(found.control[0, :, 0], h * h / 2 * np.arange(steps, 0, -1), rtol=1e-12)
    np.testing.assert_allclose(found.control[0, :, 2], 0.5 * found.control[0, :, 0], rtol=1e-9)  # lifts it


def test_friction():
    """v falls by mu g h in each step of h."""
    h, steps, mu = 1e-2, 6, np.array([0.5, 0.3])
    q, v = np.tile(ON_GROUND, (2, 1)), np.tile([1.0, 0, 0, 0, 0, 0], (2, 1))
    options = {"dt": h, "integrator": "semi_implicit_euler", "model_parameters": {"ground_friction": mu}}
    runs, pullback = treesim.rollout_vjp(SLIDING, q, v, steps=steps, **options)
    np.testing.assert_allclose(runs.v[:, -1, 0], 1 - mu * 9.81 * h * steps, rtol=1e-9)
    found = pullback(w_v=v).model_parameters["ground_friction"]
    np.testing.assert_allclose(found, [-9.81 * h * steps] * 2, rtol=1e-9)


@pytest.mark.parametrize("keep", ["all", "last"])
def test_motion_that_friction_leaves_open(keep):
    """Of several motions of a tripod with much friction, stored impulses decide which one follows."""
    legs = [(0.2 * np.cos(a), 0.2 * np.sin(a), -0.1) for a in (0, 2.1, 4.2)]
    body = treesim.Body(
        "tripod", 0, treesim.Joint("root_joint", "floating"), treesim.Inertia(1, (0, 0, 0.05), 0.02 * np.eye(3))
    )
    balls = [treesim.CollisionShape(1, treesim.Placement(translation=x), "sphere", size=(0.02,)) for x in legs]
    robot, ground = treesim.Tree("tripod", [body], shapes=balls), treesim.Ground(friction=2.0)
    world, rng, steps = treesim.World(robot, ground=ground, contact_tolerance=1e-14), np.random.default_rng(152), 6
    q = robot.integrate([[0, 0, 0.1199, 0, 0, 0, 1]], [[0, 0, 0, 3e-4, -2e-4, 0]])
    v = rng.normal(size=(1, 6)) * [1, 1, 0.1, 0.3, 0.3, 2]
    options = {"dt": 2e-3, "integrator": "semi_implicit_euler", "substeps": 1}
    stepper = treesim.Stepper(world, **options)
    whole, apart = [stepper.reset(q[0], v[0])] * 2
    for _ in range(steps):
        whole, apart = stepper.step(whole)[0], stepper.step(stepper.reset(apart.q, apart.v))[0]
    assert abs(whole.v - apart.v).max() > 1e-3
    check(world, np.zeros((1, steps, 6)), rng, q, v, 1e-5, 1e-6, keep=keep, **options)


def hopper(**options):
    """World of a leg with springs, whose foot is a ball, on a cart."""
    one = {"inertia": treesim.Inertia(1.0, (0.02, 0, 0.01), 0.1 * np.eye(3))}
    hip = treesim.Joint("hip", "prismatic", placement=treesim.Placement(translation=(0, 0, 0.4)), armature=0.2)
    knee = treesim.Joint("knee", "revolute", axis=(0, 1, 0), lower=0.0, upper=1.0)
    rail = treesim.Joint("rail", "prismatic", axis=(1, 0, 0))
    bodies = [treesim.Body("cart", 0, rail, **one), treesim.Body("thigh", 1, hip, **one),
              treesim.Body("shank", 2, knee, treesim.Inertia(0.5, (0, 0, -0.1), 0.1 * np.eye(3)))]  # fmt: skip
    ball = treesim.CollisionShape(3, treesim.Placement(translation=(0, 0, -0.3)), "sphere", size=(0.1,))
    robot = treesim.Tree("hopper", bodies, shapes=[ball])
    return treesim.World(robot, ground=treesim.Ground(friction=0.5), contact_tolerance=1e-14, **options)


@pytest.mark.parametrize(
    "integrator, q, options",
    [
        ("semi_implicit_euler", [0, -0.0135, 0.3], {}), ("implicit_midpoint", [0, -0.0135, 0.3], {"use_limits": False}),
        ("semi_implicit_euler", [0, -0.0175, 0.3], {}), ("semi_implicit_euler", [0, 0.02, -0.01], {}),
        ("implicit_midpoint", [0, -0.0135, 0.3], {}), ("implicit_midpoint", [0, -0.0175, 0.3], {}),
    ],
    ids=["sliding", "at the midpoint", "overlap", "beyond a limit", "solved twice", "overlap, solved twice"],
)  # fmt: skip
def test_model_parameters_in_contact(integrator, q, options):
    """A foot that slides on the ground, deep in it, and a knee beyond its limit."""
    world, rng = hopper(**options), np.random.default_rng(3)
    robot, n = world.robot, (B, 3)
    model = {
        "mass": rng.uniform(0.9, 1.1, n), "center_of_mass": np.array([body.inertia.com for body in robot.bodies]),
        "inertia": np.array([0.1 * np.eye(3)] * 3), "armature": rng.uniform(0.1, 0.3, n), "gravity": [0.5, 0.0, -9.81],
        "kp": np.full(3, 30.0), "kd": rng.uniform(1, 2, n), "damping": np.full(3, 0.3), "stiffness": np.full(n, 20.0),
        "rest": np.full(3, 0.1), "ground_friction": rng.uniform(0.3, 0.5, B),
    }  # fmt: skip
    q, v = np.tile(q, (B, 1)), np.tile([0.5, -0.2, -0.3], (B, 1)) + 0.01 * rng.normal(size=n)
    control = rng.normal(size=(B, 4, 3)) * 0.1
    found = check(
        world, control, rng, q, v, 1e-6, dt=1e-3, integrator=integrator, substeps=1, model_parameters=model
    ).model_parameters
    assert all(found[name].any() for name in model if name != "ground_friction" or q[0, 1] < 0)


def test_joint_limits(monkeypatch):
    """One rollout reaches a limit, in some segments; the other one is differentiated as in free motion."""
    sizes, run = [], ContactSweep.run
    monkeypatch.setattr(
        ContactSweep, "run", lambda self, *given: sizes.append(len(given[0].state)) or run(self, *given)
    )
    hinge = treesim.Joint("hinge", "revolute", axis=(0, 1, 0), lower=-0.1, upper=1.0)
    inertia = treesim.Inertia(1.0, (1.0, 0, 0), 0.1 * np.eye(3))
    world = treesim.World(treesim.Tree("arm", [treesim.Body("arm", 0, hinge, inertia)]), contact_tolerance=1e-14)
    q, v, rng = np.array([[0.0], [0.5]]), np.array([[-1.0], [-0.5]]), np.random.default_rng(0)
    options = {"dt": 1e-2, "integrator": "semi_implicit_euler"}
    u, w = rng.normal(size=(2, 20, 1)) - [[[20.0]], [[9.0]]], rng.normal(size=(2, 2, 20, 1))
    runs, pullback = treesim.rollout_vjp(world, q, v, u, **options)
    assert np.isclose(runs.q[0, 11:], -0.1).all()
    assert (runs.q[1] > 0).all()
    found, d = pullback(*w), rng.normal(size=(2, 20, 1))
    assert set(sizes) == {1}
    ends = [treesim.rollout(world, q, v, u + s * d, **options) for s in (1e-6, -1e-6)]
    difference = np.sum(w[0] * (ends[0].q - ends[1].q) + w[1] * (ends[0].v - ends[1].v), axis=(1, 2)) / 2e-6
    np.testing.assert_allclose(np.sum(found.control * d, axis=(1, 2)), difference, rtol=1e-6)


def test_policy_in_contact():
    h, steps = 1e-2, 4

    def push(t, q, v, p, u):
        u[0] = p[0] - p[1] * q[0]

    q, v, rng = np.array([ON_GROUND]), np.array([[1.0, 0.2, 0, 0, 0, 0]]), np.random.default_rng(0)
    options = {"dt": h, "integrator": "semi_implicit_euler", "steps": steps}
    _, pullback = treesim.rollout_vjp(SLIDING, q, v, push, policy_parameters=[2.0, 3.0], **options)
    w = rng.normal(size=(1, steps, 6)) * [1, 1, 0, 0, 0, 0]
    found, differences = pullback(None, w, np.ones((1, steps, 6))), []
    for d in np.eye(2) * 1e-6:
        ends = [treesim.rollout(SLIDING, q, v, push, policy_parameters=[2.0, 3.0] + s * d, **options) for s in (1, -1)]
        x = [np.concatenate([q[:, :1], end.q[0, :-1, :1]]) for end in ends]
        forces = [np.sum(2.0 + s * d[0] - (3.0 + s * d[1]) * x) for s, x in zip((1, -1), x, strict=True)]
        differences.append((np.sum(w * (ends[0].v - ends[1].v)) + forces[0] - forces[1]) / 2e-6)
    np.testing.assert_allclose(found.policy_parameters[0], differences, rtol=1e-6)


# ---- refusals


def branches(t, q, v, p, u, c):
    u[0] = c[0, 0]


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (
            {"w_q": np.ones((1, 2, 6))},
            treesim.ArgumentError,
            r"w_q has shape \(1, 2, 6\), but \(1, 3, 6\), or \(1, 6\)",
        ),
        ({"w_control": np.ones((1, 6))}, treesim.ArgumentError, r"w_control has shape \(1, 6\), but \(1, 3, 6\) is"),
        ({"w_v": np.full((1, 6), np.nan)}, treesim.NonFiniteError, "w_v"),
        ({"w_v": np.full((1, 3, 6), 1e308)}, treesim.NonFiniteError, "gradients of rollouts are not finite"),
        ({"keep": "none"}, treesim.UnknownNameError, "known are: all, last"),
        ({"dtype": np.float32}, treesim.UnsupportedError, "double precision"),
        ({"v0": np.full(6, 1e200)}, treesim.NonFiniteError, "rollout 0 has states that are not finite"),
        ({"policy": branches}, treesim.ArgumentError, "nothing in this world can touch"),
        ({"model_parameters": {"kp": np.full(6, 1e7)}}, treesim.UnsupportedError, "so stiff"),
        ({"model_parameters": {"damping": np.full(5, 1.0)}}, treesim.ArgumentError, "damping"),
    ],
)
@pytest.mark.filterwarnings("ignore::treesim.DivergedWarning")
def test_bad_input(change, error, message):
    number, law = change.pop("dtype", float), change.pop("policy", None)
    weights = {name: change.pop(name) for name in [*change] if name.startswith("w_")}
    given = {"q0": np.ones(6, number), "v0": np.ones(6, number), "control": law or np.ones((3, 6), number), **change}
    with pytest.raises(error, match=message):
        treesim.rollout_vjp(world_named("arm"), **given, steps=3)[1](**weights)


def test_what_has_no_gradients():
    arm = robot_named("arm")
    held = treesim.World(arm, treesim.FrameConstraint("ee_link"))
    sensing = treesim.World(arm, sensors=[treesim.Imu("ee_link")], **FREE)
    q, v = np.ones(6), np.zeros(6)
    for given, message in (
        ((held, arm.neutral(), v), "loops and constraints"),
        ((sensing, q, v), "sensors"),
    ):
        with pytest.raises(treesim.UnsupportedError, match=message):
            treesim.rollout_vjp(*given, steps=1)
    with pytest.raises(treesim.UnsupportedError, match="'convex' have no derivatives"):
        treesim.rollout_vjp(SLIDING, ON_GROUND, v, steps=1, contact_solver="convex")
    with pytest.raises(treesim.UnsupportedError, match="contact wrenches"):
        treesim.rollout_vjp(SLIDING, ON_GROUND, v, branches, steps=1)
    limited = treesim.World(arm, use_joint_friction=False)
    with pytest.raises(
        treesim.UnsupportedError, match=r"model_parameters\['lower'\]: rollouts have no gradients in it"
    ):
        treesim.rollout_vjp(limited, q, v, steps=1, model_parameters={"lower": np.full(6, -3.0)})
