"""Functions of a step with contact for the components of a world: what differs between one and several."""

from typing import Any, NamedTuple

from ..algebra.numbers import select
from .components import any_member, copy_members, join_all, number_components, sort_contacts
from .constraint_rows import UNBOUNDED
from .delassus import put_zeros
from .layout import INFO, LIMIT, SPEED, SUBTREE
from .warm_start import entry_size, first_row, put_order, store


class ComponentFunctions(NamedTuple):
    """Functions that vary between worlds with one and with several subtrees of the base.

    find (m, nc, again, f): determines the components of nc contacts, `again` at the corrected midpoint, and returns
    their number. memory (m, k, nc): returns the memory of component k, and its number of contacts. put_order (m, nc,
    f): `warm_start.put_order`. store (m, part, nc, n, y, needed, f): stores the impulses of a component with nc
    contacts and n rows, the memory of which is `part`, at the corrected midpoint. merge (m, after): merges them with
    those of the first solution. keep_info (m, part, needed, again): adds diagnostics of a component to those of the
    step. keep_motion (m): writes the motion u + e of a component that needs no correction. needs (m): where it does.
    solve_again (solve, tree, moved, x, y, m, nc, method): solves all components at the corrected midpoint, and returns
    the work. clear (m): sets changes of velocities to zero, of components without rows. few: number of contacts of a
    component whose impulses are always solved for. f: `step_records.StepFunctions`.
    """

    find: Any
    memory: Any
    put_order: Any
    store: Any
    merge: Any
    keep_info: Any
    keep_motion: Any
    needs: Any
    solve_again: Any
    clear: Any
    few: Any


def find_components(room, nc, again, f):
    """Determine the components of nc contacts; return their number. room: memory of the step.

    again: whether these are contacts at the corrected midpoint.
    """
    m = room.components
    put_order(room, nc, f.impulses)
    join_all(room.touch, room.contacts, nc, m.root)
    count = number_components(room.touch, m)
    sort_contacts(room.touch, room.contacts, nc, m, count)
    if not again:
        m.reported[0], m.reported[1], m.reported[2] = 0, 0, 0
        for e in range(nc):
            m.kept[0, e] = 0
    else:
        m.reported[1] = int(room.info[INFO.iterations])
        f.impulses.begin(room, nc, room.components.again, True)
        for e in range(nc):
            m.kept[1, e] = 0
    return count


def component_memory(room, k, nc):
    """Return the memory of a step for component k, with its contacts, subtrees and diagnostics, and their number.

    Contacts for which there is no room are left out, and counted.
    """
    m, at = room.components, room.components.contact_start[k]
    found = m.contact_start[k + 1] - at
    count = min(found, room.touch.component)
    for j in range(m.info.size):
        m.info[j] = 0.0
    room.info[INFO.left_out] += found - count
    room.info[INFO.largest] = max(room.info[INFO.largest], found)
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
    return x if x > y or x != x else y


def keep_component(room, part, needed, again):
    """Add the diagnostics of a component to those of the step, unless they are to be `again` those of the midpoint.

    Certificate: the largest of all components. Iterations: those of the component with most.
    """
    m, total, own = room.components, room.info, part.info
    if not again:
        total[INFO.components] += 1
    total[INFO.iterations] = max(total[INFO.iterations], m.reported[1] + own[INFO.iterations])
    if again or not needed:
        for c in range(part.contacts.order.size):
            m.kept[1 if again else 0, int(part.contacts.order[c])] = 1
        missed = larger(total[INFO.residual], total[INFO.position_residual])
        if missed == missed and not (own[INFO.residual] <= missed and own[INFO.position_residual] <= missed):
            total[INFO.island] = part.rows.component.subtrees[0]
        total[INFO.penetration] = larger(own[INFO.penetration], total[INFO.penetration])
        total[INFO.residual] = larger(own[INFO.residual], total[INFO.residual])
        total[INFO.position_residual] = larger(own[INFO.position_residual], total[INFO.position_residual])
        if m.reported[2] == 0 or own[INFO.certificate] > total[INFO.certificate]:
            total[INFO.certificate] = own[INFO.certificate]
        total[INFO.contacts] += own[INFO.contacts]
        m.reported[0] += part.contacts.pair.size
        m.reported[2] += 1


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
    return 1


def one_of_lanes(room, nc, again, f):
    """Return 1, and copy diagnostics, since some states keep those of the first solution."""
    if again:
        for k in range(room.info.size):
            room.again.info[k] = room.info[k]
    return 1


