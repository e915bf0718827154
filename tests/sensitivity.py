"""How far backends' results may be from the truth: `treesim.testing.bounds`, and what methods lose on the way."""

import numpy as np

import treesim
from tests import joint_forces
from treesim import plugins
from treesim.dynamics.backends import ExplicitInverse
from treesim.dynamics.conjugate_gradient import ConjugateGradient
from treesim.dynamics.constraint_force import ChainsBackend, ConstraintForcePcr, HeavyPathBackend
from treesim.kernels.published.conjugate_gradient import TOLERANCE
from treesim.testing import farthest
from treesim.testing.bounds import (
    OF_A_SWEEP,
    ROUNDING,
    ROUNDINGS,
    bias_parts,
    moved_by_rounding,
    of_constrained,
    of_inverse_inertia,
    of_solution,
    of_sums,
    relative,
    sizes,
)

__all__ = [
    "OF_A_SWEEP",
    "ROUNDING",
    "ROUNDINGS",
    "bias_parts",
    "farthest",
    "of_constrained",
    "of_forward_dynamics",
    "of_inverse_dynamics",
    "of_inverse_inertia",
    "of_residual",
    "of_solution",
    "of_sums",
    "relative",
    "sizes",
]


def of_inverse_dynamics(robot, q, v, a, tau, **options):
    """What `farthest` may find for joint forces tau (..., nv) of inverse dynamics; options: f_ext, gravity, armature.

    tau is a sum of inertial, velocity, gravity and external forces.
    """
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
        # terms of long sums of which most cancel, rounded once; anew in every sweep of parallel cyclic reduction
        times = np.ceil(np.log2(robot.n_bodies + 1)) if isinstance(method, ConstraintForcePcr) else 1
        return by_rounding + times * relative(moved, a)
    if isinstance(method, ConjugateGradient):
        right = tau - treesim.bias_forces(robot, q, v, f_ext=options.get("f_ext"), gravity=options.get("gravity"))
        return by_rounding + of_residual(M, right, a)
    return by_rounding * method.capabilities.error_factor


def of_residual(M, f, x):
    """How far the solution of M x = f, relative to its largest number, may be where |M x - f| is TOLERANCE |f|."""
    moved = np.linalg.norm(np.linalg.inv(M), axis=-1) * np.linalg.norm(f, axis=-1)[..., None]
    return 2 * TOLERANCE * relative(moved, x)  # the residual of the recursion follows the true one to a factor of 2
