"""Two hulls and a drum on top of each other: how still they stand, and the forces between them. Needs coal."""

import time

import numpy as np

import treesim

G, SIDE = 9.81, 0.2
CORNERS = SIDE / 2 * np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])


def stone(name):
    """A cube of 2 kg whose shape is known as a convex hull, as that of a mesh is."""
    inertia = treesim.Inertia(2.0, (0, 0, 0), 2.0 * SIDE**2 / 6 * np.eye(3))
    shape = treesim.CollisionShape(1, treesim.Placement(), "hull", size=(), vertices=CORNERS, link=name)
    body = treesim.Body(name, 0, treesim.Joint(f"{name}_joint", "floating"), inertia)
    return treesim.Tree(name, [body], shapes=[shape])


bodies = [stone("lower"), stone("upper"), treesim.free_body("drum", "cylinder", (0.08, SIDE), 1.0)]
world = treesim.World(bodies[0], bodies=bodies[1:], ground=treesim.Ground(name="floor"), collision="coal")
q = world.robot.configuration(
    {
        f"{body.name}_joint": (0.01 * k, 0, (k + 0.5) * SIDE, 0, 0, np.sin(0.2 * k), np.cos(0.2 * k))
        for k, body in enumerate(bodies)
    }
)
run = treesim.Simulation(world, substeps=1).run(0.5, q0=q)
drift = np.abs(run.q[-1] - q).max()
print(f"after {run.t[-1]:g} s: drift {drift:.0e} m, penetration {run.penetration.max():.0e} m")
for one, other in run.contact.pairs:
    print(f"from {other} on {one}: {run.contact_wrench(one, other)[-2, 2]:+.6f} N upward")
assert drift < 1e-6 and abs(run.contact_wrench("lower", "floor")[-2, 2] - 5 * G) < 1e-4

start = time.process_time()
for _ in range(200):
    world.convex.found(q, q)
print(f"coal: {(time.process_time() - start) / 200 * 1e6:.0f} us a state, of 2 pairs that touch")
