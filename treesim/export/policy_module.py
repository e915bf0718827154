"""Policies as WebAssembly modules: a network, and the expressions before and after it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..engine.graph.policies import Policy as TracedPolicy
from ..engine.graph.trace import Trace
from ..engine.llvm.builder import Module
from ..engine.llvm.chunks import chunk_calls, chunk_functions
from ..engine.llvm.lanes import Lanes
from ..engine.llvm.webassembly import PAGE, webassembly
from ..kernels.policies.network import network_of_state
from .kernel_module import KernelModule, kernel_module
from .webassembly import NUMBER, STACK, starts, total

if TYPE_CHECKING:
    from ..policies.policy import Policy


class PolicyModule(NamedTuple):
    """Policy of one robot as two WebAssembly modules, and the memory layouts that a program needs to call them.

    code, base, pages, stack, arrays: of the module of expressions, see `StepModule`; it exports `before` and `after`.
    Inputs: t, q, v, command, memory, and of `after` also action, y of the network. Results of `before`: observation, x
    of the network. Results of `after`: control (nv), and memory_new, the memory of the next period.

    network: kernel `kernels.policies.network.network_of_state`. rate [Hz]: at which the policy is evaluated; the
    control stays for a period. The memory is 0 at the start.
    """

    code: bytes
    base: int
    pages: int
    stack: int
    arrays: dict[str, tuple[int, int]]
    network: KernelModule
    rate: float


def policy_module(policy: Policy) -> PolicyModule:
    """Return a policy as WebAssembly, without noise of observations.

    Example:
        >>> from treesim.export.policy_module import policy_module
        >>> from treesim.policies.layers import Layers, Port
        >>> layers = Layers()
        >>> y = layers.dense(layers.inputs(1)[None], np.eye(1), np.zeros(1))
        >>> network = layers.network([Port("obs", 1)], [], Port("actions", 1), ["Gemm"], [y])
        >>> text = b'''
        ... policy = 1
        ... rate = 50
        ... joints = {order = ["elbow_joint"]}
        ... observation = {terms = [{term = "joint_velocity"}]}
        ... action = {kind = "joint_torque"}
        ... '''
        >>> module = policy_module(treesim.policies.load(network, text, treesim.load("ur5")))
        >>> module.rate, module.arrays["control"][1]
        (50.0, 6)
    """
    robot, rate = policy.robot, policy.contract.rate
    law = policy.for_rollouts(1 / rate)
    memory = len(law.memory) if hasattr(law, "memory") else None
    commands = len(policy.command_names)
    traced = TracedPolicy(law, robot.nq, robot.nv, commands, memory=memory)
    before, after = (stage.part for stage in traced.stages)
    own = {} if memory is None else {"control_before": robot.nv, "memory": memory}
    inputs = {"t": 1, "q": robot.nq, "v": robot.nv, "command": commands, **own, "action": after.sizes[-1]}
    results = {"control": robot.nv, "memory_new": memory or 0}
    ir = Module(Lanes(False, 1), prefetches=False, has_library=False)
    parts = {"before": (before, "observation"), "after": (after, "control")}
    functions = {
        name: chunk_functions(ir, Trace(part.graph, part.results, sum(part.sizes)), name=f"{name}_")
        for name, (part, _) in parts.items()
    }
    slots = max(chunks.slots for chunks in functions.values())
    sizes = {**inputs, "observation": len(before.results), **results, "between": slots}
    places = starts(sizes)
    for name, (_, result) in parts.items():
        f = ir.function(name, "ptr memory", exported=True)
        at = {part: f.at(f.arguments[0], places[part]) for part in ("t", "between", result)}
        chunk_calls(f, functions[name], at["t"], at["between"], at[result])
        f.ret()
    made = webassembly(ir, list(parts))
    base = -(-made.data_bytes // 64) * 64 + STACK
    arrays = {name: (base + NUMBER * places[name], size) for name, size in sizes.items() if name != "between"}
    pages = -(-(base + total(sizes) * NUMBER) // PAGE)
    network = policy.network
    x, y = np.zeros(network.observation_size + network.state_size), np.zeros(network.output.size + network.state_size)
    kernel: Any = kernel_module(network_of_state, [network.table, network.weights, x, y])
    return PolicyModule(made.code, base, pages, base, arrays, kernel, rate)
