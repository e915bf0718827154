"""The player: one clock, real time, events, and what happens when it cannot keep up."""

import copy
import pickle
import threading
import warnings

import numpy as np
import pytest

import treesim
from treesim.errors import SlowWarning

ROBOT = treesim.load("ur5")


class Wall:
    """A clock that goes on when somebody sleeps, or works."""

    def __init__(self, work=0.0):
        self.now, self.slept, self.work = 0.0, [], work

    def clock(self):
        self.now += self.work
        return self.now

    def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += seconds


def player(wall, frames=None, simulation=None, **options):
    show = None if frames is None else frames.append
    simulation = simulation or treesim.Simulation(ROBOT)
    return treesim.Player(simulation, show=show, clock=wall.clock, sleep=wall.sleep, **options)


def test_time_goes_on_for_the_controller_and_frames_come_at_their_time():
    seen = []

    def torque(t, q, v):
        seen.append(t)
        return np.zeros(6)

    wall, frames = Wall(), []
    played = player(wall, frames, treesim.Simulation(ROBOT, controller=torque))
    assert played.run(0.5) == pytest.approx(0.5) and played.run(0.5) == pytest.approx(0.5)
    np.testing.assert_allclose(seen, 1e-3 * np.arange(1000), atol=1e-12)  # one clock through both runs
    assert wall.now == pytest.approx(1.0) and played.t == pytest.approx(1.0)
    assert [f.t for f in frames[:4]] == pytest.approx([0.033, 0.066, 0.1, 0.133])  # no drift from frames of 33.3 steps
    assert frames[-1].pace == pytest.approx(1.0, rel=0.1)  # the last frame is shown before its time is over


def test_states_are_the_simulation_s():
    run = treesim.Simulation(ROBOT).run(0.1, np.full(6, 0.3))
    played = player(Wall(), q0=np.full(6, 0.3))
    played.run(0.1)
    assert np.array_equal(played.q, run.q[-1]) and np.array_equal(played.v, run.v[-1])


@pytest.mark.parametrize("way", [lambda played: pickle.loads(pickle.dumps(played)), copy.deepcopy])
def test_copies_go_on_where_it_is(way):
    played = player(Wall(), [], treesim.Simulation(ROBOT, controller=treesim.PD(ROBOT, np.full(6, 0.2))))
    played.run(0.1)
    other = way(played)
    assert other.t == played.t
    assert np.array_equal(other.step(20).v, played.step(20).v) and other.steps == played.steps


def test_speed_pause_step_and_reset():
    wall, frames = Wall(), []
    played = player(wall, frames, speed=4.0)
    played.run(1.0)
    assert wall.now == pytest.approx(0.25, rel=0.02)
    played.pause()
    resumed = []

    def after(seconds):
        wall.now += seconds
        if wall.now > 5 and not resumed:
            resumed.append(played.t)
            played.post(lambda p: p.resume())

    played._sleep = after
    played.run(0.2)
    assert resumed == [pytest.approx(1.0)] and played.t == pytest.approx(1.2)
    before = played.t
    frame = played.step(3)
    assert frame.t == pytest.approx(before + 3e-3)
    played.reset(np.ones(6))
    assert played.t == 0 and np.array_equal(played.q, np.ones(6))


def test_events_of_other_threads_come_before_the_next_frame():
    played, seen = player(Wall()), []
    worker = threading.Thread(target=lambda: played.post(lambda p: seen.append((p.t, threading.current_thread()))))
    worker.start()
    worker.join()
    played.run(0.05)
    assert seen == [(0.0, threading.main_thread())]


def test_what_cannot_keep_up_says_so_once_and_slows_down():
    wall = Wall(work=0.3)  # every look at the clock takes so long
    with pytest.warns(SlowWarning, match="cannot keep up: it runs at 0.0.* times real time, not 1") as caught:
        player(wall).run(0.5)
    assert len([w for w in caught if w.category is SlowWarning]) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"speed": 0}, "speed must be"),
        ({"speed": 1e9}, "speed must be 0.001 to 1000"),
        ({"fps": -1}, "fps must be"),
        ({"q0": np.zeros(3)}, "q0"),
    ],
)
def test_what_makes_no_sense_is_refused(options, message):
    with pytest.raises(treesim.ArgumentError, match=message):
        player(Wall(), **options)
    with pytest.raises(treesim.ArgumentError, match=r"must be a treesim\.Simulation"):
        treesim.Player(ROBOT)


def test_a_state_that_is_lost_stays_out():
    mass = treesim.Joint("slide", "prismatic", axis=(1, 0, 0))
    robot = treesim.Tree("mass", [treesim.Body("mass", 0, mass, treesim.Inertia(2.0))])

    def torque(t, q, v):
        with np.errstate(over="ignore"):
            return -1e9 * q

    played = player(Wall(), simulation=treesim.Simulation(robot, controller=torque), q0=[1.0])
    with pytest.raises(treesim.NonFiniteError):
        played.run(5.0)
    assert np.isfinite(played.q).all() and 0 < played.t < 5


def test_another_simulation_goes_on_from_the_same_state_and_time():
    played = player(Wall())
    played.run(0.1)
    q = played.q.copy()
    played.change(treesim.Simulation(ROBOT, dt=2e-3))
    assert played.t == pytest.approx(0.1) and np.array_equal(played.q, q)
    played.step(5)
    assert played.t == pytest.approx(0.11)
    assert pickle.loads(pickle.dumps(played)).t == played.t
    played.reset(q, t=3.0)
    assert played.t == 3.0 and np.array_equal(played.q, q)


def test_a_frame_ends_when_its_time_is_over():
    wall, frames = Wall(), []
    simulation = treesim.Simulation(ROBOT)
    step = simulation.step

    def slow(*state):
        wall.now += 5e-3
        return step(*state)

    simulation.step = slow
    with pytest.warns(SlowWarning):
        player(wall, frames, simulation, fps=50.0).run(0.2)
    assert np.diff([f.t for f in frames]).max() <= 5.5e-3, "four steps of 5 ms, or by rounding five, are 20 ms"


@pytest.mark.parametrize(
    ("options", "refused"),
    [
        ({"speed": 1000}, None),
        ({"speed": 1040}, "speed must be 0.001 to 1000"),
        ({"speed": 0.001}, None),
        ({"speed": 0.00096}, "speed must be 0.001 to 1000"),
        ({"speed": 1000, "fps": 1.02}, None),
        ({"speed": 1000, "fps": 0.98}, "a frame of 1/0.98 s would be 1.02e.06 steps"),
    ],
)
def test_the_fastest_and_the_slowest_motion(options, refused):
    if refused is None:
        assert player(Wall(), **options).speed == options["speed"]
    else:
        with pytest.raises(treesim.ArgumentError, match=refused):
            player(Wall(), **options)


@pytest.mark.parametrize(("late", "expected"), [(0.195, False), (0.205, True)])
def test_a_frame_may_be_a_fifth_of_a_second_late(late, expected):
    wall = Wall()
    played = player(wall)

    def delay(p):
        wall.now += 0.033 + late

    played.post(delay)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        played.run(0.033)
    assert [one.category for one in caught] == expected * [SlowWarning]
    played.run(0.033)
    assert wall.now == pytest.approx(0.066 + late if expected else 0.033 + late + 0.033)