def whole_memory(room, k, nc):
    """Return the memory of a step, and its number of contacts; variant of `component_memory`."""
    return room, nc


def keep_where(room, part, needed, again):
    """Restore diagnostics of the first solution where no correction was `needed`."""
    room.info[INFO.components] = 1.0
    if again:
        for k in range(room.info.size):
            room.info[k] = select(needed, room.info[k], room.again.info[k])


def count_one(room, part, needed, again):
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


def solve_one(solve, tree, moved, x, y, room, nc, method):
    """Solve the only component at the corrected midpoint."""
    method.functions.components.find(room, nc, True, method.functions)
    return solve(tree, moved, x, y, room, 0, nc, method)


def solve_each(solve, tree, moved, x, y, room, nc, method):
    """Solve all components of the contacts at the corrected midpoint."""
    total = method.settings.dt * 0
    for k in range(find_components(room, nc, True, method.functions)):
        total += solve(tree, moved, x, y, room, k, nc, method)
    return total


def put_no_order(m, nc, f):
    """Do nothing: `find_components` has called `put_order`."""


def put_order_of(m, nc, f):
    """Write the place of each contact in the list of stored impulses."""
    put_order(m, nc, f.impulses)


def store_again(room, part, nc, n, y, needed, f):
    """Store the impulses of all contacts where they are `needed`."""
    f.impulses.begin(part, nc, y.warm_start, needed)
    store(part, nc, n, y.warm_start, needed, f)


def store_apart(room, part, nc, n, y, needed, f):
    """Store the impulses of a component besides those of the first solution, to be merged."""
    store(part, nc, n, room.components.again, needed, f)


def merge_nothing(room, after):
    """Do nothing: all impulses are those at the corrected midpoint."""


def merge_impulses(room, after):
    """Merge the impulses in `after`, of the first solution, with those at the corrected midpoint."""
    m, touch, second, size = room.components, room.touch, room.components.again, entry_size(room.touch)
    first, merged = m.first, 0
    one, other = 0, 0
    for r in range(after.size):
        first[r] = after[r]
    while one < first[0] or other < second[0]:
        if slot_of_entry(first, size, one) <= slot_of_entry(second, size, other):
            if m.kept[0, one] > 0:
                merged = put_entry(after, merged, size, touch.stored, first, one)
            one += 1
        else:
            if m.kept[1, other] > 0:
                merged = put_entry(after, merged, size, touch.stored, second, other)
            other += 1
    after[0] = merged
    for j in range(touch.limits):
        put_row_of(room, after, j, touch.limit[j, LIMIT.dof])
    for j in range(touch.frictions):
        put_row_of(room, after, touch.limits + j, touch.friction[j])
    for j in range(touch.speeds):
        put_row_of(room, after, touch.limits + touch.frictions + room.held.R.shape[0] + j, touch.speed[j, SPEED.dof])


def slot_of_entry(stored, size, e):
    """Return the slot of entry e of stored impulses; behind the last one a number above all slots."""
    found = UNBOUNDED
    if e < stored[0]:
        found = stored[1 + size * e]
    return found


def put_entry(after, count, size, most, stored, e):
    """Append entry e of stored impulses to `count` others, if there is room; return the number of entries."""
    if count < most:
        for k in range(size):
            after[1 + size * count + k] = stored[1 + size * e + k]
        count += 1
    return count


def put_row_of(room, after, r, k):
    """Write the stored impulse of scalar row r, of degree of freedom k, if that is corrected."""
    at = first_row(room.touch) + r
    if room.corrected[k] > 0:
        after[at] = room.components.again[at]


ONE = ComponentFunctions(
    find=one_component, memory=whole_memory, put_order=put_order_of, store=store_again, merge=merge_nothing,
    keep_info=count_one, keep_motion=keep_nothing, needs=needs_always, solve_again=solve_one, clear=clear_nothing,
    few=4,
)  # fmt: skip
ONE_ON_LANES = ONE._replace(find=one_of_lanes, keep_info=keep_where, needs=needs_on_lanes)
SEVERAL = ComponentFunctions(
    find=find_components, memory=component_memory, put_order=put_no_order, store=store_apart, merge=merge_impulses,
    keep_info=keep_component, keep_motion=keep_changes, needs=needs_of_members, solve_again=solve_each,
    clear=clear_changes, few=3,
)  # fmt: skip
