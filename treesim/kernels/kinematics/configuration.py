"""The configuration manifold: motion along it, differences on it, and one step of semi-implicit integrators.

Rotations are unit quaternions xyzw. Velocities are in the body's own axes, linear before angular in a floating joint
(the order of its degrees of freedom). So a joint moves by the exponential of a body twist.
"""

from ..algebra.joints import FLOATING, PLANAR, SPHERICAL, quaternion_matrix, unit_quaternion_matrix
from ..algebra.linear import Vector, add, cross, dot, rotate, rotate_back, scale, sub
from ..algebra.numbers import absolute, atan2, cos, less, maximum, select, sin, sqrt
from ..entries.entry import entry

# the least square of an angle: avoids 0/0 in sin(x)/x and the like without a branch. Where it counts, what it
# changes is below rounding, and its root's cube is still a number in single precision
TINY = 1e-24


def vector_at(x, k):
    """Three consecutive numbers as a vector."""
    return Vector(x[k], x[k + 1], x[k + 2])


def put_vector(x, k, a):
    """Write a vector to three consecutive numbers."""
    x[k], x[k + 1], x[k + 2] = a.x, a.y, a.z


def exp_quaternion(w):
    """Return the unit quaternion (vector, scalar) of the rotation vector w."""
    angle = sqrt(maximum(dot(w, w), TINY))
    return scale(w, sin(angle / 2) / angle), cos(angle / 2)


def log_quaternion(vector, scalar):
    """Rotation vector, of length at most pi, of a unit quaternion."""
    length = sqrt(maximum(dot(vector, vector), TINY))
    sign = select(less(scalar, 0), -1, 1)  # q and -q are one rotation: take the shorter way
    return scale(vector, sign * 2 * atan2(length, absolute(scalar)) / length)


def multiply_quaternions(x, k, vector, scalar, out):
    """out[k:] = x[k:] (vector, scalar), normalized."""
    a, s = vector_at(x, k), x[k + 3]
    v = add(add(scale(vector, s), scale(a, scalar)), cross(a, vector))
    w = s * scalar - dot(a, vector)
    norm = sqrt(dot(v, v) + w * w)
    put_vector(out, k, scale(v, 1 / norm))
    out[k + 3] = w / norm


def quaternion_between(a, b, k):
    """Return the unit quaternion a[k:]^-1 b[k:] as (vector, scalar)."""
    u, s = vector_at(a, k), a[k + 3]
    w, t = vector_at(b, k), b[k + 3]
    return sub(sub(scale(w, s), scale(u, t)), cross(u, w)), s * t + dot(u, w)


def exp_translation(w, u):
    """Return the translation V(w) u of the exponential of the twist (angular w, linear u).

    Source: Murray, Li, Sastry eq. 2.36.
    """
    angle = sqrt(maximum(dot(w, w), TINY))
    half = sin(angle / 2) / angle
    wu = cross(w, u)
    return add(u, add(scale(wu, 2 * half * half), scale(cross(w, wu), (angle - sin(angle)) / (angle * angle * angle))))


def log_translation(w, p):
    """Linear part u of the twist with angular part w whose exponential translates by p: V(w)^-1 p."""
    angle = sqrt(maximum(dot(w, w), TINY))
    wp = cross(w, p)
    factor = 1 / (angle * angle) - cos(angle / 2) / (2 * angle * sin(angle / 2))
    return add(sub(p, scale(wp, 0.5)), scale(cross(w, wp), factor))


def rotation_at(q, k):
    """Rotation matrix of the quaternion at q[k:]."""
    return quaternion_matrix(q[k], q[k + 1], q[k + 2], q[k + 3])


def planar_turn(a, angle):
    """Return a planar vector (z = 0) rotated by an angle."""
    c, s = cos(angle), sin(angle)
    return Vector(c * a.x - s * a.y, s * a.x + c * a.y, a.z)


