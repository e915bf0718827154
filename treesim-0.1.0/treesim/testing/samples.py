"""Robots and states for checks: every joint type, bodies not in depth-first order, fixed and floating bases."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from ..errors import ArgumentError
from ..model import generators
from ..model.inertia import Inertia, Placement
from ..model.joints import Joint
from ..model.tree import Body, Tree
from ..validation.values import checked_parts

MIXED = ("revolute", "spherical", "prismatic", "planar", "continuous", "floating")
Robots = Tree | Iterable[Tree] | None  # one, several, or those that a check has by default


def robots_of(given: Robots, default: Callable[[], Sequence[Tree]]) -> tuple[Tree, ...]:
    """Return the robots given to a check, or the default; raises ArgumentError for other types, and for none."""
    robots = tuple(default()) if given is None else checked_parts("robots", given, Tree)
    if not robots:
        raise ArgumentError("robots is empty: nothing would be tried; give some, or None for the check's own")
    return robots


class State(NamedTuple):
    """Random state of a robot for checks of dynamics.

    Parameters
    ----------
    q : ndarray, shape (nq,)
        Configuration.
    v, a, tau : ndarray, shape (nv,)
        Velocity, acceleration, and joint forces [N, N m].
    f_ext : ndarray, shape (N, 6)
        External wrenches, each of which would accelerate its body by about 1 [m/s^2, rad/s^2] if the body were free.

    Examples
    --------
    >>> from treesim import testing
    >>> q, v, a, tau, f_ext = testing.random_state(treesim.load("ur5"), seed=1)
    >>> testing.random_state(treesim.load("ur5"), seed=1).tau.tolist() == tau.tolist()
    True
    """

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    tau: np.ndarray
    f_ext: np.ndarray


def random_state(robot: Tree, seed: int = 0) -> State:
    """Return a random state of a robot, including accelerations, joint forces and a wrench on every body.

    Parameters
    ----------
    robot : Tree
        Robot.
    seed : int
        Seed.

    Returns
    -------
    State
        Random state.

    Examples
    --------
    >>> from treesim import testing
    >>> testing.random_state(treesim.load("ur5")).f_ext.shape
    (6, 6)
    """
    rng = np.random.default_rng(seed)
    v, a, tau = rng.normal(size=(3, robot.nv))
    pushes = pushing([body.inertia for body in robot.bodies], *rng.normal(size=(robot.n_bodies, 2, 3)).swapaxes(0, 1))
    return State(robot.random(rng), v, a, tau, pushes)


def pushing(inertias: Sequence[Inertia], linear: np.ndarray, angular: np.ndarray) -> np.ndarray:
    """Return the wrenches (N, 6) that accelerate bodies at rest by `linear` and `angular` (N, 3) at their origins."""
    mass = np.array([[inertia.mass] for inertia in inertias]).reshape(-1, 1)
    com = np.array([inertia.com for inertia in inertias]).reshape(-1, 3)
    moments = np.array([inertia.rotational for inertia in inertias]).reshape(-1, 3, 3)
    force = mass * (linear + np.cross(angular, com))
    return np.concatenate([force, (moments @ angular[..., None])[..., 0] + np.cross(com, force)], axis=1)


def on_floating_base(tree: Tree) -> Tree:
    """Return `tree` mounted on an additional first body with a floating joint."""
    base = Body("carrier", 0, Joint("root_joint", "floating", placement=Placement()), tree.bodies[0].inertia)
    bodies = [Body(body.name, body.parent + 1, body.joint, body.inertia) for body in tree.bodies]
    return Tree(f"floating_{tree.name}", [base, *bodies], gravity=tree.gravity)


def sample_robots() -> tuple[Tree, ...]:
    """Return the default robots of checks: small robots that together have all joint types.

    Returns
    -------
    tuple of Tree
        Robots.

    Examples
    --------
    >>> from treesim import testing
    >>> [robot.nv for robot in testing.sample_robots()]
    [7, 15, 24, 13, 40]
    """
    rng = np.random.default_rng
    return (
        generators.tree_1(),
        generators.chain(6, MIXED),
        generators.random_tree(rng(1), 8),
        on_floating_base(generators.random_tree(rng(3), 7, joint_types=("revolute", "prismatic", "continuous"))),
        generators.asimo(),
    )
