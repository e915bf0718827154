"""Policies with contracts: each term against SciPy and loops over names, memory, rates, actuators, simulations."""

import math
import pickle

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import treesim
from tests.policies.contracts import DEFAULT, EXPLICIT, GO2, GO2_IMPLICIT, JOINTS, changed, linear, with_terms
from treesim import Motor, PositionServo, VelocityServo
from treesim.errors import ArgumentError, NonFiniteError, UnsupportedError
from treesim.policies import Port, load
from treesim.policies.layers import Layers

RANDOM = np.random.default_rng(3)


def world_of(policy, **options):
    """World of the policy's robot and actuators."""
    return treesim.World(policy.robot, actuators=policy.actuators, **options)


@pytest.fixture(scope="module")
def go2():
    return treesim.load("go2", base="floating")


@pytest.fixture(scope="module")
def states(go2):
    """Five states (q, v)."""
    q = np.array([go2.random(k) for k in range(5)])
    return q, RANDOM.normal(size=(5, go2.nv))


def joint_values(go2, q, v, names):
    """Position and speed of joints, found by name."""
    of_q, of_v = go2.q_index, go2.v_index
    return np.array([[q[of_q[n].start], v[of_v[n].start]] for n in names]).T


def test_the_observation_of_the_go2(go2, states):
    weight = RANDOM.normal(size=(12, 48))
    policy = load(linear(48, weight=weight), GO2.encode(), go2)
    assert policy.command_names == ("vx", "vy", "wz")
    command = np.array([0.5, -0.25, 0.125])
    memory = policy.begin(5)
    controls, memory = policy.step(0.0, *states, command, memory)
    observations, _ = policy.observation(0.02, *states, command, memory)
    for q, v, observation, control in zip(*states, observations, controls, strict=True):
        turn = Rotation.from_quat(q[3:7])
        position, speed = joint_values(go2, q, v, JOINTS)
        head = [v[:3], v[3:6], turn.inv().apply([0, 0, -1]), command, position - DEFAULT, speed]
        action = weight[:, :36] @ np.concatenate(head)  # the first last action is 0
        assert np.allclose(observation, [*np.concatenate(head), *action], rtol=0, atol=1e-13)
        wanted = {name: d + 0.25 * a for name, d, a in zip(JOINTS, DEFAULT, action, strict=True)}
        found = {name: control[go2.v_index[name].start] for name in JOINTS}
        assert found == pytest.approx(wanted, abs=1e-13)
    assert not controls[:, :6].any()


TERMS = {
    '{term = "base_linear_velocity", frame = "world"}': lambda q, v, turn: turn.apply(v[:3]),
    '{term = "base_angular_velocity", frame = "world", scale = 0.25}': lambda q, v, turn: 0.25 * turn.apply(v[3:6]),
    '{term = "base_quaternion", order = "xyzw"}': lambda q, v, turn: q[3:7],
    '{term = "base_quaternion", order = "wxyz"}': lambda q, v, turn: [q[6], q[3], q[4], q[5]],
    '{term = "base_height", offset = -0.3}': lambda q, v, turn: [q[2] - 0.3],
    '{term = "projected_gravity", scale = [1, 2, 3]}': lambda q, v, turn: turn.as_matrix()[2] * [-1, -2, -3],
    '{term = "clock", period = 0.8}': lambda q, v, turn: [math.sin(math.pi / 4), math.cos(math.pi / 4)],
    '{term = "constant", value = [3, 4]}': lambda q, v, turn: [3, 4],
    '{term = "command", names = ["b", "a"], scale = [2, 3]}': lambda q, v, turn: [2 * 0.5, 3 * -0.5],
    '{term = "joint_position", joints = ["RL_calf_joint"], relative = false}': lambda q, v, turn: [q[15]],
    '{term = "joint_velocity", joints = ["FR_hip_joint"], clip = [-0.1, 0.1], scale = 2, offset = 1}': (
        lambda q, v, turn: [1 + 2 * min(max(v[9], -0.1), 0.1)]
    ),
}


def test_terms_against_scipy(go2, states):
    sizes = [3, 3, 4, 4, 1, 3, 2, 2, 2, 1, 1]
    policy = load(linear(sum(sizes)), with_terms(*TERMS), go2)
    observations, _ = policy.observation(0.1, *states, [0.5, -0.5], policy.begin(5))
    for q, v, observation in zip(*states, observations, strict=True):
        parts = np.split(observation, np.cumsum(sizes)[:-1])
        for text, part in zip(TERMS, parts, strict=True):
            assert np.allclose(part, TERMS[text](q, v, Rotation.from_quat(q[3:7])), rtol=0, atol=1e-14), text


