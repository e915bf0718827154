"""Rollouts with contact on lanes are the steps of single states, and none depends on those beside it."""

import numpy as np
import pytest

import treesim
from treesim.contact.lanes import ContactLanes, begin_lanes, finder_of
from treesim.engine.call.generic import runs_compiled
from treesim.kernels.contact.each_collision import EACH_STATE
from treesim.kernels.contact.layout import ALL_INFO, INFO
from treesim.kernels.contact.simd_collision import MOST
from treesim.kernels.contact.simd_groups import put_alike
from treesim.rollouts import contact, contact_lanes

from ...contact.meshes import of_box
from ...contact.scenes import at, ball, cube, free_body, shape

pytestmark = pytest.mark.skipif(not runs_compiled(), reason="plain Python has no lanes")
RULE = "semi_implicit_euler"
GROUND = treesim.Ground(friction=0.6)


def pushed(world, count=13, speed=0.5, lift=0.0):
    """States in the neutral configuration, set down, with random velocities."""
    robot = world.robot
    q = np.tile(treesim.standing(robot, robot.neutral(), GROUND), (count, 1))
    q[:, 2] += lift
    return q, np.random.default_rng(0).normal(size=(count, robot.nv)) * speed


def stepped(world, q, v, u, rule=RULE, **options):
    """The same by single steps."""
    step = treesim.Stepper(world, 1e-3, integrator=rule, **options)
    states = [step.reset(*state) for state in zip(q, v, strict=True)]
    for _ in range(len(u)):
        states = [step.step(state, u[0])[0] for state in states]
    return np.array([s.q for s in states]), np.array([s.v for s in states])


def rolled(world, q, v, u, rule=RULE, **options):
    runs = treesim.rollout(world, q, v, u, 1e-3, integrator=rule, **options)
    return runs.q[:, -1], runs.v[:, -1]


@pytest.fixture(scope="module")
def humanoid():
    robot = treesim.load("simple_humanoid", base="floating")
    return treesim.World(robot, ground=GROUND)


@pytest.mark.parametrize(("speed", "off"), [(0.0, 1e-9), (0.3, 1e-4)])
def test_standing_and_sliding_are_those_of_single_steps(humanoid, speed, off):
    """Impulses of both are within 1e-9 m/s of their law in each of 30 steps.

    One of the five states meets several solutions where its feet slide and turn.
    """
    u, given = np.zeros((30, humanoid.robot.nv)), pushed(humanoid, 5, speed)
    for x, y in zip(rolled(humanoid, *given, u), stepped(humanoid, *given, u), strict=True):
        differences = np.abs(x - y).max(axis=1)
        assert np.sort(differences)[-2] < 1e-8 and differences.max() < off


def test_the_worst_residual_is_told(humanoid):
    q, v = pushed(humanoid, 4)
    runs = treesim.rollout(humanoid, q, v, np.zeros((30, humanoid.robot.nv)), integrator=RULE)
    assert runs.residual.shape == (4,) and (runs.residual > 0).all() and (runs.residual < 1e-5).all()
    by_one = treesim.rollout(humanoid, q, v, np.zeros((30, humanoid.robot.nv)), integrator=RULE, engine="generic")
    assert (by_one.residual > 0).all() and (by_one.residual < 1e-5).all()
    free = treesim.World(humanoid.robot, use_limits=False, use_joint_friction=False)
    assert treesim.rollout(free, q, v, steps=2).residual is None


def test_float32_states_are_stepped_in_double_precision(humanoid):
    given, u = [x.astype(np.float32) for x in pushed(humanoid, 5)], np.zeros((5, humanoid.robot.nv), np.float32)
    for x, y in zip(rolled(humanoid, *given, u), rolled(humanoid, *(z.astype(float) for z in given), u), strict=True):
        assert x.dtype == np.float32 and np.array_equal(x, y.astype(np.float32))


@pytest.mark.parametrize("rule", [RULE, "implicit_midpoint"])
def test_bits_depend_on_no_neighbour_and_no_number_of_threads(humanoid, monkeypatch, rule):
    """Also where some states take the midpoint corrector, whose rows differ from those of the others."""
    q, v = pushed(humanoid, 37)
    u = np.zeros((12, humanoid.robot.nv))
    monkeypatch.setattr(contact, "STATES_PER_THREAD", 9)
    together = rolled(humanoid, q, v, u, rule, threads=1)
    order = np.random.default_rng(1).permutation(len(q))
    for rows, threads in ((order, 1), (np.arange(37), 2), (np.arange(37), 3), (order[:3], 1), (order[5:6], 1)):
        apart = rolled(humanoid, q[rows], v[rows], u, rule, threads=threads)
        assert all(np.array_equal(x, y[rows]) for x, y in zip(apart, together, strict=True))


