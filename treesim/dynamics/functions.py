"""Dynamics of a tree as functions of state; every array may have leading batch axes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import plugins
from ..engine.call.evaluate import check_engine, refuse_overflow
from ..engine.call.fast_entry import FastEntry
from ..errors import UnsupportedError, unknown_name
from ..kernels.dynamics.crba import mass_matrix_full_states, mass_matrix_packed_states
from ..kernels.dynamics.rnea import inverse_dynamics_states
from ..kernels.entries.status import FINE
from ..kernels.kinematics.bodies import energy_and_momentum_states
from ..kernels.published.composite_inverse_dynamics import inverse_dynamics_composite_states
from ..kernels.published.mass_matrix_direct import mass_matrix_direct_states
from ..kernels.published.mass_matrix_symmetric import mass_matrix_symmetric_states
from ..model.tree import Tree
from ..states.arguments import checked_robot, whole_number
from ..states.states import on_states, state_function
from ..types import Engine, InverseDynamicsMethod, MassMatrixMethod
from ..validation.arrays import check_out
from .auto import Auto
from .base import CompiledBackend, DynamicsBackend, chosen_backend
from .mimic import MimicConstrained, takes_mimic_joints
from .packed_mass_matrix import mass_matrix_pattern
from .physics import ModelParameters, check_physics_of_backend, physics_of
from .tables import constants_of, kernel_wrenches

NO_FORCES = np.empty(0)
NO_GRAVITY = (0.0, 0.0, 0.0)
INVERSE_DYNAMICS = {
    "rnea": FastEntry(inverse_dynamics_states),
    "composite": FastEntry(inverse_dynamics_composite_states),
}
MASS_MATRIX = {
    "crba": FastEntry(mass_matrix_full_states),
    "direct": FastEntry(mass_matrix_direct_states),
    "symmetry": FastEntry(mass_matrix_symmetric_states),
}
ENERGY_AND_MOMENTUM = state_function(energy_and_momentum_states)
PACKED_MASS_MATRIX = {"crba": FastEntry(mass_matrix_packed_states)}


def forward_dynamics(
    robot: Tree,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    *,
    f_ext: ArrayLike | None = None,
    backend: str | DynamicsBackend = "aba",
    gravity: ArrayLike | None = None,
    armature: ArrayLike | None = None,
    refinements: int = 0,
    engine: Engine = "auto",
    out: np.ndarray | None = None,
    model_parameters: ModelParameters | None = None,
) -> np.ndarray:
    """Return the accelerations qdd for generalised forces tau: M qdd + bias = tau.

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
        (..., n_bodies, 6) wrench on each body, force then moment [N, N m], in its own frame's axes and about its
        origin.
    backend : str or DynamicsBackend
        A name of `available("dynamics")`, or a backend.
    gravity : array_like, optional
        (3,) replaces the robot's gravity [m/s^2].
    armature : array_like, optional
        (nv,) replaces the robot's armature [kg m^2, kg].
    refinements : int
        Number of steps of iterative refinement. Each solves for the residual of inverse dynamics, at the cost of one
        more solution. They restore digits that a method loses on long chains or light links.
    engine : str
        "generic": code for any robot. "specialized": code compiled for this robot, which computes many states at once.
        "auto": the latter for large batches, if backend and robot allow it.
    out : numpy.ndarray, optional
        Array for the result, of its shape and dtype, in any memory order; it may be one of the arguments.
    model_parameters : mapping, optional
        Batched model parameters, whose leading axes are broadcast with those of the states: mass (..., n_bodies),
        center_of_mass (..., n_bodies, 3), inertia (..., n_bodies, 3, 3) about the centre of mass in body axes, armature
        (..., nv), gravity (..., 3). Values of single bodies and joints are given as {name: array}. See
        docs/parameters.md.

    Returns
    -------
    numpy.ndarray
        (..., nv) accelerations [m/s^2, rad/s^2], the time derivative of v; in body axes for multi-DoF joints.

    Raises
    ------
    ArgumentError
        If a type or shape does not fit, or a quaternion has another length.
    NonFiniteError
        If an argument is not finite, or a result overflows.
    SingularInertiaError
        If a joint moves no inertia; the error names it.
    UnknownNameError
        If the backend or engine is unknown.
    UnsupportedError
        If the engine "specialized" is not possible.
    ConvergenceError, AccuracyError
        Raised by some backends.

    Notes
    -----
    Arrays are read without copying, in any memory order; arguments that are broadcast are not copied. After an error,
    the contents of `out` are undefined. The cost is that of the backend; `aba` is O(N).

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
    if refinements or type(refinements) is not int:
        refinements = whole_number("refinements", refinements)
    solver = plugins.get("dynamics", backend) if type(backend) is str else chosen_backend(backend)
    if robot.mimic_map is not None:
        solver = held_backend(solver, robot)
    if model_parameters is not None:
        return _of_own_physics(
            solver, robot, q, v, tau, f_ext, gravity, armature, refinements, engine, out, model_parameters
        )
    if engine == "auto" and out is None and not refinements:
        return solver.forward_dynamics(robot, q, v, tau, f_ext, gravity, armature)
    solve = _with_engine(solver, robot, engine)
    if not refinements:
        return solve(robot, q, v, tau, f_ext, gravity, armature, out=out)
    qdd = solve(robot, q, v, tau, f_ext, gravity, armature)
    for _ in range(refinements):
        residual = tau - inverse_dynamics(
            robot, q, v, qdd, f_ext=f_ext, gravity=gravity, armature=armature, engine=engine
        )
        qdd = qdd + solve(robot, q, np.zeros(robot.nv), residual, None, NO_GRAVITY, armature)
    refuse_overflow("the refinement of forward dynamics", qdd.astype(float))
    return _copied(qdd, out)


