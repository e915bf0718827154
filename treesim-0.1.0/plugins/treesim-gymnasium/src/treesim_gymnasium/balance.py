"""Inverted double pendulum on a cart, as in Gymnasium's MuJoCo tasks."""

from __future__ import annotations

from typing import Any

import numpy as np

import treesim
from treesim import Body, Inertia, Joint, Placement, Tree, Visual
from treesim.numbers import less, maximum, minimum

from .task import Task

DENSITY = 1000.0  # kg/m^3
POLE, THICKNESS = 0.6, 0.045  # m: length of a pole between its ends' centres, and its radius
CART = 0.2, 0.1  # m
RAIL, FORCE, DAMPING = 1.0, 500.0, 0.05  # m to either side, N, and N s/m or N m s
FASTEST = 10.0  # m/s, rad/s: clipping of observed velocities
FALLEN = 1.0  # m: of the tip's height, of 1.2
NOISE = 0.1  # m, rad, m/s, rad/s: to either side


def balance() -> Task:
    """Return the task of balancing two poles on a cart; episodes begin near the upright rest position.

    Action: cart force. Observation: position, sines and cosines of the angles, and velocities clipped at 10.
    Reward: 10 a step while the tip is above 1 m, minus costs of the state, as in Gymnasium's
    InvertedDoublePendulum-v5.

    Examples
    --------
    >>> from treesim_gymnasium import balance
    >>> balance().robot
    <Tree 'cart_and_two_poles': 3 bodies, nq 3, nv 3, 18.8695 kg>
    """
    return Task(
        world=treesim.World(cart_and_two_poles()),
        observe=observe,
        reward=reward,
        terminated=terminated,
        reset=reset,
        random=6,
        joints=["slider"],
        observation_low=-FASTEST,
        observation_high=FASTEST,
        dt=0.01,
        steps=5,
        substeps=2,
    )


def cart_and_two_poles() -> Tree:
    """Return the robot: solid capsules on a rail along x."""
    up = Placement(translation=np.array([0.0, 0.0, POLE]))
    along_x = Placement.from_xyz_rpy(rpy=(0.0, np.pi / 2, 0.0))
    slider = Joint("slider", "prismatic", axis=(1, 0, 0), lower=-RAIL, upper=RAIL, effort_limit=FORCE, damping=DAMPING)
    hinges = [Joint(name, "continuous", placement=at, axis=(0, 1, 0), damping=DAMPING) for name, at in
              (("hinge", Placement()), ("hinge2", up))]  # fmt: skip
    middle = Placement(translation=np.array([0.0, 0.0, POLE / 2]))
    pole = capsule(POLE, THICKNESS).in_frame(middle)
    bodies = [
        Body("cart", 0, slider, capsule(*CART).in_frame(along_x)),
        Body("pole", 1, hinges[0], pole),
        Body("pole2", 2, hinges[1], pole),
    ]
    visuals = [
        Visual(1, along_x, "capsule", CART[::-1], color=(0.85, 0.55, 0.2, 1)),
        *(Visual(k, middle, "capsule", (THICKNESS, POLE), color=(0.3, 0.5, 0.7, 1)) for k in (2, 3)),
    ]
    return Tree("cart_and_two_poles", bodies, visuals=visuals)


def capsule(length: float, radius: float) -> Inertia:
    """Return the inertia of a solid cylinder along z with a hemisphere at either end, about its centre."""
    tube, ball = DENSITY * np.pi * radius**2 * length, DENSITY * 4 / 3 * np.pi * radius**3
    along = tube * radius**2 / 2 + ball * 2 / 5 * radius**2
    across = tube * (length**2 / 12 + radius**2 / 4)
    across += ball * (2 / 5 * radius**2 + length**2 / 4 + 3 / 8 * length * radius)
    return Inertia(tube + ball, np.zeros(3), np.diag([across, across, along]))


def tip(q: Any) -> tuple[Any, Any]:
    """Return x and z of the upper pole's end [m]."""
    upper = q[1] + q[2]
    return q[0] + POLE * (np.sin(q[1]) + np.sin(upper)), POLE * (np.cos(q[1]) + np.cos(upper))


def observe(t: Any, q: Any, v: Any, p: Any) -> list[Any]:
    """Return position, sines, cosines and velocities."""
    seen = [maximum(minimum(rate, FASTEST), -FASTEST) for rate in v]
    return [q[0], np.sin(q[1]), np.sin(q[2]), np.cos(q[1]), np.cos(q[2]), *seen]


def terminated(t: Any, q: Any, v: Any, p: Any) -> Any:
    """Return whether the tip is too low."""
    return less(tip(q)[1], FALLEN)


def reward(t: Any, q: Any, v: Any, p: Any, a: Any) -> Any:
    """Return 10 while the poles are up, minus costs of the tip's position and of the poles' angular velocities."""
    x, z = tip(q)
    place, rates = 0.01 * x**2 + (z - 2.0) ** 2, 1e-3 * v[1] ** 2 + 5e-3 * v[2] ** 2
    return 10.0 * (1.0 - terminated(t, q, v, p)) - place - rates


def reset(x: Any, q: Any, v: Any, p: Any) -> None:
    """Write a random state near the upright rest position to q and v."""
    q[:] = NOISE * (2.0 * x[:3] - 1.0)
    v[:] = NOISE * (2.0 * x[3:] - 1.0)
