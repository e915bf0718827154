"""Functions of a step with contact for the components of a world: what differs between one and several."""

from typing import Any, NamedTuple

from ..algebra.numbers import maximum, select, some
from .components import any_member, copy_members, join_all, number_components, partition_number, sort_contacts
from .constraint_rows import UNBOUNDED
from .contact_points import LAW
from .delassus import put_zeros
from .layout import INFO, LIMIT, SPEED, SUBTREE
from .warm_start import entry_size, first_row, put_order, store

DROPPED = -1.0  # in the place of a slot, or of a point's pair: another solution replaces this one


class ComponentFunctions(NamedTuple):
    """Functions that vary between worlds with one and with several subtrees of the base.

    find (m, nc, again, f): determines the components of nc contacts, `again` at the corrected midpoint, and returns
    their number. memory (m, k, nc): returns the memory of component k, and its number of contacts. store (m, nc, n, y,
    needed, f): stores the impulses of a component with nc contacts and n rows at the corrected midpoint, where that is
    `needed`. drop_again (m, nc, where, f): drops them where it is not. begin_merge (m, after, f): copies the impulses
    of the first solution of components that need no correction; merge (m, after, f): merges them with the others.
    keep_info (m, part, n, needed, again, f): adds diagnostics of a component, the memory of which is `part`, to those
    of the step. keep_motion (m): writes the motion u + e of a component that needs no correction. needs (m): where it
    does. solve_again (solve, tree, moved, x, y, m, nc, method): solves all components at the corrected midpoint, and
    returns the work. clear (m): sets changes of velocities to zero, of components without rows. has_rows (m, n): where
    any of the n rows is active. of_lists (m): memory for access to the impulses at the corrected midpoint. few: number
    of contacts of a component whose impulses are always solved for. f: `step_records.StepFunctions`.
    """

    find: Any
    memory: Any
    store: Any
    drop_again: Any
    begin_merge: Any
    merge: Any
    keep_info: Any
    keep_motion: Any
    needs: Any
    solve_again: Any
    clear: Any
    has_rows: Any
    of_lists: Any
    few: Any


def find_components(room, nc, again, f):
    """Determine the components of nc contacts; return their number. room: memory of the step.

    again: whether these are contacts at the corrected midpoint.
    """
    m, total, most = room.components, 0, room.touch.component
    put_order(room, nc, f.impulses)
    join_all(room.touch, room.contacts, nc, m.root)
    count = number_components(room.touch, m)
    sort_contacts(room.touch, room.contacts, nc, m, count)
    for k in range(count):
        found = m.contact_start[k + 1] - m.contact_start[k]
        room.info[INFO.left_out] += max(found - most, 0)
        room.info[INFO.largest] = maximum(room.info[INFO.largest], found)
    if again:
        m.taken[0] = room.info[INFO.iterations]
    else:
        m.number_of[0], m.reported[0], m.taken[0], m.known[0] = count, 0, 0.0, 0.0
        for k in range(count):
            total += partition_number(m, k, True)
        room.info[INFO.partition] = total
    return count


def component_memory(room, k, nc):
    """Return the memory of a step for component k, with its contacts, subtrees and diagnostics, and their number.

    Contacts for which there is no room are left out.
    """
    m, at = room.components, room.components.contact_start[k]
    found = m.contact_start[k + 1] - at
    count = min(found, room.touch.component)
    put_zeros(m.info)
    room.count[0] = count
    c, end, first = m.contacts, at + count, 0
    contacts = room.contacts._replace(
        pair=c.pair[at:end], slot=c.slot[at:end], gap=c.gap[at:end], point=c.point[at:end],
        normal=c.normal[at:end], order=c.order[at:end],
    )  # fmt: skip
    if room.touch.reports_points == 1:
        first = m.reported[0]
    subtrees = m.subtrees[m.subtree_start[k] : m.subtree_start[k + 1]]
    rows = room.rows._replace(component=room.rows.component._replace(subtrees=subtrees))
    return room._replace(contacts=contacts, rows=rows, info=m.info, points=room.points[first:]), count


def larger(x, y):
    """Return the larger number; NaN if any is, in either order."""
    return select(x > y or x != x, x, y)


def keep_larger(total, own, k, where):
    """Keep the larger one of two diagnostics on the lanes of a mask; NaN if any is."""
    total[k] = select(where, larger(own[k], total[k]), total[k])