def _of_own_physics(
    solver: Any,
    robot: Tree,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    f_ext: ArrayLike | None,
    gravity: ArrayLike | None,
    armature: ArrayLike | None,
    refinements: int,
    engine: Engine,
    out: np.ndarray | None,
    model_parameters: ModelParameters,
) -> np.ndarray:
    """Return the forward dynamics of states with batched model parameters."""
    solver = solver.taken(robot) if isinstance(solver, Auto) else solver
    check_physics_of_backend(solver, robot, model_parameters)
    if refinements:
        raise UnsupportedError("refinement does not support model_parameters: leave out one of the two")
    physics = physics_of(robot, model_parameters, "forward_dynamics", gravity, armature)
    found: np.ndarray = solver.of_own_physics(physics, robot, q, v, tau, f_ext, gravity, armature, engine, out)
    return found


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
    if engine != "auto":
        raise UnsupportedError(f"the backend {taken.name!r} has its own code: it supports only engine='auto'")
    return lambda *arguments, out=None: _copied(taken.forward_dynamics(*arguments), out)


def _copied(result: np.ndarray, out: np.ndarray | None) -> np.ndarray:
    """Return the result, copied to `out` if that is given."""
    if out is None:
        return result
    check_out(out, result.shape, result.dtype)[...] = result
    return out


def inverse_dynamics(
    robot: Tree,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    *,
    f_ext: ArrayLike | None = None,
    gravity: ArrayLike | None = None,
    armature: ArrayLike | None = None,
    method: InverseDynamicsMethod = "rnea",
    engine: Engine = "auto",
    out: np.ndarray | None = None,
    model_parameters: ModelParameters | None = None,
) -> np.ndarray:
    """Return the generalised forces tau for accelerations a.

    Errors as in `treesim.forward_dynamics`. Both methods are O(N). "rnea" has fewer operations; "composite" has two
    independent recursions.

    Parameters
    ----------
    robot : Tree
        As in `treesim.forward_dynamics`.
    q, v : array_like
        As in `treesim.forward_dynamics`.
    a : array_like
        (..., nv) accelerations [m/s^2, rad/s^2].
    f_ext, gravity, armature : array_like, optional
        As in `treesim.forward_dynamics`.
    method : str
        "rnea", recursive Newton-Euler (RBDA Table 5.1), or "composite", by composite-body inertias (Jain 1991, eq. 29).
    engine : str
        As in `treesim.forward_dynamics`.
    out : numpy.ndarray, optional
        As in `treesim.forward_dynamics`.
    model_parameters : mapping, optional
        As in `treesim.forward_dynamics`.

    Returns
    -------
    numpy.ndarray
        (..., nv) generalised forces [N, N m].

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> q, v, a = np.full(6, 0.5), np.ones(6), np.zeros(6)
    >>> tau = treesim.inverse_dynamics(robot, q, v, a)
    >>> np.allclose(treesim.forward_dynamics(robot, q, v, tau), a)
    True
    """
    if type(robot) is not Tree:
        robot = checked_robot(robot)
    fast = INVERSE_DYNAMICS.get(method)
    if fast is None:
        raise unknown_name("method of inverse dynamics", method, INVERSE_DYNAMICS)
    physics = physics_of(robot, model_parameters, "inverse_dynamics", gravity, armature)
    plain = f_ext is None and gravity is None and armature is None and physics is None
    if plain and engine == "auto" and out is None:
        tau = np.empty(robot.nv)
        if fast.call(robot.ints, robot.reals, q, v, a, NO_FORCES, tau) == FINE:
            return tau  # anything but one state in float arrays is coerced, broadcast, or explained below
    given, constants = (
        {"q": q, "v": v, "a": a, "f_ext": kernel_wrenches(robot, f_ext)},
        constants_of(robot, gravity, armature),
    )
    return on_states(fast.entry, robot, constants, given, physics=physics, engine=engine, out=out)[0]


