"""Every wrong or doubtful element gets its finding: stable code, line, and the names involved."""

import re
import warnings

import numpy as np
import pytest

import treesim
from treesim.errors import UrdfError
from treesim.urdf import load
from treesim.urdf.findings import CODES

MASS, INERTIA = '<mass value="2"/>', '<inertia ixx="0.2" ixy="0" ixz="0" iyy="0.2" iyz="0" izz="0.01"/>'
NO_INERTIA = '<inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/>'
HINGE = '<joint name="{name}" type="{type}"><parent link="{parent}"/><child link="{child}"/>{more}</joint>'
END = "</robot>"


def hinge(name, parent, child, kind="continuous", more=""):
    return HINGE.format(name=name, type=kind, parent=parent, child=child, more=more)


# what is replaced, by what, and the code, line and words of the one error
ERRORS = {
    "negative mass": (MASS, '<mass value="-2"/>', "U304", 13, "rod"),
    "NaN mass": (MASS, '<mass value="nan"/>', "U303", 13, "NaN"),
    "infinite mass": (MASS, '<mass value="-Inf"/>', "U303", 13, "rod"),
    "overflowing mass": (MASS, '<mass value="1e999"/>', "U303", 13, "1e999"),
    "NaN origin": ('xyz="0 0 1"', 'xyz="0 NaN 1"', "U303", 4, "hinge"),
    "NaN axis": ('xyz="0 1 0"', 'xyz="0 nan 0"', "U303", 7, "hinge"),
    "NaN limit": ('upper="2"', 'upper="nan"', "U303", 8, "upper"),
    "infinite limit": ('upper="2"', 'upper="inf"', "U303", 8, "upper"),
    "unit": (MASS, '<mass value="1kg"/>', "U301", 13, "'1kg'"),
    "decimal comma": (MASS, '<mass value="1,5"/>', "U301", 13, "'1,5'"),
    "empty number": (MASS, '<mass value=""/>', "U301", 13, "value"),
    "underscore": (MASS, '<mass value="1_000"/>', "U301", 13, "'1_000'"),
    "hexadecimal": (MASS, '<mass value="0x10"/>', "U301", 13, "'0x10'"),
    "foreign digits": (MASS, '<mass value="٣"/>', "U301", 13, "٣"),
    "two masses in one": (MASS, '<mass value="1 2"/>', "U302", 13, "found 2"),
    "two of three": ('xyz="0 0 1"', 'xyz="0 0"', "U302", 4, "found 2"),
    "four of three": ('xyz="0 1 0"', 'xyz="0 1 0 0"', "U302", 7, "found 4"),
    "empty triple": ('rpy="0 0 0"', 'rpy=""', "U302", 4, "rpy"),
    "short quaternion": ('rpy="0 0 0"', 'quat_xyzw="0 0 1"', "U302", 4, "needs 4 numbers, found 3"),
    "two attitudes": ('rpy="0 0 0"', 'rpy="0 0 0" quat_xyzw="0 0 0 1"', "U302", 4, "both rpy and quat_xyzw"),
    "zero quaternion": ('rpy="0 0 0"', 'quat_xyzw="0 0 0 1e-12"', "U402", 4, "has length zero"),
    "bad limit": ('lower="-1"', 'lower="-1rad"', "U301", 8, "lower"),
    "bad effort": ('effort="10"', 'effort="ten"', "U301", 8, "effort"),
    "zero axis": ('xyz="0 1 0"', 'xyz="0 0 0"', "U402", 7, "hinge"),
    "crossed limits": ('lower="-1"', 'lower="3"', "U404", 8, "hinge"),
    "no mass": (MASS, "", "U203", 11, "<mass>"),
    "no mass value": (MASS, "<mass/>", "U203", 13, "'value'"),
    "no inertia": (INERTIA, "", "U203", 11, "<inertia>"),
    "no inertia entry": ('izz="0.01"', "", "U203", 14, "'izz'"),
    "indefinite": ('izz="0.01"', 'izz="-0.01"', "U305", 14, "rod"),
    "indefinite by products": ('ixy="0"', 'ixy="0.3"', "U305", 14, "rod"),
    "indefinite just": ('izz="0.01"', 'izz="-3e-10"', "U305", 14, "rod"),
    "two inertials": ("</inertial>", "</inertial><inertial/>", "U208", 15, "<inertial>"),
    "two axes": ('<axis xyz="0 1 0"/>', '<axis xyz="0 1 0"/><axis xyz="0 0 1"/>', "U208", 7, "<axis>"),
    "two origins": ('<parent link="base"/>', '<parent link="base"/><origin/>', "U208", 5, "<origin>"),
    "capitalised type": ('"revolute"', '"Revolute"', "U401", 3, "'Revolute'"),
    "unknown type": ('"revolute"', '"screw"', "U401", 3, "'screw'"),
    "no type": (' type="revolute"', "", "U401", 3, "has no type"),
    "unnamed link": ('<link name="base"/>', '<link name="base"/><link/>', "U201", 2, "<link>"),
    "unnamed joint": ('joint name="hinge"', "joint", "U201", 3, "<joint>"),
    "unnamed robot": (' name="arm"', "", "U201", 1, "<robot>"),
    "empty name": ('joint name="hinge"', 'joint name=""', "U201", 3, "<joint>"),
    "no parent": ('<parent link="base"/>', "", "U203", 3, "hinge"),
    "no child": ('<child link="rod"/>', "<child/>", "U203", 6, "hinge"),
    "unknown parent": ('<parent link="base"/>', '<parent link="bass"/>', "U204", 5, "'bass'"),
    "unknown child": ('<child link="rod"/>', '<child link="road"/>', "U204", 6, "'road'"),
    "duplicate joint": (END, f'<link name="x"/>{hinge("hinge", "rod", "x")}{END}', "U202", 17, "'hinge'"),
    "duplicate link": (END, f'<link name="rod"/>{END}', "U202", 17, "'rod'"),
    "two parents": (END, f"{hinge('h2', 'base', 'rod')}{END}", "U205", 17, "'rod'"),
    "two roots": (END, f'<link name="loose"/>{END}', "U207", 1, "'loose'"),
    "self loop": (END, f'<link name="x"/>{hinge("h2", "x", "x")}{END}', "U206", 17, "'x' -> 'x'"),
    "cycle beside a tree": (
        END, f'<link name="x"/><link name="y"/>{hinge("a", "x", "y")}{hinge("b", "y", "x")}{END}', "U206", 17,
        "by joints 'a' in line 17, 'b' in line 17",
    ),
    "cycle of all": (END, f"{hinge('h2', 'rod', 'base')}{END}", "U206", 17, "joints 'hinge' in line 5, 'h2'"),
    "bad damping": ("</joint>", '<dynamics damping="abc"/></joint>', "U301", 9, "'abc'"),
    "negative armature": ("</joint>", '<dynamics armature="-1"/></joint>', "U304", 9, "armature"),
    "mimic of nobody": ("</joint>", '<mimic joint="ghost"/></joint>', "U407", 9, "'ghost'"),
    "mimic without name": ("</joint>", "<mimic/></joint>", "U407", 9, "hinge"),
    "mimic of itself": ("</joint>", '<mimic joint="hinge"/></joint>', "U407", 9, "itself"),
    "bad multiplier": (
        END, f'<link name="x"/>{hinge("h2", "rod", "x", more="<mimic joint=~hinge~ multiplier=~two~/>")}{END}',
        "U301", 17, "'two'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ERRORS)
@pytest.mark.parametrize("base", ["fixed", "floating"])
def test_error(arm, refusal, case, base):
    old, new, code, line, words = ERRORS[case]
    options = {"mimic": "free"} if "multiplier" in case else {}
    error = refusal(arm(old, new.replace("~", '"')), base=base, **options)
    assert [(found.code, found.line) for found in error.findings] == [(code, line)]
    assert words in str(error) and str(error).startswith(f"<text>:{line}: {code}: ")


def test_unknown_type_lists_the_allowed_ones(arm, refusal):
    error = refusal(arm('"revolute"', '"Revolute"'))
    for kind in ("revolute", "continuous", "prismatic", "fixed", "floating", "planar", "spherical"):
        assert kind in error.findings[0].hint


def test_mimics_in_a_cycle_are_refused_even_when_free(arm, refusal):
    links = '<link name="x"/><link name="y"/>'
    a = hinge("a", "rod", "x", more='<mimic joint="b"/>')
    b = hinge("b", "x", "y", more='<mimic joint="a"/>')
    error = refusal(arm(END, links + a + b + END), mimic="free")
    assert [(found.code, found.line) for found in error.findings] == [("U407", 17)]
    assert "joint 'a' mimics itself through others: 'a' -> 'b' -> 'a'" in str(error)


def test_every_cycle_is_an_error_of_its_own(arm, refusal):
    """Two cycles of links beside the tree, and one of mimics with a joint that leads into it."""
    links = "".join(f'<link name="{name}"/>' for name in "abcd")
    loops = "".join(hinge(f"to_{c}", p, c, more=f'<mimic joint="to_{m}"/>') for c, p, m in ("abb", "bac", "cdb", "dcb"))
    errors = refusal(arm(END, links + loops + END), mimic="free").findings
    assert [found.code for found in errors] == ["U407", "U206", "U206"]
    assert "'to_b' -> 'to_c' -> 'to_b'" in errors[0].message
    assert "'b' -> 'a' -> 'b'" in errors[1].message and "'d' -> 'c' -> 'd'" in errors[2].message


def test_one_error_lists_everything_with_file_and_line(arm, refusal, tmp_path):
    text = (
        arm(MASS, '<mass value="1kg"/>')
        .replace('xyz="0 1 0"', 'xyz="0 0 0"')
        .replace('parent link="base"', "parent link='b'")
    )
    path = tmp_path / "bad.urdf"
    path.write_text(text)
    error = refusal(path)
    assert [(found.code, found.line) for found in error.findings] == [("U204", 5), ("U402", 7), ("U301", 13)]
    assert str(error).startswith(f"{path}: 3 errors\n") and len(str(error).splitlines()) == 4
    assert all(found.file == str(path) for found in error.findings)


WARNINGS = {
    "long axis": ('xyz="0 1 0"', 'xyz="0 2 0"', "U403", 7),
    "no limit element": ('<limit lower="-1" upper="2" effort="10" velocity="3"/>', "", "U405", 3),
    "no lower limit": ('lower="-1"', "", "U405", 8),
    "triangle inequality": ('izz="0.01"', 'izz="0.5"', "U307", 14),
    "inertia without mass": (MASS, '<mass value="0"/>', "U308", 14),
    "negative damping": ("</joint>", '<dynamics damping="-1"/></joint>', "U406", 9),
    "negative friction": ("</joint>", '<dynamics friction="-1"/></joint>', "U406", 9),
    "negative effort": ('effort="10"', 'effort="-10"', "U406", 8),
    "misspelt attribute": ('effort="10"', 'Effort="10"', "U211", 8),
    "misspelt element": ("</joint>", "<dynamic/></joint>", "U210", 9),
    "massless moving leaf": (f"{MASS}\n      {INERTIA}", f'<mass value="0"/>{NO_INERTIA}', "U310", 3),
}


@pytest.mark.parametrize("case", WARNINGS)
def test_doubt_is_warned_of_once_and_noted_and_an_error_in_strict_mode(arm, noted, refusal, case):
    old, new, code, line = WARNINGS[case]
    text = arm(old, new)
    tree, message = noted(text)
    assert (code, line, "warning") in [(note.code, note.line, note.severity) for note in tree.notes]
    assert code in message and f"line {line}" in message
    assert code in {found.code for found in refusal(text, strict=True).findings}


def test_long_axis_is_normalised_and_rounding_is_not_mentioned(arm, noted):
    tree, _ = noted(arm('xyz="0 1 0"', 'xyz="0 2 0"'))
    assert np.array_equal(tree.joint("hinge").axis, [0, 1, 0])
    quiet = load(arm('xyz="0 1 0"', 'xyz="0 0.6000001 0.8"'))
    assert not quiet.notes and np.linalg.norm(quiet.joint("hinge").axis) == pytest.approx(1, abs=1e-15)


def test_missing_axis_is_x(arm):
    assert np.array_equal(load(arm('<axis xyz="0 1 0"/>', "")).joint("hinge").axis, [1, 0, 0])


def test_missing_limits_are_infinite_and_effort_and_velocity_may_miss(arm, noted):
    tree, _ = noted(arm('<limit lower="-1" upper="2" effort="10" velocity="3"/>', ""))
    assert (tree.lower[0], tree.upper[0]) == (-np.inf, np.inf)
    quiet = load(arm(' effort="10" velocity="3"', ""))
    assert not quiet.notes and quiet.effort_limit[0] == quiet.velocity_limit[0] == np.inf


def test_doubtful_values_are_kept_as_given(arm, noted):
    tree, _ = noted(arm("</joint>", '<dynamics damping="-1" friction="-2"/></joint>'))
    assert (tree.damping[0], tree.joint_friction[0]) == (-1, -2)
    tree, _ = noted(arm('izz="0.01"', 'izz="0.5"'))
    assert tree.bodies[0].inertia.rotational[2, 2] == 0.5
    tree, _ = noted(arm(MASS, '<mass value="0"/>'))
    assert tree.mass == 0 and tree.bodies[0].inertia.rotational[0, 0] == 0.2


def test_the_remedy_for_an_impossible_inertia_is_one_that_helps(arm, noted):
    _, message = noted(arm('izz="0.01"', 'izz="0.5"'))
    assert "(check the powers of ten)" in message
    turned = '<inertia ixx="0.02" ixy="0.005" ixz="0" iyy="0.03" iyz="0" izz="0.012"/>'
    _, message = noted(arm(INERTIA, turned))
    assert "(check the order of ixx, iyy, izz)" in message


def test_warnings_are_in_the_order_of_lines(arm, noted):
    text = arm('izz="0.01"', 'izz="0.5"').replace('xyz="0 1 0"', 'xyz="0 2 0"').replace('upper="2"', "")
    _, message = noted(text)
    assert re.findall(r"^  line (\d+)", message, re.MULTILINE) == ["7", "8", "14"]


def test_rounding_in_an_inertia_is_clipped_with_notice(arm):
    tree = load(arm(INERTIA, '<inertia ixx="0.2" ixy="0" ixz="0" iyy="0.2" iyz="0" izz="-1e-11"/>'))
    assert [note.code for note in tree.notes] == ["U306"]
    assert np.linalg.eigvalsh(tree.bodies[0].inertia.rotational)[0] == 0


def test_no_inertial_means_no_mass(arm, noted):
    text = re.sub(r"<inertial>.*</inertial>", "", arm(), flags=re.DOTALL)
    tree, message = noted(text)
    assert tree.mass == 0 and not tree.bodies[0].inertia.rotational.any()
    assert "joint 'hinge'" in message


def test_massless_intermediate_body_with_a_massive_subtree_is_accepted(arm):
    between = '<link name="tip"/>' + hinge("h2", "base", "tip")
    text = arm(END, between + END).replace('<parent link="base"/>', '<parent link="tip"/>', 1)
    tree = load(text)
    assert tree.body_names == ("tip", "rod") and "U310" not in {note.code for note in tree.notes}


def test_mimic_of_a_fixed_joint_is_a_note(arm):
    text = arm(END, '<link name="x"/>' + hinge("h2", "rod", "x", "fixed", '<mimic joint="hinge"/>') + END)
    assert [note.code for note in load(text).notes if note.severity == "info"] == ["U213"]


def test_tags_without_meaning_are_noted_once_per_kind(arm):
    extras = '<gazebo/><gazebo reference="rod"><mu1>1</mu1></gazebo><transmission name="t"/><a:b xmlns:a="x"/>'
    text = arm(END, extras + END).replace("</joint>", "<safety_controller/></joint>")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tree = load(text)
    messages = [note.message for note in tree.notes if note.code == "U209"]
    assert messages == [
        "ignored: <safety_controller>",
        "ignored: 2 <gazebo>",
        "ignored: <transmission>",
        "ignored: <b>",
    ]


def test_attributes_of_other_programs_are_noted(arm):
    tree = load(arm('<joint name="hinge"', '<joint dont_collapse="true" name="hinge"'))
    assert [note.code for note in tree.notes] == ["U212"]


BOX = '<geometry><box size="1 1 1"/></geometry>'
TWO_SIZES = BOX.replace("box ", 'box sizes="1" ')


@pytest.mark.parametrize(
    ("element", "code", "text"),
    [
        ('<link name="l"\n mass="2"/>', "U215", 'belongs to <inertial><mass value="..."/>'),
        ('<link name="l"\n soft="2"/>', "U216", "'soft' ignored (<link> has the attributes name)"),
        ('<link name="l"\n soft="0"/>', "U212", "'soft' ignored"),
        (f'<link name="l"><visual\n colour="1">{BOX}</visual></link>', "U216", "<visual> has none"),
        (f'<link name="l"><collision\n mu="1">{BOX}</collision></link>', "U216", "<collision> has none"),
        (f'<link name="l"><collision>{TWO_SIZES}</collision></link>', "U211", "did you mean 'size'?"),
        ('<link name="l"/><material name="m"\n shiny="1"/>', "U216", "<material> has the attributes name"),
    ],
)  # fmt: skip
def test_attributes_that_are_not_read_are_reported_with_their_line(element, code, text):
    findings = [
        one for one in treesim.check(f'<robot name="r">\n{element}</robot>').findings if one.code.startswith("U21")
    ]
    assert [(one.code, one.line) for one in findings] == [(code, 3 if "\n" in element else 2)]
    assert text in f"{findings[0].message} ({findings[0].hint})"
    assert CODES[code].severity == ("info" if code == "U212" else "warning")


def test_many_warnings_make_one_message_with_a_line_per_code(arm, noted):
    axes = "".join(
        f'<link name="x{i}"/>' + hinge(f"j{i}", "rod", f"x{i}", more='<axis xyz="0 3 0"/>') for i in range(40)
    )
    tree, message = noted(arm(END, axes + END))
    assert len(message.splitlines()) == 3 and "[and 39 more" in message
    assert sum(note.severity == "warning" for note in tree.notes) == 80


def test_the_name_of_the_floating_joint_may_be_taken(arm, refusal):
    text = arm('"hinge"', '"root_joint"')
    assert load(text).joint_names == ("root_joint",)
    assert refusal(text, base="floating").findings[0].code == "U410"


def test_findings_name_the_link_that_they_concern(arm):
    for old, new, link in (
        ('upper="2"', 'upper="2" comment="red"', "rod"),  # of a joint: the link that it carries
        (MASS, MASS.replace("/>", ' comment="red"/>'), "rod"),
        ('<link name="base"/>', '<link name="base" comment="red"/>', "base"),
        ('<link name="base"/>', '<link name="base"/><gazebo/>', ""),
    ):
        (note,) = load(arm(old, new)).notes
        assert note.link == link


def test_every_code_is_documented():
    assert all(re.fullmatch(r"U\d{3}", code) and kind.summary for code, kind in CODES.items())
    assert list(CODES) == sorted(CODES)


def test_findings_travel_with_the_error(arm):
    with pytest.raises(UrdfError) as caught:
        load(arm('xyz="0 1 0"', 'xyz="0 0 0"'))
    (finding,) = caught.value.findings
    assert str(finding) == str(caught.value) == f"<text>:7: {finding.remark}"
