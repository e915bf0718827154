"""Conformance checks of an engine adapter and of its layout (`treesim.compare.EngineAdapter`)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .. import plugins
from ..compare.adapter import EngineAdapter, SimulatingAdapter
from ..compare.comparison import compare
from ..compare.engine_model import EngineModel
from ..compare.engines import find_engine
from ..compare.layouts import Layout
from ..compare.results import CANONICAL, NUMBERED, RAW
from ..compare.source import canonical, without_losses
from ..errors import UnsupportedError
from ..model.generators import chain, random_tree
from ..model.tree import Tree
from .report import Checks, Conformance, demand, named
from .samples import Robots, on_floating_base, robots_of

BATCH = (2, 3)  # shape of a batch of states
EXACT, OF_A_DIFFERENCE = 1e-12, 1e-6  # allowed absolute errors of maps, and of finite differences
STEP = 1e-5  # [s] of the difference
DRIVEN = ("torques", "pd", "damping")  # scenes that adapters with `simulate` must support
STATES, STEPS = 5, 50  # of the comparison, and steps of trajectories


def engine_robots() -> tuple[Tree, ...]:
    """Return the default robots for engines, with joints that most engines support."""
    common, rng = ("revolute", "prismatic", "continuous"), np.random.default_rng
    tree = random_tree(rng(2), 6, joint_types=common)
    return chain(3), tree, on_floating_base(tree), on_floating_base(random_tree(rng(3), 5, ("spherical", "revolute")))


def check_engine(adapter: str | EngineAdapter, robots: Robots = None) -> Conformance:
    """Check that an adapter to another engine meets the protocol `EngineAdapter`.

    The function `compare` must find that the engine agrees with treesim at single states. Trajectories of the engine,
    and scenes that the adapter simulates, must also agree with treesim. The layout of the adapter must pass
    `check_layout`.

    Parameters
    ----------
    adapter : str or EngineAdapter
        Name in `available("engines")`, or an object.
    robots : sequence of Tree, optional
        Robots of the check. By default small robots with common joints, on fixed and floating bases. Robots that the
        engine does not support are omitted, but the engine must support at least one.

    Returns
    -------
    Conformance
        All requirements, which are met.

    Raises
    ------
    ConformanceError
        If a requirement is not met. The message lists all such requirements.

    Examples
    --------
    >>> from treesim import testing
    >>> testing.check_engine("pinocchio").failures
    ()
    """
    engine = find_engine(adapter) if isinstance(adapter, str) else adapter
    checks = Checks(plugins.SINGULAR["engines"], named(engine))
    if not checks.has(engine, name=str, title=str, integrator=(str, type(None)), levels=tuple, timed=str):
        return checks.report()
    with checks.require("returns its version, and known levels"):
        demand(isinstance(engine.version(), str), f"version() returns {engine.version()!r}")
        demand(
            {CANONICAL, engine.timed} <= {*engine.levels} <= {RAW, CANONICAL, NUMBERED},
            f"its levels are {engine.levels!r}",
        )
    taken = [robot for robot in robots_of(robots, engine_robots) if _check_robot(checks, engine, robot)]
    with checks.require("takes one of the robots"):
        demand(bool(taken), "it refuses all of them")
    return checks.report()


def _check_robot(checks: Checks, engine: EngineAdapter, robot: Tree) -> bool:
    """Check a robot with the engine; return whether the engine supports it."""
    with checks.require("returns a reason why it refuses a robot, or None", robot.name):
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
        scenes = DRIVEN if isinstance(engine, SimulatingAdapter) else ()
        report = compare(robot, engine, states=STATES, steps=STEPS, scenes=scenes)
        demand(report.passed, str(report.summary))
    _try_layout(checks, model.layout, robot)
    return True


def check_layout(layout: Layout, robot: Tree, seed: int = 0) -> Conformance:
    """Check on one robot that the layout of an engine converts states and forces correctly.

    Each conversion must have an inverse. The power (force times velocity) must be equal in the coordinates of treesim
    and of the engine. Along a motion, accelerations must be the time derivatives of velocities. The condition on
    accelerations detects terms that are missing in a layout with rotating axes. The check uses a random state and a
    batch of states.

    Parameters
    ----------
    layout : Layout
        Layout.
    robot : Tree
        Robot of the layout.
    seed : int
        Seed of the random states.

    Returns
    -------
    Conformance
        All requirements, which are met.

    Raises
    ------
    ConformanceError
        If a requirement is not met. The message lists all such requirements.

    Examples
    --------
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
    """Return random configurations, three velocity-like vectors and symmetric matrices for a batch of this shape."""
    q = np.array([robot.random(rng) for _ in range(int(np.prod(shape)))]).reshape(*shape, robot.nq)
    vectors, M = rng.normal(size=(3, *shape, robot.nv)), rng.normal(size=(*shape, robot.nv, robot.nv))
    return q, vectors, M + np.swapaxes(M, -1, -2)


def _ways(
    layout: Layout, q: np.ndarray, v: np.ndarray, a: np.ndarray, tau: np.ndarray, M: np.ndarray
) -> dict[str, Callable[[], tuple[np.ndarray, np.ndarray]]]:
    """Return functions that map quantities to the engine and back; each returns the result and the original."""
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
