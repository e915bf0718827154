"""Sparse factors of a symmetric positive definite matrix with the pattern of a tree: H = L' D L or H = L' L."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from ..engine.call.evaluate import in_precision, refuse_overflow
from ..engine.call.generic import bound_call, runs_compiled
from ..errors import ArgumentError, SingularInertiaError
from ..kernels.dynamics import factored
from ..kernels.entries.status import FINE
from ..model.topology import Topology
from ..system.display import batch, span
from ..validation.arrays import Argument, check_copy, coerce, precision
from ..validation.values import checked_flag, checked_part
from .triangular_factors import TriangularFactors

FEW_COLUMNS = 3  # as many, one on each SIMD lane, take less time than one after the other
FEW_NUMBERS = 100_000  # of an argument, of which a copy fits into any memory


class Pattern(NamedTuple):
    """Pattern of packed factors: parents and depths of the degrees of freedom from 0, starts of rows, entries."""

    parent: np.ndarray
    depth: np.ndarray
    start: np.ndarray
    entries: int


@lru_cache(maxsize=64)
def _pattern_of(topology: Topology) -> Pattern:
    """Return the pattern of a tree's factors."""
    depth = topology.dof_depth - 1
    ends = np.cumsum(depth + 1)
    return Pattern(
        topology.dof_parent - 1, depth, (ends - depth - 1).astype(np.int64), int(ends[-1]) if ends.size else 0
    )


@lru_cache(maxsize=256)
def _call(entry: Callable[..., int], topology: Topology) -> Callable[..., int]:
    """Return the call of an entry with the pattern of a tree's factors."""
    return bound_call(entry, *_pattern_of(topology)[:3])


@lru_cache(maxsize=64)
def _topology_of(dof_parent: bytes) -> Topology:
    """Return the tree of parents, int64, that are valid or raise an error."""
    return Topology(np.frombuffer(dof_parent, np.int64))


def _tree_of(dof_parent: ArrayLike) -> Topology:
    """Return the tree of the parents λe; the last ones are known."""
    if type(dof_parent) is np.ndarray and dof_parent.dtype == np.int64 and dof_parent.ndim == 1:
        return _topology_of(dof_parent.tobytes())
    return Topology(dof_parent)


