"""The conformance check of contact solvers: all of treesim's pass, and each way to break a promise is found."""

import pytest

import treesim
from treesim import testing
from treesim.contact.base import ContactSolver
from treesim.kernels.contact.pgs import pgs_memory, run_pgs, solve_pgs
from treesim.kernels.contact.problem import relative_velocities


@pytest.mark.parametrize("solver", treesim.available("contact_solvers"))
def test_every_solver_keeps_its_promises(solver):
    assert not testing.check_contact_solver(solver).failures


def broken(kernel=solve_pgs, **members):
    """A solver that changes what block Gauss-Seidel finds."""
    known = {"name": "mine", "kernel": staticmethod(kernel), "memory": staticmethod(pgs_memory)}
    return type("Broken", (ContactSolver,), known | members)()


def changed(change):
    """A kernel that changes what block Gauss-Seidel found, and says truly what velocities that leads to."""

    def solve(problem, impulse, sigma, tolerance, most, memory):
        taken = solve_pgs(problem, impulse, sigma, tolerance, most, memory)
        change(problem, impulse)
        relative_velocities(problem, impulse, sigma)
        return taken

    return solve


def without_friction(problem, impulse):
    for c in range(problem.contacts):
        impulse[3 * c] = impulse[3 * c + 1] = 0.0


def bouncing(problem, impulse):
    """With restitution 1."""
    for c in range(problem.contacts):
        impulse[3 * c + 2] *= 2


def pulling(problem, impulse):
    """Limits that hold joints, as held rows do."""
    for r in range(3 * problem.contacts, problem.rows):
        impulse[r] -= 1.0


def tilting(problem, impulse):
    """More than two contacts carry half of what they should."""
    if problem.contacts > 2:
        impulse[: 3 * problem.contacts] /= 2


def untrue(problem, impulse, sigma, tolerance, most, memory):
    taken = solve_pgs(problem, impulse, sigma, tolerance, most, memory)
    sigma[0] += 1e-3
    return taken


def two_sweeps(problem, impulse, sigma, tolerance, most, memory):
    impulse[:] = 0.0
    return run_pgs(problem, impulse, sigma, tolerance, 2)


def settling(problem, impulse, sigma, tolerance, most, memory):
    problem.mu[:] += 1e-12
    return solve_pgs(problem, impulse, sigma, tolerance, most, memory)


def remembering(problem, impulse, sigma, tolerance, most, memory, last=[0.0]):  # noqa: B006
    taken = solve_pgs(problem, impulse, sigma, tolerance, most, memory)
    impulse[0] += 1e-12 * last[0]
    last[0] = impulse[2] + 1.0
    return taken


def short_memory(rows, q):
    return pgs_memory(3, q)


def uncompilable(problem, impulse, sigma, tolerance, most, memory):
    return sum([solve_pgs(problem, impulse, sigma, tolerance, most, memory) for _ in range(1)])


BROKEN = {
    "no friction": (broken(changed(without_friction)), "sticks below Coulomb's bound"),
    "restitution": (broken(changed(bouncing)), "slides at Coulomb's bound: the impulse is"),
    "energy": (broken(changed(lambda problem, x: bouncing(problem, x) or bouncing(problem, x))), "raise the kinetic"),
    "limits that pull": (broken(changed(pulling)), "holds joint limits, joint friction and rows"),
    "half of the loads": (broken(changed(tilting)), "carries the loads of a stack: the loads are"),
    "velocities of others": (broken(untrue), "sigma is off from G lambda"),
    "two sweeps": (broken(two_sweeps), "satisfies the contact model on random problems: the residual is"),
    "writes to the problem": (broken(settling), "it writes to the problem"),
    "remembers": (broken(remembering), "other bits"),
    "memory for three rows": (broken(memory=staticmethod(short_memory)), "cannot reshape array of size 9"),
    "said to be a relaxation": (broken(exact=0), "attribute 'exact'"),
    "no kernel": (type("Empty", (), {"name": "mine", "exact": True})(), "has no 'kernel'"),
    "no kernel's Python": (broken(uncompilable), "compiles, and moves a cube on a plane: raises UnsupportedError"),
}


@pytest.mark.parametrize("solver, why", BROKEN.values(), ids=BROKEN)
def test_a_broken_promise_is_found_and_named(solver, why):
    with pytest.raises(testing.ConformanceError, match=why):
        testing.check_contact_solver(solver)


def test_a_name_that_nobody_registered():
    with pytest.raises(treesim.UnknownNameError, match="pgss"):
        testing.check_contact_solver("pgss")
