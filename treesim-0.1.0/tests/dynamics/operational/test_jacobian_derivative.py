"""The time derivative of a frame's Jacobian, against differences and the frame's acceleration."""

import numpy as np
import pytest

import treesim
from tests import trees
from tests.coupled import coupled
from tests.sensitivity import OF_A_SWEEP
from tests.trees import random_state, relative_error
from treesim.errors import UnknownNameError

REFERENCES = ("local_world_aligned", "local", "spatial")


@pytest.mark.parametrize("reference", REFERENCES)
@pytest.mark.parametrize("name", ["chain_mixed", "random_c", "free_random", "grid_3", "mimic"])
def test_it_is_the_derivative_of_the_jacobian_and_of_the_velocity(name, reference):
    robot = coupled(1) if name == "mimic" else trees.tree(name)
    q, v, a, *_ = random_state(robot, 1)
    frame, h = robot.frame_names[-1], 1e-3
    Jd = treesim.frame_jacobian_derivative(robot, q, v, frame, reference=reference)

    def difference(h):
        ends = [treesim.frame_jacobian(robot, robot.integrate(q, t * v), frame, reference=reference) for t in (h, -h)]
        return (ends[0] - ends[1]) / (2 * h)

    assert relative_error(Jd, (4 * difference(h / 2) - difference(h)) / 3) < 1e-9  # Richardson's, of fourth order
    J = treesim.frame_jacobian(robot, q, frame, reference=reference)
    acceleration = treesim.frame_acceleration(robot, q, v, a, frame, reference=reference)
    if reference == "local":  # the derivative of components along axes that rotate
        velocity = J @ v
        acceleration[:3] -= np.cross(velocity[3:], velocity[:3])
    assert relative_error(J @ a + Jd @ v, acceleration) < 4 * OF_A_SWEEP


def test_batches_and_unknown_names():
    robot = trees.tree("random_a")
    q, v = (np.array([getattr(random_state(robot, k), x) for k in range(3)]) for x in "qv")
    frame = robot.frame_names[-1]
    for reference in REFERENCES:
        together = treesim.frame_jacobian_derivative(robot, q, v, frame, reference=reference)
        for one in range(3):
            alone = treesim.frame_jacobian_derivative(robot, q[one], v[one], frame, reference=reference)
            assert relative_error(together[one], alone) < OF_A_SWEEP
    with pytest.raises(UnknownNameError, match="reference 'wrld'"):
        treesim.frame_jacobian_derivative(robot, q[0], v[0], frame, reference="wrld")
