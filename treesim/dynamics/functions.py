"""The dynamics of a tree as plain functions of state; every array may carry leading batch axes."""

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
    """Return the accelerations qdd (..., nv) that the generalised forces tau cause: M qdd + bias = tau.

    q (..., nq): configuration [m, rad, unit quaternions xyzw, normalized if their length differs from 1 by up to a
    thousandth]. v (..., nv): velocity [m/s, rad/s]. tau (..., nv): generalised force [N, N m].
    f_ext (..., n_bodies, 6): wrench on each body, force then moment [N, N m], along its own frame's axes and about its
    origin. backend: a name of `available("dynamics")`, or a backend itself. gravity (3,) [m/s^2] and armature (nv,)
    [kg m^2, kg] replace the robot's.
    refinements: steps of iterative refinement, each of which solves for the residual of inverse dynamics, at rest and
    without gravity: they restore digits that a method loses on long chains or light links, for one more solution each.
    engine: "generic", code for any robot; "specialized", code made for this robot that works on many states at once;
    "auto", the latter for large batches where the backend and the robot allow it. out: where to write qdd, an array of
    its shape and number type in any order of memory; it may be one of the arguments. model_parameters: physics of
    each state, with leading axes that broadcast with the others': mass (..., n_bodies), center_of_mass
    (..., n_bodies, 3), inertia (..., n_bodies, 3, 3) about it in the body's axes, armature (..., nv), gravity (..., 3),
    or, of single bodies and joints, {name: array}; see docs/parameters.md.
    qdd is the derivative of v as stored, in body axes for multi-DoF joints. Arrays are read in place whatever their
    order of memory, and what all states of a batch share is not copied.
    Raises ArgumentError (type, shape, a quaternion of another length), NonFiniteError (NaN or infinity in an argument,
    or a result too large for its numbers), SingularInertiaError (naming the joint),
    UnknownNameError (backend, engine), UnsupportedError where the engine "specialized" cannot be; some backends also
    ConvergenceError or AccuracyError. After an error, the contents of out are undefined. Cost: the backend's; `aba` is
    O(N).

    Example:
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
    """Forward dynamics of states that have physics of their own."""
    solver = solver.taken(robot) if isinstance(solver, Auto) else solver
    check_physics_of_backend(solver, robot, model_parameters)
    if refinements:
        raise UnsupportedError("refinements take no model_parameters: leave out one of them")
    physics = physics_of(robot, model_parameters, "forward_dynamics", gravity, armature)
    found: np.ndarray = solver.of_own_physics(physics, robot, q, v, tau, f_ext, gravity, armature, engine, out)
    return found


def held_backend(solver: Any, robot: Tree) -> Any:
    """Return the backend, or where it takes no followers what holds them behind it; for "auto" the one it takes."""
    solver = solver.taken(robot) if isinstance(solver, Auto) else solver
    return solver if takes_mimic_joints(solver) else MimicConstrained(solver)


def _with_engine(solver: DynamicsBackend, robot: Tree, engine: Engine) -> Callable[..., np.ndarray]:
    """A backend's forward dynamics on an engine, with `out`; backends of other kinds know neither."""
    check_engine(engine)
    taken = solver.taken(robot) if isinstance(solver, Auto) else solver
    if isinstance(taken, CompiledBackend):
        return partial(taken.forward_dynamics, engine=engine)
    if engine != "auto":
        raise UnsupportedError(f"the backend {taken.name!r} brings its own code: it takes no engine but 'auto'")
    return lambda *arguments, out=None: _copied(taken.forward_dynamics(*arguments), out)


def _copied(result: np.ndarray, out: np.ndarray | None) -> np.ndarray:
    """The result, in `out` if there is one."""
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
    """Return the generalised forces tau (..., nv) [N, N m] that cause the accelerations a (..., nv).

    Arguments and errors as in `forward_dynamics`. method: "rnea", recursive Newton-Euler (RBDA Table 5.1), or
    "composite", by composite-body inertias (Jain 1991, eq. 29). Both O(N); `rnea` takes less arithmetic, `composite`
    has two independent recursions.

    Example:
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
    """Return the bias C (..., nv) [N, N m]: the forces that keep the acceleration zero (Coriolis, gravity, f_ext).

    Arguments and errors as in `forward_dynamics`. Recursive Newton-Euler with a = 0, O(N).

    Example:
        >>> robot = treesim.load("ur5")
        >>> treesim.bias_forces(robot, np.full(6, 0.5), np.zeros(6))[1:4].round(2)
        array([-46.46,  -8.3 ,   0.17])
    """
    robot = checked_robot(robot)
    return inverse_dynamics(
        robot, q, v, np.zeros(robot.nv), f_ext=f_ext, gravity=gravity, model_parameters=model_parameters
    )


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
    """Return the mass matrix M (..., nv, nv), symmetric, with exact zeros off the tree's paths; or (..., nnz), packed.

    q (..., nq): configuration. method: one of the three of Jain 1991, section 3: "crba", composite rigid bodies
    (RBDA Table 6.2), O(n d) for depth d; "symmetry", inverse dynamics of each joint's subtree, O(n N); "direct",
    inverse dynamics of the whole tree for each column, O(n N). Writing the full matrix takes O(n^2) more. engine, out:
    as in `forward_dynamics`; large batches are limited by memory bandwidth, and `out` saves the allocation.
    packed: whether to return only what can differ from zero in the lower triangle, robot.nnz numbers, row by row
    (`mass_matrix_pattern` tells where each stands, `unpack_mass_matrix` gives the full matrix); by "crba" only.
    model_parameters: as in `forward_dynamics`.
    Raises ArgumentError, NonFiniteError, UnknownNameError (method, engine), UnsupportedError (engine, packed).

    Example:
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
    """Return kinetic and potential energy (...) [J]; potential is 0 with every centre of mass at the world's origin.

    Arguments and errors as in `forward_dynamics`. Kinetic energy includes the rotors (armature). O(N).

    Example:
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
    """The same of states that have physics of their own."""
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
    """Return the momentum (..., 6) of all bodies: linear [N s], then angular about the world's origin [N m s].

    World axes; rotors are left out. Arguments and errors as in `forward_dynamics`. O(N).

    Example:
        >>> robot = treesim.load("ur5")
        >>> treesim.momentum(robot, np.full(6, 0.5), np.ones(6)).round(2)
        array([-7.69,  1.2 , -5.56, -1.98,  4.81,  2.9 ])
    """
    robot = checked_robot(robot)
    if model_parameters is None:
        return ENERGY_AND_MOMENTUM(robot, robot.ints, robot.reals, q, v, engine)[..., 2:]
    return _own_energy_and_momentum(robot, q, v, None, engine, model_parameters, "momentum")[..., 2:]
