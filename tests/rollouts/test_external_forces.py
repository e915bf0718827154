"""External forces in rollouts and batch steppers: states of `Simulation` and `Stepper`, and what is refused."""

import pickle

import numpy as np
import pytest

import treesim
from treesim import ExternalForce

DT, STEPS = 1e-3, 12
WRENCH = np.array([3.0, -2.0, 5.0, 0.3, 0.2, -0.1])


def box_on_the_ground():
    return treesim.World(treesim.free_body("box", "box", (0.2, 0.3, 0.4), 2.0), ground=treesim.Ground(friction=0.3))


def humanoid():
    return treesim.World(treesim.load("g1_29dof_rev_1_0", base="floating"), ground=treesim.Ground())


def without_contact(name):
    return treesim.World(treesim.load(name), use_limits=False, use_joint_friction=False)


def held_by_the_hand():
    return treesim.World(treesim.load("ur5"), [treesim.FrameConstraint("ee_link", rows="linear")], q=bent())


def bent():
    return np.array([0.0, -1.2, 1.6, -0.4, 0.0, 0.0])


WORLDS = {  # and the link on which the forces act
    "box": (box_on_the_ground, "box"),
    "humanoid": (humanoid, "left_wrist_yaw_link"),
    "joint limits": (lambda: treesim.World(treesim.load("ur5")), "wrist_3_link"),
    "mimic joints and limits": (lambda: treesim.World(treesim.load("panda")), "panda_leftfinger"),
    "no contact": (lambda: without_contact("ur5"), "wrist_3_link"),
    "constrained": (held_by_the_hand, "forearm_link"),
    "mimic joints": (lambda: without_contact("panda"), "panda_leftfinger"),
}


INTEGRATORS = "implicit_midpoint", "semi_implicit_euler"  # the second one does not support constraints
CASES = [(case, integrator) for case in WORLDS for integrator in INTEGRATORS[: 1 + (case != "constrained")]]


def start_of(world):
    robot = world.robot
    if world.touching.counts.slots:
        return robot.standing(robot.neutral()), 0.1 * np.ones(robot.nv)
    if world.m:
        return bent(), np.zeros(6)
    return robot.clamp(robot.random(0)), 0.1 * np.ones(robot.nv)


def forces_on(link):
    later = ExternalForce(link, torque=(0, 0.5, 0), frame="local", start=0.003, stop=0.009)
    return [ExternalForce(link, (0, 3.0, 6.0), point=(0, 0.01, 0)), later]


