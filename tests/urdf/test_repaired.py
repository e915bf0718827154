"""Repairs: what is mended is told and no longer found, a second repair changes nothing, and all other text stays."""

import os
import re
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import treesim
from tests.urdf.conftest import ARM
from treesim.errors import ArgumentError, UnknownNameError, UrdfError
from treesim.urdf import REPAIRS, installed_robots, repaired
from treesim.urdf.document import Document
from treesim.urdf.findings import Findings
from treesim.urdf.markup import Markup
from treesim.urdf.repairs import UNAMBIGUOUS

INERTIA = '<inertia ixx="0.2" ixy="0" ixz="0" iyy="0.2" iyz="0" izz="0.01"/>'
INERTIAL = re.search(r"<inertial>.*</inertial>", ARM, re.DOTALL)[0]
NONE = '<inertial><mass value="0"/><inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/></inertial>'
AXIS, LIMIT = '<axis xyz="0 1 0"/>', '<limit lower="-1" upper="2" effort="10" velocity="3"/>'
FOLLOWER = (
    '<link name="left_tip">{inertial}</link><joint name="left_b" type="revolute"><parent link="rod"/>'
    '<child link="left_tip"/><limit lower="-9" upper="9" effort="1" velocity="1"/><mimic joint="{mimicked}"/></joint>'
)


def mimics(mimicked):
    """Two hinges called left_..., of which the second mimics a leader."""
    text = ARM.replace('"hinge"', '"left_a"')
    return text.replace("</robot>", FOLLOWER.format(inertial=INERTIAL, mimicked=mimicked) + "</robot>")


def arm(old, new):
    assert old in ARM
    return ARM.replace(old, new, 1)


# What each repair mends: the name, the text, the code that is found, and the text where it is mended.
CASES = {
    "moment": ("inertias", arm('izz="0.01"', "izz='-0.01'"), "U305", arm('izz="0.01"', "izz='0.0'")),
    "rounding": ("inertias", arm('izz="0.01"', 'izz="-1e-11"'), "U306", arm('izz="0.01"', 'izz="0.0"')),
    "axis": ("axes", arm('xyz="0 1 0"', 'xyz="0  2 0"'), "U403", arm('xyz="0 1 0"', 'xyz="0.0 1.0 0.0"')),
    "no axis": ("default_axes", arm(AXIS, "<axis />"), "U412", arm(AXIS, '<axis xyz="1 0 0" />')),
    "no inertial": (
        "default_inertials",
        arm(INERTIAL, "<!-- none -->"),
        "U309",
        arm(
            f"{INERTIAL}\n  ",
            f"<!-- none -->\n  {NONE}",
        ),
    ),
    "empty link": (
        "default_inertials",
        re.sub(r'<link name="rod">.*</link>', '<link name="rod" />', ARM, flags=re.DOTALL),
        "U309",
        re.sub(
            r'<link name="rod">.*</link>',
            f'<link name="rod" >{NONE}</link>',
            ARM,
            flags=re.DOTALL,
        ),
    ),
    "second axis": ("twins", arm(AXIS, f"{AXIS}<axis\nxyz='0 1 0'\n/>"), "U208", arm(AXIS, f"{AXIS}\n\n")),
    "second link": (
        "twins",
        arm('<link name="base"/>', '<link name="base"/><link name="base"></link>'),
        "U202",
        ARM,
    ),
    "leader": ("mimicked", mimics("a"), "U407", mimics("left_a")),
    "commas": ("commas", arm('xyz="0 0 1"', 'xyz="0, 0,  1"'), "U301", arm('xyz="0 0 1"', 'xyz="0 0  1"')),
    "limits": ("limits", arm('upper="2"', 'upper="-2"'), "U404", arm('lower="-1" upper="2" ', "")),
    "fixed": ("fixed", arm(INERTIAL, ""), "U310", arm(INERTIAL, "").replace('"revolute"', '"fixed"')),
    "armature": (
        "armature",
        arm(INERTIAL, ""),
        "U310",
        arm(INERTIAL, "").replace("  </joint>", '  <dynamics armature="1e-06"/></joint>'),
    ),
    "more armature": (
        "armature",
        arm(INERTIAL, "").replace(LIMIT, '<dynamics damping="1" armature="0"/>'),
        "U310",
        arm(INERTIAL, "").replace(LIMIT, '<dynamics damping="1" armature="1e-06"/>'),
    ),
}  # fmt: skip

