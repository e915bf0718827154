"""A tower with a ton on top, and a crate held between two fingers: how far they creep in a second.

Regularised friction lets an object in a gripper slip slowly, without end: users of MuJoCo report 50 to 155 um/s for a
capsule of 45 g (google-deepmind/mujoco, issue 3328). Coulomb's law has no such speed.
"""

import numpy as np

import treesim

REGULARISED = (50, 155)  # um/s, cited above
G, SIDE = 9.81, 0.2
FELT = treesim.Surface(friction=0.5)


def creep(run, joint, since=0.2):
    """How fast a free body moves on, once it has settled [um/s]."""
    first = np.searchsorted(run.t, since)
    return 1e6 * np.linalg.norm(run[joint].q[-1, :3] - run[joint].q[first, :3]) / (run.t[-1] - run.t[first])


def tower(masses):
    """Boxes on one another, and the configuration in which they are."""
    first, *others = (treesim.free_body(f"box_{k}", "box", (SIDE,) * 3, mass) for k, mass in enumerate(masses))
    world = treesim.World(first, bodies=others, ground=treesim.Ground(friction=0.5), surface=FELT)
    places = {f"box_{k}_joint": (0, 0, (k + 0.5) * SIDE, 0, 0, 0, 1) for k in range(len(masses))}
    return world, world.robot.configuration(places)


def gripper():
    """Two fingers on slides that close towards each other."""
    fingers, pads = [], []
    for number, (name, side) in enumerate((("left", 1), ("right", -1)), start=1):
        base = treesim.Placement(translation=(-0.1 * side, 0, 0))
        slide = treesim.Joint(name, "prismatic", placement=base, axis=(side, 0, 0), lower=0, upper=0.1, damping=5.0)
        fingers.append(treesim.Body(f"{name}_finger", 0, slide, treesim.Inertia(0.1, (0, 0, 0), 1e-4 * np.eye(3))))
        pads.append(treesim.CollisionShape(number, treesim.Placement(), "box", size=(0.02, 0.04, 0.04), link=name))
    return treesim.Tree("gripper", fingers, shapes=pads)


print(f"friction that is regularised lets a held object creep: {REGULARISED[0]} to {REGULARISED[1]} um/s (cited)")

for masses in ((1.0, 1.0, 1.0), (1.0, 1.0, 1000.0)):
    world, q = tower(masses)
    run = treesim.Simulation(world).run(1.0, q)
    top = f"box_{len(masses) - 1}_joint"
    wrong = run.contact.wrench[-2, :, 2].sum() / (G * sum(masses)) - 1  # what the floor carries, over their weight
    print(f"boxes of {masses} kg: the uppermost creeps by {creep(run, top):.0e} um/s, none is more than "
          f"{np.abs(run.q - q).max():.0e} m from where it began; weight off by {wrong:+.0e}")  # fmt: skip
    assert creep(run, top) < 1e-2 and np.abs(run.q - q).max() < 1e-7 and abs(wrong) < 1e-6

crate = treesim.free_body("crate", "box", (0.06, 0.03, 0.03), 0.2)
world = treesim.World(gripper(), bodies=[crate], surface=FELT)
q = world.robot.configuration({"left": 0.06, "right": 0.06, "crate_joint": (0, 0, 0, 0, 0, 0, 1)})
least = 0.2 * G / (2 * 0.5)  # N: of either finger, m g / (2 mu)


def squeezed(part, duration):
    """A run in which both fingers press with a part of the least force that holds the crate."""
    tau = np.zeros(world.robot.nv)
    tau[:2] = part * least
    return treesim.Simulation(world, controller=lambda t, q, v: tau).run(duration, q)


for part in (2.0, 1.01):
    speed = creep(squeezed(part, 2.0), "crate_joint")
    print(f"crate squeezed with {part:.2f} of the least force: it creeps by {speed:.0e} um/s")
    assert speed < 1e-3
fallen = -squeezed(0.99, 0.3)["crate_joint"].q[-1, 2]
exact = 0.01 * G * 0.3**2 / 2  # the hundredth of its weight that is not carried
print(f"crate squeezed with 0.99 of it: slips by {1e3 * fallen:.3f} mm within 0.3 s, closed form {1e3 * exact:.3f} mm")
assert abs(fallen / exact - 1) < 1e-3
