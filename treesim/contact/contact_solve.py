"""The contact solve of a step: adds contacts, joint limits and friction to the unconstrained step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from operator import itemgetter

import numpy as np

from ..dynamics.tables import constants_of
from ..engine.call.batched import BatchedTables
from ..engine.call.bound_entry import BoundEntry
from ..engine.call.call_sequence import Call, Place
from ..engine.call.evaluate import STATES_PER_TASK
from ..engine.call.generic import bound_call, compiled, compiled_soon
from ..engine.threads import over_threads
from ..errors import UnsupportedError, quoted
from ..kernels.contact.contact_entry import contact_step_entry
from ..kernels.contact.contact_kinematics import contact_kinematics_states, kinematics_size
from ..kernels.contact.contact_points import POINT
from ..kernels.contact.joint_limits import near_limits_states
from ..kernels.contact.layout import COUNT, INFO, RESULT_INFO, SolverOptions
from ..kernels.contact.one_state import StepVariant
from ..kernels.contact.step_records import StepInput, StepOutput
from ..kernels.contact.tables import FOUND
from ..kernels.entries.status import FINE
from ..kernels.stepping.rules import Rule
from ..kernels.stepping.step import COLUMNS
from ..model.tree import Tree
from ..states.states import mimic_constants, run_bound
from ..system.memory import free_memory
from ..types import ContactSolverName, Engine
from ..validation.arrays import Shape
from .base import ContactSolver, chosen_solver
from .bodies import engine_of_one_state
from .tables import Touching

ROOM = 128  # contacts by which the capacity grows
SQUARES = 3  # number of square matrices of all rows in a step and its solver
BLOCK = 1024  # states of a batch whose kinematics are in memory at a time
FEW_PAIRS = 64  # pairs of bodies whose wrenches every step computes; those of more are computed if requested
SWEEPS = 500  # of the solver, and as many iterations of `admm`


class ContactSolve:
    """Compiled contact solve for single states and batches.

    pairs: whether wrenches of pairs of bodies are requested, also where there are many. reports_pairs: whether they are
    computed. corrects: whether fast motions are solved again at their midpoint (`kernels.contact.midpoint_correction`).
    """

    def __init__(
        self,
        robot: Tree,
        touching: Touching,
        rule: Rule,
        settings: np.ndarray,
        gravity: np.ndarray | None,
        solver: ContactSolverName | ContactSolver = "pgs",
        work: bool = True,
        tolerance: float = 1e-9,
        engine: Engine = "auto",
        with_forces: bool = False,
        pairs: bool = True,
        corrects: bool = True,
    ) -> None:
        self.reports_pairs = reports_pairs = work and (pairs or touching.counts.groups <= FEW_PAIRS)
        self.solver = chosen = chosen_solver(solver)
        self.robot, self.touching, self.with_forces = robot, touching, with_forces
        if touching.counts.resists and not chosen.exact:
            raise UnsupportedError(
                f"contact solver {quoted(chosen)} does not support torsional and rolling friction of surfaces: "
                'use "pgs" or "admm", or coefficients 0'
            )
        mimic_map, held = robot.mimic_map is not None, bool(touching.held[0][0])
        plain = not (mimic_map or held or touching.convex[1] > touching.convex[0])
        again = plain and rule.theta < 1 and touching.counts.limits > 0
        self.corrects = again and corrects
        has_curves = settings.size > 1 + COLUMNS * robot.spanning.nv  # `contact_kinematics` takes no further columns
        variant = StepVariant(
            solids=touching.solids, held=held, again=again, mimic=mimic_map,
            resists=bool(touching.counts.resists), with_forces=with_forces,
            with_kinematics=not (mimic_map or with_forces or has_curves), several=touching.several,
        )  # fmt: skip
        self.entry = contact_step_entry(type(chosen).kernel, type(chosen).memory, variant)
        options = SolverOptions(
            impulse_fraction=rule.theta, tolerance=tolerance, iterations=SWEEPS, exact=chosen.exact, work=work,
            midpoint_corrector=self.corrects,
        )  # fmt: skip
        scheme = np.array(options, float)
        layout = touching.layout if reports_pairs else touching.without_groups()
        self.constants = (
            *mimic_constants(robot, constants_of(robot, gravity)),
            layout,
            touching.geometry,
            *touching.held,
            settings,
            scheme,
        )
        q, v, found = (robot.nq,), (robot.nv,), (touching.counts.external, FOUND)
        inputs = StepInput(q, v, q, v, v, v if with_forces else None, (2,), (touching.warm_start_size,), found).arrays
        rows, wrench, of_pairs = (touching.warm_start_size,), (robot.n_bodies + 1, 6), (int(layout[COUNT.groups]), 12)
        self.shapes = StepOutput(q, v, rows, wrench, of_pairs, (RESULT_INFO,), (2,), (1, POINT))
        self._layout_at, self.settings_at = (
            next(k for k, x in enumerate(self.constants) if x is table) for table in (layout, settings)
        )
        self._inputs: tuple[Shape, ...] = tuple(inputs)
        self.kinematics: BoundEntry | None = None  # of steps that the kernel does not compute itself
        if variant.with_kinematics:
            made = ((kinematics_size(robot.n_bodies, robot.nv),),)
            given = (*inputs[:5], settings.shape)
            alone = engine_of_one_state(robot, engine)
            self.kinematics = BoundEntry(contact_kinematics_states, self.constants[:2], given, made, engine=alone)
            self._inputs, self._settings = (*inputs, *made), _writable(settings)
        self.bound = BoundEntry(self.entry, self.constants, self._inputs, self.shapes, engine="generic")
        self.quick: BoundEntry | None = None
        if touching.only_limits and robot.mimic_map is None:
            tables = (*constants_of(robot, gravity), touching.layout, touching.geometry)
            shapes = [(robot.nq,), (robot.nq,)], [(1,)]
            self.quick = BoundEntry(near_limits_states, tables, *shapes, engine="generic")

    def begin(self) -> None:
        """Start background compilation of the contact solve if it will certainly be needed."""
        if self.quick is None:
            compiled_soon(self.entry)

    def near(self, q: np.ndarray, q_free: np.ndarray, batched: BatchedTables | None = None) -> np.ndarray | None:
        """Return a mask (...) of the states that need the contact solve in an unconstrained step from q to q_free.

        It is computed where there are only joint limits, by a quick test that avoids compiling the contact solve. None
        means that all states may need it: there is contact or friction, or the limits are batched parameters.
        """
        if self.quick is None or (batched is not None and self.geometry_at in batched.tables):
            return None
        flags = np.empty((*q.shape[:-1], 1))
        run_bound(self.quick, [q, q_free], [flags])
        return flags[..., 0] != 0

    @property
    def geometry_at(self) -> int:
        """Index of the table of contact geometry among the constants."""
        return next(k for k, table in enumerate(self.constants) if table is self.touching.geometry)

    @property
    def reals_at(self) -> int:
        """Index of the tree's table of real numbers among the constants."""
        return 1

    def run(
        self,
        given: StepInput,
        result: StepOutput,
        batched: BatchedTables | None = None,
        kinematics: np.ndarray | None = None,
    ) -> int:
        """Add contact to the unconstrained step of one state or a batch; return the worst status.

        batched: model parameters in the constants of a batch. kinematics: of one state's step (`contact_kinematics`);
        None if they have to be computed. Memory grows with the square of the largest number of contacts so far.
        """
        status = self._run(given, result, batched, kinematics)
        while self.makes_room(result.solver_info):
            status = self._run(given, result, batched, kinematics)
        return status

    def bound_to(
        self, given: StepInput, result: StepOutput, batched: BatchedTables | None, kinematics: np.ndarray
    ) -> list[Callable[..., int]]:
        """Return the calls that add contact to a batch of one state, in the same arrays at every call.

        kinematics: memory. Contacts beyond the memory that there is now are omitted (`makes_room`).
        """
        if batched is not None:
            return [partial(self.run, given, result, batched)]
        inputs, outputs = ([x.reshape(-1) for x in group.arrays] for group in (given, result))
        if self.kinematics is None:
            return [bound_call(self.entry, *self.constants, *inputs, *outputs)]
        place = bound_call(self.kinematics.entry, *self.constants[:2], *inputs[:5], self._settings, kinematics)
        return [place, bound_call(self.entry, *self.constants, *inputs, kinematics, *outputs)]

    @property
    def between(self) -> tuple[Shape, ...]:
        """Shapes of what one state's calls pass on: q_free, v_free, work_free, and the kinematics."""
        return (self.robot.nq,), (self.robot.nv,), (2,), self._inputs[-1] if self.kinematics else (0,)

    def calls_of(
        self, given: StepInput, kinematics: np.ndarray, result: Sequence[Place], with_kinematics: bool
    ) -> Iterator[Call | None]:
        """Yield the calls of one state's contact solve in a sequence, with arrays or places in its arguments.

        result: places of all results but points. with_kinematics: whether an earlier call computes the kinematics.
        """
        if self.kinematics is None:
            yield self.bound.call_of([*given.arrays, *result, np.empty((1, POINT))])
            return
        if not with_kinematics:
            yield self.kinematics.call_of([*given[:5], self._settings, kinematics])
        yield self.bound.call_of([*given.arrays, kinematics, *result, np.empty((1, POINT))])

    def _run(
        self,
        given: StepInput,
        result: StepOutput,
        batched: BatchedTables | None,
        kinematics: np.ndarray | None = None,
    ) -> int:
        if batched is not None:
            return self._run_batched(given, result, batched)
        if self.kinematics is None:
            return run_bound(self._bound_to(result), given.arrays, result.arrays)
        if given.q.ndim == 1 or len(given.q) <= BLOCK:  # the solve overwrites kinematics, and may be repeated
            x = self._kinematics_of(given) if kinematics is None else kinematics.copy()
            return run_bound(self._bound_to(result), [*given.arrays, x], result.arrays)
        blocks = [itemgetter(slice(first, first + BLOCK)) for first in range(0, len(given.q), BLOCK)]
        return max(self._run(given.mapped(block), result.mapped(block), None) for block in blocks)

    def _bound_to(self, result: StepOutput) -> BoundEntry:
        """Return the code of one state's contact solve; that which reports contact points if they are requested."""
        if result.points is None:
            return self.bound
        shapes = self.shapes._replace(points=result.points.shape[-2:])
        return BoundEntry(self.entry, self._constants_for(result), self._inputs, shapes, engine="generic")

    def _constants_for(self, result: StepOutput) -> tuple[np.ndarray, ...]:
        """Return the constants of the contact solve, which reports contact points if they are requested."""
        if result.points is None:
            return self.constants
        constants, layout = list(self.constants), self.constants[self._layout_at].copy()
        layout[COUNT.reports_points] = 1
        layout.setflags(write=False)
        constants[self._layout_at] = layout
        return tuple(constants)

    def new_points(self) -> np.ndarray:
        """Allocate room for the contact points of one state."""
        return np.zeros((int(self.constants[self._layout_at][COUNT.capacity]), POINT))

    def _kinematics_of(self, given: StepInput) -> np.ndarray:
        """Return the kinematics (..., n) of one state or a batch, by the same code for any number of states."""
        assert self.kinematics is not None
        batch, settings = given.q.shape[:-1], self._settings
        x = np.empty((*batch, *self._inputs[-1]))
        settings = np.broadcast_to(settings, (*batch, settings.size)) if batch else settings
        run_bound(self.kinematics, [*given[:5], settings], [x], "generic")
        return x

    def _run_batched(self, given: StepInput, result: StepOutput, batched: BatchedTables) -> int:
        """Run a batch state by state, each with model parameters of its own."""
        count, code, kinematics = len(given.q), compiled(self.entry), self.kinematics
        place = None if kinematics is None else compiled(kinematics.entry)
        flat = [np.ascontiguousarray(x.reshape(count, -1)) for x in given.arrays]
        n = len(flat)
        flat += [x.reshape(count, -1) for x in result.arrays]

        def part(first: int, last: int) -> int:
            constants, status = batched.copies(self._constants_for(result)), FINE
            settings, x = _writable(constants[self.settings_at]), np.empty(self._inputs[-1])
            for state in range(first, last):
                batched.put(state, constants)
                arrays = [x[state] for x in flat]
                if place is not None:
                    place(*constants[:2], *arrays[:5], settings, x)
                    arrays.insert(n, x)
                status = max(status, int(code(*constants, *arrays)))
            return status

        return over_threads(part, count, STATES_PER_TASK)

    def makes_room(self, solver_info: np.ndarray) -> bool:
        """Allocate memory for contacts that a step omitted; return True if the step should be repeated."""
        if not (solver_info.item(INFO.left_out) if solver_info.ndim == 1 else solver_info[..., INFO.left_out].any()):
            return False
        layout, largest = self.constants[self._layout_at].copy(), int(np.max(solver_info[..., INFO.largest]))
        grown, wanted = COUNT.component, largest
        if largest <= layout[COUNT.component]:
            grown, wanted = COUNT.capacity, int(layout[COUNT.capacity] + np.max(solver_info[..., INFO.left_out]))
        before, layout[grown] = layout[grown], min(ROOM * -(-wanted // ROOM), self.touching.most_contacts)
        rows = self.touching.rows_with(min(layout[COUNT.component], layout[COUNT.capacity]))
        free = free_memory()
        if layout[grown] <= before or (free is not None and SQUARES * 8 * rows**2 > free):
            return False  # the report contains their number
        layout.setflags(write=False)
        k = self._layout_at
        self.constants = (*self.constants[:k], layout, *self.constants[k + 1 :])
        self.bound = BoundEntry(self.entry, self.constants, self._inputs, self.shapes, engine="generic")
        return True


def _writable(x: np.ndarray) -> np.ndarray:
    """Return an array, which may change later, or a copy if it is read-only: kernels take only tables that are."""
    return x if x.flags.writeable else x.copy()
