"""Timed calls of MuJoCo for the benchmark."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np

from treesim.compare.cases import (
    FORWARD,
    FORWARD_DERIVATIVES,
    INVERSE,
    MASS,
    ROLLOUT,
    SOLVE,
    BenchmarkCase,
    Call,
    Motion,
    States,
)

if TYPE_CHECKING:
    from .layout import MujocoLayout

ENGINE = "MuJoCo"
BEFORE = "mj_kinematics and mj_comPos come before: a call each"
DIFFERENCE = 1e-6  # of coordinates, as in MuJoCo's examples
OFF = "contacts, limits and other constraints are off"
STEPPED = f"semi-implicit Euler by mj_step; also kinematics of all frames and centres of mass in each step; {OFF}"


def calls(model: Any, data: Any, layout: MujocoLayout, state: States) -> list[BenchmarkCase]:
    """Return the calls on one state, which is written to MuJoCo's data beforehand."""
    q, v = state.q, state.v
    data.qpos[:] = layout.configuration_to_engine(q)
    data.qvel[:] = layout.velocity_to_engine(q, v)
    data.qfrc_applied[:] = layout.force_to_engine(q, state.tau)
    data.qacc[:] = layout.acceleration_to_engine(q, v, state.a)
    inverse = mujoco.MjData(model)  # forward dynamics overwrites the input acceleration of inverse dynamics
    inverse.qpos[:], inverse.qvel[:], inverse.qacc[:] = data.qpos, data.qvel, data.qacc
    full, tau = np.empty((model.nv, model.nv)), np.array(data.qfrc_applied)[None]
    solution = np.empty((1, model.nv))

    def forward() -> np.ndarray:
        mujoco.mj_forward(model, data)
        return data.qacc

    def inverse_dynamics() -> np.ndarray:
        mujoco.mj_inverse(model, inverse)
        return inverse.qfrc_inverse

    def mass_matrix() -> np.ndarray:
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_makeM(model, data)
        mujoco.mj_fullM(model, data, full)
        return full

    def solve() -> np.ndarray:
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_makeM(model, data)
        mujoco.mj_factorM(model, data)
        mujoco.mj_solveM(model, data, solution, tau)
        return solution[0]

    more = f"also poses and centres of mass in world axes; {OFF}"
    return [
        BenchmarkCase(ENGINE, "mj_forward", FORWARD, forward,
                      lambda: layout.acceleration_from_engine(q, v, np.array(forward())),
                      f"by the mass matrix and its LTDL factors, which it keeps; {more}"),
        BenchmarkCase(ENGINE, "mj_inverse", INVERSE, inverse_dynamics,
                      lambda: layout.force_from_engine(q, np.array(inverse_dynamics())),
                      f"also the mass matrix; {more}"),
        BenchmarkCase(ENGINE, "mj_makeM, mj_fullM", MASS, mass_matrix,
                      lambda: layout.matrix_from_engine(q, np.array(mass_matrix())), BEFORE),
        BenchmarkCase(ENGINE, "mj_makeM, mj_factorM, mj_solveM", SOLVE, solve,
                      lambda: layout.velocity_from_engine(q, np.array(solve())), BEFORE),
    ]  # fmt: skip


def derivatives(model: Any, layout: MujocoLayout, states: States) -> list[BenchmarkCase]:
    """Return mjd_transitionFD of one state after the other; its result, that of a step, is not compared."""
    data, A = mujoco.MjData(model), np.empty((2 * model.nv, 2 * model.nv))
    given = (
        layout.configuration_to_engine(states.q),
        layout.velocity_to_engine(states.q, states.v),
        layout.force_to_engine(states.q, states.tau),
    )
    arguments = list(zip(*given, strict=True))

    def call() -> np.ndarray:
        for data.qpos[:], data.qvel[:], data.qfrc_applied[:] in arguments:
            mujoco.mjd_transitionFD(model, data, DIFFERENCE, False, A, None, None, None)
        return A

    does = f"one-sided differences of a step in q and v, none in forces; setting the state is timed; {OFF}"
    return [
        BenchmarkCase(ENGINE, "mjd_transitionFD", FORWARD_DERIVATIVES, call, lambda: None, does, states=len(arguments))
    ]


