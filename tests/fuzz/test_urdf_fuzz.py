"""Whatever a robot description holds, loading it gives a sound tree or a reasoned, bounded refusal, and so does
repairing it.

Each night another 20,000 files are spoilt; the seed is that of the day, or TREESIM_FUZZ_SEED.
"""

import faulthandler
import os
import random
import re
import time
import warnings
from contextlib import contextmanager
from datetime import date
from pathlib import Path

import numpy as np
import pytest

from tests.fuzz.mutators import MUTATORS, spoil
from treesim.errors import TreesimError, UrdfError, UrdfWarning
from treesim.urdf import REPAIRS, installed_robots, load, repair

EVERYDAY = int(os.environ.get("TREESIM_FUZZ_EVERYDAY", "4"))  # mutations for each mutator
LONG = int(os.environ.get("TREESIM_FUZZ_LONG", "32"))
NIGHTLY = 20_000  # mutations of all mutators together
SEED = os.environ.get("TREESIM_FUZZ_SEED", "0")
SEED_OF_THE_DAY = os.environ.get("TREESIM_FUZZ_SEED", str(date.today()))
LONGEST_MESSAGE = 8000  # characters
LIMIT = 5  # [s] of the processor, for any source
HANG = 60  # [s] after which a load is taken to hang: the run then ends with where it was

ASSETS = sorted((Path(__file__).parents[2] / "assets").glob("*.urdf"))
INSTALLED = (
    "double_pendulum", "panda", "ur5", "solo12", "anymal_c", "simple_humanoid", "allegro_right_hand", "talos_reduced",
    "human", "kuka_iiwa", "cartpole", "r2d2", "humanoid", "pybullet_data/a1", "pendulum5", "minitaur",
)  # fmt: skip
WITHOUT_LINE = {"U100", "U102"}  # of the source as a whole
HELD = "U413"  # a joint that follows another one, and is held still


def documents(paths):
    """The texts of some files, without declarations and what follows the robot, by name."""
    texts = {path.stem: path.read_bytes().rstrip(b"\0 \r\n\t") for path in paths}
    return {name: re.sub(rb"^\s*<\?xml[^>]*\?>", b"", text) for name, text in texts.items()}


def sources(data, k, folder):
    """The same bytes as a file, as bytes, or as text; and what messages call them."""
    if k % 3 == 0:
        path = folder / "robot.urdf"
        path.write_bytes(data)
        return path, str(path)
    text = data.decode("utf-8", "surrogateescape")
    return (text if k % 3 == 1 and "<" in text else data), "<text>"


def outcome(source, label, **options):
    """The tree of a source, or None if it is refused; either way it is looked through."""
    try:
        with in_time():
            tree = load(source, **options)
    except TreesimError as error:
        check_refusal(error, label)
        return None
    check_tree(tree)
    return tree


@contextmanager
def in_time():
    """Fail for any warning but a UrdfWarning, and for what takes too long."""
    faulthandler.dump_traceback_later(HANG, exit=True)
    start = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", UrdfWarning)
            yield
    finally:
        faulthandler.cancel_dump_traceback_later()
    assert time.process_time() - start < LIMIT


def repaired_outcome(source, label, **options):
    """The repaired description of a source, None if it is refused; it stays as it is when it is repaired again."""
    try:
        with in_time():
            result = repair(source, **options)
    except TreesimError as error:
        check_refusal(error, label)
        return None
    with in_time():
        again = repair(result.text, **options)
    assert (again.text, again.changes) == (result.text, ())
    for change in result.changes:
        assert change.file == label and len(str(change)) < LONGEST_MESSAGE / 4 and str(change).encode()
    return result


def check_refusal(error, label):
    message = str(error)
    message.encode()
    assert isinstance(error, UrdfError) and error.findings
    assert message.startswith(label) and len(message) < LONGEST_MESSAGE
    for finding in error.findings:
        assert finding.severity == "error" and finding.file == label
        assert finding.line is not None or finding.code in WITHOUT_LINE
        assert len(str(finding)) < LONGEST_MESSAGE / 4


def check_tree(tree):
    assert np.isfinite(tree.mass) and tree.mass >= 0 and 0 <= tree.nv <= tree.nq
    assert np.isfinite(tree.spanning.reals).all() and np.isfinite(tree.body_rotations).all()
    assert not np.isnan([*tree.lower, *tree.upper, *tree.velocity_limit, *tree.effort_limit]).any()
    assert np.isfinite([*tree.damping, *tree.joint_friction, *tree.armature]).all() and (tree.lower <= tree.upper).all()
    for body in tree.bodies:
        assert not body.joint.kind.has_axis or abs(np.linalg.norm(body.joint.axis) - 1) < 1e-12
    for frame in tree.frames.values():
        assert np.isfinite(frame.placement.matrix()).all()
    for visual in tree.visuals:
        assert np.isfinite(visual.placement.matrix()).all() and np.isfinite(visual.size).all()
    for note in tree.notes:
        assert len(str(note)) < LONGEST_MESSAGE / 4 and str(note).encode()