def run(policy, numbers):
    """Observations (steps, n) under a sequence of commands."""
    memory, found, q, v = policy.begin(), [], policy.posture, np.zeros(policy.robot.nv)
    for x in numbers:
        found.append(policy.observation(0.0, q, v, [x, -x], memory)[0].tolist())
        memory = policy.step(0.0, q, v, [x, -x], memory)[1]
    return found


def test_histories_and_delays(go2):
    one = '{term = "command", names = ["a"], history = 3}'
    two = '{term = "command", names = ["a", "b"], history = 2, order = "newest_first", delay = 0.02}'
    assert run(load(linear(7), with_terms(one, two), go2), [1.0, 2.0, 3.0]) == [
        [1, 1, 1, 1, -1, 1, -1],
        [1, 1, 2, 1, -1, 1, -1],
        [1, 2, 3, 2, -2, 1, -1],
    ]


def test_layout_of_histories(go2):
    text = with_terms('{term = "command", names = ["a"]}', '{term = "command", names = ["b"], scale = 10}').decode()
    for layout, wanted in (("term", [1, 2, -10, -20]), ("frame", [1, -10, 2, -20])):
        own = text.replace("terms = [", f'history = 2\nlayout = "{layout}"\nclip = [-15, 15]\nterms = [')
        policy = load(linear(4), own.encode(), go2)
        assert run(policy, [1.0, 2.0])[-1] == np.clip(wanted, -15, 15).tolist()


def test_actions_are_clipped_scaled_and_delayed(go2):
    weight = np.eye(12, 1) * 10
    pairs = (("scale = 0.25", "scale = 0.25\nclip = [-5, 5]\ndelay = 0.04"),)
    term = '{term = "command", names = ["a"]}'
    policy = load(linear(1, weight=weight), changed(*pairs, text=with_terms(term).decode()), go2)
    memory, found = policy.begin(), []
    for x in (0.1, 0.2, 3.0, -3.0, 0.0):
        control, memory = policy.step(0.0, policy.posture, np.zeros(18), [x], memory)
        found.append(control[go2.v_index["FL_hip_joint"].start])
    assert np.allclose(found, 0.1 + 0.25 * np.array([1, 1, 1, 2, 5]), rtol=0, atol=1e-15)


def test_other_kinds_of_actions(go2, states):
    term, bias = '{term = "base_height"}', RANDOM.normal(size=12)
    text = with_terms(term).decode()
    delta = text.replace('"joint_position"\n', '"joint_position_delta"\n').replace('offset = "default"\n', "")
    torque = delta.replace("joint_position_delta", "joint_torque")
    torque = torque[: torque.index("[actuators]")]
    q, v = states[0][0], states[1][0]
    for own, wanted in ((delta, joint_values(go2, q, v, JOINTS)[0] + 0.25 * bias), (torque, 0.25 * bias)):
        policy = load(linear(1, bias=bias), own.encode(), go2)
        control, _ = policy.step(0.0, q, v, [], policy.begin())
        assert np.allclose([control[go2.v_index[n].start] for n in JOINTS], wanted, rtol=0, atol=1e-15)
    assert policy.actuators == {}
    velocity = text.replace('"joint_position"\n', '"joint_velocity"\n').replace('offset = "default"\n', "")
    servo = 'type = "VelocityServo", kd = 2'
    velocity = velocity.replace(f'type = "PositionServo", kp = 25.0, kd = 0.5, {EXPLICIT}', servo)
    motor = velocity.replace("joint_velocity", "joint_torque").replace(
        servo, 'type = "Motor", effort_limit = 5, lag = 0.01'
    )
    for own, actuator in ((velocity, VelocityServo(2)), (motor, Motor(effort_limit=5, lag=0.01))):
        policy = load(linear(1, bias=bias), own.encode(), go2)
        assert policy.actuators == dict.fromkeys(JOINTS, actuator)
        simulation = treesim.Simulation(world_of(policy), 0.005, controller=policy.controller(0.005))
        assert np.isfinite(simulation.run(0.1, policy.posture).v).all()


