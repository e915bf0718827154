"""Static equilibrium: controls and contact forces that keep a robot at rest."""

from __future__ import annotations

from importlib import import_module
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..contact.points import contact_points, with_rows
from ..dynamics.inverse_dynamics import gravity_forces
from ..dynamics.operational.frames import body_poses, frame_jacobian
from ..dynamics.springs import spring_forces
from ..errors import ArgumentError, ConvergenceError, UnsupportedError, quoted
from ..kernels.contact.contact_points import GAP, LAW
from ..model.named_axes import coordinate_argument
from ..model.tree import Tree
from ..simulation.control import actuated
from ..simulation.step_result import points_again
from ..simulation.stepper import Stepper
from ..simulation.world import World, as_world
from ..system.display import html_table
from ..system.installation import installed_by
from ..validation.arrays import coerce, refuse_non_finite

STEP = 1e-6  # s: length of the step that finds contacts
NEAR = 1e-3  # m: shapes with smaller gaps touch
SMALL = 1e-8  # weight of the squares of contact forces, compared with those of efforts or of unbalanced forces
TOLERANCE = 1e-12  # of the sum of squares in the solver
BALANCED = 1e-6  # largest residual of a feasible equilibrium, in units of the weight


class Equilibrium(NamedTuple):
    """Result of `treesim.equilibrium`.

    Parameters
    ----------
    control : ndarray, shape (nv,)
        Forces of the joints [N, N m]; 0 for floating joints.
    contact_forces : ndarray, shape (C,)
        Contact points with their forces, a structured array as `ContactReport.points`: with the fields `body`,
        `other`, `position`, `normal`, `gap`, and `force` [N, world] on `body`.
    residual : float
        Largest generalised force that is not balanced [N, N m].
    feasible : bool
        True if the forces are in equilibrium, within friction cones and effort limits.

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> treesim.equilibrium(treesim.World(robot), robot.neutral())
    <Equilibrium: feasible, 0 contacts, residual 0>
    """

    control: np.ndarray
    contact_forces: np.ndarray
    residual: float
    feasible: bool

    def __repr__(self) -> str:
        count = len(self.contact_forces)
        contacts = f"{count} contact{'s' * (count != 1)}"
        return f"<Equilibrium: {'' if self.feasible else 'not '}feasible, {contacts}, residual {self.residual:.2g}>"

    def _repr_html_(self) -> str:
        return html_table(repr(self), [(label, getattr(self, label)) for label in self._fields])


class _Balance(NamedTuple):
    """Balance of forces of gravity and springs, gravity = effort x + contact y + constrained z.

    effort (nv, a), limit (a,): columns of joints with control, and their limits. contact (nv, 3 C): columns of y =
    (normal force, tangential forces / mu) of each contact, whose cone is |(y1, y2)| <= y0. constrained (nv, m).
    """

    gravity: np.ndarray
    effort: np.ndarray
    limit: np.ndarray
    contact: np.ndarray
    constrained: np.ndarray

    @property
    def unit(self) -> float:
        """Unit of forces: the largest gravity force, or 1 N."""
        return float(np.abs(self.gravity).max(initial=0.0)) or 1.0