# What has more than one meaning, or no other one: left as it is.
KEPT = {
    "other axis": arm(AXIS, f'{AXIS}<axis xyz="0 0 1"/>'),
    "decimal comma": arm('xyz="0 0 1"', 'xyz="0,5 0 1"'),
    "four numbers": arm('xyz="0 0 1"', 'xyz="0, 0, 0, 1"'),
    "unknown leader": mimics("c"),
    "leader of another side": mimics("right_a"),
    "zero axis": arm('xyz="0 1 0"', 'xyz="0 0 0"'),
    "crossed limits": arm('upper="2"', 'upper="-2"'),
    "unit": arm('value="2"', 'value="2kg"'),
}


def quietly(function, *arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", treesim.UrdfWarning)
        return function(*arguments, **options)


def codes(findings):
    return {found.code for found in findings}


@pytest.mark.parametrize("case", CASES)
def test_what_can_be_mended_is_mended_and_told(case):
    name, text, code, expected = CASES[case]
    assert code in codes(treesim.repair(text, repairs=()).findings)
    result = treesim.repair(text, repairs=name)
    assert result.text == expected
    assert [change.code for change in result.changes] == ["U314"] and f'repair="{name}"' in str(result.changes[0])
    assert code not in codes(result.findings)
    assert result.text.count("\n") == text.count("\n")
    again = treesim.repair(result.text, repairs=name)
    assert (again.text, again.changes) == (result.text, ())


@pytest.mark.parametrize("case", CASES)
def test_a_robot_is_loaded_as_its_mended_text_with_the_changes_as_notes(case):
    name, text, _, expected = CASES[case]
    tree, repaired = quietly(treesim.load, text, repair=name), quietly(treesim.load, expected)
    assert np.array_equal(tree.spanning.reals, repaired.spanning.reals) and tree.joint_names == repaired.joint_names
    assert [note.remark for note in tree.notes[1:]] == [note.remark for note in repaired.notes]
    assert next(note.code for note in tree.notes if note.severity == "warning") == "U314"


def test_what_is_unambiguous_is_what_true_means():
    assert set(REPAIRS) > UNAMBIGUOUS
    for name, text, _, expected in CASES.values():
        for repairs in (True, "unambiguous", ["unambiguous"]):
            assert (treesim.repair(text, repairs=repairs).text == expected) is (name in UNAMBIGUOUS)
    _, text, _, expected = CASES["limits"]
    assert treesim.repair(text, repairs=["unambiguous", "limits"]).text == expected


@pytest.mark.parametrize("case", KEPT)
def test_what_has_no_single_meaning_is_left(case):
    result = treesim.repair(KEPT[case])
    assert result.text == KEPT[case] and not result.changes
    assert codes(result.findings) >= {"U301"} or any(found.severity == "error" for found in result.findings)
    with pytest.raises(UrdfError):
        treesim.load(KEPT[case], repair=True)


def test_a_sound_robot_stays_as_it_is():
    result = treesim.repair(ARM)
    assert (result.text, result.changes, result.findings) == (ARM, (), ())
    assert treesim.load(ARM, repair=True).notes == ()


def test_all_changes_of_several_passes_are_told():
    """Behind the error of an axis given twice there is a joint without inertia."""
    text = arm(INERTIAL, "").replace(AXIS, '<axis xyz="0 2 0"/><axis xyz="0 2 0"/>')
    result = treesim.repair(text, repairs=["twins", "axes", "armature"])
    assert [re.search(r'repair="(\w+)"', str(change))[1] for change in result.changes] == ["twins", "axes", "armature"]
    assert codes(result.findings) == {"U309"}


def test_turned_inertias_are_mended_for_good():
    """Entries are rounded, so that a moment of zero may come out below zero when they are read."""
    rng = np.random.default_rng(0)
    for _ in range(30):
        turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        moments = np.array([-(10.0 ** rng.uniform(-12, -2)), *rng.uniform(0.1, 1, 2)])
        matrix = turn @ np.diag(moments) @ turn.T
        entries = zip(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), matrix[np.triu_indices(3)].tolist(), strict=True)
        text = arm(INERTIA, f"<inertia {' '.join(f'{name}={value!r}' for name, value in entries)}/>")
        text = re.sub(r"(i[xyz]{2})=([-+.\de]+)", r'\1="\2"', text)
        result = treesim.repair(text)
        assert not codes(result.findings) & {"U305", "U306", "U313"}
        repaired = quietly(treesim.load, result.text).bodies[0].inertia.rotational
        # the nearest: by no more than the negative moment, and the rounding of six entries and of its eigenvalues
        assert np.abs(repaired - matrix).max() <= -moments[0] + 50 * np.finfo(float).eps


