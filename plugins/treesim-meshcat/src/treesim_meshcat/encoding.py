"""How scenes and poses travel to the page."""

from __future__ import annotations

import base64
import json
import struct
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

_ARRAY_TYPES = {"f4": "Float32Array", "u1": "Uint8Array", "u2": "Uint16Array", "u4": "Uint32Array"}
FRAME_MAGIC = b"TSP1"
_FRAME_HEAD = struct.Struct("<4sId")


def to_json(value: Any) -> str:
    """Return `value` as JSON that is safe inside a `<script>` element; numpy arrays become typed arrays in base64."""
    text = json.dumps(value, default=_array, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c")


def _array(value: Any) -> dict[str, str]:
    if not isinstance(value, np.ndarray):
        raise TypeError(f"cannot encode {type(value).__name__}")
    little = np.ascontiguousarray(value, value.dtype.newbyteorder("<"))
    return {"type": _ARRAY_TYPES[value.dtype.str[1:]], "base64": base64.b64encode(little.tobytes()).decode("ascii")}


def pose_rows(poses: np.ndarray) -> np.ndarray:
    """Return poses (..., 4, 4) as float32 rows (..., 7): x y z [m] and the quaternion x y z w."""
    rotations = Rotation.from_matrix(poses[..., :3, :3].reshape(-1, 3, 3)).as_quat()
    rows = np.concatenate([poses[..., :3, 3].reshape(-1, 3), rotations], axis=1, dtype=np.float32)
    return rows.reshape(*poses.shape[:-2], 7)


def pose_frame(sequence: int, seconds: float, poses: np.ndarray) -> bytes:
    """Return one binary message with the poses (n, 4, 4) of all bodies: magic, u32 number, f64 time, n x 7 f32."""
    return _FRAME_HEAD.pack(FRAME_MAGIC, sequence, seconds) + pose_rows(poses).astype("<f4").tobytes()
