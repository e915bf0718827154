"""Energy balance of a step with contact: the work of each force at the mean velocity of the step.

In the axes at the start, with the actual end velocity v+ and the mean u = (v + v+) / 2, a step is
    M (v+ - v) = h (f - d u - C - dU/dq) + J' lambda,
f the control's force minus the feedback of its gains at u, J and M at the rows' configuration. Times u' that is
    T(v+) - T(v) = h f' u - h u' d u - h u' (C + dU/dq) + lambda' J u.
`step.put_work` computes the first two terms for these velocities; lambda' J u is the work of the impulses. Positions
move by the integrator's impulse fraction theta of a change of velocity, and by the position impulses:
    q+ = q (+) h (v_m + theta (M + D)^-1 J' lambda + e),  e = (M + D)^-1 J' (lambda_p - theta lambda).
e raises the bodies, and loads the springs of joints, by U(q+) - U(q (+) h (v_m + theta (M + D)^-1 J' lambda)), the work
of the corrections. It is what the reduction of overlaps raises and, in impacts, where positions move to the closed gap,
the difference of that from h u. Both are added to the work of damping. The rest of the balance is the error of the
integrator, of order 1 in h where rows act, and 0 to rounding where M is constant. The work of the unconstrained step is
not used: at rest u = 0, and no work is done, however large the forces are. Springs of soft surfaces store k gap^2 / 2
in every state. Its decrease in a step is counted as their work, minus what their dampers dissipate; the integrator's
error in springs remains. Without restitution, forces and velocity products, where v is that of the unconstrained end,
lambda' J u = lambda' sigma+ - lambda' G lambda / 2 <= 0: friction and impacts only dissipate.
"""

from ..algebra.linear import Vector, cross, rotate_back, scale
from ..algebra.numbers import absolute, maximum, minimum, select, some
from ..algebra.spatial import Force, force_add, force_component, force_to_parent
from ..algebra.tables import body_inertia, body_transform_at, force_at, put_force, transform_at
from ..kinematics.bodies import potential_change
from ..kinematics.configuration import advance
from ..stepping.step import put_work, stretch
from .constraint_rows import dissipation_time, surface_of
from .layout import SCHEME, SURFACE
from .signed_distance import is_external

CURVED = 1e-15  # m^2, rad^2: product of two displacements below which they change the energy independently


def work_at(tree, s, v, force, m, work):
    """work = that of the control and of damping, in a step with end velocity m.end in the axes at its start."""
    for k in range(tree.nv):
        m.step.qdd[k] = (m.end[k] - v[k]) / s.dt
        m.step.mean[k] = (m.end[k] + v[k]) / 2
    put_work(tree, s, v, force, m.step.mean, m.step, work)


def work_of_impulses(nc, n, dt, m):
    """Return lambda' J u of n rows; for soft contacts minus what their dampers dissipate.

    m.sigma: the result of the velocity problem m.g. J u is the mean of the velocities at the start and at the end.
    """
    total = dt * 0
    for r in range(n):
        along = m.start_rate[r] + m.end_rate[r] + m.sigma[r] - m.g[r]
        total += select(m.soft[r] > 0, 0, m.impulse[r] * along / 2)
    return total - taken_by_dampers(m, nc, dt)


def taken_by_damper(m, c, dt):
    """Return the energy that the damper of soft contact c dissipates: d w^2 h for a pushing contact at mean velocity w.

    A surface that would have to pull separates, and its damper dissipates the energy of its spring.
    """
    k, behind, w = surface_of(m, c), dissipation_time(m, c), m.moved[3 * c + 2]
    stiffness = m.touch.surface[k, SURFACE.stiffness]
    start, end = minimum(m.contacts.gap[c], 0), minimum(m.contacts.gap[c] + dt * w, 0)
    by_itself = select(behind > 0, stiffness * (start * start - end * end) / 2, 0)
    return select(m.impulse[3 * c + 2] > 0, dt * stiffness * behind * w * w, by_itself)


