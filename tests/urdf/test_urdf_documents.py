"""What is not a well-formed URDF document is refused; what is, is read, wherever it comes from."""

import io
import os
import stat
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import treesim
from treesim.errors import ArgumentError, UnknownNameError, UrdfError, UrdfWarning
from treesim.urdf import load, read, resolve
from treesim.urdf.findings import Findings


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


def test_a_robot_has_up_to_16_mib(arm, refusal, tmp_path, monkeypatch):
    """Of itself; its meshes have limits of their own."""
    assert read.LARGEST == 1 << 24
    path = tmp_path / "arm.urdf"
    path.write_text(arm())
    size = path.stat().st_size
    monkeypatch.setattr(read, "LARGEST", size)
    for source in (path, arm(), arm().encode(), io.StringIO(arm())):
        assert load(source).nv == 1
    with path.open("ab") as stream:
        stream.write(bytes(1))
    for source in (path, arm() + " ", arm().encode() + b" ", io.StringIO(arm() + " ")):
        error = refusal(source)
        assert error.findings[0].code == "U100" and f"it has {size + 1:,} " in str(error)
        assert f"and {size:,} are read at most" in str(error)


def with_elements(count, element="<a/>"):
    """Return a robot of `count` elements."""
    return f"<robot name='r'><link name='base'/>{element * (count - 2)}</robot>"


@pytest.mark.filterwarnings("ignore::treesim.UrdfWarning")
def test_a_robot_has_up_to_131072_elements(refusal, monkeypatch):
    assert read.MOST_ELEMENTS == 1 << 17 and read.TAGS == read.ATTRIBUTES == 4 and read.MOST_OF_ELEMENT == 100
    start = time.process_time()
    error = refusal(with_elements((1 << 22) - 20))  # nearly 16 MiB
    assert error.findings[0].code == "U100" and "tags, also in comments, and 524,288 are read at most" in str(error)
    assert time.process_time() - start < 2
    assert "it has 131,073 elements, and 131,072 are read at most" in str(refusal(with_elements((1 << 17) + 1)))
    monkeypatch.setattr(read, "MOST_ELEMENTS", 5)
    assert load(with_elements(5)).nv == 0
    assert "it has 6 elements, and 5 are read at most" in str(refusal(with_elements(6)))
    assert load(with_elements(5) + "<!-- -->" * 15).nv == 0
    assert "it has 21 tags, also in comments, and 20 are" in str(refusal(with_elements(5) + "<!-- -->" * 16))


@pytest.mark.filterwarnings("ignore::treesim.UrdfWarning")
def test_an_element_has_up_to_100_attributes_and_a_robot_four_for_each_element(refusal, monkeypatch):
    many = " ".join(f"a{k}=''" for k in range(100))
    assert load(with_elements(3, f"<a {many}/>")).nv == 0
    error = refusal(with_elements(3, f"<a {many} b=''/>"))
    assert "it has 101 attributes in one element, and 100 are read at most" in str(error)
    monkeypatch.setattr(read, "MOST_ELEMENTS", 4)  # 16 attributes, of which robot and link have one each
    assert load(with_elements(4, "<a b='' c='' d='' e='' f='' g='' h=''/>")).nv == 0
    assert "it has 18 attributes, and 16 are" in str(refusal(with_elements(4, f"<a {' '.join(many.split()[:8])}/>")))


def with_meshes(*names):
    visuals = "".join(f"<visual><geometry><mesh filename='{name}'/></geometry></visual>" for name in names)
    return f"<robot name='r'><link name='base'>{visuals}</link></robot>"