def rollouts(model: Any, layout: MujocoLayout, motion: Motion, threads: int) -> list[BenchmarkCase]:
    """Return mujoco.rollout and mujoco.batch, under the same forces and with the same time step.

    Both store every state, in new and in existing arrays.
    """
    model.opt.timestep = motion.dt
    count, steps = motion.controls.shape[:2]
    q0, v0 = layout.configuration_to_engine(motion.q0), layout.velocity_to_engine(motion.q0, motion.v0)
    controls = np.ascontiguousarray(motion.controls[..., layout.v_order])
    found = []
    kind = int(mujoco.mjtState.mjSTATE_QFRC_APPLIED)
    for name, new, into, last in (
        ("mujoco.rollout", *by_rollout(model, q0, v0, controls, kind, threads)),
        ("mujoco.batch", *by_batch(model, q0, v0, controls, kind, threads)),
    ):
        result = _in_our_layout(layout, last)
        cases = ((name, new, "a new array"), (f"{name}, {_OUT[name]}=", into, "an array that is there"))
        found += [
            BenchmarkCase(ENGINE, label, ROLLOUT, call, result, f"{STEPPED}; {_KEPT[name]}, in {where}",
                          states=count * steps)
            for label, call, where in cases
        ]  # fmt: skip
    return found


_OUT = {"mujoco.rollout": "state", "mujoco.batch": "out"}
_KEPT = {
    "mujoco.rollout": "keeps every state",
    "mujoco.batch": "every simulation's row is set to the start before; keeps every q and v",
}


def _in_our_layout(layout: MujocoLayout, last: Call) -> Call:
    """Return a call that returns the final configurations in treesim's layout."""
    return lambda: layout.configuration_from_engine(last())


def by_rollout(
    model: Any, q0: np.ndarray, v0: np.ndarray, controls: np.ndarray, kind: int, threads: int
) -> tuple[Call, Call, Callable[[], np.ndarray]]:
    """Return `mujoco.rollout` into new arrays and into an existing one, and its final configurations.

    kind: the part of MuJoCo's state that the controls are.
    """
    from mujoco import rollout

    count, steps = controls.shape[:2]
    start = np.zeros((count, mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)))
    end = 1 + model.nq
    start[:, 1:end], start[:, end : end + model.nv] = q0, v0  # after the time
    runner = rollout.Rollout(nthread=threads if threads > 1 else 0)
    data = [mujoco.MjData(model) for _ in range(threads)]

    def run() -> np.ndarray:
        states, _ = runner.rollout(model, data, start, controls, control_spec=kind, nstep=steps)
        return states

    kept = np.empty((count, steps, start.shape[1]))

    def run_into() -> np.ndarray:
        runner.rollout(model, data, start, controls, control_spec=kind, nstep=steps, state=kept)
        return kept

    return run, run_into, lambda: run()[:, -1, 1:end]


def by_batch(
    model: Any, q0: np.ndarray, v0: np.ndarray, controls: np.ndarray, kind: int, threads: int
) -> tuple[Call, Call, Callable[[], np.ndarray]]:
    """Return `mujoco.batch` into new arrays and into existing ones, and its final configurations.

    Its simulations continue from their current states, so every run begins by resetting them.
    """
    from mujoco.batch import Batch

    steps = controls.shape[1]
    batch = Batch(model, nsim=len(q0), nthread=threads)
    qpos, qvel, time, warm = (batch.bind(name) for name in ("qpos", "qvel", "time", "qacc_warmstart"))
    record = ("qpos", "qvel")

    def run(out: dict[str, np.ndarray] | None = None) -> dict[str, np.ndarray]:
        qpos[:], qvel[:], time[:], warm[:] = q0, v0, 0.0, 0.0
        return batch.rollout(steps, controls, control_spec=kind, record=record, out=out)

    kept = run()
    return run, lambda: run(kept), lambda: run()["qpos"][:, -1]
