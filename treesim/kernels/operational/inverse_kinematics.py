"""Inverse kinematics by the method of Levenberg and Marquardt, with limits of joints as bounds.

The damping lambda of a step is proportional to the cost |e|^2 / 2 (Sugihara 2011), so that convergence is quadratic
where targets are reached. Its factor follows from success and failure of steps. A start that makes little progress is
given up for the next one. With a posture, the redundant motion is then used to approach it.
"""

from ..algebra.joints import FLOATING
from ..entries.entry import entry
from ..kinematics.configuration import difference
from ..mimic.mimic import MIMIC_TABLES, expand_positions, mimic_joints_of, pick_motion, pick_positions
from .inverse_kinematics_step import (
    AT_BOUND,
    Bounds,
    accept,
    blocked,
    bounded_step,
    copy,
    largest_of,
    put_derivatives,
    start,
    try_step,
    workspace_for,
)
from .inverse_kinematics_tasks import PER_TASK, Tasks

SMALLEST_STEP = 1e-10  # rad, m: of a step that changes nothing
FIRST_FACTOR, SMALLEST_FACTOR, LARGEST_FACTOR = 0.3, 1e-4, 1e12  # of the damping
SLOW, PATIENCE = 0.85, 4  # a start ends after so many iterations that reduce the cost by less
REFINED = 8  # this part of the iterations is kept for the best of all starts, where none reaches the targets
OF_RESTART = 10  # iterations that each further start adds to those of all
CLEARLY = 0.5  # further starts are kept from this part of the least cost on: others are not worth leaving q0
CORRECTIONS = 4  # steps at most for one step towards a posture
POSTURE_STEP = 1e-5  # rad, m: smaller steps towards a posture end the iteration
HEADER = 5  # integers before the tasks: number of tasks, of rows, of those on the centre of mass, iterations, restarts

TABLES = MIMIC_TABLES | {"task_ints": "TableOfIntegers", "task_reals": "TableOfReals"}
SIZES = {"k": "task_ints[0]", "y": "mimic_ints[1]", "w": "mimic_ints[2]"}  # tasks; independent coordinates, velocities


def tables_of(tree, mimic_ints, mimic_reals, task_ints, task_reals):
    """Tables of mimic joints, tasks and bounds; see `treesim.dynamics.operational.inverse_kinematics`."""
    mimic = mimic_joints_of(mimic_ints, mimic_reals)
    k, m, n, h = task_ints[0], task_ints[1], mimic.nv, HEADER + PER_TASK * task_ints[0]
    b = 1 + 2 * n
    r = b + 24 * k
    tasks = Tasks(
        k, m, task_ints[2], task_ints[HEADER:h].reshape((k, PER_TASK)), task_reals[b:r].reshape((2 * k, 12)),
        task_reals[r : r + 6 * m].reshape((m, 6)), task_reals[r + 6 * m : r + 7 * m],
    )  # fmt: skip
    bounds = Bounds(task_ints[h : h + n], task_reals[1 : 1 + n], task_reals[1 + n : b])
    return mimic, tasks, bounds, task_reals[r + 7 * m :].reshape((task_ints[4], mimic.nq))


def memory_for(tree, mimic_ints, mimic_reals, task_ints, task_reals, q0):
    """Tables, and scratch memory for one state, with the dtype of q0."""
    mimic, tasks, bounds, restarts = tables_of(tree, mimic_ints, mimic_reals, task_ints, task_reals)
    return mimic, tasks, bounds, restarts, workspace_for(tree, mimic, tasks, q0)


def restart(tree, mimic, q, m):
    """Write a further initial configuration to m.q; bases that float stay where they are."""
    expand_positions(mimic, q, m.trial)
    for i in range(1, tree.n_bodies + 1):
        if tree.code[i] != FLOATING:
            last = tree.q_start[i + 1] if i < tree.n_bodies else tree.nq
            for k in range(tree.q_start[i], last):
                m.q[k] = m.trial[k]


def search(tree, mimic, tasks, targets, bounds, restarts, m, error, tolerance, most):
    """Find a configuration m.q in which the tasks' errors are below the tolerance, from m.q and then from `restarts`.

    If there is none, m.q is the one of least cost. Returns the number of iterations, at most `most`.
    """
    cost = start(tree, tasks, targets, bounds, m, error)
    copy(m.q, m.best)
    best, factor, slow = cost, cost * 0 + FIRST_FACTOR, 0
    iterations, attempt, last, fresh, ended = 0, 0, restarts.shape[0], 0, 0
    refined = most // REFINED if last > 0 else 0
    while iterations < most and ended == 0 and not largest_of(error) < tolerance:
        if fresh == 0:
            put_derivatives(tree, mimic, tasks, targets, m)
            fresh = 1
        iterations += 1
        largest = bounded_step(bounds, m, factor * cost)
        tried = try_step(tree, mimic, tasks, targets, bounds, m)
        slow = slow + 1 if not tried < SLOW * cost else 0
        if tried < cost:
            factor = max(factor / 4, SMALLEST_FACTOR)
            accept(m, error)
            cost, fresh = tried, 0
        else:
            factor = factor * 4
            if largest < SMALLEST_STEP or factor > LARGEST_FACTOR:
                ended = 1
        given_up = ended == 1 or slow >= PATIENCE or iterations >= most - refined
        if 0 < last >= attempt and given_up and not largest_of(error) < tolerance:
            if cost < (best if attempt == 0 else CLEARLY * best):
                best = cost
                copy(m.q, m.best)
            if attempt < last and iterations < most - refined:
                restart(tree, mimic, restarts[attempt], m)
                attempt += 1
            else:  # no further starts: on from the best of them
                copy(m.best, m.q)
                attempt = last + 1
            cost = start(tree, tasks, targets, bounds, m, error)
            factor, slow, fresh, ended = cost * 0 + FIRST_FACTOR, 0, 0, 0
    if best < cost and not largest_of(error) < tolerance:
        copy(m.best, m.q)
        start(tree, tasks, targets, bounds, m, error)
    return iterations


