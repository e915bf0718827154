"""Annotations of GitHub Actions: one line each, with its separators escaped."""

import treesim
from treesim.doctor.github import annotation


def test_an_annotation_is_one_line_with_its_place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "a,b:c 100%.urdf"
    path.write_text("<robot name='r'>\n<link/>\n</robot>")
    first, _ = treesim.check(path).findings
    assert annotation(first) == (
        "::error file=a%2Cb%3Ac 100%25.urdf,line=2,title=U201 element without a name::<link> has no name"
        "%0AFix: Give the element a name that no other element has."
    )


def test_severities_are_those_of_github():
    text = "<robot name='r'><link name='a'/><gazebo/><unknown/></robot>"
    assert [annotation(found).split()[0] for found in treesim.check(text).findings] == ["::warning", "::notice"]


def test_a_message_of_several_lines_stays_one_line():
    found = treesim.check("<robot name='r'><link/></robot>").findings[0]
    assert "\n" not in annotation(found) and annotation(found).count("::") == 2
