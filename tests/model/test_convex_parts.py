"""Convex parts of meshes: solids first, then coacd; what fails is refused by name; files in the cache."""

import os
import subprocess
import warnings
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial import ConvexHull

import treesim
from tests.contact.meshes import as_stl, of_angle, of_box, of_torus, together
from tests.waiting import PATIENCE
from treesim.errors import ArgumentError, ModelError, ShapeWarning
from treesim.model import convex_parts as module
from treesim.model.convex_parts import DEFAULTS, parts_of_file
from treesim.model.hulls import hull_of_file
from treesim.system.subprocesses import PythonProcess, python_command

BOX = of_box((2, 2, 2))


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TREESIM_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache" / "convex_parts"


@pytest.fixture
def no_process(monkeypatch):
    def refuse(command):
        raise AssertionError("coacd was started")

    monkeypatch.setattr(module, "PythonProcess", refuse)


@pytest.fixture
def angle_file(tmp_path):
    return as_stl(tmp_path / "angle.stl", of_angle())


def test_an_angle_is_two_boxes_whatever_its_unit_and_side(angle_file, monkeypatch, capfd):
    pytest.importorskip("coacd")
    parts = treesim.convex_parts(angle_file)
    assert [len(vertices) for vertices in parts.vertices] == [8, 8] and capfd.readouterr() == ("", "")
    volumes = sum(ConvexHull(vertices).volume for vertices in parts.vertices)
    assert parts.volume_error == pytest.approx(volumes / 3 - 1) and abs(parts.volume_error) < 1e-3
    assert parts.distance_error < 1e-3 and not parts.vertices[0].flags.writeable
    for file, vertices in zip(parts.files, parts.vertices, strict=True):
        assert np.array_equal(hull_of_file(file, (1.0, 1.0, 1.0)), vertices)
        mesh = treesim.StaticMesh.from_file(file)  # warns if triangles face inwards
        assert mesh.convex
    # stored: coacd is not needed any more
    monkeypatch.setattr(module, "PythonProcess", None)
    assert treesim.convex_parts(Path(angle_file)).files == parts.files
    small = parts_of_file(angle_file, (0.001, -0.001, 0.001))
    assert small.files == parts.files and small.distance_error == pytest.approx(0.001 * parts.distance_error)
    for other in ({"threshold": 0.06}, {"seed": 1}, {"max_parts": 31}):
        with pytest.raises(TypeError, match="'NoneType' object is not callable"):
            treesim.convex_parts(angle_file, **other)
    # computed again if a file is damaged; here without a process, as in a program that cannot start Python
    Path(parts.files[1]).write_text("v 0 0 0")
    with pytest.raises(TypeError, match="'NoneType' object is not callable"):
        treesim.convex_parts(angle_file)
    monkeypatch.setattr(module, "can_start_python", lambda: False)
    again = treesim.convex_parts(angle_file)
    assert again.files == parts.files and np.array_equal(again.vertices, parts.vertices)
    assert np.array_equal(2 * parts.vertices[1], hull_of_file(parts.files[1], (2.0, 2.0, 2.0)))


def test_convex_solids_are_separated_and_turned_without_coacd(no_process):
    pytest.importorskip("coacd")
    vertices, triangles = together(BOX, of_box((1, 1, 1), (5, 0, 0)))
    triangles[12:] = triangles[12:, ::-1]
    with pytest.warns(ShapeWarning, match=r"the mesh: the triangles of a closed part face inwards: .* 12 triangles"):
        parts = treesim.convex_parts((vertices, triangles))
    assert sorted(ConvexHull(part).volume for part in parts.vertices) == pytest.approx([1, 8])
    assert abs(parts.volume_error) < 1e-12 and parts.distance_error < 1e-12 and len(parts.files) == 2
    assert repr(parts) == "<ConvexParts: 2 parts, volume error 0 %, distance error 0 m>"


@pytest.mark.parametrize("depth, convex", [(5e-6, True), (7e-6, False)])
def test_a_solid_with_a_millionth_of_its_volume_less_than_its_hull_is_convex(depth, convex, no_process):
    """A box of volume 8, with a pyramid of base 4 cut out of its top."""
    pytest.importorskip("coacd")
    corners, triangles = BOX
    top = [[1, 5, 8], [5, 7, 8], [7, 3, 8], [3, 1, 8]]
    mesh = np.vstack([corners, [0, 0, 1 - depth]]), np.vstack([triangles[:-2], top])
    if convex:
        assert len(treesim.convex_parts(mesh).vertices) == 1
    else:
        with pytest.raises(AssertionError, match="coacd was started"):
            treesim.convex_parts(mesh)


def test_a_cavity_belongs_to_the_solid_around_it():
    vertices, triangles = together(of_box((4, 4, 4)), BOX, of_box((1, 1, 1)), of_box((1, 1, 1), (9, 0, 0)))
    triangles[12:24] = triangles[12:24, ::-1]
    components = list(module._components(vertices, triangles))
    assert [component.volume for component in components] == pytest.approx([56, 1, 1])
    assert [len(component.triangles) for component in components] == [24, 12, 12]
    assert all(component.manifold for component in components)


