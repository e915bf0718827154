"""Sweeps by processes of this machine: whatever ends them, the same bits in the end."""

import json
import os
import signal
import sys
import warnings

import numpy as np
import pytest

import treesim
from tests.terminal import Terminal
from treesim import ArgumentError, SweepError, sweeps
from treesim.errors import DivergedWarning, StoppedWarning
from treesim.model import generators
from treesim.rollouts import measures
from treesim.sweeps import Distribution, Uniform, around, scale
from treesim.sweeps.manifest import MANIFEST, held
from treesim.sweeps.samples import uniforms
from treesim.sweeps.store import require_zarr
from treesim.testing.samples import on_floating_base

ROBOT = generators.chain(2)
LINK = ROBOT.body_names[1]
SAMPLES, STEPS = 40, 10
VARY = {f"mass[{LINK}]": scale(Uniform(0.5, 2.0)), "v0[*]": Uniform(-1, 1), "q0": around(sd=0.2)}


def fastest(t, q, v):
    return v[1]


MEASURE = {"fastest": measures.maximum(fastest), "where": measures.last(lambda t, q, v: q[0] + q[1])}


def run(store, samples=SAMPLES, vary=VARY, chunk=16, **options):
    given = {"steps": STEPS, "seed": 5, "measure": MEASURE, "workers": 1} | options
    return treesim.sweep(ROBOT, samples=samples, vary=vary, chunk=chunk, store=store, **given)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return run(tmp_path_factory.mktemp("sweep") / "whole.zarr")


def same_bits(one, other):
    return one.identical(other) and all(one[name].values.tobytes() == other[name].values.tobytes() for name in one)


def without_attributes(study):
    return study.summary.load().drop_attrs()


def test_columns_are_those_of_one_call_of_rollout(whole):
    inputs = whole.plan.inputs(np.arange(SAMPLES))
    runs = treesim.rollout(
        ROBOT, inputs.q0, inputs.v0, steps=STEPS, model_parameters={"mass": inputs.physics["mass"]}, engine="auto"
    )
    found = whole.summary
    assert np.array_equal(found["fastest"], runs.v[:, :, 1].max(axis=1))
    assert np.array_equal(found["where"], runs.q[:, -1, 0] + runs.q[:, -1, 1])
    assert np.array_equal(found[f"mass[{LINK}]"], inputs.drawn[f"mass[{LINK}]"])
    assert (found["failed_reason"] == 0).all() and whole.failed == () and whole.done == SAMPLES


def test_neither_chunks_nor_workers_change_a_bit(whole, tmp_path):
    other = run(tmp_path / "run.zarr", chunk=7, workers=2)
    assert same_bits(without_attributes(whole), without_attributes(other))


def computed(store, **options):
    """The samples that a call computes."""
    done = []
    study = run(store, progress=lambda now, total: done.append(now), **options)
    return study, len(done)


