"""A free body on a ground, case by case: closed forms, and the errors of the two integrators that simulate contact."""

import numpy as np

import treesim

G, H = 9.81, 1e-3
RULES = ("implicit_midpoint", "semi_implicit_euler")


def body(mass, inertia, kind, size):
    """A body of one shape that moves freely."""
    joint = treesim.Joint("free", "floating")
    moves = treesim.Body("body", 0, joint, treesim.Inertia(mass, (0, 0, 0), np.eye(3) * inertia))
    return treesim.Tree("scene", [moves], shapes=[treesim.CollisionShape(1, treesim.Placement(), kind, size=size)])


def run(robot, ground, q, v, duration, rule, solver="pgs"):
    """States at the ends of all steps: q (K, 7), v (K, 6)."""
    world = treesim.World(robot, ground=ground)
    stepper = treesim.Stepper(world, H, integrator=rule, substeps=1, contact_solver=solver)
    state, states = stepper.reset(q, v), []
    for _ in range(round(duration / H)):
        state, report = stepper.step(state)
        report.check()
        states.append(np.r_[state.q, state.v])
    return np.split(np.array(states), [7], axis=1)


def tilted(angle, height):
    """A ground that falls along x, and a body that lies on it."""
    n = np.array([np.sin(angle), 0, np.cos(angle)])
    return n, np.r_[height * n, 0, np.sin(angle / 2), 0, np.cos(angle / 2)]


def level(height):
    return np.r_[0, 0, height, 0, 0, 0, 1.0]


def tops(z):
    middle = z[1:-1]
    return middle[(middle > z[:-2]) & (middle >= z[2:])]


STILL = np.zeros(6)
BOX, CUBE = body(10.0, 0.1, "box", (0.2, 0.2, 0.2)), body(1.0, 1 / 600, "box", (0.1, 0.1, 0.1))
HEAVY, BALL = body(1.0, 1e3, "box", (0.1, 0.1, 0.1)), body(1.0, 4e-3, "sphere", (0.1,))
SLOPE, HEADING = np.arctan(0.5), np.radians(37)


def slides(mu, rule):
    n, q = tilted(SLOPE, 0.1)
    _, v = run(BOX, treesim.Ground(friction=mu, normal=n), q, STILL, 1.0, rule)
    return np.linalg.norm(v[-1, :3])


def cases(rule):
    """Name, unit, what is right, and what was found."""
    for mu in (0.501, 0.499, 0.3):
        yield (
            f"box on a slope of 1 in 2, mu {mu}: speed after 1 s",
            max(0, G * (np.sin(SLOPE) - mu * np.cos(SLOPE))),
            slides(mu, rule),
        )
    q, _ = run(CUBE, treesim.Ground(friction=0.5), level(0.05), [6.0, 0, 0, 0, 0, 0], 1.5, rule)
    yield "cube at 6 m/s, mu 0.5: lifted by", 0.0, np.abs(q[:, 2] - 0.05).max()
    yield "cube at 6 m/s, mu 0.5: stops after", 36 / (2 * 0.5 * G), q[-1, 0]
    start = [2 * np.cos(HEADING), 2 * np.sin(HEADING), 0, 0, 0, 0]
    q, _ = run(HEAVY, treesim.Ground(friction=0.4), level(0.05), start, 1.0, rule)
    yield "slides at 37 degrees, mu 0.4: stops after", 4 / (2 * 0.4 * G), np.hypot(*q[-1, :2])
    yield "slides at 37 degrees, mu 0.4: direction", 37.0, np.degrees(np.arctan2(q[-1, 1], q[-1, 0]))
    _, v = run(BALL, treesim.Ground(friction=0.2), level(0.1), [1.0, 0, 0, 0, 0, 0], 1.0, rule)
    yield "ball at 1 m/s comes to roll at", 5 / 7, np.linalg.norm(v[-1, :3])
    n, q = tilted(np.radians(20), 0.1)
    _, v = run(BALL, treesim.Ground(normal=n), q, STILL, 1.0, rule)
    yield (
        "ball on a slope of 20 degrees: speed after 1 s",
        5 / 7 * G * np.sin(np.radians(20)),
        np.linalg.norm(v[-1, :3]),
    )
    for e in (1.0, 0.8, 0.5):
        q, _ = run(BALL, treesim.Ground(restitution=e), level(1.1), STILL, 2.0, rule)
        yield f"ball from 1 m, restitution {e:g}: second top", e**4, tops(q[:, 2] - 0.1)[1]
    q, _ = run(BALL, treesim.Ground(stiffness=1e4, dissipation_time=0.02), level(0.1), STILL, 2.0, rule)
    yield "ball on 10 kN/m: depth", G / 1e4, 0.1 - q[-1, 2]
    _, v = run(BALL, treesim.Ground(), level(0.09), STILL, 0.1, rule)
    yield "ball that starts 1 cm deep: largest speed", 0.0, np.abs(v).max()
    q, _ = run(BALL, treesim.Ground(), level(1.1), [0, 0, -50.0, 0, 0, 0], 0.1, rule)
    yield "ball at 50 m/s: depth", 0.0, max(0.0, 0.1 - q[:, 2].min())


print(f"{'':52s}{'exact':>12s}" + "".join(f"{rule:>22s}" for rule in RULES))
for (name, exact, first), (_, _, second) in zip(*map(cases, RULES), strict=True):
    print(f"{name:52s}{exact:12.7g}{first - exact:+22.1e}{second - exact:+22.1e}")
    assert abs(first - exact) < 4e-6 and abs(second - exact) < 5e-3
relaxed, _ = run(CUBE, treesim.Ground(friction=0.5), level(0.05), [6.0, 0, 0, 0, 0, 0], 0.15, RULES[0], "convex")
print(f"the convex relaxation lifts the cube at 6 m/s by {relaxed[:, 2].max() - 0.05:.2f} m within 0.15 s")
