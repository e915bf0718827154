"""Time step of a robot as a WebAssembly module, which a web page or any other program runs without Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any, NamedTuple

from ..dynamics.base import DynamicsBackend
from ..engine.graph.trace import Trace
from ..engine.llvm.builder import Function, Module
from ..engine.llvm.chunks import Chunks, chunk_calls, chunk_functions
from ..engine.llvm.lanes import Lanes
from ..engine.llvm.values import PTR, Value
from ..engine.llvm.webassembly import PAGE, webassembly
from ..model.tree import Tree
from ..simulation.step import forward_kernel
from ..simulation.step_traces import CALLS, EXTERNAL, Sizes, StepTraces, step_traces
from ..types import BackendName

NUMBER = 8  # bytes of a double
STACK = 1024  # bytes for pairs of results that functions return
VIEW = "view"


class StepModule(NamedTuple):
    """WebAssembly module of a time step, and the memory layout that a program needs to call it.

    code: the module. It imports env.__linear_memory, a memory of `pages` pages of 64 kB, and
    env.__stack_pointer, a mutable i32 with the value `stack`, and no functions. It exports one function for
    each integrator, by its name, and `view`; they have the argument `base`, an address, and no result.

    arrays: address and length of each array of doubles, by name. Inputs: q, v, control, settings (dt, then columns kp,
    kd, damping, effort limit, driven, theta, stiffness, rest, gain, explicit, stall, slope, compliance, and those of
    pieces of curves, (nv,) each, see `kernels.step.Settings`), f_ext (6 for each body: force, moment [N, N m] in its
    own axes about its origin), gravity (3). Results of an integrator: q_new, v_new, force, external, work (2: of the
    control, and of damping [J]). Results of `view`: poses (16 for each body, the base first: homogeneous matrix by
    rows), velocities (6 for each body, the base first: of its origin, and angular, along the world's axes [m/s,
    rad/s]), energy (2: kinetic, potential [J]).

    external (nv,) is J' f_ext at the start of the step. It acts throughout the step in addition to `force`, and
    is not subject to effort limits. For steps with limits, friction or contact, pass it to `contact_module`
    too.
    """

    code: bytes
    base: int
    pages: int
    stack: int
    arrays: dict[str, tuple[int, int]]
    rules: tuple[str, ...]

    def layout(self) -> dict[str, Any]:
        """Return all fields but the code, for JSON."""
        return {name: value for name, value in self._asdict().items() if name != "code"}


def step_module(robot: Tree, backend: BackendName | DynamicsBackend = "aba", *, pieces: int = 0) -> StepModule:
    r"""Return the time step of a robot, by a backend and all compiled integrators, as WebAssembly.

    The step is that of `Stepper` without substeps, joint limits, joint friction and contact, with wrenches f_ext on the
    bodies. backend: a compiled one without data-dependent control flow, such as "aba", "crba_ltdl", "rjk". pieces:
    number of pieces of torque-speed curves behind the first. Results equal Python's up to rounding; sines and cosines
    of angles beyond 5e5 rad lose digits. Raises UnsupportedError for other backends, and for robots too large. Takes 1
    s for a humanoid, the first time in a process; code takes about 10 bytes for each operation.

    Example:
        >>> from treesim.export.webassembly import step_module
        >>> module = step_module(treesim.load("ur5"))
        >>> module.code[:4], module.arrays["q"][1], module.rules[0]
        (b'\x00asm', 6, 'implicit_midpoint')
    """
    return _made(robot, forward_kernel(robot, backend), pieces)


@lru_cache(maxsize=16)
def _made(robot: Tree, solver: Any, pieces: int) -> StepModule:
    return _Writer(step_traces(robot, solver, pieces=pieces)).module()


class _Writer:
    """Writer of the functions of one module, which share their memory."""

    def __init__(self, traces: StepTraces) -> None:
        self.traces = traces
        self.ir = Module(Lanes(False, 1), prefetches=False, has_library=False)
        self.forward = chunk_functions(self.ir, traces.forward, name="forward_")
        self.rules = {name: self._stretches(name, parts) for name, parts in traces.rules.items()}
        [self.view], [self.push] = self._stretches(VIEW, [traces.view]), self._stretches("push", [traces.push])
        single = [self.forward, self.view, self.push]
        slots = max(chunks.slots for parts in [*self.rules.values(), single] for chunks in parts)
        (n_qdd,) = {len(traces.forward.results)}
        sizes = {
            "inputs": total(traces.inputs), "qdd": CALLS * n_qdd, "results": total(traces.results),
            "views": total(traces.views), "dynamics": total(traces.dynamics), "between": slots,
        }  # fmt: skip
        self.n_qdd, self.places, self.size = n_qdd, starts(sizes), total(sizes)
        self.external = starts(traces.inputs)[EXTERNAL]

    def _stretches(self, name: str, parts: Sequence[Trace]) -> list[Chunks]:
        return [chunk_functions(self.ir, part, name=f"{name}_{k}_") for k, part in enumerate(parts)]

    def module(self) -> StepModule:
        """Write the exported functions, and compile."""
        for name, parts in self.rules.items():
            f, at = self._exported(name)
            chunk_calls(f, self.push, at["inputs"], at["between"], f.at(at["inputs"], self.external))
            for k, part in enumerate(parts[:-1]):
                chunk_calls(f, part, at["inputs"], at["between"], at["dynamics"])
                qdd = f.at(at["qdd"], k * self.n_qdd)
                chunk_calls(f, self.forward, at["dynamics"], at["between"], qdd)
            chunk_calls(f, parts[-1], at["inputs"], at["between"], at["results"])
            f.ret()
        f, at = self._exported(VIEW)
        chunk_calls(f, self.view, at["inputs"], at["between"], at["views"])
        f.ret()
        made = webassembly(self.ir, [*self.rules, VIEW])
        stack = -(-made.data_bytes // 64) * 64 + STACK
        pages = -(-(stack + self.size * NUMBER) // PAGE)
        return StepModule(made.code, stack, pages, stack, self._arrays(stack), tuple(self.rules))

    def _exported(self, name: str) -> tuple[Function, dict[str, Value]]:
        """Return a function whose argument is the address of the memory, and the addresses of its parts."""
        f = self.ir.function(name, f"{PTR} memory", exported=True)
        return f, {part: f.at(f.arguments[0], start) for part, start in self.places.items()}

    def _arrays(self, base: int) -> dict[str, tuple[int, int]]:
        """Return address and size of each array."""
        traces = self.traces
        results = {f"{name}_new" if name in traces.inputs else name: size for name, size in traces.results.items()}
        groups = {"inputs": traces.inputs, "results": results, "views": traces.views}
        return {
            name: (base + NUMBER * (self.places[group] + start), sizes[name])
            for group, sizes in groups.items()
            for name, start in starts(sizes).items()
        }


def total(sizes: Sizes) -> int:
    """Return the number of elements of all arrays."""
    return sum(sizes.values())


def starts(sizes: Mapping[str, int]) -> dict[str, int]:
    """Return the offsets of arrays stored one after the other."""
    return dict(zip(sizes, accumulate(sizes.values(), initial=0), strict=False))
