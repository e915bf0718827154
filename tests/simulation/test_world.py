"""Worlds: frames that are held and loops that are closed, in steps, simulations and rollouts."""

import copy
import pickle
from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treesim
from tests import trees
from treesim.engine.call.generic import runs_compiled

BAR = treesim.Inertia(1.0, (0.5, 0, 0), np.diag([0.001, 1 / 12, 1 / 12]))


def link(name, parent, x, **options):
    place = treesim.Placement(translation=(x, 0, 0))
    return treesim.Body(
        name, parent, treesim.Joint(f"{name}_hinge", "revolute", placement=place, axis=(0, 1, 0), **options), BAR
    )


def chain(count=3, **options):
    """Bars of 1 m, one behind the other, with a frame at the last one's end."""
    bodies = [link(f"bar{i}", i, float(i > 0), **options) for i in range(count)]
    tip = treesim.Frame("tip", count, treesim.Placement(translation=(1.0, 0, 0)))
    return treesim.Tree("chain", bodies, frames=[tip])


def four_bar():
    """Three bars whose end is held 1.5 m beside their beginning: a loop through the ground."""
    robot = chain()
    pose = np.eye(4)
    pose[0, 3] = 1.5
    world = treesim.World(
        robot, treesim.FrameConstraint("tip", rows=[[1, 0, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0]], pose=pose)
    )
    return world, world.close([-1.0, 1.0, 1.2])


def brick(**options):
    """A body that moves freely, with a frame at a corner."""
    inertia = treesim.Inertia(2.0, (0.1, -0.2, 0.05), np.diag([0.05, 0.08, 0.06]))
    corner = treesim.Frame("corner", 1, treesim.Placement(translation=(-0.2, 0.1, 0.3)))
    body = treesim.Body("brick", 0, treesim.Joint("free", "floating"), inertia)
    return treesim.Tree("brick", [body], frames=[corner], **options)


def humanoid(*, held=("r_ankle", "l_ankle")):
    robot = treesim.load("simple_humanoid", base="floating")
    q = robot.neutral()
    for side in "RL":
        for joint, angle in (("HIP_P", -0.4), ("KNEE", 0.8), ("ANKLE_P", -0.4)):
            q[robot.q_index[f"{side}LEG_{joint}"]] = angle
    return treesim.World(robot, [treesim.FrameConstraint(frame) for frame in held], q=q, use_limits=False), q


def run(world, q, v=None, steps=100, dt=1e-3, **options):
    """The last state, and the reports."""
    stepper = treesim.Stepper(world, dt, **options)
    state, reports = stepper.reset(q, v), []
    for _ in range(steps):
        state, report = stepper.step(state)
        report.check()
        reports.append(report)
    return state, reports


def motion_along(robot, world, q, v):
    """v without what the rows forbid."""
    J = world.jacobian(q)
    return v - np.linalg.pinv(J) @ (J @ v)


def test_four_bar_stays_closed_for_ten_seconds_and_keeps_its_energy():
    world, q = four_bar()
    state, reports = run(world, q, steps=10_000)
    assert max(np.abs(report.residual).max() for report in reports) < 1e-12
    energies = np.array([float(report.energy) for report in reports[::10]])
    assert np.abs(energies - energies[0]).max() < 1e-3  # of 15 J that swing to and fro
    assert np.abs(world.gaps(state.q)).max() < 1e-12


@pytest.mark.slow
def test_humanoid_on_held_feet_never_gains_energy_and_stays_where_it_is_held():
    world, q = humanoid()
    _, reports = run(world, q, steps=1200)  # its knees are straight at 0.4 s, where the rows depend on each other
    energies = np.array([float(report.energy) for report in reports])
    gaps = [np.abs(report.residual).max() for report in reports]
    assert np.median(gaps) < 1e-13 and max(gaps) < 1e-6
    assert (energies - energies[0]).max() < 1e-2 and (energies - energies[0]).min() > -1.0  # 70 J are in play


