"""What contact must not depend on: directions, the order of shapes, copies, batches, files; and where nothing acts."""

import copy
import pickle

import numpy as np
import pytest

import treesim
from tests.contact.scenes import RULES, at, cube, free_body, pendulum, shape, simulate, turned

FALL = at((0.0, 0.0, 0.2), turned((0.6, 0.8, 0), 0.5)), np.array([0.5, 0.2, 0, 3.0, -1.0, 2.0])


def feet(order=(0, 1, 2, 3, 4)):
    """A body on five balls, in any order."""
    places = [(0.1, 0.1, 0), (-0.1, 0.1, 0), (-0.1, -0.1, 0), (0.1, -0.1, 0), (0, 0, -0.02)]
    balls = [shape("sphere", (0.05,), treesim.Placement(translation=places[k])) for k in order]
    return free_body(2.0, 0.02, *balls)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("angle", [0.4, np.pi / 2, 2.5])
def test_the_scene_turned_about_its_normal_moves_alike(rule, angle):
    """Isotropy: pyramids of friction, and tangents with a preferred axis, fail."""
    world, (q, v) = treesim.World(cube(), ground=treesim.Ground(friction=0.4)), FALL
    R = turned((0, 0, 1), angle)
    half = np.array([0, 0, np.sin(angle / 2), np.cos(angle / 2)])
    start = np.r_[R @ q[:3], quaternion_product(half, q[3:])]
    here, there = simulate(world, q, v, 0.4, integrator=rule), simulate(world, start, v, 0.4, integrator=rule)
    np.testing.assert_allclose(here.q[:, :3] @ R.T, there.q[:, :3], rtol=0, atol=1e-8)
    np.testing.assert_allclose(here.v, there.v, rtol=0, atol=1e-6)


def test_the_scene_turned_with_its_gravity_moves_alike():
    robot, (q, v) = cube(), FALL
    R = turned((0.48, 0.6, 0.64), 1.1)
    tilted = treesim.World(robot, ground=treesim.Ground(friction=0.4, normal=R[:, 2]))
    axis = np.array([0.48, 0.6, 0.64]) * np.sin(0.55)
    start = np.r_[R @ q[:3], quaternion_product(np.r_[axis, np.cos(0.55)], q[3:])]
    here = simulate(treesim.World(robot, ground=treesim.Ground(friction=0.4)), q, v, 0.4)
    there = simulate(tilted, start, v, 0.4, gravity=R @ [0, 0, -9.81])
    np.testing.assert_allclose(here.q[:, :3] @ R.T, there.q[:, :3], rtol=0, atol=1e-8)


def quaternion_product(a, b):
    """The quaternion xyzw of the rotation a after b."""
    u, w, x, y = a[:3], a[3], b[:3], b[3]
    return np.r_[w * x + y * u + np.cross(u, x), w * y - u @ x]


@pytest.mark.parametrize("order", [(4, 3, 2, 1, 0), (2, 0, 4, 1, 3)])
def test_the_order_of_shapes_does_not_matter(order):
    q, v = at((0, 0, 0.1)), np.array([0.5, 0.1, -0.5, 0.3, 0.2, 0.1])
    ground = treesim.Ground(friction=0.4)
    here, there = (simulate(treesim.World(feet(o), ground=ground), q, v, 0.4) for o in (range(5), order))
    np.testing.assert_allclose(here.v, there.v, rtol=0, atol=1e-6)
    np.testing.assert_allclose(here.wrench[-1], there.wrench[-1], rtol=0, atol=1e-6)


def test_halving_the_step_halves_the_error_of_euler():
    """C4, C7 of contact: distances are behind by v0 h / 2."""
    world = treesim.World(cube(), ground=treesim.Ground(friction=0.5))
    errors = []
    for dt in (2e-3, 1e-3, 5e-4):
        run = simulate(world, at((0, 0, 0.05)), [2.0, 0, 0, 0, 0, 0], 0.6, dt, integrator="semi_implicit_euler")
        errors.append(4 / (2 * 0.5 * 9.81) - run.q[-1, 0])
    assert errors[0] / errors[1] == pytest.approx(2, rel=0.02) and errors[1] / errors[2] == pytest.approx(2, rel=0.02)


@pytest.mark.parametrize("rule", RULES)
def test_where_no_row_acts_the_step_is_the_plain_one_bit_for_bit(rule):
    robot = treesim.load("simple_humanoid", base="floating")
    rng = np.random.default_rng(0)
    q = robot.neutral()
    q[2] = 50.0
    q[7:] = np.clip(0.2 * rng.normal(size=robot.nq - 7), robot.lower[7:] + 0.1, robot.upper[7:] - 0.1)
    v = 0.1 * rng.normal(size=robot.nv)
    high = treesim.World(robot, ground=treesim.Ground())
    plain = treesim.World(robot, use_limits=False, use_joint_friction=False)
    # the unconstrained step of semi-implicit Euler shares kinematics with contact, which are not fused
    engine = "generic" if rule == "semi_implicit_euler" else "auto"
    one, other = (
        simulate(high, q, v, 0.05, integrator=rule),
        simulate(plain, q, v, 0.05, integrator=rule, engine=engine),
    )
    assert np.array_equal(one.q, other.q) and np.array_equal(one.v, other.v) and not one.wrench.any()


def test_a_world_of_nothing_has_no_stage():
    world = treesim.World(
        pendulum(lower=-1.0, upper=1.0, joint_friction=0.1), use_limits=False, use_joint_friction=False
    )
    assert not world.touching.active and treesim.Stepper(world).reset([0.0]).contact.size == 0


