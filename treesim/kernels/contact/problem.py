"""Contact problem of one step: impulses lambda with sigma = G lambda + g and complementarity conditions for each row.

G = J (M + D)^-1 J' + R is symmetric. The first 3 n_c rows are those of contacts, tangents before the normal, with the
conditions of `cone`. The others are scalar: low <= lambda <= high, sigma = 0 in between, sigma >= 0 at the lower and
<= 0 at the upper bound. Bounds are 0 and infinity for joint limits, -h f and h f for Coulomb friction of joints, and
infinite for constrained frames and loops.
"""

from typing import Any, NamedTuple

from ..algebra.linear import Vector
from ..algebra.numbers import absolute, maximum, minimum, select, some, sqrt, vectorized
from .cone import THIRD, block_at, cone_projection, shear, violation

STILL = 1e-9  # of a contact's mobility: least tangential mobility; a contact with less along its normal is open
ACCEPTED = 1e-3  # of the tolerance, see `accepted_by`
VANISHING = 1e-20  # of the largest mobility: rows with less are immobile


class Problem(NamedTuple):
    """One contact problem: numbers of contacts and of rows, and the quantities above; arrays may be longer.

    factored: whether the solver's memory has a factor of this G; -1 if it has the band of G only. What changes G, or
    that memory, sets it to 0.
    accepted: velocity up to which warm-start impulses are accepted as the solution (`accepted_by`).
    """

    contacts: Any
    rows: Any
    exact: Any  # 1 for the conditions of Signorini and Coulomb, 0 for their convex relaxation
    G: Any
    g: Any
    mu: Any  # by contact
    low: Any  # by row; not used for contacts
    high: Any
    factored: Any  # (1,)
    accepted: Any = 0.0


def triple(x, r):
    """Return three consecutive numbers as a vector."""
    return Vector(x[r], x[r + 1], x[r + 2])


def put_triple(x, r, a):
    """Write a vector to three consecutive numbers."""
    x[r], x[r + 1], x[r + 2] = a.x, a.y, a.z


def relative_velocities(problem, impulse, sigma):
    """sigma = G lambda + g, also of columns that are only padding.

    Products are added one after the other: a sum does not depend on which rows of other SIMD lanes lie between.
    """
    n, G = problem.rows, problem.G
    for r in vectorized(range(G.shape[1])):
        sigma[r] = problem.g[r]
    whole = n - n % 4
    for s in range(0, whole, 4):
        add_four(G, s, 0, G.shape[1], impulse, sigma)
    for s in range(whole, n):
        change_impulse(problem, s, impulse[s], sigma)


def add_four(G, s, first, end, impulse, sigma):
    """Add the products of the impulses of four rows from s on with the columns of G from `first` to `end` to sigma."""
    a, b, c, d = impulse[s], impulse[s + 1], impulse[s + 2], impulse[s + 3]
    if some(a != 0 or b != 0 or c != 0 or d != 0):
        for r in vectorized(range(first, end)):
            sigma[r] = sigma[r] + a * G[s, r] + b * G[s + 1, r] + c * G[s + 2, r] + d * G[s + 3, r]


def change_impulse(problem, s, change, sigma):
    """sigma += G[:, s] change; rows of the symmetric G are contiguous."""
    if some(change != 0):
        for r in vectorized(range(problem.G.shape[1])):
            sigma[r] += problem.G[s, r] * change


def change_contact(problem, s, change, sigma):
    """sigma += G[:, s : s + 3] change."""
    if some(change.x != 0 or change.y != 0 or change.z != 0):
        for r in vectorized(range(problem.G.shape[1])):
            sigma[r] += problem.G[s, r] * change.x + problem.G[s + 1, r] * change.y + problem.G[s + 2, r] * change.z


def clamped(problem, r, x):
    """Return x clamped to the bounds of scalar row r."""
    return minimum(maximum(x, problem.low[r]), problem.high[r])


def first_of(problem, r):
    """Return the first row of the contact of row r; r for scalar rows."""
    return r - r % 3 if r < 3 * problem.contacts else r


def mobility(problem, r):
    """Return w of row r, which is tr(A) / 3 for a contact."""
    found = problem.G[r, r]
    if r < 3 * problem.contacts:
        k = r - r % 3
        found = (problem.G[k, k] + problem.G[k + 1, k + 1] + problem.G[k + 2, k + 2]) * THIRD
    return found


def put_reach(problem, reach):
    """Determine the band of G: for each row the first row that it, or a later one, depends on; of a contact its first.

    In stacks of bodies rows depend on those of the neighbours only.
    """
    k = 0
    for r in range(problem.rows):
        further = 0  # entries before those of the row above: rare, and counted without branches
        for j in range(k):
            further += select(problem.G[r, j] != 0, 1, 0)
        if further > 0:
            k = 0
        while k < r and problem.G[r, k] == 0:
            k += 1
        reach[r] = first_of(problem, k)
    for r in range(problem.rows - 2, -1, -1):
        if reach[r + 1] < reach[r]:
            reach[r] = reach[r + 1]