def test_a_world_without_rows_is_its_robot():
    robot, rng = trees.tree("random_a"), np.random.default_rng(0)
    q, v = robot.random(rng), rng.normal(size=robot.nv)
    plain, held = run(robot, q, v, 5)[0], run(treesim.World(robot), q, v, 5)[0]
    assert np.array_equal(plain.q, held.q) and np.array_equal(plain.v, held.v)


def test_small_steps_are_constrained_dynamics():
    world, q = humanoid(held=("r_ankle",))
    robot, rng = world.robot, np.random.default_rng(1)
    v = motion_along(robot, world, q, 0.3 * rng.normal(size=robot.nv))
    found = treesim.constrained_dynamics(robot, q, v, np.zeros(robot.nv), treesim.FrameConstraint("r_ankle"))
    h = 1e-5
    state, (report,) = run(world, q, v, 1, h, substeps=1)
    error = np.abs((state.v - v) / h - found.acceleration).max() / np.abs(found.acceleration).max()
    assert error < 1e-4
    assert np.abs(report.impulses / h - found.force).max() < 1e-3 * np.abs(found.force).max()
    assert np.array_equal(report.impulses, state.impulses)


def test_a_brick_held_at_its_corner_is_a_spherical_pendulum():
    free = brick()
    joint = treesim.Joint("ball", "spherical", placement=treesim.Placement(translation=(-0.2, 0.1, 0.3)))
    ball = treesim.Body("brick", 0, joint, treesim.Inertia(2.0, (0.3, -0.3, -0.25), np.diag([0.05, 0.08, 0.06])))
    pendulum, w = treesim.Tree("pendulum", [ball]), np.array([1.0, -2.0, 0.5])
    world = treesim.World(free, treesim.FrameConstraint("corner", rows="linear"))
    corner = np.array([-0.2, 0.1, 0.3])
    held, _ = run(world, None, np.r_[np.cross(w, -corner), w], 400, substeps=4)
    swung, _ = run(pendulum, None, w, 400, substeps=4)
    np.testing.assert_allclose(held.v[3:], swung.v, rtol=0, atol=2e-6)
    assert min(np.abs(held.q[3:] - swung.q).max(), np.abs(held.q[3:] + swung.q).max()) < 2e-6


def test_a_loop_between_two_arms_is_the_same_as_a_weld():
    """Two chains that meet at their tips, welded by rows, against one chain that is held at its end by the ground."""
    bodies, end = [link("a", 0, 0.0), link("b", 1, 1.0), link("c", 0, 1.5)], treesim.Placement(translation=(1.0, 0, 0))
    frames = [treesim.Frame("p", 2, end), treesim.Frame("q", 3, end)]
    loop = treesim.World(
        treesim.Tree("loop", bodies, frames=frames),
        treesim.LoopConstraint("p", "q", rows=[[1, 0, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0]]),
    )
    q = loop.close([-1.0, 1.2, -1.9])
    world, _ = four_bar()
    # the third bar, hung up at its other end
    same = world.close([q[0], q[1], q[2] - np.pi - q[0] - q[1]])
    ends = [run(w, x, steps=500, substeps=2)[0] for w, x in ((loop, q), (world, same))]
    np.testing.assert_allclose(ends[0].q[:2], ends[1].q[:2], rtol=0, atol=1e-6)
    assert np.abs(ends[0].q[:2] - q[:2]).max() > 0.3


def test_rows_may_repeat_others():
    world, q = four_bar()
    twice = treesim.World(world.robot, [*world.constraints, *world.constraints])
    (once, (first, *_)), (both, (second, *_)) = run(world, q, steps=300), run(twice, q, steps=300)
    np.testing.assert_allclose(both.q, once.q, rtol=0, atol=1e-8)
    np.testing.assert_allclose(second.impulses[:2] + second.impulses[2:], first.impulses, rtol=1e-6, atol=1e-9)


