"""Where the numbers of a packed mass matrix stand: its pattern, and the full matrix again."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..model.tree import Tree
from ..states.arguments import checked_robot
from ..validation.arrays import Argument, coerce, precision, refuse_non_finite


def mass_matrix_pattern(robot: Tree) -> tuple[np.ndarray, np.ndarray]:
    """Return the row and the column (nnz,) of each number of a packed mass matrix.

    The numbers are M's lower triangle in compressed sparse rows: row k holds M_kj for the ancestors j of degree of
    freedom k, root first, and M_kk last; no other entry is ever non-zero (Featherstone 2005, section 2). So
    `scipy.sparse.coo_array((packed, (rows, columns)), (nv, nv)).tocsr()` keeps their order, and `M[..., rows, columns]`
    packs a full matrix. In a robot with followers, row k holds all earlier j whose joints, or followers, lie on a
    common path with k's. Fresh arrays; O(nnz).

    Example:
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
    """Return the full, symmetric mass matrix (..., nv, nv) of a packed one (..., nnz), float32 if that is.

    For matrices that were kept packed: `mass_matrix` computes full ones sooner. Raises ArgumentError (type, shape),
    NonFiniteError. O(nv^2).

    Example:
        >>> robot = treesim.load("ur5")
        >>> packed = treesim.mass_matrix(robot, np.full(6, 0.5), packed=True)
        >>> np.array_equal(treesim.unpack_mass_matrix(robot, packed), treesim.mass_matrix(robot, np.full(6, 0.5)))
        True
    """
    robot = checked_robot(robot)
    argument = Argument("packed", packed, (robot.nnz,))
    values = coerce(argument, precision(packed))
    refuse_non_finite((argument,), (values,))
    rows, columns = mass_matrix_pattern(robot)
    place = np.full((robot.nv, robot.nv), robot.nnz)  # that of a zero behind the packed numbers
    place[rows, columns] = place[columns, rows] = np.arange(robot.nnz)
    with_zero = np.zeros((*values.shape[:-1], robot.nnz + 1), values.dtype)
    with_zero[..., :-1] = values
    return with_zero.take(place, axis=-1)
