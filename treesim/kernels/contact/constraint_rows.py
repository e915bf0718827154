"""Rows of a contact problem: gaps, bounds and biases of position and velocity impulses.

`m` is the memory of the step (`workspace.ContactMemory`). Contacts come first, three rows each, tangents before the
normal. Then follow torsional and rolling friction (`rolling_friction`), limits that can be reached in the step, joints
with friction, rows of constrained frames and loops, and speed limits.
"""

from ..algebra.linear import cross, dot, scale, sub
from ..algebra.numbers import maximum, minimum, select, some, sqrt
from ..constrained.constraints import constraint_rows
from .candidates import put_row
from .components import first_and_end, has_constraints
from .delassus import put_joint, put_pair
from .layout import LIMIT, PAIR, RECOVERY, SPEED, SUBTREE, SURFACE
from .signed_distance import across, vector_of

MARGIN = 2e-3  # m, rad: rows are made of gaps smaller than this, or than what closes in the step
UNBOUNDED = 1e300
PARALLEL = 1 - 1e-6  # cosine of the angle between normals of a plane
NEAR = 0.95  # of its highest speed: a joint that would be faster gets a row


def surface_of(m, c):
    """Return the row of contact c in the table of contact parameters."""
    return m.contacts.pair[c]


def blocks_of(m, nc):
    """Return the number of contacts of the problem: the nc contacts, and those that are rolling friction."""
    return nc + m.rolling.count[0]


def end_of_contacts(m, nc):
    """Return the number of rows of nc contacts, with those of torsional and rolling friction."""
    return 3 * blocks_of(m, nc) + m.rolling.count[1]


def same_bodies(contacts, touch, c, k):
    """Return whether contacts c and k are between the same two bodies."""
    one, other = touch.pair[contacts.pair[c]], touch.pair[contacts.pair[k]]
    return one[PAIR.body] == other[PAIR.body] and one[PAIR.solid_body] == other[PAIR.solid_body]


def level_points(contacts, touch, lowest, nc):
    """Move contact points along their normals to the height of the nearest contact of the same bodies.

    A body turns if it closes different gaps in a step. Contacts that stick at different heights would have to slide
    then, by gap^2 per length and step, although the body is rigid. Their friction would act against that with all its
    force. lowest: scratch memory.
    """
    first = 0
    while first < nc:
        end = first + 1
        while end < nc and same_bodies(contacts, touch, first, end):
            end += 1
        for c in range(first, end):
            n, lowest[c] = vector_of(contacts.normal, c), contacts.gap[c]
            for k in range(first, end):
                if dot(n, vector_of(contacts.normal, k)) > PARALLEL:
                    lowest[c] = minimum(lowest[c], contacts.gap[k])
        between = touch.pair[contacts.pair[first], PAIR.solid_body] > 0  # the point is then in the middle of the gap
        for c in range(first, end):
            height = (contacts.gap[c] - lowest[c]) / 2 if between else contacts.gap[c] - lowest[c]
            x = sub(vector_of(contacts.point, c), scale(vector_of(contacts.normal, c), height))
            put_row(contacts.point, c, x)
        first = end


def put_contact(m, c):
    """Write the three rows of contact c."""
    k = m.contacts.pair[c]
    a, b = m.touch.pair[k, PAIR.body], m.touch.pair[k, PAIR.solid_body]
    x, n = vector_of(m.contacts.point, c), vector_of(m.contacts.normal, c)
    t = across(n)
    put_pair(m.rows, 3 * c, a, b, x, t)
    put_pair(m.rows, 3 * c + 1, a, b, x, cross(n, t))
    put_pair(m.rows, 3 * c + 2, a, b, x, n)


def limit_gap(m, j, q):
    """Return the distance of a joint from limit j."""
    return m.touch.limit[j, LIMIT.side] * (q[m.touch.limit[j, LIMIT.coordinate]] - m.touch.bound[j])


def limit_slack(touch, q, q_free):
    """Return the smallest distance of all joints from their limits in a motion from q to q_free, and as far again.

    MARGIN is subtracted. If the result is not negative, no limit is reached.
    """
    slack = q[0] * 0 + UNBOUNDED
    for j in range(touch.limits):
        side, k = touch.limit[j, LIMIT.side], touch.limit[j, LIMIT.coordinate]
        closing = maximum(side * (q[k] - q_free[k]), 0)
        slack = minimum(slack, side * (q[k] - touch.bound[j]) - MARGIN - 2 * closing)
    return slack


def put_limits(m, q, dt, n):
    """Add rows of the limits that can be reached in the step, from row n on; return the number of rows."""
    for t in range(m.rows.component.subtrees.size):
        first, end = first_and_end(m.rows.component, t, SUBTREE.limit)
        for j in range(first, end):
            k = m.touch.limit[j, LIMIT.dof]
            closing = -m.touch.limit[j, LIMIT.side] * m.mean[k]
            near = limit_gap(m, j, q) < MARGIN + 2 * dt * maximum(closing, 0)
            if some(near):
                put_joint(m.rows, n, k)
                m.limit[n], m.active[n] = j, select(near, 1, 0)
                n += 1
    return n