def to_posture(tree, mimic, posture, m):
    """Write the displacement from m.q to a posture to m.desired; returns its squared length."""
    expand_positions(mimic, posture, m.trial)
    difference(tree, m.q, m.trial, m.whole)
    pick_motion(mimic, m.whole, m.desired)
    square = m.e[0] * 0
    for j in range(m.desired.size):
        square = square + m.desired[j] * m.desired[j]
    return square


def scale_desired(m, s):
    """Multiply the desired step by s."""
    for j in range(m.desired.size):
        m.desired[j] = s * m.desired[j]


def approach(tree, mimic, tasks, targets, bounds, posture, m, error, tolerance, most):
    """Move m.q, which reaches the targets, closer to a posture as long as they are reached; returns the iterations.

    A step is the displacement to the posture, made compatible with the targets to first order; further steps without
    desired displacement return to the targets.
    """
    iterations, part, moved = 0, m.e[0] * 0 + 1, 1
    while iterations < most and moved == 1:
        start(tree, tasks, targets, bounds, m, error)
        copy(m.q, m.best)
        distance = to_posture(tree, mimic, posture, m)
        scale_desired(m, part)
        steps, largest = 0, m.e[0] * 0
        while steps == 0 or (steps < CORRECTIONS and not largest_of(error) < tolerance):
            put_derivatives(tree, mimic, tasks, targets, m)
            length = bounded_step(bounds, m, part * 0)
            largest = max(largest, length)
            try_step(tree, mimic, tasks, targets, bounds, m)
            accept(m, error)
            scale_desired(m, part * 0)
            steps += 1
            iterations += 1
        if largest_of(error) < tolerance and to_posture(tree, mimic, posture, m) < distance:
            part = min(2 * part, part * 0 + 1)
            moved = 1 if largest > POSTURE_STEP else 0
        else:
            copy(m.best, m.q)
            part = part / 4
            moved = 1 if largest > POSTURE_STEP else 0
    scale_desired(m, part * 0)
    return iterations


def inverse_kinematics(
    tree, q0, targets, posture, task_reals, task_ints, q, error, report, limiting, mimic, tasks, bounds, restarts, m
):
    """Compute a configuration q in which the tasks' errors are below the tolerance, or the one of least cost.

    posture: one configuration, or none. report: number of iterations, and 1 if the targets are reached. limiting: 1 for
    each degree of freedom at a limit; if the targets are not reached, for those whose limit prevents it.
    """
    tolerance, most = task_reals[0], task_ints[3] + OF_RESTART * restarts.shape[0]
    expand_positions(mimic, q0, m.q)
    zero = m.q[0] * 0
    for j in range(m.desired.size):
        m.desired[j] = zero
    iterations = search(tree, mimic, tasks, targets, bounds, restarts, m, error, tolerance, most)
    if posture.shape[0] > 0 and largest_of(error) < tolerance:
        iterations += approach(tree, mimic, tasks, targets, bounds, posture[0], m, error, tolerance, task_ints[3])
    start(tree, tasks, targets, bounds, m, error)
    put_derivatives(tree, mimic, tasks, targets, m)
    converged = largest_of(error) < tolerance
    for j in range(m.d.size):
        k = bounds.place[j]
        limiting[j] = zero
        at_limit = k >= 0 and (m.q[k] - bounds.lower[j] < AT_BOUND or bounds.upper[j] - m.q[k] < AT_BOUND)
        if at_limit and (converged or blocked(bounds, m, j)):
            limiting[j] += 1
    pick_positions(mimic, m.q, q)
    report[0], report[1] = zero + iterations, zero + (1 if converged else 0)


inverse_kinematics_states = entry(
    inverse_kinematics, memory_for, TABLES, SIZES, q0="y", targets="k, 12", posture="y | none", q="-> y", error="-> k",
    report="-> 2", limiting="-> w",
)  # fmt: skip
inverse_kinematics_states.mimic = True  # its tables and arrays are those of robots with mimic joints, also without any
