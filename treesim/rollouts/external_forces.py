"""External forces of rollouts: the tables of wrenches that kernels read, of any rollouts at any step."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from ..errors import ArgumentError, NonFiniteError, quoted
from ..model.named_axes import wrenches_argument
from ..simulation.external_forces import ExternalForce, checked_forces, described_forces, holds_forces, wrench_table
from ..simulation.world import World
from ..states.arguments import short_repr
from ..validation.arrays import Argument, coerce


class RolloutForces:
    """External forces of rollouts by the number of the step.

    f_ext: as in `treesim.rollout`. first: number of the first step. elapsed: steps before it, which count for the
    times of `ExternalForce`. counts: numbers of rollouts in f_ext. Raises ArgumentError, NonFiniteError,
    UnknownNameError.
    """

    def __init__(self, world: World, f_ext: Any, dt: float, first: int = 0, elapsed: int = 0) -> None:
        self.robot, self.dt, self.first, self.elapsed = world.robot, dt, first, elapsed
        robot, refuse = world.robot, partial(world.kinematic_bodies.refuse_forces, "f_ext")
        self.counts: set[int] = set()
        self._timed: tuple[ExternalForce, ...] = ()
        self._of_steps: dict[Any, np.ndarray] = {}  # wrenches (B or 1, steps, 6) on links
        self._of_times: dict[tuple[bool, ...], np.ndarray] = {}  # tables (1, 21 N), by which forces act, if on welds
        constant: Any = {}
        if callable(f_ext):
            raise ArgumentError(
                "f_ext of rollouts cannot be a function: give ExternalForce objects, or wrenches of every step as "
                "{link: (B, steps, 6)}"
            )
        if isinstance(f_ext, Mapping):
            given = {link: self._on_link(link, value) for link, value in f_ext.items()}
            constant = {link: x for link, x in given.items() if x.ndim < 3}
            self._of_steps = {link: x for link, x in given.items() if x.ndim == 3}
            largest = {link: np.abs(x).max(axis=(0, 1), initial=0.0) for link, x in self._of_steps.items()}
            refuse(wrench_table(robot, largest, 0.0))  # and unknown links
        elif isinstance(f_ext, ExternalForce) or holds_forces(f_ext):
            self._timed = checked_forces(robot, f_ext)
            for force in self._timed:
                refuse(wrench_table(robot, force, force.start))
        else:
            constant = self._on_bodies(f_ext)
        count = max(self.counts, default=1)
        refuse(wrench_table(robot, constant, 0.0, (count,)))
        tables = [wrench_table(robot, constant, 0.0, (count,), welds) for welds in (False, True)]
        self._constant, self._constant_on_welds = (x.reshape(count, x.shape[1] * x.shape[2]) for x in tables)

    def _on_link(self, link: Any, value: Any) -> np.ndarray:
        """Return wrenches (6,), (B, 6) or (B, steps, 6) on a link."""
        label = f"f_ext of {short_repr(link)}"
        given = coerce(Argument(label, value, (6,)))
        if given.ndim > 3:
            raise ArgumentError(f"{label} has shape {given.shape}, but (6,), (B, 6) or (B, steps, 6) is needed")
        if not np.isfinite(given).all():
            raise NonFiniteError(f"{label} is not finite")
        self._count(label, given, 1)
        return given

    def _on_bodies(self, value: Any) -> np.ndarray:
        """Return wrenches (N, 6) or (B, N, 6) on all bodies."""
        shape = (self.robot.n_bodies, 6)
        given = coerce(wrenches_argument(self.robot, value))
        if given.ndim > 3:
            raise ArgumentError(f"f_ext has shape {given.shape}, but {shape} or (B, {shape[0]}, 6) is needed")
        self._count("f_ext", given, 2)
        return given

    def check_steps(self, steps: int) -> None:
        """Raise ArgumentError if there are wrenches for another number of steps."""
        for link, x in self._of_steps.items():
            if x.shape[1] != steps:
                raise ArgumentError(
                    f"f_ext of {quoted(link)} has wrenches for {x.shape[1]} steps, but there are {steps}"
                )

    def _count(self, label: str, given: np.ndarray, own: int) -> None:
        """Include an array, whose last `own` axes are one rollout's, in the numbers of rollouts."""
        if given.ndim > own and len(given) != 1:
            self.counts.add(len(given))
        if len(self.counts) > 1:
            raise ArgumentError(f"{label} has {len(given)} rows, but other wrenches have {min(self.counts)}")

    @property
    def description(self) -> dict[str, Any]:
        """Plain values that determine the forces."""
        of_steps = {str(link): x.tolist() for link, x in self._of_steps.items()}
        return {"constant": self._constant.tolist(), "of steps": of_steps, "timed": described_forces(self._timed)}

    def at(self, rows: slice, step: int, welds: bool = False) -> np.ndarray:
        """Return the table (n, 21 N) of the rollouts `rows` in a step, or (1, 21 N) if it is the same for all.

        welds: return the parts (n, 21 W) on welded links.
        """
        step -= self.first
        table = _of(self._constant_on_welds if welds else self._constant, rows)
        if self._timed:
            table = table + self._at_time(self.dt * (self.elapsed + step), welds)
        if self._of_steps:
            now = {link: _of(x, rows)[:, step] for link, x in self._of_steps.items()}
            count = max(len(x) for x in now.values())
            table = table + wrench_table(self.robot, now, 0.0, (count,), welds).reshape(count, -1)
        return table

    def _at_time(self, t: float, welds: bool) -> np.ndarray:
        """Return the table (1, 21 N), or (1, 21 W), of the forces that act at a time."""
        which = welds, *(force.acts(t) for force in self._timed)
        if which not in self._of_times:
            self._of_times[which] = wrench_table(self.robot, self._timed, t, (), welds).reshape(1, -1)
        return self._of_times[which]


def _of(x: np.ndarray, rows: slice) -> np.ndarray:
    return x[rows] if len(x) > 1 else x
