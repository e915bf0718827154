"""Search for the causes of a difference: candidate changes of treesim's model that make the difference vanish."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from itertools import chain, takewhile
from typing import Any

import numpy as np
from lxml import etree

from ..errors import ModelError, TreesimError, UnsupportedError
from ..kernels.algebra.spatial import WX, WY, WZ
from ..model.tree import Tree
from ..states.arguments import positive_number
from ..types import Base
from .adapter import EngineAdapter
from .candidates import Candidate, Side
from .description import Description, read_description
from .engine_model import EngineModel
from .engines import find_engine
from .evidence import INERTIAL, PLACEMENT, TOLERANCE, Evidence, Mismatch, forces
from .fitted_candidates import body_candidates, candidates_of_other_file, fitted_candidates, suspicious_bodies
from .inertial_candidates import inertial_candidates, inertial_candidates_everywhere, inertial_of
from .joint_candidates import joint_candidates, joint_candidates_everywhere
from .joint_terms import joint_of
from .merging_candidates import merging_candidates
from .regressor import inertia_from, parameters
from .results import RAW, StateBatch
from .robot_candidates import robot_candidates
from .term_candidates import term_candidates
from .treesim_engine import random_batch

STATES = 8  # at which candidates are evaluated
MOST = 40  # largest number of causes
SECONDS = 60.0  # default time limit of the search
ALSO_LISTED = 3  # indistinguishable candidates that are listed with the chosen one

Key = tuple[int, int, float]


@dataclass(frozen=True)
class Explanation:
    """One cause of a difference between two engines or descriptions.

    Parameters
    ----------
    kind : str
        Stable key of the kind of cause.
    owner : str
        Link or joint concerned, or "the robot".
    cause : str
        Text that describes the difference between the two engines or files.
    place : str
        file:line of the element in the file that treesim reads; empty if there is none.
    effect : float
        Change of the force at `joint`, as the median over random states [`unit`].
    unit : str
        Unit of `effect`, "N" or "N m".
    joint : str
        Joint at which the effect is largest.
    before, after : float
        Largest remaining difference of a joint force [N, N m] before and after this cause is included. Earlier causes
        are included in `before` and `after`.
    also : tuple of str
        Other candidates with the same effect, which cannot be distinguished from this cause.
    other_place : str
        file:line of the element in the other file; empty if there is none.
    """

    kind: str
    owner: str
    cause: str
    place: str
    effect: float
    unit: str
    joint: str
    before: float
    after: float
    also: tuple[str, ...] = ()
    other_place: str = ""

    def __str__(self) -> str:
        places = " and ".join(filter(None, (self.place, self.other_place)))
        where = f"{self.owner} ({places})" if places else self.owner
        also = f"; or {'; or '.join(self.also)}" if self.also else ""
        effect = f"{self.effect:.3g} {self.unit} at joint {self.joint!r}" if self.effect else "no joint force changes"
        return f"{where}: {self.cause}{also}: {effect}; difference {self.before:.2g} -> {self.after:.2g}"


@dataclass(frozen=True)
class Causes:
    """Causes of differences between two engines or descriptions, in the order found, and the unexplained difference.

    Parameters
    ----------
    explanations : tuple of Explanation
        The causes.
    left : float
        Largest remaining difference of a joint force [N, N m].
    bodies : tuple of str
        Names of the bodies that still differ.
    untried : str
        Reason why the search ended before all candidates were tried; empty if all were tried.
    """

    explanations: tuple[Explanation, ...]
    left: float = 0.0
    bodies: tuple[str, ...] = ()
    untried: str = ""

    @property
    def complete(self) -> bool:
        """True if the causes explain all differences."""
        return not self.left and not self.bodies

    def to_dict(self) -> dict[str, Any]:
        """Return causes and remaining difference as plain data: dictionaries, lists and values.

        Returns
        -------
        dict
            The fields, and `complete`.
        """
        return asdict(self) | {"complete": self.complete}


def explain(
    robot_source: object,
    against: str | EngineAdapter,
    base: Base = "floating",
    seed: int = 0,
    states: int = STATES,
    seconds: float = SECONDS,
) -> Causes:
    """Find the causes of differences between treesim and another engine that read the same robot file.

    For each cause, the search loads the file and computes inverse dynamics dozens of times.

    Parameters
    ----------
    robot_source : str, path, file or Tree
        Any source that `treesim.load` reads, or a Tree.
    against : str or EngineAdapter
        Engine adapter, or its name.
    base : {"floating", "fixed"}
        Base of the robot.
    seed : int
        Seed of the random states.
    states : int
        Number of random states at which candidates are evaluated.
    seconds : float
        Time limit [s] of the search. If the limit is reached, `Causes.untried` reports it.

    Returns
    -------
    Causes
        Causes, and the difference that remains unexplained.

    Raises
    ------
    UnsupportedError
        If the engine does not read the file.
    EngineError
        If the engine fails.

    Examples
    --------
    >>> from treesim.compare import explain
    >>> explain("ur5", "pinocchio", base="fixed").explanations
    ()
    """
    engine = find_engine(against) if isinstance(against, str) else against
    description = read_description(robot_source, base)
    robot = description.bodies_alone
    if RAW not in engine.levels:
        raise UnsupportedError(f"{engine.name} takes the robot's bodies alone: it reads no file that could differ")
    model = engine.read(robot, etree.tostring(description.root, encoding="unicode"), RAW)
    return explain_model(description, model, seed, states, seconds=positive_number("seconds", seconds))


def explain_model(
    description: Description,
    model: EngineModel,
    seed: int = 0,
    states: int = STATES,
    other: Description | None = None,
    tolerance: float = TOLERANCE,
    seconds: float = SECONDS,
) -> Causes:
    """Find the causes of the differences between a description and another model of the same robot.

    other: the description from which the other model was made; its values are candidates too. tolerance: of differences
    between numbers, relative to physical scales. seconds: as for `explain`.
    """
    batch = random_batch(description.bodies_alone, states, seed, 0, 1e-3)
    return explain_values(description, batch, dict(model.evaluate(batch).values), other, tolerance, seconds)


def explain_values(
    description: Description,
    batch: StateBatch,
    theirs: dict[str, np.ndarray],
    other: Description | None = None,
    tolerance: float = TOLERANCE,
    seconds: float = SECONDS,
) -> Causes:
    """Find the causes of differences between treesim's and another model's results at a batch of states.

    theirs: the other model's `engines.Results.values`. other, tolerance, seconds: as for `explain_model`.
    """
    robot = description.bodies_alone
    search = Search(Evidence(robot, batch, theirs, tolerance=tolerance), Side(description), other, seconds)
    search.run()
    if search.left.vanished and not search.evidence.solved and "forward_dynamics" in theirs:
        search.evidence = Evidence(robot, batch, theirs, solved=True, tolerance=tolerance)
        search.run()
    left = search.left
    bodies = tuple(robot.body_names[i - 1] for i in left.numbers(INERTIAL + PLACEMENT))
    return Causes(tuple(search.found), 0.0 if left.force <= left.allowed else left.force, bodies, search.untried(left))


class Search:
    """Greedy search: repeatedly accept the candidate that leaves the smallest mismatch, until none remains.

    evidence: results of the other model. side: treesim's model with the accepted changes. other: the other
    file, if there is one. seconds: time limit of the search. found: the explanations.
    """

    def __init__(
        self, evidence: Evidence, side: Side, other: Description | None = None, seconds: float = SECONDS
    ) -> None:
        self.evidence, self.side, self.other = evidence, side, other
        self.seconds, self.end = seconds, time.monotonic() + seconds
        self.found: list[Explanation] = []
        self.stuck: set[int] = set()  # bodies at which no candidate helped
        self.systematic = True  # False once errors made at all links have been tried

    @property
    def left(self) -> Mismatch:
        """Mismatch that remains."""
        return self.evidence.mismatch(self.side)

    @property
    def late(self) -> bool:
        """True if the time limit has passed."""
        return time.monotonic() > self.end

    def untried(self, left: Mismatch) -> str:
        """Return why the search ended before it tried all candidates for the remaining mismatch, or ""."""
        if left.vanished:
            return ""
        if self.late:
            return f"the search ended after {self.seconds:g} s (seconds=)"
        return f"the search ended with {MOST} causes" if len(self.found) >= MOST else ""

    def run(self) -> None:
        """Search for causes until nothing differs, no candidate helps, or the time limit has passed."""
        before = self.left
        while not before.vanished and len(self.found) < MOST:
            step = next(filter(None, (self._best(pool, before) for pool in self._pools(before))), None)
            if step is None:
                return
            chosen, side, after, also = step
            self.found.append(self._explanation(chosen, side, before, after, also))
            self.side, before = side, after

    def _pools(self, before: Mismatch) -> Iterator[Iterable[Candidate]]:
        """Yield pools of candidates, likely ones first; the next pool is requested only if no candidate helped."""
        bodies = before.numbers(INERTIAL + PLACEMENT)
        if len(bodies) > 1 and self.systematic:
            yield chain(self._at(bodies[0], before), self._everywhere(), self._general(before))
            self.systematic = False
        for body in (body for body in bodies if body not in self.stuck):
            yield chain(self._at(body, before), self._general(before) if len(bodies) == 1 else ())
            yield self._values(body)
            yield fitted_candidates(self.side, self.evidence, body)
            self.stuck.add(body)
        if not bodies:
            yield chain(self._general(before), term_candidates(self.evidence, self.side, before))
            yield from self._by_forces(before)

    def _general(self, before: Mismatch) -> Iterator[Candidate]:
        yield from robot_candidates(self.side, self.evidence, before)
        yield from merging_candidates(self.side)

    def _everywhere(self) -> Iterator[Candidate]:
        yield from inertial_candidates_everywhere(self.side.description)
        yield from joint_candidates_everywhere(self.side.description)

    def _by_forces(self, before: Mismatch) -> Iterator[Iterable[Candidate]]:
        """Yield pools of candidates for models that do not report their bodies' inertias or poses."""
        side, description = self.side, self.side.description
        if not self.evidence.knows_bodies:
            suspicious = suspicious_bodies(side, self.evidence, before)
            links = [name for body in suspicious for name in description.members[body - 1]]
            yield chain(*(inertial_candidates(description, name) for name in links))
            yield chain(*(self._values(body) for body in suspicious))
            yield body_candidates(side, self.evidence, before, suspicious)
        if self.evidence.poses is None:
            yield chain(*(joint_candidates(description, joint) for joint in description.joint))

    def _at(self, body: int, before: Mismatch) -> Iterator[Candidate]:
        """Yield the named candidates at a body.

        If its inertia differs: at its links and the fixed joints between them. If its pose differs: at the joints
        between it and its parent.
        """
        description, joints = self.side.description, []
        if body in before.numbers(INERTIAL) or not self.evidence.knows_bodies:
            for link in description.members[body - 1]:
                yield from filter(partial(self._promising, body, link), inertial_candidates(description, link))
            joints += description.welding(body)
        if body in before.numbers(PLACEMENT):
            joints += description.carrying(body)
        for joint in dict.fromkeys(joints):
            yield from joint_candidates(description, joint)

    def _promising(self, body: int, link: str, candidate: Candidate) -> bool:
        """Return whether the candidate's inertia reduces the mismatch of its body; needs no new tree."""
        if not self.evidence.knows_bodies or candidate.inertia is None:
            return True
        description, parts = self.side.description, [body.inertia for body in self.side.robot.bodies]
        place = description.placement(body, link)
        ours, theirs = inertial_of(description.link[link]).in_link, candidate.inertia
        changed = parameters(theirs.in_frame(place)) - parameters(ours.in_frame(place))
        before = len(self.evidence.inertials(parts))
        try:
            parts[body - 1] = inertia_from(parameters(parts[body - 1]) + changed)
        except ModelError:
            return False
        return len(self.evidence.inertials(parts)) < before

    def _values(self, body: int) -> Iterator[Candidate]:
        return iter(()) if self.other is None else candidates_of_other_file(self.side.description, self.other, body)

    def _best(
        self, pool: Iterable[Candidate], before: Mismatch
    ) -> tuple[Candidate, Side, Mismatch, list[Candidate]] | None:
        """Return the candidate of a pool with the smallest mismatch, and the candidates that leave the same one.

        None if no candidate reduces the mismatch, or if time ran out before the whole pool was tried.
        """
        in_time = takewhile(lambda candidate: not self.late, pool)
        tried = [(candidate, *outcome) for candidate in in_time if (outcome := self._tried(candidate)) is not None]
        nearer = [one for one in tried if one[2].bodies.keys() <= before.bodies.keys()]
        if not nearer or self.late:
            return None
        least = min(nearer, key=lambda one: rank(one[2]))
        chosen, side, after = next((one for one in nearer if one[2].like(least[2])), least)  # the first of equal ones
        if rank(after)[:2] >= rank(before)[:2]:
            return None
        also = [one for one, _, left in tried if one is not chosen and left.like(after)]
        return chosen, side, after, also

    def _tried(self, candidate: Candidate) -> tuple[Side, Mismatch] | None:
        """Return treesim's model with a candidate's change and its mismatch; None if no valid robot results."""
        try:
            side = candidate.change(self.side)
            return side, self.evidence.mismatch(side)
        except (TreesimError, ValueError, np.linalg.LinAlgError):
            return None

    def _explanation(
        self, chosen: Candidate, side: Side, before: Mismatch, after: Mismatch, also: list[Candidate]
    ) -> Explanation:
        states, robot = self.evidence.states, self.evidence.robot
        state = states.q, states.v, states.a
        changed = np.abs(forces(side, *state) - forces(self.side, *state))
        joint, size, unit = typical(robot, changed)
        return Explanation(
            kind=chosen.kind, owner=chosen.owner, cause=chosen.cause,
            place=chosen.place,
            other_place="" if self.other is None or not chosen.element
            else self.other.place(*chosen.element),
            effect=size if size > self.evidence.allowed else 0.0, unit=unit, joint=joint,
            before=before.force, after=after.force,
            also=tuple(f"{one.owner}: {one.cause}" for one in also[:ALSO_LISTED]),
        )  # fmt: skip


def rank(mismatch: Mismatch) -> Key:
    """Return the sort key of a mismatch: number of bodies, number of joints with wrong forces, largest force."""
    joints = np.abs(mismatch.forces).max(axis=0, initial=0.0)
    return len(mismatch.bodies), int((~(joints <= mismatch.allowed)).sum()), mismatch.force


def typical(robot: Tree, forces: np.ndarray) -> tuple[str, float, str]:
    """Return the joint with the largest median torque of forces (K, nv), this median, and its unit.

    A prismatic joint's force [N] is returned only if all torques are 0.
    """
    if not robot.nv:
        return "", 0.0, "N m"
    sizes = np.median(forces, axis=0)
    turning = np.array([screw in (WX, WY, WZ) for body in robot.bodies for screw in body.joint.kind.screws])
    k = int(np.argmax(np.where(turning, sizes, 0.0) if (sizes * turning).any() else sizes))
    return joint_of(robot, k), float(sizes[k]), "N m" if turning[k] else "N"
