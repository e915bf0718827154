"""Every method for one state of a robot, compared with the reference, its bound, and the median of all methods."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import get_args

import numpy as np

from treesim import plugins
from treesim.dynamics.factorization import ltdl, ltl
from treesim.dynamics.forward_dynamics import forward_dynamics
from treesim.dynamics.inverse_dynamics import bias_forces, inverse_dynamics
from treesim.dynamics.mass_matrix import mass_matrix
from treesim.dynamics.operational.frames import body_poses, frame_jacobian
from treesim.dynamics.operational.functions import inverse_operational_inertia
from treesim.dynamics.solve import solve_mass_matrix
from treesim.errors import TreesimError, UnsupportedError
from treesim.kernels.kinematics.bodies import body_poses_states
from treesim.testing.bounds import OF_A_SWEEP, ROUNDING, TINY, bias_parts, of_forces, of_sums, relative
from treesim.types import InverseDynamicsMethod, MassMatrixMethod

from ..cost.factorization_errors import Factors, residual
from ..cost.robot import AUTO, REFERENCE, limb_tips
from .exact import ExactState, largest, rounded
from .report import Row

TASKS = 2  # frames of the inverse operational inertia
QUANTITIES, FORWARD, FACTORIZATIONS, INVERSE, OPERATIONAL = (
    "quantities", "forward dynamics", "factorizations", "inverse mass matrix", "operational space",
)  # fmt: skip
Calls = Mapping[str, Callable[[], np.ndarray]]


def methods(exact: ExactState, notes: dict[str, None]) -> Iterator[Row]:
    """Yield a row for every method at one state; to be called within `exact.many_digits`.

    notes: reasons why methods do not support the robot are added.
    """
    yield from _quantities(exact, notes)
    yield from _forward(exact, notes)
    yield from _factorizations(exact)
    yield from _inverses(exact, notes)
    yield from _operational(exact, notes)


def _quantities(exact: ExactState, notes: dict[str, None]) -> Iterator[Row]:
    """Yield rows for quantities computed by sweeps along the robot, without a linear solve."""
    robot, q, v, a = exact.robot, exact.q, exact.v, rounded(exact.a)
    dofs = robot.dof_names
    masses = {f"mass matrix, {how}": partial(mass_matrix, robot, q, method=how) for how in get_args(MassMatrixMethod)}
    yield from _judged(QUANTITIES, masses, exact.M, lambda _: OF_A_SWEEP, _pairs(dofs, dofs), notes)
    forces = {
        f"inverse dynamics, {how}": partial(inverse_dynamics, robot, q, v, a, method=how)
        for how in get_args(InverseDynamicsMethod)
    }
    torque, bias = exact.inverse_dynamics(a), rounded(exact.b)
    terms = [np.abs(rounded(exact.M)) @ np.abs(a), *bias_parts(robot, q, v, {}), _summed(exact)]
    allowed = float(of_sums(terms, rounded(torque)))
    yield from _judged(QUANTITIES, forces, torque, lambda _: allowed, dofs, notes)
    allowed = float(of_sums(terms[1:], bias))
    yield from _judged(
        QUANTITIES, {"bias forces": lambda: bias_forces(robot, q, v)}, exact.b, lambda _: allowed, dofs, notes
    )
    poses = exact.of(body_poses_states, (q,), (robot.n_bodies + 1, 4, 4), (robot.body_rotations.reshape(-1),))
    bodies = _pairs(("world", *robot.body_names), [f"[{i}, {j}]" for i in range(4) for j in range(4)])
    yield from _judged(
        QUANTITIES, {"body poses": lambda: body_poses(robot, q)}, poses, lambda _: OF_A_SWEEP, bodies, notes
    )
    frames = _frames(exact)
    J = exact.jacobian(frames, REFERENCE)
    jacobians = {"Jacobian": lambda: _jacobian(exact, frames)}
    yield from _judged(QUANTITIES, jacobians, J, lambda _: OF_A_SWEEP, _pairs(_rows(frames), dofs), notes)


def _summed(exact: ExactState) -> np.ndarray:
    """Return bounds (nv,) on the terms that cancel in gravity and velocity forces.

    For a screw s of inertia s'Is = M_ii, |s'If| <= sqrt(M_ii) sqrt(f'If) (Cauchy-Schwarz), with f the
    acceleration of the subtree.
    """
    robot, v, M = exact.robot, exact.v, rounded(exact.M)
    weight = np.sqrt(robot.mass) * np.linalg.norm(robot.gravity)
    turning = np.abs(v).max() * np.sqrt(v @ M @ v)
    return np.asarray(np.sqrt(M.diagonal()) * (weight + turning))


def _of_inverse_inertia(M: np.ndarray, J: np.ndarray) -> float:
    """Return the allowed error of J M^-1 J', relative to its largest number.

    It is `bounds.of_inverse_inertia`, but for entries of M and J that are sums with cancellation: of M up to
    sqrt(M_ii M_jj), of J up to the row's largest.
    """
    diagonal = np.sqrt(M.diagonal())
    A, S, rows = np.abs(np.linalg.inv(M)), np.outer(diagonal, diagonal), np.abs(J).max(axis=1, keepdims=True) * (J != 0)
    moved = rows @ (A @ S @ A + 2 * A) @ rows.T
    return float(OF_A_SWEEP * relative(moved.ravel(), (J @ np.linalg.solve(M, J.T)).ravel()))


def _forward(exact: ExactState, notes: dict[str, None]) -> Iterator[Row]:
    """Yield a row for every backend: the error of the acceleration, and the residual of the equation of motion."""
    robot, q, v, tau = exact.robot, exact.q, exact.v, exact.tau
    names = [name for name in plugins.available("dynamics") if name != AUTO]
    calls = {name: partial(forward_dynamics, robot, q, v, tau, backend=name) for name in names}
    solved = float(of_forces(robot, q, v, tau, rounded(exact.a)))
    M, sizes = np.abs(rounded(exact.M)), sum(map(np.abs, (tau, *bias_parts(robot, q, v, {}))))

    def bound(name: str) -> float:
        return solved * plugins.get("dynamics", name).capabilities.error_factor

    def misses(a: np.ndarray) -> float:
        return float((np.abs(rounded(exact.residual(a))) / np.maximum(M @ np.abs(a) + sizes, TINY)).max())

    yield from _judged(FORWARD, calls, exact.a, bound, robot.dof_names, notes, misses)


def _factorizations(exact: ExactState) -> Iterator[Row]:
    """Yield rows that compare L' D L, multiplied exactly, with the factorized matrix H.

    In the bound, sums of up to n products are rounded once each; the sum is at most the trace, since H is
    positive definite (Higham, section 10.1).
    """
    robot = exact.robot
    H = mass_matrix(robot, exact.q)
    allowed = (robot.nv + 2) * ROUNDING * float(np.trace(H)) / float(np.linalg.norm(H))
    for name, factorize in (("ltdl", ltdl), ("ltl", ltl)):
        factors = factorize(robot.dof_topology.dof_parent, H)
        error = residual(Factors(factors.L, factors.D, factors.solve), H)
        yield Row(FACTORIZATIONS, name, error, allowed, note="|L' D L - H| / |H|")


def _inverses(exact: ExactState, notes: dict[str, None]) -> Iterator[Row]:
    """Yield rows for M^-1, column by column."""
    robot, q, n = exact.robot, exact.q, exact.robot.nv
    unit, H = np.eye(n), mass_matrix(robot, q)
    calls: Calls = {
        "solve_mass_matrix": lambda: solve_mass_matrix(robot, q, unit).T,
        "ltdl": lambda: ltdl(robot.dof_topology.dof_parent, H).solve(unit),
        "ltl": lambda: ltl(robot.dof_topology.dof_parent, H).solve(unit),
    }
    M = rounded(exact.M)
    allowed = _of_inverse_inertia(M, unit)

    def misses(inverse: np.ndarray) -> float:
        missed = np.abs(rounded(exact.M @ np.asarray(inverse, object) - unit))
        return float((missed / np.maximum(np.abs(M) @ np.abs(inverse) + unit, TINY)).max())

    labels = _pairs(robot.dof_names, robot.dof_names)
    yield from _judged(INVERSE, calls, exact.inverse_inertia(unit), lambda _: allowed, labels, notes, misses)


def _operational(exact: ExactState, notes: dict[str, None]) -> Iterator[Row]:
    """Yield rows for J M^-1 J' of two limbs by every method."""
    frames = _frames(exact)
    J = exact.jacobian(frames, REFERENCE)
    rounding = _of_inverse_inertia(rounded(exact.M), rounded(J))
    names = [name for name in plugins.available("operational") if name != AUTO]
    calls = {
        name: partial(inverse_operational_inertia, exact.robot, exact.q, frames, method=name, reference=REFERENCE)
        for name in names
    }

    def bound(name: str) -> float:
        """Return the bound, times the backend's error factor for methods by constraint forces."""
        shared = name.startswith("constraint_force")
        return rounding * (plugins.get("dynamics", name).capabilities.error_factor if shared else 1.0)

    rows = _rows(frames)
    yield from _judged(OPERATIONAL, calls, exact.inverse_inertia(J), bound, _pairs(rows, rows), notes)


def _judged(
    group: str,
    calls: Calls,
    truth: np.ndarray,
    bound: Callable[[str], float],
    labels: Sequence[str],
    notes: dict[str, None],
    misses: Callable[[np.ndarray], float] | None = None,
) -> Iterator[Row]:
    """Yield a row for every call that supports the robot.

    labels: a name for every number of the result. misses: returns a result's residual, relative to the terms of
    its equations.
    """
    values, refused = _results(calls, notes)
    scale = largest(truth) or 1.0
    median = np.median(list(values.values()), axis=0) if len(values) > 1 else None
    for name, value in values.items():
        errors = np.abs(rounded(np.asarray(value, object) - truth)).reshape(-1) / scale
        worst = int(np.argmax(np.where(np.isnan(errors), np.inf, errors)))
        apart = None if median is None else float(np.abs(value - median).max() / scale)
        missed = None if misses is None else misses(value)
        yield Row(group, name, float(errors[worst]), bound(name), missed, apart, labels[worst])
    for name, reason in refused.items():
        yield Row(group, name, None, bound(name), note=reason)


def _results(calls: Calls, notes: dict[str, None]) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Return the results of the calls, and the reasons why some refuse these numbers.

    notes: calls that do not support the robot are added.
    """
    values, refused = {}, {}
    for name, call in calls.items():
        try:
            values[name] = call()
        except UnsupportedError as error:
            notes[f"{name}: {error}"] = None
        except TreesimError as error:
            refused[name] = str(error)
    return values, refused


def _frames(exact: ExactState) -> list[str]:
    """Return the tips of the longest limbs."""
    return [exact.robot.body_names[i - 1] for i in limb_tips(exact.robot.topology)][:TASKS]


def _jacobian(exact: ExactState, frames: Sequence[str]) -> np.ndarray:
    return np.concatenate([frame_jacobian(exact.robot, exact.q, frame, reference=REFERENCE) for frame in frames])


def _rows(frames: Sequence[str]) -> list[str]:
    return [f"{frame}.{axis}" for frame in frames for axis in ("vx", "vy", "vz", "wx", "wy", "wz")]


def _pairs(rows: Sequence[str], columns: Sequence[str]) -> list[str]:
    return [f"{row}, {column}" for row in rows for column in columns]
