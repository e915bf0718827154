"""A four-bar linkage with a closed loop, and a gripper whose second finger mimics the first: how large the errors are.

The linkage's URDF has a <loop_joint>: it is read as a tree, cut open at one pin, which the world closes. The gripper's
URDF has a <mimic>, which leaves one coordinate for two fingers.
"""

from pathlib import Path

import numpy as np

import treesim

ASSETS = Path(__file__).parents[1] / "assets"

linkage = treesim.load(ASSETS / "four_bar.urdf")
world = treesim.World(linkage)
q = world.close([0.0, -0.9, -1.9])  # of the two ways to close it, the one near these angles
J = world.jacobian(q)
crank = 20.0  # rad/s
v = np.r_[crank, np.linalg.lstsq(J[:, 1:], -J[:, 0] * crank)[0]]  # what the other joints do when the crank turns
coarse, run = (treesim.Simulation(world, substeps=n).run(2.0, q, v) for n in (1, 2))  # steps of 1 and 0.5 ms
gap = np.abs(world.gaps(run.q)).max()
slip = np.abs(np.einsum("kij,kj->ki", world.jacobian(run.q), run.v)).max()
changes = [np.ptp(each.energy) / each.energy[0] for each in (coarse, run)]
print(world, linkage.loops[0])
print(f"crank {run.q[-1, 0] / (2 * np.pi):.1f} turns in 2 s at {run.v[:, 0].min():.1f} to {run.v[:, 0].max():.1f} rad/s"
      f", rocker over {np.ptp(run.q[:, 2]):.2f} rad")  # fmt: skip
print(f"the pin's ends are {gap:.0e} m apart at most, and move apart at {slip:.0e} m/s")
print(f"energy changes by {changes[0]:.1e} of itself with steps of 1 ms, by {changes[1]:.1e} with half of it")
assert gap < 1e-12 and slip < 1e-7 and run.q[-1, 0] > 40
assert changes[1] < 5e-4 and 3 < changes[0] / changes[1] < 5, "errors are of second order"

gripper = treesim.load(ASSETS / "parallel_gripper.urdf")
K, MIDDLE, AMPLITUDE = 200.0, 0.045, 0.02  # N/m, m, m
spring = treesim.control.PD(gripper, [MIDDLE], kp=K, kd=0.0)
run = treesim.Simulation(gripper, controller=spring).run(2.0, [MIDDLE + AMPLITUDE])
left, right = (run[f"{side}_slide"].q for side in ("left", "right"))
energy = run.energy + K / 2 * (left - MIDDLE) ** 2
exact = MIDDLE + AMPLITUDE * np.cos(np.sqrt(K / (0.1 + 0.1)) * run.t)  # both fingers are what the spring moves
print(gripper, "mimic joints", gripper.mimic_joints)
print(f"the fingers differ by {np.abs(left - right).max():.0e} m; off the exact oscillation by "
      f"{np.abs(left - exact).max():.0e} m; energy changes by {np.ptp(energy) / energy[0]:.0e} of itself")  # fmt: skip
assert np.abs(left - right).max() == 0 and np.abs(left - exact).max() < 1e-4 and np.ptp(energy) < 1e-3 * energy[0]

crate = treesim.free_body("crate", "box", (0.06, 0.03, 0.03), 0.2)
world = treesim.World(gripper, bodies=[crate], surface=treesim.Surface(friction=0.5))
q = world.robot.configuration({"left_slide": 0.06, "crate_joint": (0, 0, 0, 0, 0, 0, 1)})
tau = np.zeros(world.robot.nv)
tau[0] = 20.0
run = treesim.Simulation(world, controller=lambda t, q, v: tau).run(1.0, q)
push = [run.contact_wrench(f"{side}_finger")[-2, 0] for side in ("left", "right")]
print(f"one motor of {tau[0]:g} N presses with {-push[0]:.6f} and {push[1]:.6f} N on a crate, "
      f"which moves by {np.abs(run['crate_joint'].q[-1, :3]).max():.0e} m in a second")  # fmt: skip
assert np.allclose(push, [-tau[0] / 2, tau[0] / 2], rtol=1e-6) and np.abs(run["crate_joint"].q[-1, :3]).max() < 1e-9
