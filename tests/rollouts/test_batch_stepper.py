"""Steps of many states at once: bit for bit those of rollouts, whatever is put in between, with contact and without."""

from __future__ import annotations

import pickle
import threading

import numpy as np
import pytest

import treesim
from tests.waiting import PATIENCE
from treesim.contact import lanes

CALLS, STEPS, COUNT = 6, 3, 20


@pytest.fixture(scope="module")
def ur5() -> treesim.Tree:
    return treesim.load("ur5")


@pytest.fixture(scope="module")
def worlds(ur5: treesim.Tree) -> dict[str, tuple[treesim.World, np.ndarray]]:
    """Worlds, and states to start from: free, at joint limits, on a ground, held."""
    rng = np.random.default_rng(0)
    q = np.array([ur5.random(rng) for _ in range(COUNT)])
    at_limits = np.zeros((COUNT, 6))
    at_limits[::2, 2] = ur5.upper[2] - 1e-3
    ball = treesim.free_body("ball", "sphere", (0.1,), 1.0)
    low = np.tile(ball.neutral(), (COUNT, 1))
    low[:, 2] = 0.1 + 1e-3 * np.arange(COUNT)
    held = treesim.World(ur5, [treesim.FrameConstraint("ee_link", rows="linear")], q=q[0])
    return {
        "free": (treesim.World(ur5, use_limits=False, use_joint_friction=False), q),
        "limits": (treesim.World(ur5), at_limits),
        "ground": (treesim.World(ball, ground=treesim.Ground()), low),
        "held": (held, np.tile(q[0], (COUNT, 1))),
    }


@pytest.mark.parametrize("name", ["free", "limits", "ground", "held"])
def test_states_are_those_of_rollouts(worlds, name):
    world, q = worlds[name]
    rng = np.random.default_rng(1)
    v = np.zeros((COUNT, world.robot.nv)) if name == "held" else rng.standard_normal((COUNT, world.robot.nv))
    u = rng.standard_normal((COUNT, CALLS, world.robot.nv))
    run = treesim.rollout(world, q, v, np.repeat(u, STEPS, axis=1), every=STEPS)
    stepper = treesim.BatchStepper(world, COUNT, steps=STEPS)
    stepper.put(slice(None), q, v)
    for k in range(CALLS):
        stepper.step(u[:, k])
        assert np.array_equal(stepper.q, run.q[:, k]) and np.array_equal(stepper.v, run.v[:, k])
    assert (stepper.residual is None) == (name == "free")
    if stepper.residual is not None:
        assert np.array_equal(stepper.residual, run.residual)


@pytest.mark.parametrize("name", ["limits", "ground"])
def test_what_is_put_begins_anew_and_leaves_the_others_alone(worlds, name):
    """Impulses from which the next step starts are those of no step before."""
    world, q = worlds[name]
    v, some = np.zeros((COUNT, world.robot.nv)), np.arange(COUNT) % 3 == 0
    one, other = (treesim.BatchStepper(world, COUNT, steps=STEPS) for _ in range(2))
    for stepper in (one, other):
        stepper.put(slice(None), q, v)
        stepper.step()
    after, anew = one.q[~some].copy(), one.q[some].copy()
    one.put(some, q[some], v[some])
    for stepper in (one, other):
        stepper.step()
    assert np.array_equal(one.q[some], anew)
    assert np.array_equal(one.q[~some], other.q[~some]) and not np.array_equal(one.q[~some], after)


def test_targets_are_tracked(ur5):
    stepper = treesim.BatchStepper(ur5, 2, steps=1000, kp=300.0, kd=100.0, backend="crba_ltdl")
    run = treesim.rollout(ur5, np.zeros(6), np.zeros(6), np.full((1000, 6), 0.2), kp=300.0, kd=100.0, every=1000,
                          backend="crba_ltdl")  # fmt: skip
    stepper.step(np.full(6, 0.2))
    assert np.array_equal(stepper.q[1], run.q[0, 0])


