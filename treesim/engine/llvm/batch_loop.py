"""LLVM IR of every SIMD kernel: the loop over groups of states, and the check of quaternions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ...kernels.entries.status import LONGEST, SHORTEST
from .builder import Function, Module
from .gather_scatter import gather_and_scatter
from .lanes import Lanes
from .non_finite import non_finite_check
from .prefetch import At, array_at
from .values import I8, I64, PTR, Operand, Value, constant

# words of a job after the three that threads update: next state, tickets (threads so far), status
JOB = {"count": I64, "block": I64, "steps": I64, "every": I64, "bytes": I64, "workspaces": PTR, "tables": PTR}


class Placed(NamedTuple):
    """Memory of results among the distinct values that lanes compute.

    places: for each array its size, and the index of its first number if they are in order, else the address of
    their index list. values: number of values.
    """

    places: list[tuple[int, int | Value]]
    values: int


class Group(NamedTuple):
    """Group of states in the function that processes them.

    inputs, between, results: memory of the lanes. tables: table of arrays. first, last: first state of the
    group, and end of all states.
    """

    code: Function
    inputs: Value
    between: Value
    results: Value
    tables: Value
    first: Value
    last: Value


class BatchLoop:
    """Loop over groups of states; see `straight_line`.

    work(group, read, written): appends the code for a group; read, written: step and group read next, and
    written. slots: vectors of memory between inputs and results. placed: the results.
    """

    def __init__(
        self,
        module: Module,
        work: Callable[[Group, At, At], None],
        slots: int,
        sizes: Sequence[int],
        placed: Placed,
        carried: int,
        invariant: int,
    ) -> None:
        self.module, self.work, self.slots, self.placed = module, work, slots, placed
        self.moves = gather_and_scatter(module)
        self.inputs = [(size, sum(sizes[:k])) for k, size in enumerate(sizes)]
        self.size, self.carried = sum(sizes), sum(sizes[:carried])
        self.lasting = carried + invariant if carried else 0  # inputs that do not change with the steps
        self.arriving = sum(sizes[: self.lasting])  # where the others begin

    @property
    def workspace(self) -> int:
        """Vectors of memory that a thread needs."""
        return self.size + self.slots + self.placed.values

    def write(self, quaternions: Sequence[int]) -> None:
        """Write the function `share`, one thread's part of a job: block after block of states, until none is left."""
        run = self._run(quaternions)
        f = self.module.function("share", f"{PTR} job", exported=True)
        [job] = f.arguments
        me = f.atomic("add", f.at(job, 1, I64), 1)
        count, block, *words, size, workspaces, tables = (
            f.load_at(job, k, kind) for k, kind in enumerate(JOB.values(), start=3)
        )
        memory = f.at(workspaces, f.mul(me, size), I8)
        with f.forever() as end:
            first = f.atomic("add", job, block)
            f.go_on_if(f.icmp("slt", first, count), otherwise=end)
            beyond = f.add(first, block)
            last = f.select(f.icmp("slt", beyond, count), beyond, count)
            f.atomic("or", f.at(job, 2, I64), f.call(run, first, last, *words, memory, tables))
        f.do("fence seq_cst")  # completes all stores before the job is reported as done
        f.ret()

    def _run(self, quaternions: Sequence[int]) -> Function:
        """Write the function for all steps of states first .. last - 1; tables: see `straight_line`."""
        module, width = self.module, self.module.lanes.width
        check = non_finite_check(module, self.size - self.arriving)
        check_rotations = rotations(module, quaternions)
        parameters = f"{I64} first, {I64} last, {I64} steps, {I64} every, {PTR} workspace, {PTR} tables"
        f = module.function("run", parameters, I64)
        first, last, steps, every, inputs, tables = f.arguments
        between, results = f.at(inputs, self.size), f.at(inputs, self.size + self.slots)
        none = constant(0, I64)
        with f.loop(first, last, width, carried=[none]) as group:
            [status] = group.values
            here = Group(f, inputs, between, results, tables, group.k, last)
            self._gather(here, range(self.lasting), 0)
            with f.loop(0, steps, carried=[none, status], begins=True) as step:
                record, status = step.values
                following = f.add(step.k, 1)
                final = f.icmp("sge", following, steps)
                soon = f.select(final, 0, following), f.select(final, f.add(group.k, width), group.k)
                self._gather(here, range(self.lasting, len(self.inputs)), step.k)
                invalid = f.call(check, f.at(inputs, self.arriving)), f.call(check_rotations, inputs)
                status = f.either(status, f.either(*invalid))
                self.work(here, soon, (record, group.k))
                due = f.icmp("eq", f.urem(following, every), 0)
                records = f.cast("zext", due, I64)
                with f.loop(0, records, carried=[status]) as once:
                    once.values = [self._scatter(here, record, once.values[0])]
                step.values = [f.add(record, records), *once.values]
                self._feed_back(here)
            group.values = [step.values[1]]
        f.ret(group.values[0])
        return f

    def _gather(self, group: Group, arrays: Sequence[int], step: Operand) -> None:
        """Append the gather of arrays at a step into the lanes."""
        for k in arrays:
            size, place = self.inputs[k]
            if size:
                self._move(group, k, step, size, place, gathers=True)

    def _scatter(self, group: Group, record: Value, status: Value) -> Value:
        """Append the scatter of results, whose array numbers follow the inputs', and return the status after it."""
        for k, (size, place) in enumerate(self.placed.places, start=len(self.inputs)):
            if size:
                status = group.code.either(status, self._move(group, k, record, size, place, gathers=False))
        return status

    def _move(self, group: Group, array: int, step: Operand, size: int, place: int | Value, gathers: bool) -> Value:
        """Append the gather or scatter of an array."""
        f = group.code
        at = array_at(f, group.tables, array, step)
        strides = at.here, size, at.element, at.state, group.first, group.last
        if isinstance(place, Value):
            return f.call(self.moves.scatter_listed, *strides, group.results, place)
        if gathers:
            return f.call(self.moves.gather, *strides, f.at(group.inputs, place))
        return f.call(self.moves.scatter, *strides, f.at(group.results, place))

    def _feed_back(self, group: Group) -> None:
        """Append copies of the first results to the first inputs of the next step."""
        f = group.code
        if self.carried:
            with f.loop(0, self.carried) as loop:
                f.store_at(f.load_at(group.results, loop.k), group.inputs, loop.k)


def rotations(module: Module, places: Sequence[int], lanes: Lanes | None = None) -> Function:
    """Return a function rotations(vectors): 1 if a quaternion is not of length 1 or NaN in any lane, else 0.

    places: starts of quaternions among the vectors. Tolerance: see kernels.status.
    """
    f = module.function("rotations", f"{PTR} noalias vectors", I64, lanes=lanes)
    wrong = constant(0, f.condition)
    for k in places:
        square = constant(0.0, f.vector)
        for c in range(k, k + 4):
            x = f.load_at(f.arguments[0], c)
            square = f.multiply_add(x, x, square)
        either = f.either(f.fcmp("ult", square, SHORTEST), f.fcmp("ugt", square, LONGEST))  # unordered: NaN too
        wrong = f.either(wrong, either)
    f.ret(f.cast("zext", f.any(wrong), I64))
    return f
