"""Arguments in float32 have results in float32, from every function of states and every backend."""

import dataclasses

import numpy as np
import pytest

import treesim
from tests import coupled, trees
from treesim import plugins

ROBOTS = {"tree": trees.tree("random_a"), "mimic joints": coupled.coupled(1)}
FRAMES = {name: robot.frame_names[-2:] for name, robot in ROBOTS.items()}


def space_of(robot, q, v, task):
    """The arrays of an operational space, and the results of its methods."""
    space = treesim.operational_space(robot, q, v, task)
    arrays = tuple(x for x in vars(space).values() if isinstance(x, np.ndarray))
    F = space.force(space.bias)
    return (*arrays, space.inverse_mass_jacobian, F, space.torque(F), space.acceleration(space.torque(F)))


def functions(robot, frames):
    """Every function by name, of q, v, tau and a."""
    one = frames[0]
    found = {
        "center_of_mass": lambda q, v, tau, a: treesim.center_of_mass(robot, q),
        "center_of_mass_jacobian": lambda q, v, tau, a: treesim.center_of_mass_jacobian(robot, q),
        "solve_mass_matrix": lambda q, v, tau, a: treesim.solve_mass_matrix(robot, q, tau),
        "inverse_mass_matrix": lambda q, v, tau, a: treesim.inverse_mass_matrix(robot, q),
        "gravity_forces": lambda q, v, tau, a: treesim.gravity_forces(robot, q),
        "bias_forces": lambda q, v, tau, a: treesim.bias_forces(robot, q, v),
        "inverse_dynamics": lambda q, v, tau, a: treesim.inverse_dynamics(robot, q, v, a),
        "coriolis_matrix": lambda q, v, tau, a: treesim.coriolis_matrix(robot, q, v),
        "mass_matrix": lambda q, v, tau, a: treesim.mass_matrix(robot, q),
        "packed": lambda q, v, tau, a: treesim.mass_matrix(robot, q, packed=True),
        "unpacked": lambda q, v, tau, a: treesim.unpack_mass_matrix(robot, treesim.mass_matrix(robot, q, packed=True)),
        "joint_torque_regressor": lambda q, v, tau, a: treesim.joint_torque_regressor(robot, q, v, a),
        "joint_wrenches": lambda q, v, tau, a: treesim.joint_wrenches(robot, q, v, tau),
        "energy": lambda q, v, tau, a: treesim.energy(robot, q, v),
        "momentum": lambda q, v, tau, a: treesim.momentum(robot, q, v),
        "centroidal_momentum": lambda q, v, tau, a: treesim.centroidal_momentum(robot, q, v),
        "centroidal_momentum_matrix": lambda q, v, tau, a: treesim.centroidal_momentum_matrix(robot, q),
        "centroidal_dynamics": lambda q, v, tau, a: treesim.centroidal_dynamics(robot, q, v, a),
        "body_poses": lambda q, v, tau, a: treesim.body_poses(robot, q),
        "frame_pose": lambda q, v, tau, a: treesim.frame_pose(robot, q, one),
        "frame_poses": lambda q, v, tau, a: treesim.frame_poses(robot, q),
        "frame_velocity": lambda q, v, tau, a: treesim.frame_velocity(robot, q, v, one),
        "frame_acceleration": lambda q, v, tau, a: treesim.frame_acceleration(robot, q, v, a, one),
        "frame_jacobian": lambda q, v, tau, a: treesim.frame_jacobian(robot, q, one),
        "spatial jacobian": lambda q, v, tau, a: treesim.frame_jacobian(robot, q, one, reference="spatial"),
        "frame_jacobian_derivative": lambda q, v, tau, a: treesim.frame_jacobian_derivative(robot, q, v, one),
        "solve": lambda q, v, tau, a: treesim.articulated(robot, q).solve(tau),
        "factors": lambda q, v, tau, a: treesim.articulated(robot, q).factor.solve_lower(tau),
        "expand": lambda q, v, tau, a: robot.expand(q),
        "expand_velocity": lambda q, v, tau, a: robot.expand_velocity(v),
        "integrate": lambda q, v, tau, a: robot.integrate(q, v),
        "difference": lambda q, v, tau, a: robot.difference(q, q),
    }
    for name in plugins.available("dynamics"):
        found[f"forward_dynamics by {name}"] = lambda q, v, tau, a, name=name: treesim.forward_dynamics(
            robot, q, v, tau, backend=name
        )
    for name in plugins.available("operational"):
        found[f"inverse_operational_inertia by {name}"] = lambda q, v, tau, a, name=name: (
            treesim.inverse_operational_inertia(robot, q, frames, method=name)
        )
    for name, task in (("frame", one), ("rows", treesim.FrameTask(one, "linear"))):
        found[f"operational_space of a {name}"] = lambda q, v, tau, a, task=task: space_of(robot, q, v, task)
    rows = treesim.FrameConstraint(one, rows="linear")
    for name in plugins.available("constrained"):
        found[f"constrained_dynamics by {name}"] = lambda q, v, tau, a, name=name: treesim.constrained_dynamics(
            robot, q, v, tau, rows, method=name
        )
    found["derivatives of constrained_dynamics"] = lambda q, v, tau, a: treesim.constrained_dynamics_derivatives(
        robot, q, v, tau, rows
    )
    return found


@pytest.mark.parametrize("kind", ROBOTS)
@pytest.mark.parametrize("batch", [(), (3,)], ids=["one", "batch"])
def test_single_precision_stays(kind, batch):
    robot, rng = ROBOTS[kind], np.random.default_rng(0)
    q = np.stack([robot.random(rng) for _ in range(3)])[:3] if batch else robot.random(rng)
    v, tau, a = rng.normal(size=(3, *batch, robot.nv))
    single = [x.astype(np.float32) for x in (q, v, tau, a)]
    for name, function in functions(robot, FRAMES[kind]).items():
        found = function(*single)
        parts = dataclasses.astuple(found) if dataclasses.is_dataclass(found) else found
        arrays = [np.asarray(x) for x in (parts if isinstance(parts, tuple) else (parts,))]
        floats = {x.dtype for x in arrays if x.dtype.kind == "f"}
        assert floats == {np.dtype(np.float32)}, name