def test_states_of_networks_are_in_the_memory(go2):
    layers = Layers()
    x = layers.inputs(2)
    h = layers.paired("add", x[:1], x[1:])
    y = layers.dense(h[None], np.ones((12, 1)), np.zeros(12))
    network = layers.network([Port("obs", 1)], [Port("h_in", 1)], Port("actions", 12), [], [y, h])
    text = with_terms('{term = "command", names = ["a"]}').decode() + '[network]\nstate = {h_in = "h_out"}\n'
    policy = load(network, text.encode(), go2)
    memory = policy.begin(2)
    q, v = policy.posture, np.zeros(go2.nv)
    for x in (1.0, 2.0):
        control, memory = policy.step(0.0, q, v, [[x], [10 * x]], memory)
    assert np.allclose(control[:, 6], 0.1 + 0.25 * np.array([3.0, 30.0]), rtol=0, atol=1e-15)


def test_batches_equal_single_states(go2, states):
    policy = load(linear(48, weight=RANDOM.normal(size=(12, 48))), GO2.encode(), go2)
    command, memory = RANDOM.normal(size=(5, 3)), RANDOM.normal(size=(5, policy.memory_size))
    together = policy.step(0.5, *states, command, memory)
    for k in range(5):
        alone = policy.step(0.5, states[0][k], states[1][k], command[k], memory[k])
        assert all(np.array_equal(x[k], y) for x, y in zip(together, alone, strict=True))


def test_torques_of_explicit_gains(go2):
    """PD control within the line from the effort limit at rest to 0 at 30 rad/s, as Isaac Lab's DCMotor computes it."""
    h = 1e-9
    policy = load(linear(48), GO2.replace("period = 0.005", f"period = {h}").encode(), go2)
    u = policy.step(0.0, policy.posture, np.zeros(18), np.zeros(3), policy.begin())[0]
    world = world_of(policy, use_limits=False, use_joint_friction=False)
    stepper = treesim.Stepper(world, h)
    for speed in (-70.0, -20.0, 0.0, 20.0, 40.0):
        for error in (-2.0, -0.3, 0.3, 2.0):
            v = np.full(18, speed)
            q = policy.posture.copy()
            q[7:] -= error
            top = min(max(speed, -60.0), 60.0) / 30.0
            low, high = max(-23.5, 23.5 * (-1 - top)), min(23.5, 23.5 * (1 - top))
            wanted = min(max(25 * error - 0.5 * speed, low), high)
            after, report = stepper.step(stepper.reset(q, v), u)
            force, change = report.force, abs(after.v - v).max()  # forces follow the speed within the step
            assert change < 1e-3 and not force[:6].any()
            assert np.allclose(force[6:], wanted, rtol=0, atol=(0.5 + 23.5 / 30.0) * change + 1e-12)


def test_held_joints(go2):
    text = GO2.replace('offset = "default"', f'offset = "default"\njoints = {JOINTS[:11]}')
    text += '[hold]\n"RR_calf_joint" = {kp = 7, kd = 0.7, at = -1.25}\n'
    text = text.replace(EXPLICIT, 'gains = "implicit"')
    policy = load(linear(47, 11), text.encode(), go2)
    k = go2.v_index["RR_calf_joint"].start
    control, _ = policy.step(0.0, policy.posture, np.zeros(18), np.zeros(3), policy.begin())
    assert (control[k], policy.posture[k + 1]) == (-1.25, -1.25)
    assert policy.actuators["RR_calf_joint"] == PositionServo(7, 0.7) and len(policy.actuators) == 12


def test_rates_and_steps(go2):
    policy = load(linear(48), GO2.encode(), go2)
    assert policy.steps(0.005) == 4 and policy.steps(0.02) == 1
    with pytest.raises(
        ArgumentError, match=r"the period of the policy, 50 Hz, is no whole multiple of dt = 0.003 s: tak"
    ):
        policy.controller(0.003)
    controller = policy.controller(0.01, np.zeros(3))
    with pytest.raises(ArgumentError, match=r"period 0\.005 s must be a multiple of the substep, which is 0\.01 s"):
        treesim.Simulation(world_of(policy), 0.01, controller=controller, substeps=1).run(0.1)
    with pytest.raises(ArgumentError, match=r"an actuator of joint 'FL_hip_joint', which has none in the world: take"):
        treesim.Simulation(go2, 0.01, controller=controller)
    with pytest.raises(ArgumentError, match=r"command \(vx, vy, wz\) must be 3 finite numbers"):
        policy.controller(0.005, np.zeros(2))
    with pytest.raises(NonFiniteError, match="command"):
        policy.step(0.0, policy.posture, np.zeros(18), [np.nan, 0, 0], policy.begin())
    with pytest.raises(ArgumentError, match=r"memory has shape \(3,\)"):
        policy.step(0.0, policy.posture, np.zeros(18), np.zeros(3), np.zeros(3))


