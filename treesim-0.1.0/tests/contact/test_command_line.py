"""`treesim simulate --ground`: a robot is put on the floor, and the account tells of contact."""

import json

import pytest
from typer.testing import CliRunner

import treesim
from treesim.cli.main import app

HUMANOID = ("simulate", "simple_humanoid", "--base", "floating", "--duration", "0.2")


def run(*arguments):
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_the_account_tells_of_contact(tmp_path):
    file = tmp_path / "fall.npz"
    result = run(*HUMANOID, "--ground", "--ground-friction", 0.7, "--out", file, "--json")
    assert result.exit_code == 0, result.stderr
    account = json.loads(result.stdout)
    contact, kept = account["contact"], treesim.Trajectory.load(file)
    assert contact["most_contacts"] > 0 and contact["largest_penetration"] < 1e-3 and contact["left_out"] == 0
    assert contact["largest_certificate"] <= 1e-9
    assert contact["largest_residual"] == kept.contact.solver_info[:, 1].max()
    assert account["momentum"]["linear_drift"] is None and "ground" in account["momentum"]["note"]
    robot = treesim.load("simple_humanoid", base="floating")
    assert abs(treesim.lowest_point(robot, kept.q[0]).gap) < 1e-12
    assert kept.penetration.shape == (201,)


def test_the_table_tells_of_contact():
    result = run(*HUMANOID, "--ground")
    assert result.exit_code == 0 and "contacts, penetration" in " ".join(result.stdout.split())


def test_without_a_floor_it_falls_freely():
    account = json.loads(run(*HUMANOID, "--json").stdout)
    assert account["momentum"]["linear_drift"] < 1e-9


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--ground-friction", "0.5"), "--ground-friction is that of the floor: give --ground too"),
        (("--ground", "--ground-friction", "-1"), "--ground-friction: friction must be a number, 0 or more"),
        (("--ground", "--contact-solver", "psg"), "unknown contact solver 'psg': did you mean 'pgs'"),
        (("--ground", "--integrator", "rk4"), "integrator 'rk4' does not simulate contact"),
        (("--ground", "--q0", "root_joint.z=-1"), "inside Ground"),
    ],
)
def test_mistakes_are_told(options, message):
    result = run(*HUMANOID, *options)
    assert result.exit_code != 0 and message in " ".join(result.stderr.split())


def test_a_robot_without_shapes_has_nothing_to_stand_on(tmp_path):
    path = tmp_path / "bare.urdf"
    path.write_text(
        '<robot name="bare"><link name="a"><inertial><mass value="1"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>'
    )
    result = run("simulate", path, "--base", "floating", "--duration", "0.1", "--ground")
    text = " ".join(result.stderr.split())
    assert result.exit_code != 0 and "--ground: " in text and "nothing to touch the ground with" in text
