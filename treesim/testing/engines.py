"""Whether an adapter to another engine, and its layout, keep their promises (`treesim.compare.EngineAdapter`)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .. import plugins
from ..compare.comparison import compare
from ..compare.engines import CANONICAL, RAW, EngineAdapter, EngineModel, find_engine
from ..compare.layouts import Layout
from ..compare.source import canonical, without_losses
from ..errors import UnsupportedError
from ..model.generators import chain, random_tree
from ..model.tree import Tree
from .report import Checks, Conformance, demand, named
from .samples import Robots, on_floating_base, robots_of

BATCH = (2, 3)  # states of a batch that a layout is given
EXACT, OF_A_DIFFERENCE = 1e-12, 1e-6  # how far, in absolute numbers: no map loses digits; a difference does
STEP = 1e-5  # [s] of the difference
STATES, STEPS = 5, 50  # at which robots are compared, and of their trajectories


def engine_robots() -> tuple[Tree, ...]:
    """Return the robots that engines are tried on unless others are given: joints that most engines know."""
    common, rng = ("revolute", "prismatic", "continuous"), np.random.default_rng
    tree = random_tree(rng(2), 6, joint_types=common)
    return chain(3), tree, on_floating_base(tree), on_floating_base(random_tree(rng(3), 5, ("spherical", "revolute")))


def check_engine(adapter: str | EngineAdapter, robots: Robots = None) -> Conformance:
    """Try an adapter to another engine on robots, and return what was found, if all of it is as promised.

    adapter: a name of `available("engines")`, or an object. robots: by default small ones of joints that most engines
    know, on fixed and floating bases; those that the engine refuses, or says that it cannot take, are left out, but it
    must take one. Tried: that the engine agrees with treesim on the robots (`compare`), one state after the other and
    along a trajectory where it has one; that its layout maps states, forces and mass matrices there and back, keeps
    power, and knows how its axes turn (`check_layout`). Raises ConformanceError listing what is not as promised.

    Example:
        >>> from treesim import testing
        >>> testing.check_engine("pinocchio").failures
        ()
    """
    engine = find_engine(adapter) if isinstance(adapter, str) else adapter
    checks = Checks(plugins.SINGULAR["engines"], named(engine))
    if not checks.has(engine, name=str, title=str, integrator=(str, type(None)), levels=tuple, timed=str):
        return checks.report()
    with checks.require("says its version, and levels that there are"):
        demand(isinstance(engine.version(), str), f"version() returns {engine.version()!r}")
        demand({CANONICAL, engine.timed} <= {*engine.levels} <= {RAW, CANONICAL}, f"its levels are {engine.levels!r}")
    taken = [robot for robot in robots_of(robots, engine_robots) if _check_robot(checks, engine, robot)]
    with checks.require("takes one of the robots"):
        demand(bool(taken), "it refuses all of them")
    return checks.report()


def _check_robot(checks: Checks, engine: EngineAdapter, robot: Tree) -> bool:
    """Whether the engine takes a robot, all of which is then tried."""
    with checks.require("says in words why it refuses a robot, or None", robot.name):
        reason = engine.refuses(robot)
        demand(reason is None or (isinstance(reason, str) and bool(reason)), f"refuses() returns {reason!r}")
    if checks.findings[-1].problem is not None or reason is not None:
        return False
    bare = without_losses(robot)
    try:
        model = engine.read(bare, canonical(bare), CANONICAL)
    except UnsupportedError:
        return False
    except Exception:
        with checks.require("reads a robot, or raises UnsupportedError", robot.name):
            raise
        return True
    with checks.require("reads a robot into an EngineModel", robot.name):
        demand(isinstance(model, EngineModel), f"read() returns a {type(model).__name__}")
    if checks.findings[-1].problem is not None:
        return True
    with checks.require("agrees with treesim", robot.name):
        report = compare(robot, engine, states=STATES, steps=STEPS)
        demand(report.passed, str(report.summary))
    _try_layout(checks, model.layout, robot)
    return True


def check_layout(layout: Layout, robot: Tree, seed: int = 0) -> Conformance:
    """Try a layout between treesim's numbers and an engine's on one robot, at a random state and a batch of them.

    Tried: each map has its way back; force times velocity is the same power on both sides; accelerations are the rates
    of velocities along a motion, so that axes which turn are seen. Raises ConformanceError listing what is not so.

    Example:
        >>> from treesim import testing
        >>> from treesim.compare.layouts import Reordered
        >>> backwards = Reordered(np.arange(6)[::-1], np.arange(6)[::-1])
        >>> testing.check_layout(backwards, treesim.load("ur5"))
        <Conformance of layout <class 'treesim.compare.layouts.Reordered'>: 13 requirements met>
    """
    checks = Checks("layout", named(layout))
    _try_layout(checks, layout, robot, seed)
    return checks.report()


def _try_layout(checks: Checks, layout: Layout, robot: Tree, seed: int = 0) -> None:
    for shape in ((), BATCH):
        of = f"of a batch {shape}" if shape else "of one state"
        q, vectors, M = _random(robot, shape, np.random.default_rng(seed))
        v, _, tau = vectors
        with checks.require(f"configurations come back, {of}", robot.name):
            back = layout.configuration_from_engine(layout.configuration_to_engine(q))
            demand(back.shape == q.shape, f"shape {q.shape} comes back as {back.shape}")
            _demand_close(robot.difference(q, back), np.zeros(v.shape), EXACT)
        for what, way in _ways(layout, q, vectors[0], vectors[1], vectors[2], M).items():
            with checks.require(f"{what} come back, {of}", robot.name):
                _demand_close(*way(), EXACT)
        with checks.require(f"power is the same on both sides, {of}", robot.name):
            theirs = (layout.force_to_engine(q, tau) * layout.velocity_to_engine(q, v)).sum(axis=-1)
            _demand_close(theirs, (tau * v).sum(axis=-1), EXACT)
    with checks.require("accelerations are the rates of velocities", robot.name):
        _demand_rate(layout, robot, q[0, 0], *vectors[:2, 0, 0])


def _random(robot: Tree, shape: tuple[int, ...], rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Configurations, three vectors for each degree of freedom, and symmetric matrices, of so many states."""
    q = np.array([robot.random(rng) for _ in range(int(np.prod(shape)))]).reshape(*shape, robot.nq)
    vectors, M = rng.normal(size=(3, *shape, robot.nv)), rng.normal(size=(*shape, robot.nv, robot.nv))
    return q, vectors, M + np.swapaxes(M, -1, -2)


