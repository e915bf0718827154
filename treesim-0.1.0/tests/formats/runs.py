"""Trajectories that formats are tried with: every type of joint, numbers that are easily lost, contact, followers."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

import treesim
from tests.simulation.test_trajectory import example
from treesim import Trajectory


def with_odd_numbers() -> Trajectory:
    """Joints of every type, followers, and numbers that a careless format changes."""
    run = example(8, dt=1e-3, note="Größe", stopped=None)
    v = run.v.copy()
    v[0, :6] = -0.0, np.nextafter(1.0, 2.0), 5e-324, 1.7976931348623157e308, np.nan, -np.inf
    return replace(run, v=v, mimic_joints={"left": ("hip", -2.0, 0.5)})


@cache
def standing() -> Trajectory:
    """A humanoid on the ground, whose feet press on it."""
    robot = treesim.load("g1_29dof_rev_1_0", base="floating")
    world = treesim.World(robot, ground=treesim.Ground())
    return treesim.Simulation(world).run(0.01, q0=treesim.standing(robot, robot.neutral()))


def assert_same(read: Trajectory, written: Trajectory) -> None:
    """Every bit of every array, and all that is told besides."""
    for label in ("t", "q", "v", "tau", "energy", "work"):
        one, other = (np.ascontiguousarray(getattr(run, label)).view(np.int64) for run in (read, written))
        np.testing.assert_array_equal(one, other, err_msg=label)
    for label in ("robot_name", "joint_names", "joint_types", "metadata", "mimic_joints"):
        assert getattr(read, label) == getattr(written, label), label
    assert (read.contact is None) == (written.contact is None)
    if read.contact is not None and written.contact is not None:
        for label in ("bodies", "surfaces", "pairs"):
            assert getattr(read.contact, label) == getattr(written.contact, label), label
        for label in ("wrench", "solver_info", "pair_wrench"):
            np.testing.assert_array_equal(getattr(read.contact, label), getattr(written.contact, label), err_msg=label)
    for label in ("points", "first_point"):
        one, other = (None if run.contact is None else getattr(run.contact, label) for run in (read, written))
        assert (one is None) == (other is None), label
        if one is not None and other is not None:
            assert np.array_equal(one, other), label
    assert read.sensors.columns == written.sensors.columns
    for name in written.sensors:
        assert np.array_equal(read.sensors[name], written.sensors[name], equal_nan=True), name