@pytest.mark.filterwarnings("ignore::treesim.UrdfWarning")
def test_a_robot_has_up_to_4_gib_of_meshes(refusal, tmp_path, monkeypatch):
    """Equal files count once: a file is read once, however many shapes name it."""
    assert resolve.LARGEST_MESHES == 1 << 32
    monkeypatch.setattr(resolve, "LARGEST_MESHES", 2000)
    monkeypatch.chdir(tmp_path)
    for name in ("a.stl", "b.stl"):
        (tmp_path / name).write_bytes(bytes(1000))
    os.link(tmp_path / "a.stl", tmp_path / "c.stl")
    names = ("a.stl", "b.stl", "./a.stl", "c.stl", "missing.stl")
    assert len(load(with_meshes(*names)).visuals) == 5
    with (tmp_path / "b.stl").open("ab") as stream:
        stream.write(b"1")
    error = refusal(with_meshes(*names))
    assert error.findings[0].code == "U100" and "its 2 files of meshes and textures" in str(error)
    assert "have 2,001 bytes together, and 2,000 are read at most" in str(error)
    diagnosis = treesim.check(with_meshes(*names))  # which reads no mesh then
    codes = [found.code for found in diagnosis.findings]
    assert "U100" in codes and "U507" not in codes, "that of meshes that cannot be read"


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
        (b"<mujoco/>", "found <mujoco>) (this is MJCF, which mujoco.MjModel.from_xml_path"),
        (b"<sdf version='1.6'><model/></sdf>", "found <sdf>) (this is SDF, which pydrake's Parser"),
        (b"<Robot name='x'/>", "found <Robot>"), (b"<robot name='x'><group name='a'/></robot>", "found an SRDF"),
    ],
)  # fmt: skip
def test_other_formats_are_named(refusal, text, found):
    (finding,) = refusal(text).findings
    assert finding.code == "U102" and "not a URDF" in finding.message and found in str(finding)


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
    fake_xacro(tmp_path, monkeypatch, "echo 'unknown macro arm' >&2; echo 'when processing file: a' >&2; exit 2")
    assert "U103: xacro failed on this file: unknown macro arm; when processing file: a" in str(refusal(source))
    fake_xacro(tmp_path, monkeypatch, "exit 3")
    assert "xacro failed on this file: status 3 (no message)" in str(refusal(source))
    monkeypatch.setattr(read, "LARGEST", len(arm()) - 1)
    fake_xacro(tmp_path, monkeypatch, f'cat "{tmp_path}/expanded"')
    assert f"its expansion has {len(arm()):,} bytes, and {len(arm()) - 1:,} are" in str(refusal(source))
    monkeypatch.undo()
    fake_xacro(tmp_path, monkeypatch, f'cat "{source}"')
    assert "unexpanded" in str(refusal(source))


@pytest.mark.skipif(os.name != "posix", reason="the stand-in for xacro is a shell script")
def test_an_open_file_that_is_named_xacro_is_not_read_again_from_the_disk(refusal, tmp_path, monkeypatch):
    """Its text may be another than that of the file of its name."""
    fake_xacro(tmp_path, monkeypatch, f'touch "{tmp_path}/ran"')
    (tmp_path / "a.xacro").write_text(XACRO)
    stream = io.StringIO(XACRO)
    stream.name = str(tmp_path / "a.xacro")
    for source in (stream, (tmp_path / "a.xacro").open("rb")):
        assert "give treesim.load the file's name" in refusal(source).findings[0].hint
        source.close()
    assert not (tmp_path / "ran").exists()


@pytest.mark.skipif(os.name != "posix", reason="the stand-in for xacro is a shell script")
def test_the_program_beside_the_interpreter_comes_first(arm, refusal, tmp_path, monkeypatch):
    """As in an environment that is not activated."""
    (tmp_path / "environment").mkdir()
    fake_xacro(tmp_path, monkeypatch, "exit 1")
    with monkeypatch.context() as path:
        fake_xacro(tmp_path / "environment", path, f'/bin/cat "{tmp_path}/expanded"')
    (tmp_path / "expanded").write_text(arm())
    (tmp_path / "a.urdf.xacro").write_text(XACRO)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "environment" / "python"))
    assert load(tmp_path / "a.urdf.xacro").nv == 1
    monkeypatch.setattr(sys, "executable", str(tmp_path / "nowhere" / "python"))
    assert refusal(tmp_path / "a.urdf.xacro").findings[0].code == "U103"


@pytest.mark.skipif(os.name != "posix", reason="the stand-in for xacro is a shell script")
def test_the_last_lines_of_xacro_are_shown(refusal, tmp_path, monkeypatch):
    (tmp_path / "a.urdf.xacro").write_text(XACRO)
    fake_xacro(tmp_path, monkeypatch, "for i in $(seq 30); do echo line $i of the traceback >&2; done; exit 2")
    message = str(refusal(tmp_path / "a.urdf.xacro"))
    assert "line 11 of" in message and "line 30 of" in message and "line 10 of" not in message


