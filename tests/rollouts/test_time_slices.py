"""Rollouts in slices: no way of slicing changes a bit, and Ctrl-C between two of them keeps what is done."""

import signal
import warnings

import numpy as np
import pytest

import treesim
from tests.rollouts.test_rollouts import engine, pd_to_a_sine, start  # noqa: F401
from treesim.model import generators
from treesim.rollouts import rollout, time_slices
from treesim.rollouts.time_slices import Progress, SliceScheduler

ROBOT = generators.chain(4)
COUNT, STEPS = 21, 23


class Cut(SliceScheduler):
    """Slices of any size, drawn at random."""

    seed = 0

    def __init__(self, nv):
        super().__init__(nv)
        self.rng = np.random.default_rng(self.seed)

    def learn(self, work, seconds):
        pass

    def rows(self, left, steps, most):
        return int(self.rng.integers(1, min(left, most) + 1))

    def end(self, step, last, rows, every):
        self.work = rows * int(self.rng.integers(1, 12))
        return super().end(step, last, rows, every)


class Single(Cut):
    """One rollout after the other, five steps at a time."""

    def rows(self, left, steps, most):
        return 1

    def end(self, step, last, rows, every):
        self.work = 5
        return SliceScheduler.end(self, step, last, rows, every)


def arguments(law, number):
    q0, v0, rng = start(ROBOT, COUNT)
    p = rng.uniform(0.5, 2.0, (COUNT, 2))
    forces = rng.normal(size=(COUNT, STEPS, ROBOT.nv))
    q0, v0, p, forces = (x.astype(number) for x in (q0, v0, p, forces))
    if law == "forces":
        return (q0, v0, forces), {}
    return (q0, v0, pd_to_a_sine), {"policy_parameters": p, "steps": STEPS}


