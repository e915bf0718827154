"""Mesh files: what each format holds comes through; what is hostile is refused by name, in bounded time and memory."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import signal
import threading
import warnings
import zipfile

import numpy as np
import pytest

import treesim
from tests.waiting import PATIENCE
from treesim import ArgumentError, ModelError
from treesim.meshes import read_colored, read_parts, reader
from treesim.model.hulls import hull_of_file
from treesim.viewing.meshes import read_mesh

from . import files

SOUND = {name: make("1") for name, make in files.TRIANGLES.items()}


def written(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


def refusal(file):
    with pytest.raises(ModelError, match=r"mesh .* cannot be read: ") as caught:
        read_colored(file)
    assert os.path.basename(file) in str(caught.value)
    return str(caught.value).partition("cannot be read: ")[2]


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    monkeypatch.setattr(reader, "SECONDS", PATIENCE)


@pytest.mark.parametrize("name", SOUND)
def test_a_triangle_comes_through(name, tmp_path):
    (part,) = read_parts(written(tmp_path, name, SOUND[name]))
    assert np.array_equal(part.vertices[part.faces[0]], [[0, 0, 0], [1, 0, 0], [0, 1, 0]]) and part.faces.shape == (
        1,
        3,
    )


@pytest.mark.parametrize("x", ["nan", "inf", "-inf"])
@pytest.mark.parametrize("name", SOUND)
def test_coordinates_that_are_not_finite_are_refused(name, x, tmp_path):
    reason = refusal(written(tmp_path, name, files.TRIANGLES[name](x)))
    assert "finite" in reason or "gltf" in name, reason  # JSON knows no such numbers, bytes do


@pytest.mark.parametrize("name", [name for name in SOUND if name not in ("binary.stl", "a.gltf")])
def test_coordinates_that_single_precision_does_not_hold_are_refused(name, tmp_path):
    assert "finite" in refusal(written(tmp_path, name, files.TRIANGLES[name]("1e300")))


def test_a_word_among_positions_is_refused(tmp_path):
    assert "must all be finite numbers" in refusal(written(tmp_path, "a.dae", files.collada(x="wide")))


def zipped(content):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.dae", content)
    return stream.getvalue()


@pytest.mark.parametrize("name", ["a.dae", "a.obj", "a.stl", "a.ply", "a.glb"])
@pytest.mark.parametrize("pack", [zipped, gzip.compress, bz2.compress, lzma.compress])
def test_archives_are_refused(name, pack, tmp_path):
    assert "archive" in refusal(written(tmp_path, name, pack(bytes(1 << 20))))


@pytest.mark.parametrize("name", ["a.dae", "a.obj", "a.off"])
def test_an_archive_behind_other_bytes_is_refused(name, tmp_path):
    assert "archive (ZIP)" in refusal(written(tmp_path, name, b"   " + zipped(bytes(1 << 20))))


@pytest.mark.parametrize("name", ["a.zip", "a.zae", "a.3mf", "a.xyz", "a.json", "a", "a.stl.gz", "a.step", "a.msh"])
def test_other_formats_are_refused_unread(name, tmp_path):
    assert "'.stl', '.dae'" in refusal(written(tmp_path, name, SOUND["a.obj"]))


HOSTILE = {
    "instances.dae": (files.multiplied(8), "it places 1e+08 geometries, and 100000 are read at most"),
    "far_too_many.dae": (files.multiplied(300), "geometries, and 100000 are read at most"),
    "cycle.dae": (files.collada('<node id="n"><instance_node url="#n"/></node>'), "node 'n' contains itself"),
    "chain.dae": (files.chained(3000), "the depth of its nodes is too great"),
    "deep.dae": (files.collada("<node>" * 3000 + files.PLACED + "</node>" * 3000), "depth"),
    "unit.dae": (files.collada(unit="nan"), "must be finite"),
    "entities.dae": ('<!DOCTYPE a [<!ENTITY a "1"><!ENTITY b "&a;&a;">]><COLLADA>&b;</COLLADA>', ""),
    "count.gltf": (files.gltf(10**12), "more memory than a mesh may"),
    "outside.gltf": (files.gltf().replace("data:application/octet-stream;base64,", "../../../etc/passwd#"), "escapes"),
    "count.ply": (files.PLY.format(x=1, count=10**12), ""),
    "count.off": (files.OFF.format(x=1).replace("OFF\n3", f"OFF\n{10**12}"), ""),
    "face.off": (files.OFF.format(x=1).replace("3 0 1 2", "3 0 1 7"), ""),
    "face.obj": (files.OBJ.format(x=1).replace("f 1 2 3", "f 1 2 9"), ""),
    "negative.obj": (files.OBJ.format(x=1).replace("f 1 2 3", "f -1 -2 -9"), ""),
    "points.obj": ("v 0 0 0\nv 1 0 0\n", "no triangles"),
    "cut.stl": (files.binary_stl(announced=10**9), "its header announces 1,000,000,000 triangles"),
    "empty.stl": ("", "no triangles"),
    "script.obj": ("call ls -l\ncsh echo\nshadow_obj /etc/passwd\n", "no triangles"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused(name, tmp_path):
    content, reason = HOSTILE[name]
    assert reason in refusal(written(tmp_path, name, content))


def test_a_file_that_takes_too_long_is_given_up_and_the_next_one_is_read(tmp_path, monkeypatch):
    read_parts(written(tmp_path, "a.off", SOUND["a.off"]))  # the child has started
    with monkeypatch.context() as changed:
        changed.setattr(reader, "SECONDS", 0.05)
        assert "it takes more than" in refusal(written(tmp_path, "a.dae", files.multiplied(4)))
    assert len(read_parts(written(tmp_path, "b.obj", SOUND["a.obj"]))) == 1


def test_a_file_that_takes_too_much_memory_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(reader, "MEMORY", 1 << 30)
    monkeypatch.setattr(reader, "_child", reader._Child())
    assert "memory" in refusal(written(tmp_path, "a.gltf", files.gltf(10**8)))
    assert len(read_parts(written(tmp_path, "b.gltf", SOUND["a.gltf"]))) == 1
    reader._child.close()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes or devices")
@pytest.mark.parametrize("make", [os.mkdir, getattr(os, "mkfifo", None), lambda path: os.symlink("/dev/zero", path)])
def test_what_is_no_regular_file_is_not_opened(make, tmp_path):
    path = str(tmp_path / "a.obj")
    make(path)
    kind = "a folder" if make is os.mkdir else "a pipe, socket or device"
    assert refusal(path) == f"this is {kind}, not a file"


def test_a_file_that_is_too_large_is_not_opened(tmp_path):
    path = tmp_path / "a.obj"
    with path.open("wb") as stream:
        stream.truncate(1 << 30)
    reader._check_file(str(path))
    with path.open("ab") as stream:
        stream.write(b"\0")
    assert refusal(str(path)) == "it has 1,073,741,825 bytes, and 1,073,741,824 are read at most"


def test_a_child_process_reads_all_formats_but_binary_stl(tmp_path, monkeypatch):
    """The length of a file of binary STL is that of its triangles."""
    asked = []
    monkeypatch.setattr(reader._child, "ask", lambda request: asked.append(request.file) or "not here")
    for name, content in SOUND.items():
        path = written(tmp_path, name, content)
        if reader.is_binary_stl(path):
            assert len(read_parts(path)) == 1
        else:
            assert refusal(path) == "not here" and asked[-1] == path
    assert len(asked) == len(SOUND) - 1


@pytest.fixture
def child(monkeypatch):
    made = reader._Child()
    monkeypatch.setattr(reader, "_child", made)
    yield made
    made.close()


def test_a_crash_of_the_child_is_told_and_the_next_file_is_read(child, tmp_path):
    file = written(tmp_path, "a.obj", SOUND["a.obj"])
    read_parts(file)
    os.kill(child._process._process.pid, signal.SIGKILL)
    assert "SIGKILL" in refusal(file)
    assert len(read_parts(file)) == 1


def test_a_time_limit_begins_when_the_child_is_ready(child, tmp_path, monkeypatch):
    """On a busy machine its start takes longer than a file does."""
    path = written(tmp_path, "a.obj", SOUND["a.obj"])
    ready, waited = reader._is_ready, []
    monkeypatch.setattr(reader, "_is_ready", lambda process: waited.append(process) or ready(process))
    assert len(read_parts(path)) == len(read_parts(path)) == len(waited) == 1, "it is waited for once"
    child.close()
    monkeypatch.setattr(reader, "START_SECONDS", 0.0)
    assert refusal(path) == "the process that reads it was not ready after 0 s"


def test_a_child_that_has_been_idle_is_started_again(child, tmp_path, monkeypatch):
    with monkeypatch.context() as changed:
        changed.setattr(reader, "IDLE", 0.0)
        first = child._process = child._started()
    assert first.ending().status == 0
    assert len(read_parts(written(tmp_path, "a.obj", SOUND["a.obj"]))) == 1 and child._process is not first


def test_threads_and_forks_read_meshes(child, tmp_path):
    file = written(tmp_path, "a.obj", SOUND["a.obj"])
    found = []
    threads = [threading.Thread(target=lambda: found.append(len(read_parts(file)))) for _ in range(8)]
    for thread in threads:
        thread.start()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads
        fork = os.fork()
    if fork == 0:
        os._exit(0 if len(read_parts(file)) == 1 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(fork, 0)[1]) == 0
    for thread in threads:
        thread.join()
    assert found == [1] * 8 and len(read_parts(file)) == 1


def test_without_a_python_to_start_files_are_read_here(tmp_path, monkeypatch):
    monkeypatch.setattr(reader, "can_start_python", lambda: False)
    assert len(read_parts(written(tmp_path, "a.dae", SOUND["a.dae"]))) == 1
    assert "1e+08 geometries" in refusal(written(tmp_path, "b.dae", files.multiplied(8)))


def test_what_touches_and_what_is_seen_have_the_same_unit(tmp_path):
    file = written(tmp_path, "a.dae", files.collada(unit="0.001"))
    mesh = read_mesh(file)
    seen, touching = mesh.vertices, hull_of_file(file, (1.0, 1.0, 1.0))
    assert np.array_equal(sorted(map(tuple, seen)), sorted(map(tuple, touching.astype(np.float32))))
    assert seen.max() == np.float32(0.001)


def test_a_scale_that_makes_a_mesh_too_large_is_refused(tmp_path):
    file = written(tmp_path, "a.obj", SOUND["a.obj"])
    with pytest.raises(ModelError, match=r"scaled by \(1e\+300"):
        hull_of_file(file, (1e300, 1.0, 1.0))


ROBOT = """<robot name="cart"><link name="base">
<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
<visual><geometry><mesh filename="m.obj"/></geometry></visual>
<collision><geometry><mesh filename="m.obj"/></geometry></collision></link></robot>"""


def test_a_bad_mesh_is_told_before_anything_moves(tmp_path):
    written(tmp_path, "m.obj", files.OBJ.format(x="nan"))
    robot = treesim.load(written(tmp_path, "cart.urdf", ROBOT), base="floating")
    with (
        pytest.warns(treesim.ShapeWarning, match=r"mesh '.*m\.obj' cannot be read: vertex 1 is \[nan"),
        pytest.raises(ArgumentError, match="none of its meshes can be read"),
    ):
        treesim.World(robot, ground=treesim.Ground())
    (found,) = (one for one in treesim.check(tmp_path / "cart.urdf").findings if one.code == "U507")
    assert "m.obj" in found.message and "nan" in found.message
