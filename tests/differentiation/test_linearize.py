"""Linearization of steps: differences of steps in free motion and contact, one-sided rows, refusals."""

from itertools import product

import numpy as np
import pytest

import treesim
from tests import trees
from tests.contact.scenes import at as place
from tests.contact.scenes import turned
from tests.coupled import coupled
from treesim.contact import tables
from treesim.differentiation.midpoint_pullback import MidpointPullback

G = 9.81
EXACT = 1e-6  # of the largest derivative, in contact
STEP = 1e-8  # of differences in contact: gaps and slip must change little
FREE = 1e-8  # in free motion: rounding of differences
RULES = ("semi_implicit_euler", "implicit_midpoint")
GROUND = treesim.Ground(friction=0.5)


def linearize(stepper, q, v, control=None):
    return treesim.linearize(stepper, q, v, control)


def body(kind, size, mass=1.0, name=None):
    return treesim.free_body(name or kind, kind, size, mass)


def tilted(x, axis=(0.6, 0.8, 0.0), angle=0.3):
    return place(x, turned(axis, angle))


def differences(stepper, q, v, u, step):
    """Return derivatives (2 nv, 3 nv) by differences forward and backward."""
    robot, nv = stepper.robot, stepper.robot.nv

    def end(d):
        return stepper.step(stepper.reset(robot.integrate(q, d[:nv]), v + d[nv : 2 * nv]), u + d[2 * nv :])[0]

    here = end(np.zeros(3 * nv))

    def rate(d):
        there = end(d)
        return np.r_[robot.difference(here.q, there.q), there.v - here.v] / step

    ahead, behind = (np.stack([rate(s * step * d) for d in np.eye(3 * nv)], axis=1) for s in (1, -1))
    return ahead, -behind


def matrices(found):
    return np.hstack([found.A, found.B])


# ---- free motion


@pytest.mark.parametrize("integrator", treesim.available("integrators"))
@pytest.mark.parametrize("name", ["mimic", "free_random"])
def test_free_motion(integrator, name):
    robot = coupled(1) if name == "mimic" else trees.tree(name)
    stepper = treesim.Stepper(robot, dt=1e-2, integrator=integrator, substeps=2)
    rng = np.random.default_rng(3)
    q, v, u = robot.integrate(robot.neutral(), 0.3 * rng.normal(size=robot.nv)), *rng.normal(size=(2, robot.nv))
    found = linearize(stepper, q, v, u)
    ahead, behind = differences(stepper, q, v, u, 1e-6)
    assert abs(matrices(found) - (ahead + behind) / 2).max() < FREE * abs(ahead).max()
    after = stepper.step(stepper.reset(q, v), u)[0]
    np.testing.assert_allclose(found.next_q, after.q, rtol=0, atol=1e-14)
    np.testing.assert_allclose(found.next_v, after.v, rtol=0, atol=1e-13)
    assert not found.gradient.one_sided


def test_batches_are_single_states():
    robot = treesim.load("ur5")
    stepper = treesim.Stepper(robot, kp=100.0, kd=10.0)
    q, v = np.random.default_rng(0).normal(size=(2, 3, 6))
    found = linearize(stepper, q, v, q + 0.01)
    for i, each in enumerate(q):
        one = linearize(stepper, each, v[i], each + 0.01)
        np.testing.assert_allclose(found.A[i], one.A, rtol=0, atol=1e-12)
        np.testing.assert_allclose(found.B[i], one.B, rtol=0, atol=1e-12)
    assert found.next_q.shape == (3, 6)
    assert len(found.gradient) == 3


def test_empty_batches():
    for world in (treesim.load("ur5"), treesim.World(body("box", (1, 1, 1)), ground=GROUND)):
        stepper = treesim.Stepper(world)
        nq, nv = stepper.robot.nq, stepper.robot.nv
        found = linearize(stepper, np.zeros((0, nq)), np.zeros((0, nv)))
        assert found.A.shape == (0, 2 * nv, 2 * nv)
        assert found.next_q.shape == (0, nq)
        assert found.gradient == ()


