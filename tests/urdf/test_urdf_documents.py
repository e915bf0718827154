"""What is not a well-formed URDF document is refused; what is, is read, wherever it comes from."""

import io
import os
import stat
import time
import warnings
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from treesim.errors import ArgumentError, UrdfError
from treesim.urdf import UrdfWarning, load


def test_a_source_may_be_text_bytes_path_or_open_file(arm, tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(arm())
    with path.open() as text_file, path.open("rb") as binary_file:
        sources = [arm(), arm().encode(), str(path), path, text_file, binary_file, io.StringIO(arm())]
        trees = [load(source) for source in sources]
    assert {(tree.name, tree.nv, tree.mass) for tree in trees} == {("arm", 1, 2.0)}


def test_another_type_of_source_is_refused():
    with pytest.raises(ArgumentError, match="got int"):
        load(7)


@pytest.mark.parametrize("option", [{"base": "free"}, {"mimic": "honour"}])
def test_unknown_options_name_the_allowed_ones(arm, option):
    with pytest.raises(ArgumentError, match=r"must be .* or "):
        load(arm(), **option)


def test_missing_file_is_named(refusal, tmp_path):
    error = refusal(tmp_path / "nowhere.urdf")
    assert error.findings[0].code == "U100" and "nowhere.urdf" in str(error)


@pytest.mark.parametrize("end", ["base", "rpy=", "</inertial>", "</robot>"])
def test_truncated_file_gives_line_and_column(arm, refusal, end):
    text = arm()[: arm().index(end)]
    (finding,) = refusal(text).findings
    assert finding.code == "U101" and finding.line == text.rstrip().count("\n") + 1
    assert f"line {finding.line}, column " in finding.message


def test_no_truncation_gives_a_partial_robot(arm):
    whole = arm().rstrip()
    for size in range(len(whole)):
        with pytest.raises(UrdfError):
            load(whole[:size].encode())


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300, deadline=None)
@given(data=st.data())
def test_damage_gives_a_robot_or_a_reasoned_refusal(arm, data):
    text = arm()
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 12)))
    damage = data.draw(st.text(alphabet="<>/=\"' .-+e019nabxyz&;\0\n", max_size=8))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UrdfWarning)
        try:
            tree = load((text[:start] + damage + text[end:]).encode())
        except UrdfError as error:
            assert error.findings
        else:
            assert tree.mass >= 0


def test_malformed_xml_inside_is_refused_at_its_line(arm, refusal):
    (finding,) = refusal(arm("</joint>", "</jiont>")).findings
    assert (finding.code, finding.line) == ("U101", 9)


def test_trailing_nul_bytes_are_accepted(arm):
    assert load(arm().encode() + b"\0\0").nv == 1


@pytest.mark.parametrize("data", ["utf-16", "iso-8859-1"])
def test_declared_encodings_are_honoured(arm, data):
    text = f'<?xml version="1.0" encoding="{data}"?>\n' + arm('name="arm"', 'name="Ärmchen"')
    assert load(text.encode(data)).name == "Ärmchen"
    assert load(text).name == "Ärmchen"


@pytest.mark.parametrize("declaration", ['<?xml version="0.0" ?>', '\n\n<?xml version="1.0"?>'])
def test_odd_declarations_are_read_with_notice_and_lines_kept(arm, refusal, declaration):
    assert [note.code for note in load(f"{declaration}\n{arm()}").notes] == ["U106"]
    errors = refusal(f"{declaration}\n{arm('0 1 0', '0 0 0')}").findings
    assert errors[0].line == 8 + declaration.count("\n")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (b"", "empty"), (b" \n", "empty"), (b"hello", "no XML"), (b'{"robot": 1}', "no XML"),
        (b"<mujoco/>", "found <mujoco>"), (b"<sdf version='1.6'><model/></sdf>", "found <sdf>"),
        (b"<Robot name='x'/>", "found <Robot>"), (b"<robot name='x'><group name='a'/></robot>", "found an SRDF"),
    ],
)  # fmt: skip
def test_other_formats_are_named(refusal, text, found):
    (finding,) = refusal(text).findings
    assert finding.code == "U102" and "not a URDF" in finding.message and found in finding.message


def test_a_default_namespace_changes_nothing(arm):
    assert load(arm("<robot ", '<robot xmlns="http://www.ros.org" ')).nv == 1


XACRO = '<robot name="a" xmlns:xacro="http://ros.org/wiki/xacro"><xacro:arm side="left"/></robot>'


@pytest.mark.parametrize("attribute", ["${mass}", "$(arg mass)"])
def test_unexpanded_xacro_says_what_to_do(arm, refusal, monkeypatch, attribute):
    monkeypatch.setenv("PATH", "")
    (finding,) = refusal(arm('value="2"', f'value="{attribute}"')).findings
    assert (finding.code, finding.line) == ("U103", 13) and "xacro" in finding.hint
    assert refusal(XACRO).findings[0].code == "U103"
    assert refusal(XACRO.replace(' xmlns:xacro="http://ros.org/wiki/xacro"', "")).findings[0].code == "U103"


def fake_xacro(folder, monkeypatch, script):
    program = folder / "xacro"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.skipif(os.name != "posix", reason="the stand-in for xacro is a shell script")
def test_xacro_is_run_when_it_is_installed(arm, refusal, tmp_path, monkeypatch):
    source = tmp_path / "a.urdf.xacro"
    source.write_text(XACRO)
    (tmp_path / "expanded").write_text(arm())
    fake_xacro(tmp_path, monkeypatch, f'test "$1" = "{source}" && cat "{tmp_path}/expanded"')
    tree = load(source)
    assert tree.nv == 1 and [note.code for note in tree.notes] == ["U105"]
    fake_xacro(tmp_path, monkeypatch, "echo 'unknown macro arm' >&2; exit 2")
    assert "unknown macro arm" in str(refusal(source))
    fake_xacro(tmp_path, monkeypatch, f'cat "{source}"')
    assert "unexpanded" in str(refusal(source))


def laughs(levels):
    entities = "".join(f'<!ENTITY e{i + 1} "{f"&e{i};" * 10}">' for i in range(levels))
    return f'<!DOCTYPE robot [<!ENTITY e0 "ha">{entities}]>'


@pytest.mark.parametrize("place", ["<robot name='x'>&e9;</robot>", "<robot name='&e9;'/>"])
def test_billion_laughs_do_not_hang(refusal, place):
    start = time.perf_counter()
    error = refusal(laughs(9) + place)
    assert time.perf_counter() - start < 2
    assert error.findings[0].code in ("U101", "U104")


def test_external_entities_are_neither_read_nor_expanded(arm, refusal, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("<link name='stolen'/>")
    doctype = f'<!DOCTYPE robot [<!ENTITY secret SYSTEM "{Path(secret).as_uri()}">]>'
    error = refusal(doctype + arm('<link name="base"/>', '<link name="base"/>&secret;'))
    assert error.findings[0].code == "U104" and "stolen" not in str(error)
    external = f'<!DOCTYPE robot SYSTEM "{Path(secret).as_uri()}">'
    assert refusal(external + arm()).findings[0].code == "U104"


def test_a_plain_doctype_is_harmless(arm):
    assert load("<!DOCTYPE robot>" + arm()).nv == 1