def integrate(tree, q, displacement, out):
    """out = q (+) d: every joint moves by the exponential of its part of the displacement d."""
    d = displacement
    for i in range(1, tree.n_bodies + 1):
        k, j = tree.q_start[i], tree.v_start[i]
        if tree.code[i] == FLOATING:
            u, w = vector_at(d, j), vector_at(d, j + 3)
            vector, scalar = exp_quaternion(w)
            shift = rotate(rotation_at(q, k + 3), exp_translation(w, u))
            put_vector(out, k, add(vector_at(q, k), shift))
            multiply_quaternions(q, k + 3, vector, scalar, out)
        elif tree.code[i] == SPHERICAL:
            vector, scalar = exp_quaternion(vector_at(d, j))
            multiply_quaternions(q, k, vector, scalar, out)
        elif tree.code[i] == PLANAR:
            o = d[j] * 0
            shift = planar_turn(exp_translation(Vector(o, o, d[j + 2]), Vector(d[j], d[j + 1], o)), q[k + 2])
            out[k], out[k + 1], out[k + 2] = q[k] + shift.x, q[k + 1] + shift.y, q[k + 2] + d[j + 2]
        else:
            out[k] = q[k] + d[j]


def difference(tree, q0, q1, d):
    """d = q1 (-) q0, so that q0 (+) d = q1: the logarithm of every joint's displacement from q0 to q1."""
    for i in range(1, tree.n_bodies + 1):
        k, j = tree.q_start[i], tree.v_start[i]
        if tree.code[i] == FLOATING:
            vector, scalar = quaternion_between(q0, q1, k + 3)
            w = log_quaternion(vector, scalar)
            p = rotate_back(rotation_at(q0, k + 3), sub(vector_at(q1, k), vector_at(q0, k)))
            put_vector(d, j, log_translation(w, p))
            put_vector(d, j + 3, w)
        elif tree.code[i] == SPHERICAL:
            vector, scalar = quaternion_between(q0, q1, k)
            put_vector(d, j, log_quaternion(vector, scalar))
        elif tree.code[i] == PLANAR:
            o = q0[k] * 0
            angle = q1[k + 2] - q0[k + 2]
            p = planar_turn(Vector(q1[k] - q0[k], q1[k + 1] - q0[k + 1], o), -q0[k + 2])
            u = log_translation(Vector(o, o, angle), p)
            d[j], d[j + 1], d[j + 2] = u.x, u.y, angle
        else:
            d[j] = q1[k] - q0[k]


def bracket(w, u, wb, ub):
    """Lie bracket [(w, u), (wb, ub)] of twists, angular and linear part."""
    return cross(w, wb), add(cross(w, ub), cross(u, wb))


def chart_rate(tree, d, v, rate):
    """rate = time derivative of d in the chart q(t) = q0 (+) d(t) at body velocity v.

    It is v + [d, v] / 2 + [d, [d, v]] / 12, exact to fourth order (inverse of the right-trivialised tangent of exp).
    """
    for k in range(tree.nv):
        rate[k] = v[k]
    for i in range(1, tree.n_bodies + 1):
        j = tree.v_start[i]
        o = v[j] * 0
        none = Vector(o, o, o)
        code = tree.code[i]
        if code in (FLOATING, SPHERICAL, PLANAR):
            if code == FLOATING:
                u, w, x, y = vector_at(d, j), vector_at(d, j + 3), vector_at(v, j), vector_at(v, j + 3)
            elif code == SPHERICAL:
                u, w, x, y = none, vector_at(d, j), none, vector_at(v, j)
            else:
                u, w = Vector(d[j], d[j + 1], o), Vector(o, o, d[j + 2])
                x, y = Vector(v[j], v[j + 1], o), Vector(o, o, v[j + 2])
            w1, u1 = bracket(w, u, y, x)
            w2, u2 = bracket(w, u, w1, u1)
            ang = add(scale(w1, 0.5), scale(w2, 1 / 12))
            lin = add(scale(u1, 0.5), scale(u2, 1 / 12))
            if code == FLOATING:
                put_vector(rate, j, add(x, lin))
                put_vector(rate, j + 3, add(y, ang))
            elif code == SPHERICAL:
                put_vector(rate, j, add(y, ang))
            else:
                rate[j], rate[j + 1], rate[j + 2] = x.x + lin.x, x.y + lin.y, y.z + ang.z