@pytest.mark.parametrize("limits", [False, True])
def test_states_with_physics_of_their_own_are_those_of_rollouts(ur5, limits):
    rng = np.random.default_rng(2)
    world = treesim.World(ur5, use_limits=limits, use_joint_friction=False)
    own = {"mass": rng.uniform(0.5, 4.0, (COUNT, 6)), "damping": rng.uniform(0, 1, (COUNT, 6))}
    q, v = np.zeros((COUNT, 6)), rng.standard_normal((COUNT, 6))
    if limits:
        q[::2, 2] = ur5.upper[2] - 1e-3
    run = treesim.rollout(world, q, v, steps=4 * STEPS, every=STEPS, model_parameters=own)
    stepper = treesim.BatchStepper(world, COUNT, steps=STEPS, model_parameters=own)
    stepper.put(slice(None), q, v)
    for k in range(4):
        stepper.step()
        assert np.array_equal(stepper.q, run.q[:, k]) and np.array_equal(stepper.v, run.v[:, k])
    with pytest.raises(treesim.ArgumentError, match=r"model_parameters is for \[20\] states, but there are 7"):
        treesim.BatchStepper(world, 7, model_parameters=own)


@pytest.mark.parametrize("name", ["free", "limits", "ground"])
def test_parameters_of_some_states_are_replaced(worlds, name):
    """Their bits are those of a stepper that had them from the start, also after a pickle."""
    world, q = worlds[name]
    rng, some = np.random.default_rng(3), np.arange(COUNT) % 3 == 0
    nv, n = world.robot.nv, world.robot.n_bodies
    before, after = (
        {"mass": rng.uniform(0.5, 4.0, (COUNT, n)), "damping": rng.uniform(0.1, 1, (COUNT, nv))} for _ in range(2)
    )
    if name == "ground":
        before["ground_friction"], after["ground_friction"] = rng.uniform(0.1, 1, (2, COUNT))
    v = rng.standard_normal((COUNT, nv))
    mixed = {key: np.where(some.reshape(-1, *[1] * (x.ndim - 1)), after[key], x) for key, x in before.items()}
    one, other = (treesim.BatchStepper(world, COUNT, steps=STEPS, model_parameters=x) for x in (before, mixed))
    for stepper in (one, other):
        stepper.put(slice(None), q, v)
        stepper.step()
    assert not np.array_equal(one.q[some], other.q[some])
    for stepper in (one, other):
        stepper.put(some, q[some], v[some])
    for key, x in after.items():  # one by one: the others stay
        one.put(some, q[some], v[some], model_parameters={key: x[some]})
    one = pickle.loads(pickle.dumps(one))
    for _ in range(CALLS):
        one.step()
        other.step()
    assert np.array_equal(one.q, other.q) and np.array_equal(one.v, other.v)


@pytest.mark.filterwarnings("ignore::treesim.ContactWarning")
def test_parameters_of_states_that_lanes_leave_are_replaced(monkeypatch):
    """With room for one contact, lanes leave all states, which are then solved one by one, in the same arrays."""
    monkeypatch.setattr("treesim.contact.lanes.capacity_of", lambda contacts: 1)
    left, alone = [], lanes.ContactLanes._alone
    monkeypatch.setattr(lanes.ContactLanes, "_alone", lambda *given: left.append(given) or alone(*given))
    box = treesim.free_body("box", "box", (0.2, 0.2, 0.2), 1.0)
    world = treesim.World(box, ground=treesim.Ground(friction=0.5))
    q, v = np.tile(box.neutral(), (3, 1)), np.zeros((3, 6))
    q[:, 2], v[:, 0] = 0.1, 2.0
    slippery, rough = ({"ground_friction": np.full(3, friction)} for friction in (0.1, 0.9))
    one, other = (treesim.BatchStepper(world, 3, steps=STEPS, model_parameters=x) for x in (slippery, rough))
    for stepper in (one, other):
        stepper.put(slice(None), q, v)
        stepper.step()
    assert left and not np.array_equal(one.q, other.q)
    one.put(slice(None), q, v, model_parameters=rough)
    other.put(slice(None), q, v)
    for _ in range(CALLS):
        one.step()
        other.step()
    assert np.array_equal(one.q, other.q)