def test_a_skate_glides_along_its_blade_alone():
    robot = brick(gravity=(0, 0, 0))
    along = [[0, 1, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0]]  # of the corner's velocity, across the blade: no position is held
    world = treesim.World(robot, treesim.FrameConstraint("corner", rows=along, reference="local"))
    assert not world.closed.any()
    v = motion_along(robot, world, robot.neutral(), np.array([1.0, 0, 0, 0.2, -0.1, 0.7]))
    state, reports = run(world, None, v, 500)
    assert max(np.abs(report.residual).max() for report in reports) < 1e-11
    energies = [float(report.energy) for report in reports]
    assert max(energies) - min(energies) < 1e-5 * energies[0] and np.abs(state.q[:3]).max() > 0.1


@pytest.mark.parametrize("reference", ["world", "local"])
def test_two_rotations_are_held_and_the_third_is_free(reference):
    robot = brick()
    rows = np.eye(6)[[0, 1, 2, 3, 4]]  # a pin about z
    world = treesim.World(robot, treesim.FrameConstraint("corner", rows=rows, reference=reference))
    assert world.closed.all()
    spin = np.array([0, 0, 9.0])
    v = np.r_[np.cross(spin, [0.2, -0.1, -0.3]), spin]
    state, reports = run(world, None, v, 1000)
    assert max(np.abs(report.residual).max() for report in reports) < 1e-11
    turned = 2 * np.arctan2(state.q[5], state.q[6])
    assert np.abs(state.q[3:5]).max() < 1e-9 and abs(np.mod(turned - 9.0 + 1, 2 * np.pi) - 1) < 1e-4


def test_order_is_two():
    world, q = four_bar()
    end = run(world, q, steps=6400, dt=0.4 / 6400, substeps=1)[0]
    errors = [np.abs(run(world, q, steps=n, dt=0.4 / n, substeps=1)[0].q - end.q).max() for n in (100, 200, 400)]
    fitted = -np.polyfit(np.log([100, 200, 400]), np.log(errors), 1)[0]
    assert abs(fitted - 2) < 0.15


@settings(max_examples=8, deadline=None)
@given(trees.random_trees(6), st.integers(0, 1000))
def test_any_frame_of_any_tree_can_be_held(robot, seed):
    rng = np.random.default_rng(seed)
    q = robot.random(rng)
    frame = robot.body_names[int(rng.integers(robot.n_bodies))]
    world = treesim.World(robot, treesim.FrameConstraint(frame, rows="linear"), q=q)
    with np.errstate(all="raise"):
        state, _ = run(world, q, steps=10, engine="generic")
    if np.linalg.svd(world.jacobian(q))[1][-1] > 0.05:
        assert np.abs(world.gaps(state.q)).max() < 1e-9


@pytest.mark.parametrize("engine", ["generic", "specialized"])
def test_batches_simulations_and_rollouts_are_steps(engine):
    if engine == "specialized" and not runs_compiled():
        pytest.skip("not compiled")
    world, q = four_bar()
    robot = world.robot
    starts = np.array([world.close(q + 0.05 * k) for k in range(-16, 16)])
    state, _ = run(world, starts, steps=20, engine=engine)
    single, _ = run(world, starts[3], steps=20, engine=engine)
    np.testing.assert_allclose(state.q[3], single.q, rtol=0, atol=1e-12)
    rolled = treesim.rollout(world, starts, np.zeros(3), steps=20, engine=engine)
    np.testing.assert_allclose(rolled.q[:, -1], state.q, rtol=0, atol=1e-12)
    simulated = treesim.Simulation(world, engine=engine).run(0.02, starts[3])
    np.testing.assert_allclose(simulated.q[-1], single.q, rtol=0, atol=1e-12)
    if engine == "specialized":

        def policy(t, q, v, p, u):
            u[:] = -p[0] * v

        by_policy = treesim.rollout(world, starts, np.zeros(3), policy, steps=20, policy_parameters=[2.0])
        driven = treesim.Simulation(world, controller=lambda t, q, v: -2.0 * v).run(0.02, starts[3])
        np.testing.assert_allclose(by_policy.q[3, -1], driven.q[-1], rtol=0, atol=1e-12)
        assert robot.nv == 3