def taken_by_dampers(m, nc, dt):
    """Return the energy that the dampers of all contacts dissipate."""
    total = dt * 0
    for c in range(nc):
        total += taken_by_damper(m, c, dt)
    return total


def any_soft(touch):
    """Return whether any surface is soft."""
    return touch.soft == 1


def is_external_contact(m, c):
    """Return whether contact c is an external one, which is only known at the start of the step."""
    return is_external(m.touch, surface_of(m, c))


def spring_energy(m, c, gap):
    """Return k gap^2 / 2 of contact c if it overlaps; 0 for rigid surfaces."""
    overlap = minimum(gap, 0)
    return m.touch.surface[surface_of(m, c), SURFACE.stiffness] * overlap * overlap / 2


def stored_in_springs(m, nc, dt):
    """Return the energy in the springs of soft surfaces, without external contacts."""
    total = dt * 0
    for c in range(nc):
        if not is_external_contact(m, c):
            total += spring_energy(m, c, m.contacts.gap[c])
    return total


def lost_outside(m, nc, dt):
    """Return the energy that the springs of external contacts lose in the step, with gaps linearized along the rows."""
    total = dt * 0
    for c in range(nc):
        if is_external_contact(m, c):
            end = m.contacts.gap[c] + dt * m.moved[3 * c + 2]
            total += spring_energy(m, c, m.contacts.gap[c]) - spring_energy(m, c, end)
    return total


def put_lift(tree, r, F, lift):
    """lift = dU/dq = -J' m g at the poses r.W, along every degree of freedom. F (N + 1, 6): scratch memory."""
    g = Vector(tree.gravity[0], tree.gravity[1], tree.gravity[2])
    for i in range(1, tree.n_bodies + 1):
        inertia, own = body_inertia(tree, i), rotate_back(transform_at(r.W, i).R, g)
        put_force(F, i, Force(cross(inertia.h, own), scale(own, inertia.m)))
    for i in range(tree.n_bodies, 0, -1):
        f, p = force_at(F, i), tree.parent[i]
        for k in range(tree.v_start[i], tree.v_start[i + 1]):
            lift[k] = -force_component(f, tree.screw[k])
        if p > 0:
            put_force(F, p, force_add(force_at(F, p), force_to_parent(body_transform_at(tree, r.X, i), f)))


def work_of_corrections(tree, q, q_new, dt, scheme, m):
    """Return the potential energy that e adds in a step with m.mean to q_new; 0 if e is within the tolerance.

    Where second-order terms are below rounding, it is h e' dU/dq, dU/dq = m.lift. m.step is scratch memory.
    """
    largest, speed, linear = dt * 0, dt * 0, dt * 0
    for k in range(tree.nv):
        e = m.mean_change[k] - scheme[SCHEME.impulse_fraction] * m.end_change[k]
        largest, speed = maximum(largest, absolute(e)), maximum(speed, absolute(m.mean[k]))
        m.step.mean[k] = m.mean[k] - e
        linear += dt * e * m.lift[k]
    lifted = select(largest > scheme[SCHEME.tolerance], linear, 0)
    curved = dt * dt * largest * (largest + speed) > CURVED
    if some(curved):
        advance(tree, q, m.step.mean, m.step.mean, dt, m.step.q_mid, m.step.v_mid)
        lifted = select(curved, potential_change(tree, m.step.q_mid, q_new, m.W), lifted)
    return lifted


def spring_work_of_corrections(tree, s, q_new, scheme, m):
    """Return the energy that e adds to the springs of joints in a step to q_new."""
    total = s.dt * 0
    for i in range(1, tree.n_bodies + 1):
        for k in range(tree.v_start[i], tree.v_start[i + 1]):
            way = s.dt * (m.mean_change[k] - scheme[SCHEME.impulse_fraction] * m.end_change[k])
            total += s.stiffness[k] * (way * (stretch(tree, s, q_new, i, k) - way / 2))
    return total