def keep_component(room, part, n, needed, again, f):
    """Add the diagnostics of a component to those of the step, unless they are to be `again` those of the midpoint.

    Certificate: the largest of all components. Iterations: those of the component with most.
    """
    m, total, own, here = room.components, room.info, part.info, f.components.has_rows(part, n)
    if not again:
        total[INFO.components] += select(here, 1, 0)
    total[INFO.iterations] = maximum(total[INFO.iterations], m.taken[0] + own[INFO.iterations])
    kept = here and (needed if again else not needed)
    if some(kept):
        missed = larger(total[INFO.residual], total[INFO.position_residual])
        within = own[INFO.residual] <= missed and own[INFO.position_residual] <= missed
        worst = kept and missed == missed and not within
        total[INFO.island] = select(worst, part.rows.component.subtrees[0], total[INFO.island])
        keep_larger(total, own, INFO.penetration, kept)
        keep_larger(total, own, INFO.residual, kept)
        keep_larger(total, own, INFO.position_residual, kept)
        higher = kept and (m.known[0] == 0 or own[INFO.certificate] > total[INFO.certificate])
        total[INFO.certificate] = select(higher, own[INFO.certificate], total[INFO.certificate])
        total[INFO.contacts] += select(kept, own[INFO.contacts], 0)
        m.known[0] += select(kept, 1, 0)
        m.reported[0] += part.contacts.pair.size


def keep_changes(m):
    """Write the motion of a component: all changes of its velocities."""
    component = m.rows.component
    copy_members(component, SUBTREE.dof, m.mean_change, m.again.mean_motion)
    copy_members(component, SUBTREE.dof, m.end_change, m.again.end_motion)


def needs_of_members(m):
    """Return whether a degree of freedom of a component needs a correction."""
    return any_member(m.rows.component, SUBTREE.dof, m.corrected)


def one_component(room, nc, again, f):
    """Return 1; variant of `find_components` for worlds with one subtree that is not kinematic."""
    put_order(room, nc, f.impulses)
    return 1


def one_of_lanes(room, nc, again, f):
    """Return 1, and copy diagnostics, since some states keep those of the first solution."""
    put_order(room, nc, f.impulses)
    if again:
        for k in range(room.info.size):
            room.again.info[k] = room.info[k]
    return 1


def whole_memory(room, k, nc):
    """Return the memory of a step, and its number of contacts; variant of `component_memory`."""
    return room, nc


def keep_where(room, part, n, needed, again, f):
    """Restore diagnostics of the first solution where no correction was `needed`."""
    room.info[INFO.components] = 1.0
    if again:
        for k in range(room.info.size):
            room.info[k] = select(needed, room.info[k], room.again.info[k])


def count_one(room, part, n, needed, again, f):
    """Count one component; variant of `keep_component`, whose diagnostics are those of the step."""
    room.info[INFO.components] = 1.0


def keep_nothing(m):
    """Do nothing: if there is a correction, the only component needs it."""


def needs_always(m):
    """Return True: there is no correction unless the only component needs it."""
    return True


def needs_on_lanes(m):
    """Return the lanes on which the only component needs a correction."""
    return m.corrected[0] > 0


def clear_nothing(m):
    """Do nothing: the only component has rows."""


def clear_changes(m):
    """Set changes of velocities to zero."""
    put_zeros(m.mean_change)
    put_zeros(m.end_change)
    put_zeros(m.corrected)
    put_zeros(m.again.mean_motion)
    put_zeros(m.again.end_motion)


def always(m, n):
    """Return True: all rows of one state are active."""
    return True


def same_memory(m):
    """Return the memory: that of one state has one list of impulses at a time."""
    return m


def solve_one(solve, tree, moved, x, y, room, nc, method):
    """Solve the only component at the corrected midpoint."""
    f = method.functions
    f.components.find(room, nc, True, f)
    return solve(tree, moved, x, y, room, 0, nc, method)


def solve_each(solve, tree, moved, x, y, room, nc, method):
    """Solve all components of the contacts at the corrected midpoint."""
    f, total = method.functions, method.settings.dt * 0
    count, everywhere = f.components.find(room, nc, True, f), room.count[0] >= 0
    f.impulses.begin(f.components.of_lists(room), nc, room.components.again, everywhere)
    for k in range(count):
        total += solve(tree, moved, x, y, room, k, nc, method)
    return total


def store_in_place(m, nc, n, y, needed, f):
    """Store impulses of the only component in the list of the first solution, which they replace."""
    f.impulses.begin(m, nc, y.warm_start, needed)
    store(m, nc, n, y.warm_start, needed, f)


def store_apart(m, nc, n, y, needed, f):
    """Store the impulses of a component besides those of the first solution, to be merged."""
    store(f.components.of_lists(m), nc, n, m.components.again, needed, f)


