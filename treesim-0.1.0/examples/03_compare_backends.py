"""Every registered forward-dynamics backend gives the same accelerations on Talos."""

import time

import numpy as np

import treesim

robot = treesim.load("talos_full_v2", base="floating", mimic="free")  # its grippers' linkages move freely
print(robot)

rng = np.random.default_rng(0)
q, v, wanted = robot.random(rng), rng.standard_normal(robot.nv), rng.standard_normal(robot.nv)
tau = treesim.inverse_dynamics(robot, q, v, wanted)

for backend in treesim.available("dynamics"):
    found = treesim.forward_dynamics(robot, q, v, tau, backend=backend)
    began = time.perf_counter()
    for _ in range(100):
        treesim.forward_dynamics(robot, q, v, tau, backend=backend)
    microseconds = 1e4 * (time.perf_counter() - began)
    error = np.abs(found - wanted).max()
    print(f"{backend:32s} {microseconds:8.1f} us a call, |FD(ID(a)) - a| = {error:.1e}")
    assert error < 1e-7, backend
