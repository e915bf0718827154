"""Connectivity of a kinematic tree in the papers' notation: λ, μ, κ, ν, depths, and the expansion λe.

Body 0 is the fixed base. As in the papers, bodies and degrees of freedom are numbered from 1: `parent[i - 1]` is
λ(i).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ArgumentError, ModelError
from ..system.display import ReprMixin
from ..validation.values import short_repr, whole_number
from .frozen import Immutable, frozen

MOST_DOFS = 1 << 24  # whose tables take gigabytes


class Topology(Immutable, ReprMixin):
    """Connectivity of a kinematic tree.

    Every regular numbering, in which the parent λ(i) of body i has a smaller number than i, is accepted; it need not be
    depth-first. A topology is immutable. The construction costs O(N + n).

    Parameters
    ----------
    parent : array_like
        (N,) parents λ(1) ... λ(N) of the bodies; 0 is the fixed base.
    dofs : array_like, optional
        (N,) numbers of degrees of freedom of the joints. 1 by default.

    Attributes
    ----------
    parent, dofs : numpy.ndarray
        (N,) parents and degrees of freedom as above, read-only.
    dof_parent : numpy.ndarray
        (n,) parents λe(1) ... λe(n) of the degrees of freedom in the expanded graph, which has one node for each degree
        of freedom.
    dof_depth : numpy.ndarray
        (n,) depths in the expanded graph.
    last_dof : tuple of int
        (N + 1,) last degree of freedom on the path from the base to each body; the base comes first. 0 if the path has
        none.

    Raises
    ------
    ModelError
        If the numbering is not regular. The error names the first body that violates 0 <= λ(i) < i.

    Notes
    -----
    Sources: Featherstone 2005, section 2 (λ, μ, κ, ν); Featherstone 2010, Figure 4 (expansion). Joints without degrees
    of freedom, which these sources do not have, are also allowed; the expanded graph of the degrees of freedom has no
    nodes for such joints.

    Examples
    --------
    >>> topology = treesim.Topology([0, 1, 1, 3])
    >>> topology.children(1), topology.support(4)
    ((2, 3), (1, 3, 4))
    >>> topology.depth, topology.D1
    (3, 4)
    """

    __slots__ = ("dof_depth", "dof_parent", "dofs", "last_dof", "parent")

    def __init__(self, parent: ArrayLike, dofs: ArrayLike | None = None) -> None:
        self.parent = _whole_numbers("parent", parent)
        self.dofs = frozen(np.ones(self.parent.shape), np.int64) if dofs is None else _whole_numbers("dofs", dofs)
        if self.parent.ndim != 1 or self.dofs.shape != self.parent.shape:
            raise ModelError(f"parent {self.parent.shape} and dofs {self.dofs.shape} must be lists of equal length")
        for i, p in enumerate(self.parent.tolist(), start=1):
            if not 0 <= p < i:
                raise ModelError(
                    f"numbering is not regular: λ({i}) = {p}, but a parent must come before its child (0 <= λ(i) < i)"
                )
        if (self.dofs < 0).any():
            raise ModelError("dofs: a joint cannot have a negative number of degrees of freedom")
        if sum(self.dofs.tolist()) > MOST_DOFS:
            raise ModelError(
                f"dofs: a tree has at most {MOST_DOFS:,} degrees of freedom, got {sum(self.dofs.tolist()):,}"
            )
        self.dof_parent, self.last_dof = self._expand()
        self.dof_depth = _depths(self.dof_parent)
        self._frozen = True

    def __repr__(self) -> str:
        return f"<Topology: {self.n_bodies} bodies, {self.n_dofs} degrees of freedom, depth {self.depth}>"

    def _repr_fields(self) -> list[tuple[str, Any]]:
        arrays = [("λ", self.parent.tolist()), ("λe", self.dof_parent.tolist()), ("dofs", self.dofs.tolist())]
        return [*arrays, ("D1", self.D1), ("D2", self.D2)]

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.parent, self.dofs)

    def _expand(self) -> tuple[np.ndarray, tuple[int, ...]]:
        """Return λe(1..n), and the last degree of freedom on the path to each body.

        Within a joint the parent of a degree of freedom is the one before it; the parent of the first is the last of
        the parent body.
        """
        last = [0] * (self.n_bodies + 1)  # last DoF on the path from the base to each body
        expanded: list[int] = []
        for i, (p, count) in enumerate(zip(self.parent.tolist(), self.dofs.tolist(), strict=True), start=1):
            last[i] = last[p]
            for _ in range(count):
                expanded.append(last[i])
                last[i] = len(expanded)
        return frozen(expanded, np.int64), tuple(last)

    @property
    def n_bodies(self) -> int:
        """Number N of moving bodies of the tree."""
        return len(self.parent)

    @property
    def n_dofs(self) -> int:
        """Number n of degrees of freedom of the tree."""
        return len(self.dof_parent)

    def children(self, i: int) -> tuple[int, ...]:
        """Return μ(i), the bodies whose parent is i.

        Parameters
        ----------
        i : int
            Number of a body; 0 is the base.

        Returns
        -------
        tuple of int
            Numbers of the children, in increasing order.
        """
        return tuple(int(j) + 1 for j in np.flatnonzero(self.parent == whole_number("i", i, 0, self.n_bodies)))

    def support(self, i: int) -> tuple[int, ...]:
        """Return κ(i), the indices of the joints on the path from the base to body i.

        Parameters
        ----------
        i : int
            Number of a body.

        Returns
        -------
        tuple of int
            Numbers of the joints, in increasing order.
        """
        path, i = [], whole_number("i", i, 0, self.n_bodies)
        while i:
            path.append(i)
            i = int(self.parent[i - 1])
        return tuple(reversed(path))

    def subtree(self, i: int) -> tuple[int, ...]:
        """Return ν(i), the bodies that joint i supports: body i and all bodies further out.

        Parameters
        ----------
        i : int
            Number of a joint; 0 for all bodies.

        Returns
        -------
        tuple of int
            Numbers of the bodies, in increasing order, i included.
        """
        i = whole_number("i", i, 0, self.n_bodies)
        inside = [j == i for j in range(self.n_bodies + 1)]
        for j in range(i + 1, self.n_bodies + 1):
            inside[j] = inside[int(self.parent[j - 1])]
        return tuple(j for j in range(1, self.n_bodies + 1) if inside[j])

    def nearest_common_ancestor(self, p: int, q: int) -> int:
        """Return the nearest common ancestor of two bodies: the last body that is on both paths from the base.

        Parameters
        ----------
        p, q : int
            Numbers of two bodies.

        Returns
        -------
        int
            Number of the body; 0 if only the base is common.
        """
        p, q = (whole_number(label, i, 0, self.n_bodies) for label, i in (("p", p), ("q", q)))
        while p != q:
            if p > q:
                p = int(self.parent[p - 1])
            else:
                q = int(self.parent[q - 1])
        return p

    @property
    def body_depth(self) -> np.ndarray:
        """Depths (N,): number of joints between the base and each body. Cost: O(N)."""
        return _depths(self.parent)

    @property
    def depth(self) -> int:
        """Depth of the tree: the greatest number of joints between the base and a body."""
        return int(self.body_depth.max(initial=0))

    @property
    def D1(self) -> int:
        """Sum of d_i - 1 over all degrees of freedom i, for entries d_i of `dof_depth` (Featherstone 2005, Table 1)."""
        return int((self.dof_depth - 1).sum())

    @property
    def D2(self) -> int:
        """Sum of d_i (d_i - 1) / 2 over all degrees of freedom i, for entries d_i of `dof_depth`."""
        d = self.dof_depth
        return int((d * (d - 1) // 2).sum())

    def sparsity(self) -> np.ndarray:
        """Return the sparsity pattern (n, n) of mass matrices of trees with this topology.

        An entry (i, j) is zero, unless i = j, or one of i and j is an ancestor of the other.

        Returns
        -------
        numpy.ndarray
            (n, n) boolean pattern.
        """
        pattern = np.zeros((self.n_dofs, self.n_dofs), dtype=bool)
        rows, columns = self.packed_pattern()
        pattern[rows, columns] = pattern[columns, rows] = True
        return pattern

    def packed_pattern(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the row and the column of each entry of a packed mass matrix.

        Row k contains the entries in the columns of the ancestors of k, root first, and then the diagonal entry.

        Returns
        -------
        rows : numpy.ndarray
            (D1 + n,) indices of rows, from 0.
        columns : numpy.ndarray
            (D1 + n,) indices of columns, from 0.
        """
        depth = self.dof_depth
        rows = np.repeat(np.arange(self.n_dofs), depth)
        start, columns = np.cumsum(depth) - depth, rows.copy()
        for k, p in enumerate((self.dof_parent - 1).tolist()):
            if p >= 0:  # k's ancestors are the entries of its parent's row
                columns[start[k] : start[k] + depth[p]] = columns[start[p] : start[p] + depth[p]]
        return rows, columns


