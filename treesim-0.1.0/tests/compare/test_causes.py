"""Differences are led back to their causes: mistakes in the other side's file are found, placed and named."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import treesim
from tests.compare.injected import INJECTED, OtherFile, by_treesim, description_of, explains, text_of
from treesim.compare import find_engine
from treesim.compare.causes import Explanation, explain, explain_model, explain_values
from treesim.compare.source import without_losses
from treesim.compare.treesim_engine import TreesimEngine, random_batch
from treesim.errors import UnsupportedError

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
CHEAP = [one for one in INJECTED if one.robot in ("ur5", "a1", "panda")]
BODIES, POSES = ("mass", "com", "inertia"), ("pose",)


def explained(injected, model=None, without=(), states=8):
    description = description_of(injected.robot, injected.base)
    batch = random_batch(description.bodies_alone, states, 0, 0, 1e-3)
    values = (model or by_treesim(injected, description)).evaluate(batch).values
    return explain_values(description, batch, {key: x for key, x in values.items() if key not in without})


@pytest.mark.parametrize("injected", CHEAP, ids=lambda one: one.id)
def test_an_injected_mistake_is_named(injected):
    assert explains(injected, explained(injected))


@pytest.mark.slow
def test_of_twenty_mistakes_eighteen_are_named():
    assert len(INJECTED) == 20
    found = [explained(injected) for injected in INJECTED]
    assert all(causes.explanations for causes in found)
    assert sum(map(explains, INJECTED, found)) >= 18


@pytest.mark.slow
def test_mistakes_are_named_without_the_bodies_that_only_some_engines_tell():
    some = INJECTED[::2]
    found = [explained(injected, without=BODIES) for injected in some]
    assert all(causes.complete for causes in found)
    assert sum(map(explains, some, found)) >= len(some) - 1


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["pinocchio", "mujoco", "pybullet"])
def test_mistakes_are_named_in_what_other_engines_read(engine):
    named = []
    for injected in CHEAP:
        description = description_of(injected.robot, injected.base)
        adapter = find_engine(engine)
        model = adapter.read(description.bodies_alone, text_of(injected, description), "raw")
        named.append(explains(injected, explained(injected, model)))
    assert all(named), [one.id for one, right in zip(CHEAP, named, strict=True) if not right]


@pytest.mark.parametrize(
    "without", [POSES, pytest.param((*BODIES, *POSES), marks=pytest.mark.slow)], ids=["no poses", "forces alone"]
)
def test_forces_alone_tell_a_mass_and_an_axis(without):
    for kind in ("mass", "axis_flipped"):
        (injected,) = [one for one in CHEAP if one.kinds == (kind,)]
        assert explains(injected, explained(injected, without=without))


def test_nothing_is_explained_where_nothing_differs():
    description = description_of("ur5", "fixed")
    causes = explain_model(description, TreesimEngine(None).read(description.bodies_alone))
    assert causes.explanations == () and causes.complete


def test_two_mistakes_are_both_found():
    first, second = (one for one in INJECTED if one.robot == "ur5")
    description = description_of("ur5", "fixed")
    both = description.edited(first.edit).edited(second.edit)
    causes = explain_model(description, OtherFile(description.robot, both.bodies_alone))
    assert causes.complete
    assert {(one.owner, one.kind) for one in causes.explanations} == {
        (one.owner, one.kinds[0]) for one in (first, second)
    }


def test_a_reader_that_misreads_all_joints_has_one_cause():
    description = description_of("panda", "fixed")

    def edit(root):
        for origin in root.iterfind("joint/origin"):
            origin.set("rpy", "0 0 0")

    (cause,) = explain_model(
        description, OtherFile(description.robot, description.edited(edit).bodies_alone)
    ).explanations
    assert cause.kind == "rpy_ignored" and "joints" in cause.owner


def test_the_effect_is_the_force_that_the_cause_makes():
    """A hanging link that loses its mass: the joint above it carries m g c sin q less, and nothing else at rest."""
    (injected,) = [one for one in INJECTED if one.owner == "link 'forearm_link'"]
    description = description_of("ur5", "fixed")
    (cause,) = explained(injected).explanations
    other = description.edited(injected.edit).bodies_alone
    batch = random_batch(description.bodies_alone, 8, 0, 0, 1e-3)
    state = batch.q, batch.v, batch.a
    difference = np.abs(
        treesim.inverse_dynamics(description.bodies_alone, *state) - treesim.inverse_dynamics(other, *state)
    )
    k = list(description.robot.joint_names).index(cause.joint)
    assert cause.effect == pytest.approx(np.median(difference[:, k])) and cause.unit == "N m"
    assert cause.before == pytest.approx(difference.max()) and cause.after < 1e-9


def test_what_no_candidate_explains_is_said():
    description = description_of("ur5", "fixed")
    batch = random_batch(description.bodies_alone, 8, 0, 0, 1e-3)
    values = dict(TreesimEngine(None).read(description.bodies_alone).evaluate(batch).values)
    values["inverse_dynamics"] = values["inverse_dynamics"] + np.sin(7 * batch.q)
    causes = explain_values(description, batch, values)
    assert not causes.complete and causes.left == pytest.approx(np.abs(np.sin(7 * batch.q)).max())


def test_numbers_that_are_none_are_not_explained():
    description = description_of("ur5", "fixed")
    batch = random_batch(description.bodies_alone, 8, 0, 0, 1e-3)
    values = dict(TreesimEngine(None).read(description.bodies_alone).evaluate(batch).values)
    values["inverse_dynamics"] = values["inverse_dynamics"] * np.nan
    causes = explain_values(description, batch, values)
    assert not causes.explanations and causes.left == np.inf


def test_an_engine_that_reads_no_files_is_refused():
    engine = TreesimEngine(None)
    engine.levels = ("canonical",)
    with pytest.raises(UnsupportedError, match="reads no file"):
        explain("ur5", engine, base="fixed")


def test_an_explanation_in_words():
    one = Explanation("mass", "link 'arm'", "the mass is 2 instead of 1 kg", "a.urdf:7", 0.5, "N m", "elbow", 1.5, 0.0)
    assert str(one) == (
        "link 'arm' (a.urdf:7): the mass is 2 instead of 1 kg: 0.5 N m at joint 'elbow'; difference 1.5 -> 0"
    )
    beside = str(replace(one, also=("link 'hand': it has no mass",), other_place="b.urdf:9", effect=0.0))
    assert "(a.urdf:7 and b.urdf:9)" in beside and "; or link 'hand'" in beside and "no joint force changes" in beside


def test_armature_is_no_part_of_what_is_compared():
    """Both sides of a comparison are without losses; the tree of a description has them."""
    description = description_of("ur5", "fixed")
    assert not without_losses(description.robot).damping.any() and not description.bodies_alone.damping.any()


def test_a_search_that_has_no_time_says_so():
    (injected,) = [one for one in INJECTED if one.owner == "link 'forearm_link'"]
    description = description_of("ur5", "fixed")
    other = OtherFile(description.robot, description.edited(injected.edit).bodies_alone)
    causes = explain_model(description, other, seconds=1e-9)
    assert not causes.explanations and causes.bodies and causes.left > 0
    assert causes.untried == "the search ended after 1e-09 s (seconds=)"
    assert not explain_model(description, other).untried
