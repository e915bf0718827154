"""Rollouts of a standing robot with everything that may be requested, and how much longer they take than without."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from treesim import measures
from treesim.contact.ground import Ground
from treesim.model.tree import Tree
from treesim.rollouts.rollout import rollout
from treesim.simulation.sensors import ContactForce
from treesim.simulation.world import World
from treesim.states.standing import standing
from treesim.urdf import load

from .results import Benchmark
from .timing import interleaved

DT = 1e-3  # s
SETTLES = 300  # steps from the neutral posture to the states that are timed
KP = 300.0  # N m/rad
DAMPING_TIME = 0.05  # s: kd = 0.05 s kp
PLAIN = "nothing"


def time_requests(
    robot: str | Tree = "g1_29dof_rev_1_0", kp: float = KP, rounds: int = 5, count: int = 128, steps: int = 20
) -> Benchmark:
    """Time rollouts of a standing robot on one thread, in turns: plain ones, and with each request and with several.

    Requests are an external force on the base, measures of a state and of a contact force, a sensor of contact, and
    gains, friction and mass of each rollout. The robot stands on a plane, with its limits, from states that differ.

    Parameters
    ----------
    robot : str or Tree
        Any source that `treesim.load` reads, or a tree, with a floating base and collision shapes.
    kp : float
        Gain [N m/rad, N/m] of every joint towards the neutral posture; kd = kp 0.05 s.
    rounds : int
        Number of turns of each call.
    count, steps : int
        Number of rollouts and of their steps.

    Returns
    -------
    Benchmark
        Rows by request: seconds per state and step, and "factor", the ratio to plain rollouts.

    Raises
    ------
    ArgumentError
        If the robot has no single floating base, or nothing to stand on.
    """
    tree = robot if isinstance(robot, Tree) else load(robot, base="floating")
    world, touching = World(tree, ground=Ground()), World(tree, ground=Ground()).touching
    body = tree.body_names[touching.bodies[-1] - 1]
    sensed = World(tree, ground=Ground(), sensors=[ContactForce(body)])
    rng, base = np.random.default_rng(0), tree.body_names[0]
    gains = kp * np.r_[np.zeros(6), np.ones(tree.nv - 6)]
    how: dict[str, Any] = {"dt": DT, "kp": gains, "kd": DAMPING_TIME * gains, "threads": 1}
    q = np.tile(standing(tree, tree.clamp(tree.neutral())), (count, 1))
    v = np.concatenate([np.zeros((count, 6)), rng.uniform(-0.1, 0.1, (count, tree.nv - 6))], axis=1)
    u = np.zeros((count, tree.nv))
    for joint, where in tree.v_index.items():
        if where.start >= 6 and where.stop == where.start + 1:
            u[:, where.start] = q[:, tree.q_index[joint].start]
    settled = rollout(world, q, v, np.repeat(u[:, None], SETTLES, 1), keep="last", **how)
    q, v, u = settled.q[:, -1], settled.v[:, -1], np.repeat(u[:, None], steps, 1)

    force = {"f_ext": {base: np.zeros(6)}}
    measure = {"measure": {"load": measures.maximum(lambda t, q, v, p, c: c[body][2])}}
    friction = {"ground_friction": rng.uniform(0.5, 1.0, count)}
    mass = {"mass": {base: tree.bodies[0].inertia.mass * rng.uniform(0.8, 1.2, count)}}
    requests: dict[str, dict[str, Any]] = {
        PLAIN: {},
        "force on a link": force,
        "measure of a contact force": measure,
        "contact sensor": {"world": sensed},
        "friction of each": {"model_parameters": friction},
        "these four together": {**force, **measure, "model_parameters": friction, "world": sensed},
        "measure of the state": {"measure": {"height": measures.minimum(lambda t, q, v: q[2])}},
        "gains of each": {"model_parameters": {"kp": gains * rng.uniform(0.8, 1.0, (count, 1))}},
        "mass of each": {"model_parameters": mass},
        "friction and mass of each": {"model_parameters": friction | mass},
    }

    def call(world: World = world, **more: Any) -> Any:
        return rollout(world, q, v, u, **how, **more)

    timings = interleaved({name: partial(call, **more) for name, more in requests.items()}, rounds)
    each, plain = 1e-6 / (count * steps), timings[PLAIN].min_us
    rows = tuple(
        {
            "request": name, "min_s": each * timing.min_us, "median_s": each * timing.median_us,
            "factor": timing.min_us / plain,
        }
        for name, timing in timings.items()
    )  # fmt: skip
    return Benchmark("requests", tree.name, "floating", tree.nv, rows, rounds, count, more={"dt": DT, "steps": steps})