def elimination_tree(pattern: np.ndarray) -> np.ndarray:
    """Return the elimination tree of a symmetric boolean pattern (n, n), as parents (n,) from 1; 0 = none.

    Rows are eliminated from the last to the first, as in LTL and LTDL. Every entry of the matrix and of its factors,
    fill-in included, lies on a path of this tree. For the pattern of a kinematic tree it is λe.
    Source: Liu 1990, The role of elimination trees in sparse factorization. Cost: O(n) and the number of these entries.
    """
    n = len(pattern)
    before = [set(np.flatnonzero(row[:k]).tolist()) for k, row in enumerate(pattern)]
    parent = np.zeros(n, np.int64)
    for k in range(n - 1, -1, -1):
        if before[k]:
            p = max(before[k])
            parent[k] = p + 1
            before[p] |= before[k] - {p}
    return parent


def _depths(parent: np.ndarray) -> np.ndarray:
    depth = [0] * (len(parent) + 1)
    for i, p in enumerate(parent.tolist(), start=1):
        depth[i] = depth[p] + 1
    return frozen(depth[1:], np.int64)


def _whole_numbers(label: str, value: ArrayLike) -> np.ndarray:
    """Return an array of int64; raises ArgumentError for other values, floats included."""
    try:
        given = np.asarray(value)
    except Exception:  # whatever a user's class raises
        given = np.asarray(None)
    if given.dtype.kind not in "iu" and (given.size or given.dtype.kind != "f"):
        raise ArgumentError(f"{label} must be an array of whole numbers, got {short_repr(value)}")
    return frozen(given, np.int64)
