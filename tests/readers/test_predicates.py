"""What predicates find beyond the rules' examples: boundaries, and volumes in closed form."""

import math

import pytest

from treesim.readers import predicates as p
from treesim.readers import readings
from treesim.readers.description import describe
from treesim.readers.examples import ARM, SOUND

INERTIA = 'ixx="0.02" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.03"'


def arm(text):
    return next(link for link in describe(text).links if link.get("name") == "arm")


@pytest.mark.parametrize(
    ("entries", "impossible"),
    [
        (INERTIA.replace('izz="0.03"', 'izz="0.05"'), False),  # a plate: A + B = C
        (INERTIA.replace('izz="0.03"', 'izz="0.0500000001"'), False),  # as files with few digits have it
        (INERTIA.replace('izz="0.03"', 'izz="0.051"'), True),
        (INERTIA.replace('ixx="0.02"', 'ixx="-0.02"'), True),
        (INERTIA.replace('ixy="0"', 'ixy="0.1"'), True),  # indefinite by its products
        ('ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"', False),
    ],
)
def test_inertias_that_no_rigid_body_has(entries, impossible):
    assert p.impossible_inertia(arm(SOUND.replace(INERTIA, entries))) is impossible


@pytest.mark.parametrize(
    ("geometry", "volume"),
    [
        ('<box size="0.1 0.2 0.3"/>', 0.006),
        ('<sphere radius="0.1"/>', 4 / 3 * math.pi * 1e-3),
        ('<cylinder radius="0.1" length="0.2"/>', math.pi * 2e-3),
        ('<capsule radius="0.1" length="0.2"/>', math.pi * 2e-3 + 4 / 3 * math.pi * 1e-3),
    ],
)
def test_shapes_weigh_a_thousand_kilograms_for_each_cubic_metre(geometry, volume):
    text = SOUND.replace(ARM, f"{ARM}<collision><geometry>{geometry}</geometry></collision>")
    assert p.mass_of_shapes(arm(text)) == pytest.approx(1000 * volume, rel=1e-14)


def test_the_mass_of_a_mesh_is_not_known():
    text = SOUND.replace(ARM, f'{ARM}<collision><geometry><mesh filename="x.stl"/></geometry></collision>')
    assert math.isnan(p.mass_of_shapes(arm(text)))


@pytest.mark.parametrize(
    ("xyz", "skew"), [("0 1 0", False), ("0 1.0000001 0", False), ("0 1.1 0", True), ("0 0 0", False)]
)
def test_axes_of_another_length_than_one(xyz, skew):
    joint = describe(SOUND.replace('<axis xyz="0 1 0"/>', f'<axis xyz="{xyz}"/>')).joints[0]
    assert p.skew_axis(joint) is skew


def test_readings_name_the_lines_of_the_elements():
    (found,) = [
        each
        for each in readings(SOUND.replace('mass value="2"', 'mass value="2kg"'), ["drake"])
        if each.rule.code == "DR13"
    ]
    (place,) = found.places
    assert (place.line, place.name) == (10, "link 'arm': <mass>")
