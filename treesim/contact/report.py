"""What contact did in a step."""

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

# of what is told over substeps: what adds up, and what is the last one's; of others the largest
SUMS, LAST = [CERTIFICATE, ITERATIONS], CONTACTS


@dataclass(frozen=True, repr=False)
class ContactReport(ReprMixin):
    """Contacts, joint limits and joint friction in a step of one state or a batch.

    wrench (..., N + 1, 6): the mean force [N] and moment [N m] of contacts on every body, the base first, along the
    world's axes, at the body's origin. told (..., 7), the rows of `penetration` and so on. touching: the tables of what
    may touch; pairs (..., P, 12): the same of what those do to each other that `touching.groups` names, on the first,
    then on the second, one row of zeros where nothing can touch; see `between`.

    Example:
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
        """Return that of a step in which nothing touches."""
        pairs = np.zeros((*batch, int(touching.layout[8]), 12))
        return cls(np.zeros((*batch, robot.n_bodies + 1, 6)), np.zeros((*batch, SOLVER_INFO)), touching, pairs)

    @classmethod
    def of(cls, touching: Touching, parts: Sequence[tuple[np.ndarray, ...]]) -> ContactReport:
        """Return that of a step whose equal parts have these wrenches, of bodies and pairs, and this told of them."""
        wrench, pairs, solver_info = parts[-1]
        if len(parts) > 1:
            wrench, pairs = (np.stack(each).mean(axis=0) for each in list(zip(*parts, strict=True))[:2])
            every = np.stack([each for *_, each in parts])
            solver_info = every.max(axis=0)
            solver_info[..., SUMS] = every[..., SUMS].sum(axis=0)
            solver_info[..., LAST] = every[-1][..., LAST]
        return cls(wrench, solver_info, touching, pairs)

    def between(self, body: str, other: str) -> np.ndarray:
        """Return the mean force and moment (..., 6) that `other` exerts on `body` in the step [N, N m], along the
        world's axes, at the origin of `body`. Each is a body, or a surface of the world by its name, whose origin is
        the world's; "ground" is all surfaces together. Raises UnknownNameError for what cannot touch anything.
        """
        names = tuple(dict.fromkeys(name for group in self.touching.groups for name in group))
        surfaces = self.touching.surfaces
        bodies = tuple(name for name in names if name not in surfaces)
        return between(self.touching.groups, self.pairs, bodies, surfaces, body, other)

    @property
    def penetration(self) -> np.ndarray:
        """The largest overlap (...) at the end of the step [m]."""
        return self.solver_info[..., PENETRATION]

    @property
    def residual(self) -> np.ndarray:
        """By how much the worst contact, limit or joint misses its law (...) [m/s, rad/s]."""
        return self.solver_info[..., RESIDUAL]

    @property
    def position_residual(self) -> np.ndarray:
        """By how much the worst contact or limit misses what positions ask for, that no gap becomes negative and
        overlaps shrink (...) [m/s, rad/s]."""
        return self.solver_info[..., POSITION_RESIDUAL]

    @property
    def certificate(self) -> np.ndarray:
        """By how much impulses, but for those of soft surfaces' springs, changed the kinetic energy (...) [J]: never
        upwards, see docs/contact.md."""
        return self.solver_info[..., CERTIFICATE]

    @property
    def count(self) -> np.ndarray:
        """Number of contacts (...) that were near enough to act."""
        return self.solver_info[..., CONTACTS].astype(int)

    @property
    def iterations(self) -> np.ndarray:
        """Sweeps and iterations of the solver (...)."""
        return self.solver_info[..., ITERATIONS].astype(int)

    @property
    def left_out(self) -> np.ndarray:
        """Contacts (...) for which there was no room."""
        return self.solver_info[..., LEFT_OUT].astype(int)

    def __repr__(self) -> str:
        most = int(self.count.max(initial=0))
        return f"<ContactReport: {f'{most} contacts' if most else 'no contacts'}>"

    def _repr_fields(self) -> list[tuple[str, Any]]:
        return [*arrays(self, "wrench", "penetration", "residual", "certificate")]