def residual(problem, impulse, sigma):
    """Return the largest complementarity residual as a velocity [m/s, rad/s], by the natural map."""
    worst = impulse[0] * 0
    for c in range(problem.contacts):
        A = block_at(problem.G, 3 * c)
        worst = maximum(worst, violation(A, triple(sigma, 3 * c), triple(impulse, 3 * c), problem.mu[c], problem.exact))
    for r in range(3 * problem.contacts, problem.rows):
        w = problem.G[r, r]
        worst = maximum(worst, w * absolute(impulse[r] - clamped(problem, r, impulse[r] - sigma[r] / w)))
    return worst


def accepted_by(tolerance, contacts, few):
    """Return the velocity up to which warm-start impulses are accepted as the solution.

    few: number of contacts whose impulses are always solved for.
    """
    return select(contacts > few, ACCEPTED * tolerance, 0)


def is_accepted(problem, impulse, sigma, missed):
    """Return whether impulses of residual `missed` are accepted as the solution.

    Rows with impulses must be at rest. Where they slip, an error would act in the same direction in every step.
    """
    fastest = missed
    for r in range(problem.rows):
        fastest = maximum(fastest, select(impulse[r] != 0, absolute(sigma[r]), 0))
    return fastest <= problem.accepted


def copy(x, out):
    """out = x."""
    for k in range(x.size):
        out[k] = x[k]


def store(problem, impulse, sigma, before):
    """Copy impulses and velocities to before (2, M)."""
    for r in range(problem.rows):
        before[0, r], before[1, r] = impulse[r], sigma[r]


def restore_unless(better, problem, impulse, sigma, before):
    """Restore what `store` copied, on lanes that are not `better`; comparisons with NaN are not."""
    for r in range(problem.rows):
        impulse[r], sigma[r] = select(better, impulse[r], before[0, r]), select(better, sigma[r], before[1, r])


def project(problem, impulse):
    """Project impulses on cones and bounds."""
    for c in range(problem.contacts):
        put_triple(impulse, 3 * c, cone_projection(triple(impulse, 3 * c), problem.mu[c]))
    for r in range(3 * problem.contacts, problem.rows):
        impulse[r] = clamped(problem, r, impulse[r])


def least_shear(A):
    """Return the smallest eigenvalue of a contact's tangential mobility for sigma_n = 0."""
    xx, yy, B = shear(A)
    return (xx + yy) / 2 - sqrt((xx - yy) * (xx - yy) / 4 + B * B)


def regularize_immobile_rows(problem):
    """Regularize rows that no joint moves, so that the problem is solvable.

    Robots with few joints, or in a plane, have contacts that no joint moves sideways, and rows that no joint moves at
    all. Such tangents get a mobility of 1e-9 of their contact's. A contact that cannot move along its normal is left
    open, since no impulse opens or closes it.
    """
    largest = problem.g[0] * 0
    for r in range(problem.rows):
        largest = maximum(largest, problem.G[r, r])
    for c in range(problem.contacts):
        r = 3 * c
        A = block_at(problem.G, r)
        size = A.xx + A.yy + A.zz
        if A.zz <= STILL * size or size <= VANISHING * largest:
            problem.mu[c] = -1
            problem.G[r + 2, r + 2] += largest
        elif least_shear(A) < STILL * size:
            problem.G[r, r] += STILL * size
            problem.G[r + 1, r + 1] += STILL * size
    for r in range(3 * problem.contacts, problem.rows):
        if problem.G[r, r] <= VANISHING * largest:
            problem.G[r, r] = largest


def scale_along_ray(problem, impulse, sigma):
    """lambda <- c lambda with c in [0, 1] of least energy, c = -g lambda / (lambda G lambda); sigma = G lambda + g.

    So warm-start impulses add no energy, however few sweeps follow. Those that are accepted do not change.
    """
    relative_velocities(problem, impulse, sigma)
    linear, square = impulse[0] * 0, impulse[0] * 0
    for r in range(problem.rows):
        linear += problem.g[r] * impulse[r]
        square += (sigma[r] - problem.g[r]) * impulse[r]
    c = impulse[0] * 0
    if is_accepted(problem, impulse, sigma, residual(problem, impulse, sigma)):
        c += 1
    elif square > 0:
        c = minimum(maximum(-linear / square, 0), 1)
    for r in range(problem.rows):
        impulse[r] = c * impulse[r]
        sigma[r] = problem.g[r] + c * (sigma[r] - problem.g[r])
