"""Measure rollouts with parameters of each rollout's own, and simulations of MuJoCo.

python docs/measure/model_parameters.py [STEPS]

A call computes 512 rollouts of g1 with semi-implicit Euler, without joint limits, on one thread, and stores the last
state of each. MuJoCo's batch runs 64 simulations without contact and constraints, and records every configuration.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping

import mujoco
import numpy as np
from mujoco.batch import Batch
from treesim_lab.bench.timing import interleaved

import treesim

ROLLOUTS, SIMULATIONS, ROUNDS = 512, 64, 12
FIELDS = "body_mass", "body_inertia", "body_ipos", "dof_damping", "dof_armature", "opt.gravity"  # of MuJoCo's model


def parameters(robot: treesim.Tree, rng: np.random.Generator) -> dict[str, dict[str, np.ndarray]]:
    """Return the model parameters of each case: a value of every field for each rollout."""
    own, scale = [body.inertia for body in robot.bodies], rng.uniform(0.9, 1.1, (ROLLOUTS, robot.n_bodies))
    mass = {"mass": scale * [x.mass for x in own]}
    inertial = {
        **mass,
        "inertia": np.array([x.rotational for x in own]) * scale[..., None, None],
        "center_of_mass": np.array([x.com for x in own]) + 0.001 * rng.normal(size=(ROLLOUTS, robot.n_bodies, 3)),
    }
    gravity = {"gravity": rng.normal((0, 0, -9.81), 0.1, size=(ROLLOUTS, 3))}
    joints = {
        "damping": rng.uniform(0, 0.01, (ROLLOUTS, robot.nv)),
        "armature": rng.uniform(0.01, 0.1, (ROLLOUTS, robot.nv)),
    }
    cases: list[dict[str, np.ndarray]] = [{}, mass, gravity, inertial, joints, {**inertial, **joints, **gravity}]
    return {", ".join(case) or "none": case for case in cases}


def rollouts(robot: treesim.Tree, steps: int, fields: Mapping[str, np.ndarray]) -> Callable[[], object]:
    """Return a call that computes rollouts with these parameters."""
    rng = np.random.default_rng(1)
    world = treesim.World(robot, use_limits=False)
    q, v = np.tile(robot.neutral(), (ROLLOUTS, 1)), 0.01 * rng.normal(size=(ROLLOUTS, robot.nv))
    return lambda: treesim.rollout(
        world,
        q,
        v,
        steps=steps,
        every=steps,
        integrator="semi_implicit_euler",
        threads=1,
        model_parameters=fields or None,
    )


def simulations(robot: treesim.Tree, steps: int, fields: tuple[str, ...]) -> Callable[[], object]:
    """Return a call of MuJoCo's batch, with own values of these fields for each simulation."""
    rng = np.random.default_rng(0)
    model = treesim.to_mujoco(robot)
    model.opt.timestep, model.opt.integrator = 1e-3, mujoco.mjtIntegrator.mjINT_EULER
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT) | int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    batch = Batch(model, nsim=SIMULATIONS, nthread=1)
    for name in fields:
        x = batch.expand(name)
        x[:] = x * rng.uniform(0.9, 1.1, x.shape)
    if fields:
        batch.set_const()
    qpos, qvel = batch.bind("qpos"), batch.bind("qvel")

    def call() -> None:
        qpos[:], qvel[:] = model.qpos0, 0.0
        batch.rollout(steps, record=("qpos",))

    return call


def main(steps: int = 250) -> None:
    """Print the times of all cases."""
    robot = treesim.load("g1_29dof_rev_1_0", base="floating")
    calls = {
        case: rollouts(robot, steps, fields) for case, fields in parameters(robot, np.random.default_rng(0)).items()
    }
    calls["MuJoCo, none"] = simulations(robot, steps, ())
    calls["MuJoCo, " + ", ".join(FIELDS)] = simulations(robot, steps, FIELDS)
    found = interleaved(calls, ROUNDS)
    print("time of a step")
    first, width = found["none"].min_us, max(map(len, calls))
    print(f"{'fields with a value for each rollout':{width}}  min [ns]  median [ns]  relative")
    for case, timing in found.items():
        count = (SIMULATIONS if case.startswith("MuJoCo") else ROLLOUTS) * steps
        low, middle = (1e3 * us / count for us in (timing.min_us, timing.median_us))
        ratio = "-" if case.startswith("MuJoCo") else f"{timing.min_us / first:.2f}"
        print(f"{case:{width}}  {low:8.0f}  {middle:11.0f}  {ratio:>8}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