def drop_nothing(m, nc, where, f):
    """Do nothing: impulses at the corrected midpoint replace those of the first solution where that is needed."""


def drop(m, nc, after, where, f):
    """Drop the impulses of a component's contacts."""
    if some(where):
        for c in range(nc):
            here = where and f.impulses.is_active(m, 3 * c)
            f.impulses.write(m, after, f.impulses.entry(m, c), -1, DROPPED, here)


def drop_again(m, nc, where, f):
    """Drop the impulses of a component's contacts at the corrected midpoint."""
    drop(f.components.of_lists(m), nc, m.components.again, where, f)


def drop_points(room, after, f):
    """Drop the contact points of states that need a correction, if points are requested."""
    if room.touch.reports_points == 1:
        for c in range(room.points.shape[0]):
            room.points[c, LAW] = select(room.corrected[0] > 0, DROPPED, room.points[c, LAW])


def begin_merge(room, after, f):
    """Copy the impulses in `after`, of the first solution, and drop those of components that need a correction."""
    m, x, everywhere = room.components, f.components.of_lists(room), room.count[0] >= 0
    for r in range(first_row(room.touch)):
        f.impulses.write_row(x, m.first, r, f.impulses.read_row(room, after, r), everywhere)
    for k in range(m.number_of[0]):
        part, own = f.components.memory(room, k, 0)
        drop(f.components.of_lists(part), own, m.first, f.components.needs(part), f)


def merge_nothing(room, after, f):
    """Do nothing: all impulses are those at the corrected midpoint."""


def merge_impulses(room, after, f):
    """Write all impulses: of the first solution, and at the corrected midpoint."""
    merge_lists(room.touch, after, room.components.first, room.components.again)
    merge_rows(room, after, f)


def merge_lists(touch, after, first, second):
    """Merge the contacts in two lists, without the dropped ones."""
    size, merged, one, other = entry_size(touch), 0, 0, 0
    while one < first[0] or other < second[0]:
        if slot_of_entry(first, size, one) <= slot_of_entry(second, size, other):
            merged = put_entry(after, merged, size, touch.stored, first, one)
            one += 1
        else:
            merged = put_entry(after, merged, size, touch.stored, second, other)
            other += 1
    after[0] = merged


def slot_of_entry(stored, size, e):
    """Return the slot of entry e of stored impulses; behind the last one a number above all slots."""
    found = UNBOUNDED
    if e < stored[0]:
        found = stored[1 + size * e]
    return found


def put_entry(after, count, size, most, stored, e):
    """Append entry e of stored impulses to `count` others, unless it is dropped; return the number, at most `most`."""
    if count < most and stored[1 + size * e] != DROPPED:
        for k in range(size):
            after[1 + size * count + k] = stored[1 + size * e + k]
        count += 1
    return count


def merge_rows(room, after, f):
    """Write the stored impulses of scalar rows that are corrected."""
    touch = room.touch
    for j in range(touch.limits):
        put_row_of(room, after, j, touch.limit[j, LIMIT.dof], f)
    for j in range(touch.frictions):
        put_row_of(room, after, touch.limits + j, touch.friction[j], f)
    for j in range(touch.speeds):
        r = touch.limits + touch.frictions + room.held.R.shape[0] + j
        put_row_of(room, after, r, touch.speed[j, SPEED.dof], f)


def put_row_of(room, after, r, k, f):
    """Write the stored impulse of scalar row r, of degree of freedom k, if that is corrected."""
    at, needed, x = first_row(room.touch) + r, room.corrected[k] > 0, f.impulses
    again = x.read_row(f.components.of_lists(room), room.components.again, at)
    x.write_row(room, after, at, select(needed, again, x.read_row(room, after, at)), needed)


ONE = ComponentFunctions(
    find=one_component, memory=whole_memory, store=store_in_place, drop_again=drop_nothing, begin_merge=merge_nothing,
    merge=merge_nothing, keep_info=count_one, keep_motion=keep_nothing, needs=needs_always, solve_again=solve_one,
    clear=clear_nothing, has_rows=always, of_lists=same_memory, few=4,
)  # fmt: skip
ONE_ON_LANES = ONE._replace(find=one_of_lanes, keep_info=keep_where, needs=needs_on_lanes, begin_merge=drop_points)
SEVERAL = ComponentFunctions(
    find=find_components, memory=component_memory, store=store_apart, drop_again=drop_again, begin_merge=begin_merge,
    merge=merge_impulses, keep_info=keep_component, keep_motion=keep_changes, needs=needs_of_members,
    solve_again=solve_each, clear=clear_changes, has_rows=always, of_lists=same_memory, few=3,
)  # fmt: skip
