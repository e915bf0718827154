"""Masses against the volume of shapes."""

import pytest

import treesim
from tests.doctor.robots import codes, robot, shape, solid

BOX = shape('<box size="0.1 0.1 0.1"/>')  # a litre


def reported(mass, shapes=BOX):
    moments = 3 * (mass * 0.01 / 6,)
    return treesim.check(robot(block=solid(mass, moments=moments) + shapes), tiers=["physics"])


@pytest.mark.parametrize("mass", [0.0011, 1.0, 7.85, 11.33])
def test_materials_are_passed(mass):
    assert codes(reported(mass)) == []


@pytest.mark.parametrize(("mass", "words"), [(0.0009, "lighter than air"), (11.35, "denser than lead")])
def test_what_no_material_weighs_is_told(mass, words):
    (found,) = reported(mass).findings
    assert (found.code, found.element) == ("U601", '/robot/link[@name="block"]/inertial') and words in found.message


def test_millimetres_are_guessed():
    (found,) = reported(1.0, shape('<box size="100 100 100"/>')).of("warning")
    assert found.code == "U601" and "0.001 0.001 0.001" in found.hint
