"""Packed mass matrices: their pattern, and unpacking."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..model.tree import Tree
from ..states.arguments import checked_robot
from ..validation.arrays import Argument, check_copy, coerce, precision, refuse_non_finite


def mass_matrix_pattern(robot: Tree) -> tuple[np.ndarray, np.ndarray]:
    """Return the row and the column of each entry of a packed mass matrix.

    Parameters
    ----------
    robot : Tree
        Robot.

    Returns
    -------
    rows : numpy.ndarray
        (nnz,) indices of rows, from 0; a new array.
    columns : numpy.ndarray
        (nnz,) indices of columns, from 0; a new array.

    Notes
    -----
    The entries are the lower triangle of M in compressed sparse rows (Featherstone 2005, section 2). Row k contains
    M_kj for the ancestors j of degree of freedom k, root first, and M_kk last. All other entries of the lower triangle
    are zero at every configuration. SciPy stores the entries in the same order: `scipy.sparse.coo_array((packed, (rows,
    columns)), (nv, nv)).tocsr()`. `M[..., rows, columns]` packs a full matrix. In robots with mimic joints, a degree of
    freedom also moves the mimic joints of its joint. Row k then contains M_kj for all earlier j such that j and k move
    a common body. Cost: O(nnz).

    Examples
    --------
    >>> from treesim.model import generators
    >>> rows, columns = treesim.mass_matrix_pattern(generators.tree_1())
    >>> rows[:6].tolist(), columns[:6].tolist()
    ([0, 1, 1, 2, 2, 3], [0, 0, 1, 0, 2, 0])
    """
    robot = checked_robot(robot)
    if robot.mimic_map is not None:
        rows, columns = np.nonzero(np.tril(robot.sparsity()))
        return rows, columns
    return robot.topology.packed_pattern()


def unpack_mass_matrix(robot: Tree, packed: ArrayLike) -> np.ndarray:
    """Unpack a packed mass matrix: return the full, symmetric matrix.

    Use this function for matrices that are stored packed. To compute full matrices, use `mass_matrix`, which is faster
    than computing packed ones and unpacking them. Cost: O(nv^2).

    Parameters
    ----------
    robot : Tree
        Robot.
    packed : array_like
        (..., nnz) packed mass matrices.

    Returns
    -------
    numpy.ndarray
        (..., nv, nv) matrices, in float32 if `packed` is float32.

    Raises
    ------
    ArgumentError
        If `packed` has another type or shape.
    NonFiniteError
        If `packed` is not finite.

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> packed = treesim.mass_matrix(robot, np.full(6, 0.5), packed=True)
    >>> np.array_equal(treesim.unpack_mass_matrix(robot, packed), treesim.mass_matrix(robot, np.full(6, 0.5)))
    True
    """
    robot = checked_robot(robot)
    argument = Argument("packed", packed, (robot.nnz,))
    values = coerce(argument, precision(packed))
    check_copy("packed", (2, *values.shape[:-1], max(robot.nv, 1), max(robot.nv, 1)))  # itself, and the result
    refuse_non_finite((argument,), (values,))
    rows, columns = mass_matrix_pattern(robot)
    place = np.full((robot.nv, robot.nv), robot.nnz)  # that of a zero behind the packed numbers
    place[rows, columns] = place[columns, rows] = np.arange(robot.nnz)
    with_zero = np.zeros((*values.shape[:-1], robot.nnz + 1), values.dtype)
    with_zero[..., :-1] = values
    return with_zero.take(place, axis=-1)
