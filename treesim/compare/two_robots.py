"""Comparison of two descriptions of one robot: joints matched by name, differences listed with their causes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np

from .. import plugins
from ..errors import UnsupportedError, quoted
from ..model.inertia import Placement
from ..model.joints import JOINT_TYPES, MOTION_LIMITS, Joint
from ..model.tree import Tree
from ..states.arguments import positive_number, whole_number
from ..system.display import ReprMixin
from ..types import Base, BaseChoice
from ..urdf.base import ROOT_JOINT
from ..urdf.mimics import Line
from .alignment import aligned, words
from .causes import SECONDS, STATES, Causes, Explanation, explain_model, typical
from .checks import result_rows
from .description import Description, named, read_description
from .engine_model import EngineModel
from .engines import PUBLISHED, find_engine
from .evidence import TOLERANCE
from .joint_terms import forces_of_terms
from .layouts import Reordered, reordered
from .mimic_differences import mimic_causes, mimic_row
from .report import Row
from .results import RAW
from .source import without_losses
from .treesim_engine import TreesimEngine, random_batch

PARAMETERS = (
    "damping", "joint_friction", "armature", "stiffness", "rest", "lower", "upper", "velocity_limit", "effort_limit",
    *MOTION_LIMITS,
)  # fmt: skip
TERM_OF = {"damping": "damping", "joint_friction": "joint_friction", "armature": "armature", "stiffness": "spring"}
SOLVED = ("inverse_mass_matrix", "forward_dynamics")  # whose tolerance grows with the condition of the mass matrix


class OtherRobot(Protocol):
    """Interface of the second description of a robot in `compare_robots`."""

    @property
    def label(self) -> str:
        """Name of the second description."""

    @property
    def joints(self) -> Mapping[str, str]:
        """Types of the second description's moving joints, by name."""

    @property
    def parameters(self) -> Mapping[str, Mapping[str, float]]:
        """Parameters of each joint by name, without parameters that the second description does not contain."""

    @property
    def mimics(self) -> Mapping[str, Line]:
        """Mimicked joint, multiplier and offset of each mimic joint of the second description."""

    @property
    def tolerance(self) -> float:
        """Tolerance for differences that rounding in the file format causes, relative to physical scales."""

    @property
    def description(self) -> Description | None:
        """URDF text of the second description; None for other formats."""

    def model(self, robot: Tree, joints: Collection[str]) -> EngineModel:
        """Return the second description as a model whose results `compare` can compare with treesim's.

        Parameters
        ----------
        robot : Tree
            treesim's tree.
        joints : collection of str
            Names of the joints that move; all others are fixed at zero.

        Returns
        -------
        EngineModel
            Model of the second description.
        """


@runtime_checkable
class FileReader(Protocol):
    """Adapter of an engine that reads files of its own format, given as "mujoco:robot.xml"."""

    def open_file(self, path: str) -> OtherRobot:
        """Return the robot of a file; raises UnsupportedError if the engine cannot read it."""