def _ways(
    layout: Layout, q: np.ndarray, v: np.ndarray, a: np.ndarray, tau: np.ndarray, M: np.ndarray
) -> dict[str, Callable[[], tuple[np.ndarray, np.ndarray]]]:
    """What goes to the engine's numbers and back: what comes back, and what went."""
    return {
        "velocities": lambda: (layout.velocity_from_engine(q, layout.velocity_to_engine(q, v)), v),
        "accelerations": lambda: (layout.acceleration_from_engine(q, v, layout.acceleration_to_engine(q, v, a)), a),
        "forces": lambda: (layout.force_from_engine(q, layout.force_to_engine(q, tau)), tau),
        "mass matrices": lambda: (layout.matrix_from_engine(q, layout.matrix_to_engine(q, M)), M),
    }


def _demand_rate(layout: Layout, robot: Tree, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> None:
    def velocity(t: float) -> np.ndarray:
        return layout.velocity_to_engine(robot.integrate(q, t * v), v + t * a)

    rate = (velocity(STEP) - velocity(-STEP)) / (2 * STEP)
    _demand_close(layout.acceleration_to_engine(q, v, a), rate, OF_A_DIFFERENCE)


def _demand_close(found: np.ndarray, truth: np.ndarray, allowed: float) -> None:
    demand(np.shape(found) == np.shape(truth), f"shape {np.shape(found)} where {np.shape(truth)} is needed")
    error = float(np.abs(found - truth).max(initial=0.0))
    demand(error <= allowed, f"off by {error:.2g}, {allowed:.0e} is allowed")
