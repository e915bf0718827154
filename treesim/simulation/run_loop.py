"""Loop over the steps of a run, which are recorded, and the diagnosis of a run that ends early."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ..errors import NonFiniteError
from ..plugins import DEFAULT_INTEGRATOR
from .continuation import RunStart
from .controlled import NonFiniteTorqueError
from .durations import times_of_steps
from .recording import Recording
from .step_settings import speed_hint

if TYPE_CHECKING:
    from .simulation import Simulation

Progress = Callable[[int, int], None]


def record_run(
    simulation: Simulation, recording: Recording, steps: int, begin: RunStart, progress: Progress | None
) -> None:
    """Step and record all states; if an exception ends the loop, every state that was reached is recorded."""
    every = max(1, steps // 100)
    q, v, time = begin.q, begin.v, times_of_steps(begin.t, simulation.dt)
    k, q_next = 0, q
    system = simulation.system
    system.applied, system.failure, system.work = None, None, begin.work.copy()
    work, impulses, actuators = system.work, system.impulses, system.actuators
    try:
        for k in range(steps):
            work, impulses, actuators = system.work.copy(), system.impulses, system.actuators
            q_next, v_next = simulation.step(time(k), q, v)
            recording.add(time(k), q, v, system.applied, work)
            recording.add_contact(system.contact)
            recording.add_forces(system.table, system.on_welds)
            q, v = q_next, v_next
            if progress is not None and (k + 1) % every == 0:
                progress(k + 1, steps)
        k, system.applied, work, impulses, actuators = steps, None, system.work, system.impulses, system.actuators
        if not (np.isfinite(q).all() and np.isfinite(v).all()):
            raise NonFiniteError("the state is not finite")
        recording.add(time(steps), q, v, system.force(time(steps), q, v), work)
    except BaseException:
        latest = recording.count == k or (recording.count == k + 1 and q is q_next)  # else (q, v) is there already
        if latest and np.isfinite(q).all() and np.isfinite(v).all():
            known = system.applied if recording.count == k else None
            done = work if recording.count == k else system.work
            recording.add(time(recording.count), q, v, known, done)
        if recording.count == k + 1:  # the last state is that before the step which failed
            system.impulses, system.actuators = impulses, actuators
        raise


def diagnosis(simulation: Simulation, recording: Recording, error: Exception) -> str:
    """Return why a run ended early, and what would help, from the recorded states and the error of the dynamics."""
    t = recording.t[recording.count - 1] if recording.count else 0.0
    if not isinstance(error, NonFiniteError):
        return f"at t = {t:.6g} s: {error}"
    joint = recording.fastest_joint()
    if isinstance(error, NonFiniteTorqueError):
        return (
            f"at t = {t:.6g} s: {error}; joint {joint!r} moves fastest: look at the controller, "
            f"or take a smaller step than dt = {simulation.dt:g} s"
        )
    own = simulation.integrator == DEFAULT_INTEGRATOR
    other = ", or more substeps" if own else f" or integrator {DEFAULT_INTEGRATOR!r}"
    return (
        f"the state is no longer finite after t = {t:.6g} s ({error}); joint {joint!r} moves fastest: "
        f"take a smaller step than dt = {simulation.dt:g} s{other}, add damping, or lower the gains"
        f"{speed_hint(simulation.robot)}"
    )
