"""Contact results of a step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..kernels.contact.contact_step import (
    CERTIFICATE,
    CONTACTS,
    ITERATIONS,
    LEFT_OUT,
    PENETRATION,
    POSITION_RESIDUAL,
    RESIDUAL,
    SOLVER_INFO,
)
from ..model.tree import Tree
from ..system.display import ReprMixin, arrays
from .pairs import between
from .tables import Touching

# diagnostics over substeps: those that are summed, and those of the last substep; the largest of others
SUMS, LAST = [CERTIFICATE, ITERATIONS], CONTACTS


@dataclass(frozen=True, repr=False)
class ContactReport(ReprMixin):
    """Results of contacts, joint limits and joint friction in a step of one state or a batch.

    Parameters
    ----------
    wrench : numpy.ndarray
        (..., N + 1, 6) mean contact force [N] and moment [N m] on every body during the step, the base first, in world
        axes at the body's origin.
    solver_info : numpy.ndarray
        (..., 7) diagnostics, which the properties return by name.
    touching : Touching
        Tables of the pairs that may touch.
    pairs : numpy.ndarray
        (..., P, 12) wrenches of the pairs `touching.groups`: on the first, then on the second. One row of zeros if
        there are no pairs. See `between`.

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> stepper = treesim.Stepper(robot)
    >>> stepper.step(stepper.reset())[1].contact
    <ContactReport: no contacts>
    """

    wrench: np.ndarray
    solver_info: np.ndarray
    touching: Touching
    pairs: np.ndarray

    @classmethod
    def empty(cls, robot: Tree, touching: Touching, batch: tuple[int, ...]) -> ContactReport:
        """Return the report of a step without contact.

        Parameters
        ----------
        robot : Tree
            Robot.
        touching : Touching
            Tables of the pairs that may touch.
        batch : tuple of int
            Shape of the batch; () for one state.

        Returns
        -------
        ContactReport
            Report of zeros.
        """
        pairs = np.zeros((*batch, int(touching.layout[8]), 12))
        return cls(np.zeros((*batch, robot.n_bodies + 1, 6)), np.zeros((*batch, SOLVER_INFO)), touching, pairs)

    @classmethod
    def of(cls, touching: Touching, parts: Sequence[tuple[np.ndarray, ...]]) -> ContactReport:
        """Return the report of a step that consists of equal substeps.

        Parameters
        ----------
        touching : Touching
            Tables of the pairs that may touch.
        parts : sequence of tuple
            Wrenches of bodies, wrenches of pairs, and diagnostics of each substep.

        Returns
        -------
        ContactReport
            Mean wrenches; the largest diagnostics, but sums of energy dissipation and iterations, and the last number
            of contacts.
        """
        wrench, pairs, solver_info = parts[-1]
        if len(parts) > 1:
            wrench, pairs = (np.stack(each).mean(axis=0) for each in list(zip(*parts, strict=True))[:2])
            every = np.stack([each for *_, each in parts])
            solver_info = every.max(axis=0)
            solver_info[..., SUMS] = every[..., SUMS].sum(axis=0)
            solver_info[..., LAST] = every[-1][..., LAST]
        return cls(wrench, solver_info, touching, pairs)

    def between(self, body: str, other: str) -> np.ndarray:
        """Return the mean wrench that one body or surface exerts on another in the step.

        Parameters
        ----------
        body, other : str
            Names of bodies, or of surfaces of the world; "ground" is all surfaces together.

        Returns
        -------
        numpy.ndarray
            (..., 6) force [N] and moment [N m] of `other` on `body`, in world axes at the origin of `body` (of the
            world for a surface).

        Raises
        ------
        UnknownNameError
            If a name is not among the bodies and surfaces that may touch.
        """
        names = tuple(dict.fromkeys(name for group in self.touching.groups for name in group))
        surfaces = self.touching.surfaces
        bodies = tuple(name for name in names if name not in surfaces)
        return between(self.touching.groups, self.pairs, bodies, surfaces, body, other)

    @property
    def penetration(self) -> np.ndarray:
        """Largest overlap (...) at the end of the step [m]."""
        return self.solver_info[..., PENETRATION]

    @property
    def residual(self) -> np.ndarray:
        """Largest complementarity residual (...) of velocities [m/s, rad/s] of contacts, limits and friction."""
        return self.solver_info[..., RESIDUAL]

    @property
    def position_residual(self) -> np.ndarray:
        """Largest complementarity residual (...) of positions, over contacts and limits [m/s, rad/s].

        The conditions on positions are that no gap becomes negative and overlaps shrink.
        """
        return self.solver_info[..., POSITION_RESIDUAL]

    @property
    def certificate(self) -> np.ndarray:
        """Change of kinetic energy (...) by the impulses [J], which is never positive; see docs/contact.md.

        Impulses of the springs of soft surfaces are excluded.
        """
        return self.solver_info[..., CERTIFICATE]

    @property
    def count(self) -> np.ndarray:
        """Number of contacts (...) in the contact problem."""
        return self.solver_info[..., CONTACTS].astype(int)

    @property
    def iterations(self) -> np.ndarray:
        """Number of sweeps and iterations (...) of the contact solver."""
        return self.solver_info[..., ITERATIONS].astype(int)

    @property
    def left_out(self) -> np.ndarray:
        """Number of contacts (...) that were omitted because memory was exceeded."""
        return self.solver_info[..., LEFT_OUT].astype(int)

    def __repr__(self) -> str:
        most = int(self.count.max(initial=0))
        return f"<ContactReport: {f'{most} contacts' if most else 'no contacts'}>"

    def _repr_fields(self) -> list[tuple[str, Any]]:
        return [*arrays(self, "wrench", "penetration", "residual", "certificate")]
