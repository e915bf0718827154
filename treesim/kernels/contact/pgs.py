"""Block Gauss-Seidel (PGS) for contact impulses, with an exact solution of each contact, in a fixed order."""

from typing import Any, NamedTuple

import numpy as np

from ..algebra.linear import Vector, sub
from ..algebra.numbers import absolute, maximum, minimum, select, some, sqrt
from .active_set import BUDGET, active_set_memory, energy, run_active_set, search
from .active_set_equations import ONE_STATE, ONE_SUBTREE, WITHOUT_BAND
from .admm import admm_memory, solve_admm
from .cone import block_at, contact_impulse
from .problem import (
    change_contact,
    change_impulse,
    clamped,
    copy,
    is_accepted,
    put_triple,
    relative_velocities,
    residual,
    restore_unless,
    scale_along_ray,
    store,
    triple,
)

FIRST, ROUND = 1, 10  # sweeps after the first search of an active set, and after later ones
REGULAR, LEAST = 1e-5, 1e-8  # of a row's mobility: the proximal term of the first search, and the least
COLD = 50  # iterations of `admm` without a warm start at most
SOFT, SOFTER, HARD = 1e-3, 1e-2, 1e-9  # of a row's mobility: first compliance, that without impulses, and the last
FARTHER, CLOSEST, SMALLEST = 0.1, 0.95, 1e-3  # ratio of compliances at first, at most and at least
QUICK, FASTER = 2, 0.3  # searches after which the ratio decreases, and its factor
COMPLIANCES, ROUNDS, SEARCHES, BETWEEN = 25, 3, 4, 2  # that are tried; of searches for one, and sweeps between them
ROUGHLY = 1e-2  # of a compliance: residual of its problem, relative to that without impulses
THROUGH = 12  # searches that may increase the residual at first
ABOVE, DECREASE = 1e6, 0.1  # bound of the residual after these, of that before, and its factor from one to the next
CLOSER = 1e-2  # of the tolerance: residual that ends these
SWEEPS = 50  # a warm start takes two or three, a cold one up to thirty, where rows are not nearly dependent


class PgsMemory(NamedTuple):
    """Scratch memory of the methods that complement the sweeps, which share a matrix."""

    admm: Any
    active: Any
    stiff: Any  # (M,) diagonal of G without compliance
    solved: Any  # (M,) impulses of the smallest compliance whose problem is solved
    before: Any  # (2, M) impulses and velocities


def pgs_memory(rows, q, by=ONE_STATE):
    """Scratch memory for at most `rows` rows, with the dtype of q; by: for one state or for SIMD lanes."""
    admm, x = admm_memory(rows, q, by), np.empty((4, rows), q.dtype)
    return PgsMemory(admm, active_set_memory(admm.A, admm.L, q, by), x[0], x[1], x[2:4])


def pgs_memory_of_subtree(rows, q):
    """Scratch memory for worlds with one subtree, as `pgs_memory`."""
    m = pgs_memory(rows, q, ONE_SUBTREE)
    return m._replace(active=m.active._replace(whole=0, within=WITHOUT_BAND))


def solve_contact(problem, c, impulse, sigma):
    """Solve contact c for fixed other impulses; return the largest change of its velocities."""
    r = 3 * c
    A, x, s = block_at(problem.G, r), triple(impulse, r), triple(sigma, r)
    b = Vector(
        s.x - A.xx * x.x - A.xy * x.y - A.xz * x.z,
        s.y - A.xy * x.x - A.yy * x.y - A.yz * x.z,
        s.z - A.xz * x.x - A.yz * x.y - A.zz * x.z,
    )
    y = contact_impulse(A, b, problem.mu[c])
    d = sub(y, x)
    change_contact(problem, r, d, sigma)
    put_triple(impulse, r, y)
    return maximum(maximum(A.xx * absolute(d.x), A.yy * absolute(d.y)), A.zz * absolute(d.z))


def solve_row(problem, r, impulse, sigma):
    """Solve scalar row r for fixed other impulses; return the change of its velocity."""
    x = clamped(problem, r, impulse[r] - sigma[r] / problem.G[r, r])
    change = x - impulse[r]
    change_impulse(problem, r, change, sigma)
    impulse[r] = x
    return problem.G[r, r] * absolute(change)


def sweep(problem, impulse, sigma):
    """Run one sweep over all contacts and rows; return the largest change of a velocity."""
    largest = sigma[0] * 0
    for c in range(problem.contacts):
        largest = maximum(largest, solve_contact(problem, c, impulse, sigma))
    for r in range(3 * problem.contacts, problem.rows):
        largest = maximum(largest, solve_row(problem, r, impulse, sigma))
    return largest


def run_pgs(problem, impulse, sigma, tolerance, most):
    """Improve impulses by at most `most` sweeps, with sigma = G lambda + g; return the number of sweeps."""
    relative_velocities(problem, impulse, sigma)
    return sweeps(problem, impulse, sigma, tolerance, most)


