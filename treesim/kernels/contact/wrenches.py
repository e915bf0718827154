"""Contact wrenches on bodies, and of pairs of bodies, from the impulses of a step."""

from ..algebra.linear import add, cross, scale, sub
from ..algebra.numbers import absolute
from ..algebra.tables import transform_at
from .constraint_rows import surface_of
from .layout import PAIR
from .signed_distance import across, vector_of


def add_wrench(total, row, first, force, moment):
    """total[row, first:] += force, moment."""
    total[row, first] += force.x
    total[row, first + 1] += force.y
    total[row, first + 2] += force.z
    total[row, first + 3] += moment.x
    total[row, first + 4] += moment.y
    total[row, first + 5] += moment.z


def add_to_body(m, k, side, force, moment, wrench, pairs):
    """Add a force and moment on the first (side 0) or second body of contact parameters k to its wrenches."""
    add_wrench(wrench, m.touch.pair[k, PAIR.body + side], 0, force, moment)
    if m.touch.reports_pairs == 1:
        first = 6 * absolute(side - m.touch.pair[k, PAIR.flipped])
        add_wrench(pairs, m.touch.pair[k, PAIR.group], first, force, moment)


def put_wrenches(m, nc, dt, wrench, pairs):
    """wrench[i] = mean contact force and moment on body i in the step, in world axes at its origin.

    pairs[g] = the same for the bodies of pair g: on the first, then on the second.
    """
    for c in range(nc):
        k = surface_of(m, c)
        x, n = vector_of(m.contacts.point, c), vector_of(m.contacts.normal, c)
        t = across(n)
        f = add(
            scale(t, m.impulse[3 * c]), add(scale(cross(n, t), m.impulse[3 * c + 1]), scale(n, m.impulse[3 * c + 2]))
        )
        for side in range(2):
            i, force = m.touch.pair[k, PAIR.body + side], scale(f, (1 - 2 * side) / dt)
            moment = cross(sub(x, transform_at(m.rows.W, i).p), force)
            add_to_body(m, k, side, force, moment, wrench, pairs)


def put_requested_wrenches(m, nc, dt, y, f):
    """Add the wrenches on bodies, and of pairs of bodies, if they are requested."""
    if y.wrench.shape[0] > 0:
        put_wrenches(m, nc, dt, y.wrench, y.pairs)
        f.rolling.put_torques(m, nc, dt, y.wrench, y.pairs)
