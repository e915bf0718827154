"""Contact results of every step of a simulation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ArgumentError
from ..kernels.contact.layout import STATE_INFO
from ..model.coordinates import distinct
from ..system.display import ReprMixin, arrays
from ..validation.arrays import real_numbers
from ..validation.values import checked_parts, checked_text, checked_texts, short_repr
from .named_wrenches import NamedWrenches, PairRows, PairWrenches, WrenchRows
from .points import LINKS, point_type

NOT_RECORDED = "contact points were not recorded: simulate with treesim.Simulation(..., contact_points=True)"
PARTS = ("fx", "fy", "fz", "mx", "my", "mz")
SOLVER_INFO_NAMES = (
    "penetration",
    "residual",
    "certificate",
    "contacts",
    "iterations",
    "left_out",
    "position_residual",
)


@dataclass(frozen=True, eq=False, repr=False)
class ContactHistory(ReprMixin):
    """Contact results of the steps that start at K recorded states; those of the last state are zero.

    bodies: names of bodies whose shapes may touch. wrench (K, number of bodies, 6): mean contact force [N] and
    moment [N m] on them during the step, in world axes at the body's origin. It is indexed by names: wrench["foot"],
    or wrench["ground"] and the names of surfaces (K, 6). solver_info (K, 7): diagnostics, see
    `ContactReport`. surfaces: names of surfaces of the world, and of links on fixed bases. pairs: pairs of bodies,
    or of a body and a surface, that touched at some time. pair_wrench (K, number of pairs, 12): wrench on the
    first, then on the second, of each pair; pair_wrench["foot", "floor"] is the wrench (K, 6) of the second on the
    first. points (n,): contact points of all steps, as `ContactReport.points`, None if they were not recorded;
    those of step k are from first_point[k] to first_point[k + 1], (K + 1,). Files of older versions have no
    pairs. Raises ArgumentError for invalid names, numbers and shapes.

    Examples
    --------
    >>> robot = treesim.load("g1_29dof_rev_1_0", base="floating")
    >>> world = treesim.World(robot, ground=treesim.Ground())
    >>> run = treesim.Simulation(world).run(0.01, q0=treesim.standing(robot, robot.neutral()))
    >>> run.contact.wrench.shape[2], float(run.penetration.max()) < 1e-9
    (6, True)
    """

    bodies: tuple[str, ...]
    wrench: np.ndarray
    solver_info: np.ndarray
    surfaces: tuple[str, ...] = ()
    pairs: tuple[tuple[str, str], ...] = ()
    pair_wrench: np.ndarray = None  # type: ignore[assignment]  # none, see __post_init__
    points: np.ndarray | None = None
    first_point: np.ndarray | None = None

    def __post_init__(self) -> None:
        for label in ("bodies", "surfaces"):
            object.__setattr__(self, label, checked_texts(label, getattr(self, label)))
        ends = [checked_texts(f"pairs[{k}]", pair) for k, pair in enumerate(checked_parts("pairs", self.pairs, object))]
        if any(len(pair) != 2 for pair in ends):
            raise ArgumentError(f"pairs must be pairs of names, got {short_repr(self.pairs)}")
        object.__setattr__(self, "pairs", tuple(ends))
        count = len(real_numbers("solver_info", self.solver_info)) if np.ndim(self.solver_info) else 0
        if self.pair_wrench is None:
            object.__setattr__(self, "pair_wrench", np.zeros((count, len(ends), 12)))
        shapes = {"solver_info": (STATE_INFO,), "wrench": (len(self.bodies), 6), "pair_wrench": (len(ends), 12)}
        for label, shape in shapes.items():
            array = real_numbers(label, getattr(self, label))
            if array.shape != (count, *shape):
                raise ArgumentError(f"{label} of contact has shape {array.shape}, but {(count, *shape)} is needed")
            object.__setattr__(self, label, array)
        rows = WrenchRows(self.bodies, self.surfaces, self.pairs, np.asarray(self.pair_wrench))
        object.__setattr__(self, "wrench", NamedWrenches.of(self.wrench, rows))
        of_pairs = PairRows(self.bodies, self.surfaces, self.pairs)
        object.__setattr__(self, "pair_wrench", PairWrenches.of(self.pair_wrench, of_pairs))
        self._check_points(count)

    def _check_points(self, count: int) -> None:
        """Raise ArgumentError if there are contact points that are not those of `count` steps."""
        if self.points is None and self.first_point is None:
            return
        points, first = np.asarray(self.points), np.asarray(self.first_point)
        named = [kind for kind in point_type(1) if kind[0] not in LINKS or kind[0] in (points.dtype.names or ())]
        if points.ndim != 1 or points.dtype.names != tuple(kind[0] for kind in named):
            raise ArgumentError(
                f"points of contact must be a structured array as ContactReport.points, got {points.dtype}"
            )
        for label, kind, *shape in named:
            given = points.dtype[label]
            if given.shape != tuple(*shape) or given.base.kind != np.dtype(kind).kind:
                raise ArgumentError(f"points of contact: field {label!r} is {given}, but {kind} is needed")
        whole = first.dtype.kind in "iu" and first.shape == (count + 1,)
        if not (whole and first[0] == 0 and first[-1] == len(points) and (np.diff(first) >= 0).all()):
            raise ArgumentError(f"first_point of contact must be {count + 1} rising indices from 0 to {len(points)}")

    @property
    def wrench_array(self) -> np.ndarray:
        """Wrenches (K, number of bodies, 6) of `wrench` as an array without names."""
        return np.asarray(self.wrench)

    @property
    def pair_wrench_array(self) -> np.ndarray:
        """Wrenches (K, number of pairs, 12) of `pair_wrench` as an array without names."""
        return np.asarray(self.pair_wrench)

    def at_step(self, k: int) -> np.ndarray:
        """Return the contact points (n,) of step k; raises ArgumentError if they were not recorded."""
        if self.points is None or self.first_point is None:
            raise ArgumentError(NOT_RECORDED)
        first = self.first_point
        return self.points[first[k] : first[k + 1]]

    def of_body(self, body: str, other: str | None = None) -> np.ndarray:
        """Return the wrench (K, 6) on a body or surface, from all others or from `other`.

        "ground" is all surfaces together. Raises UnknownNameError for a name that is not among bodies and surfaces.
        """
        body = checked_text("body", body)
        if other is None:
            return np.asarray(self.wrench[body])
        of_pairs: Any = self.pair_wrench
        return np.asarray(of_pairs[body, checked_text("other", other)])

    def columns(self) -> Iterator[tuple[str, np.ndarray]]:
        """Yield the name and the values (K,) of every column of a table."""
        for b, body in enumerate(self.bodies):
            for p, part in enumerate(PARTS):
                yield f"contact.{body}.{part}", self.wrench_array[:, b, p]
        for p, name in enumerate(pair_columns(self.pairs)):
            yield name, self.pair_wrench_array.reshape(len(self), -1)[:, p]
        for k, name in enumerate(SOLVER_INFO_NAMES):
            yield f"contact:{name}", self.solver_info[:, k]

    def description(self) -> dict[str, Any]:
        """Return the names, for storage in files."""
        return {"touching": self.bodies, "surfaces": self.surfaces, "pairs": self.pairs}

    @classmethod
    def from_columns(
        cls,
        names: Sequence[str],
        table: np.ndarray,
        bodies: tuple[str, ...],
        surfaces: tuple[str, ...],
        pairs: tuple[tuple[str, str], ...],
    ) -> ContactHistory | None:
        """Return the contact results in columns `names` of a table; None if it has no contact columns."""
        at = {name: k for k, name in enumerate(names)}
        if f"contact:{SOLVER_INFO_NAMES[0]}" not in at:
            return None
        places = [[at[f"contact.{body}.{part}"] for part in PARTS] for body in bodies]
        wrench = table[:, np.array(places, int).ravel()].reshape(len(table), len(bodies), 6)
        solver_info = np.zeros((len(table), STATE_INFO))
        for k, name in enumerate(SOLVER_INFO_NAMES):
            if f"contact:{name}" in at:  # older files have fewer
                solver_info[:, k] = table[:, at[f"contact:{name}"]]
        pair_wrench = table[:, np.array([at[name] for name in pair_columns(pairs)], int)]
        return cls(bodies, wrench, solver_info, surfaces, pairs, pair_wrench.reshape(len(table), len(pairs), 12))

    def __len__(self) -> int:
        return len(self.solver_info)

    def __repr__(self) -> str:
        most = int(self.solver_info[:, 3].max(initial=0))
        return f"<ContactHistory: {len(self)} steps, at most {most} contacts>"

    def _repr_fields(self) -> list[tuple[str, Any]]:
        return [("bodies", self.bodies), ("pairs", self.pairs), *arrays(self, "wrench", "solver_info", "pair_wrench")]


def pair_columns(pairs: Sequence[tuple[str, str]]) -> list[str]:
    """Return the names of pairs' columns: wrench of the second on the first, then of the first on the second."""
    ways = [way for one, other in pairs for way in ((one, other), (other, one))]
    return distinct([f"contact[{one}, {other}].{part}" for one, other in ways for part in PARTS])


def no_contact(count: int) -> np.ndarray:
    """Return zero diagnostics (count, 7) of steps without contact."""
    return np.zeros((count, STATE_INFO))