def test_a_network_of_zeros_is_pd_control(go2):
    """With the same posture, gains and steps."""
    ground = treesim.Ground()
    policy = load(linear(48), GO2_IMPLICIT.encode(), go2)
    q0 = treesim.standing(go2, policy.posture)
    runs = [
        treesim.Simulation(world, 0.005, controller=controller).run(1.0, q0)
        for world, controller in (
            (world_of(policy, ground=ground), policy.controller(0.005, [0.5, 0, 0])),
            (treesim.World(go2, ground=ground), treesim.PD(go2, policy.posture, kp=25.0, kd=0.5)),
        )
    ]
    assert np.array_equal(runs[0].q, runs[1].q) and np.array_equal(runs[0].tau, runs[1].tau)


@pytest.mark.parametrize("text", [GO2, GO2_IMPLICIT])
def test_simulations_evaluate_policies_at_their_rate(go2, text):
    """A loop over periods that keeps targets and memory itself; repeated runs start anew."""
    policy = load(linear(48, weight=0.01 * RANDOM.normal(size=(12, 48))), text.encode(), go2)
    dt, command, q0 = 0.0025, [0.5, 0.0, 0.1], policy.posture
    controller = policy.controller(dt, command)
    world = world_of(policy)
    simulation = treesim.Simulation(world, dt, controller=controller)
    simulation.run(0.0025, q0 + 0.0)
    found = simulation.run(0.1, q0)

    class Loop:
        memory, calls = policy.begin(), 0

        def torque(self, t, q, v):
            if self.calls % 8 == 0:
                self.control, self.memory = policy.step(t, q, v, command, self.memory)
            self.calls += 1
            return self.control

    wanted = treesim.Simulation(world, dt, controller=Loop()).run(0.1, q0)
    assert np.array_equal(found.q, wanted.q)
    first = simulation.run(0.05, q0)
    assert np.array_equal(first.q, found.q[: len(first)])


def test_a_batch_stepper_under_a_policy(go2):
    policy = load(linear(48, weight=0.01 * RANDOM.normal(size=(12, 48))), GO2_IMPLICIT.encode(), go2)
    stepper = treesim.BatchStepper(world_of(policy), 3, 0.005, steps=policy.steps(0.005))
    stepper.put(slice(None), policy.posture, np.zeros(18))
    memory, commands = policy.begin(3), [[0.5, 0, 0], [0, 0.5, 0], [0.5, 0, 0]]
    for _ in range(5):
        control, memory = policy.step(stepper.t, stepper.q, stepper.v, commands, memory)
        stepper.step(control)
    assert stepper.finite.all() and np.array_equal(stepper.q[0], stepper.q[2]) and (stepper.q[0] != stepper.q[1]).any()


@pytest.mark.parametrize(
    "more",
    [
        (), ('{term = "last_action", delay = 0.02}', '{term = "joint_velocity", history = 3, order = "oldest_first"}',
        '{term = "projected_gravity", history = 2, delay = 0.04}'),
    ], ids=["no memory", "memory"],
)  # fmt: skip
@pytest.mark.parametrize(
    "servo", ['gains = "implicit"', 'gains = "explicit", velocity_limit = 30, delay = 0.01, lag = 0.01']
)
@pytest.mark.parametrize("noise", [None, 5])
def test_rollouts_compile_policies(go2, more, servo, noise):
    """As a loop over steps of a BatchStepper; sums and sines may be rounded differently."""
    terms = (
        '{term = "base_linear_velocity", frame = "world"}', '{term = "projected_gravity"}',
        '{term = "command", names = ["a"]}', '{term = "joint_position", clip = [-0.01, 0.01], noise = 0.02}',
        '{term = "clock", period = 0.5}', '{term = "constant", value = 3}', *more,
    )  # fmt: skip
    text = (
        with_terms(*terms)
        .decode()
        .replace(EXPLICIT, servo)
        .replace("terms =", "clip = [-1, 2]\nterms =")
        .replace("scale = 0.25", "scale = 0.25\ndelay = 0.02" if more else "scale = 0.25")
    )
    size = 76 if more else 22
    policy = load(linear(size, weight=0.1 * RANDOM.normal(size=(12, size))), text.encode(), go2)
    assert policy.command_names == ("a",)
    q0, options = np.tile(policy.posture, (3, 1)), {"dt": 0.02, "substeps": 4}
    q0[1, 7:] += 0.1
    law = policy.for_rollouts(0.02, noise=noise)
    runs = treesim.rollout(world_of(policy), q0, np.zeros(18), law, steps=10, policy_parameters=[0.5], **options)
    stepper, memory = treesim.BatchStepper(world_of(policy), 3, **options), policy.begin(3)
    stepper.put(slice(None), q0, np.zeros(18))
    for k in range(10):
        own = None if noise is None else policy.noise(k, noise, range(3))
        control, memory = policy.step(stepper.t, stepper.q, stepper.v, [0.5], memory, own)
        stepper.step(control)
    assert np.allclose(stepper.q, runs.q[:, -1], rtol=0, atol=1e-11) and np.ptp(stepper.q, axis=0).max() > 0.01


