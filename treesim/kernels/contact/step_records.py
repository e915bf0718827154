"""Records of a step with contact: its input and results, of one state or many, and how it is computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .component_functions import ComponentFunctions
from .contact_points import POINT
from .rolling_friction import RollingFriction
from .warm_start import ImpulseAccess


class StepInput(NamedTuple):
    """What contact is added to: the state (q, v), the unconstrained step's end, its applied forces and its work.

    Of one state or a batch (...), in the order of the kernels' arguments. q, v: at the start of the step. q_free,
    v_free: end of the unconstrained step. force (..., nv), work_free (..., 2): its applied controls and its work.
    external (..., nv): joint forces of external forces; None in steps without. warm_start (..., R): impulses of the
    step before. external_contacts (..., F, 9): contacts found outside the kernel.
    """

    q: Any
    v: Any
    q_free: Any
    v_free: Any
    force: Any
    external: Any
    work_free: Any
    warm_start: Any
    external_contacts: Any

    def mapped(self, function: Callable[[Any], Any]) -> StepInput:
        """Return the function's values of all arrays."""
        return StepInput(*(None if x is None else function(x) for x in self))

    @property
    def arrays(self) -> list[Any]:
        """All arrays that are not None."""
        return [x for x in self if x is not None]


class StepOutput(NamedTuple):
    """Results of a step of one state or a batch (...), in the order of the kernels' arguments; or the arrays' shapes.

    q, v: state at the end of the step. warm_start (..., R): impulses for the warm start of the next step. wrench (...,
    N + 1, 6), pairs (..., P, 12): on the bodies, and of pairs of bodies; without rows if they are not requested.
    solver_info: `layout.StepInfo`. work (..., 2): of the control, and of damping, friction and contact [J]. points (C,
    17): those of contact of one state (`contact_points`), None if they are not requested.
    """

    q: Any
    v: Any
    warm_start: Any
    wrench: Any
    pairs: Any
    solver_info: Any
    work: Any
    points: Any = None

    def mapped(self, function: Callable[[Any], Any]) -> StepOutput:
        """Return the function's values of all arrays."""
        return StepOutput(*(None if x is None else function(x) for x in self))

    @property
    def arrays(self) -> list[Any]:
        """All arrays, with one row of points if they are not requested."""
        *others, points = self
        return [*others, np.empty((*self.q.shape[:-1], 1, POINT)) if points is None else points]


class StepFunctions(NamedTuple):
    """Functions that vary between compiled steps.

    components: of `component_functions`. with_kinematics: whether kinematics are given (`contact_kinematics`). again:
    whether the midpoint corrector is used (`midpoint_correction`), which supports neither mimic joints nor external
    contacts. find (m, dt): finds contacts, marks their rows as active, and returns their number. rolling: of
    `rolling_friction`. put_constrained (tree, m, n): writes rows of constrained frames. is_full (nc, several): if there
    are too many contacts for several states together. with_rotors, hold: of mimic joints (`contact_mimic`). mask_rows,
    regularize, mask: mark rows as inactive in Z, in G, and in a problem. solve (problem, impulse, sigma, tolerance,
    wanted, m, nc, method): solves a problem on the lanes `wanted`, and counts iterations; solve_once: the same without
    torsional and rolling friction. impulses: of `warm_start`. report (m, nc, n, dt): writes further results of a solve.
    put_wrenches (m, nc, n, dt, y, where, f): adds the wrenches of a component with n rows. limit_to (m, n, needed):
    marks rows as inactive where no correction is needed.
    """

    components: ComponentFunctions
    with_kinematics: Any
    again: Any
    find: Any
    rolling: RollingFriction
    put_constrained: Any
    is_full: Any
    with_rotors: Any
    hold: Any
    mask_rows: Any
    regularize: Any
    mask: Any
    limit_to: Any
    solve: Any
    solve_once: Any
    impulses: ImpulseAccess
    report: Any
    put_wrenches: Any


class StepMethod(NamedTuple):
    """How steps are computed: settings of the step, options (`layout.SolverOptions`), functions and their memory.

    several: whether there are several states. mimic_constraint: mimic joints, 0 without any.
    """

    settings: Any
    options: Any
    functions: StepFunctions
    solver_memory: Any
    mimic_constraint: Any
    several: Any
