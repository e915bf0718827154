"""Contact wrenches by names of bodies and surfaces: the same in a run and in a step, whatever their rows are."""

import copy
import pickle
import warnings
from functools import partial

import numpy as np
import pytest

import treesim
from treesim.contact import named_wrenches
from treesim.contact.history import ContactHistory
from treesim.contact.named_wrenches import NamedWrenches
from treesim.contact.report import ContactReport, NoContact
from treesim.kernels.contact.layout import STATE_INFO
from treesim.model import generators

ROBOT = treesim.free_body("box", "box", (0.2, 0.2, 0.2), 1.0)
BALL = treesim.free_body("ball", "sphere", (0.1,), 1.0)
BODIES, PAIRS = ("hip", "foot"), (("hip", "wall"), ("foot", "floor"), ("hip", "foot"))
RNG = np.random.default_rng(0)
FORCES = RNG.normal(size=(5, 3, 12))


@pytest.fixture
def issued(monkeypatch):
    """No warning has been issued in this process yet."""
    monkeypatch.setattr(named_wrenches, "_issued", set())


@pytest.fixture
def silent(issued):
    """Warnings are errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def history(surfaces=("floor", "wall"), pairs=PAIRS, forces=FORCES):
    wrench = np.arange(60.0).reshape(5, 2, 6)
    return ContactHistory(BODIES, wrench, np.zeros((5, STATE_INFO)), surfaces, pairs, forces)


def report(batch=(), ground=("floor",)):
    """Return a report of the box and the ball on the ground, with a number of its own for each row."""
    world = treesim.World(ROBOT, ground=[treesim.Ground(name=name) for name in ground], bodies=[BALL])
    touching = world.touching
    wrench = np.broadcast_to(np.arange(18.0).reshape(3, 6), (*batch, 3, 6))
    pairs = np.broadcast_to(np.arange(12.0 * len(touching.groups)).reshape(-1, 12), (*batch, len(touching.groups), 12))
    return ContactReport(touching, [NoContact(wrench, pairs, np.zeros((*batch, STATE_INFO)))])


def test_a_name_is_the_same_body_in_a_run_and_in_a_step(silent):
    run, step = history(), report()
    assert np.array_equal(run.wrench["foot"], run.wrench_array[:, 1]) and run.wrench["foot"].shape == (5, 6)
    assert np.array_equal(run.of_body("foot"), run.wrench["foot"])
    assert step.wrench["box"].tolist() == [*range(6, 12)] and step.wrench["ball"].tolist() == [*range(12, 18)]
    assert step.wrench["ground"].tolist() == step.wrench["floor"].tolist() == [*range(6)]


def test_wrenches_on_surfaces_are_sums_over_pairs(silent):
    run = history()
    assert np.array_equal(run.wrench["wall"], FORCES[:, 0, 6:])
    assert np.array_equal(run.wrench["ground"], FORCES[:, 0, 6:] + FORCES[:, 1, 6:])
    assert np.array_equal(run.of_body("floor"), FORCES[:, 1, 6:]), "a surface, from all others"
    step = report(ground=("floor", "wall"))
    sides = zip(step.touching.groups, step.pair_wrench_array, strict=True)
    on_wall = sum(x[6 * pair.index("wall") :][:6] for pair, x in sides if "wall" in pair)
    assert np.array_equal(step.wrench["wall"], on_wall)
    assert step.wrench["ground"].tolist() == [*range(6)], "all surfaces together"


@pytest.mark.parametrize("batch", [(), (4,), (2, 3)])
def test_names_are_indices_of_the_axis_of_bodies(batch, silent):
    wrench = report(batch).wrench
    plain = np.asarray(wrench)
    assert np.array_equal(wrench["ball"], plain[..., 2, :]) and np.array_equal(wrench[..., "ball", 2], plain[..., 2, 2])
    assert np.array_equal(wrench["ball"][..., 1], plain[..., 2, 1])
    assert np.array_equal(wrench[..., ["ball", "floor"], :], plain[..., [2, 0], :])
    full = (slice(None),) * len(batch)
    assert np.array_equal(wrench[(*full, "box", slice(3))], plain[..., 1, :3])


def test_a_name_in_front_selects_the_body_and_further_indices_its_states(silent):
    run = history().wrench
    assert np.array_equal(run["foot", 2], run["foot"][2]) and np.array_equal(run[2, "foot"], run["foot"][2])
    assert run["foot", 2, 1] == run[2, "foot", 1] == np.asarray(run)[2, 1, 1]
    assert np.array_equal(run["wall", 1:3], FORCES[1:3, 0, 6:]) and np.array_equal(
        run[-1, "wall", 3:], FORCES[-1, 0, 9:]
    )
    assert np.array_equal(run[[0, 2], "foot"], np.asarray(run)[[0, 2], 1])
    assert np.array_equal(run[:, ["wall", "hip"]][:, 1], np.asarray(run)[:, 0])


OF_STATES = [2, -1, slice(1, 4), [0, 3], np.array([True, False, True, True, False]), np.int64(2), (None, slice(1, 3))]


@pytest.mark.parametrize("key", OF_STATES)
def test_indices_of_states_keep_the_names(key, silent):
    run = history().wrench
    found, plain = run[key], np.asarray(run)[key]
    assert np.array_equal(found, plain) and np.array_equal(found["foot"], plain[..., 1, :])
    assert np.array_equal(found["wall"], run["wall"][key])


@pytest.mark.parametrize(
    "key", [(1, slice(None), slice(3)), (..., slice(3)), (..., slice(None)), (slice(3), ..., [0, 2])]
)
def test_indices_of_parts_keep_the_names_of_bodies(key, silent):
    run = history().wrench
    found, plain = run[key], np.asarray(run)[key]
    assert np.array_equal(found, plain)
    if isinstance(key[-1], slice):
        assert np.array_equal(found["foot"], plain[..., 1, :])
    assert type(run[..., 2]) is type(run[1, :, 2]) is np.ndarray, "one number a body"


def test_iteration_is_over_states(silent):
    assert [row["foot"].tolist() for row in history().wrench] == history().wrench["foot"].tolist()
    assert [row.tolist() for row in report().wrench] == np.asarray(report().wrench).tolist()


OF_BODIES = [(slice(None), 1), (0, 1), (..., 1, 2), (slice(None), [0, 1]), (0, slice(1, None))]


@pytest.mark.parametrize("key", OF_BODIES)
def test_an_integer_for_a_body_of_a_run_warns_once_with_both_meanings(key, issued):
    wrench = history().wrench
    with pytest.warns(treesim.LayoutWarning) as caught:
        found = wrench[key]
        wrench[key]
    assert np.array_equal(found, np.asarray(wrench)[key]) and type(found) is not NamedWrenches
    (warning,) = caught
    name = "'hip'" if key[-1] == [0, 1] else "'foot'"
    assert f"of the bodies is {name}, because run.contact.wrench has rows for" in str(warning.message)
    assert "report.contact.wrench has row 0 for the ground" in str(warning.message)
    assert warning.filename == __file__


@pytest.mark.parametrize("key", [1, (1, 2), slice(1, None), [1, 2], np.int64(1)])
def test_an_integer_for_a_body_of_a_step_warns_with_both_meanings(key, issued):
    wrench = report().wrench
    with pytest.warns(treesim.LayoutWarning, match="index 1 of the bodies is 'box', because report.*index 1 is 'ball'"):
        wrench[key]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wrench[key]
        history().wrench[:, 1]


def test_indices_that_mean_no_body_do_not_warn(silent):
    run, step = history().wrench, report((3,)).wrench
    assert run[1].shape == (2, 6) and step[1].shape == (3, 6) and step[1, :, 2].shape == (3,)
    assert repr(run) == repr(np.asarray(run)) and f"{run}" == str(np.asarray(run))
    assert np.array_equal(step[0][np.array([True, False, True])], np.asarray(step)[0, [0, 2]])
    assert np.array_equal(run[np.asarray(run) > 50], np.asarray(run)[np.asarray(run) > 50])
    assert run.sum() == np.asarray(run).sum() and float(np.linalg.norm(run[1, :, :3])) > 0
    assert type(run.mean(axis=0)) is np.ndarray and np.array_equal(run.T, np.asarray(run).T)


def test_too_many_indices_are_an_error_of_indices():
    with pytest.raises(IndexError):
        history().wrench[0, 0, 0, 0]


def test_unknown_names_are_refused_with_suggestions():
    for wrench, near in ((history().wrench, "'foot'"), (history().wrench[2:], "'floor'"), (report().wrench, "'floor'")):
        with pytest.raises(treesim.UnknownNameError, match=f"with contact wrenches 'floo': did you mean .*{near}"):
            wrench["floo"]


def test_a_run_without_pairs_knows_no_surfaces():
    with pytest.raises(treesim.UnknownNameError, match=r"'ground': known are: hip, foot$"):
        history((), (), None).wrench["ground"]
    assert not history(("floor",), (), None).wrench["ground"].any(), "nothing has touched it"


def test_arithmetic_keeps_names(silent):
    run = history().wrench
    for found in (2 * run, run + run, -run, run > 3, np.abs(run), 2 * run[0:5], run.astype(np.float32) * 2):
        assert found["foot"].shape == (5, 6)
        with pytest.raises(treesim.UnknownNameError):
            found["ground"]
    doubled = run.copy()
    doubled *= 2
    assert np.array_equal(doubled["foot"], 2 * run["foot"])
    assert type(np.add(run, np.zeros((7, 1, 1, 1)))) is np.ndarray, "another shape has no names"
    assert type(np.add.reduce(run)) is np.ndarray
    out = np.empty((5, 2, 6))
    assert np.multiply(run, 2, out=out) is out


def test_arrays_of_other_rows_lose_their_names(silent):
    one, other = history().wrench, NamedWrenches.of(np.ones((5, 2, 6)), report().wrench._rows)
    assert type(one + other) is np.ndarray


TWINS = [copy.copy, copy.deepcopy, NamedWrenches.copy, lambda x: pickle.loads(pickle.dumps(x))]


@pytest.mark.parametrize("twin", TWINS, ids=["copy", "deepcopy", "method", "pickle"])
def test_copies_and_pickles_keep_names(twin, silent):
    for wrench, name in ((history().wrench, "foot"), (history().wrench[1], "foot"), (report((3,)).wrench, "ball")):
        again = twin(wrench)
        assert np.array_equal(again[name], wrench[name])
        assert np.array_equal(again, wrench) and not np.shares_memory(again, wrench)


def test_pickles_keep_wrenches_on_surfaces(silent):
    for wrench, name in ((history().wrench[1:4], "wall"), (report(ground=("floor", "wall")).wrench, "wall")):
        assert np.array_equal(pickle.loads(pickle.dumps(wrench))[name], wrench[name])
    again = pickle.loads(pickle.dumps(history()))
    assert np.array_equal(again.wrench["ground"], history().wrench["ground"])
    assert pickle.loads(pickle.dumps(history().wrench.T)).shape == (6, 2, 5)


def test_plain_arrays_share_the_memory(silent):
    run = history()
    assert type(run.wrench_array) is np.ndarray is type(np.asarray(run.wrench))
    assert np.shares_memory(run.wrench_array, run.wrench) and np.shares_memory(run.wrench["foot"], run.wrench)


def test_rows_are_set_by_names(issued):
    run = history().wrench.copy()
    run["foot"] = 1.0
    run[0, "hip"] = 2.0
    run["hip", 1] = 3.0
    run[:, ["hip", "foot"], 5] = 4.0
    plain = np.asarray(run)
    assert (plain[:, 1, :5] == 1).all() and (plain[0, 0, :5] == 2).all() and (plain[1, 0, :5] == 3).all()
    assert (plain[..., 5] == 4).all()
    with pytest.raises(treesim.ArgumentError, match="the wrench on 'wall' is a sum over pairs"):
        run["wall"] = 1.0
    run[2:4] = 0.0
    assert not plain[2:4].any()
    with pytest.warns(treesim.LayoutWarning):
        run[:, 1] = 5.0
    assert (plain[:, 1] == 5).all()


def test_a_batch_of_steppers_has_names(silent):
    stepper = treesim.BatchStepper(treesim.World(ROBOT, ground=treesim.Ground()), 2, contact_wrenches=True)
    assert stepper.contact_wrench["box"].shape == stepper.contact_wrench["ground"].shape == (2, 6)
    with pytest.raises(treesim.UnknownNameError, match="'foot'"):
        stepper.contact_wrench["foot"]
    assert treesim.BatchStepper(generators.chain(2), 2).contact_wrench is None


def test_pairs_have_the_same_names_in_runs_and_steps(silent):
    run, step = history().pair_wrench, report(ground=("floor", "wall")).pair_wrench
    assert np.array_equal(run["hip", "foot"], FORCES[:, 2, :6]) and np.array_equal(run["foot", "hip"], FORCES[:, 2, 6:])
    assert np.array_equal(run["foot", "ground"], run["foot", "floor"]) and not run["foot", "wall"].any()
    for found in (run[3, "hip", "wall"], run[3]["hip", "wall"]):
        assert np.array_equal(found, FORCES[3, 0, :6])
    assert run.pairs == PAIRS and np.array_equal(run, FORCES) and np.array_equal(run[2:4], FORCES[2:4])
    one, other = step.pairs[0]
    assert np.array_equal(step[one, other], np.asarray(step)[..., 0, :6])
    assert run[..., :6].pairs == () and type(run.sum(axis=1)) is np.ndarray


def test_an_integer_for_a_pair_warns_once(issued):
    run = history().pair_wrench
    with pytest.warns(treesim.LayoutWarning) as caught:
        assert np.array_equal(run[:, 1], FORCES[:, 1])
        run[:, 0]
    (warning,) = caught
    assert "index 1 of the pairs is another pair in a run than in a step" in str(warning.message)
    assert "pair_wrench['foot', 'floor']" in str(warning.message) and warning.filename == __file__


def test_the_array_of_pairs_of_a_step_keeps_its_old_name_with_a_warning(issued):
    step = report()
    with pytest.warns(treesim.LayoutWarning, match="take report.contact.pair_wrench"):
        assert np.array_equal(step.pairs, step.pair_wrench)


def test_a_pair_is_given_by_two_known_names(silent):
    run = history().pair_wrench
    with pytest.raises(treesim.ArgumentError, match="a pair of bodies or surfaces has two names"):
        run["foot"]
    with pytest.raises(treesim.UnknownNameError, match="'floo': did you mean 'floor'"):
        run["foot", "floo"]


@pytest.mark.parametrize("twin", TWINS, ids=["copy", "deepcopy", "method", "pickle"])
def test_copies_and_pickles_keep_names_of_pairs(twin, silent):
    run = history().pair_wrench
    assert np.array_equal(twin(run)["foot", "floor"], run["foot", "floor"]) and type(twin(run)) is type(run)


def push(t, q, v, p, u, c, body):
    u[2] = -c[body][2]


@pytest.mark.parametrize("body, warnings_", [("box", 0), (1, 1)])
@pytest.mark.parametrize("kind", ["measure", "policy"])
def test_traced_wrenches_are_indexed_by_names_and_integers_warn_once(body, warnings_, kind, issued):
    world = treesim.World(ROBOT, ground=treesim.Ground(name="floor"))
    measure = {"load": treesim.measures.maximum(lambda t, q, v, p, c: c[body][2] + c[body][0])}
    given = {"measure": measure} if kind == "measure" else {"control": partial(push, body=body)}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            treesim.rollout(world, [0, 0, 0.1, 0, 0, 0, 1], np.zeros(6), steps=0, **given)
    found = [x for x in caught if x.category is treesim.LayoutWarning]
    assert len(found) == warnings_ and all("index 1 of the bodies is 'box'" in str(x.message) for x in found)