def test_what_is_not_closed_is_one_piece_of_unknown_volume():
    vertices, triangles = together(BOX, of_box((1, 1, 1), (5, 0, 0)), of_box((1, 1, 1), (9, 0, 0)))
    components = list(module._components(vertices, triangles[:-14]))  # the last lacks all, the second two triangles
    assert [len(component.triangles) for component in components] == [12, 10] and np.isnan(components[1].volume)
    assert [component.manifold for component in components] == [True, False]


@pytest.mark.parametrize("gap, closed", [(2e-6, True), (6e-6, False)])
def test_vertices_a_millionth_of_the_size_apart_are_one(gap, closed):
    """As programs round them; the diagonal of the box is 3.5."""
    vertices, triangles = BOX
    corners, single = vertices[triangles].reshape(-1, 3), np.arange(36).reshape(-1, 3)
    corners[::2, 0] += gap
    points, merged, numbers = module.merged(corners, np.vstack([single, [[0, 0, 1]]]))
    (component,) = module._components(points, merged)
    assert component.manifold is closed and (len(points) == 8) is closed and numbers.tolist() == [*range(12)]


def test_closed_parts_that_enclose_nothing_are_left_out(no_process):
    pytest.importorskip("coacd")
    sheet = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0.5], [0, 0, 1]]) + 3.0, np.array([[0, 1, 2], [2, 1, 0]])
    parts = treesim.convex_parts(together(BOX, sheet))
    assert len(parts.vertices) == 1 and abs(parts.volume_error) < 1e-12
    with pytest.raises(ModelError, match="the mesh is flat"):
        treesim.convex_parts((sheet[0], np.array([[0, 1, 2], [2, 1, 0], [0, 2, 3], [3, 2, 0]])))


def test_solids_that_touch_at_an_edge_are_two_pieces():
    components = list(module._components(*together(of_box((1, 1, 1)), of_box((1, 1, 1), (1, 1, 0)))))
    assert len(components) == 2 and all(component.manifold for component in components)


def test_distances_are_those_of_what_the_parts_lack_and_cover():
    component = module.Component(*of_angle(2.0), 6.0, True)
    # of the inner edge
    assert module._distance(component, [ConvexHull(component.vertices)]) == pytest.approx(np.sqrt(0.5))
    assert module._distance(component, [ConvexHull(of_box((1, 2, 2), (0.5, 1, 1))[0])]) == pytest.approx(1)


def test_meshes_without_volume_and_other_arguments_are_refused_by_name(tmp_path, no_process):
    pytest.importorskip("coacd")
    vertices, triangles = of_angle()
    flat = vertices * [1, 1, 0]
    empty = as_stl(tmp_path / "empty.stl", (vertices, triangles[:0]))
    (tmp_path / "mesh.step").write_text("ISO-10303-21;")
    for mesh, what in [
        ((flat, triangles), "the mesh is flat"),
        ((vertices, triangles[:, [0, 0, 1]]), "the mesh is flat"),
        (as_stl(tmp_path / "flat.stl", (flat, triangles)), "mesh '.*flat.stl' is flat"),
        (empty, "empty.stl' cannot be read: .* no triangles"),
        (str(tmp_path / "mesh.step"), r"mesh.step' cannot be read: meshes are read from '\.stl'"),
        (str(tmp_path / "none.stl"), "none.stl' cannot be read: No such file"),
        (tmp_path, "cannot be read: this is a folder"),
        (together(*[of_box((1, 1, 1), (2 * k, 0, 0)) for k in range(33)]), "has more than 32 convex parts"),
    ]:
        with pytest.raises(ModelError, match=what):
            treesim.convex_parts(mesh)
    for mesh, what in [
        ((vertices * np.nan, triangles), "vertex 0 is"),
        ((vertices, triangles + 1), "triangle 6 has vertices"),
        ((vertices, triangles[:0]), "one or more"),
        (vertices, r"mesh must be a file or \(vertices, triangles\), got"),
        (None, "mesh must be a file"),
    ]:
        with pytest.raises(ArgumentError, match=what):
            treesim.convex_parts(mesh)
    wrong = {"threshold": [0.0, 1.1, np.nan], "max_parts": [0, 1001], "seed": [-1, 2**32]}
    for options in ({name: value} for name, values in wrong.items() for value in values):
        with pytest.raises(ArgumentError, match=f"{next(iter(options))} must be"):
            treesim.convex_parts((vertices, triangles), **options)
    with pytest.raises(ModelError, match=r"flat with the scale \(1.0, 0.0, 1.0\)"):
        parts_of_file("a.stl", (1.0, 0.0, 1.0))


