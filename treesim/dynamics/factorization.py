"""Sparse factors of a symmetric positive definite matrix with the pattern of a tree: H = L' D L or H = L' L."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..engine.call.evaluate import refuse_overflow
from ..engine.call.generic import compiled
from ..errors import ArgumentError, SingularInertiaError
from ..kernels.dynamics import factored
from ..model.topology import Topology
from ..system.display import ReprMixin, span
from ..validation.arrays import Argument, coerce, real_numbers, refuse_non_finite


class Factorization(ReprMixin):
    """Sparse factors of one matrix, H = L' D L or H = L' L, computed by `ltdl` or `ltl`.

    Arguments of the methods may be vectors (n,) or matrices (n, k) of columns. Costs in multiply-adds, per column:
    products and triangular solves D1 each, `solve` 2 D1, with D1 = Σ (d_i - 1) (Featherstone 2005, Table 1).

    Parameters
    ----------
    topology : Topology
        Tree whose paths are the sparsity pattern.
    H : array_like
        (n, n) symmetric positive definite matrix.
    unit : bool
        True for LTDL, False for LTL.

    Examples
    --------
    >>> factors = treesim.ltdl([0, 1, 1], [[4, 1, 1], [1, 2, 0], [1, 0, 2]])
    >>> factors.solve([6.0, 3.0, 3.0])
    array([1., 1., 1.])
    """

    def __init__(self, topology: Topology, H: ArrayLike, unit: bool) -> None:
        self._tree = topology
        self._unit = unit
        self._parent = topology.dof_parent - 1
        self._depth = topology.dof_depth - 1
        self._start = np.concatenate([[0], np.cumsum(self._depth + 1)[:-1]]).astype(np.int64)
        self._packed = self._pack(H)
        factorize = factored.factorize_ltdl if unit else factored.factorize_ltl
        with np.errstate(all="ignore"):
            self._run(factorize)
        self._check()

    def __repr__(self) -> str:
        form = "L' D L" if self._unit else "L' L"
        return f"<Factorization H = {form}: n {len(self._parent)}, {len(self._packed)} entries on paths>"

    def _repr_fields(self) -> list[tuple[str, Any]]:
        diagonal = "D" if self._unit else "diagonal of L"
        return [("topology", self.topology), (diagonal, span(self._diagonal().tolist()))]

    @property
    def L(self) -> np.ndarray:
        """Lower triangular factor (n, n), with ones on the diagonal for LTDL."""
        L = self._unpack()
        if self._unit:
            np.fill_diagonal(L, 1.0)
        return L

    @property
    def D(self) -> np.ndarray:
        """Diagonal factor (n,) of LTDL; ones for LTL."""
        return self._diagonal().copy() if self._unit else np.ones(len(self._parent))

    @property
    def topology(self) -> Topology:
        """Tree whose paths are the sparsity pattern of L."""
        return self._tree

    def packed(self) -> tuple[np.ndarray, np.ndarray, bool]:
        """Return the factors in packed rows.

        Returns
        -------
        start : numpy.ndarray
            (n,) index of the first entry of each row.
        rows : numpy.ndarray
            Rows of L, ordered by depth of the ancestor; the last entry of a row is that of D, or L's own diagonal.
        unit : bool
            True for LTDL.
        """
        return self._start, self._packed, self._unit

    def multiply(self, x: ArrayLike) -> np.ndarray:
        """Return L x.

        Parameters
        ----------
        x : array_like
            (n,) or (n, k).

        Returns
        -------
        numpy.ndarray
            L x, of the same shape.
        """
        return self._apply(factored.MULTIPLY, x)

    def multiply_transposed(self, x: ArrayLike) -> np.ndarray:
        """Return L' x.

        Parameters
        ----------
        x : array_like
            (n,) or (n, k).

        Returns
        -------
        numpy.ndarray
            L' x, of the same shape.
        """
        return self._apply(factored.MULTIPLY_TRANSPOSED, x)

    def solve_lower(self, x: ArrayLike) -> np.ndarray:
        """Return L^-1 x.

        Parameters
        ----------
        x : array_like
            (n,) or (n, k).

        Returns
        -------
        numpy.ndarray
            L^-1 x, of the same shape.
        """
        return self._apply(factored.SOLVE_LOWER, x)

    def solve_lower_transposed(self, x: ArrayLike) -> np.ndarray:
        """Return L'^-1 x.

        Parameters
        ----------
        x : array_like
            (n,) or (n, k).

        Returns
        -------
        numpy.ndarray
            L'^-1 x, of the same shape.
        """
        return self._apply(factored.SOLVE_LOWER_TRANSPOSED, x)

    def solve(self, x: ArrayLike) -> np.ndarray:
        """Return H^-1 x.

        Parameters
        ----------
        x : array_like
            (n,) or (n, k).

        Returns
        -------
        numpy.ndarray
            H^-1 x, of the same shape.
        """
        return self._apply(factored.SOLVE, x)

    def _run(self, entry: Callable[..., int], *arguments: Any) -> None:
        try:
            compiled(entry)(self._parent, self._depth, self._start, self._packed, *arguments)
        except ValueError:  # the square root of a negative pivot, when kernels run as plain Python
            self._packed[:] = np.nan

    def _apply(self, operation: int, x: ArrayLike) -> np.ndarray:
        n = len(self._parent)
        vectors = real_numbers("x", x)
        if vectors.ndim not in (1, 2) or vectors.shape[0] != n:
            raise ArgumentError(f"x has shape {vectors.shape}, but ({n},) or ({n}, k) is needed")
        refuse_non_finite([Argument("x", x, (n,))], [vectors])
        rows = np.array(vectors.T, order="C")  # one vector after the other
        self._run(factored.apply_ltdl if self._unit else factored.apply_ltl, operation, rows.reshape(-1))
        refuse_overflow("the product", rows)
        return np.ascontiguousarray(rows.T)

    def _pack(self, H: ArrayLike) -> np.ndarray:
        n = len(self._parent)
        matrix = coerce(Argument("H", H, (n, n)))
        if matrix.ndim != 2:
            raise ArgumentError(f"H must be one ({n}, {n}) matrix, got shape {matrix.shape}")
        if not np.isfinite(matrix).all():
            raise ArgumentError("H holds NaN or infinity")
        outside = np.argwhere(~self._tree.sparsity() & (matrix != 0))
        if len(outside):
            i, j = (int(k) + 1 for k in outside[0])
            raise ArgumentError(f"H[{i}, {j}] (counting from 1) is not zero, but {i} and {j} lie on no common path")
        packed: np.ndarray = matrix[self._tree.packed_pattern()]
        return packed

    def _unpack(self) -> np.ndarray:
        n = len(self._parent)
        matrix = np.zeros((n, n))
        matrix[self._tree.packed_pattern()] = self._packed
        return matrix

    def _diagonal(self) -> np.ndarray:
        return self._packed[self._start + self._depth]

    def _check(self) -> None:
        good = self._diagonal() > 0
        if not good.all():
            k = int(np.flatnonzero(~good)[-1]) + 1  # pivots are taken from the last to the first
            raise SingularInertiaError(
                f"H is not positive definite: the pivot of degree of freedom {k} is not positive"
            )
        refuse_overflow("the factorization", self._packed)


def ltdl(dof_parent: ArrayLike, H: ArrayLike) -> Factorization:
    """Return the factors H = L' D L without fill-in, L unit lower triangular.

    Parameters
    ----------
    dof_parent : array_like
        (n,) parents λe(1..n), counted from 1, as `Tree.dof_parent`.
    H : array_like
        (n, n) symmetric positive definite matrix, non-zero only along the tree's paths. Only its lower triangle is
        used.

    Returns
    -------
    Factorization
        Factors L and D.

    Raises
    ------
    ModelError
        If the numbering is not regular.
    ArgumentError
        If a shape does not fit, a number is not finite, or an entry off the pattern is not zero.
    SingularInertiaError
        If H is not positive definite; the error names the degree of freedom.

    Notes
    -----
    Cost: D1 divisions and D2 multiply-adds. Source: Featherstone 2005, section 2, costs in section 4.

    Examples
    --------
    >>> factors = treesim.ltdl([0, 1, 1], [[4, 1, 1], [1, 2, 0], [1, 0, 2]])
    >>> factors.L
    array([[1. , 0. , 0. ],
           [0.5, 1. , 0. ],
           [0.5, 0. , 1. ]])
    >>> factors.D
    array([3., 2., 2.])
    """
    return Factorization(Topology(dof_parent), H, unit=True)


def ltl(dof_parent: ArrayLike, H: ArrayLike) -> Factorization:
    """Return the factor H = L' L without fill-in, L lower triangular.

    Cost: n square roots, D1 divisions and D2 multiply-adds. Source and errors as for `ltdl`.

    Parameters
    ----------
    dof_parent, H : array_like
        As for `ltdl`.

    Returns
    -------
    Factorization
        Factor L.

    Examples
    --------
    >>> treesim.ltl([0, 1, 1], [[3, 1, 1], [1, 1, 0], [1, 0, 1]]).L
    array([[1., 0., 0.],
           [1., 1., 0.],
           [1., 0., 1.]])
    """
    return Factorization(Topology(dof_parent), H, unit=False)