def test_the_package_xacro_of_this_python_is_found_without_the_program(arm, refusal, tmp_path, monkeypatch):
    """As in an environment that is not activated."""
    installed = tmp_path / "site-packages"
    installed.mkdir()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert read._xacro_command("a.xacro") is None
    (installed / "xacro.py").write_text("")
    monkeypatch.setattr(sys, "path", [*sys.path, str(installed)])
    command = read._xacro_command("a.xacro")
    assert command[0] == sys.executable and command[-2].endswith("import xacro; xacro.main()")
    assert repr(str(installed)) in command[-2] and command[-1] == "a.xacro"
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert read._xacro_command("a.xacro") is None


@pytest.mark.parametrize(
    ("error", "expected"),
    [(subprocess.TimeoutExpired("xacro", 120), "timed out after 120 seconds"), (OSError("no such program"), "no such")],
)
def test_xacro_has_two_minutes(error, expected, refusal, tmp_path, monkeypatch):
    given = []

    def run(command, timeout, encoding):
        given.append(timeout)
        raise error

    (tmp_path / "a.urdf.xacro").write_text(XACRO)
    monkeypatch.setattr(read, "program_path", lambda name, installed=False: "/bin/xacro")
    monkeypatch.setattr(read, "run", run)
    found = refusal(tmp_path / "a.urdf.xacro")
    assert "U103: xacro failed on this file: " in str(found) and expected in str(found) and given == [120]


@pytest.mark.skipif(os.name != "posix", reason="the stand-in for xacro is a shell script")
def test_xacro_runs_on_other_names_only_when_it_is_asked_for(arm, refusal, tmp_path, monkeypatch):
    (tmp_path / "expanded").write_text(arm())
    fake_xacro(tmp_path, monkeypatch, f'echo "$1" >> "{tmp_path}/ran"; cat "{tmp_path}/expanded"')
    named = [tmp_path / name for name in ("a.urdf", "a.xacro.urdf", "a.xml", "robot", "-a.XACRO")]
    for source in named:
        source.write_text(XACRO)
        assert "xacro=True, --xacro" in refusal(source).findings[0].hint
        assert "U103" in {found.code for found in treesim.check(source).findings}
        with pytest.raises(UrdfError, match="U103"):
            treesim.repair(source)
        with source.open() as stream:
            found = refusal(stream, xacro=True)
            assert "U103" in str(found) and "give treesim.load the file's name" in found.findings[0].hint
    assert not (tmp_path / "ran").exists()
    for source in named:
        assert load(source, xacro=True).nv == 1
        assert treesim.check(source, xacro=True).robot.nv == 1
        assert treesim.repair(source, xacro=True).text == arm()
    monkeypatch.chdir(tmp_path)
    assert load("-a.XACRO", xacro=True).nv == 1
    ran = (tmp_path / "ran").read_text().splitlines()
    assert ran[-1] == str(tmp_path / "-a.XACRO"), "not taken for an option"
    assert "U103" in str(refusal(named[0])), "only for the call that asked"


def laughs(levels):
    entities = "".join(f'<!ENTITY e{i + 1} "{f"&e{i};" * 10}">' for i in range(levels))
    return f'<!DOCTYPE robot [<!ENTITY e0 "ha">{entities}]>'


@pytest.mark.parametrize("place", ["<robot name='x'>&e9;</robot>", "<robot name='&e9;'/>"])
def test_billion_laughs_do_not_hang(refusal, place):
    start = time.process_time()
    error = refusal(laughs(9) + place)
    assert time.process_time() - start < 2
    assert error.findings[0].code in ("U101", "U104")


def test_external_entities_are_neither_read_nor_expanded(arm, refusal, tmp_path, monkeypatch):
    secret = tmp_path / "secret"
    secret.write_text("<link name='stolen'/>")
    doctype = f'<!DOCTYPE robot [<!ENTITY secret SYSTEM "{Path(secret).as_uri()}">]>'
    error = refusal(doctype + arm('<link name="base"/>', '<link name="base"/>&secret;'))
    assert error.findings[0].code == "U104" and "stolen" not in str(error)
    external = f'<!DOCTYPE robot SYSTEM "{Path(secret).as_uri()}">'
    assert refusal(external + arm()).findings[0].code == "U104"
    monkeypatch.setattr(read, "_has_declarations", lambda root: False)  # the parser alone
    for document in (doctype + arm('<link name="base"/>', '<link name="base"/>&secret;'), external + arm()):
        source = read.bytes_of_text(document, Findings("<text>"))
        assert read.parse(source, Findings("<text>")).root.find("link[@name='stolen']") is None


