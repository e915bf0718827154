"""Contacts that can hardly move against each other: feet below straight legs.

Four such feet press each other down with a mobility of 1e-9 of theirs: which of them opens or slips depends on the last
digits of their velocities.
"""

import numpy as np

import treesim
from treesim.contact.standing import standing


def test_first_steps_on_straight_legs_are_solved():
    """Random joint velocities of 0.5 rad/s; the second half of each step begins with nearly straight legs."""
    robot = treesim.load("hyq", base="floating")
    ground = treesim.Ground(friction=0.8)
    world = treesim.World(robot, ground=ground, use_limits=False)
    q, rng = standing(robot, robot.neutral(), ground), np.random.default_rng(1)
    stepper, residuals = treesim.Stepper(world, 1e-3, substeps=2), []
    for _ in range(24):
        v = np.concatenate([np.zeros(6), 0.5 * rng.normal(size=robot.nv - 6)])
        _, report = stepper.step(stepper.reset(q, v))
        residuals.append(max(report.contact.residual, report.contact.position_residual))
    assert np.mean(np.array(residuals) > 1e-9) < 0.05