class Factorization(TriangularFactors):
    """Sparse factors of one or more matrices H, as `ltdl` (H = L' D L) and `ltl` (H = L' L) return them.

    The argument x of a product or a solve is a vector (..., n) for each matrix H, or a matrix (..., n, k) of k such
    columns. For each vector, a product or a triangular solve costs D1 multiply-adds, and `solve` costs 2 D1
    (`Topology.D1`; Featherstone 2005, Table 1). The result of `articulated` has the same products and solves, each at
    cost O(n), and needs no mass matrix.

    Parameters
    ----------
    topology : Topology
        Tree whose paths are the sparsity pattern.
    H : array_like
        (..., n, n) symmetric positive definite matrices.
    unit : bool
        True for H = L' D L, False for H = L' L.

    Examples
    --------
    >>> factors = treesim.ltdl([0, 1, 1], [[4, 1, 1], [1, 2, 0], [1, 0, 2]])
    >>> factors.solve([6.0, 3.0, 3.0])
    array([1., 1., 1.])
    """

    def __init__(self, topology: Topology, H: ArrayLike, unit: bool) -> None:
        self._place(topology, checked_flag("unit", unit))
        number = np.float32 if getattr(H, "dtype", None) == np.float32 else np.float64
        self._dtype: np.dtype = np.dtype(number)
        if self._is_factored(H):
            return
        self._packed = self._pack(H)
        # as plain Python, kernels raise for the square root of a negative pivot, which stays for `_check` to find
        with np.errstate(all="ignore"), suppress(ValueError):
            _call((factored.LTDL if unit else factored.LTL).factorize, topology)(self._packed.reshape(-1))
        self._check()

    def _is_factored(self, H: ArrayLike) -> bool:
        """Factorize one matrix in a float array in a single call; return False, for others to find why, if it fails."""
        n = len(self._parent)
        if not (type(H) is np.ndarray and H.dtype == np.float64 and H.shape == (n, n) and H.flags.carray and n):
            return False
        if not runs_compiled():  # plain Python would raise for the square root of a negative pivot
            return False
        self._packed = np.empty(self._entries)
        entry = (factored.LTDL if self._unit else factored.LTL).factorize_matrix
        return _call(entry, self._tree)(H.reshape(-1), self._packed) == FINE

    @classmethod
    def of_packed(cls, topology: Topology, packed: np.ndarray) -> Self:
        """Return the Factorization with given packed factors L and D of H = L' D L.

        Parameters
        ----------
        topology : Topology
            Tree whose paths are the sparsity pattern.
        packed : numpy.ndarray
            (..., nnz) rows of L, as `packed` returns them.

        Returns
        -------
        Factorization
            Factors L and D, with the dtype of `packed`.

        Raises
        ------
        ArgumentError
            If the shape does not fit.
        SingularInertiaError
            If an entry of D is not positive.
        """
        made = cls.__new__(cls)
        made._place(topology, unit=True)
        number = precision(packed)
        given = coerce(Argument("packed", packed, (int((made._depth + 1).sum()),)), number)
        check_copy("packed", given.shape)
        made._dtype, made._packed = np.dtype(number), np.array(given, float, order="C")
        made._check()
        return made

    def _place(self, topology: Topology, unit: bool) -> None:
        checked_part("topology", topology, Topology)
        self._tree, self._unit = topology, unit
        self._parent, self._depth, self._start, self._entries = _pattern_of(topology)

    def __repr__(self) -> str:
        form = "L' D L" if self._unit else "L' L"
        sizes = f"n {len(self._parent)}, {self._packed.shape[-1]} entries on paths"
        return f"<Factorization H = {form}: {sizes}{batch(self._packed)}>"

    def _repr_fields(self) -> list[tuple[str, Any]]:
        diagonal = "D" if self._unit else "diagonal of L"
        return [("topology", self.topology), (diagonal, span(self._diagonal().ravel().tolist()))]

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape (..., n) of the argument x of methods, with one vector for each matrix H."""
        return (*self._packed.shape[:-1], len(self._parent))

    @property
    def dtype(self) -> np.dtype:
        """Number type of the results: float32 if H is float32, although the factors are computed in float64."""
        return self._dtype

    @property
    def L(self) -> np.ndarray:
        """Lower triangular factor L (..., n, n) of H; for H = L' D L, its diagonal is 1."""
        n = len(self._parent)
        L = np.zeros((*self.shape, n), self._dtype)
        L[..., *self._tree.packed_pattern()] = self._packed
        if self._unit:
            L[..., np.arange(n), np.arange(n)] = 1.0
        return L

    @property
    def D(self) -> np.ndarray:
        """Diagonal (..., n) of the factor D of H = L' D L. For H = L' L, all entries are 1."""
        return self._diagonal().astype(self._dtype) if self._unit else np.ones(self.shape, self._dtype)

    @property
    def log_det(self) -> np.ndarray:
        """Natural logarithm of the determinant of H, shape (...)."""
        found: np.ndarray = np.log(self._diagonal()).sum(axis=-1)
        return np.asarray(found if self._unit else 2 * found, self._dtype)

    @property
    def topology(self) -> Topology:
        """Tree whose paths define the sparsity pattern of L."""
        return self._tree

    def packed(self) -> tuple[np.ndarray, np.ndarray, bool]:
        """Return the factors L and D of H as packed rows.

        Returns
        -------
        start : numpy.ndarray
            (n,) index of the first entry of each row.
        rows : numpy.ndarray
            (..., nnz) rows of L; the entries of a row are ordered by the depth of the ancestor. The last entry of a row
            is the entry of D, or for H = L' L the diagonal entry of L.
        unit : bool
            True for LTDL.
        """
        return self._start, self._packed, self._unit

    def inverse_inertia(self, J: ArrayLike) -> np.ndarray:
        """Return the inverse operational-space inertia Λ^-1 = J H^-1 J' for a Jacobian J and the mass matrix H.

        Parameters
        ----------
        J : array_like
            (..., m, n) matrices with the leading axes of H.

        Returns
        -------
        numpy.ndarray
            (..., m, m) symmetric matrices.
        """
        return self._inverse_product(J)

    def _apply(self, operation: int, x: ArrayLike) -> np.ndarray:
        """Apply an operation to few numbers of a float array in a single call; in general where that fails."""
        own = self._packed.ndim
        if type(x) is np.ndarray and x.dtype == self._dtype == np.float64 and own <= x.ndim <= own + 1:
            columns = 0 if x.ndim == own else x.shape[-1]
            few = 0 < x.size < FEW_NUMBERS and (columns == 0 or columns >= FEW_COLUMNS)
            if few and x.shape[:own] == self.shape and runs_compiled():
                found = np.array(x, order="C")
                if self._run(operation, found, columns) == FINE:
                    return found
        return super()._apply(operation, x)

    def _operate(self, operation: int, rows: np.ndarray) -> np.ndarray:
        return self._result(operation, np.array(rows, float, order="C"), 0)

    def _operate_on_columns(self, operation: int, x: np.ndarray) -> np.ndarray:
        if x.shape[-1] < FEW_COLUMNS or not runs_compiled():
            return super()._operate_on_columns(operation, x)
        return self._result(operation, np.array(x, float, order="C"), x.shape[-1])

    def _result(self, operation: int, x: np.ndarray, columns: int) -> np.ndarray:
        self._run(operation, x, columns)
        refuse_overflow("the product", x)
        return in_precision("the product", x, self._dtype)

    def _run(self, operation: int, x: np.ndarray, columns: int) -> int:
        """Apply an operation to the vectors (..., n), or to the columns (..., n, columns); return the status."""
        entries = factored.LTDL if self._unit else factored.LTL
        packed, numbers = self._packed.reshape(-1), x.reshape(-1)
        if columns:
            return _call(entries.apply_on_lanes, self._tree)(packed, operation, columns, numbers)
        return _call(entries.apply, self._tree)(packed, operation, numbers)

    def _pack(self, H: ArrayLike) -> np.ndarray:
        n = len(self._parent)
        matrix = coerce(Argument("H", H, (n, n)))
        check_copy("H", matrix.shape)
        if not np.isfinite(matrix).all():
            raise ArgumentError("H holds NaN or infinity")
        outside = np.argwhere(~self._tree.sparsity() & (matrix != 0))
        if len(outside):
            i, j = (int(k) + 1 for k in outside[0][-2:])
            raise ArgumentError(f"H[{i}, {j}] (counting from 1) is not zero, but {i} and {j} lie on no common path")
        return np.ascontiguousarray(matrix[..., *self._tree.packed_pattern()], float)

    def _diagonal(self) -> np.ndarray:
        return self._packed[..., self._start + self._depth]

    def _check(self) -> None:
        wrong = np.argwhere(~(self._diagonal() > 0))
        if len(wrong):
            first = wrong[(wrong[:, :-1] == wrong[0, :-1]).all(axis=1)]  # of the first such matrix
            *batch, k = first[-1].tolist()  # pivots are taken from the last to the first
            which = f"H[{', '.join(map(str, batch))}]" if batch else "H"
            raise SingularInertiaError(
                f"{which} is not positive definite: the pivot of degree of freedom {k + 1} is not positive"
            )
        refuse_overflow("the factorization", self._packed)


