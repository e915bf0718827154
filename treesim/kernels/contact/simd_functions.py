"""Functions of a step with contact (`step_records.StepFunctions`) of several states, one per SIMD lane.

Searches continue until every lane is within the tolerance; converged lanes do not change. Some states are left
unsolved: those that the solver does not solve, and those that have more than `simd_collision.MOST` contacts.
"""

from ..algebra.numbers import maximum, select
from ..mimic.contact_mimic import any_tree, constrain_mimic_joints, constrain_nothing, with_mimic_rotors
from .component_functions import ONE_ON_LANES
from .component_solution import overlap_of
from .components import first_and_end
from .constraint_rows import MARGIN, put_constrained, put_none_constrained
from .contact_points import put_points
from .layout import INFO, PAIR, SCHEME, SUBTREE
from .pgs import solve_without_stalls
from .problem import regularize_immobile_rows, relative_velocities
from .rolling_friction import NO_ROLLING, WITH_ROLLING
from .simd_collision import MOST
from .simd_components import FOR_ONE, SEVERAL_ON_LANES
from .simd_warm_start import ON_LANES, is_active
from .step_records import StepFunctions
from .wrenches import put_requested_wrenches


def lane_functions(held, resists, mimic, several):
    """Return the functions of a step.

    held: with constrained frames. resists: with torsional or rolling friction. mimic: for robots with mimic joints.
    several: subtrees of the base.
    """
    rolling = WITH_ROLLING if resists else NO_ROLLING
    with_rotors, hold = (with_mimic_rotors, constrain_mimic_joints) if mimic else (any_tree, constrain_nothing)
    return StepFunctions(
        components=SEVERAL_ON_LANES if several else ONE_ON_LANES, with_kinematics=False, again=True, find=find,
        rolling=rolling,
        put_constrained=put_constrained_where if held else put_none_constrained, is_full=is_full,
        with_rotors=with_rotors, hold=hold, mask_rows=mask_inactive_rows, regularize=regularize,
        mask=mask_inactive, limit_to=limit_to, solve=rolling.solver(solve), solve_once=solve, impulses=ON_LANES,
        report=report, put_wrenches=put_wrenches_where,
    )  # fmt: skip


def find(m, dt):
    """Find the contacts of all states, and mark their rows; return the number of all.

    No gap or overlap of an inactive contact counts.
    """
    nc = m.contacts.find(m.touch, m.rows, dt, MARGIN, m.contacts, m.active, m.count)
    for c in range(nc):
        m.contacts.gap[c] = select(m.active[c] > 0, m.contacts.gap[c], 1)
    for c in range(nc - 1, -1, -1):
        for j in range(2, -1, -1):
            m.active[3 * c + j] = m.active[c]
    m.info[INFO.unsolved] = select(m.count[0] > MOST, FOR_ONE, m.info[INFO.unsolved])
    return nc


def is_full(nc, several):
    """Return whether there are too many contacts for several states together."""
    return nc > MOST and several


def put_constrained_where(tree, m, n):
    """Add rows of constrained frames and loops, from row n on; return the number of rows.

    They are active on the lanes of states with other rows. The unconstrained step of the others satisfies them.
    """
    end, used = put_constrained(tree, m, n), m.active[0]
    for r in range(1, n):
        used = maximum(used, m.active[r])
    for r in range(n, end):
        m.active[r] = used
    return end


def mask_inactive_rows(tree, r, n, active):
    """Set Z of inactive rows to zero."""
    for t in range(r.component.subtrees.size):
        first, end = first_and_end(r.component, t, SUBTREE.dof)
        for k in range(first, end):
            for row in range(r.first[k], r.last[k]):
                r.Z[k, row] *= active[row]


def mask_inactive(problem, active):
    """Set bounds and g of inactive rows so that their impulses are zero."""
    for c in range(problem.contacts):
        problem.mu[c] = select(active[3 * c] > 0, problem.mu[c], -1)
    for r in range(3 * problem.contacts, problem.rows):
        problem.low[r] *= active[r]
        problem.high[r] *= active[r]
    for r in range(problem.rows):
        problem.g[r] *= active[r]


def regularize(problem, active):
    """Regularize rows that no joint moves, and give inactive rows a mobility."""
    regularize_immobile_rows(problem)
    for r in range(problem.rows):
        problem.G[r, r] = select(active[r] > 0, problem.G[r, r], 1)


def limit_to(m, n, needed):
    """Mark the first n rows as inactive on the lanes that are not `needed`."""
    for r in range(n):
        m.active[r] = select(needed, m.active[r], 0)


def solve(problem, impulse, sigma, tolerance, wanted, m, nc, method):
    """Solve on the lanes `wanted` that are not unsolved, up to where that stalls."""
    relative_velocities(problem, impulse, sigma)
    most, wanted = int(method.options[SCHEME.iterations]), m.info[INFO.unsolved] != FOR_ONE and wanted
    steps, found = solve_without_stalls(problem, impulse, sigma, tolerance, most, wanted, method.solver_memory)
    m.info[INFO.iterations] += steps
    m.info[INFO.unsolved] = select(wanted and not found <= tolerance, FOR_ONE, m.info[INFO.unsolved])


def report(m, nc, n, dt):
    """Write the deepest body, and the contact points without torques, if they are requested."""
    put_deepest(m, nc, n, dt)
    put_points(m, nc, n, dt, is_active)


def put_deepest(m, nc, n, dt):
    """Write the body whose overlap is largest at the end of the step."""
    m.info[INFO.deepest] = 0.0
    for c in range(nc - 1, -1, -1):
        body, largest = m.touch.pair[m.contacts.pair[c], PAIR.body], m.info[INFO.penetration]
        deepest = largest > 0 and overlap_of(m, c, dt) == largest
        m.info[INFO.deepest] = select(deepest, body, m.info[INFO.deepest])


def put_wrenches_where(m, nc, n, dt, y, where, f):
    """Add the wrenches of a component's impulses, of n rows, on the lanes of a mask."""
    for r in range(n):
        m.bounce[r] = select(where, m.impulse[r], 0)
    put_requested_wrenches(m._replace(impulse=m.bounce), nc, dt, y, f)
