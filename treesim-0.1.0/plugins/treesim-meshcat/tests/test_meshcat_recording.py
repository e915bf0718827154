"""Recordings: the file contains the motion, and needs nothing outside the file."""

from __future__ import annotations

from html.parser import HTMLParser

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from treesim_meshcat import MeshcatViewer
from treesim_meshcat.recording import recording_html

import treesim
from treesim import Body, Inertia, Joint, Placement, Tree, Visual
from treesim.errors import ArgumentError


def matrices(rows: np.ndarray) -> np.ndarray:
    """Return poses (..., 4, 4) of rows (..., 7), independently of the code under test."""
    poses = np.zeros((*rows.shape[:-1], 4, 4))
    poses[..., :3, :3] = Rotation.from_quat(rows[..., 3:].reshape(-1, 4)).as_matrix().reshape(*rows.shape[:-1], 3, 3)
    poses[..., :3, 3] = rows[..., :3]
    poses[..., 3, 3] = 1.0
    return poses


def test_poses_in_the_file_are_the_poses_of_the_bodies(robot, motion, scene_in):
    trajectory = motion(robot)
    animation = scene_in(recording_html(robot, trajectory, fps=20))["animation"]
    rows = animation["poses"].reshape(len(animation["times"]), robot.n_bodies + 1, 7)
    for time, shown in zip(animation["times"], matrices(rows), strict=True):
        k = np.argmin(np.abs(trajectory.t - trajectory.t[0] - time))
        np.testing.assert_allclose(shown, treesim.body_poses(robot, trajectory.q[k]), atol=1e-6)


@pytest.mark.parametrize(("fps", "dt"), [(30, 0.001), (7, 0.01), (1000, 0.1)])
def test_frames_are_states_at_their_own_times(robot, motion, scene_in, fps, dt):
    trajectory = motion(robot, dt=dt)
    times = scene_in(recording_html(robot, trajectory, fps))["animation"]["times"]
    recorded = (trajectory.t - trajectory.t[0]).astype(np.float32)
    assert np.isin(times, recorded).all()
    assert times[0] == 0 and times[-1] == recorded[-1]
    assert np.diff(times).max() <= max(1 / fps + dt, dt) * 1.001
    assert len(times) <= fps * recorded[-1] + 2


def test_a_single_state_is_a_picture(robot, motion, scene_in):
    scene = scene_in(recording_html(robot, motion(robot, duration=0.0)))
    assert scene["animation"]["times"].tolist() == [0.0]


class References(HTMLParser):
    """Parser that collects a page's references to other resources, and counts its scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.outside: list[str] = []
        self.scripts = 0
        self.policy = ""

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.scripts += tag == "script"
        values = dict(attributes)
        self.outside += [v for k, v in attributes if k in ("src", "href") and v and not v.startswith("data:")]
        if values.get("http-equiv") == "Content-Security-Policy":
            self.policy = values["content"] or ""


def references(html: str) -> References:
    parser = References()
    parser.feed(html)
    return parser


def test_the_file_needs_nothing_else(robot, motion):
    found = references(recording_html(robot, motion(robot)))
    assert found.outside == []
    assert "default-src 'none'" in found.policy and "connect-src 'none'" in found.policy


def test_names_are_text_and_never_markup(motion, scene_in):
    name = "</script><script>alert(1)</script><!--"
    plain, hostile = (
        Tree(label, [Body(label, 0, Joint("j", "revolute"), Inertia(1.0, np.array([0, 0, 1.0])))])
        for label in ("plain", name)
    )
    html = recording_html(hostile, motion(hostile))
    assert references(html).scripts == references(recording_html(plain, motion(plain))).scripts
    assert scene_in(html)["title"].startswith(name)


def test_every_body_has_a_path_of_its_own(robot, motion, scene_in):
    paths = scene_in(recording_html(robot, motion(robot)))["bodies"]
    assert paths == ["/robot/0 base", "/robot/1 trunk", "/robot/2 upper_arm", "/robot/3 forearm"]


def test_the_view_holds_the_whole_motion(robot, motion, scene_in):
    trajectory = motion(robot)
    view = scene_in(recording_html(robot, trajectory))["view"]
    points = np.array([treesim.body_poses(robot, q)[1:, :3, 3] for q in trajectory.q])
    assert np.linalg.norm(points - view["center"], axis=-1).max() <= view["radius"]
    assert not view["follow"]


def test_the_camera_follows_a_robot_that_leaves(robot, motion, scene_in):
    trajectory = motion(robot)
    trajectory.q[:, 2] -= 50 * (trajectory.t - trajectory.t[0])
    view = scene_in(recording_html(robot, trajectory))["view"]
    assert view["follow"] and view["radius"] < 2.0


def test_the_camera_stays_with_a_robot_that_loses_a_part(motion, scene_in):
    bodies = [
        Body("rod", 0, Joint("pin", "revolute"), Inertia(1.0)),
        Body("slide", 1, Joint("drop", "prismatic"), Inertia(1.0)),
    ]
    lossy = Tree("rod", bodies, visuals=[Visual(i, Placement(), "sphere", (0.1,)) for i in (1, 2)])
    trajectory = motion(lossy)
    trajectory.q[:, 1] -= 50 * (trajectory.t - trajectory.t[0])
    view = scene_in(recording_html(lossy, trajectory))["view"]
    assert not view["follow"] and view["radius"] < 2.0


def test_record_returns_the_path_it_wrote(robot, motion, tmp_path):
    path = MeshcatViewer().record(robot, motion(robot), str(tmp_path / "motion.html"), fps=10)
    assert path == tmp_path / "motion.html"
    assert path.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


@pytest.mark.parametrize("fps", [0, -30, float("nan"), float("inf")])
def test_bad_frame_rate(robot, motion, tmp_path, fps):
    with pytest.raises(ArgumentError, match="fps must be a positive number"):
        MeshcatViewer().record(robot, motion(robot), tmp_path / "motion.html", fps)
    assert list(tmp_path.iterdir()) == []


def test_trajectory_of_another_robot(robot, motion, tmp_path):
    other = Tree("pendulum", [Body("rod", 0, Joint("pin", "revolute"), Inertia(1.0))])
    with pytest.raises(ArgumentError, match="'pendulum' has nq = 1"):
        MeshcatViewer().record(other, motion(robot), tmp_path / "motion.html")


def test_path_that_cannot_be_written(robot, motion, tmp_path):
    with pytest.raises(ArgumentError, match="cannot write "):
        MeshcatViewer().record(robot, motion(robot), tmp_path / "missing" / "motion.html")
