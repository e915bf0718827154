"""Kernels of a time step as WebAssembly modules, each with a memory that contains its tables and arrays."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from ..engine.call.generic import kernel_webassembly
from ..engine.llvm.webassembly import PAGE
from ..kernels.stepping.command import Numbers, Places
from ..kernels.stepping.step import COLUMNS, PIECE
from ..simulation.actuator_memory import LONGEST_DELAY, ActuatorMemory
from ..simulation.effort_limits import AT_LIMIT, EffortLimits
from ..simulation.world import World

WORD = 8  # bytes of a number, and of a word of the job
STACK = 1 << 18  # bytes


class KernelModule(NamedTuple):
    """WebAssembly module of a kernel, and the memory layout that a program needs to call it.

    code: the module; it imports the functions listed in `kernel_webassembly`, a memory of at least `pages`
    pages, and a stack that begins at `stack`. image: contents of the memory from the address `base` on: the
    parameters of the call, tables, and space for arrays. call(base, heap) runs the kernel; it returns 0 on success.

    arrays: address and length of each array of doubles, by name. integers: the same for arrays of int64.
    sizes: by array, the address of an int64, its length in the next call; a program may reduce it.
    """

    code: bytes
    image: bytes
    base: int
    heap: int
    pages: int
    stack: int
    arrays: dict[str, tuple[int, int]]
    integers: dict[str, tuple[int, int]]
    sizes: dict[str, int]

    def layout(self) -> dict[str, Any]:
        """Return all fields but code and image, for JSON."""
        return {name: value for name, value in self._asdict().items() if name not in ("code", "image")}


def kernel_module(entry: Any, arrays: Sequence[np.ndarray]) -> KernelModule:
    """Return a kernel as WebAssembly, with its arguments in memory. Takes seconds the first time for large kernels."""
    names = [name for name in entry.__annotations__ if name != "return"]
    made = kernel_webassembly(entry)
    base = -(-(made.data_bytes + STACK) // 64) * 64
    starts = list(accumulate((x.size for x in arrays), initial=2 * len(arrays)))
    places = {name: (base + WORD * start, x.size) for name, x, start in zip(names, arrays, starts, strict=False)}
    job = np.array([word for place in places.values() for word in place], np.int64)
    image = b"".join([job.tobytes(), *(np.ascontiguousarray(x).tobytes() for x in arrays)])
    heap = -(-(base + len(image)) // 64) * 64
    kinds = {name: x.dtype == float for name, x in zip(names, arrays, strict=True)}
    reals, integers = ({name: places[name] for name in names if kinds[name] == kind} for kind in (True, False))
    sizes = {name: base + WORD * (2 * k + 1) for k, name in enumerate(names)}
    return KernelModule(made.code, image, base, heap, -(-heap // PAGE), base, reals, integers, sizes)


class StepTable(NamedTuple):
    """Settings of steps in the memory of a kernel.

    kept: indices of the independent velocities among the `spanning_nv` of the spanning tree. columns: number of columns
    of the settings after dt, each with `spanning_nv` numbers.
    """

    kept: list[int]
    spanning_nv: int
    columns: int

    def empty(self) -> np.ndarray:
        """Return a table of zeros, which programs overwrite."""
        return np.zeros(1 + self.columns * self.spanning_nv)


def step_table(world: World) -> StepTable:
    """Return the form of the settings in kernels of a world."""
    pieces = 0 if world.actuator_table is None else len(world.actuator_table.pieces)
    return StepTable(world.robot.kept()[1].tolist(), world.robot.spanning.nv, COLUMNS + PIECE * pieces)


class MeanForceModule(NamedTuple):
    """Computation of mean forces in steps, see `treesim.simulation.effort_limits`, as a WebAssembly module.

    Inputs: settings, q, v, q_new, v_new, force. Results: mean, and beyond, the number of the limit that each force is
    beyond. at_limit: by this number, the control that sets a force to the limit.
    """

    kernel: KernelModule
    settings: StepTable
    at_limit: list[float]


def mean_force_module(world: World) -> MeanForceModule:
    """Return the computation of mean forces in a world's steps as WebAssembly.

    Example:
        >>> from treesim.export.kernel_module import mean_force_module
        >>> mean_force_module(treesim.World(treesim.load("ur5"))).kernel.arrays["mean"][1]
        6
    """
    robot, settings = world.robot, step_table(world)
    limits = EffortLimits(robot, settings.empty(), None, False, world.actuator_table is not None)
    arrays = [np.zeros(n) for n in (robot.nq, robot.nv, robot.nq, *[robot.nv] * 4)]
    return MeanForceModule(kernel_module(limits.bound.entry, [*limits.constants, *arrays]), settings, AT_LIMIT.tolist())


class CommandModule(NamedTuple):
    """Commands of a world's actuators with memory as a WebAssembly module.

    kernel: `kernels.stepping.command`. Inputs: places and rates, whose rows are described there, after a head of four
    numbers, the number of the substep, memory, position, speed and control. Results: after and command. The memory has
    room for the longest delay; a program sets the sizes of memory and after. place_fields, rate_fields: of rows.
    """

    kernel: KernelModule
    place_fields: tuple[str, ...]
    rate_fields: tuple[str, ...]


def command_module(memory: ActuatorMemory) -> CommandModule:
    """Return the commands of actuators with memory as WebAssembly."""
    nq, nv = memory.robot.nq, memory.robot.nv
    room = len(memory.dofs) * (LONGEST_DELAY + 1 + len(Places._fields))
    arrays = [np.zeros(n) for n in (1, room, nq, nv, nv, room, nv)]
    kernel = kernel_module(memory.bound.entry, [*memory.bound.constants, *arrays])
    return CommandModule(kernel, Places._fields, Numbers._fields)
