"""Mass matrix by the direct method: column k is inverse dynamics at rest of the unit acceleration e_k (J91, s. 3).

It takes nv recursions over all bodies: O(nv N), compared with O(N d) for `crba`.
"""

from ..algebra.tables import put_transform
from ..dynamics.crba import put_full
from ..entries.entry import entry
from ..entries.scratch import scratch_memory
from ..kinematics.bodies import body_transform
from .at_rest import apply_mass_matrix


def mass_matrix_direct(tree, q, M, X, A, F, unit, column):
    """M at configuration q, column by column; of the two values of M_jk that of the later column is stored."""
    for i in range(1, tree.n_bodies + 1):
        put_transform(X, i, body_transform(tree, i, q))
    for k in range(tree.nv):
        for j in range(tree.nv):
            unit[j] = 0
        unit[k] = 1  # J91 eq. 23
        apply_mass_matrix(tree, X, unit, column, A, F)
        for j in range(k + 1):
            put_full(tree, M, k, j, column[j])


scratch_for = scratch_memory("X 12, A 6, F 6", unit="nv", column="nv")


mass_matrix_direct_states = entry(mass_matrix_direct, scratch_for, q="nq", M="-> nv', nv'", expands=True)
