"""Functions of a step with contact (`step_records.StepFunctions`) of one state."""

from typing import NamedTuple

from ..algebra.numbers import maximum
from ..mimic.contact_mimic import any_tree, constrain_mimic_joints, constrain_nothing, with_mimic_rotors
from .collision import VARIANTS, find_contacts
from .component_functions import ONE, SEVERAL
from .constraint_rows import MARGIN, put_constrained, put_none_constrained
from .contact_points import put_points
from .delassus import put_zeros
from .layout import INFO, SCHEME
from .problem import regularize_immobile_rows
from .rolling_friction import NO_ROLLING, WITH_ROLLING
from .step_records import StepFunctions
from .warm_start import ImpulseAccess, end_of_entries, entry_size, first_row, stored_number
from .wrenches import put_requested_wrenches


class StepVariant(NamedTuple):
    """What a step of one state has: solids (`collision.VARIANTS`), constrained frames, torsional or rolling friction.

    again, with_kinematics: see `StepFunctions`. mimic: with mimic joints. with_forces: under external forces. several:
    subtrees, which contacts connect to components.
    """

    solids: str
    held: bool
    resists: bool
    again: bool
    mimic: bool
    with_forces: bool
    with_kinematics: bool
    several: bool


def one_state_functions(solver, variant):
    """Return the functions of a step by a solver's kernel (see `treesim.contact.base`)."""
    rolling = WITH_ROLLING if variant.resists else NO_ROLLING
    with_rotors, hold = (with_mimic_rotors, constrain_mimic_joints) if variant.mimic else (any_tree, constrain_nothing)
    activate = activate_all if variant.resists else activate_nothing
    return StepFunctions(
        components=SEVERAL if variant.several else ONE, with_kinematics=variant.with_kinematics, again=variant.again,
        find=find_of(VARIANTS[variant.solids], activate), rolling=rolling,
        put_constrained=put_constrained if variant.held else put_none_constrained, is_full=is_never_full,
        with_rotors=with_rotors, hold=hold, mask_rows=mask_no_rows, regularize=regularize, mask=mask_nothing,
        limit_to=limit_to_nothing, solve=rolling.solver(solve_by(solver)), solve_once=solve_by(solver),
        impulses=IMPULSES, report=report_of(rolling), put_wrenches=put_wrenches_if,
    )  # fmt: skip


def find_of(solids, activate):
    """Return the collision detection for the solids of a world (`collision`); activate: `activate_all`, or nothing."""

    def find(m, dt):
        """Find the contacts of the state; return their number within the capacity."""
        found = 0
        if m.touch.pair.shape[0] > 0:
            found = find_contacts(m.touch, m.rows, dt, MARGIN, m.contacts.external, m.contacts, solids)
        within = found if found < m.touch.capacity else m.touch.capacity
        nc = solids.distinct(m, within)
        m.count[0] = nc
        m.info[INFO.left_out] = maximum(m.info[INFO.left_out], found - within)
        activate(m, nc)
        return nc

    return find


def activate_nothing(m, nc):
    """Do nothing: all rows of one state are active."""


def activate_all(m, nc):
    """Mark the rows of contacts as active, as `rolling_friction` needs them."""
    for r in range(3 * min(nc, m.touch.component)):
        m.active[r] = 1.0


def is_never_full(nc, several):
    """Return False: the memory of one state grows (`treesim.contact.contact_solve`)."""
    return False


def mask_no_rows(tree, r, n, active):
    """Do nothing: all rows are active."""


def mask_nothing(problem, active):
    """Do nothing: all rows are active."""


def regularize(problem, active):
    """Regularize rows that no joint moves."""
    regularize_immobile_rows(problem)


def limit_to_nothing(m, n, needed):
    """Do nothing: the state needs the correction."""


def solve_by(solver):
    """Return the function that solves the problem of one state by a contact solver's kernel."""

    def solve(problem, impulse, sigma, tolerance, wanted, m, nc, method):
        """Solve a problem, and count its iterations."""
        most = int(method.options[SCHEME.iterations])
        m.info[INFO.iterations] += solver(problem, impulse, sigma, tolerance, most, method.solver_memory)

    return solve


def begin_list(m, nc, after, where):
    """List the contacts, with impulses 0."""
    put_zeros(after)
    for c in range(nc):
        if m.contacts.order[c] < m.touch.stored:
            after[0] += 1
            after[entry(m, c)] = m.contacts.slot[c]


def find(m, before, slot, guess):
    """Return the end of the entries up to a slot."""
    return end_of_entries(m.touch, before, 0, slot, guess)


def read(m, before, end, slot, k):
    """Return number k of the contact at the end of the entries."""
    return stored_number(m.touch, before, end, slot, k)


def entry(m, c):
    """Return the index of the entry of contact c."""
    return 1 + entry_size(m.touch) * int(m.contacts.order[c])


def write(m, after, at, k, x, where):
    """Write number k of the contact whose entry has the index `at`, if `where` and if there is room."""
    if where and at < first_row(m.touch):
        after[at + 1 + k] = x


def read_row(m, before, k):
    """Return number k."""
    return before[k]


def write_row(m, after, k, x, where):
    """Write number k."""
    after[k] = x


def is_active(m, r):
    """Return True: all rows of one state are active."""
    return True


def only_active(m, r, x):
    """Return x: all rows of one state are active."""
    return x


def no_contacts(m):
    """Return 0."""
    return 0


IMPULSES = ImpulseAccess(begin_list, find, read, entry, write, read_row, write_row, is_active, only_active, no_contacts)


def report_of(rolling):
    """Return the function that writes contact points, with torques of `rolling` friction."""

    def report(m, nc, n, dt):
        """Write the contact points, if they are requested."""
        put_points(m, nc, n, dt, is_active)
        rolling.put_point_torques(m, nc, dt)

    return report


def put_wrenches_if(m, nc, n, dt, y, where, f):
    """Add the wrenches of a component's impulses, if these are those of the step."""
    if where:
        put_requested_wrenches(m, nc, dt, y, f)
