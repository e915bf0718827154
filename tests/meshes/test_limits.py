"""How much of a mesh is read: just below and just above each limit, with files that only say how large they are."""

import io
import struct
import sys
import zlib
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from treesim.errors import ModelError
from treesim.meshes import contents, files, images, reader
from treesim.meshes.collada import check_collada
from treesim.meshes.contents import MeshPart, Refused, Request
from treesim.system import input_files
from treesim.system.subprocesses import Ending

from .textured import picture

NODES = """<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema"><library_nodes>
<node id="a">{geometries}</node><node id="b">{a}</node></library_nodes>
<library_visual_scenes><visual_scene><node>{b}</node></visual_scene></library_visual_scenes></COLLADA>"""


def png(width, height):
    """The beginning of an image of this size."""
    head = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    data = b"IDAT" + struct.pack(">I", 0)
    return images.PNG + b"".join(
        struct.pack(">I", len(chunk) - 4) + chunk + struct.pack(">I", zlib.crc32(chunk)) for chunk in (head, data)
    )


def saved(pixels):
    """An opened image of these pixels."""
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "PNG", compress_level=0)
    return images.opened(stream.getvalue())


def sparse(path, size):
    with path.open("wb") as stream:
        stream.truncate(size)
    return str(path)


def test_a_scene_places_100_000_geometries(tmp_path):
    path = tmp_path / "scene.dae"
    texts = {
        count: NODES.format(
            geometries="<instance_geometry/>" * 100,
            a='<instance_node url="#a"/>' * 10,
            b='<instance_node url="#b"/>' * count,
        )
        for count in (97, 103)
    }
    path.write_text(texts[97])
    check_collada(str(path))
    path.write_text(texts[103])
    with pytest.raises(Refused, match="it places 103000 geometries"):
        check_collada(str(path))


@pytest.mark.parametrize(("count", "refused"), [(100_000, False), (100_001, True)])
def test_a_file_of_another_format_places_100_000_geometries(count, refused, tmp_path, monkeypatch):
    file = str(tmp_path / "a.glb")
    (tmp_path / "a.glb").touch()
    scene = SimpleNamespace(graph=SimpleNamespace(nodes_geometry=range(count)))
    monkeypatch.setitem(sys.modules, "trimesh", SimpleNamespace(load_scene=lambda *_, **options: scene))
    monkeypatch.setattr(contents, "_placed", lambda *_: ["the parts"])
    if refused:
        with pytest.raises(Refused, match="it places 100001 geometries, and 100000 are read at most"):
            contents.read_contents(file, colored=False)
    else:
        assert contents.read_contents(file, colored=False).parts == ("the parts",)


def test_a_package_is_the_folder_of_a_mesh_or_one_of_4_above(tmp_path):
    for depth, found in ((4, True), (5, False)):
        package = tmp_path / str(depth)
        folder = package.joinpath(*"abcde"[:depth])
        folder.mkdir(parents=True)
        (package / "package.xml").touch()
        assert (files._package(str(folder)) == str(package)) == found


def test_files_that_a_mesh_names_have_256_mib(tmp_path, monkeypatch):
    named = files.Files(str(tmp_path / "mesh.obj"))
    monkeypatch.setattr(input_files, "size_of_stream", lambda stream: 8)  # of them are read
    sparse(tmp_path / "material.mtl", 260_000_000)
    assert named._read("material.mtl") == bytes(8)
    sparse(tmp_path / "material.mtl", 276_000_000)
    with pytest.raises(OSError, match="it has 276,000,000 bytes, and 268,435,456 are read at most"):
        named._read("material.mtl")


def test_a_name_with_nul_is_that_of_no_file(tmp_path):
    (tmp_path / "board.png").touch()
    with pytest.raises(FileNotFoundError, match="it is not found; put it next to the mesh file"):
        files.Files(str(tmp_path / "mesh.obj"))._read("board.png\0")


def test_images_have_67_million_pixels():
    assert images.opened(png(8192, 8000)).size == (8192, 8000)
    with pytest.raises(images.UnusableError, match="8,192 x 8,400 pixels"):
        images.opened(png(8192, 8400))


@pytest.mark.parametrize(("width", "drawn"), [(2000, 2000), (2048, 2048), (2100, 2048)])
def test_images_are_2048_pixels_wide(width, drawn):
    _, data = images.coded(saved(np.zeros((4, width, 3), np.uint8)))
    assert images.opened(data).width == drawn


@pytest.mark.parametrize(("height", "kind"), [(590, "image/png"), (625, "image/jpeg")])
def test_images_that_take_more_than_a_mebibyte_become_jpeg(height, kind):
    """Noise is not compressed: 1.03 and 1.09 MB."""
    noise = np.random.default_rng(0).integers(0, 256, (height, 580, 3), np.uint8)
    assert images.coded(saved(noise))[0] == kind


