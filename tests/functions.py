"""The public functions of states, plain and bound, by name: what tests over all of them run through."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple

import numpy as np

import treesim
from treesim import Tree

ENGINES = ("auto", "generic")


class Function(NamedTuple):
    """A public function of a robot's state: its arguments, of q, v, x (accelerations or forces) and f (wrenches), and
    how to call it; all that it returns comes in one array."""

    arguments: str
    call: Callable[..., np.ndarray]


def plain(robot: Tree) -> dict[str, Function]:
    """Every plain function, with every backend and method."""
    first, last = robot.frame_names[0], robot.frame_names[-1]
    frames = [last, first]
    table = {
        "bias_forces": Function("qv", lambda q, v: treesim.bias_forces(robot, q, v)),
        "packed_mass_matrix": Function("q", lambda q: treesim.mass_matrix(robot, q, packed=True)),
        "solve_mass_matrix": Function("qx", lambda q, x: treesim.solve_mass_matrix(robot, q, x)),
        "inverse_mass_matrix": Function("q", lambda q: treesim.inverse_mass_matrix(robot, q)),
        "energy": Function("qv", lambda q, v: np.stack(treesim.energy(robot, q, v), axis=-1)),
        "momentum": Function("qv", lambda q, v: treesim.momentum(robot, q, v)),
        "body_poses": Function("q", lambda q: treesim.body_poses(robot, q)),
        "frame_pose": Function("q", lambda q: treesim.frame_pose(robot, q, last)),
        "frame_velocity": Function("qv", lambda q, v: treesim.frame_velocity(robot, q, v, last)),
        "frame_acceleration": Function("qvx", lambda q, v, x: treesim.frame_acceleration(robot, q, v, x, last)),
        "frame_poses": Function("q", lambda q: treesim.frame_poses(robot, q, frames)),
        "frame_jacobian_derivative": Function("qv", lambda q, v: treesim.frame_jacobian_derivative(robot, q, v, last)),
        "gravity_forces": Function("q", lambda q: treesim.gravity_forces(robot, q)),
        "coriolis_matrix": Function("qv", lambda q, v: treesim.coriolis_matrix(robot, q, v)),
        "centroidal_momentum": Function("qv", lambda q, v: treesim.centroidal_momentum(robot, q, v)),
        "centroidal_momentum_matrix": Function("q", lambda q: treesim.centroidal_momentum_matrix(robot, q)),
        "centroidal_dynamics": Function("qvx", lambda q, v, x: treesim.centroidal_dynamics(robot, q, v, x)),
        "joint_torque_regressor": Function("qvx", lambda q, v, x: treesim.joint_torque_regressor(robot, q, v, x)),
        "center_of_mass": Function("q", lambda q: treesim.center_of_mass(robot, q)),
        "center_of_mass_jacobian": Function("q", lambda q: treesim.center_of_mass_jacobian(robot, q)),
        "operational_space": Function("qv", lambda q, v: _space(robot, q, v, [last, treesim.CenterOfMassTask()])),
        "integrate": Function("qv", lambda q, v: robot.integrate(q, v)),
        "difference": Function("q", lambda q: robot.difference(q, q)),
        "forward_dynamics with f_ext": Function(
            "qvxf", lambda q, v, x, f: treesim.forward_dynamics(robot, q, v, x, f_ext=f)
        ),
        "joint_wrenches": Function("qvxf", lambda q, v, x, f: treesim.joint_wrenches(robot, q, v, x, f_ext=f)),
        "forward_dynamics refined": Function(
            "qvx", lambda q, v, x: treesim.forward_dynamics(robot, q, v, x, refinements=1)
        ),
    }
    for reference in ("world", "local"):
        table[f"frame_jacobian {reference}"] = Function(
            "q", lambda q, reference=reference: treesim.frame_jacobian(robot, q, last, reference=reference)
        )
    for name in treesim.available("dynamics"):
        table[f"forward_dynamics {name}"] = Function(
            "qvx", lambda q, v, x, name=name: treesim.forward_dynamics(robot, q, v, x, backend=name)
        )
    for method in ("rnea", "composite"):
        table[f"inverse_dynamics {method}"] = Function(
            "qvx", lambda q, v, x, method=method: treesim.inverse_dynamics(robot, q, v, x, method=method)
        )
    for method in ("crba", "symmetry", "direct"):
        table[f"mass_matrix {method}"] = Function(
            "q", lambda q, method=method: treesim.mass_matrix(robot, q, method=method)
        )
    for name in treesim.available("operational"):
        table[f"inverse_operational_inertia {name}"] = Function(
            "q", lambda q, name=name: treesim.inverse_operational_inertia(robot, q, frames, method=name)
        )
    for name in treesim.available("constrained"):
        table[f"constrained_dynamics {name}"] = Function(
            "qvx", lambda q, v, x, name=name: _constrained(robot, q, v, x, last, name)
        )
    table["constrained_dynamics_derivatives"] = Function("qvx", lambda q, v, x: _by_constraint(robot, q, v, x, last))
    return table


def bound(robot: Tree, engine: str, number: Any = np.float64) -> dict[str, Function]:
    """Every function of a bound robot; each takes `out`."""
    made, last = treesim.Dynamics(robot, engine=engine, dtype=number), robot.frame_names[-1]
    return {
        "forward_dynamics": Function("qvx", made.forward_dynamics),
        "inverse_dynamics": Function("qvx", made.inverse_dynamics),
        "bias_forces": Function("qv", made.bias_forces),
        "mass_matrix": Function("q", made.mass_matrix),
        "packed_mass_matrix": Function("q", made.packed_mass_matrix),
        "solve_mass_matrix": Function("qx", made.solve_mass_matrix),
        "inverse_mass_matrix": Function("q", made.inverse_mass_matrix),
        "gravity_forces": Function("q", made.gravity_forces),
        "coriolis_matrix": Function("qv", made.coriolis_matrix),
        "centroidal_momentum": Function("qv", made.centroidal_momentum),
        "centroidal_momentum_matrix": Function("q", made.centroidal_momentum_matrix),
        "centroidal_dynamics": Function("qvx", made.centroidal_dynamics),
        "joint_torque_regressor": Function("qvx", made.joint_torque_regressor),
        "body_poses": Function("q", made.body_poses),
        "frame_poses": Function("q", lambda q, out=None: made.frame_poses(q, out=out)),
        "joint_wrenches": Function("qvx", made.joint_wrenches),
        "frame_jacobian": Function("q", lambda q, out=None: made.frame_jacobian(q, last, out=out)),
        "inverse_operational_inertia": Function(
            "q", lambda q, out=None: made.inverse_operational_inertia(q, last, out=out)
        ),
    }


def _space(robot: Tree, q: Any, v: Any, tasks: list[Any]) -> np.ndarray:
    space = treesim.operational_space(robot, q, v, tasks)
    matrices = space.jacobian, space.inverse_inertia, space.inertia, space.jbar, space.nullspace
    return _rows(np.ndim(q) - 1, *matrices, space.inverse_mass_jacobian, space.bias)


def _constrained(robot: Tree, q: Any, v: Any, tau: Any, frame: str, method: str) -> np.ndarray:
    found = treesim.constrained_dynamics(robot, q, v, tau, [treesim.FrameConstraint(frame)], method=method)
    return _rows(np.ndim(q) - 1, found.acceleration, found.force, found.residual)


def _by_constraint(robot: Tree, q: Any, v: Any, tau: Any, frame: str) -> np.ndarray:
    found = treesim.constrained_dynamics_derivatives(robot, q, v, tau, treesim.FrameConstraint(frame))
    return _rows(np.ndim(q) - 1, *found)


def _rows(axes: int, *arrays: np.ndarray) -> np.ndarray:
    """All numbers of each state in a row."""
    return np.concatenate([x.reshape(*x.shape[:axes], prod(x.shape[axes:])) for x in arrays], axis=-1)
