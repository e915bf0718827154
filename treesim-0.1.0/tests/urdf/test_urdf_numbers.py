"""Numbers far from all robots: directions kept, moments judged beside any others, and what would overflow refused."""

from itertools import permutations

import numpy as np
import pytest

from treesim.errors import ModelError
from treesim.model.joints import Joint
from treesim.model.matrices import unit_vector
from treesim.urdf import load

INERTIA = 'ixx="0.2" ixy="0" ixz="0" iyy="0.2" iyz="0" izz="0.01"'
SCALES = [1e-308, 1e-200, 1e-11, 1.0, 1e39, 1e160, 1e200, 1e307]


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("direction", [(3, 0, 4), (-3, 4, 0), (0, 0, 1), (1e-5, 0, 1), (1, 1, 1)])
def test_a_vector_of_any_length_keeps_its_direction(direction, scale):
    exact = np.array(direction) / np.linalg.norm(direction)
    assert np.abs(unit_vector(scale * np.array(direction, dtype=float)) - exact).max() < 1e-15
    assert np.array_equal(unit_vector(np.zeros(3)), np.zeros(3))


@pytest.mark.parametrize("scale", SCALES)
def test_axes_of_any_length_are_directions_or_refused(arm, noted, refusal, scale):
    values = (3 * scale, 0.0, 4 * scale)
    text = arm('xyz="0 1 0"', 'xyz="{} {} {}"'.format(*values))
    if scale < 1e-12:
        assert [found.code for found in refusal(text).findings] == ["U402"] and "as good as zero" in str(refusal(text))
        with pytest.raises(ModelError, match="needs a direction"):
            Joint("j", "revolute", axis=values)
    else:
        tree, message = noted(text)
        assert "U403" in message and "inf" not in message
        for axis in (tree.joint("hinge").axis, Joint("j", "planar", axis=values).axis):
            assert np.abs(axis - np.array([0.6, 0, 0.8])).max() < 1e-15