@pytest.mark.parametrize("progress, shown", [(None, True), (True, True), (False, False), (print, False)])
def test_a_terminal_shows_the_progress_by_default(progress, shown, whole, monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    run(whole.path, progress=progress)  # nothing is missing
    assert ("40/40" in terminal.getvalue()) == shown == bool(terminal.getvalue())


def test_ctrl_c_damage_and_a_manifest_that_is_cut_are_one_case(whole, tmp_path):
    store = tmp_path / "run.zarr"

    def press(done, total):
        raise KeyboardInterrupt

    with pytest.warns(StoppedWarning, match="16 of 40 samples are in"):
        part = run(store, progress=press)
    assert (part.stopped, part.done, part.finished.sum()) == ("interrupted", 16, 16)
    assert same_bits(without_attributes(part).isel(sample=slice(16)), without_attributes(whole).isel(sample=slice(16)))
    study, chunks = computed(store)
    assert chunks == 2 and same_bits(without_attributes(whole), without_attributes(study))
    assert computed(store)[1] == 0
    os.truncate(store / "fastest" / "c" / "1", 40)
    (store / "where" / "c" / "2").unlink()
    shard = store / "fastest" / "c" / "0"
    content = bytearray(shard.read_bytes())
    content[10] ^= 1
    shard.write_bytes(content)
    assert computed(store)[1] == 3, "one is cut, one is missing, one has another bit"
    manifest = store / MANIFEST
    lines = manifest.read_text().splitlines()
    manifest.write_text("\n".join(lines[-3:])[:-30])
    study, chunks = computed(store)
    assert chunks == 1 and same_bits(without_attributes(whole), without_attributes(study))


def test_another_sweep_in_the_store_is_refused_and_what_differs_named(whole):
    for options, text in (
        ({"steps": STEPS + 1}, "steps is 10 in it, 11 here"),
        ({"seed": 6}, "seed is 5 in it, 6 here"),
        ({"chunk": 8}, "chunk is 16 in it, 8 here"),
        ({"vary": {**VARY, "q0": around(sd=0.3)}}, r"vary\['q0'\] is around"),
        ({"measure": {"fastest": measures.minimum(fastest)}}, r"measure\['fastest'\] is"),
        ({"f_ext": {LINK: np.ones(6)}}, "f_ext is"),
    ):
        with pytest.raises(ArgumentError, match=text):
            run(whole.path, **options)


def test_two_calls_do_not_write_one_store(whole):
    with held(whole.path), pytest.raises(ArgumentError, match="another sweep is writing"):
        run(whole.path)


class Kills(Distribution):
    """Kills the process that draws a sample; only once where a file is given."""

    def __init__(self, sample, once=None):
        self.u, self.once = uniforms(5, np.array([sample]), "gravity[x]", 1)[0, 0], once

    def __repr__(self):
        return f"Kills({self.u})"

    def values(self, u):
        if (u == self.u).any() and not (self.once and os.path.exists(self.once)):
            if self.once:
                open(self.once, "x").close()
            os.kill(os.getpid(), signal.SIGKILL)
        return np.zeros(len(u))


def test_a_worker_that_is_killed_costs_nothing(whole, tmp_path):
    kills = Kills(20, once=str(tmp_path / "killed"))
    study = run(tmp_path / "run.zarr", vary={**VARY, "gravity[x]": kills})
    assert os.path.exists(kills.once) and study.failed == ()
    assert np.array_equal(study.summary["fastest"], whole.summary["fastest"])


def test_a_sample_that_kills_its_worker_is_found_and_left_out(whole, tmp_path):
    store, vary = tmp_path / "run.zarr", {**VARY, "gravity[x]": Kills(21)}
    study = run(store, vary=vary, chunk=2)
    (failure,) = study.failed
    assert failure.sample == 21 and "killed its worker (SIGKILL)" in failure.reason
    others = np.arange(SAMPLES) != 21
    assert np.array_equal(study.summary["fastest"][others], whole.summary["fastest"][others])
    assert np.isnan(study.summary["fastest"][21]) and study.done == SAMPLES
    with pytest.raises(ArgumentError, match="sample 21 is left out"):
        study.replay(21)
    assert computed(store, vary=vary, chunk=2)[1] == 0


def test_a_sample_that_raises_an_error_is_left_out_with_the_error(tmp_path):
    vary = {**VARY, f"mass[{LINK}]": sweeps.Choice([1.0] * 15 + [-1.0])}
    study = run(tmp_path / "run.zarr", vary=vary)
    wrong = np.flatnonzero(study.plan.inputs(np.arange(SAMPLES)).physics["mass"][:, 1] < 0)
    assert len(wrong) and [one.sample for one in study.failed] == wrong.tolist()
    assert all("mass" in one.reason and LINK in one.reason for one in study.failed)


def test_samples_that_leave_the_numbers_are_data(tmp_path):
    vary = {"v0[*]": sweeps.Choice([0.1, 0.2, 1e160])}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        study = run(tmp_path / "run.zarr", vary=vary, keep="last")
    v0 = study.inputs(np.arange(SAMPLES))["v0[*]"]
    failed = {one.sample: one for one in study.failed}
    assert sorted(failed) == np.flatnonzero((v0 > 1).any(axis=1)).tolist()
    for one in failed.values():
        with pytest.warns(DivergedWarning):
            again = treesim.rollout(ROBOT, np.zeros(2), v0[one.sample], steps=STEPS)
        assert one.step == again.diverged_at[0] + 1 and one.t == pytest.approx(one.step * 1e-3)
        before = v0[one.sample] if one.step == 1 else again.v[0, one.step - 2]
        assert one.joint == ROBOT.dof_names[np.abs(before).argmax()]


def test_a_replay_has_the_same_bits(whole, tmp_path):
    runs = whole.replay(33)
    assert runs.q.shape == (1, STEPS, 2)
    assert runs.v[0, :, 1].max() == float(whole.summary["fastest"][33])
    other = run(tmp_path / "run.zarr", keep="last")
    assert np.array_equal(other.summary["q"][33], runs.q[0, -1])
    pushed = run(tmp_path / "pushed.zarr", f_ext=treesim.ExternalForce(LINK, torque=(1, 2, 3.0), start=0.003))
    change = np.abs(pushed.replay(33).v[0] - runs.v[0]).max(axis=1)
    assert change[2] < 1e-12 and change[3] > 1e-4
    sweeps.study.Store(other.path).group["fastest"][33] = 3.0
    with pytest.raises(SweepError, match=r"sample 33 has other bits.*they do not have the checksum in the manifest"):
        other.replay(33)
    with pytest.raises(ArgumentError, match="sample must be a whole number between 0 and 39"):
        whole.replay(40)


class Wave(Distribution):
    """By functions of NumPy's, which compute the ends of arrays by other instructions than the rest."""

    shape, needs = (), 3

    def values(self, u):
        return np.log(u[:, 0]) * np.cos(7 * u[:, 1]) + u[:, 2] ** 1.3


FREE = on_floating_base(generators.chain(3))


@pytest.mark.parametrize(
    "vary",
    [
        {"q0": around(sd=0.3)},
        {"v0": Wave()},
        {"q0": around(sd=0.3), "v0": Wave(), "mass[*]": scale(Uniform(0.9, 1.1))},
        {"gravity[z]": Wave(), "damping[*]": Uniform(0, 1), "effort_limit": sweeps.LogUniform(1, 10)},
        {
            "center_of_mass[*]": sweeps.Normal((0, 0, 0), 0.01),
            "joint_friction": Uniform(0, 0.1),
            "q0[root_joint.x]": [0.1, 0.2],
        },
    ],
)
def test_what_a_sample_is_does_not_depend_on_the_others(vary, tmp_path):
    """On a floating base, whose quaternions are computed by products and square roots: alone and among 64."""
    study = treesim.sweep(
        FREE, samples=64, vary=vary, steps=5, seed=1, measure={"end": measures.last(lambda t, q, v: q[3] + v[6])},
        store=tmp_path / "run.zarr", workers=1,
    )  # fmt: skip
    among = study.plan.inputs(np.arange(64))
    for sample in (0, 5, 31, 62):  # the first, one of another place among lanes, and of other chunks
        alone = study.plan.inputs(np.array([sample]))
        assert alone.q0.tobytes() == among.q0[sample].tobytes() and alone.v0.tobytes() == among.v0[sample].tobytes()
        study.replay(sample)


ODD_NAMES = (
    "left/arm",
    "left|arm",
    "left%2Farm",
    "q[0]",
    "a, b=c",
    'with "quotes"',
    "läuft",
    ".",
    "*",
    "two\nlines",
    "x" * 300,
)


def test_links_and_joints_may_have_any_name(tmp_path):
    inertia = treesim.Inertia(1.0, (0.1, 0, -0.3), np.eye(3) * 0.1)
    bodies = [treesim.Body(name, i, treesim.Joint(name, "revolute"), inertia) for i, name in enumerate(ODD_NAMES)]
    places = [name if name != "*" else '"*"' for name in ODD_NAMES]  # without quotes it is each of them
    vary = {f"mass[{place}]": Uniform(1, 2) for place in places} | {f"damping[{place}]": [0.1, 0.2] for place in places}
    vary |= {"center_of_mass[left/arm]": sweeps.Normal((0, 0, 0), 0.1)}
    study = treesim.sweep(
        treesim.Tree("odd", bodies), samples=4, steps=3, vary=vary, seed=1, store=tmp_path / "run.zarr", workers=1
    )
    drawn, found = study.plan.inputs(np.arange(4)), study.summary
    for i, place in enumerate(places):
        assert np.array_equal(found[f"mass[{place}]"], drawn.physics["mass"][:, i])
        assert np.array_equal(found[f"damping[{place}]"], drawn.physics["damping"][:, i])
    assert found["center_of_mass[left/arm]"].shape == (4, 3)
    assert not [path for path in study.path.iterdir() if {*path.name} & {*sweeps.store.NOT_IN_NAMES}]
    study.replay(3)
    again = sweeps.open_study(study.path).summary
    assert set(vary) <= set(again)


def test_other_bits_of_a_sound_store_are_not_blamed_on_the_disk(tmp_path, monkeypatch):
    study = run(tmp_path / "run.zarr")
    monkeypatch.setattr("treesim.sweeps.study.results", lambda *others: {"fastest": np.array([3.0])})
    with pytest.raises(SweepError, match=r"has other bits.*the store is as it was written: another processor"):
        study.replay(3)
    monkeypatch.setattr("treesim.sweeps.study.surroundings", lambda: {"treesim": "0", "sources of treesim": "1"})
    with pytest.raises(SweepError, match=r"it was made with treesim .*, and this is 0"):
        study.replay(3)


def test_states_are_kept_where_they_are_asked_for(tmp_path):
    study = run(tmp_path / "run.zarr", keep="all", every=5)
    assert study.summary["q"].shape == (SAMPLES, 2, 2)
    assert np.array_equal(study.summary["q"][3], study.replay(3, every=5).q[0])


def test_readings_are_stored_with_states(tmp_path):
    world = treesim.World(ROBOT, sensors=[treesim.Imu(LINK), treesim.ForceTorque(ROBOT.joint_names[0])])
    measure = {"most": measures.maximum(lambda t, q, v, p, c, s: s[f"imu_{LINK}"][0])}
    study = treesim.sweep(world, steps=4, samples=3, vary=VARY, measure=measure, store=tmp_path / "a", keep="all")
    found = study.summary[f"sensor.imu_{LINK}"].values
    assert np.array_equal(study.summary["most"], found[:, :, 0].max(axis=1)) and found.shape == (3, 4, 6)
    assert np.array_equal(study.replay(1).sensors[f"imu_{LINK}"][0], found[1])
    with pytest.raises(ArgumentError, match=r"other than those in vary and .*'sensor\.'"):
        treesim.sweep(world, steps=4, samples=3, measure={"sensor.a": measure["most"]}, store=tmp_path / "b")


def test_an_estimate_comes_first_and_an_exception_ends_all(tmp_path):
    class Enough(Exception):
        pass

    def refuse(estimate):
        assert (estimate.samples, estimate.total, estimate.chunk) == (SAMPLES, SAMPLES, 64)
        assert estimate.size == SAMPLES * (8 * 7 + 7) and 0 < estimate.seconds < 10
        raise Enough

    with pytest.raises(Enough):
        run(tmp_path / "run.zarr", chunk=None, announce=refuse)
    assert list(tmp_path.iterdir()) == []


def test_parquet_and_pictures(whole, tmp_path):
    from pyarrow import parquet

    table = parquet.read_table(whole.to_parquet(tmp_path / "run.parquet"))
    assert np.array_equal(table["fastest"], whole.summary["fastest"])
    assert np.array_equal(np.stack(table["v0[*]"].to_numpy()), whole.summary["v0[*]"])
    whole.plot("fastest", over=f"mass[{LINK}]", path=tmp_path / "run.png", bins=4)
    assert (tmp_path / "run.png").stat().st_size > 1000
    with pytest.raises(treesim.UnknownNameError, match="did you mean 'fastest'"):
        whole.plot("fast", over="where")
    with pytest.raises(ArgumentError, match="only one can be drawn"):
        whole.plot("fastest", over="v0[*]")


def test_means_over_bins():
    from treesim.plotting.study import binned

    x, mean, error = binned(np.array([0.0, 1, 1, 4]), np.array([1.0, 2, 4, 8]), 4)
    assert (x.tolist(), mean.tolist()) == ([0, 1, 4], [1, 3, 8])
    assert error == pytest.approx([0, 1 / np.sqrt(2), 0])
    assert binned(np.linspace(0, 1, 100), np.ones(100), 5)[1].tolist() == [1] * 5


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"samples": 0}, "samples must be a whole number from 1 on, got 0"),
        ({"steps": 0}, "steps must be a whole number from 1 on"),
        ({"seed": -1}, "seed must be a whole number between 0"),
        ({"keep": "some"}, "keep must be one of 'summary', 'last', 'all'"),
        ({"vary": [1]}, "vary must be a dict"),
        ({"q0": np.zeros((3, 2))}, r"q0 has shape \(3, 2\), but \(2,\) is needed: samples differ by vary="),
        ({"measure": {"q": MEASURE["where"]}}, r"measure\['q'\]: a name of its own"),
        ({"f_ext": {LINK: np.ones((SAMPLES, 6))}}, "f_ext of a sweep must be the same for all samples"),
        ({"seed": 2**64}, "seed must be a whole number between 0"),
        ({"chunk": 0}, "chunk must be a whole number"),
        ({"chunk": 67_108_865}, "chunk must be a whole number between 1 and"),
        ({"chunk": 67_108_864, "seed": 2**64 - 1, "workers": 0}, "workers must be a whole number"),  # the others may be
        ({"workers": 0}, "workers must be a whole number"),
        ({"client": 3}, "workers is for processes on this machine"),
        ({"q0": [np.nan, 0.0]}, "q0 must be finite"),
        (
            {"vary": {"gravity[x]": type("Fails", (Distribution,), {"values": lambda self, u: 1 / 0})()}},
            "cannot draw a value: ZeroD",
        ),
        ({"client": 3, "workers": None}, "client must be a dask.distributed.Client"),
        ({"vary": {"gravity[x]": type("Wrong", (Distribution,), {"values": lambda self, u: u})()}}, "draws values of"),
    ],
)
def test_what_is_wrong_is_told(tmp_path, options, text):
    with pytest.raises(ArgumentError, match=text):
        run(tmp_path / "run.zarr", **options)
    assert list(tmp_path.iterdir()) == []


