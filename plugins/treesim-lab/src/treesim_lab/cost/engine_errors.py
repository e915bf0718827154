"""Errors against the high-precision reference, by engine and kernel on one robot, and the problem's sensitivity.

Forces are those of accelerations of order one, so that large numbers cancel. Joint forces are solved for
accelerations with the mass matrix M. Rounding its entries and the forces once, before anything is computed,
already changes the solution by `Problem.sensitivity`; no engine can be more accurate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from treesim import plugins
from treesim.dynamics.inverse_dynamics import bias_forces, inverse_dynamics
from treesim.dynamics.mass_matrix import mass_matrix
from treesim.dynamics.operational.frames import frame_codes
from treesim.engine.call import specialized
from treesim.engine.call.generic import compiled
from treesim.engine.llvm import strategies
from treesim.errors import NonFiniteError, UnsupportedError
from treesim.kernels.algebra.limits import UNLIMITED
from treesim.kernels.dynamics.aba import forward_dynamics_states
from treesim.kernels.dynamics.crba import mass_matrix_full_states
from treesim.kernels.dynamics.inertia_matrix_dynamics import forward_dynamics_ltdl_states
from treesim.kernels.dynamics.inverse_mass import solve_mass_matrix_states
from treesim.kernels.dynamics.rjk import forward_dynamics_rjk_states
from treesim.kernels.dynamics.rnea import inverse_dynamics_states
from treesim.kernels.entries.status import FINE
from treesim.kernels.kinematics.bodies import body_poses_states
from treesim.kernels.kinematics.jacobians import jacobian_states
from treesim.kernels.stepping.rules import RULES
from treesim.kernels.stepping.step import Settings
from treesim.kernels.stepping.step_entry import step_entry
from treesim.model.tree import Tree
from treesim.states.states import serving
from treesim.testing.bounds import apart, moved_by_rounding

from .error_growth import exact_arrays
from .robot import REFERENCE, limb_tips

AGREEMENT = 1e-13  # allowed distance between engines, relative to a result's largest number, unless ill-conditioned
TASKS = 2  # frames of the inverse operational inertia
DT = 1e-3  # [s]
GENERIC, SINGLE_STATE = "generic", "single states"
LANES = {"straight-line lanes": strategies.STRAIGHT, "looped lanes": strategies.LOOPED}
SPECIALIZED = (SINGLE_STATE, *LANES)


class Problem(NamedTuple):
    """A kernel on several states of a robot.

    entry: called with constants, arguments, results. arguments: arrays (states, numbers). sizes: numbers of one
    state in each result. sensitivity (states,): change of the exact result, relative to its largest number, due
    to rounding the mass matrix and the forces once; 0 without a linear solve.
    """

    name: str
    entry: Callable[..., int]
    constants: tuple[Any, ...]
    arguments: tuple[np.ndarray, ...]
    sizes: tuple[int, ...]
    sensitivity: np.ndarray

    @property
    def allowed(self) -> np.ndarray:
        """Allowed distances (states,) between two engines' results: AGREEMENT, or the sensitivity if larger."""
        return np.maximum(AGREEMENT, self.sensitivity)


def problems(robot: Tree, count: int, seed: int = 0) -> list[Problem]:
    """Return the problems of a robot that moves, on `count` random states. Cost: count O(nv^3)."""
    rng = np.random.default_rng(seed)
    q = np.array([robot.random(rng) for _ in range(count)])
    v, a = rng.normal(size=(2, count, robot.nv))
    tau, nothing, n = inverse_dynamics(robot, q, v, a), np.empty((count, 0)), robot.nv
    tree = (robot.ints, robot.reals)
    frames = [robot.body_names[i - 1] for i in limb_tips(robot.topology)][:TASKS]
    jacobian = (*tree, *frame_codes(robot, tuple(frames[:1]), REFERENCE))
    method = plugins.get("operational", "pv_osim")
    space, tasks = type(method).entry, method.constants(robot, frames, REFERENCE)
    # no gains, damping, effort limits; forces, at the end of the step
    all_n = robot.spanning.nv
    columns = {"effort_limit": UNLIMITED, "theta": 1.0}
    step = np.concatenate([[DT], *(np.full(all_n, columns.get(name, 0.0)) for name in Settings._fields[1:])])
    forward_states, tables = serving(forward_dynamics_states, robot, tree)
    step_states = step_entry(RULES["semi_implicit_euler"], forward_states, results=())
    M, bias = mass_matrix(robot, q), bias_forces(robot, q, v)
    direct, solved = np.zeros(count), sensitivity(M, np.abs(tau) + np.abs(bias), a)
    stepped = DT * solved * np.abs(a).max(axis=1) / np.abs(v + DT * a).max(axis=1)  # of v + DT qdd
    forward = (q, v, tau, nothing)
    acted, turns = np.abs(np.einsum("sij,sj->si", M, a)), (*tree, robot.body_rotations.reshape(-1))
    found = [
        Problem("body poses", body_poses_states, turns, (q,), (16 * (robot.n_bodies + 1),), direct),
        Problem("Jacobian", jacobian_states, jacobian, (q,), (6 * n,), direct),
        Problem("inverse dynamics", inverse_dynamics_states, tree, (q, v, a, nothing), (n,), direct),
        Problem("mass matrix", mass_matrix_full_states, tree, (q,), (n * n,), direct),
        Problem("Λ⁻¹", space, tasks, (q,), ((6 * len(frames)) ** 2,), direct),
        Problem("rollout step", step_states, (*tables, step), (q, v, tau), (robot.nq, n), stepped),
        Problem("M⁻¹x", solve_mass_matrix_states, tree, (q, tau - bias), (n,), sensitivity(M, acted, a)),
        Problem("aba", forward_dynamics_states, tree, forward, (n,), solved),
        Problem("rjk", forward_dynamics_rjk_states, tree, forward, (n,), solved),
        Problem("crba_ltdl", forward_dynamics_ltdl_states, tree, forward, (n,), solved),
    ]
    return [_served(problem, robot) for problem in found]