def test_saturated_joints_do_not_follow_their_control():
    robot = treesim.load("ur5")
    stepper = treesim.Stepper(robot, integrator="semi_implicit_euler", kp=1e4, kd=1.0)
    q = np.full(6, 0.5)
    found = linearize(stepper, q, np.zeros(6), q + np.array([3.0, 0, 0, 0, 0, 1e-5]))
    assert (found.B[:, 0] == 0).all()
    assert (np.diag(found.B[6:])[1:] > 0).all()


# ---- contact


def world_of(*robots, **options):
    """A world whose impulses are solved for to rounding, which differences divide by a small step."""
    return treesim.World(*robots, contact_tolerance=1e-14, **options)


def scenes():
    """Return worlds, with states from which they fall, slide, roll, bounce and sink."""
    ball, box = body("sphere", (0.1,)), body("box", (0.2, 0.3, 0.4))
    other = body("sphere", (0.15,), 2.0, "other")
    rough = treesim.Ground(friction=0.5, rolling_friction=0.01, torsional_friction=0.02)
    soft, hard = treesim.Ground(friction=0.5, stiffness=1e4, dissipation_time=1e-3), treesim.Ground(restitution=0.5)
    table = treesim.StaticBox((0.4, 0.4, 0.2), treesim.Placement(translation=(0, 0, 0.1)), friction=0.5)
    hinge = treesim.Joint("hinge", "revolute", axis=(0, 1, 0), lower=-0.05, upper=1.0, joint_friction=2.0)
    inertia = treesim.Inertia(1.0, (1.0, 0, 0), 0.1 * np.eye(3))
    arm = treesim.Tree("arm", [treesim.Body("arm", 0, hinge, inertia)])
    throw = np.array([1, 0.3, -0.2, 0, 2, 0.1])
    return {
        "ball": (world_of(ball, ground=GROUND), place((0, 0, 0.11)), throw),
        "box": (world_of(box, ground=GROUND), tilted((0, 0, 0.25)), throw),
        "cylinder": (world_of(body("cylinder", (0.1, 0.3)), ground=GROUND), tilted((0, 0, 0.22)), throw),
        "balls": (
            world_of(ball, bodies=[other], ground=GROUND),
            np.r_[place((0, 0, 0.11)), place((0.05, 0.02, 0.38))], np.r_[throw, throw] * 0.1,
        ),
        "ball on an edge": (world_of(ball, ground=[GROUND, table]), place((0.19, 0, 0.305)), throw * 0.2),
        "capsule on a box": (
            world_of(body("capsule", (0.1, 0.3)), bodies=[box], ground=GROUND),
            np.r_[tilted((0.06, 0.02, 0.58), angle=1.2), place((0, 0, 0.201))], np.r_[0.1 * throw, np.zeros(6)],
        ),
        "soft": (world_of(box, ground=soft), tilted((0, 0, 0.25)), throw),
        "bouncing": (world_of(ball, ground=hard), place((0, 0, 0.102)), throw),
        "rolling": (world_of(ball, ground=rough), place((0, 0, 0.1001)), np.array([0.6, 0, -0.1, 0, 6, 3.0])),
        "rolling out": (world_of(ball, ground=rough), place((0, 0, 0.1)), np.array([0.05, 0, 0, 0, 0.5, 0.1])),
        "limit and friction": (world_of(arm), np.array([0.0]), np.array([-1.0])),
    }  # fmt: skip


SCENES = scenes()