# --- the text


HEADS = ["", '<?xml version="1.0"?>\n', '<?xml version="1.0" encoding="utf-8"?>\n<!-- <link name="x"> -->\n<?a <b>?>']
DOCTYPES = ["", "<!DOCTYPE robot [<!-- ]<a> --><?b ]<c>?>]>\n"]


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("doctype", DOCTYPES)
def test_all_else_in_the_text_stays(head, doctype):
    odd = "<gazebo a=\"/>\" b='<!-- '><![CDATA[<link>]]><x/></gazebo>\n<!-- </robot> -->".replace(
        "'<!-- '", "'&lt;!-- '"
    )
    tail = "\n\n<!-- end -->\n"
    text = head + doctype + ARM.replace("<link", f"{odd}<link", 1).rstrip() + tail
    bad = text.replace("0 1 0", " 0 3\t0 ").replace("\n", "\r\n")
    result = treesim.repair(bad)
    assert result.text == bad.replace(" 0 3\t0 ", "0.0 1.0 0.0") and len(result.changes) == 1


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "iso-8859-1"])
def test_a_file_keeps_its_encoding(encoding, tmp_path):
    declared = f'<?xml version="1.0" encoding="{encoding.removesuffix("-sig")}"?>\n'
    text = declared + ARM.replace('"arm"', '"Ärmchen"').replace("0 1 0", "0 2 0")
    (tmp_path / "a.urdf").write_bytes(text.encode(encoding))
    result = treesim.repair(tmp_path / "a.urdf", tmp_path / "b.urdf")
    assert result.changes and treesim.load(tmp_path / "b.urdf").name == "Ärmchen"
    written = (tmp_path / "b.urdf").read_bytes()
    assert written == text.replace("0 2 0", "0.0 1.0 0.0").encode(encoding)


def test_bytes_behind_the_robot_and_odd_declarations_are_removed():
    result = treesim.repair(b'<?xml version="0.0" ?>\n' + ARM.encode() + b"\0\0\n\0", repairs="axes")
    assert result.text == "\n" + ARM + "\n"
    assert [change.line for change in result.changes] == [18, 1]
    assert "3 NUL bytes" in result.changes[0].message and 'version="0.0"' in result.changes[1].message
    tree = quietly(treesim.load, b'<?xml version="0.0" ?>\n' + ARM.encode() + b"\0", repair=True)
    assert [note.code for note in tree.notes] == ["U314", "U314"]