@pytest.mark.filterwarnings("ignore::treesim.EnergyWarning")
@pytest.mark.parametrize(("case", "integrator"), CASES)
def test_rollouts_are_simulations(case, integrator):
    made, link = WORLDS[case]
    world = made()
    q, v = start_of(world)
    forces = forces_on(link)
    run = treesim.Simulation(world, DT, integrator=integrator, external_forces=forces).run(STEPS * DT, q, v)
    found = treesim.rollout(world, [q, q], v, steps=STEPS, integrator=integrator, work=True, f_ext=forces)
    for x, other in ((found.q, run.q), (found.v, run.v), (found.work, run.work)):
        np.testing.assert_allclose(x[1], other[1:], rtol=0, atol=1e-11)
    stepper = treesim.BatchStepper(world, 2, DT, steps=3, integrator=integrator)
    stepper.put(slice(None), q, v)
    for _ in range(STEPS // 3):
        stepper.step(None, forces)
    assert stepper.t == pytest.approx(STEPS * DT)
    np.testing.assert_allclose(stepper.v, found.v[:, -1], rtol=0, atol=1e-11)


def test_ways_of_giving_the_same_forces():
    world, link = without_contact("ur5"), "wrist_3_link"
    q, v = start_of(world)
    bodies = np.zeros((world.robot.n_bodies, 6))
    bodies[world.robot.body_names.index(link)] = WRENCH
    per_state = np.stack([WRENCH, 2 * WRENCH])
    per_step = np.repeat(per_state[:, None], STEPS, axis=1)
    runs = [
        treesim.rollout(world, q, v, steps=STEPS, f_ext=f_ext)
        for f_ext in ({link: per_state}, {link: per_step}, np.stack([bodies, 2 * bodies]))
    ]
    assert all(len(run.q) == 2 for run in runs)
    for run in runs[1:]:
        np.testing.assert_allclose(run.v, runs[0].v, rtol=0, atol=1e-12)
    one = treesim.rollout(world, q, v, steps=STEPS, f_ext={link: 2 * WRENCH})
    assert np.array_equal(one.v[0], runs[0].v[1])  # bits depend on no other rollout
    per_step[:, STEPS // 2 :] = 0.0
    stopped = ExternalForce(link, WRENCH[:3], torque=WRENCH[3:], frame="local", stop=DT * (STEPS // 2))
    timed = treesim.rollout(world, q, v, steps=STEPS, f_ext=stopped)
    halves = treesim.rollout(world, q, v, steps=STEPS, f_ext={link: per_step})
    np.testing.assert_allclose(timed.v[0], halves.v[0], rtol=0, atol=1e-12)


def test_policies_parameters_measures_and_float32():
    """A pushed box under a policy, with masses of its own, moves by Newton's law."""
    body = treesim.free_body("box", "box", (0.2, 0.2, 0.2), 2.0)
    push = {"box": np.array([[3.0, 0, 0, 0, 0, 0], [0, 6.0, 0, 0, 0, 0]])}

    def lift(t, q, v, p, u):
        u[2] = p[0]

    run = treesim.rollout(
        body, body.neutral().astype(np.float32), np.zeros(6, np.float32), lift, 0.01, 10, f_ext=push, keep="last",
        policy_parameters=np.array([[9.81], [19.62]], np.float32), model_parameters={"mass": [[1.0], [2.0]]},
        measure={"speed": treesim.measures.maximum(lambda t, q, v: v[0] + v[1])},
    )  # fmt: skip
    assert run.v.dtype == np.float32
    np.testing.assert_allclose(run.v[:, -1, :3], [[0.3, 0, 0], [0, 0.3, 0]], atol=1e-6)
    np.testing.assert_allclose(run.measures["speed"], 0.3, atol=1e-6)


def test_steps_with_and_without_forces_share_the_warm_start():
    """A batch stepper changes between its two ways of stepping, and copies continue with the same bits."""
    world = box_on_the_ground()
    q, _ = start_of(world)
    stepper = treesim.BatchStepper(world, 2, DT, contact_wrenches=True)
    stepper.put(slice(None), q, np.zeros(6))
    one, state = treesim.Stepper(world, DT), treesim.Stepper(world, DT).reset(q)
    for k in range(10):
        f_ext = {"box": WRENCH} if k % 3 == 1 else None
        stepper.step(None, f_ext)
        state, report = one.step(state, None, f_ext)
        np.testing.assert_allclose(stepper.v[1], state.v, rtol=0, atol=1e-11)
        np.testing.assert_allclose(stepper.contact_wrench[1], report.contact.wrench, rtol=0, atol=1e-7)
    assert stepper.contact_wrench["box"][0, 2] > 10.0
    twin = pickle.loads(pickle.dumps(stepper))
    assert np.array_equal(twin.contact_wrench, stepper.contact_wrench) and twin.t == stepper.t
    for each in (twin, stepper):
        each.step(None, {"box": np.stack([WRENCH, -WRENCH])})
    assert np.array_equal(twin.v, stepper.v)
    stepper.put([0], q, np.zeros(6))
    assert not stepper.contact_wrench[0].any() and stepper.contact_wrench[1].any()
    plain = treesim.BatchStepper(world, 2, DT)
    plain.put(slice(None), q, np.zeros(6))
    plain.step()
    plain.step(None, {"box": WRENCH})
    plain.put([0], q, np.zeros(6))
    plain.step()
    assert np.isfinite(plain.v).all() and plain.contact_wrench is None


def rolled(**how):
    return treesim.rollout(without_contact("ur5"), np.zeros((2, 6)), np.zeros(6), steps=3, **how)


def stepped(f_ext, **how):
    return treesim.BatchStepper(without_contact("ur5"), 2, **how).step(None, f_ext)


@pytest.mark.parametrize(
    ("made", "error", "message"),
    [
        (lambda: rolled(f_ext={"hand": WRENCH}), treesim.UnknownNameError, "hand"),
        (lambda: rolled(f_ext={"hand": np.zeros((2, 3, 6))}), treesim.UnknownNameError, "hand"),
        (lambda: rolled(f_ext={"wrist_3_link": np.full(6, np.nan)}), treesim.NonFiniteError, "wrist_3_link"),
        (lambda: rolled(f_ext={"wrist_3_link": np.zeros((2, 4, 6))}), treesim.ArgumentError, "4 steps, but"),
        (lambda: rolled(f_ext={"wrist_3_link": np.zeros((3, 6))}), treesim.ArgumentError, "f_ext"),
        (lambda: rolled(f_ext=np.zeros((2, 2, 6, 6))), treesim.ArgumentError, "f_ext has shape"),
        (lambda: rolled(f_ext=lambda t, q, v: None), treesim.ArgumentError, "cannot be a function"),
        (lambda: rolled(f_ext="up"), treesim.ArgumentError, "f_ext"),
        (lambda: stepped({"wrist_3_link": np.zeros((3, 6))}), treesim.ArgumentError, "for 3 states, but there are 2"),
        (lambda: stepped(None, contact_wrenches=True), treesim.ArgumentError, "nothing in this world can touch"),
    ],
)
def test_bad_forces_are_named(made, error, message):
    with pytest.raises(error, match=message):
        made()
