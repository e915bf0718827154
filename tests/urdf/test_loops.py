"""`<loop_joint>`: what is read, what is refused, and that worlds close what it joins."""

import pickle
from pathlib import Path

import numpy as np
import pytest

import treesim
from tests.urdf.test_urdf_findings import hinge
from treesim.cli.info import robot_facts
from treesim.errors import UrdfError
from treesim.model.joined import joined

FOUR_BAR = Path(__file__).parents[2] / "assets" / "four_bar.urdf"
BODY = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
LINKS = '<link name="base"/>' + "".join(f'<link name="{name}">{BODY}</link>' for name in ("left", "right", "tip"))
TREE = f"""<robot name="pair">{LINKS}
{hinge("a", "base", "left")}{hinge("b", "base", "right")}{hinge("c", "right", "tip", "fixed")}
"""
PIN = """<loop_joint name="pin" type="spherical">
<link1 link="left" xyz="0 0 1"/>
<link2 link="tip"/>
</loop_joint>"""


def read(pin):
    """A robot of two arms, whose loop stands in lines 3 to 6."""
    return treesim.load(f"{TREE}{pin}</robot>")


@pytest.mark.parametrize("kind, rows", [("spherical", 3), ("fixed", 6), ("revolute", 5), ("continuous", 5)])
def test_what_is_held(kind, rows):
    robot = read(PIN.replace("spherical", kind).replace("<link2", '<axis xyz="0 1 0"/><link2'))
    (loop,) = robot.loops
    assert (loop.name, loop.first, loop.second) == ("pin", "pin_link1", "tip")
    assert loop.type == ("revolute" if kind == "continuous" else kind) and loop.axis.tolist() == [0, 1, 0]
    assert robot.frame("pin_link1").body == robot.frame("left").body
    np.testing.assert_array_equal(robot.frame("pin_link1").placement.translation, [0, 0, 1])
    world = treesim.World(robot)
    assert world.m == rows and treesim.World(robot, use_loops=False).m == 0
    both = treesim.World(robot, treesim.FrameConstraint("left", rows="angular"))
    assert both.m == rows + 3 and both.constraints[-1].name == "pin"


def test_the_axis_is_what_a_revolute_loop_leaves_free():
    """Two arms on one hinge each about the same axis: a pin about it lets them turn, one about another does not."""
    free, held = (
        treesim.World(read(PIN.replace("spherical", "revolute").replace("<link2", f'<axis xyz="{axis}"/><link2')))
        for axis in ("1 0 0", "0 1 0")
    )
    turned = np.array([0.3, 0.0])
    rotations = [world.gaps(turned)[3:] for world in (free, held)]
    np.testing.assert_allclose(rotations[0], 0, atol=1e-15)
    assert np.linalg.norm(rotations[1]) == pytest.approx(np.sin(0.3))


@pytest.mark.parametrize("wrong, right, code, line, words", [
    ('<link2 link="tip"/>', '<link2 link="tpi"/>', "U204", 5, "link 'tpi' does not exist"),
    ('<link2 link="tip"/>', "", "U203", 3, "no <link2 link=...>"),
    ('<link2 link="tip"/>', "<link2/>", "U203", 5, "no <link2 link=...>"),
    ('xyz="0 0 1"', 'xyz="0 0 one"', "U301", 4, "'one', which is not a number"),
    ('xyz="0 0 1"', 'xyz="0 0"', "U302", 4, "needs 3 numbers, found 2"),
    ('xyz="0 0 1"', 'rpy="0 nan 1"', "U303", 4, "NaN"),
    ('xyz="0 0 1"', 'xzy="0 0 1"', "U214", 4, "unknown attribute 'xzy' (did you mean 'xyz'?)"),
    ('xyz="0 0 1"', 'pose="0 0 1"', "U214", 4, "unknown attribute 'pose' (allowed are link, xyz, rpy, quat_xyzw)"),
    ("</loop_joint>", "\n<origin/></loop_joint>", "U214", 7, "loop_joint 'pin': unknown <origin>"),
    (' type="spherical"', "", "U401", 3, "has no type (allowed are continuous, fixed, revolute, spherical)"),
    ("spherical", "prismatic", "U401", 3, "unknown type 'prismatic'"),
    (' name="pin"', "", "U201", 3, "<loop_joint> has no name"),
    ('"pin"', '"a"', "U202", 3, "loop_joint 'a' has the name of joint 'a' in line 2"),
    ('link="tip"', 'link="left"', "U414", 3, "joins link 'left' to itself"),
    ('link="left"', 'link="right"', "U414", 3, "joins links of one body"),
    ('type="spherical">', 'type="revolute"><axis xyz="0 0 0"/>', "U402", 3, '<axis xyz="0 0 0"> is zero'),
])  # fmt: skip
def test_what_cannot_be_meant_is_told_with_its_line(wrong, right, code, line, words):
    assert wrong in PIN
    with pytest.raises(UrdfError) as caught:
        read(PIN.replace(wrong, right, 1))
    assert [(one.code, one.line) for one in caught.value.findings] == [(code, line)]
    assert words in str(caught.value)