def put_frictions(m, n):
    """Add rows of the joints with friction, from row n on; return the number of rows."""
    for t in range(m.rows.component.subtrees.size):
        first, end = first_and_end(m.rows.component, t, SUBTREE.friction)
        for j in range(first, end):
            put_joint(m.rows, n, m.touch.friction[j])
            m.limit[n], m.active[n] = m.touch.limits + j, 1.0
            n += 1
    return n


def put_speeds(m, n):
    """Add rows of the joints that exceed NEAR of their speed limit at the end; return the number of rows."""
    first_speed = m.touch.limits + m.touch.frictions + m.held.R.shape[0]
    for t in range(m.rows.component.subtrees.size):
        first, end = first_and_end(m.rows.component, t, SUBTREE.speed)
        for j in range(first, end):
            k = m.touch.speed[j, SPEED.dof]
            fast = m.touch.speed[j, SPEED.side] * m.end[k] > NEAR * m.touch.fastest[j]
            if some(fast):
                put_joint(m.rows, n, k)
                m.limit[n], m.active[n] = first_speed + j, select(fast, 1, 0)
                n += 1
    return n


def speed_of(m, r):
    """Return the index of the speed limit of scalar row r; negative for other rows."""
    return m.limit[r] - m.touch.limits - m.touch.frictions - m.held.R.shape[0]


def is_constrained(m, r):
    """Return whether scalar row r belongs to a constrained frame or loop."""
    return m.limit[r] >= m.touch.limits + m.touch.frictions and speed_of(m, r) < 0


def put_none_constrained(tree, m, n):
    """Return n; variant of `put_constrained` without constrained frames and loops."""
    return n


def put_constrained(tree, m, n):
    """Add rows of constrained frames and loops, from row n on; return the number of rows."""
    held, r = m.held, m.rows
    count = held.R.shape[0]
    if count > 0 and has_constraints(m.rows.component):
        constraint_rows(held, r.W, r.V, r.A[:, n : n + count], m.bias)
        for c in range(held.reference.size):
            for k in range(held.start[c], held.start[c + 1]):
                r.body[0, n + k], r.body[1, n + k], r.dof[n + k] = held.body[c, 0], held.body[c, 1], -1
                m.limit[n + k] = m.touch.limits + m.touch.frictions + k
        n += count
    return n


def put_bounds(m, r, dt, theta):
    """Write the impulse bounds of scalar row r.

    They are one-sided for position limits, +-dt f for joint friction (times theta), infinite for constrained frames
    and loops, and the effort limit for speed limits.
    """
    j = m.limit[r] - m.touch.limits
    if j < 0:
        side = m.touch.limit[m.limit[r], LIMIT.side]
        m.low[r], m.high[r] = minimum(side, 0) * UNBOUNDED, maximum(side, 0) * UNBOUNDED
    elif speed_of(m, r) >= 0:
        side, most = m.touch.speed[speed_of(m, r), SPEED.side], dt * m.touch.braking[speed_of(m, r)]
        m.low[r], m.high[r] = -maximum(side, 0) * most, -minimum(side, 0) * most
    else:
        m.high[r] = UNBOUNDED
        if j < m.touch.frictions:
            m.high[r] = theta * dt * m.touch.rough[j]
        m.low[r] = -m.high[r]


def rebound_of(m, c, dt, theta):
    """Return the position bias and the end velocity of contact c if it bounces in the step, else (0, 0).

    (0, 0) also for soft surfaces, whose stiffness and damping determine their restitution. The contact point falls with
    the unconstrained acceleration a until its gap closes at t, bounces with restitution e, and rises for the rest of
    the step.
    """
    e, gap = m.touch.surface[surface_of(m, c), SURFACE.restitution], m.contacts.gap[c]
    start, r = m.start_rate[3 * c + 2], 3 * c + 2
    position, velocity = dt * 0, dt * 0
    rigid = m.touch.surface[surface_of(m, c), SURFACE.stiffness] == 0
    if rigid and e > 0 and start < -m.touch.option[RECOVERY.rebound_speed] and gap + dt * m.mean_rate[r] <= 0:
        if theta == 1:  # positions move with the end's velocity: so does the bounce
            position, velocity = e * start, -e * start
        a, open_gap = (m.end_rate[r] - start) / dt, maximum(gap, 0)
        t = 2 * open_gap / (-start + sqrt(maximum(start * start - 2 * a * open_gap, 0)))
        left, speed = dt - t, -e * (start + a * t)
        height, rate = speed * left + a * left * left / 2, speed + a * left
        if theta < 1 and height > 0 and rate > 0:
            position, velocity = -(height - gap) / dt, rate
    return position, velocity


