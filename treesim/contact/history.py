"""What contact did in every step of a simulation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..display import Shown, arrays
from ..errors import unknown_name
from ..kernels.contact_step import TOLD

PARTS = ("fx", "fy", "fz", "mx", "my", "mz")
TOLD_NAMES = ("penetration", "residual", "certificate", "contacts", "iterations", "left_out")


@dataclass(frozen=True, eq=False, repr=False)
class ContactHistory(Shown):
    """Contact in the steps that start at K recorded states; the last state has none.

    bodies: those whose shapes may touch. wrench (K, number of bodies, 6): the mean force [N] and moment [N m] of
    contacts in the step, along the world's axes, at the body's origin. told (K, 6): see `ContactReport`.

    Example:
        >>> robot = treesim.load("g1_29dof_rev_1_0", base="floating")
        >>> world = treesim.World(robot, ground=treesim.Ground())
        >>> run = treesim.Simulation(world).run(0.01, q0=treesim.standing(robot, robot.neutral()))
        >>> run.contact.wrench.shape[2], float(run.penetration.max()) < 1e-9
        (6, True)
    """

    bodies: tuple[str, ...]
    wrench: np.ndarray
    told: np.ndarray

    def of_body(self, body: str) -> np.ndarray:
        """Return the wrench (K, 6) on a body; raises UnknownNameError for one that cannot touch anything."""
        if body not in self.bodies:
            raise unknown_name("body with collision shapes that may touch", body, self.bodies)
        return self.wrench[:, self.bodies.index(body)]

    def columns(self) -> Iterator[tuple[str, np.ndarray]]:
        """Name and numbers (K,) of every column of a table."""
        for b, body in enumerate(self.bodies):
            for p, part in enumerate(PARTS):
                yield f"contact.{body}.{part}", self.wrench[:, b, p]
        for k, name in enumerate(TOLD_NAMES):
            yield f"contact:{name}", self.told[:, k]

    @classmethod
    def from_columns(cls, names: Sequence[str], table: np.ndarray) -> ContactHistory | None:
        """Return what the columns of a table tell; None if it has none of contact."""
        at = {name: k for k, name in enumerate(names)}
        if f"contact:{TOLD_NAMES[0]}" not in at:
            return None
        own = [name.removeprefix("contact.").removesuffix(".fx") for name in names if name.startswith("contact.")]
        bodies = tuple(dict.fromkeys(name for name in own if name + ".fx" not in own and f"contact.{name}.fx" in at))
        places = [[at[f"contact.{body}.{part}"] for part in PARTS] for body in bodies]
        wrench = table[:, np.array(places, int).ravel()].reshape(len(table), len(bodies), 6)
        return cls(bodies, wrench, table[:, [at[f"contact:{name}"] for name in TOLD_NAMES]])

    def __len__(self) -> int:
        return len(self.told)

    def __repr__(self) -> str:
        most = int(self.told[:, 3].max(initial=0))
        return f"<ContactHistory: {len(self)} steps, at most {most} contacts>"

    def _facts(self) -> list[tuple[str, Any]]:
        return [("bodies", self.bodies), *arrays(self, "wrench", "told")]


def no_contact(count: int) -> np.ndarray:
    """Return what is told of `count` steps in which nothing touches."""
    return np.zeros((count, TOLD))
