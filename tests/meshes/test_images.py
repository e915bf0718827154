"""Images of meshes: of every format they come through, the right way up; what is wrong with one is told, and the mesh
is still read."""

from __future__ import annotations

import io
import os
import shutil
import struct
import zlib

import numpy as np
import pytest
from PIL import Image, PngImagePlugin

from treesim.meshes import images, read_colored, read_parts, reader
from treesim.viewing.meshes import read_meshes

from . import files, textured

RED, GREEN, BLUE, YELLOW = (np.array(c, float) for row in textured.QUARTERS for c in row)
FIELDS = [((0.25, 0.75), RED), ((0.75, 0.75), GREEN), ((0.25, 0.25), BLUE), ((0.75, 0.25), YELLOW)]

PNG, JPEG = textured.picture(), textured.picture("JPEG")
FILES = {
    "obj": textured.obj, "dae": textured.collada, "gltf, file": textured.gltf,
    "glb, file": lambda folder: textured.gltf(folder, binary=True),
    "gltf, data URI": lambda folder: textured.gltf(folder, textured.data_uri(PNG)),
    "glb, data URI": lambda folder: textured.gltf(folder, textured.data_uri(PNG), binary=True),
    "gltf, view": lambda folder: textured.gltf(folder, None, PNG),
    "glb, view": lambda folder: textured.gltf(folder, None, PNG, binary=True),
    "glb, JPEG in a view": lambda folder: textured.gltf(folder, None, JPEG, binary=True),
    "gltf, JPEG in a data URI": lambda folder: textured.gltf(folder, textured.data_uri(JPEG, "image/jpeg")),
}  # fmt: skip


def check_fields(mesh, atol=12, shade=1.0):
    """Check that the square shows the four fields, where they are."""
    for (x, y), color in FIELDS:
        np.testing.assert_allclose(textured.shown_at(mesh, x, y), color * shade, atol=atol)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "board.png").write_bytes(PNG)
    return tmp_path


def the_part(path):
    (part,), faults = read_colored(str(path))
    assert faults == ()
    return part


def fault_of(path):
    """The fault of a file whose image is not drawn, but whose mesh is."""
    (part,), (fault,) = read_colored(str(path))
    assert part.image is None and part.uv is None and len(part.faces) == 2
    return fault


@pytest.mark.parametrize("name", FILES)
def test_an_image_comes_through_the_right_way_up(name, folder):
    path = FILES[name](folder)
    part = the_part(path)
    check_fields(part)
    assert part.image.kind == ("image/jpeg" if "JPEG" in name else "image/png") and part.colors is None
    (mesh,) = read_meshes(str(path)).meshes
    check_fields(mesh)
    assert read_parts(str(path))[0].image is None, "what touches needs no image"


@pytest.mark.parametrize("make", [textured.obj, textured.collada, textured.gltf])
@pytest.mark.parametrize("name", ["board.jpg", "textures/board.png", "my board.png"])
def test_images_beside_a_mesh(make, name, tmp_path):
    (tmp_path / "textures").mkdir()
    (tmp_path / name).write_bytes(JPEG if "jpg" in name else PNG)
    check_fields(the_part(make(tmp_path, name)))


@pytest.mark.parametrize("name", ["my%20board.png", "/home/somebody/my board.png", r"C:\models\my board.png",
                                  r"textures\my board.png", "file:///home/somebody/my%20board.png"])  # fmt: skip
def test_names_of_other_computers_lead_beside_the_mesh(name, tmp_path):
    (tmp_path / "my board.png").write_bytes(PNG)
    check_fields(the_part(textured.collada(tmp_path, name)))


@pytest.mark.parametrize("mode", ["L", "P", "RGBA", "LA", "1", "I;16", "CMYK"])
def test_images_of_all_modes(mode, tmp_path):
    """Grey ones with the left half dark."""
    grey = np.kron([[20, 220]], np.ones((8, 4))).astype(np.uint8)
    arrays = {"I;16": grey.astype(np.uint16) << 8, "1": grey > 100}
    image = Image.fromarray(arrays[mode]) if mode in arrays else Image.fromarray(grey).convert(mode)
    image.save(tmp_path / "board.png", "JPEG" if mode == "CMYK" else "PNG")
    part = the_part(textured.obj(tmp_path))
    dark, light = (textured.shown_at(part, x, 0.5) for x in (0.2, 0.8))
    expected = (0, 255) if mode == "1" else (20, 220)
    np.testing.assert_allclose([dark, light], np.outer(expected, np.ones(3)), atol=8)


def test_a_colour_multiplies_an_image(folder):
    check_fields(the_part(textured.obj(folder, material="Kd 0.5 0.5 0.5\n")), shade=0.5)
    linear = 0.21404  # of half the level
    check_fields(the_part(textured.gltf(folder, factor=(linear, linear, linear, 1))), shade=0.5)
    check_fields(the_part(textured.gltf(folder, colors=np.full((4, 3), linear))), shade=0.5)


