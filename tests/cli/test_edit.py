"""`treesim edit`: every option, the written file, and mistakes."""

import json

import numpy as np
import pytest

import treesim as library


@pytest.fixture
def edited(treesim, robot, tmp_path):
    """Edit the toy robot, and return what the written file loads as."""

    def edit(*options):
        done = treesim("edit", robot, *options, "-o", tmp_path / "new.urdf")
        assert done.exit_code == 0, done.stderr
        return library.load(tmp_path / "new.urdf")

    return edit


def test_a_joint_is_locked(edited, robot):
    toy = library.load(robot)
    locked = edited("--lock", "knee=0.3")
    assert locked.nv == 2 and locked.mass == pytest.approx(toy.mass)
    q = toy.neutral()
    q[toy.q_index["knee"]] = 0.3
    one = library.frame_pose(toy, q, "shank")
    assert np.allclose(library.frame_pose(locked, locked.neutral(), "shank"), one, atol=1e-12)


def test_links_are_removed_and_kept(edited):
    assert edited("--without", "thigh").nv == 1
    assert edited("--subtree", "thigh").nv == 1


def test_a_robot_is_attached_and_a_frame_added(edited, make_robot):
    tool = make_robot("tool")
    both = edited("--attach", tool, "at=shank,xyz=0 0 0.1,prefix=tool_", "--frame", "tip", "parent=tool_arm,rpy=0 0 1")
    assert both.nv == 6 and {"shank", "tool_trunk", "tool_arm", "tip"} <= {*both.frame_names}
    poses = [library.frame_pose(both, both.neutral(), name) for name in ("shank", "tool_trunk")]
    assert np.allclose(np.linalg.inv(poses[0]) @ poses[1], library.Placement.from_xyz_rpy((0, 0, 0.1)).matrix())


def test_it_is_rerooted_mirrored_and_renamed(edited):
    assert edited("--reroot", "shank").nv == edited("--mirror", "xz").nv == 3
    assert "lower_leg" in edited("--rename", "shank=lower_leg").frame_names


def test_counts_are_printed(treesim, robot, tmp_path):
    done = treesim("edit", robot, "--lock", "knee=0.3", "-o", tmp_path / "new.urdf")
    assert "4 links, 2 moving joints" in " ".join(done.stdout.split())
    done = treesim("edit", robot, "-o", tmp_path / "new.urdf", "--json")
    assert json.loads(done.stdout) == {"robot": "toy", "file": str(tmp_path / "new.urdf"), "links": 4, "joints": 3}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--lock", "elbow=0.3"), "unknown joint 'elbow'"),
        (("--lock", "knee"), "--lock takes JOINT=POSITION, got 'knee'"),
        (("--lock", "knee=far"), "--lock: 'far' is not a number"),
        (("--without", "tail"), "'tail'"),
        (("--frame", "tip"), "--frame is given once, but 0 places begin with parent="),
        (("at=shank",), "--attach is given 0 times, but 1 place begins with at="),
        (("shank",), "'shank' is no place: it must begin with at= or parent="),
        (("--frame", "tip", "parent=shank,xyz=1 2"), "--frame: xyz must be 3 finite numbers, got [1.0, 2.0]"),
        (("--frame", "tip", "parent=shank,xzy=1 2 3"), "unknown word of --frame 'xzy'"),
        (("--frame", "shank", "parent=trunk"), "'shank'"),
        (("--mirror", "xw"), "'xw'"),
    ],
)
def test_mistakes_are_named(treesim, robot, tmp_path, options, message):
    done = treesim("edit", robot, *options, "-o", tmp_path / "new.urdf")
    assert done.exit_code == 2 and message in " ".join(done.stderr.split())
    assert not (tmp_path / "new.urdf").exists()


def test_a_file_of_another_kind_is_refused(treesim, robot, tmp_path):
    done = treesim("edit", robot, "-o", tmp_path / "new.txt")
    assert done.exit_code == 2 and ".urdf" in done.stderr
