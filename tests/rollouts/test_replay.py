"""Recorded runs again: the same bits from a file alone, and where, why and by how much they differ if they do."""

import base64
import json
import re
import subprocess
import sys
import zlib
from dataclasses import replace

import numpy as np
import pytest

import treesim
from treesim import ArgumentError, UnsupportedError
from treesim.model import generators
from treesim.rollouts.replay import OTHER_PROCESSOR, changes, first_difference
from treesim.simulation import provenance
from treesim.simulation.continuation import RunStart
from treesim.validation import schema

CHAIN = generators.chain(3)
START = [0.5, -0.2, 0.1]
BEGIN = RunStart(np.array(START), np.zeros(3))


def swing(robot=CHAIN, duration=0.05, q0=START, **how):
    return treesim.Simulation(robot, **how).run(duration, q0=q0, v0=None)


@pytest.mark.parametrize("suffix", [".npz", ".csv"])
@pytest.mark.parametrize("backend", ["aba", "rjk", "crba_ltdl"])
def test_a_file_alone_brings_back_every_bit(tmp_path, suffix, backend):
    path = swing(backend=backend, controller=treesim.PD(CHAIN, [0, 0.1, 0], kp=20, kd=2)).save(
        tmp_path / f"run{suffix}"
    )
    found = treesim.replay(path)
    assert found.same and found.states == 51 and found.reasons == () and found.notes == ()


@pytest.mark.parametrize("integrator", ["rk4", "semi_implicit_euler", "implicit_midpoint"])
def test_integrators_gravity_and_substeps_are_kept(tmp_path, integrator):
    how = {} if integrator == "rk4" else {"substeps": 3}
    path = swing(integrator=integrator, gravity=(1, 2, -3), dt=5e-4, **how).save(tmp_path / "run.npz")
    found = treesim.replay(path)
    assert found.same and found.trajectory.metadata["gravity"] == [1, 2, -3]


def test_a_robot_of_every_joint_type_in_free_motion(tmp_path):
    robot = generators.random_tree(np.random.default_rng(3), 9)
    run = treesim.Simulation(robot).run(0.01, q0=robot.random(0), v0=np.random.default_rng(1).normal(size=robot.nv))
    assert treesim.replay(run.save(tmp_path / "run.npz")).same


def test_contact_and_a_push(tmp_path):
    box = treesim.free_body("crate", "box", (0.2, 0.2, 0.2), 1.0)
    world = treesim.World(box, ground=treesim.Ground(friction=0.5))
    push = treesim.Pushed(None, world.robot, (3, 1, 0), start=0.01, duration=0.02)
    run = treesim.Simulation(world, controller=push).run(0.05, q0=[0, 0, 0.1, 0, 0, 0, 1])
    found = treesim.replay(run.save(tmp_path / "run.npz"))
    assert found.same and found.trajectory.contact_wrench("crate")[:, 2].any()


def test_held_frames(tmp_path):
    robot = treesim.load("ur5")
    q = np.array([0.3, -1.0, 0.7, 0.2, 0.1, 0.4])
    world = treesim.World(robot, [treesim.FrameConstraint("ee_link", rows="linear")], q)
    assert treesim.replay(treesim.Simulation(world).run(0.01, q0=q).save(tmp_path / "run.npz")).same


def test_one_changed_bit_is_told_with_step_joint_and_size(tmp_path):
    run = swing()
    q = run.q.copy()
    q[7, 1] = np.nextafter(q[7, 1], 9)
    first = treesim.replay(replace(run, q=q)).first
    assert (first.step, first.t, first.quantity, first.name) == (7, run.t[7], "q", CHAIN.joint_names[1])
    assert first.recorded == q[7, 1] and first.repeated == run.q[7, 1]
    assert first.largest == abs(q[7, 1] - run.q[7, 1])


def test_signed_zeros_and_nan_are_bits():
    run = swing(duration=0.005)
    tau = run.tau.copy()
    assert not tau.any()
    tau[2, 0] = -0.0
    assert first_difference(run, replace(run, tau=tau)).quantity == "tau"
    work = np.full_like(run.work, np.nan)
    assert first_difference(replace(run, work=work), replace(run, work=work.copy())) is None


