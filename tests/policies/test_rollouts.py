"""Policies that call networks: rollouts are those of the same policy written out, in free motion and in contact."""

import itertools

import numpy as np
import pytest

import treesim
from tests import trees
from treesim.errors import ArgumentError, UnsupportedError
from treesim.policies import Port
from treesim.policies.layers import Layers

RANDOM = np.random.default_rng(0)
ROBOT = trees.random_tree(4, 3)
SIZES = (2 * ROBOT.nv + 1, 7, ROBOT.nv)
WEIGHTS = [(RANDOM.normal(size=(b, a)) / a, RANDOM.normal(size=b)) for a, b in itertools.pairwise(SIZES)]


def network_of(weights, states=0):
    """Perceptron with tanh between its layers."""
    layers = Layers()
    x = layers.inputs(weights[0][0].shape[1] + states)
    y = layers.dense(x[None, : x.size - states], *weights[0])
    for W, b in weights[1:]:
        y = layers.dense(layers.function("tanh", y), W, b)
    ports = [Port("h_in", states)] if states else []
    output = Port("actions", y.size)
    return layers.network([Port("obs", x.size - states)], ports, output, [], [y, *([x[-states:]] if states else [])])


NETWORK = network_of(WEIGHTS)


def by_network(t, q, v, p, u):
    u[:] = p[0] * NETWORK(np.array([*q[: ROBOT.nv], *v, np.sin(t)])) - v


def written_out(t, q, v, p, u):
    x = np.array([*q[: ROBOT.nv], *v, np.sin(t)])
    (W, b), (W2, b2) = WEIGHTS
    u[:] = p[0] * (W2 @ np.tanh(W @ x + b) + b2) - v


def starts(count, robot=ROBOT):
    random = np.random.default_rng(1)
    return np.array([robot.random(random) for _ in range(count)]), random.normal(size=(count, robot.nv))


@pytest.mark.parametrize("options", [{}, {"engine": "generic"}, {"substeps": 3, "every": 2}], ids=str)
def test_free_motion_is_that_of_the_policy_written_out(options):
    q, v = starts(9)
    p = RANDOM.uniform(0.5, 2, size=(9, 1))
    found, wanted = (
        treesim.rollout(ROBOT, q, v, law, steps=8, dt=1e-3, policy_parameters=p, **options)
        for law in (by_network, written_out)
    )
    assert found.q.shape == wanted.q.shape
    assert np.allclose(found.q, wanted.q, rtol=0, atol=1e-11) and np.allclose(found.v, wanted.v, rtol=0, atol=1e-9)


def test_measures_and_model_parameters_are_those_of_the_policy_written_out():
    q, v = starts(9)
    gravity = RANDOM.normal(size=(9, 3))
    given = {
        "model_parameters": {"gravity": gravity},
        "measure": {"fastest": treesim.measures.maximum(lambda t, q, v: v[0])},
    }
    found, wanted = (
        treesim.rollout(ROBOT, q, v, law, steps=8, dt=1e-3, policy_parameters=[1.0], **given)
        for law in (by_network, written_out)
    )
    assert np.allclose(found.q, wanted.q, rtol=0, atol=1e-11)
    assert np.allclose(found.measures["fastest"], wanted.measures["fastest"], rtol=0, atol=1e-9)


@pytest.fixture(scope="module")
def box():
    robot = treesim.free_body("box", "box", (0.2, 0.2, 0.2), 1.0)
    world = treesim.World(robot, ground=treesim.Ground())
    q = np.tile(robot.neutral(), (20, 1))
    q[:, 2] = 0.1
    return world, q, np.random.default_rng(2).normal(size=(20, 6)) * 0.1


BOX_WEIGHTS = [(RANDOM.normal(size=(6, 9)), RANDOM.normal(size=6)), (RANDOM.normal(size=(3, 6)), RANDOM.normal(size=3))]
BOX_NETWORK = network_of(BOX_WEIGHTS)


def push(t, q, v, p, u):
    u[:3] = BOX_NETWORK(np.concatenate([q[:3], v]))


def push_written_out(t, q, v, p, u):
    (W, b), (W2, b2) = BOX_WEIGHTS
    u[:3] = W2 @ np.tanh(W @ np.concatenate([q[:3], v]) + b) + b2


def push_by_contact(t, q, v, p, u, c):
    u[:3] = 0.01 * c["box"][:3] + BOX_NETWORK(np.concatenate([q[:3], v]))


