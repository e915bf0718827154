"""Warnings of bodies that a step has moved deep into others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import ContactWarning, quoted
from ..kernels.contact.layout import INFO
from ..system.user_warnings import warn
from .checks import ContactChecks
from .history import ContactHistory
from .report import ContactReport
from .tables import DEEP, Touching


def warn_of_run(touching: Touching, history: ContactHistory | None, t: np.ndarray, dt: float) -> None:
    """Warn once of a simulation in which an overlap became deep within a step.

    The overlap that a step of large rotation causes appears in the diagnostics of the next one. t (K,): start times of
    the steps [s].
    """
    least = touching.largest_overlap
    if history is None or len(history) < 2 or least == np.inf:
        return
    depth = history.solver_info[:, INFO.penetration]
    growth = np.maximum(depth[1:] - depth[:-1], 0)
    for k in np.flatnonzero(growth > least)[np.argsort(-growth[growth > least], kind="stable")]:
        force = np.linalg.norm(history.wrench_array[k : k + 2, :, :3], axis=-1).max(axis=0)
        body = int(force.argmax())
        radius = touching.radii[body]
        if growth[k] > DEEP * radius:
            _warn(history.bodies[body], depth[k + 1], radius, f"the steps from t = {t[k]:.6g} s on", dt)
            return


def warn_of_step(report: ContactReport, names: Sequence[str], dt: float) -> bool:
    """Warn of a step of one state or a batch that ends with a deep overlap; return whether there is one.

    It may have started with the overlap. names: of the bodies.
    """
    touching, solver_info = report.touching, report.solver_info
    depth = solver_info[..., INFO.penetration].ravel()
    worst = int(depth.argmax()) if depth.size else 0
    if not depth.size or not depth[worst] > touching.largest_overlap:
        return False
    body = int(deepest_bodies(report.wrench_array.reshape(-1, *report.wrench_array.shape[-2:])[worst], touching.bodies))
    radius = touching.radii[touching.bodies.index(body)]
    deep = bool(depth[worst] > DEEP * radius)
    if deep:
        which = f"a step of state {worst}" if solver_info.ndim > 1 else "a step"
        _warn(names[body - 1], depth[worst], radius, which, dt)
    return deep


def deepest_bodies(wrench: np.ndarray, bodies: Sequence[int]) -> np.ndarray:
    """Return those of the bodies (...) on which the largest contact forces act, of wrenches (..., N + 1, 6)."""
    force = np.linalg.norm(wrench[..., list(bodies), :3], axis=-1)
    return np.array(bodies)[force.argmax(axis=-1)]


def warn_of_states(touching: Touching, checks: ContactChecks, names: Sequence[str], dt: float, what: str) -> bool:
    """Warn of rollouts or states in which an overlap became deep within a step; return whether there are any.

    names: of the bodies. what: names the rollouts or states in the message.
    """
    if not (checks.growth > touching.largest_overlap).any():
        return False
    radii = np.full(len(names) + 1, np.inf)
    radii[list(touching.bodies)] = touching.radii
    deep = checks.growth > DEEP * radii[checks.body]
    if deep.any():
        worst = int(np.argmax(np.where(deep, checks.growth, 0.0)))
        body = int(checks.body[worst])
        when = f"step {checks.step[worst]} of number {worst}, the worst of {int(deep.sum())} such {what}"
        _warn(names[body - 1], checks.growth[worst], radii[body], when, dt)
    return bool(deep.any())


def _warn(body: str, depth: float, radius: float, when: str, dt: float) -> None:
    warn(
        f"body {quoted(body)}, of radius {radius:.3g} m, is up to {depth:.3g} m deep in what it touches after {when}: "
        f"a motion that turns or moves it too far in a step of {dt:.3g} s needs a smaller dt",
        ContactWarning,
    )