@pytest.mark.parametrize("speed", [0.3, 1.0, 3.0])
def test_corrected_steps_are_those_of_single_steps(humanoid, speed):
    """In most of these steps impulses change fast joint velocities, and lanes take the midpoint corrector.

    Rounding decides between several solutions in one or two of the states, in which all contacts slide.
    """
    world = treesim.World(humanoid.robot, ground=GROUND, contact_tolerance=1e-11)
    given, u, rule = pushed(world, 21, speed), np.zeros((1, humanoid.robot.nv)), "implicit_midpoint"
    for x, y in zip(rolled(world, *given, u, rule), stepped(world, *given, u, rule), strict=True):
        assert np.sort(np.abs(x - y).max(axis=1))[-3] < 1e-8


def test_a_tolerance_of_the_world_is_that_of_lanes_and_single_steps(humanoid):
    coarse = treesim.World(humanoid.robot, ground=GROUND, contact_tolerance=1e-6)
    given, u = pushed(humanoid, 21), np.zeros((20, humanoid.robot.nv))
    for engine in ("auto", "generic"):
        for world, least, most in ((coarse, 1e-9, 1e-6), (humanoid, 0, 1e-9)):
            runs = treesim.rollout(world, *given, u, integrator=RULE, engine=engine)
            assert least < np.median(runs.residual) <= most, engine


@pytest.mark.parametrize("tolerance", [0.0, -1e-9, np.nan, 1e-4, "small"])
def test_bad_tolerances_are_refused(humanoid, tolerance):
    with pytest.raises(treesim.ArgumentError, match="contact_tolerance must be a residual in m/s, finite, above 0"):
        treesim.World(humanoid.robot, contact_tolerance=tolerance)


def test_states_without_contact_move_freely_beside_those_that_touch():
    world = treesim.World(ball(), ground=GROUND)
    q = np.array([at((0.3 * k, 0, 0.1 + 0.5 * (k % 2))) for k in range(9)])
    v = np.tile([0.2, 0, 0, 0, 0, 0], (9, 1))
    ends, speeds = rolled(world, q, v, np.zeros((20, 6)))
    high = np.arange(9) % 2 == 1
    free = rolled(treesim.World(ball()), q, v, np.zeros((20, 6)))
    assert np.array_equal(ends[high], free[0][high]) and np.array_equal(speeds[high], free[1][high])
    np.testing.assert_allclose(ends[~high, 2], 0.1, atol=1e-12)


def test_a_sliding_ball_comes_to_roll():
    """5/7 of the speed it slides with (case C5 of single steps), after 2 v / (7 mu g) = 0.05 s."""
    world = treesim.World(ball(), ground=GROUND)
    _, v = rolled(world, np.array([at((0, 0, 0.1))] * 3), np.array([[1.0, 0, 0, 0, 0, 0]] * 3), np.zeros((100, 6)))
    x = np.linalg.norm(v[:, :3], axis=1)
    np.testing.assert_allclose(x, 5 / 7, atol=1e-10)


def test_of_many_points_of_a_pair_four_act():
    """A cube of which lanes choose four corners stays where it is, with its weight on them."""
    world = treesim.World(cube(), ground=GROUND)
    q, v = rolled(world, np.array([at((0, 0, 0.05))] * 2), np.zeros((2, 6)), np.zeros((40, 6)))
    np.testing.assert_allclose(q, [at((0, 0, 0.05))] * 2, atol=1e-10)
    assert np.abs(v).max() < 1e-8