def semi_implicit_step(tree, q, v, a, dt, points, q_new, v_new):
    """v+ = v + dt a, q+ = q (+) dt v+, with velocities of floating and planar joints in axes that do not rotate.

    Their linear velocity is that of the point `points[i]` on the body, and is integrated as a velocity in the parent,
    so rotation alone adds no energy. Points at the origin: semi-implicit Euler; at the centre of mass: Bullet's
    integrator.
    """
    for i in range(1, tree.n_bodies + 1):
        k, j = tree.q_start[i], tree.v_start[i]
        code = tree.code[i]
        if code in (FLOATING, PLANAR):
            free_body_step(code, k, j, q, v, a, dt, vector_at(points, 3 * i), q_new, v_new)
        elif code == SPHERICAL:
            w = add(vector_at(v, j), scale(vector_at(a, j), dt))
            vector, scalar = exp_quaternion(scale(w, dt))
            multiply_quaternions(q, k, vector, scalar, q_new)
            put_vector(v_new, j, w)
        else:
            v_new[j] = v[j] + dt * a[j]
            q_new[k] = q[k] + dt * v_new[j]


def free_body_step(code, k, j, q, v, a, dt, c, q_new, v_new):
    """Step of a floating or planar joint; c is the point of the body whose velocity is integrated."""
    o = dt * 0
    if code == FLOATING:
        u, w, ua, wa = vector_at(v, j), vector_at(v, j + 3), vector_at(a, j), vector_at(a, j + 3)
        R, x = rotation_at(q, k + 3), vector_at(q, k)
    else:
        u, w = Vector(v[j], v[j + 1], o), Vector(o, o, v[j + 2])
        ua, wa = Vector(a[j], a[j + 1], o), Vector(o, o, a[j + 2])
        R, x = unit_quaternion_matrix(o, o, sin(q[k + 2] / 2), cos(q[k + 2] / 2)), Vector(q[k], q[k + 1], o)
    # velocity and classical acceleration of the point c, along the body's axes at the start of the step
    point_velocity = add(u, cross(w, c))
    point_acceleration = add(add(ua, cross(w, u)), add(cross(wa, c), cross(w, cross(w, c))))
    w_new = add(w, scale(wa, dt))
    point_velocity = add(point_velocity, scale(point_acceleration, dt))
    point = add(add(x, rotate(R, c)), scale(rotate(R, point_velocity), dt))
    vector, scalar = exp_quaternion(scale(w_new, dt))
    turn = unit_quaternion_matrix(vector.x, vector.y, vector.z, scalar)  # the body's axes move on by this
    x_new = sub(point, rotate(R, rotate(turn, c)))
    u_new = sub(rotate_back(turn, point_velocity), cross(w_new, c))  # w_new is its own image under turn
    if code == FLOATING:
        put_vector(q_new, k, x_new)
        multiply_quaternions(q, k + 3, vector, scalar, q_new)
        put_vector(v_new, j, u_new)
        put_vector(v_new, j + 3, w_new)
    else:
        q_new[k], q_new[k + 1], q_new[k + 2] = x_new.x, x_new.y, q[k + 2] + dt * w_new.z
        v_new[j], v_new[j + 1], v_new[j + 2] = u_new.x, u_new.y, w_new.z


def turn_of(w, h):
    """Rotation after h seconds at angular velocity w."""
    vector, scalar = exp_quaternion(scale(w, h))
    return unit_quaternion_matrix(vector.x, vector.y, vector.z, scalar)


