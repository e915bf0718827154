"""A motion in another engine: it falls as treesim's does, or is refused with the reason."""

import numpy as np
import pytest

import treesim
from treesim.errors import PluginError, UnsupportedError
from treesim.viewing.live import engine_motion

ROBOT = treesim.load("ur5")


def test_it_is_the_free_motion_by_the_engine_s_rule():
    pytest.importorskip("treesim_mujoco")
    q0, v0 = np.full(6, 0.2), np.full(6, 0.1)
    motion = engine_motion("mujoco", ROBOT, q0, v0, duration=0.05, dt=1e-3, t0=2.0)
    assert motion.t[0] == 2.0 and len(motion) == 51 and motion.t[-1] == pytest.approx(2.05)
    np.testing.assert_array_equal(motion.q[0], q0)
    free = treesim.World(ROBOT, use_limits=False, use_joint_friction=False)
    run = treesim.Simulation(free, integrator="semi_implicit_euler").run(0.05, q0, v0)
    assert ROBOT.damping.max() == 0, "else the two would differ"
    np.testing.assert_allclose(motion.q, run.q, atol=1e-6)
    np.testing.assert_allclose(motion.energy, run.energy, atol=1e-4)


def test_engines_that_are_not_there_and_robots_that_they_do_not_take_are_refused():
    with pytest.raises(PluginError, match="no engine called 'none'"):
        engine_motion("none", ROBOT, np.zeros(6), np.zeros(6))
    pytest.importorskip("treesim_mujoco")
    panda = treesim.load("panda")  # one of its fingers follows the other
    with pytest.raises(UnsupportedError, match="mimic"):
        engine_motion("mujoco", panda, panda.neutral(), np.zeros(panda.nv), duration=0.01)
