"""Peak of this processor's arithmetic: independent multiply-adds on its widest vectors, in a loop."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from functools import reduce

import numpy as np

from treesim.engine.call.specialized import lanes
from treesim.engine.llvm.builder import Module
from treesim.engine.llvm.machine_code import processor
from treesim.engine.threads import pool

CHAINS = 12  # independent multiply-adds: enough for two units of four to six cycles, and still all in registers
TURNS = 1_000_000
OPERATIONS = 2  # of a multiply-add


def peak(single: bool, threads: int, rounds: int = 20) -> float:
    """Return the peak in operations per second (a multiply-add is two) on this number of threads.

    It is the best of `rounds` rounds of about ten milliseconds each.
    """
    run = compiled(single)
    work = [np.full(lanes(single).bytes, 0, np.uint8) for _ in range(threads)]

    def one(memory: np.ndarray) -> None:
        run(TURNS, memory.ctypes.data)

    def every() -> None:
        if threads == 1:
            one(work[0])
        else:
            list(pool().map(one, work))

    seconds = float("inf")
    for _ in range(rounds):
        began = time.perf_counter()
        every()
        seconds = min(seconds, time.perf_counter() - began)
    return threads * OPERATIONS * CHAINS * lanes(single).width * TURNS / seconds


def loop(single: bool) -> str:
    """Return the loop as LLVM IR: `run(turns, memory)` does CHAINS fused multiply-adds on vectors in each turn."""
    module = Module(lanes(single))
    f = module.function("run", "i64 turns, ptr memory", exported=True)
    turns, memory = f.arguments
    x = f.load(memory, align=1)
    with f.loop(0, turns, carried=[x] * CHAINS, begins=True) as turn:
        turn.values = [f.intrinsic("fma", chain, x, x) for chain in turn.values]
    f.store(reduce(f.fadd, turn.values, x), memory, align=1)  # all chains are used, so that none is optimized away
    f.ret()
    return module.text()


def compiled(single: bool) -> Callable[[int, int], None]:
    """Return the loop as a function of the number of turns and the address of one vector."""
    from llvmlite import binding

    here = processor()
    target = binding.Target.from_triple(here.triple)
    machine = target.create_target_machine(cpu=here.name, features=here.features, opt=2, jit=True)
    engine = binding.create_mcjit_compiler(binding.parse_assembly(loop(single)), machine)
    engine.finalize_object()
    function = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p)(engine.get_function_address("run"))

    def run(turns: int, memory: int) -> None:
        function(turns, memory)

    run.engine = engine  # type: ignore[attr-defined]  # the code lives as long as its engine
    return run
