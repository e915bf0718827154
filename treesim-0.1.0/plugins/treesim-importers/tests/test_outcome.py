"""Effects of rules on masses and degrees of freedom, against hand-computed sums."""

import pytest
from treesim_importers.description import describe
from treesim_importers.examples import SOUND
from treesim_importers.outcome import Outcome

CHAIN = SOUND.replace("</robot>", '<link name="tip"/>'
    '<joint name="end" type="fixed"><parent link="tool"/><child link="tip"/></joint></robot>')  # fmt: skip


def outcome(text=SOUND):
    return Outcome(describe(text))


def test_an_outcome_starts_as_the_file_says():
    found = outcome()
    assert found.masses == {"base": 4.0, "arm": 2.0, "tool": 0.5}
    assert (found.dofs, found.nv, found.mass) == ({"arm": 1}, 1, 6.5)


def test_merging_fixed_joints_keeps_the_mass_and_names_the_moving_link():
    found = outcome(CHAIN)
    found.merge_fixed()
    assert found.masses == {"base": 4.0, "arm": 2.5}


def test_joints_that_are_kept_do_not_merge():
    found = outcome(CHAIN)
    found.merge_fixed(["weld"])
    assert found.masses == {"base": 4.0, "arm": 2.0, "tool": 0.5}


def test_dropping_a_link_drops_what_carries_it():
    found = outcome()
    found.drop(["arm"])
    assert (found.masses, found.nv) == ({"base": 4.0, "tool": 0.5}, 0)


def test_a_copy_is_not_changed_with_its_original():
    found = outcome()
    before = found.copy()
    found.drop(["arm"])
    assert (before.nv, before.mass) == (1, 6.5)


@pytest.mark.parametrize(
    ("value", "mass"), [("2kg", 2.0), ("2,5", 2.0), ("1e3", 1e3), (" -.5", -0.5), ("kg", 0.0), ("", 0.0)]
)
def test_a_mass_is_the_number_at_its_start(sound, value, mass):
    assert outcome(sound('<mass value="2"/>', f'<mass value="{value}"/>')).masses["arm"] == mass