def test_parameters_that_cannot_be_replaced_are_refused(ur5):
    gravity = {"gravity": np.tile([0, 0, -1.0], (3, 1))}
    sensors = [treesim.Imu("tool0")]
    for world, given, new, error, message in (
        (ur5, None, {"mass": np.ones(6)}, treesim.ArgumentError, r"of the stepper \(none\).*'mass' is not"),
        (ur5, {"mass": np.ones((3, 6))}, {"damping": np.ones(6)}, treesim.ArgumentError, "'mass'.*'damping' is not"),
        (ur5, {"mass": np.ones((3, 6))}, {"mass": np.ones((2, 6))}, treesim.ArgumentError, r"for \[2\] states, but 3"),
        (ur5, {"mass": np.ones((3, 6))}, {"mass": -np.ones(6)}, treesim.ArgumentError, "mass"),
        (ur5, gravity, gravity, treesim.UnsupportedError, "'gravity'.* cannot be replaced"),
        (treesim.World(ur5, sensors=sensors), {"mass": np.ones(6)}, {"mass": np.ones(6)}, treesim.UnsupportedError,
         "'mass'.* in a world with sensors"),
    ):  # fmt: skip
        stepper = treesim.BatchStepper(world, 3, model_parameters=given)
        with pytest.raises(error, match=message):
            stepper.put(slice(None), np.zeros(6), np.ones(6), model_parameters=new)
        assert not (stepper.v == 1).any()


def test_states_that_are_not_finite_are_told_until_others_are_put(ur5):
    stepper = treesim.BatchStepper(treesim.World(ur5, use_limits=False), 4, steps=2)
    control = np.zeros((4, 6))
    stepper.put([2], np.zeros(6), np.full(6, 1e200))
    stepper.step(control)
    assert stepper.finite.tolist() == [True, True, False, True]
    stepper.step(control)
    assert stepper.finite.tolist() == [True, True, False, True]
    stepper.put([2], np.zeros(6), np.zeros(6))
    stepper.step(control)
    assert stepper.finite.all() and np.array_equal(stepper.v[2] != 0, stepper.v[0] != 0)


def test_states_are_read_only_and_arguments_are_checked(ur5):
    stepper = treesim.BatchStepper(ur5, 4)
    with pytest.raises(ValueError, match="read-only"):
        stepper.q[0] = 1.0
    with pytest.raises(treesim.ArgumentError, match=r"control has shape \(3, 6\), but \(4, 6\) or \(6,\) is needed"):
        stepper.step(np.zeros((3, 6)))
    with pytest.raises(treesim.NonFiniteError, match="control"):
        stepper.step(np.full(6, np.nan))
    with pytest.raises(treesim.ArgumentError, match=r"for 2 states"):
        stepper.put([0, 1], np.zeros((3, 6)), np.zeros(6))
    for rows in (None, "a", [4], [-5], [0.5], [[0]], [True, False]):
        with pytest.raises(treesim.ArgumentError, match="rows must be a slice, indices below 4, or a mask of 4 flags"):
            stepper.put(rows, np.zeros(6), np.zeros(6))
    for rows in ([], 3, [-4, 3], np.array([True, False, False, True])):
        stepper.put(rows, np.ones(6), np.zeros(6))
    assert stepper.q[:, 0].tolist() == [1, 0, 0, 1]
    with pytest.raises(treesim.ArgumentError, match="count"):
        treesim.BatchStepper(ur5, 0)


def test_what_cannot_move_stays():
    robot = treesim.Tree("block", [])
    stepper = treesim.BatchStepper(robot, 3)
    stepper.step()
    assert stepper.q.shape == (3, 0) and stepper.finite.all()


def test_two_threads_at_once_are_refused(ur5):
    stepper, inside, leave, refused = treesim.BatchStepper(ur5, 4), threading.Event(), threading.Event(), []
    piece = stepper._piece

    def waiting(*given):
        inside.set()
        assert leave.wait(PATIENCE)
        return piece(*given)

    stepper._piece = waiting
    thread = threading.Thread(target=stepper.step)
    thread.start()
    assert inside.wait(PATIENCE)
    for use in (stepper.step, lambda: stepper.put(slice(None), np.zeros(6), np.ones(6))):
        with pytest.raises(treesim.ArgumentError, match="another thread uses this"):
            use()
        refused.append(use)
    leave.set()
    thread.join()
    assert len(refused) == 2 and not (stepper.v == 1).any(), "nothing was put meanwhile"
    stepper._piece = piece
    for use in refused:
        use()
    assert (stepper.v == 1).all()
