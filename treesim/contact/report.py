"""Contact results of a step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial, reduce
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..errors import UnsupportedError
from ..kernels.contact.components import join, root_of
from ..kernels.contact.layout import COUNT, INFO, RESULT_INFO, STATE_INFO, SUBTREE
from ..model.tree import Tree
from ..system.display import ReprMixin, arrays
from .named_wrenches import NamedWrenches, PairRows, PairWrenches, warn_once
from .points import contact_points
from .tables import Touching

# diagnostics over substeps: those that are summed, and those of the last substep; the largest of others
SUMS, LAST = [INFO.certificate, INFO.iterations], INFO.contacts


class ContactStep(Protocol):
    """Contact results of a step or substep, as the contact solve returns them (`StepOutput`)."""

    @property
    def wrench(self) -> Any:
        """Wrenches (..., N + 1, 6) on bodies."""

    @property
    def pairs(self) -> Any:
        """Wrenches (..., P, 12) of pairs of bodies."""

    @property
    def solver_info(self) -> Any:
        """Diagnostics (..., 7)."""


class NoContact(NamedTuple):
    """Results of a step without contact: zeros."""

    wrench: np.ndarray
    pairs: np.ndarray
    solver_info: np.ndarray


class ContactReport(ReprMixin):
    """Results of contacts, joint limits and joint friction in a step of one state or a batch.

    Parameters
    ----------
    touching : Touching
        Tables of the pairs that may touch.
    substeps : sequence of ContactStep
        Results of the equal parts of the step. The attributes of a part are computed when they are read.
    points_of : callable, optional
        Function that returns the contact points (n, 17) of each part of the step of one state.
    pairs_of : callable, optional
        Function that returns the wrenches (..., P, 12) of pairs in each part; by default those of the substeps.

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> stepper = treesim.Stepper(robot)
    >>> stepper.step(stepper.reset())[1].contact
    <ContactReport: no contacts>
    """

    def __init__(
        self,
        touching: Touching,
        substeps: Sequence[ContactStep],
        points_of: Callable[[], list[np.ndarray]] | None = None,
        pairs_of: Callable[[], list[np.ndarray]] | None = None,
    ) -> None:
        self.touching, self._substeps, self._points_of, self._pairs_of = touching, substeps, points_of, pairs_of

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
            Report in which all values are zero.
        """
        shapes = (robot.n_bodies + 1, 6), (int(touching.layout[COUNT.groups]), 12), (RESULT_INFO,)
        return cls(touching, [NoContact(*(np.zeros(batch + shape) for shape in shapes))])

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes, with points and wrenches of pairs instead of the compiled code that computes them."""
        functions = {"_points_of": self._points_of, "_pairs_of": self._pairs_of}
        return self.__dict__ | {name: partial(list, of()) for name, of in functions.items() if of is not None}

    @property
    def wrench(self) -> NamedWrenches:
        """Mean contact force [N] and moment [N m] (..., N + 1, 6) on every body in the step, indexed by names.

        `wrench["foot"]` is the wrench (..., 6) on a body, and `wrench["ground"]` or the name of a surface that on the
        ground. The axes are those of the world, and the moment is about the body's origin, or for a surface about the
        world's origin. Row 0 is the ground. `ContactHistory.wrench` has other rows, so integers in the place of names
        issue a `LayoutWarning`.
        """
        return NamedWrenches.of(
            self.wrench_array, self.touching.wrench_rows.with_forces(lambda: self.pair_wrench_array)
        )

    @cached_property
    def wrench_array(self) -> np.ndarray:
        """Wrenches (..., N + 1, 6) of `wrench` as an array without names."""
        return mean_of([each.wrench for each in self._substeps])

    @property
    def pair_wrench(self) -> PairWrenches:
        """Mean wrenches (..., P, 12) of the pairs that may touch, on the first, then on the second, indexed by names.

        `pair_wrench["foot", "floor"]` is that of `between("foot", "floor")`. `pair_wrench.pairs` are the names of the
        pairs. The array has one row of zeros if there are no pairs.
        """
        groups, surfaces = self.touching.groups, self.touching.surfaces
        bodies = dict.fromkeys(name for group in groups for name in group if name not in surfaces)
        return PairWrenches.of(self.pair_wrench_array, PairRows(tuple(bodies), surfaces, groups))

    @cached_property
    def pair_wrench_array(self) -> np.ndarray:
        """Wrenches (..., P, 12) of `pair_wrench` as an array without names.

        In worlds with more than 64 pairs, steps of a `Stepper` do not compute them. The step is computed again when the
        attribute is read for the first time.
        """
        return mean_of([each.pairs for each in self._substeps] if self._pairs_of is None else self._pairs_of())

    @property
    def pairs(self) -> PairWrenches:
        """Deprecated name of `pair_wrench`; a later version returns the names of pairs, as `ContactHistory.pairs`."""
        warn_once(
            "pairs of reports",
            "report.contact.pairs is the array of wrenches, but run.contact.pairs are names: take "
            "report.contact.pair_wrench; in a later version report.contact.pairs are names, too",
        )
        return self.pair_wrench

    @cached_property
    def points(self) -> np.ndarray:
        """Contact points of the step of one state, a structured array (n,).

        Fields: `body` and `other`, names of bodies or surfaces; `position` [m, world] at the start of the substep;
        `normal`, from `other` to `body`; `gap` [m] at the end of the substep, negative for an overlap; `force` [N,
        world] on `body`, and `torque` [N m, world] of torsional and rolling friction; `velocity` [m/s, world] of `body`
        relative to `other` at the end of the substep; `link` and `other_link`, the touching links of the two bodies,
        which can consist of several links. Each of the n substeps of a step has points of its own, with the number of
        the substep in the field `substep`. Forces and torques of the points are divided by n. The sum of all forces and
        moments is therefore `wrench`. If two faces touch at several points, only the sum and the moment of the forces
        are unique. The step is computed again when the attribute is read for the first time. Raises UnsupportedError
        for batches.
        """
        if self._points_of is None:
            raise UnsupportedError(
                "contact points are those of steps of one state: step the states of a batch one by one"
            )
        return contact_points(self.touching, self._points_of())

    @property
    def solver_info(self) -> np.ndarray:
        """Diagnostics (..., 7) of the contact solver, each of which is also a property, such as `residual`.

        With several substeps, `certificate` and `iterations` are sums over the substeps, and `count` is that of the
        last substep. All other values are the largest of the substeps. Of several islands, `iterations` and
        `certificate` are the largest, too.
        """
        return self._diagnostics[..., :STATE_INFO]

    @cached_property
    def _diagnostics(self) -> np.ndarray:
        """Diagnostics (..., RESULT_INFO), see `treesim.kernels.contact.layout.StepInfo`."""
        if len(self._substeps) == 1:
            return np.asarray(self._substeps[0].solver_info)
        every = [each.solver_info for each in self._substeps]
        found: np.ndarray = reduce(np.maximum, every)
        for k in SUMS:
            found[..., k] = sum(each[..., k] for each in every)
        found[..., LAST] = every[-1][..., LAST]
        return found

    def between(self, body: str, other: str) -> np.ndarray:
        """Return the mean wrench that the body or surface `other` exerts on `body` during the step.

        Parameters
        ----------
        body, other : str
            Names of bodies, or of surfaces of the world. The name "ground" means all surfaces together.

        Returns
        -------
        numpy.ndarray
            (..., 6) force [N] and moment [N m], in world axes. The moment is about the origin of `body`, or for a
            surface about the world's origin.

        Raises
        ------
        UnknownNameError
            If a name is not the name of a body or surface that may touch others.
        """
        return np.asarray(self.pair_wrench[body, other])

    @property
    def penetration(self) -> np.ndarray:
        """Largest overlap of two shapes at the end of the step [m], shape (...)."""
        return self.solver_info[..., INFO.penetration]

    @property
    def residual(self) -> np.ndarray:
        """Largest complementarity residual of velocities in the step [m/s, rad/s], shape (...).

        The residual includes contacts, joint limits and joint friction.
        """
        return self.solver_info[..., INFO.residual]

    @property
    def position_residual(self) -> np.ndarray:
        """Largest complementarity residual of the position correction of contacts and limits [m/s, rad/s], shape (...).

        The conditions on positions are that gaps do not become negative, and that overlaps shrink.
        """
        return self.solver_info[..., INFO.position_residual]

    @property
    def certificate(self) -> np.ndarray:
        """Change of kinetic energy by the contact solver's impulses in the step [J], shape (...).

        A correct solution never increases the energy (page "The contact model"). Impulses of soft surfaces, which act
        as springs, are not included.
        """
        return self.solver_info[..., INFO.certificate]

    @property
    def count(self) -> np.ndarray:
        """Number of contact points in the step, shape (...)."""
        return self.solver_info[..., INFO.contacts].astype(int)

    @property
    def iterations(self) -> np.ndarray:
        """Number of iterations of the contact solver, including sweeps over the contacts, shape (...)."""
        return self.solver_info[..., INFO.iterations].astype(int)

    @property
    def island_count(self) -> np.ndarray:
        """Number of islands, shape (...): groups of bodies that contacts, loops and constraints connect.

        Each is a problem of its own, which does not depend on other bodies. The bodies of a robot are of one island,
        and static and kinematic bodies of none. Islands on which neither contacts nor limits can act do not count.
        """
        return self._diagnostics[..., INFO.components].astype(int)

    @cached_property
    def islands(self) -> tuple[tuple[str, ...], ...]:
        """Names of the bodies of each island with contact points, in a step of one state.

        The step is computed again when the attribute is read for the first time. Raises UnsupportedError for batches.
        """
        tables, names = self.touching.touch, self.touching.body_names
        subtree_of, root = tables.subtree_of, list(range(len(tables.subtree) - 1))
        numbers, constrained = {name: i for i, name in enumerate(names, 1)}, tables.subtree[:-1, SUBTREE.constrained]
        (held,) = constrained.nonzero()
        for t in held:
            join(root, held[0], t)
        ends = [
            [subtree_of[numbers.get(name, 0)] for name in point] for point in self.points[["body", "other"]].tolist()
        ]
        for pair in ends:
            join(root, max(pair), min(pair) if min(pair) >= 0 else max(pair))
        found: dict[int, list[str]] = {root_of(root, max(pair)): [] for pair in ends}
        for name, t in zip(names, subtree_of[1:], strict=True):
            if t >= 0 and (k := root_of(root, t)) in found:
                found[k].append(name)
        return tuple(tuple(found[k]) for k in sorted(found))

    @property
    def worst_islands(self) -> list[str]:
        """Name of the first body of the island with the largest residual in each state; "" without several islands."""
        tables = self.touching.touch
        info = self._diagnostics.reshape(-1, RESULT_INFO)
        bodies = tables.subtree[info[:, INFO.island].astype(int), SUBTREE.body]
        return [
            self.touching.body_names[body - 1] if count > 1 else ""
            for body, count in zip(bodies.tolist(), info[:, INFO.components].tolist(), strict=True)
        ]

    @property
    def left_out(self) -> np.ndarray:
        """Number of contact points that were omitted because the step's memory was full, shape (...)."""
        return self.solver_info[..., INFO.left_out].astype(int)

    def __repr__(self) -> str:
        most = int(self.count.max(initial=0))
        return f"<ContactReport: {f'{most} contacts' if most else 'no contacts'}>"

    def _repr_fields(self) -> list[tuple[str, Any]]:
        return [*arrays(self, "wrench", "penetration", "residual", "certificate")]


def mean_of(every: list[np.ndarray]) -> np.ndarray:
    """Return the mean of the substeps' results: that of a single one itself."""
    return every[0] if len(every) == 1 else sum(every[1:], every[0]) / len(every)