ATTRIBUTE = '<!ATTLIST mass value CDATA "7">'


@pytest.mark.parametrize(
    "says",
    [
        ATTRIBUTE, "<!ATTLIST mass value CDATA #FIXED '7'>", "<!ATTLIST mass value CDATA #IMPLIED>",
        f"<!ELEMENT mass EMPTY>{ATTRIBUTE}", "<!ELEMENT mass EMPTY>", '<!ENTITY kg "7">', '<!ENTITY % kg "7">',
        f"<!ENTITY % all '{ATTRIBUTE}'>%all;", '<!NOTATION n SYSTEM "n">', '<!ENTITY % far SYSTEM "/dev/zero">',
    ],
)  # fmt: skip
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_what_a_dtd_declares_is_refused(arm, refusal, says, encoding):
    """Attributes with values that are not in the text would be seen by some readers only."""
    robot = arm(' value="2"', "")
    text = f'<?xml version="1.0"?>\n\n<!DOCTYPE robot [\n{says}\n]>\n{robot}'
    (finding,) = refusal(text.encode(encoding)).findings
    assert (finding.code, finding.line) == ("U104", 3) and "<!DOCTYPE" in finding.message


@pytest.mark.parametrize("where", ['SYSTEM "/dev/zero"', 'PUBLIC "robot" "http://localhost/robot.dtd"', 'SYSTEM ""'])
def test_a_dtd_elsewhere_is_refused(arm, refusal, where):
    assert [found.code for found in refusal(f"<!DOCTYPE robot {where}>{arm()}").findings] == ["U104"]


@pytest.mark.parametrize(
    "doctype", ["<!DOCTYPE robot>", "<!DOCTYPE robot []>", "<!DOCTYPE robot [<!-- [ -->\n<?a b?>]>"]
)
def test_a_doctype_that_says_nothing_is_harmless(arm, doctype):
    assert load(doctype + arm()).nv == 1


@pytest.mark.parametrize("text", ["<robot name='\ud800'/>", "<robot>\udcff</robot>"])
def test_text_with_half_a_surrogate_pair_is_malformed(refusal, text):
    (finding,) = refusal(f"\n{text}").findings
    assert (finding.code, finding.line) == ("U101", 2) and "surrogate" in finding.message
    str(finding).encode()


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_wide_encodings_need_no_byte_order_mark(arm, encoding):
    """They end in a byte that is zero, which is no padding."""
    text = f'<?xml version="1.0" encoding="{encoding[:6]}"?>\n{arm()}'.rstrip()
    assert load(text.encode(encoding)).nv == 1


def test_what_is_declared_does_not_matter_for_text_behind_blank_lines(arm):
    assert load('\n<?xml version="1.0" encoding="latin-1"?>' + arm('name="arm"', 'name="Ärmchen"')).name == "Ärmchen"


# --- sources that are none


def test_an_empty_source_is_refused():
    for source in ("", "  ", "\n"):
        with pytest.raises(ArgumentError, match="source is empty"):
            load(source)


@pytest.mark.parametrize("source", [None, 7, ["a.urdf"], object(), memoryview(b"<robot/>"), {"a": 1}])
def test_another_type_of_source_is_refused_by_its_name(source):
    with pytest.raises(ArgumentError, match=f"got {type(source).__name__}"):
        load(source)


class BytesPath:
    """A path-like object whose path is bytes, as os.PathLike allows."""

    def __init__(self, path):
        self.path = os.fsencode(path)

    def __fspath__(self):
        return self.path


def test_a_path_may_be_bytes_inside(arm, tmp_path):
    (tmp_path / "arm.urdf").write_text(arm())
    assert load(BytesPath(tmp_path / "arm.urdf")).nv == 1


ODD_PATHS = {
    "NUL": "a\0b.urdf", "no such user": "~nobody_of_this_name/x.urdf", "too long": "x" * 5000 + ".urdf",
    "too long by far": "x/" * 500_000 + "x.urdf", "surrogate": "a\ud800b.urdf", "odd bytes": "a\udcffb.urdf",
    "escapes": "\x1b[31m\n.urdf", "below a file": f"{__file__}/x.urdf", "nowhere": "no/such/x.urdf",
}  # fmt: skip