@pytest.mark.parametrize("material", ["", "Kd 0 0 0\n", "Ka 1 1 1\n"])
def test_a_material_without_a_colour_leaves_its_image_as_it_is(material, folder):
    check_fields(the_part(textured.obj(folder, material=material)))


def test_textured_coloured_and_plain_parts_of_one_mesh(folder):
    (folder / "other.jpg").write_bytes(textured.picture("JPEG", pixels=textured.QUARTERS[::-1]))
    (folder / "m.mtl").write_text(
        "newmtl a\nmap_Kd board.png\nnewmtl b\nmap_Kd other.jpg\nnewmtl c\nKd 1 0 0\nnewmtl d\nKd 0 0 1\n"
        "newmtl e\nKd 0.5 0.5 0.5\nmap_Kd board.png\n"
    )
    square = "f {0}/1 {1}/2 {2}/3\nf {0}/1 {2}/3 {3}/4\n"
    lines = ["mtllib m.mtl", "vt 0 0", "vt 1 0", "vt 1 1", "vt 0 1"]
    for k, name in enumerate("abcde"):
        lines += [f"v {x:g} {y:g} {k}" for x, y, _ in textured.CORNERS] + [f"usemtl {name}"]
        lines.append(square.format(*range(4 * k + 1, 4 * k + 5)))
    (folder / "m.obj").write_text("\n".join(lines))
    meshes = read_meshes(str(folder / "m.obj")).meshes
    shown = {mesh.image and mesh.image.name: mesh for mesh in meshes}
    assert set(shown) == {None, "board.png", "other.jpg"} and len(meshes) == 3
    assert sorted(set(shown[None].vertices[:, 2])) == [2, 3]
    reds, blues = (shown[None].colors[shown[None].vertices[:, 2] == z] for z in (2, 3))
    assert (reds == (255, 0, 0)).all() and (blues == (0, 0, 255)).all()
    np.testing.assert_allclose(textured.shown_at(shown["other.jpg"], 0.25, 0.25), RED, atol=12)
    board = shown["board.png"]
    assert [set(board.colors[board.vertices[:, 2] == z].ravel().tolist()) for z in (0, 4)] == [{255}, {128}]


def test_a_mirrored_part_keeps_its_image(folder):
    """Coordinates belong to vertices, whichever way round a triangle's are."""
    path = textured.collada(folder)
    path.write_text(path.read_text().replace("<node>", "<node><matrix>-1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1</matrix>"))
    part = the_part(path)
    assert part.vertices[:, 0].min() == -1
    for (x, y), color in FIELDS:
        np.testing.assert_allclose(textured.shown_at(part, -x, y), color, atol=1)


@pytest.mark.parametrize("shape", [(3000, 100), (100, 5000), (2500, 2500)])
def test_large_images_are_scaled_down(shape, tmp_path):
    for name, kind in (("board.png", "PNG"), ("board.jpg", "JPEG")):
        Image.fromarray(np.full((*shape, 3), 77, np.uint8)).save(tmp_path / name, kind)
        image = the_part(textured.obj(tmp_path, name)).image
        height, width, _ = textured.pixels(image.data).shape
        assert max(height, width) == 2048
        assert width / height == pytest.approx(shape[1] / shape[0], rel=0.02)


def test_images_take_little_room(tmp_path):
    """A photograph as PNG, which takes three bytes a pixel."""
    noise = np.random.default_rng(0).integers(0, 256, (2048, 2048, 3), np.uint8)
    Image.fromarray(noise).resize((1024, 1024)).save(tmp_path / "board.png")
    image = the_part(textured.obj(tmp_path)).image
    assert image.kind == "image/jpeg" and len(image.data) < 1024 * 1024


def test_what_an_image_holds_besides_pixels_is_left_out(tmp_path):
    info = PngImagePlugin.PngInfo()
    info.add_text("place", "secret")
    Image.open(io.BytesIO(PNG)).save(tmp_path / "board.png", pnginfo=info)
    with (tmp_path / "board.png").open("ab") as stream:
        stream.write(b"secret behind the end")
    assert b"secret" not in the_part(textured.obj(tmp_path)).image.data