@pytest.mark.parametrize("backend", ["reference", "crba_ltdl"])
def test_backends_agree(backend):
    world, q = four_bar()
    one, other = run(world, q, steps=3)[0], run(world, q, steps=3, backend=backend)[0]
    np.testing.assert_allclose(other.v, one.v, rtol=0, atol=1e-11)


def test_copies_step_the_same_bits():
    world, q = four_bar()
    stepper = treesim.Stepper(world)
    for other in (pickle.loads(pickle.dumps(stepper)), copy.deepcopy(stepper)):
        assert np.array_equal(other.step(other.reset(q))[0].v, stepper.step(stepper.reset(q))[0].v)
    simulation = pickle.loads(pickle.dumps(treesim.Simulation(world)))
    assert np.array_equal(simulation.run(0.005, q).q, treesim.Simulation(world).run(0.005, q).q)
    assert repr(pickle.loads(pickle.dumps(world))) == "<World of 'chain': 2 rows of 1 constraint>"


def test_friction_and_damping_take_energy_alone():
    robot = chain(damping=0.3, joint_friction=0.2)
    world = treesim.World(robot, four_bar()[0].constraints)
    _, reports = run(world, four_bar()[1], steps=2000)
    energies = np.array([float(report.energy) for report in reports])
    work = np.cumsum([float(report.passive_work) for report in reports])
    assert np.diff(energies).max() < 1e-6 and work[-1] < -5
    np.testing.assert_allclose(energies - work, energies[0] - work[0], rtol=0, atol=0.02 * abs(work[-1]))


def test_starts_may_leave_small_gaps():
    slide = treesim.Joint("slide", "prismatic", axis=(1, 0, 0))
    robot = treesim.Tree("cart", [treesim.Body("cart", 0, slide, treesim.Inertia(2.0))])
    world = treesim.World(robot, treesim.FrameConstraint("cart", rows=[[1, 0, 0, 0, 0, 0]]), q=[0.0])
    assert abs(world.start(np.array([0.95e-6]))[0]) < 1e-12
    with pytest.raises(treesim.ArgumentError, match="leaves open row 0"):
        world.start(np.array([1.05e-6]))


def test_a_world_is_closed_in_a_hundred_steps_or_not(monkeypatch):
    world, q = four_bar()
    steps = []

    def slowly(self, q, step, largest):
        steps.append(largest)
        return q, self._look(q)

    monkeypatch.setattr(treesim.World, "_nearer", slowly)
    world._closed_from(q + 0.1)
    assert len(steps) == 100


def test_contact_is_solved_to_a_nanometre_a_second():
    assert treesim.World(chain()).contact_tolerance == 1e-9


BELOW = treesim.Placement(translation=(0, 0, -0.5))


@pytest.mark.parametrize(
    "ground", [treesim.Ground(), treesim.StaticBox((1, 1, 1), BELOW)], ids=lambda ground: type(ground).__name__
)
def test_starts_may_be_two_centimetres_inside_the_ground(ground):
    world = treesim.World(treesim.free_body("ball", "sphere", (0.1,), 2.0), ground=ground)
    q = np.array([0.0, 0, 0.1 - 0.0195, 0, 0, 0, 1])
    assert np.array_equal(world.start(q), q)
    q[2] = 0.1 - 0.0205
    with pytest.raises(treesim.ArgumentError, match=r"link 'ball' 0\.0205 m inside"):
        world.start(q)


@pytest.mark.parametrize("height, refused", [(0.1 - 0.0195, False), (0.1 - 0.0205, True)])
def test_a_start_of_several_bodies_is_compared_with_planes_once(monkeypatch, height, refused):
    monkeypatch.setattr(treesim.World, "_refuse_depth_in_plane", None)  # pairs of solids are also those with planes
    balls = [treesim.free_body(name, "sphere", (0.1,), 2.0) for name in ("first", "second")]
    world = treesim.World(balls[0], bodies=balls[1:], ground=treesim.Ground())
    q = np.array([0.0, 0, 0.5, 0, 0, 0, 1, 1, 0, height, 0, 0, 0, 1])
    with pytest.raises(treesim.ArgumentError, match=r"'second' 0\.0205 m inside") if refused else nullcontext():
        world.start(q)