@pytest.mark.parametrize(("size", "drawn"), [(260_000_000, True), (276_000_000, False)])
def test_256_mib_of_an_image_are_read(size, drawn, tmp_path, monkeypatch):
    (tmp_path / "board.png").write_bytes(picture())
    with (tmp_path / "board.png").open("r+b") as stream:
        stream.truncate(size)
    monkeypatch.setattr(input_files, "size_of_stream", lambda stream: len(picture()))  # of them are read
    found = images.Images(files.Files(str(tmp_path / "mesh.obj")), decode=True)
    assert (found.in_file(str(tmp_path / "board.png")) is not None) == drawn
    assert bool(found.faults) != drawn


def test_an_image_for_which_there_is_no_memory_ends_the_reading(tmp_path, monkeypatch):
    """The whole file is refused then: a drawing without its image would not tell why."""

    def full(image):
        raise MemoryError

    (tmp_path / "board.png").write_bytes(picture())
    monkeypatch.setattr(images, "coded", full)
    with pytest.raises(MemoryError):
        images.Images(files.Files(str(tmp_path / "mesh.obj")), decode=True).in_file(str(tmp_path / "board.png"))


def test_an_image_of_the_description_is_not_decoded_in_this_process(tmp_path):
    (tmp_path / "board.png").write_bytes(picture())
    found = images.Images(files.Files(str(tmp_path / "mesh.obj")), decode=False)
    assert found.in_file(str(tmp_path / "board.png")) is None
    (fault,) = found.faults
    assert fault.startswith("image 'board.png' is not drawn: images are decoded by a child process")


@pytest.mark.parametrize(("last", "wrong"), [(2, None), (3, 3), (-1, -1)])
def test_triangles_name_vertices_of_their_part(last, wrong):
    part = MeshPart(np.eye(3), np.array([[0, 1, last]]), None, None, None)
    if wrong is None:
        assert reader._checked([part])[0].faces[0, 2] == last
        return
    with pytest.raises(Refused, match=f"a triangle names vertex {wrong}, and there are vertices 0 to 2"):
        reader._checked([part])


class Silent:
    """A child process that is ready and does not answer, or that ends when it is asked."""

    def __init__(self, ends):
        self.ends, self.waited, self.closed, self.connection = ends, [], 0, self

    def send(self, request):
        if self.ends:
            raise BrokenPipeError

    def poll(self, seconds):
        self.waited.append(seconds)
        return seconds > 60.5  # the start, not the answer

    def recv(self):
        return "ready"

    def ending(self):
        return Ending("", 0, "no message")

    def close(self):
        self.closed += 1


@pytest.mark.parametrize(
    ("ends", "expected", "starts"),
    [(False, "it takes more than 30 s", 1), (True, r"reading it ended with status 0 (no message)", 2)],
)
def test_a_child_that_never_answers_is_given_up(ends, expected, starts, monkeypatch):
    """After twice the time limit, which the child itself obeys where the system has SIGALRM; and at its second end."""
    children = [Silent(ends) for _ in range(starts)]
    left = iter(children)
    child = reader._Child()
    monkeypatch.setattr(child, "_started", lambda: next(left))
    assert child.ask(Request("a.obj", False, None, 30.0)) == expected
    assert [one.closed for one in children] == [1] * starts and child._process is None
    assert ends or children[0].waited[-1] == 60


def test_meshes_have_a_gibibyte(tmp_path):
    reader._check_file(sparse(tmp_path / "a.obj", 1_050_000_000))
    with pytest.raises(Refused, match="it has 1,100,000,000 bytes"):
        reader._check_file(sparse(tmp_path / "b.obj", 1_100_000_000))


@pytest.mark.parametrize(("size", "seconds"), [(0, (29, 31)), (100 << 20, (127, 133))])
def test_reading_takes_half_a_minute_and_a_second_per_mebibyte(size, seconds, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(reader, "_child", SimpleNamespace(ask=lambda request: asked.append(request) or "no mesh"))
    with pytest.raises(ModelError, match="no mesh"):
        reader.read_parts(sparse(tmp_path / "a.obj", size))
    assert seconds[0] < asked[0].seconds < seconds[1]


def test_the_process_that_reads_has_6_gib_and_ends_when_idle_for_half_a_minute(monkeypatch):
    monkeypatch.setattr(reader, "PythonProcess", lambda command, threads: command)
    memory, idle = reader._Child()._started()[-2:]
    assert 6.3e9 < int(memory) < 6.6e9 and 29 < float(idle) < 31


def test_the_process_that_reads_starts_within_5_minutes():
    patience = []
    connection = SimpleNamespace(poll=lambda seconds: patience.append(seconds))
    assert not reader._is_ready(SimpleNamespace(connection=connection))
    assert 290 < patience[0] < 310
