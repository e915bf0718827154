"""Readings of sensors and contact points in files: kept to the bit, or left out with a warning."""

from __future__ import annotations

import pickle
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import treesim
from tests.formats.runs import assert_same
from treesim import Trajectory
from treesim.errors import ArgumentError, ConversionWarning
from treesim.formats import write_lerobot, write_mcap

NEEDS = {".parquet": "pyarrow", ".nc": "xarray", ".mcap": "rosbags.typesys"}
FOOT = "left_ankle_roll_link"


@cache
def walking(points: bool = True) -> Trajectory:
    """A humanoid with every kind of sensor, on the ground."""
    robot = treesim.load("g1_29dof_rev_1_0", base="floating")
    sensors = [treesim.Imu("pelvis"), treesim.ForceTorque("left_ankle_roll_joint"), treesim.ContactForce(FOOT)]
    sensors += [treesim.FramePose("pelvis"), treesim.JointTorque()]
    world = treesim.World(robot, ground=treesim.Ground(), sensors=sensors)
    q = treesim.standing(robot, robot.neutral())
    q[2] += 1e-2  # some steps have no contact
    return treesim.Simulation(world, contact_points=points).run(0.06, q0=q)


def saved(run: Trajectory, path: Path) -> Trajectory:
    pytest.importorskip(NEEDS.get(path.suffix, "numpy"))
    return Trajectory.load(run.save(path))


@pytest.mark.parametrize("suffix", [".npz", ".nc", ".mcap"])
def test_files_hold_readings_and_contact_points(suffix: str, tmp_path: Path) -> None:
    run = walking()
    again = saved(run, tmp_path / f"run{suffix}")
    assert_same(again, run)
    assert len(again.contacts(-2)) > 0 and not len(again.contacts(0))
    assert treesim.replay(again).same
    assert_same(pickle.loads(pickle.dumps(again)), run)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_tables_hold_readings_and_warn_of_contact_points(suffix: str, tmp_path: Path) -> None:
    with pytest.warns(ConversionWarning, match=r"hold no contact points.*take \.npz, \.nc or \.mcap") as caught:
        again = saved(walking(), tmp_path / f"run{suffix}")
    assert [each.filename for each in caught] == [__file__]
    run = walking()
    assert run.contact is not None
    assert_same(again, replace(run, contact=replace(run.contact, points=None, first_point=None)))
    assert again.contact is not None
    with pytest.raises(ArgumentError, match="contact points were not recorded"):
        again.contacts(0)


def test_datasets_of_runs_without_a_contact_point(tmp_path: Path) -> None:
    robot = treesim.free_body("ball", "sphere", (0.1,), 1.0)
    simulation = treesim.Simulation(treesim.World(robot, ground=treesim.Ground()), contact_points=True)
    run = simulation.run(0.01, q0=[0, 0, 1, 0, 0, 0, 1])
    assert_same(saved(run, tmp_path / "run.nc"), run)


@pytest.mark.parametrize("label", ["sensor.imu_pelvis", "contact.points.force", "contact.points.body"])
def test_digests_reveal_changed_readings_and_points(label: str, tmp_path: Path) -> None:
    path = walking().save(tmp_path / "run.npz")
    with np.load(path) as archive:
        arrays = dict(archive)
    if label.startswith("sensor"):
        arrays["sensor_0"][3, 1] += 1e-9
    elif label.endswith("force"):
        arrays["contact_points"]["force"][0, 0] += 1e-9
    else:
        arrays["contact_points"]["body"][0] = "somebody"
    np.savez(path, **arrays)
    with pytest.raises(ArgumentError, match=f"numbers of {label} are not those"):
        Trajectory.load(path)


def test_messages_of_sensors(tmp_path: Path) -> None:
    pytest.importorskip("rosbags.typesys")
    messages = pytest.importorskip("tests.formats.test_mcap").messages
    run = walking()
    found = messages(run.save(tmp_path / "run.mcap"))
    robot = treesim.load("g1_29dof_rev_1_0", base="floating")
    unknown = messages(write_mcap(Trajectory.load(run.save(tmp_path / "a.npz")), tmp_path / "b.mcap", robot))
    assert found.keys() == unknown.keys()
    for name in run.sensors:
        assert len(found[f"/sensor/{name}"]) == len(run) - 1, "the last state starts no step"
    for k in (0, len(run) - 2):
        stamp, imu = found["/sensor/imu_pelvis"][k]
        a, w = imu.linear_acceleration, imu.angular_velocity
        assert [a.x, a.y, a.z, w.x, w.y, w.z] == run.sensors["imu_pelvis"][k].tolist()
        assert (
            stamp == round(run.t[k] * 1e9) and imu.orientation_covariance[0] == -1 and imu.header.frame_id == "pelvis"
        )
        wrench = found["/sensor/force_torque_left_ankle_roll_joint"][k][1]
        f, m = wrench.wrench.force, wrench.wrench.torque
        assert [f.x, f.y, f.z, m.x, m.y, m.z] == run.sensors["force_torque_left_ankle_roll_joint"][k].tolist()
        assert wrench.header.frame_id == FOOT, "a joint's child link"
        force = found[f"/sensor/contact_force_{FOOT}"][k][1]
        assert force.header.frame_id == "world"
        assert [force.vector.x, force.vector.y, force.vector.z] == run.sensors[f"contact_force_{FOOT}"][k].tolist()
        pose = found["/sensor/frame_pose_pelvis"][k][1].pose
        p, r = pose.position, pose.orientation
        assert [p.x, p.y, p.z, r.x, r.y, r.z, r.w] == run.sensors["frame_pose_pelvis"][k].tolist()
        torque = found["/sensor/joint_torque"][k][1]
        assert list(torque.effort) == run.sensors["joint_torque"][k].tolist() and len(torque.name) == robot.nv


def test_lerobot_features_of_sensors(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    run = walking(points=False)
    write_lerobot(run, tmp_path / "set", fps=500)
    table = parquet.read_table(tmp_path / "set/data/chunk-000/file-000.parquet")
    imu = np.array(table["observation.imu_pelvis"].to_pylist())
    np.testing.assert_array_equal(imu, run.sensors["imu_pelvis"][:-1:2].astype(np.float32))
    with pytest.raises(ArgumentError, match="trajectory 1 has <Readings of no sensors>"):
        other = treesim.Simulation(treesim.World(treesim.load("g1_29dof_rev_1_0", base="floating"))).run(0.01)
        write_lerobot([run, other], tmp_path / "other", fps=500)
