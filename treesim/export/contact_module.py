"""Contact, joint limits and joint friction of a time step as a WebAssembly module with its tables."""

from __future__ import annotations

import math
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from ..contact.base import ContactSolver
from ..contact.contact_solve import ContactSolve
from ..engine.call.generic import kernel_webassembly
from ..engine.llvm.webassembly import PAGE
from ..errors import UnsupportedError, quoted
from ..kernels.contact.layout import COUNT
from ..kernels.contact.tables import FOUND
from ..kernels.stepping.rules import CONTACT_RULES, RULES
from ..kernels.stepping.step import COLUMNS
from ..plugins import DEFAULT_INTEGRATOR
from ..simulation.step_settings import StepSettings
from ..simulation.world import World
from ..types import ContactSolverName

WORD = 8  # bytes of a number, and of a word of the job
STACK = 1 << 18  # bytes


class ContactModule(NamedTuple):
    """WebAssembly module of a world's contact solve, and the memory layout that a program needs to call it.

    code: the module; it imports the functions listed in `kernel_webassembly`, a memory of at least `pages`
    pages, and a stack that begins at `stack`. image: contents of the memory from the address `base` on: the
    parameters of the call, the world's tables, and space for arrays. call(base, heap) turns an unconstrained
    step into one with contact; it returns 0 on success. share: impulse fraction theta of each integrator that
    supports contact. kept: indices of the independent velocities among the `spanning_nv` of the spanning tree.
    columns: number of columns of the settings after dt, each with `spanning_nv` numbers. capacity: address of
    an int64, the number of contacts that fit in memory; most_contacts: its upper limit.

    arrays: address and length of each array of doubles, by name. Inputs: settings and gravity; scheme, whose
    first number is the integrator's impulse fraction; q, v and the results of the unconstrained step, q_free,
    v_free, force, external and work_free; before, the impulses `after` of the previous step, initially 0.
    `external` contains the joint forces [N, N m] of external forces; copy it from `StepModule`'s array, or
    limits, friction and contact ignore them. Results: q_new, v_new, after, wrench (6 for each body, the base
    first: force and moment along the world's axes, at its origin), solver_info (diagnostics) and others.
    solver_info[5] is the number of contacts that did not fit: then increase capacity, and call again.
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
    capacity: int
    most_contacts: int

    def layout(self) -> dict[str, Any]:
        """Return all fields but code and image, for JSON."""
        return {name: value for name, value in self._asdict().items() if name not in ("code", "image")}


def contact_module(world: World, solver: ContactSolverName | ContactSolver = "pgs") -> ContactModule:
    """Return the contact solve of a world as WebAssembly.

    Raises UnsupportedError for a world without contact, joint limits and joint friction, or with frame
    constraints or closed loops. Takes 10 s the first time, then milliseconds.

    Example:
        >>> from treesim.export.contact_module import contact_module
        >>> module = contact_module(treesim.World(treesim.load("ur5")))
        >>> module.share["semi_implicit_euler"], module.arrays["q"][1]
        (1.0, 6)
    """
    if world.m or not world.touching.active:
        raise UnsupportedError(f"{quoted(world)} has no stage of contact alone")
    if world.collision is not None:
        raise UnsupportedError(
            f"contacts of {quoted(world)} are found by {quoted(world.collision)} in Python: leave out collision="
        )
    robot, rule = world.robot, RULES[DEFAULT_INTEGRATOR]
    settings = StepSettings.of(robot, rule, 1e-3)
    stage = ContactSolve(
        robot, world.touching, rule, settings.table, None, solver, work=False, tolerance=world.contact_tolerance,
        with_forces=True,
    )  # fmt: skip
    nq, nv = robot.nq, robot.nv
    inputs = [nq, nv, nq, nv, nv, nv, 2, world.touching.warm_start_size]
    none_outside = np.full(world.touching.counts.external * FOUND, -1.0)
    results = [np.zeros(math.prod(shape)) for shape in stage.shapes]
    arrays = [*stage.constants, *map(np.zeros, inputs), none_outside, *results]
    names = [name for name in stage.entry.__annotations__ if name != "return"]
    at = names.index("layout")
    arrays[at] = world.touching.with_room(arrays[at], world.touching.most_contacts)
    made = kernel_webassembly(stage.entry)
    base = -(-(made.data_bytes + STACK) // 64) * 64
    starts = list(accumulate((x.size for x in arrays), initial=2 * len(arrays)))
    places = {name: (base + WORD * start, x.size) for name, x, start in zip(names, arrays, starts, strict=False)}
    job = np.array([word for place in places.values() for word in place], np.int64)
    image = b"".join([job.tobytes(), *(np.ascontiguousarray(x).tobytes() for x in arrays)])
    end, reals = base + len(image), places["reals"]
    room = places["layout"][0] + WORD * COUNT.capacity, world.touching.most_contacts
    numbers = {name: place for (name, place), x in zip(places.items(), arrays, strict=True) if x.dtype == float}
    numbers["gravity"] = reals[0] + WORD * (reals[1] - 3), 3
    heap = -(-end // 64) * 64
    kept = dict(CONTACT_RULES), robot.kept()[1].tolist(), robot.spanning.nv, COLUMNS
    return ContactModule(made.code, image, base, heap, -(-heap // PAGE), base, numbers, *kept, *room)