def bias_forces(
    robot: Tree,
    q: ArrayLike,
    v: ArrayLike,
    *,
    f_ext: ArrayLike | None = None,
    gravity: ArrayLike | None = None,
    model_parameters: ModelParameters | None = None,
) -> np.ndarray:
    """Return the bias forces C: the generalised forces for zero acceleration (Coriolis, gravity, f_ext).

    Errors as in `treesim.forward_dynamics`. Recursive Newton-Euler with a = 0, O(N).

    Parameters
    ----------
    robot : Tree
        As in `treesim.forward_dynamics`.
    q, v : array_like
        As in `treesim.forward_dynamics`.
    f_ext, gravity : array_like, optional
        As in `treesim.forward_dynamics`.
    model_parameters : mapping, optional
        As in `treesim.forward_dynamics`.

    Returns
    -------
    numpy.ndarray
        (..., nv) bias forces [N, N m].

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> treesim.bias_forces(robot, np.full(6, 0.5), np.zeros(6))[1:4].round(2)
    array([-46.46,  -8.3 ,   0.17])
    """
    robot = checked_robot(robot)
    return inverse_dynamics(
        robot, q, v, np.zeros(robot.nv), f_ext=f_ext, gravity=gravity, model_parameters=model_parameters
    )


def gravity_forces(
    robot: Tree,
    q: ArrayLike,
    *,
    gravity: ArrayLike | None = None,
    model_parameters: ModelParameters | None = None,
) -> np.ndarray:
    """Return the gravity forces g(q): the generalised forces that hold the robot at rest.

    They are the bias forces at v = 0, and the gradient of the potential energy. Errors as in
    `treesim.forward_dynamics`. O(N).

    Parameters
    ----------
    robot : Tree
        As in `treesim.forward_dynamics`.
    q : array_like
        As in `treesim.forward_dynamics`.
    gravity : array_like, optional
        As in `treesim.forward_dynamics`.
    model_parameters : mapping, optional
        As in `treesim.forward_dynamics`.

    Returns
    -------
    numpy.ndarray
        (..., nv) gravity forces [N, N m].

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> treesim.gravity_forces(robot, np.full(6, 0.5))[1:4].round(2)
    array([-46.46,  -8.3 ,   0.17])
    """
    robot = checked_robot(robot)
    return bias_forces(robot, q, np.zeros(robot.nv), gravity=gravity, model_parameters=model_parameters)


def mass_matrix(
    robot: Tree,
    q: ArrayLike,
    *,
    armature: ArrayLike | None = None,
    method: MassMatrixMethod = "crba",
    engine: Engine = "auto",
    out: np.ndarray | None = None,
    packed: bool = False,
    model_parameters: ModelParameters | None = None,
) -> np.ndarray:
    """Return the mass matrix M, symmetric, with exact zeros off the tree's paths.

    Parameters
    ----------
    robot : Tree
        Robot.
    q : array_like
        (..., nq) configurations.
    armature : array_like, optional
        As in `treesim.forward_dynamics`.
    method : str
        One of the three of Jain 1991, section 3. "crba": composite rigid bodies (RBDA Table 6.2), O(n d) for depth d.
        "symmetry": inverse dynamics of each joint's subtree, O(n N). "direct": inverse dynamics of the whole tree for
        each column, O(n N). Writing the full matrix takes O(n^2) in addition.
    engine : str
        As in `treesim.forward_dynamics`.
    out : numpy.ndarray, optional
        As in `treesim.forward_dynamics`. Large batches are limited by memory bandwidth; it saves the allocation.
    packed : bool
        Return only the entries of the lower triangle that can differ from zero, row by row. Only for "crba".
    model_parameters : mapping, optional
        As in `treesim.forward_dynamics`.

    Returns
    -------
    numpy.ndarray
        (..., nv, nv) matrices, or (..., nnz) if packed. `mass_matrix_pattern` returns the indices of packed entries,
        `unpack_mass_matrix` the full matrix.

    Raises
    ------
    ArgumentError
        If a type or shape does not fit.
    NonFiniteError
        If an argument is not finite, or a result overflows.
    UnknownNameError
        If the method or engine is unknown.
    UnsupportedError
        If the engine is not possible, or the method does not support `packed`.

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> q = np.full(6, 0.5)
    >>> treesim.mass_matrix(robot, q).shape, treesim.mass_matrix(robot, q, packed=True).shape
    ((6, 6), (21,))
    """
    if type(robot) is not Tree:
        robot = checked_robot(robot)
    fast = (PACKED_MASS_MATRIX if packed else MASS_MATRIX).get(method)
    if fast is None:
        raise _no_such_mass_matrix(method)
    if packed and robot.mimic_map is not None:
        M = mass_matrix(robot, q, armature=armature, engine=engine, model_parameters=model_parameters)
        return _copied(M[..., *mass_matrix_pattern(robot)], out)
    physics = physics_of(robot, model_parameters, "mass_matrix", armature=armature)
    if armature is None and physics is None and engine == "auto" and out is None:
        M = np.empty(robot.nnz) if packed else np.empty((robot.nv, robot.nv))
        if fast.call(robot.ints, robot.reals, q, M) == FINE:
            return M  # anything but one state in a float array is coerced, broadcast, or explained below
    constants = constants_of(robot, None, armature)
    return on_states(fast.entry, robot, constants, {"q": q}, physics=physics, engine=engine, out=out)[0]


