"""Conversion of robots and state layouts for other engines, done by their plugins and checked here."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any, Protocol, cast, runtime_checkable
from weakref import WeakKeyDictionary

import numpy as np

import treesim

from ..errors import ConversionWarning, UnsupportedError, listed, quoted
from ..model.tree import Tree
from ..system.user_warnings import warn
from .checks import result_rows, solved_tolerance, state_row
from .drake import DrakeLayout
from .engine_model import EngineModel
from .engines import find_engine
from .layouts import Layout, Reordered, SpanningLayout
from .measures import Scales
from .report import Row
from .results import CANONICAL, EngineError
from .source import canonical
from .treesim_engine import TreesimModel, random_batch

TREESIM, DRAKE = "treesim", "drake"
STATES = 5  # that a converted model is checked on


@runtime_checkable
class ModelMaker(Protocol):
    """Adapter of an engine whose plugin can convert a robot into a permanent model."""

    def convert(self, robot: Tree) -> EngineModel:
        """Return the robot with its limits, damping, friction and names as a model that can be evaluated.

        The model's `robot` is the spanning tree if mimic joints have coordinates of their own in the engine. Raises
        UnsupportedError for features that the engine lacks.
        """


@runtime_checkable
class MimicConstraintModel(Protocol):
    """Converted model of the spanning tree in which the engine enforces mimic joints by constraints."""

    def held(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the acceleration (nv,) of the spanning tree with mimic constraints, and their compliances (m,).

        A compliance is the acceleration by which a mimic joint yields to a unit force of its constraint.
        """


class ModelLayoutMaker(Protocol):
    """Adapter of an engine whose plugin maps states to models that users made by themselves."""

    def layout_of_model(self, robot: Tree, model: Any) -> Layout:
        """Return the state layout of a robot in the user's model; raises ArgumentError if the joints differ."""


def converted(robot: Tree, engine: str) -> Any:
    """Return the `EngineModel` that an engine's plugin made of a robot, after checking it.

    On a few random states, bodies, poses, mass matrix, bias and forward dynamics must agree with treesim to
    1e-12 of their scales. The condition of M widens the tolerance of accelerations, soft constraints that of
    mimic joints. Otherwise raises EngineError, which names the first difference with its body or joint.

    A ConversionWarning lists renamed elements and loops that are left open. Raises PluginError if the plugin is
    missing, and UnsupportedError for joints that the engine lacks.
    """
    adapter = find_engine(engine)
    if not isinstance(adapter, ModelMaker):
        raise UnsupportedError(f"the plugin of {engine!r} makes no models for other programs: it has no `convert`")
    made = adapter.convert(robot)
    parts = (differences(part.robot, part) for part in made.parts())
    for row in chain(chain.from_iterable(parts), held_rows(robot, made)):
        if not row.passed:
            raise EngineError(
                f"{quoted(robot.name)} in {adapter.title} is not the same: {row.quantity} of {row.where} is off by "
                f"{row.largest:.2g}, more than {row.tolerance:.2g}"
            )
    details = list(made.changes)
    if robot.loops:
        names = listed([loop.name for loop in robot.loops])
        details.append(f"it is open where {names} closed it: add the engine's own constraints")
    for change in details:
        warn(f"{robot.name!r} in {adapter.title}: {change}", ConversionWarning)
    return made


def differences(robot: Tree, model: EngineModel, states: int = STATES, seed: int = 0) -> Iterator[Row]:
    """Yield a row for every quantity in which an engine's model of a robot is compared with treesim."""
    batch, ours = random_batch(robot, states, seed, 0, 1e-3), TreesimModel(robot, None)
    return result_rows(CANONICAL, robot, ours.evaluate(batch), model.evaluate(batch))


def held_rows(robot: Tree, model: EngineModel) -> Iterator[Row]:
    """Yield a row for the accelerations of a robot whose mimic joints the engine enforces by constraints, if any.

    With A v = 0 for the mimic joints and constraints that yield by R to a unit force, A a = -R lambda, the acceleration
    solves (M + A' R^-1 A) a = tau - C (Todorov 2014, eq. 8 and 12, with no position or velocity error to correct).
    """
    if robot.mimic_map is None or not isinstance(model, MimicConstraintModel):
        return
    batch, A, whole = random_batch(robot, STATES, 0, 0, 1e-3), robot.mimic_map.A, model.robot
    tau = np.zeros((STATES, whole.nv))
    tau[:, robot.mimic_map.independent_v] = batch.tau
    ours, theirs, worst_condition = np.empty_like(tau), np.empty_like(tau), 0.0
    for k, (q, v) in enumerate(zip(robot.expand(batch.q), robot.expand_velocity(batch.v), strict=True)):
        theirs[k], R = model.held(q, v, tau[k])
        matrix = treesim.mass_matrix(whole, q) + A.T @ (A / R[:, None])
        ours[k] = np.linalg.solve(matrix, tau[k] - treesim.bias_forces(whole, q, v))
        worst_condition = max(worst_condition, float(np.linalg.cond(matrix)))
    scale, tolerance = Scales.of(whole).acceleration, solved_tolerance(CANONICAL, worst_condition)
    yield state_row(CANONICAL, whole, "forward_dynamics", ours, theirs, scale, tolerance)


_layouts: WeakKeyDictionary[Tree, dict[str, Layout]] = WeakKeyDictionary()  # trees are compared by identity


def layout_of(robot: Tree, engine: str, model: Any = None) -> Layout:
    """Return the state layout of a robot in an engine; cached for the robot's lifetime unless a model is given.

    engine: "treesim", "drake", or a name of `available("engines")`. model: the user's own model in this engine, whose
    plugin is a `ModelLayoutMaker`. Raises as `converted`.
    """
    if model is not None:
        return cast(ModelLayoutMaker, find_engine(engine)).layout_of_model(robot, model)
    kept = _layouts.setdefault(robot, {})
    if engine not in kept:
        kept[engine] = _made_layout(robot, engine)
    return kept[engine]


def _made_layout(robot: Tree, engine: str) -> Layout:
    if engine == TREESIM:
        return cast(Layout, Reordered(np.arange(robot.nq), np.arange(robot.nv)))
    if engine == DRAKE:
        return _with_mimic_joints(robot, DrakeLayout(robot.spanning))
    adapter = find_engine(engine)
    if reason := adapter.refuses(robot):
        raise UnsupportedError(f"{adapter.name} takes no states of {quoted(robot.name)}: {reason}")
    if isinstance(adapter, ModelMaker):
        made = adapter.convert(robot)
        return made.layout if made.robot is robot else _with_mimic_joints(robot, made.layout)
    return _with_mimic_joints(robot, adapter.read(robot.spanning, canonical(robot.spanning), CANONICAL).layout)


def _with_mimic_joints(robot: Tree, whole: Layout) -> Layout:
    """Return the layout of a robot in an engine that has coordinates for all joints of the spanning tree."""
    return whole if robot.mimic_map is None else cast(Layout, SpanningLayout(robot, whole))