def is_soft(m, c):
    """Return whether contact c belongs to a soft surface."""
    return m.touch.surface[surface_of(m, c), SURFACE.stiffness] > 0


def compliance(m, c, dt, theta):
    """Return the compliance R = 1 / (theta h (theta h + t_d) k) of soft contact c's normal row.

    The spring and damper act at the gap after the time theta h of the mean motion. Velocity impulses, and theta times
    these as position impulses, satisfy the same equation
        theta G lambda + w_m + gap / (theta h + t_d) + theta R lambda = 0.
    It conserves the energy of an undamped spring for theta = 1/2 (the midpoint rule), except in steps in which the gap
    closes or opens.
    """
    k = m.touch.surface[surface_of(m, c), SURFACE.stiffness]
    return 1 / (theta * dt * (theta * dt + dissipation_time(m, c)) * k)


def dissipation_time(m, c):
    """Return t_d of soft contact c; 0 while its gap is open."""
    found = m.touch.surface[surface_of(m, c), SURFACE.dissipation_time]
    if m.contacts.gap[c] > 0:
        found = found * 0
    return found


def soft_bias(m, c, dt, theta):
    """Return gap / (theta h + t_d) of a soft contact."""
    return m.contacts.gap[c] / (theta * dt + dissipation_time(m, c))


def position_problem(m, nc, n, q, dt, theta):
    """Write g and bounds of the position impulses: no gap becomes negative, no overlap grows.

    theta: impulse fraction in the mean velocity.
    """
    for r in range(n):
        m.bias[r], m.soft[r], m.recovery[r] = dt * 0, dt * 0, dt * 0
    for c in range(nc):
        r = 3 * c + 2
        m.mu[c] = m.touch.mu[surface_of(m, c)]
        bounce, m.rebound[c] = rebound_of(m, c, dt, theta)
        m.bias[r] = maximum(m.contacts.gap[c], 0) / dt
        if m.rebound[c] > 0:
            m.bias[r] = bounce
        if is_soft(m, c):
            m.bias[r], m.soft[r] = soft_bias(m, c, dt, theta), compliance(m, c, dt, theta)
            m.rows.G[r, r] += m.soft[r]
    for r in range(end_of_contacts(m, nc), n):
        j = m.limit[r] - m.touch.limits
        put_bounds(m, r, dt, theta)
        if j < 0:
            m.bias[r] = m.touch.limit[m.limit[r], LIMIT.side] * maximum(limit_gap(m, m.limit[r], q), 0) / dt
        elif speed_of(m, r) >= 0:
            m.low[r], m.high[r] = m.bias[r], m.bias[r]  # speeds are limited by the velocity impulses only
        elif j >= m.touch.frictions:
            m.bias[r] = -m.mean_rate[r]  # the unconstrained step satisfies these constraints
    for r in range(n):
        m.g[r] = m.mean_rate[r] + m.bias[r]


def put_moved(m, nc, n, theta):
    """m.moved = velocity of the step's motion along every row, from the result m.sigma, m.push of the position problem.

    m.impulse = the velocity impulses that belong to these position impulses.
    """
    for c in range(nc):
        m.settled[c] = m.mu[c]
    for r in range(n):
        m.moved[r] = m.sigma[r] - m.bias[r] - m.soft[r] * m.push[r]
        m.impulse[r] = minimum(maximum(m.push[r] / theta, -UNBOUNDED), UNBOUNDED)


def velocity_problem(m, nc, n, q, dt, theta):
    """Write g and bounds of the velocity impulses; rows whose gaps are open at the end of the step are inactive."""
    for c in range(nc):
        r = 3 * c + 2
        m.bias[r] = -m.rebound[c]
        if is_soft(m, c):
            m.bias[r] = (m.mean_rate[r] + soft_bias(m, c, dt, theta)) / theta - m.end_rate[r]
        elif m.push[r] <= 0 and m.contacts.gap[c] + dt * m.moved[r] > 0:
            m.mu[c] = -1
    for r in range(end_of_contacts(m, nc), n):
        j = m.limit[r] - m.touch.limits
        put_bounds(m, r, dt, 1)
        m.bias[r] = dt * 0
        if j < 0:
            side = m.touch.limit[m.limit[r], LIMIT.side]
            if m.push[r] == 0 and limit_gap(m, m.limit[r], q) + dt * side * m.moved[r] > 0:
                m.low[r], m.high[r] = m.bias[r], m.bias[r]
        elif speed_of(m, r) >= 0:
            m.bias[r] = -m.touch.speed[speed_of(m, r), SPEED.side] * m.touch.fastest[speed_of(m, r)]
        elif j >= m.touch.frictions:
            m.bias[r] = -m.end_rate[r]
    for r in range(n):
        m.g[r] = m.end_rate[r] + m.bias[r]