@pytest.mark.parametrize("encoding", ["utf-16-be", "utf-16-le", "utf-32-be", "utf-32-le", "utf-16"])
def test_wide_encodings_need_no_declaration(encoding):
    """Nor, without a byte order mark, bytes: a text of one character for each is read as they are."""
    head = '<?xml version="1.0"?>'
    data = (head + CASES["axis"][1].rstrip()).encode(encoding)
    for source in (data, data.decode("latin-1")) if encoding != "utf-16" else (data,):
        result = treesim.repair(source)
        assert result.text == head + CASES["axis"][3].rstrip() and result.encoding == encoding


def test_names_with_markup_in_them_stay_names():
    text = mimics("a").replace('"left_', "\"&lt;&quot;'&amp;left_")
    result = treesim.repair(text)
    assert len(result.changes) == 1
    assert quietly(treesim.load, result.text).joint("<\"'&left_b").mimic.joint == "<\"'&left_a"


# --- files


def test_a_source_is_replaced_only_when_that_is_asked_for(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(CASES["axis"][1])
    for out in (path, str(path), tmp_path / "." / "arm.urdf"):
        with pytest.raises(ArgumentError, match="overwrite=True"):
            treesim.repair(path, out)
    assert path.read_text() == CASES["axis"][1]
    treesim.repair(path, path, overwrite=True)
    assert path.read_text() == CASES["axis"][3] and os.listdir(tmp_path) == ["arm.urdf"]


def test_what_is_no_robot_is_refused_and_nothing_is_written(tmp_path):
    for text in ("<robot", "<sdf/>", "<robot name='a'><link name='${x}'/></robot>"):
        with pytest.raises(UrdfError):
            treesim.repair(text, tmp_path / "out.urdf")
    assert not os.listdir(tmp_path)
    with pytest.raises(ArgumentError, match="nowhere"):
        treesim.repair(ARM, tmp_path / "nowhere" / "out.urdf")


def test_unknown_repairs_are_refused():
    with pytest.raises(UnknownNameError, match="did you mean 'inertias'"):
        treesim.load(ARM, repair="inertia")
    with pytest.raises(ArgumentError, match="repair must be True, False, or names"):
        treesim.repair(ARM, repairs=7)


# --- any damage


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=100, deadline=None)
@given(data=st.data())
def test_repairing_twice_is_repairing_once(data):
    """Whatever is wrong with several places of a robot."""
    text = mimics("left_a")
    for _ in range(data.draw(st.integers(1, 4))):
        old, new = data.draw(st.sampled_from(DAMAGE))
        text = text.replace(old, new, data.draw(st.sampled_from([1, -1])))
    names = data.draw(st.sampled_from([True, "unambiguous", *REPAIRS, tuple(REPAIRS)]))
    try:
        result = treesim.repair(text, repairs=names)
    except UrdfError:
        return
    again = treesim.repair(result.text, repairs=names)
    assert (again.text, again.changes) == (result.text, ()) and again.findings == result.findings
    assert bool(result.changes) is (result.text != text) and result.text.count("\n") == text.count("\n")
    if not any(found.severity == "error" for found in result.findings):
        tree = quietly(treesim.load, text, repair=names)
        assert np.array_equal(tree.spanning.reals, quietly(treesim.load, result.text).spanning.reals)


DAMAGE = [
    ('izz="0.01"', 'izz="-0.01"'), ('ixy="0"', 'ixy="0.3"'), ("0 1 0", "0 7 0"), ("0 1 0", "1, 1, 0"),
    (AXIS, "<axis/>"),
    (AXIS, AXIS + AXIS), (INERTIAL, ""), ('upper="2"', 'upper="-2"'), ('joint="left_a"', 'joint="a"'), (LIMIT, ""),
    ('type="revolute"', 'type="prismatic"'), ('type="revolute"', 'type="fixed"'), ('value="2"', 'value="0"'),
    (INERTIA, INERTIA * 2), ('ixx="0.2"', 'ixx="0"'), ('<link name="base"/>', '<link name="base"/>' * 3),
]  # fmt: skip


