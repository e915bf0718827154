"""Exported policies, run outside Python, are those of Python."""

import numpy as np
import pytest

import treesim
from tests.export.machine import Instance, Kernel
from tests.policies.contracts import with_terms
from treesim.export.policy_module import policy_module
from treesim.policies import Port
from treesim.policies.layers import FUNCTIONS, Layers

GO2 = treesim.load("go2", base="floating")
TERMS = (
    '{term = "base_linear_velocity", frame = "world", clip = [-0.4, 0.5]}', '{term = "projected_gravity", history = 3}',
    '{term = "base_quaternion", order = "wxyz", delay = 2}', '{term = "command", names = ["x", "y", "z"], scale = 2}',
    '{term = "joint_position"}', '{term = "joint_velocity", scale = 0.05}', '{term = "last_action", history = 2}',
    '{term = "clock", period = 0.7}',
)  # fmt: skip
SIZE = 3 + 9 + 4 + 3 + 12 + 12 + 24 + 2


def network(function: str, states: int = 0):
    """Network of two layers with a function between; its states are the numbers of a recurrent layer."""
    random, layers = np.random.default_rng(0), Layers()
    x = layers.inputs(SIZE + states)
    hidden = layers.dense(x[None], random.normal(size=(8, SIZE + states)) / 40, random.normal(size=8))
    hidden = layers.function(function, layers.function("softplus", hidden), 0.5, 1.0)
    y = layers.dense(hidden, random.normal(size=(12, 8)), random.normal(size=12))
    ports = [Port("h", states)] if states else []
    return layers.network(
        [Port("obs", SIZE)], ports, Port("actions", 12), [], [y, *([hidden[0, :states]] * bool(states))]
    )


class Exported:
    """An exported policy with its memory, as a page evaluates it."""

    def __init__(self, policy):
        self.module = policy_module(policy)
        self.parts = Instance(self.module.code, self.module.pages, self.module.stack)
        self.network = Kernel(self.module.network)
        self.memory = np.zeros(self.module.arrays["memory_new"][1])

    def step(self, t, q, v, command):
        arrays = self.parts.arrays_at(self.module.arrays)
        for name, values in {"t": t, "q": q, "v": v, "command": command, "memory": self.memory}.items():
            if name in arrays:
                arrays[name][:] = values
        self.parts.call("before", self.module.base)
        arrays["action"][:] = self.network.run(x=arrays["observation"])["y"]
        self.parts.call("after", self.module.base)
        self.memory = arrays["memory_new"].copy()
        return arrays["control"].copy()


def compare(policy, robot, steps=5):
    """Compare periods from states that do not depend on the controls."""
    random, exported, memory = np.random.default_rng(1), Exported(policy), policy.begin()
    assert exported.parts.imports <= {("env", "__linear_memory"), ("env", "__stack_pointer")}
    for k in range(steps):
        q, v = robot.random(random), random.normal(size=robot.nv)
        command = random.normal(size=len(policy.command_names))
        wanted, memory = policy.step(0.02 * k, q, v, command, memory)
        found = exported.step(0.02 * k, q, v, command)
        np.testing.assert_allclose(found, wanted, rtol=1e-13, atol=1e-13)
        assert np.abs(wanted).max() > 0.1
        if exported.memory.size:
            np.testing.assert_allclose(exported.memory, memory, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("function", sorted(FUNCTIONS))
def test_controls_and_memory_are_those_of_python(function):
    contract = with_terms(*TERMS).replace(b"scale = 0.25", b"scale = 0.25\ndelay = 2\nclip = [-3, 3]")
    compare(treesim.policies.load(network(function), contract, GO2), GO2)


def test_states_of_networks_are_part_of_the_memory():
    compare(treesim.policies.load(network("tanh", states=4), with_terms(*TERMS), GO2), GO2)


def test_a_policy_without_memory_takes_none():
    layers = Layers()
    y = layers.dense(layers.inputs(12)[None], np.eye(12), np.ones(12))
    perceptron = layers.network([Port("obs", 12)], [], Port("actions", 12), [], [y])
    contract = with_terms('{term = "joint_velocity"}')
    policy = treesim.policies.load(perceptron, contract, GO2)
    assert "memory" not in policy_module(policy).arrays
    compare(policy, GO2)