def test_noise_of_rollouts_is_that_of_their_numbers(go2):
    """In any division of the rollouts; in a simulation that of rollout 0. With contact, on SIMD lanes."""
    text = with_terms('{term = "joint_position", noise = 0.05}', '{term = "joint_velocity"}').decode()
    policy = load(linear(24, weight=0.5 * RANDOM.normal(size=(12, 24))), text.encode(), go2)
    world = treesim.World(go2, ground=treesim.Ground(), actuators=policy.actuators)
    q0 = np.tile(treesim.standing(go2, policy.posture), (5, 1))
    given = np.zeros(18), policy.for_rollouts(0.02, noise=3)
    runs = treesim.rollout(world, q0, *given, dt=0.02, steps=8, threads=2)
    assert (np.ptp(runs.q, axis=0)[1:].max(axis=1) > 1e-4).all(), "each rollout has its own"
    assert np.array_equal(treesim.rollout(world, q0[:2], *given, dt=0.02, steps=8).q, runs.q[:2])
    other = treesim.rollout(world, q0[:1], np.zeros(18), policy.for_rollouts(0.02, noise=4), dt=0.02, steps=8)
    assert np.abs(other.q - runs.q[:1]).max() > 1e-4
    simulation = treesim.Simulation(world, 0.02, controller=policy.controller(0.02, noise=3))
    assert np.allclose(simulation.run(0.16, q0[0]).q[1:], runs.q[0], rtol=0, atol=1e-9)


def test_samples_of_sweeps_have_their_own_noise(go2, tmp_path):
    policy = load(linear(48, weight=0.1 * RANDOM.normal(size=(12, 48))), GO2_IMPLICIT.encode(), go2)
    world, q0, p = world_of(policy), policy.posture, np.zeros(len(policy.command_names))

    def run(seed, **chunks):
        given = {"policy_parameters": p, "keep": "last", "steps": 3, "samples": 4, "dt": 0.02, "workers": 1, **chunks}
        return treesim.sweep(world, q0, None, policy.for_rollouts(0.02, noise=seed), store=tmp_path / "run", **given)

    study = run(6, chunk=3)
    found = np.array([study.replay(k).q[0, -1] for k in range(4)])  # compared with the store, too
    given = q0[None].repeat(4, 0), np.zeros(18), policy.for_rollouts(0.02, noise=6)
    runs = treesim.rollout(world, *given, steps=3, dt=0.02, policy_parameters=p)
    assert np.array_equal(found, runs.q[:, -1])
    assert (np.ptp(found, axis=0)[7:] > 1e-9).all()
    with pytest.raises(ArgumentError, match="holds another sweep: policy is"):
        run(7, chunk=3)


def test_noise_has_no_gradients(go2):
    policy = load(linear(48), GO2_IMPLICIT.encode(), go2)
    law, p = policy.for_rollouts(0.02, noise=1), np.zeros(len(policy.command_names))
    with pytest.raises(UnsupportedError, match="memory have no gradients"):
        treesim.rollout_vjp(world_of(policy), policy.posture, np.zeros(18), law, dt=0.02, steps=2, policy_parameters=p)


def test_rollouts_refuse_other_periods_and_worlds_without_actuators(go2):
    policy = load(linear(48), GO2_IMPLICIT.encode(), go2)
    with pytest.raises(ArgumentError, match=r"dt must be the period of the policy, 0.02 s, got 0.01"):
        policy.for_rollouts(0.01)
    with pytest.raises(ArgumentError, match=r"an actuator of joint 'FL_hip_joint', which has none in the world: take"):
        treesim.rollout(go2, policy.posture[None], np.zeros(18), policy.for_rollouts(0.02), dt=0.02, steps=2)


