"""Public functions: readers, errors, and readings of a refused file."""

import pytest
from treesim_importers import READERS, examine, readings, verifications
from treesim_importers.examples import LIMIT, SOUND

from treesim.errors import ArgumentError, UnknownNameError, UrdfError


def test_all_readers_are_asked_by_default_in_the_order_of_the_table():
    assert list(dict.fromkeys(found.reader for found in readings(SOUND))) == list(READERS)
    assert {found.reader for found in readings(SOUND, ["drake", "isaac"])} == {"drake", "isaac"}


def test_an_unknown_reader_is_named_with_the_known_ones():
    with pytest.raises(UnknownNameError, match="unknown reader 'gazeebo': did you mean 'gazebo'"):
        readings(SOUND, ["gazeebo"])


def test_what_is_no_urdf_is_an_error():
    with pytest.raises(UrdfError):
        readings("<sdf/>")


def test_a_file_that_treesim_refuses_is_read_all_the_same():
    found = readings(SOUND.replace('<mass value="2"/>', '<mass value="-2"/>'), ["pinocchio"])
    assert "PI09" in [reading.rule.code for reading in found]


def test_refusal_is_told_by_reader():
    found = examine(SOUND.replace(LIMIT, ""), ["pybullet", "mujoco", "gazebo"])
    assert [each.refused for each in found] == [True, False, True]


def test_readers_without_a_program_are_not_verified():
    assert verifications(SOUND, ["isaac"]) == ()
    (found,) = examine(SOUND, ["isaac"], verify=True)
    assert found.verification is None


def test_a_reading_says_its_place_code_and_effect_in_one_line(tmp_path):
    path = tmp_path / "sound.urdf"
    path.write_text(SOUND)
    (found,) = readings(path, ["newton"])
    assert str(found) == (
        f"{path}:5: joint 'hinge': NE16: Newton adds: "
        "the joint gets an actuator in the mode POSITION, with gains of zero"
    )


def test_one_reader_alone_is_a_list_of_it():
    def examined(given):
        return [each.reader.name for each in examine(SOUND, given)]

    assert examined("drake") == examined(["drake"]) == examined(iter(["drake"])) == ["drake"]
    for wrong in (3, [3], {1: "drake"}):
        with pytest.raises(ArgumentError, match=r"^readers(\[0\])? must be a .*, got "):
            examined(wrong)
