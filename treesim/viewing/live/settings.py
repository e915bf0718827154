"""Settings of a live simulation, and validation of a page's changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from ... import plugins
from ...errors import ArgumentError
from ...simulation.control import CONTROLLERS
from ...simulation.player import FASTEST, SLOWEST
from ...states.arguments import positive_number, short_repr
from ...types import ControllerName, IntegratorName, PluginKind
from ...validation.arrays import Argument, coerce
from ...validation.values import known_name
from .panel import POLICY

LONGEST_STEP = 0.1  # s: no robot moves sensibly in longer ones


@dataclass(frozen=True)
class Settings:
    """Settings of a live simulation.

    Parameters
    ----------
    backend : str
        Name of a backend, see `available("dynamics")`.
    integrator : str
        Name of an integrator, see `available("integrators")`.
    solver : str
        Name of a contact solver, see `available("contact_solvers")`.
    gravity : (float, float, float)
        Gravity [m/s^2].
    dt : float
        Step [s].
    controller : str
        Name of a controller, see `treesim.control.make_controller`, or "policy" for that of the scene.
    kp : float
        Position gain of the controller [N m/rad, N/m].
    kd : float
        Velocity gain of the controller [N m s/rad, N s/m].
    speed : float
        Speed of the motion as a multiple of real time.
    substeps : int, optional
        Number of equal parts of a step, as in `treesim.Simulation`. It cannot be changed during the simulation.

    Examples
    --------
    >>> settings = treesim.viewing.live.Settings(controller="hold", kp=500.0)
    >>> settings.changed({"dt": 2e-3}).dt
    0.002
    """

    backend: str = "aba"
    integrator: IntegratorName = plugins.DEFAULT_INTEGRATOR
    solver: str = "pgs"
    gravity: tuple[float, float, float] = (0.0, 0.0, -9.81)
    dt: float = 1e-3
    controller: ControllerName | Literal["policy"] = "none"
    kp: float = 100.0
    kd: float = 10.0
    speed: float = 1.0
    substeps: int | None = None

    def changed(self, values: Mapping[str, Any]) -> Settings:
        """Return the live simulation's settings with validated changes; names that are not settings are ignored.

        Parameters
        ----------
        values : mapping
            Changes by name.

        Returns
        -------
        Settings
            The changed settings.

        Raises
        ------
        ArgumentError, UnknownNameError
            If a value is invalid.
        """
        return replace(self, **{name: check(name, values[name]) for name, check in CHECKS.items() if name in values})


def _known(kind: PluginKind) -> Callable[[str, Any], str]:
    return lambda name, value: known_name(name, value, plugins.available(kind))


def _step(name: str, value: Any) -> float:
    return positive_number(name, value, most=LONGEST_STEP)


def _gain(name: str, value: Any) -> float:
    return positive_number(name, value, "gain", zero=True)


def check_speed(name: str, value: Any) -> float:
    """Return a validated playback speed, as a multiple of real time; raises ArgumentError."""
    speed = positive_number(name, value, "number")
    if not SLOWEST <= speed <= FASTEST:
        raise ArgumentError(f"{name} must be {SLOWEST:g} to {FASTEST:g} times real time, got {speed:g}")
    return speed


def _gravity(name: str, value: Any) -> tuple[float, ...]:
    g = coerce(Argument(name, value, (3,)))
    if g.shape != (3,) or not np.isfinite(g).all() or np.abs(g).max() > 1e4:
        raise ArgumentError(f"{name} must be three finite numbers [m/s^2], got {short_repr(value)}")
    return tuple(g.tolist())


CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "backend": _known("dynamics"),
    "integrator": _known("integrators"),
    "solver": _known("contact_solvers"),
    "gravity": _gravity,
    "dt": _step,
    "controller": lambda name, value: known_name(name, value, (*CONTROLLERS, POLICY)),
    "kp": _gain,
    "kd": _gain,
    "speed": check_speed,
}