def mutants(mutator, texts, count, folder, seed=SEED):
    """Some mutants of one mutator: what to load, what messages call it, how to load it, and the bytes."""
    for k in range(count):
        rng = random.Random(f"{seed} {mutator.__name__} {k}")
        data = spoil(rng, texts[rng.choice(sorted(texts))], mutator, more=rng.choice([0, 0, 1, 3]))
        options = {"base": rng.choice(["fixed", "floating"]), "mimic": rng.choice([None, "free"])}
        options["strict"] = rng.random() < 0.1
        source, label = sources(data, k, folder)
        yield source, label, options, data


@pytest.mark.parametrize("mutator", MUTATORS, ids=lambda mutator: mutator.__name__)
def test_a_spoilt_robot_is_sound_or_refused(mutator, tmp_path):
    for source, label, options, _ in mutants(mutator, documents(ASSETS), EVERYDAY, tmp_path):
        outcome(source, label, **options)


@pytest.mark.parametrize("mutator", MUTATORS, ids=lambda mutator: mutator.__name__)
def test_a_spoilt_robot_is_repaired_or_refused(mutator, tmp_path):
    check_repairs(mutator, documents(ASSETS), EVERYDAY // 4, tmp_path)


def check_repairs(mutator, texts, count, folder):
    for source, label, options, data in mutants(mutator, texts, count, folder):
        check_repair(source, label, options, data)


def check_repair(source, label, options, data):
    """What is repaired loads as what its text says, or is refused for the errors that remain."""
    loading = {name: options[name] for name in ("base", "mimic")}
    repairs = random.Random(data).choice([True, *REPAIRS, tuple(REPAIRS)])
    result = repaired_outcome(source, label, repairs=repairs, **loading)
    if result is None:
        return
    tree = outcome(source, label, repair=repairs, **loading)
    refused = any(finding.severity == "error" for finding in result.findings)
    assert (tree is None) is refused
    if tree is not None:
        mended = outcome(result.text, "<text>", **loading)
        assert np.array_equal(tree.spanning.reals, mended.spanning.reals)
        assert not {note.code for note in mended.notes} & mended_codes(repairs)


def mended_codes(repairs):
    """The codes of findings of which none remains after repairs."""
    named = set(REPAIRS) if repairs is True else {repairs} if isinstance(repairs, str) else set(repairs)
    return {"U306", "U403", "U412"} & {code for name in named for code in REPAIRS[name].codes}


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize("mutator", MUTATORS, ids=lambda mutator: mutator.__name__)
def test_20000_spoilt_robots_are_sound_or_refused(mutator, tmp_path):
    print(f"TREESIM_FUZZ_SEED={SEED_OF_THE_DAY}")
    texts = documents(ASSETS)
    for source, label, options, _ in mutants(mutator, texts, -(-NIGHTLY // len(MUTATORS)), tmp_path, SEED_OF_THE_DAY):
        outcome(source, label, **options)


@pytest.fixture(scope="module")
def real_robots():
    found = {entry.name: entry.path for entry in installed_robots()}
    if not set(INSTALLED) <= set(found):
        pytest.skip("example-robot-data or pybullet_data is not installed")
    return documents([*ASSETS, *(found[name] for name in INSTALLED)])


@pytest.mark.slow
@pytest.mark.parametrize("mutator", MUTATORS, ids=lambda mutator: mutator.__name__)
def test_a_spoilt_real_robot_is_sound_or_refused_and_as_pinocchio_reads_it(mutator, real_robots, tmp_path):
    for source, label, options, data in mutants(mutator, real_robots, LONG, tmp_path):
        tree = outcome(source, label, **options)
        if tree is not None:
            compare_with_pinocchio(tree, data, options["base"])


@pytest.mark.slow
@pytest.mark.parametrize("mutator", MUTATORS, ids=lambda mutator: mutator.__name__)
def test_a_spoilt_real_robot_is_repaired_or_refused(mutator, real_robots, tmp_path):
    check_repairs(mutator, real_robots, LONG // 4, tmp_path)


def compare_with_pinocchio(tree, data, base):
    """Where Pinocchio reads the robot too, the degrees of freedom and the mass that moves are the same."""
    pin = pytest.importorskip("pinocchio")
    try:
        text = data.decode()
        model = pin.buildModelFromXML(text, *([pin.JointModelFreeFlyer()] if base == "floating" else []))
    except (ValueError, RuntimeError):  # it reads no joints of several degrees of freedom, and no odd encodings
        return
    if any(note.code == HELD for note in tree.notes):  # Pinocchio lets these joints move on their own
        return
    mass = sum(inertia.mass for inertia in model.inertias.tolist()[1:])
    assert tree.spanning.nv == model.nv  # where joints that follow others move on their own
    assert abs(tree.mass - mass) <= 1e-12 * max(1.0, mass)