# --- real robots


REAL = {entry.name for entry in installed_robots()}


@pytest.mark.parametrize(
    ("name", "repairs", "nv", "n_changes"),
    [
        ("tiago_no_hand", True, 12, 2), ("alex_psyonic_hands", True, 31, 8), ("spirit40newer", True, 12, 1),
        ("cube_no_rotation", ["limits"], 4, 4), ("bike", True, 3, 3), ("romeo_laas_small", ["inertias"], 33, 3),
    ],
)  # fmt: skip
def test_real_robots_load_after_a_repair(name, repairs, nv, n_changes):
    if name not in REAL:
        pytest.skip(f"{name} is not installed")
    tree = quietly(treesim.load, name, repair=repairs)
    assert tree.nv == nv and sum(note.code == "U314" for note in tree.notes) == n_changes


def test_markup_needs_every_element_of_the_text(monkeypatch):
    """Edits would go to other elements."""
    root = Document.of_text(ARM).root
    elements = list(root.iter("*"))
    assert root in Markup(ARM, elements)
    with pytest.raises(ValueError, match=f"{len(elements) - 1} elements, but {len(elements)} in the text"):
        Markup(ARM, elements[1:])
    monkeypatch.setattr(repaired, "Markup", lambda text, elements: Markup(text, elements[1:]))
    with pytest.raises(UrdfError, match=r"U100: cannot repair this text: .* in the text .*edit the file by hand"):
        treesim.repair(ARM)


@pytest.mark.parametrize(("data", "encoding"), [(b"\xff", "utf-8"), (b"<robot/>", "klingon")])
def test_a_file_whose_encoding_is_not_decoded_is_refused(data, encoding):
    assert repaired._decoded(b"<robot/>", "utf-8", Findings("a.urdf")) == "<robot/>"
    words = f"a.urdf: U100: cannot repair a file in the encoding '{encoding}' .*convert the file to UTF-8"
    with pytest.raises(UrdfError, match=words):
        repaired._decoded(data, encoding, Findings("a.urdf"))


@pytest.mark.parametrize(("armature", "changes"), [("9e-7", 1), ("1e-6", 0)])
def test_armature_is_raised_to_a_millionth(armature, changes):
    text = CASES["armature"][3].replace("1e-06", armature)
    document = Document.of_text(text)
    markup = Markup(text, list(document.root.iter("*")))
    assert len(list(REPAIRS["armature"].make_fixes(markup, document.joint["hinge"]))) == changes


@pytest.mark.parametrize("repair", ["fixed", "armature"])
def test_a_link_is_neither_fixed_nor_gets_armature(repair):
    """Both answer findings on joints, and findings of the same code may name a link."""
    document = Document.of_text(ARM)
    markup = Markup(ARM, list(document.root.iter("*")))
    fixes = REPAIRS[repair].make_fixes
    assert list(fixes(markup, document.link["rod"])) == []
    assert len(list(fixes(markup, document.joint["hinge"]))) == 1


def test_a_mimic_whose_joint_exists_keeps_its_name():
    text = mimics("left_a")
    document = Document.of_text(text)
    markup = Markup(text, list(document.root.iter("*")))
    assert list(REPAIRS["mimicked"].make_fixes(markup, document.joint["left_b"].find("mimic"))) == []


def test_of_two_repairs_of_one_place_the_second_waits_for_the_next_pass():
    """Edits of one pass must not overlap."""
    markup = Markup(ARM, list(Document.of_text(ARM).root.iter("*")))
    found, changes = Findings("a.urdf"), Findings("a.urdf")
    axis = next(element for element in markup.parents if element.tag == "axis")
    for _ in range(2):
        found.add("U403", "the axis has length 2", axis)
    assert len(list(repaired._edits(markup, found, frozenset({"axes"}), changes))) == len(tuple(changes)) == 1
