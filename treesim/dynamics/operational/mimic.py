"""Operational-space quantities of robots whose joints follow others, from those of the spanning tree.

Without the motions that the followers' rows A forbid (`kernels.mimic.mimic`), what answers forces is
H^-1 - X S^-1 X', X = H^-1 A', S = A X; so Λ_y^-1 = Λ^-1 - B S^-1 B' with B = J X, for Λ^-1 by any method.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...model.quaternions import configuration
from ...model.tree import Tree
from ...types import Reference
from ...validation.arrays import coerce, refuse_non_finite
from ..solve import solve_mass_matrix
from .base import CompiledMethod
from .frames import frame_jacobian


class Answer(NamedTuple):
    """How the spanning tree `whole`, its rotors shared by leaders and followers, answers forces across the rows:
    q (..., whole.nq), X (..., n, m), and S^-1 (..., m, m) of m followers."""

    whole: Tree
    q: np.ndarray
    X: np.ndarray
    S_inv: np.ndarray


def answer_of(robot: Tree, q: ArrayLike) -> Answer:
    """Return the answer of a robot with followers at configurations q (..., nq); raises as `solve_mass_matrix`."""
    given = configuration(robot, q)
    positions = coerce(given)
    refuse_non_finite([given], [positions])
    assert robot.mimic_map is not None
    whole, Q, A = robot.with_shared_rotors(), robot.expand(positions), robot.mimic_map.A
    rows = np.broadcast_to(A, (*Q.shape[:-1], *A.shape))
    X = np.swapaxes(solve_mass_matrix(whole, Q[..., None, :], rows), -1, -2)
    return Answer(whole, Q, X, np.linalg.inv(A @ X))


def inverse_inertia_by(
    method: Any, robot: Tree, q: ArrayLike, frames: tuple[str, ...], reference: Reference
) -> np.ndarray:
    """Return Λ^-1 (..., 6k, 6k) of frames by a method, which need not know of followers: those of compiled methods are
    taken in their kernels (`kernels.operational.inverse_inertia`)."""
    if robot.mimic_map is None or isinstance(method, CompiledMethod):
        found: np.ndarray = method.inverse_inertia(robot, q, frames, reference)
        return found
    answer = answer_of(robot, q)
    free = method.inverse_inertia(answer.whole, answer.q, frames, reference)
    rows = [frame_jacobian(answer.whole, answer.q, name, reference=reference) for name in frames]
    B = np.concatenate(rows, axis=-2) @ answer.X if rows else np.zeros((*free.shape[:-1], len(robot.mimic_joints)))
    lost = B @ answer.S_inv @ np.swapaxes(B, -1, -2)
    return np.asarray(free - (lost + np.swapaxes(lost, -1, -2)) / 2)