def sweeps(problem, impulse, sigma, tolerance, most):
    """Run at most `most` sweeps, with sigma = G lambda + g before and after; return the number of sweeps.

    Stops when a sweep changes no velocity by more than the tolerance [m/s, rad/s]; impulses need not be unique.
    """
    taken, largest = sigma[0] * 0, tolerance + 1
    while taken < most and largest > tolerance:
        largest = sweep(problem, impulse, sigma)
        taken += 1
    return taken


def is_cold(problem, impulse, sigma, tolerance):
    """Return whether several contacts have no warm start, although impulses must act: all are zero. Sets sigma."""
    found, several = True, impulse[0] * 0
    for r in range(problem.rows):
        found = found and impulse[r] == 0
    for c in range(problem.contacts):
        several += select(problem.mu[c] < 0, 0, 1)
    found = found and several > 1
    if found:
        relative_velocities(problem, impulse, sigma)
        found = found and residual(problem, impulse, sigma) > tolerance
    return found


def search_on(problem, impulse, sigma, tolerance, regular, wanted, m):
    """Run a search of the active set, and more while each decreases the residual; return number of steps, and residual.

    Accepted impulses do not change. A search with a smaller proximal term follows one that does not halve the residual.
    """
    count, left = 0, residual(problem, impulse, sigma)
    taken, going = left * 0, wanted and not is_accepted(problem, impulse, sigma, left)
    while some(going):
        steps, found = run_active_set(problem, impulse, sigma, regular, going, left, m)
        taken += steps
        slow = not found < left / 10
        regular = select(slow, maximum(0.1 * regular, LEAST), regular)
        count += 1
        going = going and found > tolerance and (count < 2 or found < left / 2)
        left = found
    return taken, left


def sweep_and_search(problem, impulse, sigma, tolerance, most, left, going, m):
    """Continue `refine` after its first search, which left a residual, while any lanes are `going`."""
    taken, swept, regular = left * 0, 0, REGULAR
    while swept < most and some(going):
        count = FIRST if swept == 0 else minimum(ROUND, most - swept)
        if going:
            taken += run_pgs(problem, impulse, sigma, tolerance, count)
        swept += count
        regular = maximum(0.01 * regular, LEAST)
        steps, left = search_on(problem, impulse, sigma, tolerance, regular, going, m)
        taken += steps
        going = going and left > tolerance
    return taken, left


def search_through(problem, impulse, sigma, tolerance, wanted, memory):
    """Run searches that may increase the residual at first; keep their result only if it is a solution.

    Where a contact slips in another direction, one step of Newton's method overshoots, and the next ones converge.
    Searches end where the residual is above a bound that decreases from one to the next. Returns the number of steps,
    and the residual. wanted: mask of the lanes that are improved.
    """
    store(problem, impulse, sigma, memory.active.before)
    count, taken, begun = 0, sigma[0] * 0, residual(problem, impulse, sigma)
    left, bound, going = begun, ABOVE * begun, wanted and begun > tolerance
    while count < THROUGH and some(going):
        store(problem, impulse, sigma, memory.before)
        taken += search(problem, impulse, sigma, LEAST, going, memory.active)
        restore_unless(going, problem, impulse, sigma, memory.before)
        left = select(going, residual(problem, impulse, sigma), left)
        count += 1
        bound = DECREASE * bound
        going = going and left > CLOSER * tolerance and left < bound
    solved = wanted and left <= tolerance and energy(problem, impulse, sigma) <= 0
    restore_unless(solved, problem, impulse, sigma, memory.active.before)
    return taken, select(solved, left, begun)


def solve_without_stalls(problem, impulse, sigma, tolerance, most, wanted, memory):
    """Take the steps of `solve_pgs` up to where it stalls; return the number of iterations, and the residual.

    sigma = G lambda + g before and after. wanted: mask of the lanes that are solved.
    """
    memory.active.spent[0] = sigma[0] * 0
    cold = is_cold(problem, impulse, sigma, tolerance) and wanted
    taken, left = search_on(problem, impulse, sigma, tolerance, REGULAR, wanted and not cold, memory.active)
    going = wanted and left > tolerance
    if some(going):
        if cold:
            taken += solve_admm(problem, impulse, sigma, tolerance, minimum(most, COLD), memory.admm)
            scale_along_ray(problem, impulse, sigma)
        if some(cold):
            steps, left = search_on(problem, impulse, sigma, tolerance, REGULAR, cold, memory.active)
            taken, going = taken + steps, going and left > tolerance
        steps, left = sweep_and_search(problem, impulse, sigma, tolerance, FIRST, left, going, memory.active)
        taken, going = taken + steps, going and left > tolerance
        if some(going):
            steps, left = search_through(problem, impulse, sigma, tolerance, going, memory)
            taken += steps
    return taken, left


def refine(problem, impulse, sigma, tolerance, most, memory):
    """Improve impulses by searches, and at most `most` sweeps with a search after the first, and after every ROUND.

    Searches that may increase the residual follow where that stalls. sigma = G lambda + g after it. Returns the number
    of sweeps and steps, and the residual.
    """
    relative_velocities(problem, impulse, sigma)
    taken, left = search_on(problem, impulse, sigma, tolerance, REGULAR, True, memory.active)
    steps, left = sweep_and_search(problem, impulse, sigma, tolerance, most, left, left > tolerance, memory.active)
    taken += steps
    if left > tolerance:
        steps, left = search_through(problem, impulse, sigma, tolerance, True, memory)
        taken += steps
    return taken, left