@pytest.mark.parametrize("rule", RULES)
def test_a_batch_is_its_states_bit_for_bit(rule):
    world = treesim.World(feet(), ground=treesim.Ground(friction=0.4, restitution=0.3))
    rng = np.random.default_rng(0)
    q = np.array([at((0, 0, 0.074 + 0.002 * k)) for k in range(5)])
    v = np.c_[rng.normal(size=(5, 2)), np.full(5, -0.2), rng.normal(size=(5, 3))]
    stepper = treesim.Stepper(world, integrator=rule, engine="generic")
    many, singles = stepper.reset(q, v), [stepper.reset(*x) for x in zip(q, v, strict=True)]
    touched = np.zeros(5, bool)
    for _ in range(60):
        many, report = stepper.step(many)
        solver_info = [stepper.step(state) for state in singles]
        singles = [state for state, _ in solver_info]
        touched = report.contact.wrench.any(axis=(1, 2)) | touched
    for b in range(5):
        assert np.array_equal(many.q[b], singles[b].q) and np.array_equal(many.v[b], singles[b].v)
        assert np.array_equal(many.contact[b], singles[b].contact)
        for name in ("wrench", "solver_info", "penetration", "residual", "certificate", "count"):
            assert np.array_equal(getattr(report.contact, name)[b], getattr(solver_info[b][1].contact, name))
    assert touched.all()


def test_copies_step_the_same_bits():
    world = treesim.World(cube(), ground=[treesim.Ground(friction=0.4), treesim.StaticBox((0.2, 0.2, 0.02))])
    stepper, (q, v) = treesim.Stepper(world, contact_solver="pgs"), FALL

    def end(made):
        state = made.reset(q, v)
        for _ in range(50):
            state, report = made.step(state)
        return state, report

    state, report = end(stepper)
    for other in (pickle.loads(pickle.dumps(stepper)), copy.deepcopy(stepper),
                  treesim.Stepper(pickle.loads(pickle.dumps(world)))):  # fmt: skip
        again, solver_info = end(other)
        assert np.array_equal(state.q, again.q) and np.array_equal(state.contact, again.contact)
        assert np.array_equal(report.contact.wrench, solver_info.contact.wrench)
    assert pickle.loads(pickle.dumps(world)).ground == world.ground


def test_surfaces_are_equal_where_all_their_numbers_are():
    heights = np.zeros((40, 40))
    other = heights.copy()
    other[20, 20] = 1e-12
    made = [treesim.HeightField(heights), treesim.HeightField(other), treesim.HeightField(heights, friction=0.3),
            treesim.StaticBox((1, 1, 1)), treesim.StaticBox((1, 1, 1), friction=0.3), treesim.Ground(),
            treesim.StaticBox((1, 1, 1), treesim.Placement(translation=(0, 0, 1e-12)))]  # fmt: skip
    for i, one in enumerate(made):
        again = pickle.loads(pickle.dumps(one))
        assert again == one and hash(again) == hash(one)
        assert not any(one == another for another in made[:i])


def test_a_state_goes_on_where_it_was_left():
    """All that a step knows of the one before is in the state."""
    world = treesim.World(cube(), ground=treesim.Ground(friction=0.4))
    first, second, (q, v) = treesim.Stepper(world), treesim.Stepper(world), FALL
    state = first.reset(q, v)
    for _ in range(100):
        state, _ = first.step(state)
    left = pickle.loads(pickle.dumps(state))
    for _ in range(20):
        state, _ = first.step(state)
        left, _ = second.step(left)
    assert np.array_equal(state.q, left.q) and np.array_equal(state.v, left.v)


def simulation():
    world = treesim.World(cube(), ground=treesim.Ground(friction=0.4, restitution=0.2))
    return treesim.Simulation(world, dt=1e-3)


def test_simulations_step_as_steppers_do_and_again_the_same():
    made, (q, v) = simulation(), FALL
    run = made.run(0.3, q, v)
    again, copied = made.run(0.3, q, v), pickle.loads(pickle.dumps(made)).run(0.3, q, v)
    for other in (again, copied):
        assert np.array_equal(run.q, other.q) and np.array_equal(run.contact.wrench, other.contact.wrench)
    stepper = treesim.Stepper(made.world, 1e-3)
    state = stepper.reset(q, v)
    for k in range(300):
        state, report = stepper.step(state)
        assert np.array_equal(run.contact.wrench[k], report.contact.wrench_array[list(made.world.touching.bodies)])
    assert np.array_equal(run.q[-1], state.q) and run.contact.wrench.any()


@pytest.mark.parametrize("ending", ["npz", "csv"])
def test_trajectories_with_contact_come_back_from_files(ending, tmp_path):
    q, v = FALL
    run = simulation().run(0.3, q, v)
    run.save(tmp_path / f"run.{ending}")
    back = treesim.Trajectory.load(tmp_path / f"run.{ending}")
    assert np.array_equal(back.contact.wrench, run.contact.wrench) and back.contact.bodies == run.contact.bodies
    assert np.array_equal(back.contact.solver_info, run.contact.solver_info)
    assert np.array_equal(back.contact_wrench("body" if "body" in run.contact.bodies else run.contact.bodies[0]),
                          run.contact.wrench_array[:, 0])  # fmt: skip
    for name in ("penetration", "residual", "energy_certificate"):
        assert np.array_equal(getattr(back, name), getattr(run, name))
    with pytest.raises(treesim.UnknownNameError, match="nobody"):
        run.contact_wrench("nobody")
