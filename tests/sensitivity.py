"""How far computed results may be from the truth, and from each other: from the problem, not from what was once found.

What is solved for can be no more exact than the problem lets it: rounding the entries of A and f once moves the
solution of A x = f by |A^-1| (|A| |x| + |f|) eps, entry by entry (Skeel 1979; Higham, Accuracy and Stability of
Numerical Algorithms, section 7.2). Bounds here are that, times the number of roundings behind an entry. Processors
differ in which of these roundings they do (fused multiplications, the order of sums), never in how many there can be.
"""

import numpy as np

import treesim
from tests import joint_forces
from treesim import plugins
from treesim.cost.engine_errors import ROUNDING, ROUNDINGS, moved_by_rounding
from treesim.dynamics.conjugate_gradient import ConjugateGradient
from treesim.dynamics.constraint_force import ChainsBackend, HeavyPathBackend
from treesim.dynamics.explicit_inverse import ExplicitInverse
from treesim.kernels.conjugate_gradient import TOLERANCE

TINY = 1e-300
OF_A_SWEEP = ROUNDINGS * ROUNDING  # what `farthest` may find where a sweep along the robot solves nothing


def farthest(found, truth):
    """The largest deviation, relative to the largest number of `truth`; NaN counts as infinite."""
    assert np.shape(found) == np.shape(truth)
    error = np.abs(np.asarray(found) - truth).max(initial=0.0)
    return float(error) / float(np.abs(truth).max(initial=TINY)) if np.isfinite(error) else np.inf


def of_sums(parts, result):
    """What `farthest` may find for sums (..., n) of terms: of the sizes of the terms, however they cancel."""
    return OF_A_SWEEP * relative(sizes(parts), result)


def of_solution(A, forces, x):
    """What `farthest` may find for x (..., n) in A x = f, where f was summed from terms of the sizes `forces`."""
    return ROUNDINGS * relative(moved_by_rounding(A, forces, x), x)


def of_inverse_dynamics(robot, q, v, a, tau, **options):
    """What `farthest` may find for torques tau (..., nv), the sums of what accelerates, turns, hangs and pushes."""
    M = treesim.mass_matrix(robot, q, armature=options.get("armature"))
    moving = np.einsum("...ij,...j->...i", np.abs(M), np.abs(a))
    return of_sums([moving, *bias_parts(robot, q, v, options)], tau)


def of_forward_dynamics(robot, q, v, tau, a, backend="aba", **options):
    """What `farthest` may find for accelerations a (..., nv) by a backend; options: f_ext, gravity, armature.

    The bound of the problem, times how much more a backend declares to lose than articulated bodies do. Conjugate
    gradients end at a residual, methods that solve for the forces in the joints round those (one state at a time), and
    an explicit inverse rounds the products with its entries.
    """
    M = treesim.mass_matrix(robot, q, armature=options.get("armature"))
    forces, method = sizes([tau, *bias_parts(robot, q, v, options)]), plugins.get("dynamics", backend)
    by_rounding = of_solution(M, forces, a)
    if isinstance(method, ExplicitInverse):
        products = np.einsum("...ij,...j->...i", np.abs(np.linalg.inv(M)), forces)
        return by_rounding + relative(moved_by_rounding(M, forces, products), a)  # once: they cancel
    if isinstance(method, HeavyPathBackend | ChainsBackend) and joint_forces.every_body_can_be_divided_by(robot):
        moved = joint_forces.moved_by_rounding(robot, q, v, a, options.get("f_ext"), options.get("gravity"))
        return by_rounding + relative(moved, a)  # once: the terms of long sums of which most cancel
    if isinstance(method, ConjugateGradient):
        right = tau - treesim.bias_forces(robot, q, v, options.get("f_ext"), options.get("gravity"))
        return by_rounding + of_residual(M, right, a)
    return by_rounding * method.capabilities.error_factor


def bias_parts(robot, q, v, options):
    """The forces (..., nv) that weights, velocities and wrenches call for, each alone."""
    f_ext, gravity, weightless, still = options.get("f_ext"), options.get("gravity"), (0.0, 0.0, 0.0), np.zeros_like(v)
    weights = treesim.bias_forces(robot, q, still, gravity=gravity)
    turning = treesim.bias_forces(robot, q, v, gravity=weightless)
    pushes = [] if f_ext is None else [treesim.bias_forces(robot, q, still, f_ext=f_ext, gravity=weightless)]
    return [weights, turning, *pushes]


def of_residual(M, f, x):
    """How far the solution of M x = f, relative to its largest number, may be where |M x - f| is TOLERANCE |f|."""
    moved = np.linalg.norm(np.linalg.inv(M), axis=-1) * np.linalg.norm(f, axis=-1)[..., None]
    return 2 * TOLERANCE * relative(moved, x)  # the residual of the recursion follows the true one to a factor of 2


def of_inverse_inertia(M, J):
    """What `farthest` may find for J M^-1 J': |J| |M^-1| |M| |M^-1| |J|' for a rounding of each entry of M, and
    2 |J| |M^-1| |J|' for one of each of J."""
    A, rows = np.abs(np.linalg.inv(M)), np.abs(J)
    moved = rows @ (A @ np.abs(M) @ A + 2 * A) @ rows.T
    return OF_A_SWEEP * relative(moved.ravel(), (J @ np.linalg.solve(M, J.T)).ravel())


def of_constrained(M, J, forces, rates, a, f):
    """What `farthest` may find for accelerations a and for forces f in [M -J'; J 0] [a; f] = [forces; rates]."""
    system = np.block([[M, -J.T], [J, np.zeros((len(J), len(J)))]])
    moved = moved_by_rounding(system, np.abs(np.concatenate([forces, rates])), np.concatenate([a, f]))
    return [ROUNDINGS * relative(part, x) for part, x in zip(np.split(moved, [len(M)]), (a, f), strict=True)]


def sizes(parts):
    """The sum of absolute values."""
    return sum(np.abs(part) for part in parts)


def relative(moved, x):
    """The largest of `moved` (..., n) beside the largest number of x (..., n)."""
    return moved.max(axis=-1, initial=0.0) / np.abs(x).max(axis=-1, initial=TINY)