def test_contact_is_that_of_the_policy_written_out(box):
    found, wanted = (treesim.rollout(*box, law, steps=10, dt=2e-3) for law in (push, push_written_out))
    assert np.allclose(found.q, wanted.q, rtol=0, atol=1e-9)
    with_contact = treesim.rollout(*box, push_by_contact, steps=10, dt=2e-3)
    assert np.isfinite(with_contact.q).all() and not np.array_equal(with_contact.q, found.q)


@pytest.mark.parametrize("ground", [False, True])
def test_bits_depend_neither_on_other_rollouts_nor_on_threads(ground, box):
    if ground:
        (world, q, v), law, more = box, push, {}
    else:
        (q, v), world, law, more = starts(20), ROBOT, by_network, {"policy_parameters": [1.0]}
    together = treesim.rollout(world, q, v, law, steps=5, threads=2, **more)
    alone = treesim.rollout(world, q[3:4], v[3:4], law, steps=5, threads=1, **more)
    assert np.array_equal(together.q[3], alone.q[0]) and np.array_equal(together.v[3], alone.v[0])


def test_single_precision_stays_near():
    q, v = (x.astype(np.float32) for x in starts(9))
    p = np.ones(1, np.float32)
    found = treesim.rollout(ROBOT, q, v, by_network, steps=8, dt=1e-3, policy_parameters=p)
    q, v = q.astype(float), v.astype(float)
    exact = treesim.rollout(ROBOT, q, v, by_network, steps=8, dt=1e-3, policy_parameters=[1.0])
    assert found.q.dtype == np.float32 and np.allclose(found.q, exact.q, atol=1e-4)


def test_networks_where_they_cannot_be_called_are_refused_by_name():
    q, v = starts(2)

    def wrong_size(t, q, v, p, u):
        u[:] = NETWORK(q)

    with_states = network_of(WEIGHTS, 2)

    def recurrent(t, q, v, p, u):
        u[:] = with_states(np.array([*q[: ROBOT.nv], *v, t]))

    def measured(t, q, v):
        return NETWORK(np.array([*q[: ROBOT.nv], *v, t]))[0]

    with pytest.raises(ArgumentError, match=rf"observation \(obs \({SIZES[0]}\)\) has shape"):
        treesim.rollout(ROBOT, q, v, wrong_size, steps=2)
    with pytest.raises(ArgumentError, match=r"has states .h_in .2..: store them in the memory m of a policy"):
        treesim.rollout(ROBOT, q, v, recurrent, steps=2)
    with pytest.raises(UnsupportedError, match="a network can be called in a policy"):
        treesim.rollout(ROBOT, q, v, np.zeros((2, 2, ROBOT.nv)), measure={"m": treesim.measures.last(measured)})
    with pytest.raises(UnsupportedError, match="has no derivatives"):
        treesim.rollout_vjp(ROBOT, q, v, by_network, steps=2, policy_parameters=[1.0])[1](q * 0, v * 0)


def test_other_weights_are_another_policy():
    from treesim.engine.graph.policies import Policy

    other = network_of([(W * 2, b) for W, b in WEIGHTS])

    def law(t, q, v, p, u):
        u[:] = other(np.array([*q[: ROBOT.nv], *v, np.sin(t)])) - v

    def same(t, q, v, p, u):
        u[:] = NETWORK(np.array([*q[: ROBOT.nv], *v, np.sin(t)])) - v

    one, two, three = (Policy(f, ROBOT.nq, ROBOT.nv, 1) for f in (law, same, same))
    assert one != two and two == three and str(one) != str(two)


def counting(t, q, v, p, u, c, m):
    u[:3] = p[0] * m[:3]
    m[:3] = m[:3] + q[:3]
    m[3] = m[3] + 1


