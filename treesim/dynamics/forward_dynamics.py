"""Forward dynamics of a tree, by any backend."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import plugins
from ..engine.call.evaluate import check_engine, refuse_overflow
from ..errors import UnsupportedError
from ..kernels.dynamics.aba import forward_dynamics_states
from ..model.tree import Tree
from ..states.arguments import checked_robot, whole_number
from ..states.physics import Numbers
from ..states.states import one_state_first
from ..types import BackendName, Engine
from .auto import Auto
from .base import Backend, CompiledBackend, DynamicsBackend, check_supported, chosen_backend, copied
from .checked import NO_GRAVITY, CheckedBackend
from .inverse_dynamics import inverse_dynamics
from .mimic import MimicConstrained, takes_mimic_joints
from .physics import ModelParameters, check_physics_of_backend, physics_of

MOST_REFINEMENTS = 1000


@one_state_first(forward_dynamics_states)
def forward_dynamics(
    robot: Tree,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    *,
    f_ext: ArrayLike | None = None,
    backend: BackendName | DynamicsBackend = "aba",
    gravity: ArrayLike | None = None,
    armature: ArrayLike | None = None,
    refinements: int = 0,
    engine: Engine = "auto",
    out: np.ndarray | None = None,
    model_parameters: ModelParameters | None = None,
) -> np.ndarray:
    """Return the accelerations that generalised forces tau cause.

    The function solves M qdd + C = tau for the accelerations qdd, where M is the mass matrix and C are the bias forces
    (see `bias_forces`).

    Parameters
    ----------
    robot : Tree
        Robot.
    q : array_like
        (..., nq) configurations [m, rad, unit quaternions xyzw]. Quaternions are normalized if their length differs
        from 1 by up to a thousandth.
    v : array_like
        (..., nv) velocities [m/s, rad/s].
    tau : array_like
        (..., nv) generalised forces [N, N m].
    f_ext : array_like, optional
        (..., n_bodies, 6) wrench on each body, force then moment [N, N m], about the origin and along the axes of the
        body's own frame.
    backend : str or DynamicsBackend
        Name of a backend, see `available("dynamics")`, or a backend.
    gravity : array_like, optional
        (3,) replaces the robot's gravity [m/s^2].
    armature : array_like, optional
        (nv,) replaces the robot's armature [kg m^2, kg].
    refinements : int
        Number of steps of iterative refinement, at most 1000, which restore digits that a method loses on long chains
        or light links. Each step computes by inverse dynamics the forces that the accelerations leave unexplained, and
        adds the accelerations that these forces cause. A step costs as much as inverse plus forward dynamics.
    engine : str
        "generic": code for any robot. "specialized": code compiled for this robot, which computes many states at once.
        "auto": "specialized" for large batches, if backend and robot allow it; else "generic".
    out : numpy.ndarray, optional
        Array for the result, with the result's shape and dtype, in any memory order. It may be one of the arguments.
    model_parameters : mapping, optional
        Batched model parameters, whose leading axes are broadcast with the leading axes of the states: mass (...,
        n_bodies), center_of_mass (..., n_bodies, 3), inertia (..., n_bodies, 3, 3) about the centre of mass in body
        axes, armature (..., nv), gravity (..., 3). Values of single bodies and joints are given as {name: array}.

    Returns
    -------
    numpy.ndarray
        (..., nv) accelerations [m/s^2, rad/s^2], the time derivative of v. Components of multi-DoF joints are along the
        axes of the moving body.

    Raises
    ------
    ArgumentError
        If a type or shape does not fit, or the length of a quaternion differs from 1 by more than a thousandth.
    NonFiniteError
        If an argument is not finite, or a result overflows.
    SingularInertiaError
        If a joint moves no inertia; the error names the joint.
    UnknownNameError
        If the backend or engine is unknown.
    UnsupportedError
        If the engine is "specialized", but the backend or the robot does not support it.
    ConvergenceError, AccuracyError
        If a backend does not converge, or loses too many digits; only some backends raise these errors.

    Notes
    -----
    Arrays are read in any memory order, and are not copied, even for broadcasting. After an error, the contents of
    `out` are undefined. The cost depends on the backend; "aba" costs O(N) for N bodies.

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> q, v, tau = np.full(6, 0.5), np.ones(6), np.zeros(6)
    >>> treesim.forward_dynamics(robot, q, v, tau).round(2)
    array([ -0.25,  26.58, -40.66,  14.35,  -3.13,   5.04])
    >>> treesim.forward_dynamics(robot, np.tile(q, (10, 1)), v, tau, backend="crba_ltdl").shape
    (10, 6)
    """
    if type(robot) is not Tree:
        robot = checked_robot(robot)
    if type(refinements) is not int or refinements:
        refinements = whole_number("refinements", refinements, most=MOST_REFINEMENTS)
    solver = plugins.get("dynamics", backend) if type(backend) is str else chosen_backend(backend)
    if not isinstance(solver, Backend):  # others' may ignore what they do not support
        check_supported(solver, robot, armature, f_ext)
    if robot.mimic_map is not None and not getattr(solver, "serves_mimic_joints", False):
        solver = held_backend(solver, robot)
    if model_parameters is not None:
        kernel: Any = solver.taken(robot) if isinstance(solver, Auto) else solver
        physics = _batched_parameters(kernel, robot, gravity, armature, refinements, model_parameters)
        return kernel.evaluate(robot, q, v, tau, f_ext, gravity, armature, None, engine, out, physics)
    if type(engine) is str and engine == "auto" and out is None and not refinements:
        return solver.forward_dynamics(robot, q, v, tau, f_ext, gravity, armature)
    if not refinements:
        return _with_engine(solver, robot, engine)(robot, q, v, tau, f_ext, gravity, armature, out=out)
    return copied(_refined(solver, robot, q, v, tau, f_ext, gravity, armature, refinements, engine), out)


def _refined(
    solver: DynamicsBackend,
    robot: Tree,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    f_ext: ArrayLike | None,
    gravity: ArrayLike | None,
    armature: ArrayLike | None,
    refinements: int,
    engine: Engine,
) -> np.ndarray:
    """Return accelerations after iterative refinement; arguments as of `forward_dynamics`."""
    solve = _with_engine(solver, robot, engine)
    qdd = solve(robot, q, v, tau, f_ext, gravity, armature)

    def left(a: np.ndarray) -> np.ndarray:
        """Return the forces (..., nv) that accelerations a leave unexplained."""
        found = inverse_dynamics(robot, q, v, a, f_ext=f_ext, gravity=gravity, armature=armature, engine=engine)
        return np.asarray(tau - found)

    for _ in range(refinements):
        if isinstance(solver, CheckedBackend):
            qdd = solver.improved(robot, q, qdd, left, armature, engine)
        else:
            qdd = qdd + solve(robot, q, np.zeros(robot.nv), left(qdd), None, NO_GRAVITY, armature)
    refuse_overflow("the refinement of forward dynamics", qdd.astype(float))
    return qdd


def _batched_parameters(
    solver: Any, robot: Tree, gravity: Any, armature: Any, refinements: int, model_parameters: ModelParameters
) -> Numbers | None:
    """Return batched model parameters as a kernel of treesim takes them; raises an error if the solver is none."""
    check_physics_of_backend(solver, robot, model_parameters)
    if refinements:
        raise UnsupportedError("refinement does not support model_parameters: leave out one of the two")
    return physics_of(robot, model_parameters, "forward_dynamics", gravity, armature)


def held_backend(solver: Any, robot: Tree) -> Any:
    """Return a backend that supports mimic joints: the given one, or a wrapper that adds their constraints.

    "auto" is replaced by the backend that it selects.
    """
    solver = solver.taken(robot) if isinstance(solver, Auto) else solver
    return solver if takes_mimic_joints(solver) else MimicConstrained(solver)


def _with_engine(solver: DynamicsBackend, robot: Tree, engine: Engine) -> Callable[..., np.ndarray]:
    """Return a backend's forward dynamics for an engine, with an argument `out`.

    Raises UnsupportedError for backends that are not compiled if the engine is not "auto".
    """
    check_engine(engine)
    taken = solver.taken(robot) if isinstance(solver, Auto) else solver
    if isinstance(taken, CompiledBackend):
        return partial(taken.forward_dynamics, engine=engine)
    if type(engine) is not str or engine != "auto":
        raise UnsupportedError(f"the backend {taken.name!r} has its own code: it supports only engine='auto'")
    return lambda *arguments, out=None: copied(taken.forward_dynamics(*arguments), out)
