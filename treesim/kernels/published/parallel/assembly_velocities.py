"""Velocities by joining assemblies, along the plan of `assemblies` and back, in as many stages as it has.

Through an assembly, the velocity v of the body above its top joint determines that of its lowest body, T v + u. Two
assemblies are joined by composition of their maps, as in `path_velocities`. Backwards through the plan, every event
computes the velocity of the body below its joint from that above. What hangs on a raw body moves with it.
"""

from ...algebra.rotations import compose
from ...algebra.spatial import motion_add, motion_to_child
from ...algebra.tables import body_transform_at, motion_at, put_motion, put_transform, transform_at
from ...kinematics.bodies import body_velocity
from .assembly_tables import HANG, JOIN, RAKE


def join_maps(m, k, a):
    """(T_a, u_a) <- (T_k, u_k) (T_a, u_a), for assembly k below a; k's map is replaced by the previous one of a."""
    upper, lower, u = transform_at(m.T, a), transform_at(m.T, k), motion_at(m.u, a)
    put_transform(m.T, a, compose(upper, lower))
    put_motion(m.u, a, motion_add(motion_to_child(lower, u), motion_at(m.u, k)))
    put_transform(m.T, k, upper)
    put_motion(m.u, k, u)


def move(tree, m, k, v):
    """v_k = X v_λ + S qd, for known velocity of the parent."""
    put_motion(m.V, k, body_velocity(tree, k, body_transform_at(tree, m.X, k), motion_at(m.above, k), v))


def contract_velocities(plan, m, first, end):
    """Join the velocity maps at the joints of the blocks first .. end - 1 of one stage."""
    for e in range(plan.start[JOIN, first], plan.start[JOIN, end]):
        join_maps(m, plan.joints[e, 0], plan.joints[e, 1])


def expand_hanging(tree, m, hanging, v, first, end):
    """Compute velocities of what hangs on a raw body or on the base, for the events first .. end - 1 of one kind."""
    for e in range(first, end):
        k = hanging[e, 0]
        put_motion(m.above, k, motion_at(m.V, hanging[e, 1]))
        move(tree, m, k, v)


def expand_velocities(tree, plan, m, v, first, end):
    """Process the events of the blocks first .. end - 1 of one stage backwards."""
    expand_hanging(tree, m, plan.raked, v, plan.start[RAKE, first], plan.start[RAKE, end])
    expand_hanging(tree, m, plan.hanging, v, plan.start[HANG, first], plan.start[HANG, end])
    for e in range(plan.start[JOIN, first], plan.start[JOIN, end]):
        k, a = plan.joints[e, 0], plan.joints[e, 1]
        carried = motion_to_child(transform_at(m.T, k), motion_at(m.above, a))
        put_motion(m.above, k, motion_add(carried, motion_at(m.u, k)))
        move(tree, m, k, v)