@pytest.mark.parametrize("text", [GO2, GO2_IMPLICIT])
def test_runs_continue_and_pickled_simulations_too(go2, text):
    """To the bit, also from within a period of the policy."""
    policy = load(linear(48, weight=0.01 * RANDOM.normal(size=(12, 48))), text.encode(), go2)
    world = world_of(policy)
    simulations = [treesim.Simulation(world, 0.0025, controller=policy.controller(0.0025, [1, 0, 0])) for _ in range(2)]
    wanted = simulations[0].run(0.1, policy.posture)
    for part in (0.04, 0.0475):
        first = simulations[1].run(part, policy.posture)
        copy = pickle.loads(pickle.dumps(simulations[1]))
        for simulation in (simulations[1], copy):
            rest = simulation.run_from(round(0.1 - part, 4), first)
            assert np.array_equal(rest.q[-1], wanted.q[-1]) and np.array_equal(rest.tau[-1], wanted.tau[-1])
    assert hash(policy.contract) == hash(pickle.loads(pickle.dumps(policy)).contract)


def test_noise_is_uniform_and_that_of_seed_rollout_and_step(go2, states):
    """Before clip and scale; each value of a history has the noise of its own step."""
    terms = (
        '{term = "command", names = ["a", "b"], noise = 0.5, clip = [-2.25, 2.25], scale = 10, history = 2}',
        '{term = "joint_velocity", noise = 1.5}', '{term = "constant", value = 1}',
    )  # fmt: skip
    policy = load(linear(17), with_terms(*terms), go2)
    rows = np.concatenate([policy.noise(k, 3, np.arange(5000)) for k in range(2)])
    assert rows.shape == (10000, policy.noise_size) == (10000, 15)
    assert (np.abs(rows) <= [0.5] * 2 + [1.5] * 12 + [0]).all() and np.allclose(rows.mean(axis=0), 0, atol=0.05)
    assert np.allclose(rows.std(axis=0), [0.5 / 3**0.5] * 2 + [1.5 / 3**0.5] * 12 + [0], rtol=0.02)
    assert len(np.unique(rows[:, 0])) == 10000 and np.abs(np.corrcoef(rows[:, :14].T) - np.eye(14)).max() < 0.05
    assert np.array_equal(policy.noise(1, 3, [4999]), rows[-1:]) and np.array_equal(policy.noise(0, 3), rows[0])
    memory, q, v = policy.begin(), states[0][0], states[1][0]
    found = []
    for noise in rows[:2]:
        found.append(policy.observation(0.0, q, v, [2, 1], memory, noise)[0])
        memory = policy.step(0.0, q, v, [2, 1], memory, noise)[1]
    command = 10 * np.minimum([2, 1] + rows[:2, :2], 2.25)
    assert np.allclose(found[1], [*command.ravel(), *joint_values(go2, q, v, JOINTS)[1] + rows[1, 2:14], 1], atol=1e-12)
    for wrong in ({"step": -1}, {"step": 0, "seed": -1}, {"step": 0, "seed": 0.5}, {"step": 0, "rollouts": [-1]}):
        with pytest.raises(ArgumentError, match="must be"):
            policy.noise(**wrong)
    with pytest.raises(ArgumentError, match=r"noise has shape \(3,\)"):
        policy.step(0.0, q, v, [2, 1], memory, np.zeros(3))


def test_controllers_add_noise_by_their_seed(go2):
    policy = load(linear(48, weight=0.01 * RANDOM.normal(size=(12, 48))), GO2_IMPLICIT.encode(), go2)
    with pytest.raises(ArgumentError, match="seed must be"):
        policy.controller(0.005, np.zeros(3), noise=-1)
    runs = [
        treesim.Simulation(world_of(policy), 0.005, controller=policy.controller(0.005, np.zeros(3), seed)).run(0.1, q0)
        for q0 in [policy.posture] for seed in (None, 7, 7, 8)
    ]  # fmt: skip
    memory, stepper = policy.begin(), treesim.Stepper(world_of(policy), 0.005)
    state = stepper.reset(policy.posture)
    for k in range(20):
        if k % 4 == 0:
            control, memory = policy.step(k * 0.005, state.q, state.v, np.zeros(3), memory, policy.noise(k // 4, 7))
        state, _ = stepper.step(state, control)
    assert np.allclose(runs[1].q[-1], state.q, rtol=0, atol=1e-12) and np.array_equal(runs[1].q, runs[2].q)
    assert all((runs[1].q[-1] != runs[k].q[-1]).any() for k in (0, 3))
