"""Sparse Jacobian, stored and used along the tree's paths only (Featherstone 2010, sections 5 and 8)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...engine.call.evaluate import refuse_overflow
from ...engine.call.generic import compiled
from ...errors import ArgumentError
from ...kernels.operational import sparse_jacobian as kernels
from ...model.quaternions import configuration
from ...model.topology import Topology
from ...model.tree import Tree
from ...states.arguments import checked_frames, checked_robot
from ...system.display import ReprMixin
from ...types import JacobianReference
from ...validation.arrays import Argument, coerce, precision, real_numbers, refuse_non_finite
from ...validation.values import checked_part, checked_parts, whole_number
from ..factorization import Factorization
from ..tables import frame_tables
from .frames import frame_jacobian


class SparseJacobian(ReprMixin):
    """Sparse matrix (m, n); each row can be non-zero only in the columns of one path from the root of a tree.

    Arguments of methods may be vectors, or matrices whose columns are vectors. Costs are numbers of multiplications,
    additions and divisions. The symbol d_i is the length of the path of row i, its number of stored entries
    (Featherstone 2010, Table 1).

    Parameters
    ----------
    topology : Topology
        Tree of n degrees of freedom.
    last : sequence of int
        (m,) b_e(1..m): for each row, the last degree of freedom of its path, counted from 1; 0 for a row of zeros.
    J : array_like
        (m, n) dense matrix.

    Raises
    ------
    ArgumentError
        If a shape does not fit, a number is not finite, or an entry off the path is not zero.

    Examples
    --------
    >>> topology = treesim.Topology([0, 1, 1])
    >>> J = treesim.SparseJacobian(topology, [2, 3], [[1, 2, 0], [3, 0, 4]])
    >>> J.multiply([1, 1, 1])
    array([3., 7.])
    """

    def __init__(self, topology: Topology, last: Sequence[int], J: ArrayLike) -> None:
        self.topology = checked_part("topology", topology, Topology)
        n, dofs = topology.n_dofs, checked_parts("last", last, object)
        self._last = np.array([whole_number(f"last[{k}]", dof, 0, n) for k, dof in enumerate(dofs)], np.int64) - 1
        m = len(dofs)
        self._parent, self._depth = topology.dof_parent - 1, topology.dof_depth - 1
        dense = coerce(Argument("J", J, (m, n)))
        if dense.ndim != 2 or not np.isfinite(dense).all():
            raise ArgumentError(f"J must be one finite ({m}, {n}) matrix, got shape {dense.shape}")
        outside = np.argwhere(~self._pattern() & (dense != 0))
        if len(outside):
            row, column = (int(k) for k in outside[0])
            raise ArgumentError(f"J[{row}, {column}] is not zero, but its column does not move row {row}")
        self._packed = np.zeros((m, n))
        rows, columns = np.nonzero(self._pattern())
        self._packed[rows, self._depth[columns]] = dense[rows, columns]

    def __repr__(self) -> str:
        m, n = self.shape
        return f"<SparseJacobian: {m} x {n}, {int(self._pattern().sum())} entries on paths>"

    def _repr_fields(self) -> list[tuple[str, Any]]:
        return [("topology", self.topology), ("last degree of freedom of each row", (self._last + 1).tolist())]

    @property
    def shape(self) -> tuple[int, int]:
        """Shape (m, n) of the matrix."""
        m, n = self._packed.shape
        return m, n

    def dense(self) -> np.ndarray:
        """Return the sparse matrix as a dense array.

        Returns
        -------
        numpy.ndarray
            (m, n) matrix.
        """
        full = np.zeros(self.shape)
        rows, columns = np.nonzero(self._pattern())
        full[rows, columns] = self._packed[rows, self._depth[columns]]
        return full

    def multiply(self, x: ArrayLike) -> np.ndarray:
        """Return the product J x of this matrix and x.

        Cost for each column of x: Σ d_i multiplications and Σ (d_i - 1) additions.

        Parameters
        ----------
        x : array_like
            (n,) or (n, k).

        Returns
        -------
        numpy.ndarray
            (m,) or (m, k).
        """
        return self._on_columns(kernels.product_states, x, self.shape[1], self.shape[0])

    def multiply_transposed(self, x: ArrayLike) -> np.ndarray:
        """Return the product J' x of the transpose of this matrix J and x.

        Cost for each column of x: Σ d_i multiplications and as many additions.

        Parameters
        ----------
        x : array_like
            (m,) or (m, k).

        Returns
        -------
        numpy.ndarray
            (n,) or (n, k).
        """
        return self._on_columns(kernels.transposed_product_states, x, self.shape[0], self.shape[1])

    def divide(self, factors: Factorization) -> tuple[SparseJacobian, SparseJacobian]:
        """Return J L^-1 D^-1 and J L^-1 for this matrix J and LTDL factors; both results are J L^-1 for LTL factors.

        Both results have the sparsity pattern of J. Cost: Σ d_i divisions, Σ d_i (d_i - 1) / 2 multiplications, and as
        many additions.

        Parameters
        ----------
        factors : Factorization
            Factors of a matrix on the same tree.

        Returns
        -------
        Y_D : SparseJacobian
            Y_D = Y_d D^-1 for LTDL, Y = J L^-1 for LTL.
        Y_d : SparseJacobian
            Y_d = J L^-1 for LTDL, Y = J L^-1 for LTL.

        Raises
        ------
        ArgumentError
            If the factors belong to another tree, or to a batch of matrices.
        """
        checked_part("factors", factors, Factorization)
        if not np.array_equal(factors.topology.dof_parent, self.topology.dof_parent):
            raise ArgumentError("the factors belong to another tree than the Jacobian")
        if len(factors.shape) > 1:
            raise ArgumentError(f"the factors must be of one matrix, got a batch {factors.shape[:-1]}")
        Y, Z = self._packed.copy(), np.zeros(self.shape)
        row_start, packed, unit = factors.packed()
        arguments = (self._parent, self._depth, row_start, packed, int(unit), self._last)
        compiled(kernels.divide)(*arguments, Y.reshape(-1), Z.reshape(-1))
        refuse_overflow("the division", Y, Z)
        return self._with(Z), self._with(Y)

    def multiply_rows(self, other: SparseJacobian) -> np.ndarray:
        """Return the symmetric product of this matrix and the transpose of another one.

        For the results of `divide`, Λ^-1 is Y_D Y_d' (LTDL) or Y Y' (LTL).

        Cost for each pair of rows i >= j: d_ij multiplications and d_ij - 1 additions. The symbol d_ij is the number of
        columns in which both rows have an entry.

        Parameters
        ----------
        other : SparseJacobian
            Matrix with the same sparsity pattern.

        Returns
        -------
        numpy.ndarray
            (m, m) product.

        Raises
        ------
        ArgumentError
            If the patterns differ.
        """
        checked_part("other", other, SparseJacobian)
        if not np.array_equal(other._last, self._last) or other.shape != self.shape:
            raise ArgumentError("the rows of the two matrices do not lie on the same paths")
        out = np.zeros((self.shape[0],) * 2)
        self._run(kernels.products_of_rows, other._packed.reshape(-1), out.reshape(-1))
        refuse_overflow("the product", out)
        return out

    def null_space(self, jbar: ArrayLike) -> np.ndarray:
        """Return the null-space projection N = 1 - J̄ J for this matrix J and its dynamically consistent inverse J̄.

        Cost: n additions and n Σ d_i multiply-adds.

        Parameters
        ----------
        jbar : array_like
            (n, m) dynamically consistent inverse J̄.

        Returns
        -------
        numpy.ndarray
            (n, n) projection.
        """
        m, n = self.shape
        inverse = coerce(Argument("jbar", jbar, (n, m)))
        if inverse.ndim != 2:
            raise ArgumentError(f"jbar must be one ({n}, {m}) matrix, got shape {inverse.shape}")
        N = np.zeros((n, n))
        refuse_non_finite([Argument("jbar", jbar, (n, m))], [inverse])
        self._run(kernels.null_space_of, np.array(inverse, order="C").reshape(-1), N.reshape(-1))
        refuse_overflow("the null space", N)
        return N

    def _pattern(self) -> np.ndarray:
        """Return a mask (m, n) of the entries that may be non-zero."""
        pattern = np.zeros((len(self._last), len(self._parent)), dtype=bool)
        for row, last in zip(pattern, self._last.tolist(), strict=True):
            k = last
            while k >= 0:
                row[k] = True
                k = int(self._parent[k])
        return pattern

    def _with(self, packed: np.ndarray) -> SparseJacobian:
        copy = object.__new__(SparseJacobian)
        copy.__dict__.update(self.__dict__, _packed=packed)
        return copy

    def _run(self, entry: Callable[..., int], *arguments: np.ndarray) -> None:
        compiled(entry)(self._parent, self._depth, self._last, self._packed.reshape(-1), *arguments)

    def _on_columns(self, entry: Callable[..., int], x: ArrayLike, size: int, result: int) -> np.ndarray:
        return on_columns(partial(self._run, entry), x, size, result)


def on_columns(run: Callable[..., object], x: ArrayLike, size: int, result: int) -> np.ndarray:
    """Return the results (result,) or (result, k) of a kernel for vectors x (size,) or (size, k).

    run: called with the vectors and the results, one after the other in flat arrays.
    """
    vectors = real_numbers("x", x)
    if vectors.ndim not in (1, 2) or vectors.shape[0] != size:
        raise ArgumentError(f"x has shape {vectors.shape}, but ({size},) or ({size}, k) is needed")
    refuse_non_finite([Argument("x", x, (size,))], [vectors])
    rows = np.array(vectors.T, order="C")  # one vector after the other
    out = np.zeros((*rows.shape[:-1], result))
    if rows.size and result:
        run(rows.reshape(-1), out.reshape(-1))
    refuse_overflow("the product", out)
    return np.ascontiguousarray(out.T)


def sparse_jacobian(
    robot: Tree, q: ArrayLike, frames: str | Sequence[str], *, reference: JacobianReference = "local_world_aligned"
) -> SparseJacobian:
    """Return the Jacobian of k frames at one configuration, as a sparse matrix.

    Parameters
    ----------
    robot : Tree
        Robot.
    q : array_like
        (nq,) configuration.
    frames : str or sequence of str
        Names of the frames.
    reference : str
        As in `treesim.frame_jacobian`.

    Returns
    -------
    SparseJacobian
        (6 k, nv) Jacobian. Its non-zeros lie on the paths of `Tree.dof_parent`, also for robots with mimic joints.

    Raises
    ------
    UnknownNameError
        If a frame or the reference is unknown.
    ArgumentError
        If an argument has another type or shape.
    NonFiniteError
        If q is not finite.

    Notes
    -----
    With the result J and factors = ltdl(robot.dof_parent, mass_matrix(robot, q)), the quantities of Featherstone 2010
    are Y_D, Y_d = J.divide(factors); Λ^-1 = Y_D.multiply_rows(Y_d);
    J̄ = factors.solve_lower(Y_D.multiply_transposed(Λ)); N = J.null_space(J̄).

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> treesim.sparse_jacobian(robot, np.full(6, 0.5), ["forearm_link", "ee_link"])
    <SparseJacobian: 12 x 6, 54 entries on paths>
    """
    robot = checked_robot(robot)
    names = checked_frames(frames)
    q = coerce(configuration(robot, q), precision(q))
    if q.ndim != 1:
        raise ArgumentError(f"q must be one configuration ({robot.nq},), got shape {q.shape}")
    bodies, _ = frame_tables(robot, names)
    last = [robot.last_dof(int(body)) for body in bodies for _ in range(6)]
    rows = [frame_jacobian(robot, q, name, reference=reference) for name in names]
    return SparseJacobian(robot.dof_topology, last, np.concatenate([np.zeros((0, robot.nv)), *rows]))