@pytest.mark.parametrize("law", ["forces", "policy"])
@pytest.mark.parametrize("number", [np.float64, np.float32])
@pytest.mark.parametrize("every", [1, 3, 11])
def test_no_slicing_changes_a_bit(monkeypatch, engine, law, number, every):  # noqa: F811
    positional, named = arguments(law, number)
    whole = treesim.rollout(ROBOT, *positional, dt=2e-3, every=every, engine=engine, **named)
    assert whole.q.dtype == number and (whole.done == STEPS // every).all() and whole.stopped is None
    monkeypatch.setattr(rollout, "SliceScheduler", Cut)
    for seed in range(4):
        monkeypatch.setattr(Cut, "seed", seed)
        details = []
        save_progress = lambda done, total: details.append((done, total))  # noqa: B023, E731
        cut = treesim.rollout(ROBOT, *positional, dt=2e-3, every=every, engine=engine, progress=save_progress, **named)
        assert np.array_equal(cut.q, whole.q) and np.array_equal(cut.v, whole.v)
        assert details[-1] == (COUNT, COUNT) and details == sorted(set(details))


@pytest.mark.parametrize("every", [1, 7, 100])
def test_a_pace_ends_slices_within_bounds_and_on_records_where_it_can(every):
    for work in (1, 5, 64, 10**6):
        pace = SliceScheduler(4)
        pace.work = work
        for rows, last in ((1, 3 * every), (10, 60 * every)):
            step = 0
            while step < last:
                end = pace.end(step, last, rows, every)
                assert step < end <= last and end - step <= max(1, work // rows)
                assert end % every == 0 or end // every == step // every
                step = end
        for left in (1, 16, 1000, 10**6):
            assert 1 <= pace.rows(left, 300, 10**9) <= left and pace.rows(left, 300, 3) <= 3


@pytest.mark.parametrize(("compiled", "work"), [(True, 500_000), (False, 500)])
def test_the_first_slice_is_short_on_the_slowest_engine(compiled, work, monkeypatch):
    monkeypatch.setattr(time_slices, "runs_compiled", lambda: compiled)
    assert SliceScheduler(4).work == work


@pytest.mark.parametrize(("left", "rows"), [(10**6, 128), (128, 128), (129, 80), (300, 112), (17, 17)])
def test_slices_of_long_rollouts_are_64_for_each_thread_in_whole_vectors(left, rows, monkeypatch):
    """Of two threads: slices of about equal size, in multiples of 16 rollouts."""
    monkeypatch.setattr(time_slices, "thread_count", lambda: 2)
    assert SliceScheduler(4).rows(left, 10**9, 10**9) == rows


def test_a_pace_learns_what_fits_its_time():
    pace = SliceScheduler(4)
    before = pace.work
    pace.learn(before, 1e-6)
    assert pace.work == 32 * before, "never much more than was seen to be quick"
    pace.learn(1000, 2.0)
    assert pace.work == 100


class AfterSlices:
    """Ctrl-C once so many slices are computed."""

    def __init__(self, monkeypatch, count):
        made, self.left = rollout.under_controls, count

        def under_controls(*args, **named):
            piece = made(*args, **named)

            def counted(*given):
                self.left -= 1
                if self.left < 0:
                    raise KeyboardInterrupt
                return piece(*given)

            return counted

        monkeypatch.setattr(rollout, "under_controls", under_controls)
        monkeypatch.setattr(rollout, "SliceScheduler", Single)


def test_progress_is_reported_after_256_mib_of_results(monkeypatch):
    """Of 10 records of 8 numbers in double precision."""
    asked, made = [], rollout.slices

    def slices(piece, states, results, every, most, *rest):
        asked.append(most)
        return made(piece, states, results, every, most, *rest)

    monkeypatch.setattr(rollout, "slices", slices)
    treesim.rollout(ROBOT, np.zeros(4), np.zeros(4), steps=10)
    assert asked == [2**28 // (10 * 8 * 8)]


def test_ctrl_c_keeps_what_is_done(monkeypatch, engine):  # noqa: F811
    (q0, v0, forces), _ = arguments("forces", np.float64)
    whole = treesim.rollout(ROBOT, q0, v0, forces, every=2, engine=engine)
    # 23 steps, 11 records of 2, in slices of 4, 4, 4, 4, 4, 2 steps
    AfterSlices(monkeypatch, 2 * 6 + 3)
    with pytest.warns(rollout.StoppedWarning, match="2 of 21 rollouts are done, and 6 records of 1 more") as details:
        found = treesim.rollout(ROBOT, q0, v0, forces, every=2, engine=engine)
    assert details[0].filename == __file__
    assert found.stopped == "interrupted" and found.done.tolist() == [11, 11, 6]
    assert np.array_equal(found.q[:2], whole.q[:2]) and np.array_equal(found.v[2, :6], whole.v[2, :6])
    assert np.isnan(found.q[2, 6:]).all() and np.isnan(found.v[2, 6:]).all()
    assert found.diverged.tolist() == [False] * 3, "what was not computed has not diverged"


@pytest.mark.parametrize(("slices", "shape"), [(0, (0, 11)), (1, (1, 2)), (3, (1, 6))])
def test_ctrl_c_in_the_first_rollout_keeps_its_records(monkeypatch, slices, shape):
    (q0, v0, forces), _ = arguments("forces", np.float64)
    whole = treesim.rollout(ROBOT, q0, v0, forces, every=2)
    AfterSlices(monkeypatch, slices)
    with pytest.warns(rollout.StoppedWarning):
        found = treesim.rollout(ROBOT, q0, v0, forces, every=2)
    assert found.q.shape == (*shape, 4) and found.t.shape == shape[1:] and found.done.shape == shape[:1]
    assert np.array_equal(found.q, whole.q[: shape[0], : shape[1]])


def test_a_signal_ends_one_long_rollout(monkeypatch, engine):  # noqa: F811
    """Without slices, no second piece begins: the signal would be seen when all steps are done."""
    made, ends = rollout.under_controls, []

    def under_controls(*args, **named):
        piece = made(*args, **named)

        def pressed(rows, steps, *given):
            result = piece(rows, steps, *given)
            ends.append(steps.stop)
            if len(ends) == 2:  # as if pressed while machine code ran: Python handles it after that
                signal.raise_signal(signal.SIGINT)
            return result

        return pressed

    monkeypatch.setattr(rollout, "under_controls", under_controls)
    monkeypatch.setattr(time_slices, "FIRST_WORK", 1000 * ROBOT.nv)
    with pytest.warns(rollout.StoppedWarning):
        found = treesim.rollout(ROBOT, np.ones(4), np.zeros(4), steps=10**5, dt=1e-6, engine=engine)
    assert found.stopped == "interrupted" and found.done.tolist() == ends[:1] and 0 < ends[0] < ends[1] < 10**5
    monkeypatch.setattr(rollout, "under_controls", made)
    whole = treesim.rollout(ROBOT, np.ones(4), np.zeros(4), steps=ends[0], dt=1e-6, engine=engine)
    assert np.array_equal(found.q, whole.q) and np.array_equal(found.v, whole.v)


def test_an_error_of_progress_carries_what_is_done(monkeypatch):
    (q0, v0, forces), _ = arguments("forces", np.float64)
    whole = treesim.rollout(ROBOT, q0, v0, forces)
    monkeypatch.setattr(rollout, "SliceScheduler", Single)

    def fails(done, total):
        if done == 3:
            raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more") as caught:
        treesim.rollout(ROBOT, q0, v0, forces, progress=fails)
    found = caught.value.rollouts
    assert np.array_equal(found.q, whole.q[:3]) and found.stopped == "RuntimeError: no more"
    assert any("3 of 21 rollouts were computed" in note for note in caught.value.__notes__)


def test_controls_that_are_no_numbers_end_the_run_where_they_are_met(monkeypatch, engine):  # noqa: F811
    (q0, v0, forces), _ = arguments("forces", np.float64)
    monkeypatch.setattr(rollout, "SliceScheduler", Single)
    forces[4, 7, 1] = np.inf
    with pytest.raises(treesim.NonFiniteError, match=r"control\[4, 7, 1\]") as caught:
        treesim.rollout(ROBOT, q0, v0, forces, engine=engine)
    assert caught.value.rollouts.done.tolist() == [23, 23, 23, 23, 5]


def test_a_state_that_is_not_finite_warns_where_rollout_is_called():
    v0 = np.full((3, 4), 1e200)
    with pytest.warns(treesim.DivergedWarning) as details:
        treesim.rollout(ROBOT, np.zeros(4), v0, steps=3)
    assert details[0].filename == __file__


def test_robots_that_cannot_move():
    still = treesim.Tree("still", [])
    details = []
    found = treesim.rollout(
        still, np.zeros((3, 0)), np.zeros(0), steps=5, every=2, progress=lambda *x: details.append(x)
    )
    assert found.q.shape == found.v.shape == (3, 2, 0) and found.done.tolist() == [2, 2, 2] and details == [(3, 3)]
    assert not found.diverged.any()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = treesim.rollout(still, np.zeros(0), np.zeros(0), lambda t, q, v, p, u: None, steps=4)
    assert found.q.shape == (1, 4, 0)


def test_done_counts_from_nothing():
    assert Progress() == (0, 0, 0)
