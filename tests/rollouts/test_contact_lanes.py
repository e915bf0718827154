"""Steps of batches in contact that are repeated for some of the states."""

import numpy as np
import pytest

import treesim
from treesim.rollouts.contact_lanes import few_states


def test_numbers_of_states_of_repeated_steps():
    found = {count: few_states(count) for count in range(1, 1000)}
    assert sorted(set(found.values()))[:9] == [8, 16, 24, 32, 48, 64, 96, 128, 192]
    assert all(count <= size < 2 * max(count, 8) for count, size in found.items())


@pytest.mark.parametrize("far", [1, 9, 20, 25, 64])
def test_states_at_their_limits_have_the_bits_of_a_batch_without_others(far):
    robot = treesim.load("go2", base="floating")
    world, random = treesim.World(robot, ground=treesim.Ground()), np.random.default_rng(far)
    bent = {
        f"{leg}_{joint}_joint": x for leg in ("FL", "FR", "RL", "RR") for joint, x in (("thigh", 0.9), ("calf", -1.8))
    }
    q = np.tile(treesim.standing(robot, robot.configuration(bent)), (64, 1))
    target = np.tile(q[0], (64, 1))
    chosen = random.permutation(64)[:far]
    target[chosen, 7:] += random.uniform(0.5, 0.8, size=(far, 12))  # whose springs reach the effort limits
    control = np.zeros((64, 4, robot.nv))
    control[:, :, 6:] = target[:, None, 7:]
    how = {"dt": 2e-3, "kp": 300.0, "kd": 5.0}
    v = np.zeros(robot.nv)
    found = treesim.rollout(world, q, v, control, **how)
    apart = treesim.rollout(world, q[chosen], v, control[chosen], **how)
    np.testing.assert_array_equal(found.q[chosen], apart.q)
    np.testing.assert_array_equal(found.v[chosen], apart.v)
    stepper = treesim.Stepper(world, 2e-3, kp=300.0, kd=5.0)
    state = stepper.reset(q[chosen[0]])
    _, report = stepper.step(state, control[chosen[0], 0])
    assert (np.abs(report.force[6:]) == robot.effort_limit[6:]).any()
