"""Small mesh files of every format, sound and hostile, as text or bytes."""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Callable

STL = """solid t
facet normal 0 0 1
outer loop
vertex 0 0 0
vertex {x} 0 0
vertex 0 1 0
endloop
endfacet
endsolid
"""
OBJ = "v 0 0 0\nv {x} 0 0\nv 0 1 0\nf 1 2 3\n"
OFF = "OFF\n3 1 0\n0 0 0\n{x} 0 0\n0 1 0\n3 0 1 2\n"
PLY = """ply
format ascii 1.0
element vertex {count}
property float x
property float y
property float z
element face 1
property list uchar int vertex_indices
end_header
0 0 0
{x} 0 0
0 1 0
3 0 1 2
"""
GEOMETRY = """<library_geometries><geometry id="g"><mesh>
<source id="positions"><float_array id="numbers" count="9">0 0 0 {x} 0 0 0 1 0</float_array><technique_common>
<accessor source="#numbers" count="3" stride="3"><param name="X" type="float"/><param name="Y" type="float"/>
<param name="Z" type="float"/></accessor></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#positions"/></vertices>
<triangles count="1"><input semantic="VERTEX" source="#v" offset="0"/><p>0 1 2</p></triangles>
</mesh></geometry></library_geometries>"""
PLACED = '<node id="x"><instance_geometry url="#g"/></node>'


def collada(scene: str = PLACED, nodes: str = "", x: object = 1, unit: object = 1) -> str:
    """A COLLADA file of one triangle, which the nodes of its scene place."""
    return (
        '<?xml version="1.0"?><COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1"><asset>'
        f'<created>2026</created><modified>2026</modified><unit meter="{unit}"/></asset>{GEOMETRY.format(x=x)}'
        f'<library_nodes>{nodes}</library_nodes><library_visual_scenes><visual_scene id="s">{scene}</visual_scene>'
        '</library_visual_scenes><scene><instance_visual_scene url="#s"/></scene></COLLADA>'
    )


def multiplied(levels: int, times: int = 10) -> str:
    """A COLLADA file of `times` ** `levels` triangles."""
    nodes = "".join(f'<node id="n{i}">{f"""<instance_node url="#n{i + 1}"/>""" * times}</node>' for i in range(levels))
    return collada('<node><instance_node url="#n0"/></node>', nodes + f'<node id="n{levels}">{PLACED}</node>')


def chained(length: int) -> str:
    """A COLLADA file whose nodes instantiate each other, one after the other."""
    nodes = "".join(f'<node id="n{i}"><instance_node url="#n{i + 1}"/></node>' for i in range(length))
    return collada('<node><instance_node url="#n0"/></node>', nodes)


def gltf(count: int = 3, x: float = 1.0) -> str:
    """A glTF file of one triangle; with another count than 3, of as many vertices that no buffer holds."""
    buffer = base64.b64encode(struct.pack("<9f", 0, 0, 0, x, 0, 0, 0, 1, 0)).decode()
    accessor = {"componentType": 5126, "count": count, "type": "VEC3", **({"bufferView": 0} if count == 3 else {})}
    return json.dumps({
        "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}], "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "mode": 4}]}], "accessors": [accessor],
        "bufferViews": [{"buffer": 0, "byteLength": 36}],
        "buffers": [{"byteLength": 36, "uri": f"data:application/octet-stream;base64,{buffer}"}],
    })  # fmt: skip


def binary_stl(x: float = 1.0, announced: int = 1) -> bytes:
    """A binary STL of one triangle."""
    return bytes(80) + struct.pack("<I12fH", announced, 0, 0, 1, 0, 0, 0, x, 0, 0, 0, 1, 0, 0)


# files of every format that hold one triangle with a corner at (x, 0, 0)
TRIANGLES: dict[str, Callable[[str], str | bytes]] = {
    "text.stl": lambda x: STL.format(x=x), "binary.stl": lambda x: binary_stl(float(x)),
    "a.obj": lambda x: OBJ.format(x=x), "a.off": lambda x: OFF.format(x=x), "a.ply": lambda x: PLY.format(x=x, count=3),
    "a.dae": lambda x: collada(x=x), "a.gltf": lambda x: gltf(x=float(x)),
}  # fmt: skip