def put_compliance(problem, part, stiff):
    """Make all rows compliant by a part of their mobility, the diagonal `stiff` of G."""
    for r in range(problem.rows):
        problem.G[r, r] = (1 + part) * stiff[r]
    problem.factored[0] = -absolute(problem.factored[0])


def solve_compliant(problem, impulse, sigma, enough, m):
    """Run searches that may increase the residual, with sweeps in between, until it is `enough`.

    Returns the number of searches, that of their steps and sweeps, and the residual.
    """
    count, taken, left = 0, sigma[0] * 0, enough + 1
    relative_velocities(problem, impulse, sigma)
    while count < ROUNDS * SEARCHES and left > enough:
        if count > 0 and count % SEARCHES == 0:
            taken += sweeps(problem, impulse, sigma, enough, BETWEEN)
        taken += search(problem, impulse, sigma, LEAST, True, m)
        left = residual(problem, impulse, sigma)
        count += 1
    return count, taken, left


def follow_compliance(problem, impulse, sigma, tolerance, most, memory):
    """Solve problems whose compliance decreases to zero, each from the impulses of the one before.

    Where a combination of contacts can hardly move, as between straight legs, sweeps and searches stall before they
    have found which contacts open and which slip. A compliance of all rows makes that easy. Few contacts change from
    one compliance to the next. The next one is closer to the last where that was not solved, and farther where few
    searches solved it. If impulses of the search that stalled do not lead to a solution of the first problem, they
    would lead back to where it did, and the path begins without impulses. If the last residual is not smaller than the
    first, the first impulses are restored. Returns the number of iterations, and the residual.
    """
    taken, tries, begun, solved = sigma[0] * 0, 0, residual(problem, impulse, sigma), memory.solved
    store(problem, impulse, sigma, memory.before)
    for r in range(problem.rows):
        solved[r], memory.stiff[r] = 0.0, problem.G[r, r]
    scale, ratio, least = residual(problem, solved, problem.g), taken + FARTHER, taken + SOFT / FARTHER
    while least > HARD and ratio < CLOSEST and tries < COMPLIANCES and memory.active.spent[0] < BUDGET:
        put_compliance(problem, ratio * least, memory.stiff)
        enough = maximum(tolerance, ROUGHLY * ratio * least * scale)
        count, steps, left = solve_compliant(problem, impulse, sigma, enough, memory.active)
        taken += steps
        if left <= enough:
            least = ratio * least
            copy(impulse, solved)
            ratio = maximum(select(count > QUICK, 1.0, FASTER) * ratio, SMALLEST)
        else:
            copy(solved, impulse)
            if tries == 0:
                least = taken * 0 + SOFTER / FARTHER
            else:
                ratio = sqrt(ratio)
        tries += 1
    put_compliance(problem, begun * 0, memory.stiff)
    steps, left = refine(problem, impulse, sigma, tolerance, minimum(most, SWEEPS), memory)
    restore_unless(left < begun, problem, impulse, sigma, memory.before)
    return taken + steps, select(left < begun, left, begun)


def solve_pgs(problem, impulse, sigma, tolerance, most, memory):
    """Solve for impulses by `active_set` searches, sweeps and `admm`; return the number of iterations of all.

    From the impulses of the step before, the first search mostly ends there. Otherwise a sweep follows, and searches
    that may increase the residual at first. Where that stalls, compliant contacts lead to the solution
    (`follow_compliance`), or else `admm`, or more sweeps. Without a warm start `admm` comes first. It treats all
    contacts alike, so that points which share a load each take their part. Sweeps would assign it to the first points
    in order, and would not change that where the parts are not determined.
    """
    relative_velocities(problem, impulse, sigma)
    taken, left = solve_without_stalls(problem, impulse, sigma, tolerance, most, True, memory)
    if left > tolerance:
        steps, left = follow_compliance(problem, impulse, sigma, tolerance, most, memory)
        taken += steps
    if left > tolerance:
        taken += solve_admm(problem, impulse, sigma, tolerance, most, memory.admm)
        scale_along_ray(problem, impulse, sigma)
        steps, left = refine(problem, impulse, sigma, tolerance, minimum(most, SWEEPS), memory)
        taken += steps
    if left > tolerance:
        taken += sweep_on(problem, impulse, sigma, tolerance, most, left, memory.active.before)
    return taken


def sweep_on(problem, impulse, sigma, tolerance, most, left, before):
    """Run at most `most` sweeps without searches; undo them if the residual, `left` before, does not decrease.

    A search follows the energy, whose minimum is the solution of the convex relaxation. So every search may press
    contacts again that open while they slide. Return the number of sweeps.
    """
    store(problem, impulse, sigma, before)
    taken = run_pgs(problem, impulse, sigma, tolerance, most)
    restore_unless(residual(problem, impulse, sigma) < left, problem, impulse, sigma, before)
    return taken
