"""Joints that follow others in two descriptions: the leader, the multiplier and the offset, with the lines of both."""

from __future__ import annotations

import pytest

import treesim
from treesim.compare import compare_robots

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
MIMIC = '<mimic joint="first" multiplier="0.5" offset="0.1"/>'


def gears(third=""):
    """Three hinges, the second of which follows the first; `third` is the third's `<mimic>`."""
    links = '<link name="base"/>' + "".join(
        f'<link name="{name}_link"><inertial><origin xyz="0.1 0 0"/><mass value="1"/>'
        '<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>\n'
        for name in ("first", "second", "third")
    )
    joints = "".join(
        f'<joint name="{name}" type="continuous"><parent link="base"/><child link="{name}_link"/>'
        f'<axis xyz="0 1 0"/>\n{mimic}</joint>\n'
        for name, mimic in (("first", ""), ("second", MIMIC), ("third", third))
    )
    return f'<robot name="gears">{links}{joints}</robot>'


def outcome(first, second):
    return compare_robots(first, second, base="fixed", states=3)


@pytest.mark.parametrize("theirs, details", [
    ("", "follows none instead of follows 'first' (multiplier 0.25, offset 0.15)"),
    ('<mimic joint="first" multiplier="0.25"/>', "(multiplier 0.25, offset 0) instead of"),
    ('<mimic joint="first" multiplier="0.3" offset="0.15"/>', "(multiplier 0.3, offset 0.15) instead of"),
    ('<mimic joint="second" multiplier="-0.5" offset="0.1"/>', "(multiplier -0.25, offset 0.05) instead of"),
])  # fmt: skip
def test_what_differs_is_told_with_joint_and_lines(theirs, details):
    ours = gears('<mimic joint="second" multiplier="0.5" offset="0.1"/>')
    found = outcome(ours, gears(theirs))
    (cause,) = found.causes.explanations
    assert not found.passed and found.summary.endswith("what differs: mimic")
    assert (cause.kind, cause.owner) == ("mimic", "joint 'third'") and details in cause.cause
    line = ours[: ours.rindex("<mimic")].count("\n") + 1
    assert cause.place.endswith(f":{line}") and cause.other_place.endswith(f":{line}" if theirs else f":{line - 1}")


def test_a_chain_of_followers_is_the_same_as_following_the_first():
    chain = gears('<mimic joint="second" multiplier="0.5" offset="0.1"/>')
    found = outcome(chain, gears('<mimic joint="first" multiplier="0.25" offset="0.15"/>'))
    assert found.passed and not found.causes.explanations
    assert [row.quantity for row in found.rows][-1] == "mimic"


def test_the_constraints_of_a_mujoco_file_count(tmp_path):
    pytest.importorskip("treesim_mujoco", reason="needs the plugin treesim-mujoco")
    spec = treesim.to_mujoco_spec(treesim.load(gears()))
    path = tmp_path / "gears.xml"
    path.write_text(spec.to_xml())
    rows = outcome(gears(), f"mujoco:{path}").rows
    assert rows[-1].quantity == "mimic" and rows[-1].passed
    spec.equalities[0].data[1] = 0.4
    path.write_text(spec.to_xml())
    (cause,) = outcome(gears(), f"mujoco:{path}").causes.explanations
    assert cause.kind == "mimic" and "(multiplier 0.4, offset 0.1) instead of" in cause.cause
