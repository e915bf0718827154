"""Where mesh names lead: beside the file and the file that it links to, into packages, and not out of them."""

import os
import struct

import pytest

from treesim import UrdfError
from treesim.urdf import load
from treesim.urdf.resolve import MeshResolver

STL = bytes(80) + struct.pack("<I12fH", 1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0)
ROBOT = (
    '<robot name="r"><link name="l"><collision><geometry><mesh filename="{}"/></geometry></collision></link></robot>'
)


@pytest.fixture
def package(tmp_path):
    """A package with a mesh and a robot's folder, beside a file that is not part of it."""
    folder = tmp_path / "ws" / "pkg"
    (folder / "meshes").mkdir(parents=True)
    (folder / "urdf").mkdir()
    for file in (folder / "meshes" / "m.stl", tmp_path / "ws" / "secret.stl", tmp_path / "secret.stl"):
        file.write_bytes(STL)
    return folder


def shapes(path, name):
    path.write_text(ROBOT.format(name))
    return len(load(path).shapes)


@pytest.mark.parametrize(
    "name",
    [
        "package://pkg/meshes/m.stl", "package://pkg//meshes/m.stl", "package://pkg///meshes//m.stl",
        "package://pkg/./meshes/m.stl", "package://pkg/urdf/../meshes/m.stl", "package:///pkg/meshes/m.stl",
        "../meshes/m.stl", "..//meshes/m.stl", "model://pkg//meshes/m.stl",
    ],
)  # fmt: skip
def test_slashes_and_dots_inside_a_package_change_nothing(name, package):
    assert shapes(package / "urdf" / "r.urdf", name) == 1


@pytest.mark.parametrize("name", ["http://localhost/a.stl", "https://127.0.0.1/a.stl", "ftp://a.stl", "file://host/a"])
def test_a_mesh_of_a_network_address_is_not_looked_for(name, package, monkeypatch):
    monkeypatch.setattr(os.path, "isfile", lambda path: pytest.fail("nothing has this name"))
    assert MeshResolver(package / "urdf" / "r.urdf").find(name) == (name, False)


@pytest.mark.parametrize(
    "name",
    [
        "package://pkg/../secret.stl", "package://pkg//../secret.stl", "package://pkg/meshes/../../secret.stl",
        "package://pkg/{outside}", "package://pkg//{outside}", "package://../secret.stl", "package://./secret.stl",
    ],
)  # fmt: skip
def test_nothing_outside_of_a_package_is_looked_at(name, package, monkeypatch):
    looked_at = []
    isfile = os.path.isfile
    monkeypatch.setattr(os.path, "isfile", lambda path: looked_at.append(os.fspath(path)) or isfile(path))
    outside = package.parents[1] / "secret.stl"
    resolver = MeshResolver(package / "urdf" / "r.urdf")
    assert not resolver.find(name.format(outside=outside))[1]
    assert str(outside) not in map(os.path.normpath, looked_at)


@pytest.mark.parametrize("name", ["m.stl", "meshes/m.stl", "../meshes/m.stl", "package://pkg/meshes/m.stl"])
@pytest.mark.parametrize("beside", ["link", "target"])
def test_a_linked_robot_finds_meshes_beside_the_link_and_beside_its_target(name, beside, tmp_path):
    link, target = (tmp_path / side / "pkg" / "urdf" / "r.urdf" for side in ("link", "target"))
    for file in (link, target):
        file.parent.mkdir(parents=True)
    target.write_text(ROBOT.format(name))
    link.symlink_to(target)
    folder = (link if beside == "link" else target).parent
    mesh = folder.parent / "meshes" / "m.stl" if "pkg" in name else folder / name
    mesh.parent.mkdir(parents=True, exist_ok=True)
    blob = tmp_path / "blob"
    blob.write_bytes(STL)
    mesh.symlink_to(blob)  # as a store of blobs keeps it
    assert len(load(link).shapes) == 1


