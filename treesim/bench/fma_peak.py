"""The peak of this processor's arithmetic: independent multiply-adds on its widest vectors, in a loop."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable

import numpy as np

from ..engine.call.specialized import lanes
from ..engine.llvm.machine_code import processor
from ..engine.threads import pool

CHAINS = 12  # independent multiply-adds: enough for two units of four to six cycles, and still all in registers
TURNS = 1_000_000
OPERATIONS = 2  # of a multiply-add


def peak(single: bool, threads: int, rounds: int = 20) -> float:
    """Return operations per second (a multiply-add is two) in single or double precision on so many threads at once.

    The best of so many rounds of about ten milliseconds each.
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
    wide = lanes(single)
    V, fma = wide.vector, f"@llvm.fma.{wide.suffix}"
    steps = range(CHAINS)
    lines = [
        f"declare {V} {fma}({V}, {V}, {V})",
        "define void @run(i64 %turns, ptr %memory) {",
        "entry:",
        f"  %x = load {V}, ptr %memory, align 1",
        "  br label %loop",
        "loop:",
        "  %i = phi i64 [0, %entry], [%next, %loop]",
        *(f"  %a{k} = phi {V} [%x, %entry], [%b{k}, %loop]" for k in steps),
        *(f"  %b{k} = call {V} {fma}({V} %a{k}, {V} %x, {V} %x)" for k in steps),
        "  %next = add i64 %i, 1",
        "  %more = icmp slt i64 %next, %turns",
        "  br i1 %more, label %loop, label %end",
        "end:",
        f"  %s0 = fadd {V} %b0, %x",  # all chains are used, so none is left out
        *(f"  %s{k} = fadd {V} %s{k - 1}, %b{k}" for k in steps[1:]),
        f"  store {V} %s{CHAINS - 1}, ptr %memory, align 1",
        "  ret void",
        "}",
    ]
    return "\n".join(lines)


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