@dataclass(frozen=True, repr=False)
class TwoRobots(ReprMixin):
    """Agreement and differences of two descriptions of one robot.

    Parameters
    ----------
    first, second : str
        Names of the descriptions.
    robot : str
        Name of the robot.
    base : str
        "fixed" or "floating".
    seed : int
        Seed of the random states.
    rows : tuple of Row
        Compared quantities as in `Report`, and one row for each joint parameter. Joints that only one description has
        are fixed at zero.
    only_first, only_second : tuple of str
        Joints that only one description has, or whose types differ.
    frames : dict
        {body: pose of the second description's frame in the first description's frame}, if the frames differ. Such a
        difference does not change the motion.
    causes : Causes
        Causes of the differences.
    summary : str
        Summary of one sentence.
    """

    first: str
    second: str
    robot: str
    base: str
    seed: int
    rows: tuple[Row, ...]
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]
    frames: dict[str, str]
    causes: Causes
    summary: str

    def __repr__(self) -> str:
        outcome = "the same robot" if self.passed else "not the same robot"
        return f"<TwoRobots: {self.first!r} and {self.second!r}, {len(self.rows)} rows, {outcome}>"

    def _repr_fields(self) -> list[tuple[Any, ...]]:
        rows = [(row.quantity, f"{row.largest:.2g}", f"{row.tolerance:.2g}", row.where) for row in self.rows]
        return [("summary", self.summary), *rows, *(("cause", str(one)) for one in self.causes.explanations)]

    @property
    def passed(self) -> bool:
        """True if both descriptions describe the same robot; body frames may differ."""
        return not self.only_first and not self.only_second and all(row.passed for row in self.rows)

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison of the two descriptions as plain data: dictionaries, lists and values.

        Returns
        -------
        dict
            The fields, and `passed`.
        """
        return asdict(self) | {"passed": self.passed}


class SecondFile:
    """Second description given as URDF, or any other source that `treesim.load` reads."""

    tolerance = TOLERANCE

    def __init__(self, description: Description) -> None:
        self.whole = self.description = description
        self.label = description.file
        self.joints = types_of(description.robot)
        self.mimics = description.mimics
        self.parameters = {body.joint.name: model_parameters(body.joint) for body in description.robot.bodies}

    def model(self, robot: Tree, joints: Collection[str]) -> EngineModel:
        """Return the model of the second robot; joints that are not named are fixed at zero."""
        self.description = holding(self.whole, set(self.joints) - set(joints))
        return NamedModel(robot, self.description.bodies_alone)


class NamedModel(EngineModel):
    """Model of a second tree; joints, and the bodies that they move, are matched by name.

    other: the second tree, with the same joints in any order.
    """

    engine = "the second description"

    def __init__(self, robot: Tree, other: Tree) -> None:
        super().__init__(robot)
        self.other = TreesimEngine(None).read(other)
        self.layout: Reordered = reordered(robot, list(other.q_index))
        self._bodies = [other.joint_names.index(name) for name in robot.joint_names]

    def bodies(self) -> dict[str, np.ndarray]:
        """Return the bodies' mass (N,), com (N, 3) and inertia (N, 3, 3), each in the second file's frame."""
        return {key: values[self._bodies] for key, values in self.other.bodies().items()}

    def body_poses(self, q: np.ndarray) -> np.ndarray:
        """Return the poses (N, 4, 4) of the second file's body frames in the world."""
        return self.other.body_poses(self.layout.configuration_to_engine(q))[self._bodies]

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """Return the mass matrix M (nv, nv)."""
        return self.layout.matrix_from_engine(q, self.other.mass_matrix(self.layout.configuration_to_engine(q)))

    def inverse_mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """Return the inverse of M (nv, nv)."""
        return np.linalg.inv(self.mass_matrix(q))

    def inverse_dynamics(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Return the joint forces tau (nv,)."""
        to = self.layout
        state = to.configuration_to_engine(q), to.velocity_to_engine(q, v), to.velocity_to_engine(q, a)
        return to.force_from_engine(q, self.other.inverse_dynamics(*state))

    def forward_dynamics(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """Return the accelerations (nv,), the time derivative of v."""
        to = self.layout
        state = to.configuration_to_engine(q), to.velocity_to_engine(q, v), to.force_to_engine(q, tau)
        return to.velocity_from_engine(q, self.other.forward_dynamics(*state))


def compare_robots(
    first: object,
    second: object,
    base: BaseChoice = "floating",
    seed: int = 0,
    states: int = STATES,
    seconds: float = SECONDS,
) -> TwoRobots:
    """Compare two descriptions of a robot, and find the causes of their differences.

    Joints are matched by name. Names and frames of links may differ.

    Parameters
    ----------
    first : str, path, file or Tree
        Any source that `treesim.load` reads, or a Tree.
    second : str, path, file or Tree
        Any source that `treesim.load` reads, a Tree, or "mujoco:robot.xml", a file that MuJoCo reads (plugin
        treesim-mujoco).
    base : {"floating", "fixed", "auto"}
        Base of robots read from URDF.
    seed : int
        Seed of the random states.
    states : int
        Number of random states.
    seconds : float
        Time limit [s] of the search for causes. If the limit is reached, `Causes.untried` reports it.

    Returns
    -------
    TwoRobots
        Rows, unmatched joints, and causes.

    Raises
    ------
    UnsupportedError
        If the descriptions have no joint in common.
    PluginError
        If the plugin for `second` is missing.

    Examples
    --------
    >>> from treesim.compare import compare_robots
    >>> compare_robots("ur5", "ur5_limited", base="fixed").summary
    'ur5_robot.urdf and ur5_joint_limited_robot.urdf differ; what differs: lower, upper'
    """
    states, seconds = whole_number("states", states, 1), positive_number("seconds", seconds)
    ours = read_description(first, base)
    other = open_second(second, ours.base)
    if isinstance(other, SecondFile) and other.label == ours.file:
        ours, other = _named_apart(ours, other.whole)
    own = types_of(ours.robot)
    shared = [name for name in own if _alike(own[name], other.joints.get(name))]
    if not set(shared) - {ROOT_JOINT} and len(own) > 1:
        raise UnsupportedError(f"{ours.file} and {other.label} have no joint of the same name and type")
    held = holding(ours, set(own) - set(shared))
    robot = held.bodies_alone
    model, frames = aligned(other.model(robot, shared), other.tolerance)
    batch = random_batch(robot, states, seed, 0, 1e-3)
    mine, theirs = TreesimEngine(None).read(robot).evaluate(batch), model.evaluate(batch)
    found_rows = result_rows(RAW, robot, mine, theirs)
    condition = float(np.linalg.cond(mine.values["mass_matrix"]).max())
    rows = [_judged(row, other.tolerance * (condition if row.quantity in SOLVED else 1.0)) for row in found_rows]
    rows += _parameter_rows(ours.robot, other, shared)
    rows += mimic_row(ours.mimics, other.mimics, shared, other.tolerance)
    explained = explain_model(held, model, seed, states, other.description, other.tolerance, seconds)
    parameters = _parameter_causes(ours, other, shared, seed, states)
    mimics = mimic_causes(ours, other.description, other.mimics, shared, other.tolerance)
    found = replace(explained, explanations=(*explained.explanations, *parameters, *mimics))
    only = [tuple(name for name in names if name not in shared) for names in (own, other.joints)]
    return TwoRobots(
        first=ours.file, second=other.label, robot=robot.name, base=held.base, seed=seed, rows=tuple(rows),
        only_first=only[0], only_second=only[1], frames={name: words(place) for name, place in frames.items()},
        causes=found, summary=_summary(ours.file, other.label, rows, only, frames),
    )  # fmt: skip


def open_second(second: object, base: Base) -> OtherRobot:
    """Return the second description: another engine's file if the source has an engine's prefix, else URDF."""
    name, colon, path = second.partition(":") if isinstance(second, str) and "<" not in second else ("", "", "")
    if not colon or (name not in plugins.available("engines") and name not in PUBLISHED):
        return SecondFile(read_description(second, base))
    engine = find_engine(name)
    if not isinstance(engine, FileReader):
        raise UnsupportedError(f"{engine.title} has no reader of files of its own: {quoted(second)}")
    return engine.open_file(path)


def _named_apart(ours: Description, other: Description) -> tuple[Description, SecondFile]:
    """Label two files of the same name as first and second."""
    return replace(ours, file=f"first {ours.file}"), SecondFile(replace(other, file=f"second {other.file}"))


def _judged(row: Row, tolerance: float) -> Row:
    return replace(row, tolerance=tolerance, passed=row.largest <= tolerance)


def types_of(robot: Tree) -> dict[str, str]:
    """Return the types of a tree's joints by name."""
    return {body.joint.name: body.joint.type for body in robot.bodies}


def _alike(ours: str, theirs: str | None) -> bool:
    if theirs is None:
        return False
    return bool(JOINT_TYPES[ours].code == JOINT_TYPES[theirs].code)


def holding(description: Description, joints: set[str]) -> Description:
    """Return a description with the named joints fixed at zero; ROOT_JOINT fixes the base."""

    def edit(root: Any) -> None:
        for name in joints - {ROOT_JOINT}:
            named(root, "joint", name).set("type", "fixed")

    held = description.edited(edit) if joints - {ROOT_JOINT} else description
    return replace(held, base="fixed") if ROOT_JOINT in joints else held


def model_parameters(joint: Joint) -> dict[str, float]:
    """Return a joint's parameters by name; none for joints with several degrees of freedom."""
    names = [name for name in PARAMETERS if name != "rest" or np.any(joint.stiffness)]
    return {name: float(np.ravel(getattr(joint, name))[0]) for name in names} if joint.nv == 1 else {}


def _differences(
    robot: Tree, theirs: Mapping[str, Mapping[str, float]], quantity: str, shared: Collection[str]
) -> dict[str, tuple[float, float, float]]:
    """Return the relative difference of a parameter, our value and theirs, by joint.

    Only joints that have the parameter in both descriptions are included.
    """
    found = {}
    for name in shared:
        ours = model_parameters(robot.joint(name))
        if quantity in ours and quantity in theirs.get(name, {}):
            a, b = ours[quantity], theirs[name][quantity]
            scale = max(abs(a), abs(b))
            found[name] = (0.0 if a == b else abs(a - b) / scale if np.isfinite(scale) else np.inf, a, b)
    return found


def _parameter_rows(robot: Tree, other: OtherRobot, shared: Collection[str]) -> Iterator[Row]:
    tolerance = other.tolerance
    for quantity in PARAMETERS:
        found = _differences(robot, other.parameters, quantity, shared)
        values = {(a, b) for _, a, b in found.values()}
        absent = values == {(np.inf, np.inf)} and quantity in MOTION_LIMITS  # few robots have them
        if not found or absent or (values == {(0.0, 0.0)} and quantity == "stiffness"):
            continue
        name, (largest, a, b) = max(found.items(), key=lambda item: item[1][0])
        sizes = [size for size, *_ in found.values()]
        where = f"joint {name!r}" + (f": {a:.6g}, {b:.6g}" if largest else "")
        yield Row(quantity, RAW, len(found), largest, float(np.median(sizes)), tolerance, largest <= tolerance, where)


def _parameter_causes(
    ours: Description, other: OtherRobot, shared: Collection[str], seed: int, states: int
) -> Iterator[Explanation]:
    """Yield an explanation for each differing damping, friction, armature, spring or limit.

    Joints with the same two values are grouped. Damping, friction, armature and stiffness include their effect.
    """
    robot = ours.robot
    batch = random_batch(without_losses(robot), states, seed, 0, 1e-3)
    for quantity in PARAMETERS:
        groups: dict[tuple[float, float], list[str]] = {}
        for name, (size, a, b) in _differences(robot, other.parameters, quantity, shared).items():
            if size > other.tolerance:
                groups.setdefault((a, b), []).append(name)
        for (a, b), names in groups.items():
            term, sizes = TERM_OF.get(quantity), np.zeros(robot.nv)
            tag = "limit" if term is None and quantity != "rest" else "dynamics"
            for name in names:
                sizes[robot.v_index[name]] = b - a
            terms = {} if term is None else {term: sizes}
            joint, effect, unit = typical(robot, np.abs(forces_of_terms(terms, robot, batch.q, batch.v, batch.a)))
            place = ours.place("joint", names[0], tag)
            other_place = "" if other.description is None else other.description.place("joint", names[0], tag)
            yield Explanation(
                kind=term or quantity, owner=_owner(names), cause=f"{_title(quantity)} {b:.6g} instead of {a:.6g}",
                place=place, effect=effect, unit=unit, joint=joint, before=effect, after=0.0, other_place=other_place,
            )  # fmt: skip


def _title(quantity: str) -> str:
    if quantity.endswith("_limit"):
        return f"the {quantity.removesuffix('_limit')} limit is"
    words_of = {
        "lower": "the lower limit", "upper": "the upper limit", "joint_friction": "friction",
        "stiffness": "the spring's stiffness", "rest": "the spring's rest position",
    }  # fmt: skip
    return f"{words_of.get(quantity, quantity)} is"


def _owner(names: list[str]) -> str:
    return f"joint {names[0]!r}" if len(names) == 1 else f"{len(names)} joints ({names[0]!r} first)"


def _summary(
    first: str, second: str, rows: list[Row], only: list[tuple[str, ...]], frames: Mapping[str, Placement]
) -> str:
    parts = [
        f"joints that only {which} has: {', '.join(names)}"
        for which, names in zip((first, second), only, strict=True)
        if names
    ]
    wrong = [row.quantity.replace("_", " ") for row in rows if not row.passed]
    if wrong:
        parts.append(f"what differs: {', '.join(wrong)}")
    if frames:
        parts.append(f"bodies whose frames lie elsewhere, which changes no motion: {', '.join(frames)}")
    same = not wrong and not any(only)
    return f"{first} and {second} {'are the same robot' if same else 'differ'}" + "".join(f"; {part}" for part in parts)