@pytest.mark.parametrize("case", ODD_PATHS)
@pytest.mark.parametrize("kind", [str, Path])
def test_a_path_that_leads_nowhere_is_refused_with_the_reason(refusal, case, kind):
    error = refusal(kind(ODD_PATHS[case]))
    (finding,) = error.findings
    assert finding.code == "U100" and "cannot read the robot" in str(error)
    assert len(str(error)) < 1000 and str(error).isprintable() and str(error).encode()


@pytest.mark.parametrize("name", ["tal\0os", "x" * 100_000, "~nobody_of_this_name", "a/" * 5000, "\ud800"])
def test_a_name_that_is_none_is_refused_in_few_words(name):
    with pytest.raises(UnknownNameError, match="unknown robot or file") as caught:
        load(name)
    assert len(str(caught.value)) < 1000 and str(caught.value).encode()


@pytest.mark.parametrize(("name", "near"), [("unitree_g1", "g1"), ("franka-panda", "panda"), ("ur55", "ur5")])
def test_a_name_with_the_brand_proposes_the_robot(name, near):
    with pytest.raises(UnknownNameError, match=f"did you mean '{near}'"):
        load(name)


def test_a_folder_is_no_robot(refusal, tmp_path, monkeypatch):
    (tmp_path / "folder.urdf").mkdir()
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    for source in (tmp_path, str(tmp_path), "folder", "folder.urdf", "."):
        assert "this is a folder" in str(refusal(source))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_pipes_and_devices_are_refused_unread(refusal, tmp_path):
    """To open a pipe that nobody writes to, or to read a device to its end, would take for ever."""
    os.mkfifo(tmp_path / "pipe.urdf")
    for source in (tmp_path / "pipe.urdf", str(tmp_path / "pipe.urdf"), Path("/dev/zero"), "/dev/zero"):
        error = refusal(source)
        assert error.findings[0].code == "U100" and "a pipe, socket or device" in str(error)


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="there are no links")
def test_links_in_a_circle_are_refused(refusal, tmp_path):
    (tmp_path / "a.urdf").symlink_to(tmp_path / "b.urdf")
    (tmp_path / "b.urdf").symlink_to(tmp_path / "a.urdf")
    assert refusal(tmp_path / "a.urdf").findings[0].code == "U100"


def test_files_with_odd_names_are_read(arm, tmp_path):
    for name in ("a\nb.urdf", "\x1b[31m.urdf", "é.urdf", os.fsdecode(b"\xff.urdf")):
        try:
            (tmp_path / name).write_text(arm('xyz="0 1 0"', 'xyz="0 2 0"'))
        except OSError:  # not a name on this file system
            continue
        with pytest.warns(UrdfWarning) as caught:
            assert load(tmp_path / name).nv == 1
        assert str(caught[0].message).splitlines()[0].isprintable()


class Stream:
    def __init__(self, gives):
        self.gives = gives

    def read(self):
        if isinstance(self.gives, Exception):
            raise self.gives
        return self.gives


@pytest.mark.parametrize("gives", [OSError(5, "Input/output error"), ValueError("I/O operation on closed file.")])
def test_a_stream_that_cannot_be_read_is_refused(refusal, gives):
    (finding,) = refusal(Stream(gives)).findings
    assert (finding.code, finding.file) == ("U100", "<stream>")
    assert (gives.strerror if isinstance(gives, OSError) else str(gives)) in finding.message


@pytest.mark.parametrize("gives", [None, 7, []])
def test_a_stream_must_give_text_or_bytes(gives):
    with pytest.raises(ArgumentError, match=f"got {type(gives).__name__}"):
        load(Stream(gives))


def test_a_text_stream_of_other_bytes_says_how_to_open_it(refusal, arm, tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_bytes(b'<?xml version="1.0" encoding="iso-8859-1"?>' + arm('"arm"', '"Ärmchen"').encode("latin-1"))
    with path.open(encoding="utf-8") as text, path.open("rb") as binary, path.open("ab") as unreadable:
        (finding,) = refusal(text).findings
        assert finding.code == "U100" and 'mode "rb"' in finding.hint and finding.file == str(path)
        assert load(binary).name == "Ärmchen"
        assert refusal(unreadable).findings[0].code == "U100"
