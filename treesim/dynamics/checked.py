"""Backends whose accelerations are checked by inverse dynamics (`kernels.published.residual_check`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..engine.call.evaluate import Runner, run_states
from ..errors import AccuracyError, NonFiniteError, SingularInertiaError
from ..kernels.dynamics.aba import forward_dynamics_states
from ..kernels.entries.status import FINE, NOT_FINITE
from ..kernels.published.residual_check import (
    REFINED,
    REFUSED,
    cheap_residual_states,
    checked_entry,
    residual_states,
    transforms_second,
)
from ..model.tree import Tree
from ..states.states import on_states
from ..types import Engine
from .base import CompiledBackend, explain_failure

NO_GRAVITY = (0.0, 0.0, 0.0)
ROUNDINGS = 10  # growth of a residual that may be due to rounding errors


class CheckedBackend(CompiledBackend):
    """A backend whose method can lose more digits than articulated bodies; its entry checks and refines the result.

    method: entry of the method alone, whose operations are counted. transforms_in: as in `checked_entry`.
    """

    method: ClassVar[Callable[..., int]]
    transforms_in: ClassVar[Callable[[Any], Any]] = transforms_second

    def __init_subclass__(cls) -> None:
        if hasattr(cls, "method"):
            cls.entry = checked_entry(cls.method, cls.transforms_in)
        super().__init_subclass__()

    @classmethod
    def counted_entry(cls) -> Callable[..., int]:
        """Return the entry of the method alone."""
        return cls.method

    def improved(
        self,
        robot: Tree,
        q: ArrayLike,
        qdd: np.ndarray,
        residual: Callable[[np.ndarray], np.ndarray],
        armature: ArrayLike | None,
        engine: Engine,
    ) -> np.ndarray:
        """Return accelerations qdd (..., nv) after one step of refinement, unchanged where their residual would grow.

        residual: function that returns the forces (..., nv) that accelerations leave unexplained. The accelerations
        that these forces cause may be inaccurate, so they are not refused.
        """
        left, constants = residual(qdd), self.constants(robot, NO_GRAVITY, armature)
        given = {"q": q, "v": np.zeros(robot.nv), "tau": left, "f_ext": None}
        runner = None if robot.mimic_map is not None else self.runner(robot)
        entry = type(self).entry
        change = on_states(entry, robot, constants, given, accepted=NOT_FINITE, runner=runner, engine=engine)[0]
        found = qdd + change
        found = np.where(np.isfinite(found).all(axis=-1, keepdims=True), found, qdd)
        kept = _largest(residual(found)) > ROUNDINGS * _largest(left)
        return np.where(kept[..., None], qdd, found)

    def explain(
        self, robot: Tree, named: dict[str, np.ndarray], gravity: ArrayLike | None, armature: ArrayLike | None
    ) -> Exception:
        """Return the error: a singular mass matrix, loss of accuracy, or an overflow."""
        constants = self.constants(robot, gravity, armature)
        return explain_lost_digits(self, robot, named, constants, explain_failure(robot, named, armature))


def _largest(x: np.ndarray) -> np.ndarray:
    """Return the largest absolute value (...) of each state of x (..., n)."""
    return np.asarray(np.abs(x).max(axis=-1, initial=0.0))


def checked_stages(run: Runner) -> Runner:
    """Return the runner of a method's stages with the check: states that need a refinement run by the entry."""

    def checked(
        entry: Callable[..., int],
        constants: Sequence[Any],
        inputs: list[np.ndarray],
        outputs: list[np.ndarray],
        engine: str,
    ) -> int:
        found = [np.empty(x.shape) for x in outputs]  # in double precision also for results in single precision
        status, given = run(entry, constants, inputs, found, engine), [*inputs, *found]
        small = (_is_small(test, constants, given) for test in (cheap_residual_states, residual_states))
        if status != FINE or not any(small):
            return run_states(entry, constants, inputs, outputs, engine)
        for output, double in zip(outputs, found, strict=True):
            output[...] = double
        return FINE

    return checked


def _is_small(entry: Callable[..., int], constants: Sequence[Any], arrays: list[np.ndarray]) -> bool:
    """Return whether the residuals of all states are so small, by an entry of residuals, that none is refined."""
    sizes = np.empty((len(arrays[0]), 2))
    status = run_states(entry, constants, arrays, [sizes], "generic")
    return status == FINE and bool((sizes[:, 0] <= REFINED * sizes[:, 1]).all())


def explain_lost_digits(
    backend: CheckedBackend, robot: Tree, named: dict[str, np.ndarray], constants: Sequence[Any], general: Exception
) -> Exception:
    """Return AccuracyError if accelerations are refused, or are finite by the articulated-body algorithm only.

    Otherwise returns the error `general`. named: finite arguments in kernel coordinates.
    """
    if isinstance(general, SingularInertiaError) or "tau" not in named:
        return general
    given = {"f_ext": None, **named}
    left = _largest_residual(backend, robot, given, constants)
    if left is None:
        try:
            on_states(forward_dynamics_states, robot, constants, given)
        except NonFiniteError:
            return general
    why = left or ": its equations cannot be solved in double precision, as light links between heavy ones can cause"
    return AccuracyError(f"{backend.name} lost its digits on {robot.name!r}{why}; use the backend 'aba'")


def _largest_residual(
    backend: CheckedBackend, robot: Tree, given: dict[str, np.ndarray | None], constants: Sequence[Any]
) -> str | None:
    """Return the state with the largest residual, and the residual, as text; None if no residual is too large."""
    qdd = on_states(type(backend).entry, robot, constants, given, accepted=NOT_FINITE)[0]
    finite = np.isfinite(qdd).all(axis=-1)
    values = {**given, "qdd": np.where(finite[..., None], qdd, 0.0)}
    left, force = np.moveaxis(on_states(residual_states, robot, constants, values, accepted=NOT_FINITE)[0], -1, 0)
    too_large = finite & (left > REFUSED * force)
    if not too_large.any():
        return None
    part = np.divide(left, force, out=np.full(left.shape, np.inf), where=force > 0)
    worst = np.unravel_index(np.argmax(np.where(too_large, part, -1.0)), part.shape)
    state = f" in state {tuple(map(int, worst))}" if worst else ""
    return (
        f"{state}: by inverse dynamics, its accelerations leave {part[worst]:.1e} of the largest joint force "
        f"unexplained, more than {REFUSED:g}"
    )