def studded(count, spread):
    """A plate on so many balls, each a pair of its own."""
    places = [treesim.Placement(translation=(spread * (k % 8), spread * (k // 8), 0)) for k in range(count)]
    return free_body(1.0, 0.1, *(shape("sphere", (0.02,), place) for place in places))


@pytest.mark.parametrize("count", [MOST - 2, MOST + 2])
def test_states_with_more_contacts_than_lanes_have_room_for(count):
    """A group has them together, or a state by itself: then single steps take over."""
    world = treesim.World(studded(count, 0.05), ground=GROUND)
    flat = at((0, 0, 0.02))
    tilted = np.array([at((0, 0, 0.02 + 0.4 * (k % 2))) for k in range(4)])
    given = np.vstack([tilted, [flat]]), np.zeros((5, 6))
    given[1][:, 0] = 0.1
    u = np.zeros((3, 6))
    for x, y in zip(rolled(world, *given, u), stepped(world, *given, u), strict=True):
        np.testing.assert_allclose(x, y, rtol=0, atol=6e-8)  # three steps, solved to 1e-9 m/s at points 0.05 m apart
    alone = rolled(world, given[0][4:], given[1][4:], u)
    assert np.array_equal(rolled(world, *given, u)[0][4:], alone[0])


def test_a_bounce_keeps_its_energy():
    """Restitution 0.8 from 1 m/s: as single steps, whose peaks are tested."""
    world = treesim.World(ball(), ground=treesim.Ground(friction=0.5, restitution=0.8))
    given = np.array([at((0, 0, 0.11))] * 2), np.array([[0.3, 0, -1.0, 0, 2.0, 0]] * 2)
    u = np.zeros((40, 6))
    for x, y in zip(rolled(world, *given, u), stepped(world, *given, u), strict=True):
        np.testing.assert_allclose(x, y, rtol=0, atol=1e-10)


def stage(world, solver="pgs", rule=RULE):
    return treesim.Stepper(world, 1e-3, integrator=rule, contact_solver=solver).code.stage


def test_lanes_are_for_the_default_solver_and_contacts_of_compiled_code():
    box = treesim.StaticBox((1, 1, 0.1), treesim.Placement())
    rough = treesim.Ground(rolling_friction=1e-3)
    for ground in (GROUND, box, rough):
        assert begin_lanes(stage(treesim.World(ball(), ground=ground))) is not None
    assert not begin_lanes(stage(treesim.World(ball(), ground=GROUND), "admm"))


BUMPS = treesim.HeightField(0.03 * np.random.default_rng(2).uniform(size=(9, 9)), spacing=(0.1, 0.1), friction=0.6)
STAIR = treesim.StaticBox((1.0, 2.0, 0.2), treesim.Placement(translation=(0.55, 0, -0.1)), friction=0.6)
WORN = treesim.StaticMesh(*of_box((2.0, 2.0, 0.2), (0, 0, -0.1)), friction=0.6)
LYING = treesim.Placement(rotation=np.array([[0.0, 0, 1], [0, 1, 0], [-1, 0, 0]]))
ROD = free_body(1.0, 0.01, shape("capsule", (0.03, 0.2), LYING), name="rod")


@pytest.mark.parametrize(
    "world",
    [
        treesim.World(cube(), ground=BUMPS),
        treesim.World(ball(), ground=[GROUND, STAIR]),
        treesim.World(ROD, bodies=[cube()], ground=GROUND, surface=treesim.Surface(friction=0.5)),
        treesim.World(cube(), ground=WORN),
    ],
    ids=["bumps", "stair", "rod on a cube", "mesh"],
)
def test_contacts_with_edges_are_those_of_single_steps(world, monkeypatch):
    """Bodies fall onto height fields, boxes, each other and meshes, a little apart on each lane."""
    alone, one_by_one = [], ContactLanes._one_by_one
    count_them = lambda self, left, *rest: alone.extend(left) or one_by_one(self, left, *rest)  # noqa: E731
    monkeypatch.setattr(ContactLanes, "_one_by_one", count_them)
    random, nv = np.random.default_rng(3), world.robot.nv
    q = np.tile(world.robot.neutral(), (13, 1))
    q[:, 2] = 0.12
    q[:, :2] += 0.05 * random.normal(size=(13, 2))
    if nv > 6:
        q[:, 2], q[:, 7:10] = 0.16, (0, 0, 0.05)
    given = q, 0.3 * random.normal(size=(13, nv))
    u = np.zeros((60, nv))
    found = rolled(world, *given, u)
    assert len(alone) < 0.1 * u.shape[0] * len(q), "SIMD lanes solve most steps"
    for x, y in zip(found, stepped(world, *given, u), strict=True):
        assert np.sort(np.abs(x - y).max(axis=1))[-2] < 1e-8
    order = random.permutation(13)[:5]
    for x, y in zip(rolled(world, *(z[order] for z in given), u), found, strict=True):
        assert np.array_equal(x, y[order])


def test_contacts_of_many_balls_are_those_of_single_steps():
    """Ten balls fall onto ten others on the ground: pairs are looked for in each state, as in single steps."""
    balls = [treesim.free_body(f"b{k}", "sphere", (0.1,), 1.0) for k in range(20)]
    world = treesim.World(balls[0], bodies=balls[1:], ground=GROUND, surface=treesim.Surface(friction=0.5))
    assert finder_of(world.touching) is EACH_STATE["gathered_primitives"]
    random, places = np.random.default_rng(4), [(0.4 * (k // 2), 0.0, 0.1 + 0.21 * (k % 2)) for k in range(20)]
    q = np.tile(np.concatenate([at(x) for x in places]), (5, 1))
    given = q, 0.1 * random.normal(size=(5, 120))
    u = np.zeros((60, 120))
    for x, y in zip(rolled(world, *given, u), stepped(world, *given, u), strict=True):
        assert np.abs(x - y).max() < 1e-8


def test_rollouts_in_the_memory_of_others_start_from_zero_impulses(humanoid, monkeypatch):
    """Memory is that of the rollouts before: also after an odd number of steps, diverged ones, and an interruption."""
    given, u = pushed(humanoid, 5), np.zeros((4, humanoid.robot.nv))
    monkeypatch.setattr(contact_lanes, "MOST_MEMORIES", 0)
    alone = rolled(humanoid, *given, u)
    monkeypatch.undo()
    fast = given[0], np.full_like(given[1], 1e200)
    with pytest.warns(treesim.DivergedWarning):
        rolled(humanoid, *fast, u)
    rolled(humanoid, given[0], -given[1], u[:3])
    used = [id(memory) for memory in contact_lanes._memories]
    found = rolled(humanoid, *given, u)
    assert [id(memory) for memory in contact_lanes._memories] == used, "memory is used again"
    monkeypatch.setattr(contact.ContactSteps, "_is_finite", interrupt)  # after a step
    with pytest.raises(ZeroDivisionError):
        rolled(humanoid, *given, u)
    monkeypatch.undo()
    for x, y, z in zip(alone, found, rolled(humanoid, *given, u), strict=True):
        assert np.array_equal(x, y) and np.array_equal(x, z)


def interrupt(*_):
    raise ZeroDivisionError


def gripper():
    """Fingers, of which one mimics the other, on the ground between joints that move."""
    robot = treesim.load("panda")
    q = robot.clamp(np.array([0.0, 0.9, 0, -1.6, 0, 2.5, 0, 0.02]))
    ground = treesim.Ground(height=treesim.lowest_point(robot, q).gap + 1e-3, friction=0.6)
    q, random = np.tile(q, (13, 1)), np.random.default_rng(4)
    q[::2, 1] -= 0.2  # in the air
    return treesim.World(robot, ground=ground), q, 0.3 * random.normal(size=(13, robot.nv))


def pinned():
    """A rod whose centre is fixed over the ground, which some of the states touch with an end."""
    world = treesim.World(
        ROD, [treesim.FrameConstraint("rod", rows="linear")], at((0, 0, 0.09)), ground=GROUND
    )  # fmt: skip
    q, v, random = np.zeros((13, 7)), np.zeros((13, 6)), np.random.default_rng(4)
    angle = np.where(np.arange(13) % 3 > 0, -np.arcsin(0.6) + 1e-3, 0.1)
    q[:, 2], q[:, 4], q[:, 6] = 0.09, np.sin(angle / 2), np.cos(angle / 2)
    v[:, 3:] = random.normal(size=(13, 3))
    return world, q, v


@pytest.mark.parametrize("case", [gripper, pinned])
def test_mimic_joints_and_constrained_frames_are_those_of_single_steps(case, monkeypatch):
    world, q, v = case()
    alone, one_by_one = [], ContactLanes._one_by_one
    count_them = lambda self, left, *rest: alone.extend(left) or one_by_one(self, left, *rest)  # noqa: E731
    monkeypatch.setattr(ContactLanes, "_one_by_one", count_them)
    u = np.zeros((20, world.robot.nv))
    found = rolled(world, q, v, u, "implicit_midpoint")
    assert begin_lanes(stage(world, rule="implicit_midpoint")) is not None and len(alone) < 0.1 * u.shape[0] * len(q)
    free = treesim.World(world.robot, world.constraints, q[0] if world.m else None)
    moved = np.abs(found[0] - rolled(free, q, v, u, "implicit_midpoint")[0]).max(axis=1) > 1e-6
    assert 3 <= moved.sum() <= 10, "some states touch"
    for x, y in zip(found, stepped(world, q, v, u, "implicit_midpoint"), strict=True):
        np.testing.assert_allclose(x, y, rtol=0, atol=1e-8)
    order = np.random.default_rng(3).permutation(13)[:5]
    for rows in (order, order[:1], np.flatnonzero(~moved)):
        for x, y in zip(rolled(world, q[rows], v[rows], u, "implicit_midpoint"), found, strict=True):
            assert np.array_equal(x, y[rows])


def test_states_of_as_many_iterations_form_groups():
    taken = np.array([2.0, 31.0, 900.0, 2.0, 16.0, 1.0, 700.0])
    info, which, keys = np.zeros((7, ALL_INFO)), np.full(7, -1), np.empty((2, 7))
    info[:, INFO.iterations] = taken
    put_alike(info.reshape(-1), which, np.empty(7, int), keys, False)
    assert which.tolist() == [5, 0, 3, 1, 4, 6, 2], "1, 2, 2, 16 to 31, of 700 and of 900"
    info[:, INFO.partition], info[:, INFO.done], info[2, INFO.contacts] = [8, 3, 3, 8, 3, 8, 3], 1, MOST + 1
    put_alike(info.reshape(-1), which, np.empty(7, int), keys, True)
    assert which.tolist() == [2, 1, 4, 6, 5, 0, 3], "too many contacts, then by partition"
