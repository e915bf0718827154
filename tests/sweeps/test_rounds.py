"""The search for samples that cannot be computed, by pools that blame others, too."""

import pytest

from treesim import SweepError
from treesim.sweeps.chunk import Task
from treesim.sweeps.rounds import culprits, finish
from treesim.sweeps.workers import Failed, TaskResult


class Blames:
    """A pool without processes: a task with the sample `kills` dies, and with it, as a scheduler counts, all others of
    the same call; one with `always` dies when it is whole."""

    workers, exact = 2, False

    def __init__(self, kills, always=()):
        self.kills, self.always = kills, always

    def map(self, job, tasks):
        dies = any(t.start <= self.kills < t.stop and self.kills not in t.left_out for t in tasks)
        for task in tasks:
            wrong = dies or (task.writes and task.start in self.always)
            yield task, Failed("killed its workers", kills=True) if wrong else TaskResult({"start": task.start})

    def close(self):
        pass


class Lines:
    """A manifest in memory."""

    def __init__(self):
        self.left_out, self.finished = {}, []

    def add(self, line):
        if "sample" in line:
            self.left_out[line["sample"]] = line["reason"]
        else:
            self.finished.append(line["start"])


TASKS = [Task(start, start + 4) for start in range(0, 16, 4)]


def test_those_who_died_with_others_are_not_left_out():
    assert set(culprits(Blames(6), None, TASKS)) == {6}
    manifest, done = Lines(), []
    finish(Blames(6), None, TASKS, manifest, done.append)
    assert set(manifest.left_out) == {6} and sorted(manifest.finished) == [0, 4, 8, 12] and sum(done) == 16


def test_a_task_that_fails_though_its_samples_do_not_is_told():
    with pytest.raises(SweepError, match="samples 8 to 11 cannot be computed together"):
        finish(Blames(99, always=(8,)), None, TASKS, Lines(), lambda samples: None)


def test_a_task_that_fails_without_the_samples_to_blame_is_told():
    manifest = Lines()
    message = "samples 8 to 11 cannot be computed, even without 1 of them: killed its workers: the same call tries"
    with pytest.raises(SweepError, match=message):
        finish(Blames(9, always=(8,)), None, TASKS, manifest, lambda samples: None)
    assert set(manifest.left_out) == {9} and manifest.finished == [0, 4, 12]


@pytest.mark.parametrize("samples", [1000, 1001])
def test_a_sweep_of_which_too_much_fails_is_given_up(samples):
    class Fails:
        """A pool whose samples all fail."""

        exact = True

        def map(self, job, tasks):
            return ((task, Failed("an error", kills=False)) for task in tasks)

    if samples == 1000:
        assert len(culprits(Fails(), None, [Task(0, samples)])) == samples
    else:
        with pytest.raises(SweepError, match="more than 1000 samples cannot be computed, such as sample 0: an error"):
            culprits(Fails(), None, [Task(0, samples)])
