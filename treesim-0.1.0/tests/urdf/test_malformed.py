"""Malformed XML in comments, text, prefixes and <gazebo> does not keep a robot from being read; elsewhere it does."""

import pytest

import treesim
from treesim.errors import UrdfError
from treesim.urdf import load

DASHES = ["<!------- arm ------->", "<!-- made by xacro --inorder -->", "<!-- old --->", "<!-- -- -->", "<!---- a -->"]
BYTES = [
    b"<!-- 90\xb0 -->", b"<!-- \xbb\xfa\xd0\xb5\xb1\xdb -->", b"<!-- \x0c -->", b"<!-- \xff\xfe -- -->", b"90\xb0",
    b"<![CDATA[ \xe4 ]]>",
]  # fmt: skip
PREFIXES = [
    '<gazebo reference="rod"><sensor:camera name="c"/></gazebo>', '<gazebo><a gz:type="dvl" b=">"/></gazebo>',
    "<drake:rotor/>", '<transmission ignition:id="1"/>',
]  # fmt: skip
FOREIGN = [
    '<gazebo><plugin name="a & b"/></gazebo>', "<gazebo>&lt; &unknown;</gazebo>",
    "<gazebo><gazebo>&</gazebo>&nbsp;</gazebo>", '<gazebo name="&"/>', "R&D", "&deg;",
]  # fmt: skip


def end_with(arm, extra):
    """The robot with something more in it, behind its last element."""
    extra = extra if isinstance(extra, bytes) else extra.encode()
    return arm().encode().replace(b"</robot>", extra + b"\n</robot>")


@pytest.mark.parametrize("extra", [*DASHES, *BYTES, *PREFIXES, *FOREIGN])
def test_what_is_no_part_of_the_robot_is_read_over_with_a_warning(arm, extra):
    data = end_with(arm, extra)
    with pytest.warns(treesim.UrdfWarning, match="U107"):
        robot = treesim.load(data)
    (found,) = (note for note in robot.notes if note.code == "U107")
    line = data[: data.index(b"</robot>")].count(b"\n")
    assert found.severity == "warning" and found.line == line and "no part of the robot" in found.message
    assert repr(robot) == repr(load(arm())) and (robot.reals == load(arm()).reals).all()
    with pytest.raises(UrdfError, match="U107"):
        load(data, strict=True)


@pytest.mark.parametrize("extra", [*DASHES, *BYTES, *FOREIGN])
def test_a_repair_takes_it_out(arm, extra):
    data = end_with(arm, extra)
    repaired = treesim.repair(data)
    assert [change.code for change in repaired.changes] == ["U314"] and repaired.changes[0].line
    assert repaired.text.count("\n") == data.rstrip().count(b"\n")
    assert "U107" not in {note.code for note in load(repaired.text).notes}


@pytest.mark.parametrize(
    "extra",
    [
        '<link name="a & b"/>', b'<link name="90\xb0"/>', "<link name='a'", '<link name="b"></lnk>',
        "<!-- a <!-- b -->",
        "<!--->", "<!-->", "<!-- open", "<gazebo><sensor>", "</gazebo>", '<link name="<!-- a -- b -->"/>',
        "<xacro:arm/>", "<a:b:c/>", "<![CDATA[", '<link name="d" name="e"/>', "<?a -- ?", "<1/>",
    ],
)  # fmt: skip
def test_what_may_be_a_part_of_the_robot_is_refused(arm, extra):
    with pytest.raises(UrdfError, match=r"U101|U103"):
        load(end_with(arm, extra))


def test_comments_hide_nothing_and_add_nothing(arm):
    """A comment with two hyphens ends where the first --> stands, as for every reader."""
    data = end_with(arm, '<!-- -- <link name="hidden"/> --><link name="rod"/>')
    with pytest.raises(UrdfError, match="U202"):
        load(data)


def test_utf_16_is_read_strictly(arm):
    text = arm().partition("?>")[2] if arm().startswith("<?xml") else arm()
    data = text.replace("</robot>", "<!-- -- --></robot>").encode("utf-16")
    with pytest.raises(UrdfError, match="U101"):
        load(data)