@pytest.mark.parametrize(("rule", "name"), [*product(RULES, SCENES)])
def test_contact(rule, name):
    """Along a motion, from states that are not near a change: gaps there are no longer zero."""
    world, q, v = SCENES[name]
    stepper = treesim.Stepper(world, integrator=rule, substeps=1)
    state, nv, smooth, rng = stepper.reset(q, v), stepper.robot.nv, 0, np.random.default_rng(5)
    acted = set()
    steps = round(0.2 / stepper.dt)
    for k in range(steps):
        if k % (steps // 10) == steps // 10 - 1:
            near = 1e-2 * stepper.dt * rng.normal(size=nv), 10 * stepper.dt * rng.normal(size=nv)
            start = stepper.robot.integrate(state.q, near[0]), state.v + near[1]
            found = linearize(stepper, *start)
            rows = found.gradient.rows
            if rows["margin"].min(initial=1) > 200 * STEP / stepper.dt:
                ahead, behind = differences(stepper, *start, np.zeros(nv), STEP)
                assert abs(matrices(found) - (ahead + behind) / 2).max() < EXACT * abs(ahead).max(), k
                smooth += 1
                acted |= set(rows["state"].tolist())
        state, _ = stepper.step(state)
    assert smooth >= 3
    assert acted & {"sticking", "sliding", "at limit"}


def test_closed_forms():
    """A box at rest keeps its velocity at zero; one that slides loses mu g dt, along its velocity only."""
    box = body("box", (0.2, 0.2, 0.2))
    stepper = treesim.Stepper(treesim.World(box, ground=GROUND), integrator="semi_implicit_euler", dt=1e-3)
    rest = linearize(stepper, place((0, 0, 0.1)), np.zeros(6))
    np.testing.assert_allclose(rest.A[6:], 0, atol=1e-9)
    np.testing.assert_allclose(rest.B[6:], 0, atol=1e-12)
    assert rest.gradient.rows["state"].tolist() == ["sticking"] * 4
    slides = linearize(stepper, place((0, 0, 0.1)), [1, 0, 0, 0, 0, 0])
    left = 1 - 0.5 * G * 1e-3
    np.testing.assert_allclose(slides.next_v, [left, 0, 0, 0, 0, 0], atol=1e-12)
    np.testing.assert_allclose(np.diag(slides.A)[6:8], [1, left], atol=1e-9)
    np.testing.assert_allclose(slides.B[6, :3], [1e-3, 0, 0.5e-3], atol=1e-12)


def test_rows_near_a_change_are_listed():
    """A gap of zero, a box at its friction, and one that is far from both."""
    box = body("box", (0.2, 0.2, 0.2))
    stepper = treesim.Stepper(treesim.World(box, ground=GROUND), integrator="semi_implicit_euler")
    overlap, weight = place((0, 0, 0.1 - 1e-6)), np.array([0.5 * G, 0, 0, 0, 0.05 * G, 0])
    assert linearize(stepper, place((0, 0, 0.1)), np.zeros(6)).gradient.changes == 4
    assert linearize(stepper, overlap, np.zeros(6)).gradient.changes == 0
    assert linearize(stepper, overlap, np.zeros(6), 0.99 * weight).gradient.changes == 0
    assert linearize(stepper, overlap, np.zeros(6), (1 - 1e-9) * weight).gradient.one_sided


@pytest.mark.parametrize("v", [np.zeros(6), np.array([0, 0, 0.01, 0, 0, 0]), np.array([1e-12, 0, 0, 0, 0, 0])])
def test_finite_at_rest_and_where_feet_leave_the_ground(v):
    stepper = treesim.Stepper(treesim.World(body("sphere", (0.1,)), ground=GROUND))
    found = linearize(stepper, place((0, 0, 0.1)), v, [0, 0, G, 0, 0, 0])
    assert np.isfinite(matrices(found)).all()


@pytest.mark.filterwarnings("ignore::treesim.LimitWarning")
def test_steps_that_are_solved_again_at_their_midpoint(monkeypatch):
    """Robots with limits, whose impulses change fast motions: the second solution, in impacts and in recovery."""
    arm, dog = treesim.load("ur5"), treesim.load("anymal", base="floating")
    standing, second, calls = treesim.standing(dog, dog.neutral(), GROUND), MidpointPullback.tape, []
    monkeypatch.setattr(MidpointPullback, "tape", lambda *given: calls.append(given) or second(*given))
    for world, q, v, steps in (
        (world_of(arm), arm.upper - 1e-3, np.full(6, 3.0), (1, 2, 3, 4, 5)),
        (world_of(dog, ground=GROUND), standing, np.zeros(dog.nv), (9, 19, 39)),
    ):
        stepper = treesim.Stepper(world, dt=1e-3, integrator="implicit_midpoint", substeps=1)
        state, nv = stepper.reset(q, v), stepper.robot.nv
        for k in range(max(steps) + 1):
            if k in steps:
                rng = np.random.default_rng(k)
                near = 1e-5 * rng.normal(size=nv), 1e-2 * rng.normal(size=nv)
                start = stepper.robot.integrate(state.q, near[0]), state.v + near[1]
                ahead, behind = differences(stepper, *start, np.zeros(nv), STEP)
                found = linearize(stepper, *start)
                assert abs(matrices(found) - (ahead + behind) / 2).max() < EXACT * abs(ahead).max(), k
            state, _ = stepper.step(state)
    assert len(calls) >= 3


@pytest.mark.filterwarnings("ignore::treesim.LimitWarning")
def test_points_at_the_height_of_others_in_steps_that_are_solved_again():
    """A vertex of go2's foot is above another one, at whose height it touches: by the gaps at the midpoint."""
    robot, rng = treesim.load("go2", base="floating"), np.random.default_rng(2)
    q = treesim.standing(robot, np.tile(robot.clamp(robot.neutral()), (2, 1)))
    v = 0.5 * rng.normal(size=(2, 18))
    u = (q[:, 1:] + 0.3 * rng.normal(size=(2, 18)))[1]
    servo = treesim.PositionServo(200, 5, effort_limit=55, curve=((0, 60), (5, 0)), lag=0.002)
    driven = treesim.Stepper(world_of(robot, ground=GROUND, actuators={"*": servo}), dt=1e-3)
    state = driven.reset(q[1], v[1])
    for _ in range(9):
        state, _ = driven.step(state, u)
    stepper = treesim.Stepper(world_of(robot, ground=GROUND), dt=1e-3, integrator="implicit_midpoint", substeps=1)
    found, h = linearize(stepper, state.q, state.v), 1e-6
    rows = found.gradient.rows
    assert {"separating", "sliding"} <= set(rows["state"])
    ahead, behind = (
        np.stack([stepper.step(stepper.reset(state.q, state.v + d))[0].v for d in s * h * np.eye(18)], axis=1)
        for s in (1, -1)
    )
    assert abs(found.A[18:, 18:] - (ahead - behind) / (2 * h)).max() < 2e-8


def test_contacts_for_which_memory_has_to_grow(monkeypatch):
    monkeypatch.setattr(tables, "CAPACITY", 2)
    stepper = treesim.Stepper(treesim.World(body("box", (0.2, 0.2, 0.2)), ground=GROUND))
    first = linearize(stepper, place((0, 0, 0.1)), np.zeros(6))
    assert len(first.gradient.rows) == 4 * stepper.substeps
    np.testing.assert_array_equal(first.A, linearize(stepper, place((0, 0, 0.1)), np.zeros(6)).A)


# ---- errors


def test_what_has_no_derivatives_is_refused():
    box = body("box", (0.2, 0.2, 0.2))
    q, v = place((0, 0, 0.1)), np.zeros(6)
    with pytest.raises(treesim.UnsupportedError, match="contact solver 'convex'"):
        linearize(treesim.Stepper(treesim.World(box, ground=GROUND), contact_solver="convex"), q, v)
    with pytest.raises(treesim.UnsupportedError, match="kinematic bodies"):
        lift = body("box", (1, 1, 0.1), name="lift")
        world = treesim.World(box, bodies=[lift], ground=GROUND, kinematic={"lift": lambda t: (0, 0, 0)})
        linearize(treesim.Stepper(world), np.r_[q, place((3, 0, 0.05))], np.zeros(12))


def test_bad_arguments():
    stepper = treesim.Stepper(treesim.load("ur5"))
    with pytest.raises(treesim.ArgumentError, match="stepper"):
        linearize(treesim.load("ur5"), np.zeros(6), np.zeros(6))
    with pytest.raises(treesim.ArgumentError, match="q has shape"):
        linearize(stepper, np.zeros(5), np.zeros(6))
    with pytest.raises(treesim.NonFiniteError, match="control"):
        linearize(stepper, np.zeros(6), np.zeros(6), np.full(6, np.nan))
    with pytest.raises(treesim.NonFiniteError):
        linearize(stepper, np.zeros(6), np.full(6, 1e200))
