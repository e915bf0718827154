"""The four papers that treesim is based on: their claims, and the numbers that treesim computes.

F05: R. Featherstone, "Efficient factorization of the joint-space inertia matrix for branched kinematic trees", 2005.
F10: R. Featherstone, "Exploiting sparsity in operational-space dynamics", 2010.
J91: A. Jain, "Unified formulation of dynamics for serial rigid multibody systems", 1991.
FF13: A. Fijany and R. Featherstone, "A new factorization of the mass matrix for optimal serial and parallel calculation
of multibody dynamics", 2013.
"""

import sys

import numpy as np

import treesim
from treesim.dynamics import conjugate_gradient
from treesim.model import generators

try:
    from treesim_lab.cost import featherstone_2005 as f05
    from treesim_lab.cost import featherstone_2010 as f10
except ImportError:
    print("needs ./plugins/treesim-lab")
    sys.exit()

rng = np.random.default_rng(0)


def error(value, truth):
    """Largest deviation, relative to the largest entry."""
    return np.abs(np.asarray(value) - truth).max() / np.abs(truth).max()


def check(claim, value, bound):
    """Print what a claim comes to, and hold it to a bound."""
    print(f"  {claim:66s} {value:.0e}")
    assert value < bound, claim


print("F05 - branches make the mass matrix sparse, and its factors, taken from the tips inward, stay as sparse")
robot = generators.featherstone_2005_humanoid()
tree, H = robot.topology, treesim.mass_matrix(robot, robot.random(rng))
off_paths = ~tree.sparsity()
factors = treesim.ltdl(robot.dof_parent, H)
cost, binary, chain = (f05.ltdl_factorization(t) for t in (
    tree, generators.balanced_binary_tree(8).topology, generators.chain(255).topology))  # fmt: skip
print(f"  section 6, torso and four limbs: {off_paths.sum()} of {H.size} entries are zero (printed: 432 of 900)")
print(f"  Table 1: {cost.mul} mul, {cost.add} add, {cost.div} div (1039, 1039, 219)")
print(
    f"  Table 2: a binary tree of 255 bodies factors {chain.total / binary.total:.0f} times cheaper than a chain (430)"
)
assert off_paths.sum() == 432 and not H[off_paths].any() and not factors.L[off_paths].any()
assert (cost.mul, cost.add, cost.div) == (1039, 1039, 219)
check("L'DL - H", error(factors.L.T @ np.diag(factors.D) @ factors.L, H), 1e-14)

print("F10 - so are Jacobians, and all of operational space that is made of both")
robot = generators.asimo()
q, v, tau = robot.random(rng), rng.normal(size=robot.nv), rng.normal(size=robot.nv)
tasks = ["left_arm_wrist_roll", "right_arm_wrist_roll", "left_leg_ankle_roll", "right_leg_ankle_roll"]
space = treesim.operational_space(robot, q, v, tasks)
rows = [robot.frame(task).body for task in tasks for _ in range(6)]
cost = f10.inverse_inertia(robot.topology, rows)
print(f"  Table 2, Λ^-1 of hands and feet: {cost.mul} mul, {cost.add} add, {cost.div} div (6075, 5775, 646)")
assert (cost.mul, cost.add, cost.div) == (6075, 5775, 646)
a, h = treesim.forward_dynamics(robot, q, v, tau), 1e-6


def task_velocities(t):
    """Velocities of the tasks a time t later."""
    moved = robot.integrate(q, t * v + t * t / 2 * a)
    return np.concatenate([treesim.frame_velocity(robot, moved, v + t * a, task) for task in tasks])


difference = (task_velocities(h) - task_velocities(-h)) / (2 * h)
check("xddot = Λ^-1 F + β against differences of velocities", error(space.acceleration(tau), difference), 1e-7)
check("J J̄ - 1", np.abs(space.jacobian @ space.jbar - np.eye(24)).max(), 1e-10)
check("J N", np.abs(space.jacobian @ space.nullspace).max(), 1e-10)
for method in treesim.available("operational"):
    inverse = treesim.inverse_operational_inertia(robot, q, tasks, method=method)
    check(f"Λ^-1 by {method}", error(inverse, space.inverse_inertia), 1e-11)

print("J91 - the forward-dynamics algorithms are one factorization of the mass matrix")
robot = treesim.load("simple_humanoid", base="floating")
q, v, wanted = robot.random(rng), rng.normal(size=robot.nv), rng.normal(size=robot.nv)
tau, M = treesim.inverse_dynamics(robot, q, v, wanted), treesim.mass_matrix(robot, q)
for method in ("direct", "symmetry"):
    check(f"section 3, M by the {method} method", error(treesim.mass_matrix(robot, q, method=method), M), 1e-13)
composite = treesim.inverse_dynamics(robot, q, v, wanted, method="composite")
check("eq. 29, inverse dynamics by composite bodies", error(composite, tau), 1e-13)
for preconditioned in (False, True):
    found = conjugate_gradient.solve(robot, q, v, tau, preconditioned=preconditioned)
    claim = f"eq. 30, conjugate gradients {'with' if preconditioned else 'without'} HRH*, {found.iterations} steps"
    check(claim, error(found.qdd, wanted), 1e-8)
FACTORIZATIONS = {
    "crba_ltdl": "M, formed and factored",
    "innovations": "M = [1 + H phi K] D [1 + H phi K]*",
    "explicit_inverse": "M^-1 = [1 - H psi K]* D^-1 [1 - H psi K]",
    "rjk": "the same as two recursions, tau - C first",
    "aba": "the same, velocity terms carried along",
}
for backend, formula in FACTORIZATIONS.items():
    found = treesim.forward_dynamics(robot, q, v, tau, backend=backend)
    check(f"{formula} ({backend})", error(found, wanted), 1e-12)

print("FF13 - constraint forces first: another factorization of M^-1, serial in O(N), parallel in O(log N) stages")
for n in (64, 128):
    robot = generators.chain(n, ("revolute",))
    q, v, tau = robot.random(rng), rng.normal(size=robot.nv) / n, rng.normal(size=robot.nv)
    truth = treesim.forward_dynamics(robot, q, v, tau, refinements=2)
    for backend in ("aba", "crba_ltdl"):
        found = treesim.forward_dynamics(robot, q, v, tau, backend=backend)
        check(f"chain of {n}: {backend}", error(found, truth), 1e-6)
    for backend in ("constraint_force", "constraint_force_cr", "tree_contraction"):
        found = treesim.forward_dynamics(robot, q, v, tau, backend=backend)
        depth = treesim.schedule(robot, backend).depth  # operations that wait for one another
        check(f"chain of {n}: {backend}, depth {depth}", error(found, truth), 1e-11)
