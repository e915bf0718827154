"""Encoding of scenes and poses: decoding returns the input."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation
from treesim_meshcat.encoding import pose_frame, pose_rows, to_json

angles = st.floats(-np.pi, np.pi)


@given(st.tuples(angles, angles, angles), st.tuples(*3 * [st.floats(-1e3, 1e3)]))
def test_rows_are_the_poses(euler, position):
    rotation = Rotation.from_euler("xyz", euler)
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = rotation.as_matrix(), position
    row = pose_rows(pose)
    np.testing.assert_allclose(row[:3], position, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(Rotation.from_quat(row[3:]).as_matrix(), rotation.as_matrix(), atol=1e-6)


@pytest.mark.parametrize("axis", np.vstack([np.eye(3), [[0.6, 0.8, 0.0], [0.0, 0.6, -0.8]]]))
def test_half_turns(axis):
    pose = np.eye(4)
    pose[:3, :3] = 2 * np.outer(axis, axis) - np.eye(3)
    assert abs(pose_rows(pose)[3:6] @ axis) == pytest.approx(1.0, abs=1e-7)


def test_rows_take_leading_axes():
    poses = np.broadcast_to(np.eye(4), (2, 5, 4, 4))
    assert (pose_rows(poses) == [0, 0, 0, 0, 0, 0, 1]).all()
    assert pose_rows(poses).shape == (2, 5, 7)


def test_a_frame_is_head_and_rows():
    poses = np.tile(np.eye(4), (3, 1, 1))
    poses[:, 0, 3] = 1.5, 2.5, 3.5
    frame = pose_frame(7, 0.25, poses)
    head = np.frombuffer(frame[:16], [("magic", "S4"), ("number", "<u4"), ("time", "<f8")])[0]
    assert head.tolist() == (b"TSP1", 7, 0.25)
    assert (np.frombuffer(frame[16:], "<f4").reshape(3, 7) == pose_rows(poses)).all()


def test_json_is_safe_in_a_script_element():
    text = to_json({"name": "</script><!-- <script>"})
    assert "<" not in text
    assert json.loads(text)["name"] == "</script><!-- <script>"


def test_json_refuses_what_is_not_json():
    with pytest.raises(TypeError, match="set"):
        to_json({"value": {1}})
    with pytest.raises(ValueError, match="JSON"):
        to_json({"value": float("nan")})