def bomb(side):
    """A PNG that announces more pixels than it has."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    return images.PNG + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b"")


def gif():
    stream = io.BytesIO()
    Image.open(io.BytesIO(PNG)).save(stream, "GIF")
    return stream.getvalue()


BROKEN = {
    "missing": (None, "it is not found; put it next to the mesh file"),
    "empty": (b"", "it is neither PNG nor JPEG"),
    "a GIF": (gif(), "it is neither PNG nor JPEG; convert it"),
    "PostScript": (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 1 1\n", "it is neither PNG nor JPEG"),
    "cut PNG": (PNG[: len(PNG) // 2], "it is damaged"),
    "cut JPEG": (JPEG[: len(JPEG) // 2], "it is damaged"),
    "head of a PNG": (PNG[:20], "it is damaged"),
    "head of a JPEG": (JPEG[:20], "it is damaged"),
    "flipped PNG": (PNG[:60] + bytes([PNG[60] ^ 255]) + PNG[61:], "it is damaged"),
    "large": (bomb(8200), "it has 8,200 x 8,200 pixels, and 67,108,864 are read at most; scale it down"),
    "bomb": (bomb(2**31 - 1), "are read at most"),
    "Git LFS": (b"version https://git-lfs.github.com/spec/v1\n", "git lfs pull"),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("make", [textured.obj, textured.collada, textured.gltf])
def test_a_broken_image_is_told_and_the_mesh_is_read(make, name, tmp_path):
    data, reason = BROKEN[name]
    if data is not None:
        (tmp_path / "board.png").write_bytes(data)
    fault = fault_of(make(tmp_path))
    assert fault.startswith("image 'board.png' is not drawn: ") and reason in fault


@pytest.mark.parametrize("binary", [True, False])
@pytest.mark.parametrize("name", ["empty", "a GIF", "cut PNG", "bomb"])
def test_a_broken_image_within_a_file_is_told(name, binary, tmp_path):
    data, reason = BROKEN[name]
    fault = fault_of(textured.gltf(tmp_path, None, data or b"\0\0\0\0", binary=binary))
    assert fault.startswith("image '1 of the file' is not drawn: ") and reason in fault


def test_a_mesh_without_its_image_keeps_its_colour(tmp_path):
    (part,), _ = read_colored(str(textured.obj(tmp_path, material="Kd 1 0 0\n")))
    assert (part.colors == (255, 0, 0)).all()
    for path in (textured.obj(tmp_path), textured.collada(tmp_path), textured.obj(tmp_path, material="")):
        (part,), _ = read_colored(str(path))
        assert part.colors is None, "white beside an image is no colour: the robot's description has one"


def test_a_mesh_without_its_materials_has_no_image_and_no_colour(folder):
    """What trimesh draws then is its own."""
    path = textured.obj(folder)
    (folder / "m.mtl").unlink()
    part = the_part(path)
    assert part.image is None and part.colors is None
    (part,), faults = read_colored(str(path), str(folder / "board.png"))
    assert faults == ()
    check_fields(part)


def test_an_image_that_nothing_uses_is_not_read(tmp_path):
    path = textured.obj(tmp_path, "board.tga")
    (tmp_path / "m.mtl").write_text("newmtl other\nmap_Kd missing.png\nnewmtl m\nKd 1 0 0\n")
    assert (the_part(path).colors == (255, 0, 0)).all()


def test_an_image_without_coordinates_is_told(folder):
    path = textured.obj(folder)
    path.write_text("mtllib m.mtl\nv 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nusemtl m\nf 1 2 3\nf 1 3 4\n")
    assert "the mesh has no texture coordinates" in fault_of(path)


@pytest.mark.parametrize("bad", ["nan", "inf"])
def test_coordinates_that_are_not_finite_are_told(folder, bad):
    path = textured.obj(folder)
    path.write_text(path.read_text().replace("vt 1 1", f"vt {bad} 1"))
    assert "texture coordinates" in fault_of(path)


@pytest.mark.parametrize("make", [textured.obj, textured.collada, textured.gltf])
@pytest.mark.parametrize("way", ["..", "absolute", "link", "linked folder", "URL"])
def test_images_outside_are_not_read(make, way, tmp_path):
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    secret = outside / "secret.png"
    secret.write_bytes(PNG)
    name = {"..": "../outside/secret.png", "absolute": str(secret), "URL": secret.as_uri()}.get(way, "link/secret.png")
    if way == "link":
        (inside / "link").mkdir()
        os.symlink(secret, inside / "link/secret.png")
    if way == "linked folder":
        os.symlink(outside, inside / "link")
    fault = fault_of(make(inside, name))
    assert "put it next to the mesh file" in fault
    assert ("escapes" in fault) == (way not in ("absolute", "URL"))


@pytest.mark.parametrize("mark", ["package.xml", "model.config"])
def test_images_are_found_within_the_package(mark, tmp_path):
    meshes, textures = tmp_path / "meshes", tmp_path / "materials/textures"
    meshes.mkdir()
    textures.mkdir(parents=True)
    (textures / "board.png").write_bytes(PNG)
    path = textured.collada(meshes, "../materials/textures/board.png")
    assert "escapes the folder and package" in fault_of(path)
    (tmp_path / mark).touch()
    check_fields(the_part(path))
    outside = tmp_path.parent / f"{tmp_path.name}-secret.png"
    outside.write_bytes(PNG)
    assert "escapes the folder and package" in fault_of(textured.collada(meshes, f"../../{outside.name}"))


def test_links_to_a_mesh_find_the_images_of_its_target(folder, tmp_path_factory):
    """As installed packages are that link to their sources."""
    installed = tmp_path_factory.mktemp("installed")
    os.symlink(textured.obj(folder), installed / "m.obj")
    os.symlink(folder / "m.mtl", installed / "m.mtl")
    os.symlink(folder / "board.png", installed / "board.png")
    check_fields(the_part(installed / "m.obj"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes or devices")
@pytest.mark.parametrize("make", [os.mkdir, getattr(os, "mkfifo", None), lambda path: os.symlink("/dev/zero", path)])
def test_an_image_that_is_no_file_is_not_opened(make, tmp_path):
    make(tmp_path / "board.png")
    assert "board.png" in fault_of(textured.obj(tmp_path))


def test_there_is_an_end_to_the_number_of_images(tmp_path, monkeypatch):
    count = 66
    lines, materials = ["mtllib m.mtl", "v 0 0 0", "v 1 0 0", "v 1 1 0", "vt 0 0", "vt 1 0", "vt 1 1"], []
    for k in range(count):
        Image.fromarray(np.full((2, 2, 3), k, np.uint8)).save(tmp_path / f"{k}.png")
        materials.append(f"newmtl m{k}\nmap_Kd {k}.png\n")
        lines += [f"usemtl m{k}", "f 1/1 2/2 3/3"]
    (tmp_path / "m.mtl").write_text("".join(materials))
    (tmp_path / "m.obj").write_text("\n".join(lines))
    parts, faults = read_colored(str(tmp_path / "m.obj"))
    assert len(parts) == count and len(faults) == 2 and "64 images" in faults[0]


def test_options_of_a_material_file_are_passed_over(folder):
    check_fields(the_part(textured.obj(folder, "-clamp on -bm 0.5 -s 1 1 1 -o 0 0 board.png")))


@pytest.mark.parametrize("options", ["-s 2 2 1", "-clamp on -o 0 0.5"])
def test_options_that_move_an_image_are_told(options, folder):
    (part,), (fault,) = read_colored(str(textured.obj(folder, f"{options} board.png")))
    assert f"image 'board.png' is drawn without its options '{options} board.png'" in fault
    check_fields(part)


def test_images_are_not_decoded_in_this_process(folder, monkeypatch):
    monkeypatch.setattr(reader, "can_start_python", lambda: False)
    assert "decoded by a child process" in fault_of(textured.obj(folder))
    assert "decoded by a child process" in fault_of(textured.gltf(folder, None, PNG))


def test_a_texture_of_the_description_is_on_parts_without_an_image(folder, tmp_path):
    texture = str(folder / "board.png")
    plain = textured.obj(folder, material="Kd 1 0 0\n")
    (folder / "m.mtl").write_text("newmtl m\nKd 1 0 0\n")
    (part,), faults = read_colored(str(plain), texture)
    assert faults == () and part.colors is None
    check_fields(part)
    (folder / "other.png").write_bytes(textured.picture(pixels=textured.QUARTERS[::-1]))
    own, faults = read_colored(str(textured.obj(folder, "other.png")), texture)
    assert faults == () and own[0].image.name == "other.png"


@pytest.mark.parametrize("name", ["a.obj", "text.stl", "binary.stl"])
def test_a_texture_without_coordinates_is_told(name, folder):
    content = files.TRIANGLES[name]("1")
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    (part,), (fault,) = read_colored(str(path), str(folder / "board.png"))
    assert part.image is None and "'board.png' is not drawn: the mesh has no texture coordinates" in fault


def test_a_texture_that_is_broken_is_told(folder):
    path = textured.obj(folder)
    (folder / "m.mtl").write_text("newmtl m\nKd 1 0 0\n")
    for name, reason in (("no.png", "not found"), ("m.mtl", "neither PNG nor JPEG")):
        (part,), (fault,) = read_colored(str(path), str(folder / name))
        assert reason in fault and (part.colors == (255, 0, 0)).all()


def test_colours_of_gltf_are_linear(folder):
    """As the files that treesim writes hold them."""
    shutil.copy(folder / "board.png", folder / "kept.png")
    path = textured.gltf(folder, factor=(0.21404, 0, 1, 1))
    path.write_text(path.read_text().replace('"baseColorTexture": {"index": 0}, ', ""))
    assert (the_part(path).colors == (128, 0, 255)).all()
