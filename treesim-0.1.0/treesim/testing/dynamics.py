"""Conformance checks of a forward-dynamics backend (`treesim.dynamics.base.DynamicsBackend`)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..dynamics.base import Capabilities
from ..dynamics.inverse_dynamics import inverse_dynamics
from ..dynamics.mass_matrix import mass_matrix
from ..errors import ArgumentError, NonFiniteError
from ..model.tree import Tree
from .bounds import of_forces
from .report import Checks, Conformance, begin, demand, demand_array, demand_error, demand_near
from .samples import Robots, State, random_state, robots_of, sample_robots

STATES = 3  # at which every requirement is checked

# allowed error of accelerations a relative to the largest: (robot, q, v, tau, a, **options)
Bound = Callable[..., Any]


def check_dynamics(backend: str | Any, robots: Robots = None, bound: Bound | None = None) -> Conformance:
    """Check that a forward-dynamics backend meets the protocol `DynamicsBackend`.

    The backend must solve the equation of motion for robots at random states. The check also uses a gravity other than
    the robot's. External forces, another armature, and batches with broadcasting are checked if the backend declares
    support for them. Results must be new arrays, and arguments must not change. A second call must return the same
    bits. Wrong shapes and numbers that are not finite must raise errors that name the argument.

    Parameters
    ----------
    backend : str or DynamicsBackend
        Name in `available("dynamics")`, or an object.
    robots : sequence of Tree, optional
        Robots of the check; `sample_robots()` by default. Robots with joint types that the backend does not declare are
        omitted.
    bound : callable, optional
        Function `bound(robot, q, v, tau, a, **options)` that returns the allowed error of accelerations a (..., nv),
        relative to the largest acceleration. By default, the allowed error is the effect of rounding the mass matrix
        and the forces once, times the attribute `error_factor` of the backend.

    Returns
    -------
    Conformance
        All requirements, which are met.

    Raises
    ------
    ConformanceError
        If a requirement is not met. The message lists all such requirements.

    Examples
    --------
    >>> from treesim import testing
    >>> testing.check_dynamics("crba_ltdl")
    <Conformance of forward-dynamics backend 'crba_ltdl': 63 requirements met>
    """
    backend, checks = begin("dynamics", backend)
    if not checks.has(backend, name=str, capabilities=Capabilities):
        return checks.report()
    with checks.require("declares its cost and its source"):
        demand(bool(backend.capabilities.cost and backend.capabilities.source), "capabilities lack them")
    for robot in robots_of(robots, sample_robots):
        if {body.joint.type for body in robot.bodies} <= {*backend.capabilities.joint_types}:
            _Robot(checks, backend, robot, bound or _bound_of(backend)).check()
    return checks.report()


def _bound_of(backend: Any) -> Bound:
    """Return the default bound, times the backend's `error_factor`."""
    return lambda *given, **options: of_forces(*given, **options) * backend.capabilities.error_factor


class _Robot:
    """Requirements on one robot."""

    def __init__(self, checks: Checks, backend: Any, robot: Tree, bound: Bound) -> None:
        self.checks, self.backend, self.robot, self.bound = checks, backend, robot, bound
        self.states = [random_state(robot, seed) for seed in range(STATES)]

    def check(self) -> None:
        """Check all requirements."""
        can, robot = self.backend.capabilities, self.robot
        inertias = mass_matrix(robot, self.states[0].q, armature=np.zeros(robot.nv)).diagonal()
        rotors = np.linspace(0.01, 0.1, robot.nv) * inertias  # up to a tenth of the joints' inertias
        self.solves("the equation of motion", lambda state: {})
        if can.external_forces:
            self.solves("external forces", lambda state: {"f_ext": state.f_ext})
        self.solves("another gravity", lambda state: {"gravity": (1.0, -2.0, 3.0)})
        if can.armature:
            self.solves("another armature", lambda state: {"armature": rotors})
        if can.batches:
            with self.checks.require("batches are their states side by side", robot.name):
                self.batches()
        with self.checks.require("gives the same bits twice, in fresh arrays, and leaves arguments alone", robot.name):
            self.repeats()
        for label in ("q", "v", "tau"):
            self.refuses(label)

    def solves(self, what: str, options: Callable[[State], dict[str, Any]]) -> None:
        """Check that forward dynamics inverts inverse dynamics."""
        robot, forward = self.robot, self.backend.forward_dynamics
        with self.checks.require(f"solves {what}", robot.name):
            for state in self.states:
                given = options(state)
                tau = inverse_dynamics(robot, state.q, state.v, state.a, **given)
                found = demand_array(forward(robot, state.q, state.v, tau, **given), (robot.nv,), "qdd")
                bound = self.bound(robot, state.q, state.v, tau, state.a, **given)
                demand_near(found, state.a, bound, "qdd")

    def batches(self) -> None:
        """Check leading axes, and broadcasting of single states against several."""
        robot, forward = self.robot, self.backend.forward_dynamics
        q, v, tau = (np.array([getattr(state, label) for state in self.states]) for label in ("q", "v", "tau"))
        together = demand_array(forward(robot, q[:, None], v[:, None], tau), (STATES, STATES, robot.nv), "qdd")
        for k in range(STATES):
            for j in range(STATES):
                alone = forward(robot, q[k], v[k], tau[j])
                bound = 2 * self.bound(robot, q[k], v[k], tau[j], alone)  # both sides have errors
                demand_near(together[k, j], alone, bound, f"qdd[{k}, {j}] against that of the state alone")
        demand_array(forward(robot, q[:0], v[:0], tau[:0]), (0, robot.nv), "qdd of no states")

    def repeats(self) -> None:
        """Check that results depend on the arguments only, and that arguments do not change."""
        state = self.states[0]
        given = [x.copy() for x in (state.q, state.v, state.tau)]
        for array in given:
            array.setflags(write=False)
        first, second = (self.backend.forward_dynamics(self.robot, *given) for _ in range(2))
        demand(bool(np.array_equal(first, second)), "the second call gives other bits than the first")
        demand(not any(np.shares_memory(first, x) for x in (second, *given)), "a result shares memory")

    def refuses(self, label: str) -> None:
        """Check that a wrong shape and NaN raise errors."""
        labels, state = ("q", "v", "tau"), self.states[0]
        given = [getattr(state, name) for name in labels]
        place = labels.index(label)
        wrongs: tuple[tuple[str, type[Exception], np.ndarray], ...] = (
            ("of a wrong shape", ArgumentError, np.zeros(len(given[place]) + 1)),
            ("of NaN", NonFiniteError, given[place] * np.nan),
        )
        for what, kind, wrong in wrongs:
            changed = [wrong if k == place else x for k, x in enumerate(given)]
            with self.checks.require(f"refuses {label} {what}", self.robot.name):
                call = partial(self.backend.forward_dynamics, self.robot, *changed)
                demand_error(kind, call, label, f"{label} {what}")