def test_a_start_without_gaps_is_found_and_others_are_refused():
    world, q = four_bar()
    assert np.abs(world.gaps(world.close([-0.9, 0.8, 1.3]))).max() < 1e-12
    assert np.abs(world.gaps(treesim.Stepper(world).reset(q + 1e-8).q)).max() < 1e-12
    for start in (treesim.Stepper(world).reset, lambda x: treesim.Simulation(world).run(0.01, x),
                  lambda x: treesim.rollout(world, x, np.zeros(3), steps=2)):  # fmt: skip
        with pytest.raises(treesim.ArgumentError, match=r"leaves open row \d of the constraint on frame 'tip' \(gap"):
            start(q + 0.1)
    far = np.eye(4)
    far[0, 3] = 7.0
    with pytest.raises(treesim.ConvergenceError, match="row 0 of the constraint on frame 'tip'"):
        treesim.World(world.robot, treesim.FrameConstraint("tip", rows="linear", pose=far)).close(q)


def test_a_half_turn_is_not_taken_for_none():
    robot, turned = brick(), np.diag([1.0, -1.0, -1.0, 1.0])
    world = treesim.World(robot, treesim.FrameConstraint("corner", rows="angular", pose=turned))
    assert np.abs(world.gaps(robot.neutral())).max() < 1e-12  # the sine
    with pytest.raises(treesim.ArgumentError, match=r"constraint on frame 'corner' \(turned by 180 degrees"):
        treesim.Stepper(world).reset(robot.neutral())
    near = robot.integrate(robot.neutral(), [0, 0, 0, 2.0, 0.1, 0])
    assert world.close(near)[3] == pytest.approx(1.0)


def test_what_a_world_cannot_hold_is_refused_by_name():
    robot, tip = chain(), treesim.FrameConstraint
    with pytest.raises(
        treesim.ArgumentError, match="damping of the constraint on frame 'tip': a World does not support"
    ):
        treesim.World(robot, tip("tip", damping=1.0))
    with pytest.raises(treesim.ArgumentError, match="target of the constraint on frame 'tip'"):
        treesim.World(robot, tip("tip", rows="linear", target=[0, 0, 1]))
    with pytest.raises(treesim.ArgumentError, match=r"pose of the constraint .* \(4, 4\) with a rotation in it"):
        treesim.World(robot, tip("tip", pose=np.ones((4, 4))))
    with pytest.raises(treesim.UnknownNameError, match="tpi"):
        treesim.World(robot, tip("tpi"))
    with pytest.raises(
        treesim.ArgumentError, match=r"constraints\[0\] must be a FrameConstraint or LoopConstraint, got 'tip'"
    ):
        treesim.World(robot, ["tip"])
    world = four_bar()[0]
    for use in (treesim.Stepper, treesim.Simulation):
        with pytest.raises(treesim.UnsupportedError, match=r"'rk4' does not support .* 'implicit_midpoint'"):
            use(world, integrator="rk4")
    with pytest.raises(treesim.UnsupportedError, match="float32"):
        treesim.rollout(world, np.zeros(3, np.float32), np.zeros(3, np.float32), steps=2)
    with pytest.raises(treesim.ArgumentError, match="robot is a World already"):
        treesim.World(world)
    with pytest.raises(AttributeError, match="does not change"):
        world.robot = robot


def test_the_same_world_about_another_robot():
    robot = treesim.load("ur5")
    world = treesim.World(
        robot,
        treesim.FrameConstraint("ee_link", rows="linear"),
        ground=treesim.Ground(friction=0.3, height=-2.0),
        use_limits=False,
    )
    other = world.with_robot(robot.with_name("other"))
    assert other.robot.name == "other" and other.m == world.m == 3
    assert other.ground == world.ground and other.use_limits is False
    np.testing.assert_allclose(other.constants[1], world.constants[1], atol=1e-15)  # rotations, to rounding
