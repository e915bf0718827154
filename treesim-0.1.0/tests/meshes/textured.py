"""Small meshes with images, of every format that names them: a square in x and y with the image once over it."""

from __future__ import annotations

import base64
import io
import json
import struct
from pathlib import Path

import numpy as np
from PIL import Image

CORNERS = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], float)
COORDINATES = CORNERS[:, :2]  # of the image, v upwards
TRIANGLES = np.array([[0, 1, 2], [0, 2, 3]])
QUARTERS = np.array([[[255, 0, 0], [0, 255, 0]], [[0, 0, 255], [255, 255, 0]]], np.uint8)  # upper, then lower row


def picture(kind: str = "PNG", size: int = 64, pixels: np.ndarray = QUARTERS) -> bytes:
    """An image file of four fields: red and green above blue and yellow."""
    stream = io.BytesIO()
    Image.fromarray(np.kron(pixels, np.ones((size // 2, size // 2, 1), np.uint8))).save(stream, kind, quality=95)
    return stream.getvalue()


def pixels(data: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(data)))


def obj(folder: Path, image: str = "board.png", material: str = "Kd 1 1 1\n", name: str = "m") -> Path:
    Path(folder, f"{name}.mtl").write_text(f"newmtl m\n{material}map_Kd {image}\n")
    numbers = "".join("v {:g} {:g} {:g}\n".format(*v) for v in CORNERS) + "".join(
        f"vt {u:g} {v:g}\n" for u, v in COORDINATES
    )
    path = Path(folder, f"{name}.obj")
    path.write_text(f"mtllib {name}.mtl\n{numbers}usemtl m\nf 1/1 2/2 3/3\nf 1/1 3/3 4/4\n")
    return path


def collada(folder: Path, image: str = "board.png") -> Path:
    def source(name: str, rows: np.ndarray, axes: str) -> str:
        params = "".join(f'<param name="{axis}" type="float"/>' for axis in axes)
        text = " ".join(f"{x:g}" for x in rows.ravel())
        return (
            f'<source id="{name}"><float_array id="{name}-a" count="{rows.size}">{text}</float_array><technique_common>'
            f'<accessor source="#{name}-a" count="{len(rows)}" stride="{len(axes)}">{params}</accessor>'
            "</technique_common></source>"
        )

    path = Path(folder, "m.dae")
    path.write_text(
        '<?xml version="1.0"?><COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1"><asset>'
        '<created>2026</created><modified>2026</modified><unit meter="1"/></asset>'
        f'<library_images><image id="i"><init_from>{image}</init_from></image></library_images>'
        '<library_effects><effect id="e"><profile_COMMON>'
        '<newparam sid="su"><surface type="2D"><init_from>i</init_from></surface></newparam>'
        '<newparam sid="sa"><sampler2D><source>su</source></sampler2D></newparam><technique sid="t"><lambert>'
        '<diffuse><texture texture="sa" texcoord="T"/></diffuse></lambert></technique></profile_COMMON></effect>'
        '</library_effects><library_materials><material id="m"><instance_effect url="#e"/></material>'
        '</library_materials><library_geometries><geometry id="g"><mesh>'
        + source("p", CORNERS, "XYZ") + source("c", COORDINATES, "ST")
        + '<vertices id="v"><input semantic="POSITION" source="#p"/></vertices><triangles count="2" material="s">'
        '<input semantic="VERTEX" source="#v" offset="0"/><input semantic="TEXCOORD" source="#c" offset="1" set="0"/>'
        "<p>0 0 1 1 2 2 0 0 2 2 3 3</p></triangles></mesh></geometry></library_geometries>"
        '<library_visual_scenes><visual_scene id="s"><node><instance_geometry url="#g"><bind_material>'
        '<technique_common><instance_material symbol="s" target="#m"><bind_vertex_input semantic="T"'
        ' input_semantic="TEXCOORD" input_set="0"/></instance_material></technique_common></bind_material>'
        '</instance_geometry></node></visual_scene></library_visual_scenes><scene><instance_visual_scene url="#s"/>'
        "</scene></COLLADA>"
    )  # fmt: skip
    return path


def gltf(
    folder: Path, image: str | None = "board.png", data: bytes = b"", binary: bool = False,
    factor: tuple[float, ...] = (1, 1, 1, 1), colors: np.ndarray | None = None,
) -> Path:  # fmt: skip
    """A glTF file; image: its URI, or None for `data` in a buffer view. factor, colors (4, 3): linear."""
    downwards = np.column_stack([COORDINATES[:, 0], 1 - COORDINATES[:, 1]])
    rows = [CORNERS.astype("<f4"), downwards.astype("<f4"), TRIANGLES.ravel().astype("<u2")]
    types = [(5126, 4, "VEC3"), (5126, 4, "VEC2"), (5123, 6, "SCALAR")]
    if colors is not None:
        rows.append(colors.astype("<f4"))
        types.append((5126, 4, "VEC3"))
    chunks = [array.tobytes() for array in rows] + ([data] if image is None else [])
    starts = np.cumsum([0] + [len(chunk) for chunk in chunks])
    buffer = b"".join(chunks)
    uri = {} if binary else {"uri": "data:application/octet-stream;base64," + base64.b64encode(buffer).decode()}
    attributes = {"POSITION": 0, "TEXCOORD_0": 1} | ({} if colors is None else {"COLOR_0": 3})
    document = {
        "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}], "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": attributes, "indices": 2, "material": 0}]}],
        "materials": [{"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}, "baseColorFactor": list(factor)}}],
        "textures": [{"source": 0}],
        "images": [{"bufferView": len(rows), "mimeType": "image/png"} if image is None else {"uri": image}],
        "accessors": [{"bufferView": i, "componentType": kind, "count": count, "type": shape}
                      for i, (kind, count, shape) in enumerate(types)],
        "bufferViews": [{"buffer": 0, "byteOffset": int(start), "byteLength": len(chunk)}
                        for start, chunk in zip(starts, chunks, strict=False)],
        "buffers": [{"byteLength": len(buffer), **uri}],
    }  # fmt: skip
    path, text = Path(folder, "m.glb" if binary else "m.gltf"), json.dumps(document).encode()
    if not binary:
        path.write_bytes(text)
        return path
    text += b" " * (-len(text) % 4)
    buffer += bytes(-len(buffer) % 4)
    body = struct.pack("<I4s", len(text), b"JSON") + text + struct.pack("<I4s", len(buffer), b"BIN\0") + buffer
    path.write_bytes(struct.pack("<4sII", b"glTF", 2, 12 + len(body)) + body)
    return path


def data_uri(data: bytes, kind: str = "image/png") -> str:
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


def shown_at(mesh: object, x: float, y: float) -> np.ndarray:
    """The colour (3,) that a mesh (MeshPart, TriangleMesh) shows at a point of the square, by its triangles."""
    for triangle in np.asarray(mesh.faces):
        corners = mesh.vertices[triangle][:, :2]
        weights = np.linalg.solve(np.vstack([corners.T, np.ones(3)]), [x, y, 1])
        if (weights > -1e-9).all():
            u, v = weights @ mesh.uv[triangle]
            image = pixels(mesh.image.data)
            height, width = image.shape[:2]
            shade = np.ones(3) if mesh.colors is None else weights @ mesh.colors[triangle] / 255
            return shade * image[int((1 - v % 1) * height - 1e-9), int((u % 1) * width)]
    raise AssertionError("outside of all triangles")
