"""Contact, joint limits and joint friction of a time step as a WebAssembly module with its tables."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..contact.base import ContactSolver
from ..contact.contact_solve import ContactSolve
from ..errors import UnsupportedError, quoted
from ..kernels.contact.layout import COUNT
from ..kernels.contact.tables import FOUND
from ..kernels.stepping.rules import CONTACT_RULES, RULES
from ..plugins import DEFAULT_INTEGRATOR
from ..simulation.world import World
from ..types import ContactSolverName
from .kernel_module import WORD, KernelModule, StepTable, kernel_module, step_table


class ContactModule(NamedTuple):
    """Contact solve of a world as a WebAssembly module.

    kernel: turns an unconstrained step into one with contact. share: impulse fraction theta of each integrator that
    supports contact. capacity: address of an int64, the number of contacts that fit in memory; most_contacts: its upper
    limit.

    Inputs among the arrays of the kernel: settings and gravity; scheme, whose
    first number is the integrator's impulse fraction; q, v and the results of the unconstrained step, q_free,
    v_free, force, external and work_free; before, the impulses `after` of the previous step, initially 0.
    `external` contains the joint forces [N, N m] of external forces; copy it from `StepModule`'s array, or
    limits, friction and contact ignore them. Results: q_new, v_new, after, wrench (6 for each body, the base
    first: force and moment along the world's axes, at its origin), solver_info (diagnostics) and others.
    solver_info[5] is the number of contacts that did not fit: then increase capacity, and call again.
    """

    kernel: KernelModule
    settings: StepTable
    share: dict[str, float]
    capacity: int
    most_contacts: int


def contact_module(world: World, solver: ContactSolverName | ContactSolver = "pgs") -> ContactModule:
    """Return the contact solve of a world as WebAssembly.

    Raises UnsupportedError for a world without contact, joint limits and joint friction, or with frame
    constraints or closed loops. Takes 10 s the first time, then milliseconds.

    Example:
        >>> from treesim.export.contact_module import contact_module
        >>> module = contact_module(treesim.World(treesim.load("ur5")))
        >>> module.share["semi_implicit_euler"], module.kernel.arrays["q"][1]
        (1.0, 6)
    """
    if world.m or not world.touching.active:
        raise UnsupportedError(f"{quoted(world)} has no stage of contact alone")
    if world.collision is not None:
        raise UnsupportedError(
            f"contacts of {quoted(world)} are found by {quoted(world.collision)} in Python: leave out collision="
        )
    robot, rule = world.robot, RULES[DEFAULT_INTEGRATOR]
    settings = step_table(world)
    stage = ContactSolve(
        robot, world.touching, rule, settings.empty(), None, solver, work=False, tolerance=world.contact_tolerance,
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
    kernel = kernel_module(stage.entry, arrays)
    address, size = kernel.arrays["reals"]
    kernel.arrays["gravity"] = address + WORD * (size - 3), 3
    room = kernel.integers["layout"][0] + WORD * COUNT.capacity
    return ContactModule(kernel, settings, dict(CONTACT_RULES), room, world.touching.most_contacts)
