"""What bad input gets: for each kind of it, the finding, its line and its element, from a check that never raises."""

import time

import pytest

import treesim
from tests.doctor.examples import GOOD
from treesim.doctor.advice import ADVICE, TIER_OF

MASS, AXIS, TYPE = '<mass value="2"/>', '<axis xyz="0 1 0"/>', '<joint name="shoulder" type="revolute">'
INERTIA = '<inertia ixx="0.03" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.001"/>'
LIMIT = '<limit lower="-2" upper="2" effort="40" velocity="3"/>'
DYNAMICS, MIMIC = '<dynamics damping="0.1" friction="0"/>', '<mimic joint="left"/>'
ORIGIN, PARENT, CHILD = '<origin xyz="0 0 0.1" rpy="0 0 0"/>', '<parent link="base"/>', '<child link="upper_arm"/>'
CAPSULE, END = '<capsule radius="0.03" length="0.34"/>', "</robot>"
JOINT = '<joint name="{}" type="fixed"><parent link="{}"/><child link="{}"/></joint>'
UPPER = '/robot/link[@name="upper_arm"]'
SHOULDER = '/robot/joint[@name="shoulder"]'

# kind of input: what is replaced, by what, the code, its severity, its line, and the end of its element's XPath
ROWS = {
    "malformed XML": ("</joint>", "</jiont>", "U101", "error", 17, ""),
    "unexpanded ${...}": (MASS, '<mass value="${m}"/>', "U103", "error", 21, f"{UPPER}/inertial/mass"),
    "cycle": (PARENT, '<parent link="left_finger"/>', "U206", "error", 12, f"{SHOULDER}/parent"),
    "self loop": (PARENT, '<parent link="upper_arm"/>', "U206", "error", 12, f"{SHOULDER}/parent"),
    "two roots": (END, f'<link name="loose"/>{END}', "U207", "error", 1, "/robot"),
    "two parents": (END, f"{JOINT.format('j', 'base', 'left_finger')}{END}", "U205", "error", 71, 'joint[@name="j"]'),
    "missing parent": (PARENT, "", "U203", "error", 10, SHOULDER),
    "missing child": (CHILD, '<child link="nobody"/>', "U204", "error", 13, f"{SHOULDER}/child"),
    "duplicate link": (END, f'<link name="base"/>{END}', "U202", "error", 71, 'link[@name="base"]'),
    "duplicate joint": (
        END, f'<link name="x"/>{JOINT.format("left", "base", "x")}{END}', "U202", "error", 71, 'joint[@name="left"]',
    ),
    "unnamed element": (TYPE, '<joint type="revolute">', "U201", "error", 10, "/robot/joint"),
    "unknown type": (TYPE, TYPE.replace("revolute", "hinge"), "U401", "error", 10, SHOULDER),
    "missing type": (TYPE, TYPE.replace(' type="revolute"', ""), "U401", "error", 10, SHOULDER),
    "Revolute": (TYPE, TYPE.replace("revolute", "Revolute"), "U401", "error", 10, SHOULDER),
    "no <limit>": (LIMIT, "", "U405", "warning", 10, SHOULDER),
    "missing lower": (LIMIT, '<limit upper="2"/>', "U405", "warning", 15, f"{SHOULDER}/limit"),
    "lower > upper": (LIMIT, '<limit lower="2" upper="1"/>', "U404", "error", 15, f"{SHOULDER}/limit"),
    "NaN limit": (LIMIT, '<limit lower="nan" upper="1"/>', "U303", "error", 15, f"{SHOULDER}/limit"),
    "NaN mass": (MASS, '<mass value="nan"/>', "U303", "error", 21, f"{UPPER}/inertial/mass"),
    "infinite mass": (MASS, '<mass value="inf"/>', "U303", "error", 21, f"{UPPER}/inertial/mass"),
    "negative mass": (MASS, '<mass value="-1"/>', "U304", "error", 21, f"{UPPER}/inertial/mass"),
    "NaN origin": (ORIGIN, '<origin xyz="0 nan 0"/>', "U303", "error", 11, f"{SHOULDER}/origin"),
    "NaN axis": (AXIS, '<axis xyz="0 nan 0"/>', "U303", "error", 14, f"{SHOULDER}/axis"),
    "1kg": (MASS, '<mass value="1kg"/>', "U301", "error", 21, f"{UPPER}/inertial/mass"),
    "1,5": (MASS, '<mass value="1,5"/>', "U301", "error", 21, f"{UPPER}/inertial/mass"),
    "empty number": (MASS, '<mass value=""/>', "U301", "error", 21, f"{UPPER}/inertial/mass"),
    "1_000": (MASS, '<mass value="1_000"/>', "U301", "error", 21, f"{UPPER}/inertial/mass"),
    "2 numbers in a triple": (AXIS, '<axis xyz="0 1"/>', "U302", "error", 14, f"{SHOULDER}/axis"),
    "4 numbers in a triple": (AXIS, '<axis xyz="0 1 0 0"/>', "U302", "error", 14, f"{SHOULDER}/axis"),
    "zero axis": (AXIS, '<axis xyz="0 0 0"/>', "U402", "error", 14, f"{SHOULDER}/axis"),
    "non-unit axis": (AXIS, '<axis xyz="0 1.1 0"/>', "U403", "warning", 14, f"{SHOULDER}/axis"),
    "missing mass": (MASS, "", "U203", "error", 19, f"{UPPER}/inertial"),
    "missing inertia": (INERTIA, "", "U203", "error", 19, f"{UPPER}/inertial"),
    "missing entry": (INERTIA, INERTIA.replace('izz="0.001"', ""), "U203", "error", 22, f"{UPPER}/inertial/inertia"),
    "two inertials": ("</inertial>\n    <visual>\n", "</inertial><inertial/><visual>", "U208", "error", 23, "inertial"),
    "indefinite inertia": (INERTIA, INERTIA.replace('"0.001"', '"-0.001"'), "U305", "error", 22, "inertia"),
    "triangle inequality": (INERTIA, INERTIA.replace('"0.001"', '"0.1"'), "U307", "warning", 22, "inertia"),
    "zero mass with inertia": (MASS, '<mass value="0"/>', "U308", "warning", 22, "inertia"),
    "damping abc": (DYNAMICS, '<dynamics damping="abc"/>', "U301", "error", 16, f"{SHOULDER}/dynamics"),
    "negative damping": (DYNAMICS, '<dynamics damping="-1"/>', "U406", "warning", 16, f"{SHOULDER}/dynamics"),
    "mimic of an unknown joint": (MIMIC, '<mimic joint="x"/>', "U407", "error", 58, "mimic"),
    "mimic of itself": (MIMIC, '<mimic joint="right"/>', "U407", "error", 58, "mimic"),
    "empty geometry": (CAPSULE, "", "U505", "warning", 29, "collision"),
    "mesh without file name": (CAPSULE, "<mesh/>", "U505", "warning", 29, "collision"),
    "missing mesh": (CAPSULE, '<mesh filename="x.stl"/>', "U506", "warning", 29, "collision"),
    "external entities": (
        "<robot", '<!DOCTYPE robot SYSTEM "file:///etc/passwd"><robot', "U104", "error", 1, "",
    ),
}  # fmt: skip