def test_the_reason_is_what_differs(monkeypatch):
    run = swing()
    then = dict(provenance.surroundings(), numpy="0.1", processor="abacus")
    monkeypatch.setattr(provenance, "surroundings", lambda: then)
    text = run.provenance()
    monkeypatch.undo()
    same = treesim.replay(replace(run, provenance=text))
    assert same.same and same.reasons == () and any(note.endswith("abacus then") for note in same.notes)
    other = treesim.replay(replace(run, provenance=text, v=run.v + 1e-9))
    assert any(reason.startswith("numpy: ") and reason.endswith("0.1 then") for reason in other.reasons)
    assert OTHER_PROCESSOR in other.reasons and any(note.endswith("abacus then") for note in other.notes)
    unknown = treesim.replay(replace(run, v=run.v + 1e-9))
    assert unknown.reasons[0].startswith("unknown")


def test_features_are_told_by_name():
    then, now = {"features": "+avx2,+fma,-sse5"}, {"features": "+avx2,-fma,+sse5"}
    assert changes(then, now) == ("processor features: now without fma and with sse5",)
    assert changes(then, {"features": ""}) == ()


def pull(t, q, v):
    return [1.0, 0.0, 0.0]


def test_a_controller_of_the_users_own_is_named_and_may_be_given(tmp_path):
    path = swing(controller=pull).save(tmp_path / "run.npz")
    with pytest.raises(UnsupportedError, match=r"'pull'.*controller="):
        treesim.replay(path)
    assert treesim.replay(path, controller=pull).same
    other = treesim.replay(path, controller=lambda t, q, v: [1.0, 0.0, 1e-6])
    assert other.first.quantity == "tau" and other.first.step == 0


def test_a_backend_of_no_name_is_refused_before_anything_runs():
    class Mine:
        name = "mine"
        capabilities = treesim.plugins.get("dynamics", "aba").capabilities

        def forward_dynamics(self, robot, q, v, tau, f_ext=None, gravity=None, armature=None):
            return treesim.forward_dynamics(robot, q, v, tau)

    with pytest.raises(ArgumentError, match="Mine is registered under no name"):
        treesim.replay(swing(backend=Mine(), integrator="rk4", duration=0.002))


def test_interrupted_runs_are_repeated_up_to_there():
    def stop(done, total):
        if done >= 20:
            raise KeyboardInterrupt

    run = treesim.Simulation(CHAIN, controller=treesim.PD(CHAIN, START)).run(0.05, q0=[0, 0, 0.3], progress=stop)
    assert run.stopped == "interrupted" and 1 < len(run) < 50
    found = treesim.replay(run)
    assert found.same and found.states == len(run)


def test_runs_that_diverged_diverge_again():
    stiff = treesim.Joint("spring", "prismatic", axis=(1, 0, 0))
    robot = treesim.Tree("mass", [treesim.Body("mass", 0, stiff, treesim.Inertia(1.0))])

    def unstable(t, q, v):
        with np.errstate(over="ignore"):
            return -1e9 * q

    run = treesim.Simulation(robot, controller=unstable, integrator="rk4").run(1.0, q0=[1.0])
    assert "no longer finite" in run.stopped
    found = treesim.replay(run, controller=unstable)
    assert found.same and len(found.trajectory) == len(run)


def test_recordings_that_tell_nothing_are_refused(tmp_path):
    run = swing(duration=0.002)
    with pytest.raises(ArgumentError, match="has no record of how it was made"):
        treesim.replay(replace(run, provenance=None).save(tmp_path / "old.npz"))
    for damaged in ("", "!!", run.provenance()[:-8], "eJyrVgoAAVUAqw=="):
        with pytest.raises(ArgumentError):
            treesim.replay(replace(run, provenance=damaged))


@pytest.mark.parametrize("name", ["run_q.npy", "run_work.npy.part", "run_unfinished.json"])
def test_files_of_rollouts_are_refused_with_what_they_lack(name):
    with pytest.raises(ArgumentError, match=f"{name} is of rollouts .* neither robot nor the controls"):
        treesim.replay(name)


def test_settings_that_do_not_fit_are_refused():
    run = swing(duration=0.002)
    for settings in ({"colour": 1}, {"backend": "none of these"}):
        wrong = provenance.DeferredProvenance(
            treesim.World(CHAIN), treesim.PD(CHAIN, START), {"duration": 0.002, **settings}, BEGIN
        )
        with pytest.raises(ArgumentError, match=r"colour|none of these"):
            treesim.replay(replace(run, provenance=wrong))
    without = provenance.DeferredProvenance(treesim.World(CHAIN), treesim.PD(CHAIN, START), {}, BEGIN)
    with pytest.raises(ArgumentError, match="duration"):
        treesim.replay(replace(run, provenance=without))


