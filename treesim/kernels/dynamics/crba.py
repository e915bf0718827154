"""Composite-rigid-body algorithm: the mass matrix H, packed by ancestor depth (RBDA Table 6.2; J91, s. 3).

Row k of the packed matrix has H_kj for the ancestors j of k, root first, and H_kk last. No other entry of H is ever
non-zero (F05, section 2), so no other is stored.
"""

import numpy as np

from ..algebra.columns import columns_to_parent, put_column, start_columns
from ..algebra.numbers import in_vectors
from ..algebra.spatial import force_component, force_to_parent, rigid_add, rigid_column, rigid_to_parent
from ..algebra.tables import body_inertia, body_transform_at, put_rigid, put_transform, rigid_at
from ..entries.entry import entry
from ..entries.scratch import scratch_memory
from ..kinematics.bodies import body_transform

# a line: bodies numbered in a row, each the parent of the next; its degrees of freedom
SHORT_LINE = 4  # so many at most, its rows are made one after the other
LONGEST_LINE = 120  # more belong to another line; a constant, so that compilers see that the rows of F do not overlap


def put_packed(tree, H, k, j, value):
    """Store H_kj in a packed matrix."""
    H[tree.row_start[k] + tree.dof_depth[j]] = value


def put_full(tree, H, k, j, value):
    """Store H_kj and H_jk in a full matrix."""
    H[k, j] = H[j, k] = value


def mass_matrix_row(tree, i, k, F, X, H, put):
    """Compute row k of H, for degree of freedom k of joint i: transform F = Ic S along the path to the base."""
    for j in range(tree.v_start[i], k):
        put(tree, H, k, j, force_component(F, tree.screw[j]))
    put(tree, H, k, k, force_component(F, tree.screw[k]) + tree.armature[k])
    while tree.parent[i] > 0:
        F = force_to_parent(body_transform_at(tree, X, i), F)
        i = tree.parent[i]
        for j in range(tree.v_start[i], tree.v_start[i + 1]):
            put(tree, H, k, j, force_component(F, tree.screw[j]))


def add_to_parent(tree, i, inertia, X, Ic):
    """Ic_λ += X' Ic X (J91 eq. 25)."""
    p = tree.parent[i]
    if p > 0:
        put_rigid(Ic, p, rigid_add(rigid_at(Ic, p), rigid_to_parent(body_transform_at(tree, X, i), inertia)))


def mass_matrix_bodies(tree, first, last, X, Ic, H, put):
    """Compute the rows of the bodies first .. last one after the other, with the force of each in registers."""
    for i in range(last, first - 1, -1):
        inertia = rigid_at(Ic, i)
        add_to_parent(tree, i, inertia, X, Ic)
        for k in range(tree.v_start[i], tree.v_start[i + 1]):
            mass_matrix_row(tree, i, k, rigid_column(inertia, tree.screw[k]), X, H, put)


# ---- rows of a line, whose forces travel side by side


def goes_on(tree, first, last):
    """Return whether body first - 1 extends the line first .. last."""
    room = tree.v_start[last + 1] - tree.v_start[first - 1] <= LONGEST_LINE
    return (first > 1) & (tree.parent[first] == first - 1) & room


def first_of_line(tree, last):
    """Return the first body of the line that ends with body `last` and has at most LONGEST_LINE degrees of freedom."""
    first = last
    while goes_on(tree, first, last):
        first -= 1
    return first


def start_rows(tree, i, end, X, Ic, F, H, put):
    """Add the forces Ic S of joint i to the columns, row k in column end - 1 - k; write the diagonal of H."""
    inertia = rigid_at(Ic, i)
    add_to_parent(tree, i, inertia, X, Ic)
    for k in range(tree.v_start[i], tree.v_start[i + 1]):
        force = rigid_column(inertia, tree.screw[k])
        put_column(F, end - 1 - k, force)
        put(tree, H, k, k, force_component(force, tree.screw[k]) + tree.armature[k])


def mass_matrix_line(tree, first, last, X, Ic, H, put):
    """Compute the rows of the bodies first .. last of a line together.

    Their forces are columns of F, to which every body of the line adds its own on the way to the base.
    """
    F = np.empty((6, LONGEST_LINE), X.dtype)
    end = begin = tree.v_start[last + 1]
    start_columns(F, end - tree.v_start[first])
    i = last
    while i > 0:
        if i >= first:
            start_rows(tree, i, end, X, Ic, F, H, put)
            begin = tree.v_start[i]
        for j in range(tree.v_start[i], tree.v_start[i + 1]):
            component = F[tree.screw[j]]
            for c in range(end - max(begin, j + 1)):
                put(tree, H, end - 1 - c, j, component[c])
        if tree.parent[i] > 0:
            columns_to_parent(body_transform_at(tree, X, i), F, end - begin)
        i = tree.parent[i]


def mass_matrix(tree, q, X, Ic, H, put):
    """H at configuration q, stored by `put`: transforms outward, composite inertias inward, each row along its path.

    Only entries on a path are written. The forces of a long line's rows are transformed together where loops vectorize.
    """
    for i in range(1, tree.n_bodies + 1):
        put_transform(X, i, body_transform(tree, i, q))
    mass_matrix_of_transforms(tree, X, Ic, H, put)


def mass_matrix_of_transforms(tree, X, Ic, H, put):
    """H for given transforms X, stored by `put`."""
    for i in range(1, tree.n_bodies + 1):
        put_rigid(Ic, i, body_inertia(tree, i))
    last = tree.n_bodies
    while last > 0:
        first = first_of_line(tree, last)
        if in_vectors() & (tree.v_start[last + 1] - tree.v_start[first] > SHORT_LINE):
            mass_matrix_line(tree, first, last, X, Ic, H, put)
        else:
            mass_matrix_bodies(tree, first, last, X, Ic, H, put)
        last = first - 1


scratch_for = scratch_memory("X 12, Ic 10")


def mass_matrix_full(tree, q, M, X, Ic):
    """Full mass matrix, including zeros off the paths."""
    M.reshape(M.size)[:] = 0  # in a row, which is filled at once
    mass_matrix(tree, q, X, Ic, M, put_full)


def mass_matrix_packed(tree, q, M, X, Ic):
    """Packed mass matrix, of which every entry is written."""
    mass_matrix(tree, q, X, Ic, M, put_packed)


mass_matrix_full_states = entry(mass_matrix_full, scratch_for, q="nq", M="-> nv', nv'", expands=True, angles=True)
mass_matrix_packed_states = entry(mass_matrix_packed, scratch_for, q="nq", M="-> nnz", angles=True)