# every attribute that holds numbers of which products or sums are made
NUMBERS = {
    "mass": ('value="2"', 'value="{}"', 13),
    "damping": ("</joint>", '<dynamics damping="{}"/></joint>', 9),
    "friction": ("</joint>", '<dynamics friction="{}"/></joint>', 9),
    "armature": ("</joint>", '<dynamics armature="{}"/></joint>', 9),
    "joint's place": ('xyz="0 0 1"', 'xyz="0 {} 1"', 4),
    "joint's attitude": ('rpy="0 0 0"', 'rpy="0 0 {}"', 4),
    "centre of mass": ('xyz="0 0 -0.5"', 'xyz="{} 0 0"', 12),
    "inertia's attitude": ('-0.5" rpy="0 0 0"', '-0.5" rpy="0 {} 0"', 12),
    **{entry: (INERTIA, INERTIA.replace(f'{entry}="', f'{entry}="{{}}" old{entry}="'), 14)
       for entry in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")},
}  # fmt: skip


@pytest.mark.parametrize("where", NUMBERS)
@pytest.mark.parametrize("number", ["1e41", "-1e200", "1.7e308"])
def test_numbers_beyond_all_reason_are_refused_where_they_stand(arm, refusal, where, number):
    old, new, line = NUMBERS[where]
    error = refusal(arm(old, new.format(number)))
    assert [(found.code, found.line) for found in error.findings] == [("U312", line)]
    assert "link 'rod': <" in str(error) or "joint 'hinge': <" in str(error)


ATTRIBUTES_OF = {"effort": "effort_limit", "velocity": "velocity_limit"}  # of a Joint


@pytest.mark.parametrize("name", ["lower", "upper", "effort", "velocity"])
def test_limits_may_stand_for_none(arm, name):
    number = -1.7e308 if name == "lower" else 1.7e308
    old = {"lower": "-1", "upper": "2", "effort": "10", "velocity": "3"}[name]
    joint = load(arm(f'{name}="{old}"', f'{name}="{number}"')).joint("hinge")
    assert float(getattr(joint, ATTRIBUTES_OF.get(name, name))[0]) == np.copysign(np.inf, number)


@pytest.mark.parametrize("base", ["fixed", "floating"])
@pytest.mark.filterwarnings("error::RuntimeWarning", "ignore::treesim.UrdfWarning")
def test_the_largest_numbers_overflow_nowhere(base):
    """Links as heavy and as far out as is taken, welded to each other and hung on joints, with shapes out there."""
    place = '<origin xyz="1e40 -1e40 1e40" rpy="1e40 1 -1e40"/>'
    shape = f'<visual>{place}<geometry><box size="1e40 1e40 1e40"/></geometry></visual>'
    moments = 'ixx="1e40" ixy="0" ixz="0" iyy="1e40" iyz="0" izz="1e40"'
    inertial = f'<inertial>{place}<mass value="1e40"/><inertia {moments}/></inertial>{shape}'
    parts = [f'<link name="l{k}">{inertial}</link>' for k in range(9)]
    for k in range(8):
        ends = f'<parent link="l{k}"/><child link="l{k + 1}"/>'
        parts.append(f'<joint name="j{k}" type="{("fixed", "planar")[k % 2]}">{place}{ends}</joint>')
    tree = load(f'<robot name="r">{"".join(parts)}</robot>', base=base)
    assert np.isfinite(tree.reals).all() and np.isfinite(tree.mass)
    assert all(np.isfinite(body.inertia.about_origin()).all() for body in tree.bodies)
    assert all(np.isfinite(visual.placement.matrix()).all() for visual in tree.visuals)


def judged(arm, matrix):
    """The arm with another inertia in line 14."""
    names = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    entries = np.asarray(matrix)[[0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]].tolist()
    return arm(INERTIA, " ".join(f'{name}="{entry!r}"' for name, entry in zip(names, entries, strict=True)))


OTHERS = [1e-3, 1.0, 1e4, 1e8, 1e14, 1e30, 1e40]
ORDERS = list(permutations(range(3)))


@pytest.mark.parametrize("large", OTHERS)
def test_a_negative_moment_is_found_however_large_the_others_are(arm, refusal, large):
    pair = [[1e-4, 2e-4, 0], [2e-4, 1e-4, 0], [0, 0, large]]  # with the moments -1e-4 and 3e-4
    for matrix in (np.diag([-1e-4, 1, large]), np.diag([-1e-5, large, large]), pair):
        for order in ORDERS:
            text = judged(arm, np.array(matrix)[np.ix_(order, order)])
            assert [(found.code, found.line) for found in refusal(text).findings] == [("U305", 14)]


@pytest.mark.parametrize("large", OTHERS)
def test_a_moment_above_the_others_is_found_however_large_it_is(arm, noted, large):
    for small in (large / 3, 1e-10 * large, 1e-300):
        for order in ORDERS:
            tree, message = noted(judged(arm, np.diag([small, small, large])[np.ix_(order, order)]))
            assert "U307" in message and len(tree.notes) == 1


def test_rounding_beside_large_moments_is_no_fault(arm):
    """What programs make of a rod, turned, and of a plate of equal entries."""
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    for large in (1e-6, 1.0, 1e6):
        rod = turn @ np.diag([0, large, large]) @ turn.T
        for matrix in (0.5 * (rod + rod.T), np.diag([-1e-17 * large, large, large])):
            assert {note.code for note in load(judged(arm, matrix)).notes} <= {"U306"}


@pytest.mark.parametrize("space", ["\u00a0", "\u2003", "\u3000", "\u2028"])
def test_spaces_that_xml_does_not_know_are_no_part_of_numbers(arm, refusal, space):
    for old, new in (('value="2"', f'value="{space}2"'), ('xyz="0 1 0"', f'xyz="0{space}1 0"')):
        assert [found.code for found in refusal(arm(old, new)).findings] in (["U301"], ["U302"])


def test_an_attribute_that_no_limit_has_is_not_read_as_a_number(arm):
    assert [note.code for note in load(arm('effort="10"', 'effort="10" comment="ten"')).notes] == ["U212"]


@pytest.mark.parametrize("kind", ["revolute", "continuous", "prismatic", "planar"])
def test_an_axis_without_xyz_is_x_with_a_warning(arm, noted, refusal, kind):
    text = arm('<axis xyz="0 1 0"/>', "<axis/>").replace('"revolute"', f'"{kind}"')
    tree, message = noted(text)
    assert "line 7: U412: joint 'hinge': <axis> has no xyz" in message
    assert np.array_equal(tree.joint("hinge").axis, [1, 0, 0])
    assert "U412" in {found.code for found in refusal(text, strict=True).findings}


@pytest.mark.parametrize("kind", ["fixed", "floating", "spherical"])
def test_an_axis_without_xyz_does_not_matter_where_there_is_none(arm, kind):
    text = arm('<axis xyz="0 1 0"/>', "<axis/>").replace('"revolute"', f'"{kind}"')
    assert "U412" not in {note.code for note in load(text).notes}


def test_tabs_and_lines_given_by_reference_are_spaces(arm):
    """Some readers split at blanks only, and drop the inertial of which they cannot read the origin."""
    assert load(arm("0 0 -0.5", "0&#9;0&#10;-0.5")).bodies[0].inertia.com.tolist() == [0, 0, -0.5]
