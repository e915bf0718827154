"""Every rule: its example triggers it, the valid robot and an empty one do not."""

import re

import pytest
from treesim_importers import READERS, readings
from treesim_importers.examples import SOUND, snippet

from treesim import load

STILL = '<robot name="still"><link name="world"/></robot>'
RULES = [(reader, rule) for reader in READERS.values() for rule in reader.rules]
IDS = [rule.code for _, rule in RULES]


def codes(source, reader):
    return [reading.rule.code for reading in readings(source, [reader.name])]


@pytest.mark.parametrize(("reader", "rule"), RULES, ids=IDS)
def test_example_triggers_its_rule(reader, rule, example_file):
    assert rule.code in codes(example_file(rule), reader)


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
def test_the_sound_robot_triggers_what_needs_no_example_and_nothing_else(reader):
    assert codes(SOUND, reader) == [rule.code for rule in reader.rules if not rule.example]


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
def test_what_holds_nothing_triggers_nothing_but_the_loss_of_a_root_called_world(reader):
    assert set(codes(STILL, reader)) <= {"MJ14", "DR18", "GZ13", "IS01"}


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
def test_codes_are_the_readers_own_in_the_order_of_the_table(reader):
    assert [rule.code for rule in reader.rules] == [f"{reader.prefix}{k:02}" for k in range(1, len(reader.rules) + 1)]


@pytest.mark.parametrize(("reader", "rule"), RULES, ids=IDS)
def test_rule_says_when_what_and_what_else_and_on_which_evidence(reader, rule):
    assert rule.when and rule.effect and rule.fix
    evidence = reader.evidence(rule)
    measured = re.fullmatch(r"measured, .+ \d+(\.\d+)+", evidence)
    assert measured or re.fullmatch(r"by documentation: https://\S+", evidence)
    assert (reader.version == "") <= bool(rule.source)  # what was never run rests on pages alone


def test_the_sound_robot_is_sound_for_treesim_too():
    robot = load(SOUND)
    assert (robot.nv, robot.mass, robot.notes) == (1, 2.5, ())


def test_an_example_that_replaces_nothing_in_the_sound_robot_is_an_error():
    from dataclasses import replace

    from treesim_importers.examples import example_of

    rule = replace(RULES[0][1], example=(("not there", ""),))
    with pytest.raises(ValueError, match="no 'not there' in the example"):
        example_of(rule)


def test_a_snippet_shows_what_is_added_replaced_or_missing():
    by_code = {rule.code: rule for _, rule in RULES}
    assert snippet(by_code["PB19"]) == '<dynamics damping="0" friction="0.3"/>'
    assert snippet(by_code["PB21"]) == '<axis xyz="0 2 0"/>'
    assert snippet(by_code["PB02"]) == 'no <limit lower="-1" upper="1" effort="10" velocity="3"/>'
    assert snippet(by_code["PB15"]) == ""