def test_a_crash_of_coacd_and_its_time_limit_name_the_file(angle_file, monkeypatch):
    pytest.importorskip("coacd")
    monkeypatch.setattr(module, "SECONDS", 0.0)
    with pytest.raises(ModelError, match=r"angle.stl' cannot be decomposed: coacd did not finish 20 triangles in 0 s"):
        treesim.convex_parts(angle_file)
    monkeypatch.setattr(module, "SECONDS", 60.0)
    monkeypatch.setattr(module, "module_command", lambda name: python_command("import os; os.abort()"))
    with pytest.raises(ModelError, match=r"angle.stl' cannot be decomposed: coacd crashed \(SIGABRT\) on 20 triangles"):
        treesim.convex_parts(angle_file)


def test_ctrl_c_ends_coacd_and_stores_nothing(angle_file, cache, monkeypatch):
    pytest.importorskip("coacd")
    started = []

    class Interrupted(PythonProcess):
        def ask(self, *job):
            started.append(self)
            raise KeyboardInterrupt

    monkeypatch.setattr(module, "PythonProcess", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        treesim.convex_parts(angle_file)
    assert started[0].returncode is not None and not cache.exists()


def test_without_coacd_the_extra_is_named(angle_file, monkeypatch):
    def missing(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(module, "version", missing)
    with pytest.raises(ArgumentError, match=r"convex parts need the package coacd: .*\[collision\]"):
        treesim.convex_parts(angle_file)


def test_the_parts_of_meshes_used_last_are_stored(cache, monkeypatch):
    monkeypatch.setattr(module, "MOST_MESHES", 2)
    for k, name in enumerate("abac"):
        found = module.store(name, [BOX[0]], 0.0, 0.0)
        assert os.path.exists(found.files[0]) and np.array_equal(found.vertices[0], BOX[0])
        os.utime(cache / name, (k, k))
    assert sorted(os.listdir(cache)) == ["a", "c"] and module.read_stored("b") is None
    (cache / "a" / module.DETAILS).write_text('[[1, "a"], 0, 0]')
    assert module.read_stored("a") is None


def test_without_a_cache_there_are_parts_without_files(no_process, tmp_path, monkeypatch, caplog):
    pytest.importorskip("coacd")
    (tmp_path / "file").touch()
    monkeypatch.setenv("TREESIM_CACHE_DIR", str(tmp_path / "file" / "cache"))
    parts = treesim.convex_parts(BOX)
    assert parts.files == () and len(parts.vertices[0]) == 8 and "cannot store convex parts" in caplog.text


@pytest.mark.slow
def test_meshes_with_holes_and_cavities_have_parts():
    pytest.importorskip("coacd")
    vertices, triangles = together(of_box((4, 4, 4)), of_box((3, 3, 3)))
    triangles[12:] = triangles[12:, ::-1]
    hollow = treesim.convex_parts((vertices, triangles), threshold=0.1)
    assert len(hollow.vertices) > 5 and abs(hollow.volume_error) < 0.05 and hollow.distance_error < 0.4
    ring = treesim.convex_parts(of_torus(1.0, 0.3, 16, 8), threshold=0.1)
    assert len(ring.vertices) > 3 and abs(ring.volume_error) < 0.2 and ring.distance_error < 0.1
    sheet = treesim.convex_parts(together(BOX, (BOX[0] + 5, BOX[1][:1])))
    assert len(sheet.vertices) == 2 and sheet.volume_error is None and "volume error unknown" in repr(sheet)
    assert sheet.distance_error < 0.1  # half the thickness that the sheet is given


@pytest.mark.slow
def test_processes_decompose_a_mesh_at_the_same_time(angle_file, cache):
    pytest.importorskip("coacd")
    code = "import sys, treesim; print(treesim.convex_parts(sys.argv[1]).files)"
    both = [subprocess.Popen(python_command(code, angle_file), stdout=subprocess.PIPE, text=True) for _ in range(3)]
    found = {process.communicate(timeout=PATIENCE)[0] for process in both}
    assert found == {f"{treesim.convex_parts(angle_file).files}\n"}
    assert sorted(file.name for file in cache.glob("*/*")) == ["0.obj", "1.obj", "parts.json"]


@pytest.mark.slow
def test_the_largest_solids_have_most_parts():
    pytest.importorskip("coacd")
    vertices, triangles = of_angle()
    parts = treesim.convex_parts(together((vertices / 10 + 5, triangles), (vertices, triangles)), max_parts=3)
    assert len(parts.vertices) == 3 and abs(parts.volume_error) < 1e-3


@pytest.mark.slow
def test_the_same_seed_gives_the_same_parts(monkeypatch, tmp_path):
    pytest.importorskip("coacd")
    first = treesim.convex_parts(of_angle())
    monkeypatch.setenv("TREESIM_CACHE_DIR", str(tmp_path / "other"))
    with warnings.catch_warnings(action="error"):
        second = treesim.convex_parts(of_angle())
    assert all(map(np.array_equal, first.vertices, second.vertices)) and DEFAULTS["seed"] == 0
