"""From which size on the doctor finds something: one robot on either side of each threshold."""

import importlib.util
import math

import numpy as np
import pytest

import treesim
from tests.doctor.robots import codes, joint, robot, shape, solid
from treesim.doctor.hull import Hull
from treesim.doctor.poses import poses_of
from treesim.model.solids import CORNERS

BOX = shape('<box size="0.2 0.3 0.4"/>')
LITRE = shape('<box size="0.1 0.1 0.1"/>')
BALL = shape('<sphere radius="0.1"/>')


def block(mass=1.0, com="0 0 0", variances=(0.003, 0.007, 0.012), shapes=BOX):
    """One link, with so much inertia that the mass has these variances along its axes."""
    x, y, z = (mass * variance for variance in variances)
    return robot(block=solid(mass, com, (y + z, x + z, x + y)) + shapes)


def discs(inner):
    """Two discs on one axis, of which the first has so much inertia: the condition number is 0.4 / inner."""
    return robot(
        joint("spin", "base", "ring", axis="0 0 1"), joint("turn", "ring", "disc", axis="0 0 1"),
        base="", ring=solid(inner, moments=3 * (inner,)), disc=solid(1.0, moments=3 * (0.1,)),
    )  # fmt: skip


def balls(overlap, pairs=1):
    """Pairs of spheres that overlap by so much [m], far from each other."""
    places = [10 * k + x for k in range(pairs) for x in (0, 0.2 - overlap)]
    joints = [joint(f"j{k}", "base", f"b{k}", xyz=f"{x} 0 0") for k, x in enumerate(places)]
    return robot(*joints, base="", **{f"b{k}": solid() + BALL for k in range(len(places))})


# the code, a robot without it, and one beyond the threshold
THRESHOLDS = {
    "centre of mass outside": ("U604", block(com="0.1261 0 0"), block(com="0.1278 0 0")),
    "ill-conditioned": ("U605", discs(4.1e-9), discs(3.9e-9)),
    "lighter than air": ("U601", block(0.00103, shapes=LITRE), block(0.00097, shapes=LITRE)),
    "denser than lead": ("U601", block(11.2, shapes=LITRE), block(11.5, shapes=LITRE)),
    "mass outside of shapes": (
        "U602", block(variances=(0.003, 0.007, (1.08 * 0.2) ** 2)), block(variances=(0.003, 0.007, (1.12 * 0.2) ** 2)),
    ),
    "point mass": ("U603", block(variances=3 * (0.0064**2,)), block(variances=3 * (0.0060**2,))),
    "overlap": ("U608", balls(0.97e-3), balls(1.03e-3)),
}  # fmt: skip


@pytest.mark.parametrize("what", THRESHOLDS)
def test_a_finding_begins_at_its_threshold(what):
    code, passed, reported = THRESHOLDS[what]
    assert code not in codes(treesim.check(passed))
    assert code in codes(treesim.check(reported))


@pytest.mark.parametrize(("edge", "guessed"), [(11.2, False), (11.9, True)])
def test_millimetres_are_guessed_beyond_20_m(edge, guessed):
    """The diagonals are 19.4 and 20.6 m."""
    (found,) = [one for one in treesim.check(block(shapes=shape(f'<box size="{edge} {edge} {edge}"/>'))).of("warning")]
    assert found.code == "U601" and ("0.001" in found.hint) == guessed


@pytest.mark.parametrize(("share", "named"), [(0.31, "'a', 'b', 'c'"), (0.29, "'a', 'c'")])
def test_joints_are_blamed_from_three_tenths_of_the_largest_motion_on(share, named):
    """The third axis is (share, 0, c) in the plane of the first two; without inertia between, they move against it."""
    axis = f"{share} 0 {math.sqrt(1 - share * share)}"
    light = solid(1e-12, moments=3 * (1e-12,))
    text = robot(
        joint("a", "base", "x", axis="0 0 1"), joint("b", "x", "y", axis="1 0 0"), joint("c", "y", "z", axis=axis),
        base="", x=light, y=light, z=solid(1.0, moments=3 * (0.1,)),
    )  # fmt: skip
    (found,) = [one for one in treesim.check(text).findings if one.code == "U605"]
    assert f"joints {named} together" in found.message


@pytest.mark.parametrize("pairs", [4, 5])
def test_4_overlaps_are_named(pairs):
    (found,) = [one for one in treesim.check(balls(0.05, pairs)).findings if one.code == "U608"]
    assert found.message.count(" by 50 mm") == 4 and found.message.endswith(", and 1 more pairs") == (pairs == 5)


def test_joints_are_looked_at_in_33_poses():
    assert len(poses_of(treesim.load(discs(1.0)))) == 33


def test_shapes_are_flat_below_a_millionth_of_their_width():
    for thickness, flat in ((1.03e-6, False), (0.97e-6, True)):
        assert (Hull(2 * CORNERS * [1.0, 1.0, thickness]).volume == 0) == flat


def test_points_that_rounding_makes_flat_have_no_volume():
    """Far from the origin Qhull finds no first simplex."""
    hull = Hull(CORNERS * [1.0, 1.0, 2e-6] + 1e9)
    assert hull.volume == 0 and hull.outside(np.zeros(3)) == -np.inf


def test_a_pose_in_which_a_joint_moves_no_inertia_has_no_condition_number():
    """A mass on the axis of the first joint, as long as the second is neutral."""
    text = robot(
        joint("a", "base", "x", axis="0 0 1"), joint("b", "x", "y", axis="1 0 0"),
        base="", x="", y=solid(1.0, com="0 0 1", moments=(0, 0, 0)),
    )  # fmt: skip
    assert not {"U310", "U311", "U605"} & set(codes(treesim.check(text)))


@pytest.mark.skipif(not importlib.util.find_spec("coal"), reason="hulls meet by coal")
def test_a_flat_mesh_overlaps_nothing(tmp_path):
    trimesh = pytest.importorskip("trimesh")
    path = tmp_path / "flat.stl"
    trimesh.Trimesh([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]], [[0, 1, 2], [0, 2, 3]]).export(path)
    text = robot(
        joint("j", "base", "a"), joint("k", "base", "b"),
        base="", a=solid() + shape(f'<mesh filename="{path}"/>'), b=solid() + BALL,
    )  # fmt: skip
    assert "U608" not in codes(treesim.check(text))