def _served(problem: Problem, robot: Tree) -> Problem:
    """Return the problem with the entry and the constants for this robot."""
    entry, constants = serving(problem.entry, robot, problem.constants)
    return problem._replace(entry=entry, constants=constants)


def sensitivity(M: np.ndarray, forces: np.ndarray, solution: np.ndarray) -> np.ndarray:
    """Return the relative changes (states,) of the solutions of M x = f due to one rounding of each entry.

    Entries are those of M (states, n, n), and of forces with absolute values `forces` (states, n).
    """
    return moved_by_rounding(M, forces, solution).max(axis=1) / np.abs(solution).max(axis=1)


def results(problem: Problem, form: str, number: type[np.floating] = np.float64) -> list[np.ndarray]:
    """Return the results (states, numbers) of a problem by "generic" code or one of SPECIALIZED.

    Raises UnsupportedError if there is no such code, NonFiniteError if a result is not finite. Takes up to
    seconds for code that is not cached.
    """
    inputs = tuple(x.astype(number) for x in problem.arguments)
    if form in LANES:
        return _on_lanes(problem, LANES[form], inputs, number)
    call = _single_call(problem, form, number)
    found = [np.empty((len(inputs[0]), size), number) for size in problem.sizes]
    for state in range(len(inputs[0])):
        one = [np.empty(size, number) for size in problem.sizes]
        if call([np.ascontiguousarray(x[state]) for x in inputs], one) != FINE:
            raise NonFiniteError(f"{problem.name}, state {state}: the result is not finite")
        for whole, part in zip(found, one, strict=True):
            whole[state] = part
    return found


def _single_call(
    problem: Problem, form: str, number: type[np.floating]
) -> Callable[[Sequence[np.ndarray], Sequence[np.ndarray]], int]:
    """Return the function (inputs, results) of one state by this form of code."""
    if form == GENERIC:
        code = compiled(problem.entry)
        return lambda inputs, one: int(code(*problem.constants, *inputs, *one))
    shapes = [x.shape[1:] for x in problem.arguments], [(size,) for size in problem.sizes]
    call = specialized.single_code(problem.entry, problem.constants, *shapes, number)
    return lambda inputs, one: call(*(x for x in inputs if x.size), *one)


def _on_lanes(problem: Problem, form: str, inputs: Sequence[np.ndarray], number: type[np.floating]) -> list[np.ndarray]:
    found = [np.empty((len(inputs[0]), size), number) for size in problem.sizes]
    sizes = [x.shape[1] for x in inputs]
    code = specialized.batch_code(
        problem.entry, problem.constants, sizes, problem.sizes, number is np.float32, strategy=form
    )
    code.run([*inputs, *found], len(inputs[0]))
    return found


def rounded(problem: Problem) -> Problem:
    """Return the problem with arguments rounded to float32, so that only the error of the code remains."""
    return problem._replace(arguments=tuple(x.astype(np.float32).astype(float) for x in problem.arguments))


def exact(problem: Problem, states: int) -> list[np.ndarray]:
    """Return the results (states, numbers) on the first states, computed with 40 digits and rounded.

    Raises ArgumentError without mpmath. About 10 us per operation and state.
    """
    shapes = [(size,) for size in problem.sizes]
    rows = [
        exact_arrays(problem.entry, problem.constants, [x[state] for x in problem.arguments], shapes)
        for state in range(states)
    ]
    return [np.array(column) for column in zip(*rows, strict=True)]


class Errors(NamedTuple):
    """Largest errors of all states, relative to the largest number of a result; None if there is no such code.

    apart: distance of the specialized code forms from the generic code. sensitivity: see Problem. generic,
    specialized: errors against the reference, the latter of the worst form. single: distance of the robot's
    code in float32 from the generic code with the same numbers.
    """

    problem: str
    apart: float | None
    sensitivity: float
    generic: float
    specialized: float | None
    single: float | None


def errors(problem: Problem, exact_states: int) -> Errors:
    """Return the errors of a problem's engines; the reference is computed on its first `exact_states` states."""
    truth, generic = exact(problem, exact_states), results(problem, GENERIC)
    special = [found for form in SPECIALIZED if (found := _if_any(problem, form, np.float64)) is not None]
    single = _if_any(problem, SINGLE_STATE, np.float32)
    return Errors(
        problem.name,
        _worst([apart(found, generic) for found in special]),
        float(problem.sensitivity.max()),
        float(apart(generic, truth).max()),
        _worst([apart(found, truth) for found in special]),
        None if single is None else _worst([apart(single, results(rounded(problem), GENERIC))]),
    )


def _if_any(problem: Problem, form: str, number: type[np.floating]) -> list[np.ndarray] | None:
    try:
        return results(problem, form, number)
    except UnsupportedError:
        return None


def _worst(found: Sequence[np.ndarray]) -> float | None:
    return max(float(x.max()) for x in found) if found else None