def ltdl(dof_parent: ArrayLike, H: ArrayLike) -> Factorization:
    """Return the factors of a matrix H = L' D L, such as a mass matrix, without fill-in; L is unit lower triangular.

    Parameters
    ----------
    dof_parent : array_like
        (n,) parents λe(1..n) of the degrees of freedom, counted from 1, as in `Tree.dof_parent`.
    H : array_like
        (..., n, n) symmetric positive definite matrices. An entry (i, j) may be non-zero only if i = j, or one of i and
        j is an ancestor of the other. Only the lower triangles are read.

    Returns
    -------
    Factorization
        Factors L and D.

    Raises
    ------
    ModelError
        If the numbering is not regular.
    ArgumentError
        If a shape does not fit, a number is not finite, or an entry outside the pattern is not zero.
    SingularInertiaError
        If H is not positive definite; the error names the degree of freedom.

    Notes
    -----
    Cost: D1 divisions and D2 multiply-adds (`Topology.D1`, `Topology.D2`). Source: Featherstone 2005, section 2;
    section 4 for the cost.

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
    return Factorization(_tree_of(dof_parent), H, unit=True)


def ltl(dof_parent: ArrayLike, H: ArrayLike) -> Factorization:
    """Return the lower triangular factor L of a matrix H = L' L, such as a mass matrix, without fill-in.

    Cost: n square roots, D1 divisions and D2 multiply-adds (`Topology.D1`, `Topology.D2`). Source and errors: see
    `ltdl`.

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
    return Factorization(_tree_of(dof_parent), H, unit=False)