def test_a_changed_description_is_told_and_changes_nothing(tmp_path):
    path = tmp_path / "robot.urdf"
    path.write_text(treesim.to_urdf(CHAIN))
    run = swing(treesim.load(path)).with_metadata(source=str(path), sha256=treesim.rollouts.replay.source_digest(path))
    assert treesim.replay(run, source=path).notes == treesim.replay(run).notes == ()
    path.write_text(path.read_text().replace("<mass", "<!-- heavier --><mass"))
    changed = treesim.replay(run, source=path)
    assert changed.same and re.search(
        r"has changed \(SHA-256 [0-9a-f]{12}\.\.\. now, [0-9a-f]{12}\.\.\. then\)", changed.notes[0]
    )
    assert treesim.replay(run).notes == (), "no file is read that the recording names"
    assert "has no SHA-256" in treesim.replay(run.with_metadata(sha256=None), source=path).notes[0]
    path.unlink()
    with pytest.raises(ArgumentError, match=r"source: the description .* cannot be read"):
        treesim.replay(run, source=path)


def repacked(run, change):
    """Return the run with another recipe."""
    values = json.loads(zlib.decompress(base64.b64decode(run.provenance())))
    change(values)
    return replace(run, provenance=base64.b64encode(zlib.compress(json.dumps(values).encode())).decode())


HOOKED = """
import os, sys
import treesim
from treesim import TreesimError

replayed, seen = sys.argv[1:], []
for name in ("stat", "lstat", "access"):
    def spied(path, *more, true=getattr(os, name), **others):
        seen.append(str(path))
        return true(path, *more, **others)
    setattr(os, name, spied)
code = ("compile", "exec", "marshal.loads")  # modules, which are loaded when they are first used
sys.addaudithook(lambda event, arguments: event in code or seen.append(str(arguments)))
for path in replayed:
    try:
        print(treesim.replay(path).same)
    except TreesimError as error:
        print(type(error).__name__)
print("named:", [text for text in seen if "named_by" in text])
"""


def test_no_file_is_opened_or_looked_for_that_a_recording_names(tmp_path):
    named = tmp_path / "named_by_the_recording"
    for suffix in (".stl", ".urdf"):
        named.with_suffix(suffix).write_text(treesim.to_urdf(CHAIN))
    crate = treesim.World(treesim.free_body("crate", "box", (0.2, 0.2, 0.2), 1.0), ground=treesim.Ground())
    run = treesim.Simulation(crate).run(0.003, q0=[0, 0, 0.1, 0, 0, 0, 1])
    run = run.with_metadata(source=f"{named}.urdf", sha256="0" * 64, mesh=f"{named}.stl")
    visual = {"is": "Visual", "of": [1, {"is": "Placement"}, "mesh", [1, 1, 1], f"{named}.stl"]}

    def shape_of_a_file(values):
        shape = values["world"]["of"][0]["of"][6][0]["of"]
        shape[2:] = ["hull", [], None, "crate", f"{named}.stl", [1, 1, 1]]

    def visual_of_a_file(values):
        values["world"]["of"][0]["of"][3] = [visual]

    def robot_of_a_file(values):
        values["world"]["of"][0] = f"{named}.urdf"

    changed = [repacked(run, change) for change in (shape_of_a_file, visual_of_a_file, robot_of_a_file)]
    paths = [str(one.save(tmp_path / f"{k}.npz")) for k, one in enumerate([run, *changed])]
    child = subprocess.run([sys.executable, "-c", HOOKED, *paths], capture_output=True, text=True, timeout=300)
    assert child.stdout.split("\n")[:5] == ["True", *["ArgumentError"] * 3, "named: []"], child.stderr


def test_a_recording_of_few_states_is_not_repeated_for_long():
    def far(values):
        values["settings"]["duration"] = 1e6

    found = treesim.replay(repacked(swing(duration=0.005), far))
    assert len(found.trajectory) == 7 and found.first.quantity == "number of states"


@pytest.mark.parametrize("name", ["progress", "robot", "controller", "colour"])
def test_settings_that_are_none_are_named(name):
    with pytest.raises(ArgumentError, match=f"unknown setting of the recording '{name}'"):
        treesim.replay(repacked(swing(duration=0.002), lambda values: values["settings"].update({name: 1})))


def test_a_world_too_large_for_a_recording_is_told_when_it_is_repeated(monkeypatch):
    monkeypatch.setattr(schema, "LARGEST", 2500)
    with pytest.raises(UnsupportedError, match=r"the world .* is too large for a recording"):
        treesim.replay(swing(duration=0.002))
