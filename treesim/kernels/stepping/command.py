"""Commands of actuators: the controls that act in a substep, from those of this step and of earlier ones.

A control is delayed by s steps, then its rate of change is limited, then it passes a first-order filter. The law of a
digital controller is evaluated at multiples of its period, and its force is held between. The voltage of a motor with
inductance is limited, and what its current contributes is added (`treesim.simulation.actuator_memory`).
"""

from typing import Any, NamedTuple

from ..algebra.numbers import less, maximum, minimum, select
from ..entries.entry import entry

COORDINATES, DOFS, MEMORY, ROWS, HEAD = 0, 1, 2, 3, 4  # head of the table of places: nq, nv, numbers of memory, rows
ON_STEP = 1e-9  # steps: delays this close to a whole number of steps are that number
ABSENT = -1  # place of what an actuator does not have


class Places(NamedTuple):
    """Row of an actuator in the table of places; places in its memory are ABSENT if it has no such part.

    dof, coordinate: of its joint. begun: 1 after the first command, before which nothing acted. delay: own one of the
    rollout [steps]. commands, count: the latest commands, the present one first. slow: latest command within its rate.
    filtered: output of the filter. held: force of a digital controller, then substeps until the next one. current: of
    the winding.
    """

    dof: Any
    coordinate: Any
    begun: Any
    delay: Any
    commands: Any
    count: Any
    slow: Any
    filtered: Any
    held: Any
    current: Any


class Numbers(NamedTuple):
    """Row of an actuator in the table of numbers.

    delay [steps], substep [steps]: length of a substep. interpolate: 1 if commands are linear between steps. change:
    largest change of the command in a substep. decay: of the filter in a substep. mean: share by which the mean output
    of the filter in a substep has not reached its input. gain, kp, kd: law of a digital controller. period [substeps].
    voltage: the largest one. ahead: voltage per current.
    """

    delay: Any
    substep: Any
    interpolate: Any
    change: Any
    decay: Any
    mean: Any
    gain: Any
    kp: Any
    kd: Any
    period: Any
    voltage: Any
    ahead: Any


PLACES, NUMBERS = len(Places._fields), len(Numbers._fields)


def commands(places, rates, substep, memory, position, speed, control, after, command):
    """Compute the commands (nv,) of a state in the substep of its step with a number, and the memory after it."""
    for k in range(command.size):
        command[k] = control[k]
    for k in range(memory.size):
        after[k] = memory[k]
    for r in range(places[ROWS]):
        p, x = places_of(places, r), numbers_of(rates, r)
        u = control[p.dof]
        is_first = u * 0
        if p.begun >= 0:
            is_first += 1 - memory[p.begun]
            after[p.begun] = is_first * 0 + 1
        if p.commands >= 0:
            u = delayed(p, x, substep[0], u, is_first, memory, after)
        if p.slow >= 0:
            before = select(less(0, is_first), u, memory[p.slow])
            u = before + minimum(maximum(u - before, -x.change), x.change)
            after[p.slow] = u
        if p.filtered >= 0:
            away = select(less(0, is_first), u * 0, memory[p.filtered] - u)
            after[p.filtered] = u + away * x.decay  # x+ = u + (x - u) exp(-h / lag)
            u = u + away * x.mean
        if p.held >= 0:
            u = held_force(p, x, u, position[p.coordinate], speed[p.dof], memory, after)
        if p.current >= 0:
            u = minimum(maximum(u, -x.voltage), x.voltage) + x.ahead * memory[p.current]
        command[p.dof] = u


def delayed(p, x, substep, u, is_first, memory, after):
    """Return the command of `delay` steps ago, and store this step's control in its first substep."""
    begins, begun = less(substep, 0.5), less(0, is_first)
    steps = x.delay if p.delay < 0 else memory[p.delay]
    ago = maximum(steps - substep * x.substep, 0)
    stored = memory[p.commands]
    found = newer = select(begins, u, stored)
    after[p.commands] = newer
    for i in range(1, p.count):
        before, stored = select(begun, u, stored), memory[p.commands + i]
        older = select(begins, before, stored)
        after[p.commands + i] = older
        between = newer + (older - newer) * minimum(ago - (i - 1), 1)
        found = select(less(i - 1, ago - ON_STEP), select(less(0, x.interpolate), between, older), found)
        newer = older
    return found


def held_force(p, x, u, q, v, memory, after):
    """Return the force of a digital controller: that of its law at a multiple of the period, else the one before."""
    left = memory[p.held + 1]
    is_due = less(left, 0.5)
    force = select(is_due, x.gain * u + x.kp * (u - q) - x.kd * v, memory[p.held])
    after[p.held], after[p.held + 1] = force, select(is_due, x.period, left) - 1
    return force


def places_of(table, r):
    """Return a row of the table of places."""
    row = table[HEAD + r * PLACES : HEAD + (r + 1) * PLACES]
    return Places(row[0], row[1], row[2], row[3], row[4], row[5], row[6], row[7], row[8], row[9])


def numbers_of(numbers, r):
    """Return a row of the table of numbers."""
    row = numbers[r * NUMBERS : (r + 1) * NUMBERS]
    return Numbers(
        row[0], row[1], row[2], row[3], row[4], row[5], row[6], row[7], row[8], row[9], row[10], row[11]
    )  # fmt: skip


commands_states = entry(
    commands, None, {"places": "TableOfIntegers", "rates": "TableOfReals"},
    {"coordinates": f"places[{COORDINATES}]", "dofs": f"places[{DOFS}]", "size": f"places[{MEMORY}]"}, substep="1",
    memory="size", position="coordinates", speed="dofs", control="dofs'", after="-> size", command="-> dofs'",
)  # fmt: skip