def test_two_first_ends_are_told_apart():
    with pytest.raises(UrdfError, match=r"second <link1> \(call the second end <link2>\)"):
        read(PIN.replace("link2", "link1"))


def test_a_frame_of_a_loop_needs_a_name_of_its_own():
    with pytest.raises(UrdfError, match=r"U202: .*its frame 'pin_link1' has the name of a link"):
        treesim.load(f"{TREE}{PIN}</robot>".replace('"tip"', '"pin_link1"'))


def test_loops_are_written_and_pickled():
    robot = treesim.load(FOUR_BAR)
    again = treesim.load(treesim.to_urdf(robot))
    (loop,), (written,) = robot.loops, again.loops
    assert (written.name, written.type, written.first, written.second) == ("pin", "revolute", "pin_link1", "pin_link2")
    np.testing.assert_array_equal(written.axis, loop.axis)
    q = [0.3, 0.4, -1.0]
    np.testing.assert_allclose(treesim.World(again).gaps(q), treesim.World(robot).gaps(q), atol=1e-15)
    both = treesim.World(joined([robot, robot.with_name("second")]))
    assert [one.name for one in both.robot.loops] == ["pin", "second.pin"] and both.m == 10
    held = treesim.World(robot, treesim.FrameConstraint("crank"), q=q)
    again = pickle.loads(pickle.dumps(held))
    assert again.m == held.m == 11 and again.constraints[1].name == "pin"


def closed_form(angle):
    """The rocker's angle at a crank's, of the two the one that hangs below, for bars of 0.15, 0.4 and 0.3 m on ground
    of 0.4 m: by the triangle of rocker, coupler and the crank's tip. Angles about y."""
    tip = 0.15 * np.array([np.cos(angle), -np.sin(angle)])
    across = tip - [0.4, 0.0]
    d = np.linalg.norm(across)
    corner = np.arccos((0.3**2 + d**2 - 0.4**2) / (2 * 0.3 * d))
    return np.arctan2(-across[1], across[0]) + corner


def test_a_four_bar_follows_its_closed_form_and_the_same_loop_given_in_python():
    robot = treesim.load(FOUR_BAR)
    world = treesim.World(robot)
    pin = treesim.LoopConstraint("pin_link1", "pin_link2", rows=[[1, 0, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0]])
    by_hand = treesim.World(robot, pin, use_loops=False)
    q, ends = world.close([0.0, 0.9, closed_form(0.0)]), []
    for each in (world, by_hand):
        J = each.jacobian(q)
        v = np.r_[10.0, np.linalg.lstsq(J[:, 1:], -10.0 * J[:, 0])[0]]
        stepper = treesim.Stepper(each)
        now = stepper.reset(q, v)
        for _ in range(400):
            now, _ = stepper.step(now)
            assert np.abs(each.gaps(now.q)).max() < 1e-12
            assert np.sin(now.q[2] - closed_form(now.q[0])) == pytest.approx(0, abs=1e-10)
        assert now.q[0] > 3  # half a turn
        ends.append(now)
    np.testing.assert_allclose(ends[0].q, ends[1].q, rtol=0, atol=1e-7)


def test_open_loops_are_told_and_can_be_closed():
    robot = treesim.load(FOUR_BAR)
    world = treesim.World(robot)
    with pytest.raises(treesim.ArgumentError, match=r"q0 leaves open row 2 of the loop 'pin' between .*world.close"):
        treesim.Simulation(robot).run(0.01, [0.0, 0.5, 0.5])
    q = world.close(robot.neutral())  # where all bars lie in one line, and no step along it closes the loop
    np.testing.assert_allclose(world.gaps(q), 0, atol=1e-12)
    assert treesim.Stepper(robot).reset().q == pytest.approx(q)
    far = treesim.Tree("far", robot.bodies, frames=[treesim.Frame("far", 0, treesim.Placement(translation=(9, 0, 0)))],
                       loops=[treesim.Loop("gap", "coupler", "far")])  # fmt: skip
    with pytest.raises(
        treesim.ConvergenceError, match="no configuration was found that closes row 0 of the loop 'gap'"
    ):
        treesim.World(far).close(q)


def test_loops_of_trees_are_checked():
    robot = treesim.load(FOUR_BAR)
    with pytest.raises(treesim.ModelError, match="loop 'pin' joins 'ghost', which is no frame of 'odd'"):
        treesim.Tree("odd", robot.bodies, loops=[treesim.Loop("pin", "crank", "ghost")])
    with pytest.raises(treesim.ModelError, match="type of loop 'pin' must be spherical, revolute, fixed"):
        treesim.Loop("pin", "a", "b", type="planar")
    with pytest.raises(treesim.ModelError, match="axis of loop 'pin' must be a direction"):
        treesim.Loop("pin", "a", "b", type="revolute", axis=(0, 0, 0))


def test_loops_are_listed():
    facts = robot_facts(treesim.load(FOUR_BAR))["loops"]
    assert [(one["name"], one["type"], one["frames"]) for one in facts] == [
        ("pin", "revolute", ["pin_link1", "pin_link2"])
    ]