def _no_such_mass_matrix(method: str) -> Exception:
    if method in MASS_MATRIX:
        return UnsupportedError(f"method {method!r} writes full matrices only: packed=True needs method='crba'")
    return unknown_name("method of the mass matrix", method, MASS_MATRIX)


def energy(
    robot: Tree,
    q: ArrayLike,
    v: ArrayLike,
    *,
    gravity: ArrayLike | None = None,
    engine: Engine = "auto",
    model_parameters: ModelParameters | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the kinetic and the potential energy.

    Kinetic energy includes the rotors (armature). Potential energy is 0 with every centre of mass at the world's
    origin. Errors as in `treesim.forward_dynamics`. O(N).

    Parameters
    ----------
    robot : Tree
        As in `treesim.forward_dynamics`.
    q, v : array_like
        As in `treesim.forward_dynamics`.
    gravity : array_like, optional
        As in `treesim.forward_dynamics`.
    engine : str
        As in `treesim.forward_dynamics`.
    model_parameters : mapping, optional
        As in `treesim.forward_dynamics`.

    Returns
    -------
    kinetic : numpy.ndarray
        (...) kinetic energies [J].
    potential : numpy.ndarray
        (...) potential energies [J].

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> kinetic, potential = treesim.energy(robot, np.full(6, 0.5), np.ones(6))
    >>> print(f"{kinetic:.3f} J, {potential:.3f} J")
    6.113 J, -19.195 J
    """
    robot = checked_robot(robot)
    if model_parameters is None:
        out = ENERGY_AND_MOMENTUM(robot, *constants_of(robot, gravity), q, v, engine)
    else:
        out = _own_energy_and_momentum(robot, q, v, gravity, engine, model_parameters, "energy")
    return out[..., 0], out[..., 1]


def _own_energy_and_momentum(
    robot: Tree,
    q: ArrayLike,
    v: ArrayLike,
    gravity: ArrayLike | None,
    engine: Engine,
    model_parameters: ModelParameters,
    what: str,
) -> np.ndarray:
    """Return energy and momentum of states with batched model parameters."""
    constants, physics = constants_of(robot, gravity), physics_of(robot, model_parameters, what, gravity)
    given = {"q": q, "v": v}
    return on_states(energy_and_momentum_states, robot, constants, given, physics=physics, engine=engine)[0]


def momentum(
    robot: Tree,
    q: ArrayLike,
    v: ArrayLike,
    *,
    engine: Engine = "auto",
    model_parameters: ModelParameters | None = None,
) -> np.ndarray:
    """Return the momentum of all bodies in world axes, without that of rotors.

    Errors as in `treesim.forward_dynamics`. O(N).

    Parameters
    ----------
    robot : Tree
        As in `treesim.forward_dynamics`.
    q, v : array_like
        As in `treesim.forward_dynamics`.
    engine : str
        As in `treesim.forward_dynamics`.
    model_parameters : mapping, optional
        As in `treesim.forward_dynamics`.

    Returns
    -------
    numpy.ndarray
        (..., 6) linear momentum [N s], then angular momentum about the world's origin [N m s].

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> treesim.momentum(robot, np.full(6, 0.5), np.ones(6)).round(2)
    array([-7.69,  1.2 , -5.56, -1.98,  4.81,  2.9 ])
    """
    robot = checked_robot(robot)
    if model_parameters is None:
        return ENERGY_AND_MOMENTUM(robot, robot.ints, robot.reals, q, v, engine)[..., 2:]
    return _own_energy_and_momentum(robot, q, v, None, engine, model_parameters, "momentum")[..., 2:]