@pytest.mark.parametrize("options", [{}, {"engine": "generic"}, {"threads": 1, "substeps": 2}], ids=str)
@pytest.mark.parametrize("ground", [False, True])
def test_memory_is_what_the_policy_wrote_in_the_step_before(ground, options, box):
    world, q, v = box if ground else (box[0].robot, *box[1:])
    begin = np.random.default_rng(3).normal(size=(20, 4))
    runs = treesim.rollout(world, q, v, counting, steps=6, policy_parameters=[2.0], policy_memory=begin, **options)
    wanted = begin.copy()
    wanted[:, :3] += q[:, :3] + runs.q[:, :-1, :3].sum(axis=1)
    wanted[:, 3] += 6
    assert np.allclose(runs.policy_memory, wanted, rtol=0, atol=1e-13)
    u = np.zeros((20, 6, 6))
    passed = np.concatenate([np.zeros((20, 1, 3)), q[:, None, :3], runs.q[:, :4, :3]], axis=1)
    u[:, :, :3] = 2 * (begin[:, None, :3] + np.cumsum(passed, axis=1))
    given = treesim.rollout(world, q, v, u, **options)
    assert np.allclose(runs.q, given.q, rtol=0, atol=1e-12)
    options = options | {"policy_parameters": [2.0], "policy_memory": begin[3]}
    alone = treesim.rollout(world, q[3], v[3], counting, steps=6, **options)
    assert np.array_equal(alone.q[0], runs.q[3]) and np.array_equal(alone.policy_memory[0], runs.policy_memory[3])


def test_a_run_continues_from_its_memory():
    q, v, begin = *starts(5), np.zeros(4)

    def law(t, q, v, p, u, c, m):
        u[:] = m[0] - 0.5 * v
        m[:] = m + q[:1] + 1

    whole = treesim.rollout(ROBOT, q, v, law, steps=9, policy_memory=begin)
    first = treesim.rollout(ROBOT, q, v, law, steps=4, policy_memory=begin)
    rest = treesim.rollout(ROBOT, first.q[:, -1], first.v[:, -1], law, steps=5, policy_memory=first.policy_memory)
    assert np.array_equal(rest.q[:, -1], whole.q[:, -1]) and np.array_equal(rest.policy_memory, whole.policy_memory)


def test_recurrent_networks_keep_their_states_in_the_memory():
    network, (q, v) = network_of(WEIGHTS, ROBOT.nv), starts(7)

    def law(t, q, v, p, u, c, m):
        u[:], m[:] = network(np.array([*q[: ROBOT.nv], *v, t]), m)
        u[:] = u + m

    law.memory = np.full(ROBOT.nv, 0.5)
    runs = treesim.rollout(ROBOT, q, v, law, steps=5, dt=2e-3)
    stepper, state = treesim.BatchStepper(ROBOT, 7, 2e-3), np.full((7, ROBOT.nv), 0.5)
    stepper.put(slice(None), q, v)
    for _ in range(5):
        t = np.full((7, 1), stepper.t)
        u, state = network(np.concatenate([stepper.q[:, : ROBOT.nv], stepper.v, t], axis=1), state)
        stepper.step(u + state)
    assert np.allclose(stepper.q, runs.q[:, -1], rtol=0, atol=1e-12) and np.array_equal(runs.policy_memory, state)


def five(t, q, v, p, u):
    u[0] = q[0]


def text_in_memory(t, q, v, p, u, c, m):
    m[0] = "late"


@pytest.mark.parametrize(
    ("law", "memory", "message"),
    [
        (counting, None, "the policy 'counting' takes memory m: give policy_memory"),
        (five, [0.0], r"the policy 'five' has memory: it must take \(t, q, v, p, u, c, m\)"),
        (np.zeros((2, 6)), [0.0], "policy_memory is that of a policy"),
        (counting, np.zeros((3, 4)), "different numbers of rollouts"),
        (counting, [np.nan] * 4, "policy_memory.*finite"),
        (counting, np.zeros((1, 1, 4)), "policy_memory has shape"),
        (text_in_memory, [0.0], r"writes 'late' to m\[0\]: a number is needed"),
        (lambda t, q, v: None, None, r"must take \(t, q, v, p, u\) or .* or \(t, q, v, p, u, c, m\)"),
    ],
)
def test_invalid_memory(law, memory, message, box):
    world, q, v = box
    with pytest.raises((ArgumentError, treesim.NonFiniteError), match=message):
        steps = None if isinstance(law, np.ndarray) else 2
        treesim.rollout(world, q[:2], v[:2], law, steps=steps, policy_memory=memory)


def test_policies_with_memory_have_no_gradients():
    law = lambda t, q, v, p, u, c, m: None  # noqa: E731
    law.memory = [0.0]
    with pytest.raises(UnsupportedError, match="take contact wrenches or memory have no gradients"):
        treesim.rollout_vjp(ROBOT, *starts(2), law, steps=2)