def advance(tree, q, mean, u, h, q_new, u_new):
    """q_new = q after h seconds at velocity `mean`; u_new = the velocity u in the joints' axes at q_new.

    The velocities `mean` and u of a joint with rotations in space are given in its axes at the start, which do not
    rotate.
    """
    for i in range(1, tree.n_bodies + 1):
        k, j = tree.q_start[i], tree.v_start[i]
        code = tree.code[i]
        if code in (FLOATING, SPHERICAL):
            r, e = (k + 3, j + 3) if code == FLOATING else (k, j)  # where its rotation begins
            w = vector_at(mean, e)
            vector, scalar = exp_quaternion(scale(w, h))
            multiply_quaternions(q, r, vector, scalar, q_new)
            put_vector(u_new, e, rotate_back(turn_of(w, h), vector_at(u, e)))
            if code == FLOATING:
                x = add(vector_at(q, k), rotate(rotation_at(q, r), scale(vector_at(mean, j), h)))
                put_vector(q_new, k, x)
                put_vector(u_new, j, rotate_back(turn_of(w, h), vector_at(u, j)))
        elif code == PLANAR:
            o, angle = h * 0, h * mean[j + 2]
            shift = planar_turn(Vector(h * mean[j], h * mean[j + 1], o), q[k + 2])
            turned = planar_turn(Vector(u[j], u[j + 1], o), -angle)
            q_new[k], q_new[k + 1], q_new[k + 2] = q[k] + shift.x, q[k + 1] + shift.y, q[k + 2] + angle
            u_new[j], u_new[j + 1], u_new[j + 2] = turned.x, turned.y, u[j + 2]
        else:
            q_new[k] = q[k] + h * mean[j]
            u_new[j] = u[j]


def retrace(tree, q, q_new, u_new, h, mean, u):
    """Inverse of `advance`: the velocity `mean` from q to q_new in h seconds, and u_new in the joints' axes at q."""
    for i in range(1, tree.n_bodies + 1):
        k, j = tree.q_start[i], tree.v_start[i]
        code = tree.code[i]
        if code in (FLOATING, SPHERICAL):
            r, e = (k + 3, j + 3) if code == FLOATING else (k, j)
            vector, scalar = quaternion_between(q, q_new, r)
            turn = unit_quaternion_matrix(vector.x, vector.y, vector.z, scalar)
            put_vector(mean, e, scale(log_quaternion(vector, scalar), 1 / h))
            put_vector(u, e, rotate(turn, vector_at(u_new, e)))
            if code == FLOATING:
                shift = sub(vector_at(q_new, k), vector_at(q, k))
                put_vector(mean, j, scale(rotate_back(rotation_at(q, r), shift), 1 / h))
                put_vector(u, j, rotate(turn, vector_at(u_new, j)))
        elif code == PLANAR:
            o, angle = h * 0, q_new[k + 2] - q[k + 2]
            shift = planar_turn(Vector(q_new[k] - q[k], q_new[k + 1] - q[k + 1], o), -q[k + 2])
            turned = planar_turn(Vector(u_new[j], u_new[j + 1], o), angle)
            mean[j], mean[j + 1], mean[j + 2] = shift.x / h, shift.y / h, angle / h
            u[j], u[j + 1], u[j + 2] = turned.x, turned.y, u_new[j + 2]
        else:
            mean[j] = (q_new[k] - q[k]) / h
            u[j] = u_new[j]


def into_start_axes(tree, mean, h, v, qdd, a):
    """Write the acceleration qdd in the axes at the start to a.

    The joints have moved with velocity `mean` for h seconds. Their velocity v and acceleration qdd are given in their
    own axes, which rotate.
    """
    for i in range(1, tree.n_bodies + 1):
        j = tree.v_start[i]
        code = tree.code[i]
        if code == FLOATING:
            u, w, turn = vector_at(v, j), vector_at(v, j + 3), turn_of(vector_at(mean, j + 3), h)
            put_vector(a, j, rotate(turn, add(vector_at(qdd, j), cross(w, u))))
            put_vector(a, j + 3, rotate(turn, vector_at(qdd, j + 3)))
        elif code == SPHERICAL:
            put_vector(a, j, rotate(turn_of(vector_at(mean, j), h), vector_at(qdd, j)))
        elif code == PLANAR:
            speed = v[j + 2]
            along = Vector(qdd[j] - speed * v[j + 1], qdd[j + 1] + speed * v[j], h * 0)
            turned = planar_turn(along, h * mean[j + 2])
            a[j], a[j + 1], a[j + 2] = turned.x, turned.y, qdd[j + 2]
        else:
            a[j] = qdd[j]


integrate_states = entry(integrate, q="nq", displacement="nv", out="-> nq", expands=True)


difference_states = entry(difference, q0="nq", q1="nq", d="-> nv", expands=True)
