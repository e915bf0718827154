"""Negative moments of inertia: rounding by the link's own scale, and kept where the body with the link is sound."""

import numpy as np
import pytest

from tests.urdf.conftest import ARM
from treesim.urdf import load

INERTIA = '<inertia ixx="0.2" ixy="0" ixz="0" iyy="0.2" iyz="0" izz="0.01"/>'
SPHERE = "<visual><geometry><sphere radius='{}'/></geometry></visual>"
TIP = (
    '<joint name="weld" type="fixed"><parent link="{on}"/><child link="tip"/><origin xyz="0 0 {at}"/></joint>'
    '<link name="tip"><inertial><mass value="{mass}"/>'
    '<inertia ixx="{moment}" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/></inertial></link></robot>'
)


def entries(xx, yy, zz):
    return f'<inertia ixx="{xx}" ixy="0" ixz="0" iyy="{yy}" iyz="0" izz="{zz}"/>'


def arm_with(inertia, shape=""):
    return ARM.replace(INERTIA, inertia).replace("</inertial>", f"</inertial>{shape}")


def with_tip(on="rod", at=0.0, mass=1e-6, moment=-3.5e-8):
    """The arm with a light link, of which a moment is negative, welded to another."""
    return ARM.replace("</robot>", TIP.format(on=on, at=at, mass=mass, moment=moment))


def codes(tree):
    return [note.code for note in tree.notes]


@pytest.mark.parametrize("moments", [(-2.4e-35, 0, 2.4e-35), (-5.4e-20, -5.4e-20, 0), (0, 0, -1e-13)])
def test_what_is_nothing_beside_m_r_squared_is_rounding(moments):
    """2 kg at 1 cm are 2e-4 kg m^2."""
    tree = load(arm_with(entries(*moments)))
    assert codes(tree) == ["U306"]
    assert np.linalg.eigvalsh(tree.bodies[0].inertia.rotational)[0] == 0


@pytest.mark.filterwarnings("ignore::treesim.UrdfWarning")  # U501
@pytest.mark.parametrize(
    "shape",
    [
        f"<visual/>{SPHERE}", SPHERE.replace("visual", "collision"),
        "<visual><geometry><box size='{0} {0} {0}'/></geometry></visual>",
        "<collision><geometry><cylinder radius='0.01' length='{}'/></geometry></collision>",
        "<collision><geometry><capsule radius='0.01' length='{}'/></geometry></collision>",
    ],
)  # fmt: skip
def test_the_shapes_of_a_link_tell_its_size(shape, refusal):
    inertia = entries(0, 0, -1e-11)  # 2 kg at 10 cm are 2e-2 kg m^2
    assert "U306" in codes(load(arm_with(inertia, shape.format(0.2))))
    assert refusal(arm_with(inertia, shape.format(0.02))).findings[0].code == "U305"


def test_no_size_makes_a_large_negative_moment_rounding(refusal):
    (finding,) = refusal(arm_with(entries(1, 1, -1e-5), SPHERE.format(1e6))).findings
    assert finding.code == "U305" and "repair=True" in finding.hint and "--fix" in finding.hint


def test_a_negative_moment_in_a_sound_body_is_kept_with_a_warning(noted):
    tree, message = noted(with_tip(at=-1))
    assert codes(tree) == ["U313"] and "'tip'" in message and "used unchanged, because body 'rod' with it" in message
    sound = load(with_tip(at=-1, moment=0))
    difference = tree.bodies[0].inertia.rotational - sound.bodies[0].inertia.rotational
    assert np.allclose(difference, np.diag([-3.5e-8, 0, 0]), rtol=0, atol=4 * np.finfo(float).eps * 0.2)


@pytest.mark.parametrize("mass", [1e-6, 0])
def test_a_negative_moment_that_spoils_its_body_is_an_error(refusal, mass):
    (finding,) = [found for found in refusal(with_tip(mass=mass, moment=-0.3)).findings]
    assert finding.code == "U305" and "'tip'" in finding.message and "body 'rod'" in finding.message


def test_what_does_not_move_may_have_any_inertia(noted, refusal):
    tree, message = noted(with_tip(on="base", moment=-0.3))
    assert codes(tree) == ["U313"] and "does not move" in message
    assert refusal(with_tip(on="base", moment=-0.3), base="floating").findings[0].code == "U305"


def test_strict_takes_no_negative_moment(refusal):
    assert [found.code for found in refusal(with_tip(), strict=True).findings] == ["U313"]


def test_a_body_with_moments_but_without_mass_is_not_sound(refusal):
    text = with_tip(mass=0).replace('<mass value="2"/>', '<mass value="0"/>')
    assert [found.code for found in refusal(text).findings] == ["U305"]