def equilibrium(world: World | Tree, q: ArrayLike) -> Equilibrium:
    """Return the controls and contact forces that keep a robot at rest, with the least effort.

    Controls and contact forces balance gravity and joint springs. Contact forces are within friction cones, and
    controls within effort limits. Of all solutions, the result is the one with the smallest sum of (control / effort
    limit)^2; for joints without a limit, it is the sum of control^2. Of contact forces with the same controls, the
    result has the smallest.

    Parameters
    ----------
    world : World or Tree
        World of the robot. Contacts are the points of its shapes with gaps below 1 mm.
    q : array_like
        (nq,) configuration.

    Returns
    -------
    Equilibrium
        Controls, contact forces, residual and feasibility. If there is no equilibrium, `feasible` is False, and the
        result has the smallest sum of squares of unbalanced forces.

    Raises
    ------
    ArgumentError
        If q is not one configuration, constraints are open or shapes overlap by more than 2 cm in it, or the package
        clarabel is missing.
    NonFiniteError
        If q is not finite.
    UnsupportedError
        If the world has kinematic bodies.
    ConvergenceError
        If the solver fails.

    Notes
    -----
    Floating joints have no control; all other joints have. Constraints and closed loops of the world hold, with any
    forces. Joint limits and the friction of joints do not push, torsional and rolling friction of contacts is not
    used, and soft surfaces count as rigid. The solver is clarabel, which the extra `optimization` brings.

    Examples
    --------
    A humanoid stands on both feet. The contact forces are its weight.

    >>> robot = treesim.load("g1", base="floating")
    >>> world = treesim.World(robot, ground=treesim.Ground())
    >>> found = treesim.equilibrium(world, treesim.standing(robot, robot.neutral()))
    >>> found.feasible, len(found.contact_forces), float(abs(found.control).max().round(2))
    (True, 8, 4.79)
    >>> np.allclose(found.contact_forces["force"].sum(axis=0), -robot.mass * robot.gravity)
    True
    """
    world = as_world(world)
    if world.kinematic:
        raise UnsupportedError(
            f"equilibrium does not support kinematic bodies, such as {quoted(next(iter(world.kinematic)))}: "
            f"leave them out of the World, or make them part of its ground"
        )
    robot, argument = world.robot, coordinate_argument(world.robot, "q", q)
    given = coerce(argument)
    if given.ndim != 1:
        raise ArgumentError(f"q must be one configuration ({robot.nq},), got shape {given.shape}")
    refuse_non_finite([argument], [given])
    points, friction, q = _contacts(world, given)
    balance = _balance(world, q, points, friction)
    y, z = _least_effort(balance)
    unbalanced = balance.gravity - balance.contact @ y - balance.constrained @ z
    # from the balance itself, since the solver's controls are exact to its tolerance only
    effort = np.clip(balance.effort.T @ unbalanced, -balance.limit, balance.limit)
    control = balance.effort @ effort
    residual = float(np.abs(unbalanced - control).max(initial=0.0))
    points["force"] = _forces(points, friction, y.reshape(-1, 3))
    return Equilibrium(control, points, residual, residual <= BALANCED * balance.unit)


