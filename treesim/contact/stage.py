"""The part of a step in which bodies touch: what turns the free step into one with contact, limits and friction."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import plugins
from ..dynamics.tables import constants_of
from ..engine.call.evaluate import run_states
from ..errors import UnsupportedError
from ..kernels.contact_step import TOLD, contact_step_entry
from ..kernels.status import FINE
from ..model.tree import Tree
from .base import ContactSolver
from .tables import Touching

SHARE = {"implicit_midpoint": 0.5, "semi_implicit_euler": 1.0}  # of an impulse in the mean velocity of a rule
TOLERANCE = 1e-9  # m/s, rad/s: by how much a contact may miss its law
SWEEPS = 1000


class ContactStage:
    """Compiled code of what contact makes of a free step, for single states and batches."""

    def __init__(
        self,
        robot: Tree,
        touching: Touching,
        rule: str,
        settings: np.ndarray,
        gravity: np.ndarray | None,
        solver: str | ContactSolver = "pgs",
    ) -> None:
        if rule not in SHARE:
            raise UnsupportedError(f"integrator {rule!r} knows no contact: take one of {', '.join(map(repr, SHARE))}")
        chosen = plugins.get("contact_solvers", solver) if isinstance(solver, str) else solver
        self.robot, self.touching = robot, touching
        self.entry = contact_step_entry(type(chosen).kernel, type(chosen).memory)
        scheme = np.array([SHARE[rule], TOLERANCE, SWEEPS, float(chosen.exact)])
        self.constants = (*constants_of(robot, gravity), touching.layout, touching.geometry, settings, scheme)
        self.shapes = ((robot.nq,), (robot.nv,), (touching.rows,), (robot.n_bodies + 1, 6), (TOLD,), (2,))

    def results(self, batch: tuple[int, ...] = ()) -> tuple[np.ndarray, ...]:
        """Return memory for what the stage gives: q, v, impulses, wrenches, what is told, and changes of the work."""
        return tuple(np.empty((*batch, *shape)) for shape in self.shapes)

    def run(self, q: Any, v: Any, q_free: Any, v_free: Any, force: Any, before: Any) -> tuple[np.ndarray, ...]:
        """Return `results` of one state or a batch, from its free step and the impulses of the step before."""
        batch = q.shape[:-1]
        out = self.results(batch)
        many = max(1, int(np.prod(batch)))
        given = [np.ascontiguousarray(x, float).reshape(many, -1) for x in (q, v, q_free, v_free, force, before)]
        status = run_states(self.entry, self.constants, given, [x.reshape(many, -1) for x in out], "generic")
        assert status == FINE
        return out