def test_packages_that_are_missing_are_named(monkeypatch):
    monkeypatch.setattr(sweeps.store, "find_spec", lambda name: None if name == "zarr" else name)
    with pytest.raises(ArgumentError, match=r'sweeps need zarr: .* pip install "\.\[sweep\]"'):
        require_zarr()


def test_folders_that_hold_no_sweep_are_refused(tmp_path):
    for path in (tmp_path, tmp_path / "none"):
        with pytest.raises(ArgumentError, match="holds no sweep of treesim's"):
            sweeps.open_study(path)
    with pytest.raises(ArgumentError, match="holds no sweep of treesim's"):
        run(tmp_path)


def test_the_plan_is_readable(whole):
    details = json.loads((whole.path / "treesim" / "plan.json").read_text())
    assert details["seed"] == 5 and details[f"vary['mass[{LINK}]']"] == "scale(Uniform(low=0.5, high=2.0))"
    assert repr(whole) == "<Study of 'chain_2': 40 samples of 10 steps>"


def remembering(t, q, v, p, u, c, m):
    u[:] = m[0] - p[0] * v
    m[0] = m[0] + 0.1


remembering.memory = [0.5]


def test_memory_of_policies_and_actuators_does_not_depend_on_chunks(tmp_path):
    """Nor does a delay, which each sample draws by its number."""
    world = treesim.World(ROBOT, actuators={"*": treesim.Motor(delay=(0.0, 0.005), lag=0.01)})
    given = {"control": remembering, "policy_parameters": [2.0], "steps": STEPS, "seed": 5, "workers": 1}
    study = treesim.sweep(
        world, samples=12, vary={"p[0]": Uniform(1, 3)}, chunk=5, keep="last", measure=MEASURE,
        store=tmp_path / "s.zarr", **given,
    )  # fmt: skip
    inputs = study.plan.inputs(np.arange(12))
    runs = treesim.rollout(
        world, ROBOT.neutral(), np.zeros(ROBOT.nv), remembering, steps=STEPS, policy_parameters=inputs.p, seed=5,
        measure=MEASURE,
    )  # fmt: skip
    assert np.array_equal(study.summary["fastest"], runs.measures["fastest"])
    assert np.unique(runs.q[:, -1, 0]).size == 12 and np.array_equal(study.replay(7).q[0, -1], runs.q[7, -1])
