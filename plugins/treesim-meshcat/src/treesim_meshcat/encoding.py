"""Encoding of scenes and poses for the page."""

from __future__ import annotations

import base64
import json
import struct
from typing import Any

import numpy as np

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
    return np.concatenate([poses[..., :3, 3], _quaternions(poses[..., :3, :3])], axis=-1, dtype=np.float32)


def _quaternions(R: np.ndarray) -> np.ndarray:
    """Return unit quaternions x y z w (..., 4) of rotations (..., 3, 3).

    4 q q' is linear in R, and its row with the largest diagonal element gives q without cancellation (Shepperd
    1978).
    """
    outer = np.empty((*R.shape[:-2], 4, 4))
    diagonal = R[..., [0, 1, 2], [0, 1, 2]]
    trace = diagonal.sum(axis=-1)
    outer[..., [0, 1, 2], [0, 1, 2]] = 1 + 2 * diagonal - trace[..., None]
    outer[..., 3, 3] = 1 + trace
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        outer[..., i, j] = outer[..., j, i] = R[..., i, j] + R[..., j, i]
        outer[..., k, 3] = outer[..., 3, k] = R[..., j, i] - R[..., i, j]
    best = outer[..., [0, 1, 2, 3], [0, 1, 2, 3]].argmax(axis=-1)
    rows = np.take_along_axis(outer, best[..., None, None], axis=-2)[..., 0, :]
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def frame_number(frame: bytes) -> int:
    """Return the sequence number of a binary message."""
    return _FRAME_HEAD.unpack_from(frame)[1]


def pose_frame(sequence: int, seconds: float, poses: np.ndarray) -> bytes:
    """Return one binary message with the poses (n, 4, 4) of all bodies, optionally followed by those of an overlay.

    Layout: magic, u32 sequence number, f64 time [s], n x 7 f32.
    """
    return _FRAME_HEAD.pack(FRAME_MAGIC, sequence, seconds) + pose_rows(poses).astype("<f4").tobytes()
