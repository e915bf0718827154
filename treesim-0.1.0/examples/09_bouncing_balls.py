"""Balls of restitution e fall from 1 m and bounce to e^2, e^4, ... metres, one by one and as a batch."""

import numpy as np

import treesim

radius = 0.1
joint = treesim.Joint("free", "floating")
inertia = treesim.Inertia(1.0, (0, 0, 0), 0.4 * radius**2 * np.eye(3))
shape = treesim.CollisionShape(1, treesim.Placement(), "sphere", size=(radius,), link="ball")
ball = treesim.Tree("ball", [treesim.Body("ball", 0, joint, inertia)], shapes=[shape])

for e in (1.0, 0.9, 0.7, 0.5):
    world = treesim.World(ball, ground=treesim.Ground(restitution=e))
    run = treesim.Simulation(world).run(2.4, [0, 0, 1 + radius, 0, 0, 0, 1])
    z = run.q[:, 2] - radius
    tops = z[1:-1][(z[1:-1] > z[:-2]) & (z[1:-1] >= z[2:])][:3]
    exact = e ** (2 * np.arange(1, len(tops) + 1))
    print(f"restitution {e}: tops {np.round(tops, 5)} m, {np.abs(tops - exact).max():.0e} m from e^2k; "
          f"energy {run.energy[0] - run.energy[-1]:.3f} J less")  # fmt: skip
    assert np.abs(tops - exact).max() < 4e-6

heights = np.linspace(0.2, 2.0, 64)
stepper = treesim.Stepper(treesim.World(ball, ground=treesim.Ground(restitution=0.7)))
state = stepper.reset(np.column_stack([np.zeros((64, 2)), heights + radius, np.tile([0, 0, 0, 1], (64, 1))]))
for _ in range(1500):
    state, report = stepper.step(state)
print(f"64 balls after 1.5 s: the highest is at {state.q[:, 2].max() - radius:.3f} m, "
      f"the deepest {report.contact.penetration.max():.0e} m in the ground")  # fmt: skip
assert state.q[:, 2].min() > radius - 1e-9
