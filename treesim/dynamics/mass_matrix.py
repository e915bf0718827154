"""The mass matrix of a tree, full or packed."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..errors import UnsupportedError, unknown_name
from ..kernels.dynamics.crba import mass_matrix_full_states, mass_matrix_packed_states
from ..kernels.published.mass_matrix_direct import mass_matrix_direct_states
from ..kernels.published.mass_matrix_symmetric import mass_matrix_symmetric_states
from ..model.tree import Tree
from ..states.arguments import checked_robot
from ..states.states import one_state_first, state_function
from ..types import Engine, MassMatrixMethod
from ..validation.values import checked_flag, known_name
from .base import copied
from .packed_mass_matrix import mass_matrix_pattern
from .physics import ModelParameters, physics_of
from .tables import constants_of

MASS_MATRIX = {
    "crba": state_function(mass_matrix_full_states),
    "direct": state_function(mass_matrix_direct_states),
    "symmetry": state_function(mass_matrix_symmetric_states),
}
PACKED_MASS_MATRIX = {"crba": state_function(mass_matrix_packed_states)}


@one_state_first(mass_matrix_full_states)
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
    """Return the symmetric mass matrix M, with exact zeros for pairs of degrees of freedom on different branches.

    Parameters
    ----------
    robot, q, armature
        As in `treesim.forward_dynamics`.
    method : str
        One of the three methods of Jain 1991, section 3. "crba": composite rigid bodies (RBDA Table 6.2), O(n d) for
        depth d. "symmetry": inverse dynamics of the subtree of each joint, O(n N). "direct": inverse dynamics of the
        full tree for each column, O(n N). Writing the full matrix costs O(n^2) in addition.
    engine : str
        As in `treesim.forward_dynamics`.
    out : numpy.ndarray, optional
        As in `treesim.forward_dynamics`. It saves the allocation of the result.
    packed : bool
        Return only the entries of the lower triangle that can differ from zero, row by row. The method must be "crba".
    model_parameters : mapping, optional
        As in `treesim.forward_dynamics`.

    Returns
    -------
    numpy.ndarray
        (..., nv, nv) matrices, or (..., nnz) if packed. `mass_matrix_pattern` returns the indices of packed entries,
        and `unpack_mass_matrix` returns the full matrix.

    Raises
    ------
    ArgumentError
        If a type or shape does not fit.
    NonFiniteError
        If an argument is not finite, or a result overflows.
    UnknownNameError
        If the method or engine is unknown.
    UnsupportedError
        If the robot does not support the engine, or the method does not support `packed`.

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> q = np.full(6, 0.5)
    >>> treesim.mass_matrix(robot, q).shape, treesim.mass_matrix(robot, q, packed=True).shape
    ((6, 6), (21,))
    """
    if type(robot) is not Tree:
        robot = checked_robot(robot)
    if type(packed) is not bool:
        packed = checked_flag("packed", packed)
    if type(method) is not str:
        method = known_name("method of the mass matrix", method, MASS_MATRIX)  # type: ignore[assignment]
    compute = (PACKED_MASS_MATRIX if packed else MASS_MATRIX).get(method)
    if compute is None:
        raise _no_such_mass_matrix(method)
    if packed and robot.mimic_map is not None:
        M = mass_matrix(robot, q, armature=armature, engine=engine, model_parameters=model_parameters)
        return copied(M[..., *mass_matrix_pattern(robot)], out)
    given = model_parameters
    physics = None if given is None else physics_of(robot, given, "mass_matrix", armature=armature)
    return compute(robot, *constants_of(robot, None, armature), q, engine, out, physics)


def _no_such_mass_matrix(method: str) -> Exception:
    if method in MASS_MATRIX:
        return UnsupportedError(f"method {method!r} writes full matrices only: packed=True needs method='crba'")
    return unknown_name("method of the mass matrix", method, MASS_MATRIX)