def test_beside_the_link_comes_first(tmp_path):
    for side in ("link", "target"):
        (tmp_path / side).mkdir()
        (tmp_path / side / "m.stl").write_bytes(STL)
    (tmp_path / "target" / "r.urdf").write_text(ROBOT.format("m.stl"))
    (tmp_path / "link" / "r.urdf").symlink_to(tmp_path / "target" / "r.urdf")
    assert load(tmp_path / "link" / "r.urdf").shapes[0].file == str(tmp_path / "link" / "m.stl")


SOURCE = '<robot name="r"><link name="l"/></robot>'


@pytest.mark.parametrize("name", ["r.urdf", "a b.urdf", "a%20b.urdf", "r"])
@pytest.mark.parametrize("host", ["", "localhost"])
def test_the_url_of_a_file_is_a_source_encoded_or_not(name, host, tmp_path):
    file = tmp_path / name
    file.write_text(SOURCE)
    for url in (file.as_uri(), f"file://{file}"):
        assert load(url.replace("file://", f"file://{host}")).name == "r"


@pytest.mark.parametrize(
    "url",
    [
        "package://pkg/urdf/r.urdf", "package://pkg//urdf//r.urdf", "package:///pkg/urdf/r.urdf",
        "package://pkg/meshes/../urdf/r.urdf", "model://pkg/urdf/r.urdf",
    ],
)  # fmt: skip
def test_a_package_s_file_is_a_source_and_finds_its_meshes(url, package, monkeypatch):
    (package / "urdf" / "r.urdf").write_text(ROBOT.format("package://pkg/meshes/m.stl"))
    monkeypatch.setenv("ROS_PACKAGE_PATH", f"/nowhere{os.pathsep}{package.parent}")
    assert len(load(url).shapes) == 1
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(package))
    assert len(load(url).shapes) == 1


@pytest.mark.parametrize(
    "url",
    [
        "package://pkg/../secret.urdf", "package://pkg//../secret.urdf", "package://pkg/urdf/../../secret.urdf",
        "package://pkg/{outside}", "package://pkg//{outside}", "package://../secret.urdf", "package://./secret.urdf",
        "package://nobody/secret.urdf", "package://pkg/..%2Fsecret.urdf",
    ],
)  # fmt: skip
def test_no_package_s_url_leads_out_of_it(url, package, monkeypatch):
    outside = package.parent / "secret.urdf"
    outside.write_text(SOURCE)
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(package.parent))
    monkeypatch.chdir(package.parent)
    with pytest.raises(UrdfError, match="U100: cannot read the robot"):
        load(url.format(outside=outside))


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("package://nobody/r.urdf", r"package 'nobody' with this file is in none of .*SOURCES.*ROS_PACKAGE_PATH"),
        ("package://nobody", "no file in a package .*package://PACKAGE/FOLDER/ROBOT.urdf"),
        ("package://pkg/../r.urdf", "no file in a package"),
        ("file://elsewhere/r.urdf", "no file of this computer .*three slashes"),
        ("file://r.urdf", "no file of this computer"),
        ("file:///nowhere/r.urdf", "/nowhere/r.urdf: .*No such file"),
        ("https://example.org/r.urdf", "nothing is read from https://"),
    ],
)
def test_what_a_url_lacks_is_told(url, text, monkeypatch, tmp_path):
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path / "SOURCES"))
    with pytest.raises(UrdfError, match=text):
        load(url)


def test_packages_are_found_where_ros_2_has_them(package, tmp_path, monkeypatch):
    installed = tmp_path / "install" / "share"
    installed.mkdir(parents=True)
    package.rename(installed / "pkg")
    finder = MeshResolver(tmp_path / "elsewhere" / "r.urdf")
    assert not finder.find("package://pkg/meshes/m.stl")[1]
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"{os.pathsep}{installed.parent}")
    finder = MeshResolver(tmp_path / "elsewhere" / "r.urdf")
    assert finder.find("package://pkg/meshes/m.stl") == (str(installed / "pkg" / "meshes" / "m.stl"), True)
