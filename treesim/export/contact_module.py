"""What contact, joint limits and joint friction make of a step, as a WebAssembly module with its tables."""

from __future__ import annotations

import math
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from ..contact.base import ContactSolver
from ..contact.stage import SHARE, ContactStage
from ..engine.generic import kernel_webassembly
from ..engine.llvm.webassembly import PAGE
from ..errors import UnsupportedError
from ..kernels.contact_tables import FOUND
from ..kernels.step import COLUMNS
from ..step_settings import StepSettings
from ..world import World

WORD = 8  # bytes of a number, and of a word of the job
STACK = 1 << 18  # bytes


class ContactModule(NamedTuple):
    """The stage of contact of one world, and what a program has to know of it.

    code: the module; it imports what `kernel_webassembly` says, a memory of `pages` pages at least, a stack that begins
    at `stack`. image: what its memory holds from the address `base` on: the job's words, the world's tables, and room
    for arrays. call(base, heap) turns a free step into one with contact. arrays: by name, the address of each array of
    doubles and how many these are: settings and gravity; scheme, whose first number is the share of the rule; q, v,
    what the free step gave, q_free, v_free, force and work_free, and the impulses before; then the results q_new,
    v_new, after, wrench (6 for each body, the base first: force and moment along the world's axes, at its origin), told
    and others. share: by rule that knows contact. kept: of independent velocities, their places among the `spanning_nv`
    of the spanning tree, which settings are told of, in so many columns behind dt.
    """

    code: bytes
    image: bytes
    base: int
    heap: int
    pages: int
    stack: int
    arrays: dict[str, tuple[int, int]]
    share: dict[str, float]
    kept: list[int]
    spanning_nv: int
    columns: int

    def layout(self) -> dict[str, Any]:
        """Return all but code and image, for JSON."""
        return {name: value for name, value in self._asdict().items() if name not in ("code", "image")}


def contact_module(world: World, solver: str | ContactSolver = "pgs") -> ContactModule:
    """Return the stage of contact of a world as WebAssembly.

    Raises UnsupportedError for a world that has none, or whose frames are held or loops closed. Cost: 10 s the first
    time ever, then milliseconds.

    Example:
        >>> from treesim.export.contact_module import contact_module
        >>> module = contact_module(treesim.World(treesim.load("ur5")))
        >>> module.share["semi_implicit_euler"], module.arrays["q"][1]
        (1.0, 6)
    """
    if world.m or not world.touching.active:
        raise UnsupportedError(f"{world!r} has no stage of contact alone")
    if world.collision is not None:
        raise UnsupportedError(
            f"contacts of {world!r} are found by {world.collision!r} in Python: leave out collision="
        )
    robot, rule = world.robot, "implicit_midpoint"
    settings = StepSettings.of(robot, rule, 1e-3)
    stage = ContactStage(robot, world.touching, rule, settings.table, None, solver, work=False)
    inputs = [robot.nq, robot.nv, robot.nq, robot.nv, robot.nv, 2, world.touching.rows]
    sizes = [*inputs, world.touching.told * FOUND, *(math.prod(shape) for shape in stage.shapes)]
    arrays = [*stage.constants, *(np.zeros(size) for size in sizes)]
    names = [name for name in stage.entry.__annotations__ if name != "return"]
    made = kernel_webassembly(stage.entry)
    base = -(-(made.data_bytes + STACK) // 64) * 64
    starts = list(accumulate((x.size for x in arrays), initial=2 * len(arrays)))
    places = {name: (base + WORD * start, x.size) for name, x, start in zip(names, arrays, starts, strict=False)}
    job = np.array([word for place in places.values() for word in place], np.int64)
    image = b"".join([job.tobytes(), *(np.ascontiguousarray(x).tobytes() for x in arrays)])
    end, reals = base + len(image), places["reals"]
    numbers = {name: place for (name, place), x in zip(places.items(), arrays, strict=True) if x.dtype == float}
    numbers["gravity"] = reals[0] + WORD * (reals[1] - 3), 3
    heap = -(-end // 64) * 64
    kept = robot.kept()[1].tolist(), robot.spanning.nv, COLUMNS
    return ContactModule(made.code, image, base, heap, -(-heap // PAGE), base, numbers, dict(SHARE), *kept)
