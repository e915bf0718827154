"""Operational-space quantities of robots with mimic joints, from those of the spanning tree.

With the constraints A of the mimic joints (`kernels.mimic.mimic`), the inverse inertia H^-1 becomes H^-1 - X S^-1 X',
X = H^-1 A', S = A X. So Λ_y^-1 = Λ^-1 - B S^-1 B' with B = J X, for Λ^-1 by any method.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...engine.call.evaluate import in_precision
from ...model.quaternions import configuration
from ...model.tree import Tree
from ...types import Reference
from ...validation.arrays import coerce, precision, refuse_non_finite
from ..solve import solve_mass_matrix
from .base import CompiledMethod
from .frames import frame_jacobian


class ConstraintResponse(NamedTuple):
    """Response of the spanning tree `whole` to constraint forces of m mimic joints.

    The rotors of `whole` are distributed over mimicked and mimic joints. q (..., whole.nq), X (..., n, m), S^-1 (...,
    m, m).
    """

    whole: Tree
    q: np.ndarray
    X: np.ndarray
    S_inv: np.ndarray


def constraint_response(robot: Tree, q: ArrayLike) -> ConstraintResponse:
    """Return the constraint response of a robot with mimic joints at configurations q (..., nq).

    Raises the errors of `solve_mass_matrix`.
    """
    given = configuration(robot, q)
    positions = coerce(given)
    refuse_non_finite([given], [positions])
    assert robot.mimic_map is not None
    whole, Q, A = robot.with_shared_rotors(), robot.expand(positions), robot.mimic_map.A
    rows = np.broadcast_to(A, (*Q.shape[:-1], *A.shape))
    X = np.swapaxes(solve_mass_matrix(whole, Q[..., None, :], rows), -1, -2)
    return ConstraintResponse(whole, Q, X, np.linalg.inv(A @ X))


def inverse_inertia_by(
    method: Any, robot: Tree, q: ArrayLike, frames: tuple[str, ...], reference: Reference
) -> np.ndarray:
    """Return Λ^-1 (..., 6k, 6k) of frames by a method, which need not support mimic joints.

    Compiled methods support them in their kernels (`kernels.operational.inverse_inertia`).
    """
    if robot.mimic_map is None or isinstance(method, CompiledMethod):
        return method.inverse_inertia(robot, q, frames, reference)
    answer = constraint_response(robot, q)
    free = method.inverse_inertia(answer.whole, answer.q, frames, reference)
    rows = [frame_jacobian(answer.whole, answer.q, name, reference=reference) for name in frames]
    B = np.concatenate(rows, axis=-2) @ answer.X if rows else np.zeros((*free.shape[:-1], len(robot.mimic_joints)))
    lost = B @ answer.S_inv @ np.swapaxes(B, -1, -2)
    return in_precision("Λ^-1", np.asarray(free - (lost + np.swapaxes(lost, -1, -2)) / 2), precision(q))