def _contacts(world: World, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return contact points at q (nq,), their coefficients of friction, and q with closed constraints.

    A short step from rest finds the contacts.
    """
    if not world.robot.nv:
        return contact_points(world.touching, []), np.empty(0), q
    stepper = Stepper(world, STEP, substeps=1)
    state = stepper.reset(q)
    (rows,) = points_again(stepper.code, state.q, state.v, state.contact, 1, np.zeros(world.robot.nv))
    rows = rows[rows[:, GAP] < NEAR]
    points = contact_points(world.touching, [rows])
    for label in ("velocity", "torque"):
        points[label] = 0
    tables, rows = with_rows(world.touching, rows)
    return points, tables.mu[rows[:, LAW].astype(int)], state.q


def _balance(world: World, q: np.ndarray, points: np.ndarray, friction: np.ndarray) -> _Balance:
    """Return the balance of forces at q (nq,)."""
    robot = world.robot
    driven = (actuated(robot) > 0) & (robot.effort_limit > 0)
    contact, numbers = np.zeros((robot.nv, len(points), 3)), {name: i for i, name in enumerate(robot.body_names, 1)}
    origins = body_poses(robot, q)[:, :3, 3]
    for c, (point, axes) in enumerate(zip(points, _axes(points, friction), strict=True)):
        for name, sign in ((point["body"], 1), (point["other"], -1)):
            if name in numbers:
                J = frame_jacobian(robot, q, str(name))
                arm = point["position"] - origins[numbers[name]]
                contact[:, c] += sign * (J[:3] + np.cross(J[3:], arm, axis=0)).T @ axes.T
    gravity = gravity_forces(robot, q) - spring_forces(robot, q)
    rows = world.jacobian(q).T if world.m else np.zeros((robot.nv, 0))
    return _Balance(
        gravity,
        np.eye(robot.nv)[:, driven],
        robot.effort_limit[driven],
        contact.reshape(robot.nv, 3 * len(points)),
        rows,
    )


def _axes(points: np.ndarray, friction: np.ndarray) -> np.ndarray:
    """Return the world vectors (C, 3, 3), in rows, of the normal and of two tangents, multiplied by the friction."""
    n = points["normal"]
    least = np.eye(3)[np.abs(n).argmin(axis=-1)]
    first = np.cross(n, least)
    first /= np.linalg.norm(first, axis=-1, keepdims=True)
    mu = friction[:, None]
    return np.stack([n, mu * first, mu * np.cross(n, first)], axis=1)


def _forces(points: np.ndarray, friction: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the forces (C, 3) of components y (C, 3)."""
    return np.einsum("ck,cki->ci", y, _axes(points, friction))


def _least_effort(balance: _Balance) -> tuple[np.ndarray, np.ndarray]:
    """Return the components of contact forces (3 C,) and the forces of constraints (m,)."""
    a, n, m = (part.shape[1] for part in (balance.effort, balance.contact, balance.constrained))
    if not n + m:
        return np.empty(0), np.empty(0)
    scale = np.where(np.isfinite(balance.limit), balance.limit, 1.0)  # of controls
    columns = np.hstack([balance.effort * scale / balance.unit, balance.contact, balance.constrained])
    right, weights = balance.gravity / balance.unit, np.repeat([1.0, SMALL, SMALL], [a, n, m])
    limited = np.flatnonzero(np.isfinite(balance.limit))
    found = _conic_solution(columns, right, weights, limited, range(a, a + n, 3))
    if found is None:  # no equilibrium: unbalanced forces, of which the smallest are found, have columns of their own
        columns = np.hstack([columns, np.eye(len(right))])
        weights = np.repeat([1.0, 1 / SMALL], [a + n + m, len(right)])
        found = _conic_solution(columns, right, weights, limited, range(a, a + n, 3))
    if found is None:
        raise ConvergenceError("equilibrium: the solver clarabel found no solution")
    _, y, z, _ = np.split(balance.unit * found, [a, a + n, a + n + m])
    return y, z


def _conic_solution(
    columns: np.ndarray, right: np.ndarray, weights: np.ndarray, limited: np.ndarray, cones: range
) -> np.ndarray | None:
    """Return the x (n,) with columns x = right of least sum weights x^2, or None if there is none.

    limited: numbers of the x between -1 and 1. cones: numbers of the first of each three x with |(x1, x2)| <= x0.
    """
    from scipy import sparse

    try:
        clarabel = import_module("clarabel")
    except ImportError:
        raise ArgumentError(f"equilibria need the package clarabel: {installed_by('.[optimization]')}") from None
    every = np.eye(columns.shape[1])
    in_cones = [k + i for k in cones for i in range(3)]
    rows = np.vstack([columns, every[limited], -every[limited], -every[in_cones]])
    sides = np.concatenate([right, np.ones(2 * len(limited)), np.zeros(len(in_cones))])
    kinds = [clarabel.ZeroConeT(len(right)), clarabel.NonnegativeConeT(2 * len(limited))]
    kinds += [clarabel.SecondOrderConeT(3) for _ in cones]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = TOLERANCE
    problem = sparse.csc_matrix(np.diag(weights)), np.zeros(len(weights)), sparse.csc_matrix(rows), sides, kinds
    found = clarabel.DefaultSolver(*problem, settings).solve()
    solved = found.status in (clarabel.SolverStatus.Solved, clarabel.SolverStatus.AlmostSolved)
    return np.array(found.x) if solved else None