@pytest.mark.parametrize("row", ROWS)
def test_row(row):
    old, new, code, severity, line, element = ROWS[row]
    assert old in GOOD
    diagnosis = treesim.check(GOOD.replace(old, new, 1))
    found = [one for one in diagnosis.findings if one.code == code]
    assert found and found[0].severity == severity and ADVICE[code].why and ADVICE[code].fix
    assert found[0].line == line or line is None
    assert found[0].element.endswith(element)
    assert diagnosis.passed == (severity != "error") and (diagnosis.robot is None) == (severity == "error")


WHOLE = {
    "truncated": (GOOD[:1000], "U101"),
    "empty": (b"", "U102"),
    "not XML": (b"hello", "U102"),
    "MJCF": ("<mujoco/>", "U102"),
    "SDF": ("<sdf version='1.6'><model/></sdf>", "U102"),
    "xacro": ('<robot name="a" xmlns:xacro="http://ros.org/wiki/xacro"><xacro:arm/></robot>', "U103"),
}


@pytest.mark.parametrize("row", WHOLE)
def test_what_is_no_document_has_one_error(row, monkeypatch):
    monkeypatch.setenv("PATH", "")
    text, code = WHOLE[row]
    diagnosis = treesim.check(text)
    assert (
        [found.code for found in diagnosis.findings] == [code] and not diagnosis.passed and not diagnosis.element_usage
    )


CARRIER = '<joint name="a" type="continuous"><parent link="base"/><child link="carrier"/></joint><link name="carrier"/>'
LOAD = (
    '<joint name="b" type="continuous"><parent link="carrier"/><child link="load"/><axis xyz="0 1 0"/></joint>'
    f'<link name="load"><inertial>{MASS}{INERTIA}</inertial></link>'
)
SPHERICAL = TYPE.replace("revolute", "spherical")
ACCEPTED = {
    "trailing NUL bytes": (GOOD.encode() + b"\0\0", set()),
    "missing axis": (GOOD.replace(AXIS, "", 1), set()),
    "massless link that carries others": (GOOD.replace(END, CARRIER + LOAD + END), {"U309"}),
    "spherical": (GOOD.replace(TYPE, SPHERICAL).replace(LIMIT, "").replace(AXIS, "", 1), set()),
    "capsule": (GOOD.replace('<cylinder radius="0.03" length="0.4"/>', CAPSULE), set()),
    "valid mimic": (GOOD.replace(MIMIC, '<mimic joint="left" multiplier="0.5"/>'), set()),
    "no effort or velocity": (GOOD.replace(LIMIT, '<limit lower="-2" upper="2"/>'), set()),
    "rounding in an inertia": (GOOD.replace(INERTIA, INERTIA.replace('"0.001"', '"-2e-35"')), {"U306"}),
}


@pytest.mark.parametrize("row", ACCEPTED)
def test_what_is_accepted(row):
    text, notes = ACCEPTED[row]
    diagnosis = treesim.check(text)
    assert {found.code for found in diagnosis.findings} == notes and diagnosis.robot is not None


def test_a_massless_moving_leaf_is_told_by_its_joint():
    diagnosis = treesim.check(GOOD.replace(END, CARRIER + END))
    (found,) = [one for one in diagnosis.findings if one.code == "U310"]
    assert found.element == '/robot/joint[@name="a"]' and TIER_OF["U310"] == "physics"


def test_billion_laughs_do_not_hang():
    entities = "".join(f'<!ENTITY e{i + 1} "{f"&e{i};" * 10}">' for i in range(9))
    start = time.process_time()
    diagnosis = treesim.check(f'<!DOCTYPE robot [<!ENTITY e0 "ha">{entities}]><robot name="x">&e9;</robot>')
    assert time.process_time() - start < 2 and not diagnosis.passed
