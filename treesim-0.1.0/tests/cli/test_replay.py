"""`treesim replay`: exit codes, and what is printed of a run that comes out the same, or not, or cannot."""

import json
from dataclasses import replace

import treesim as library
from treesim.formats import load

FIXED = ("--base", "fixed")  # the toy's root link has two joints, and would float


def test_the_same_bits_end_in_code_0(treesim, robot, tmp_path):
    out = tmp_path / "run.npz"
    options = ("--duration", 0.05, "--q0", "hip=0.5", "--controller", "hold", "--kp", 20, "--out", out)
    assert treesim("simulate", robot, *FIXED, *options).exit_code == 0
    again = treesim("replay", out)
    assert again.exit_code == 0 and "the same bits" in again.stdout
    details = json.loads(treesim("replay", out, "--json").stdout)
    assert (details["same"], details["states"], details["first"], details["reasons"], details["notes"]) == (
        True,
        51,
        None,
        [],
        [],
    )


def test_other_bits_end_in_code_1(treesim, robot, tmp_path):
    out = tmp_path / "run.npz"
    treesim("simulate", robot, *FIXED, "--duration", 0.05, "--q0", "hip=0.5", "--out", out)
    run = load(out)
    v = run.v.copy()
    v[4, 2] += 1e-9
    replace(run, v=v).save(out)
    again = treesim("replay", out)
    assert again.exit_code == 1 and "v of 'shoulder' at step 4" in " ".join(again.stdout.split())
    details = json.loads(treesim("replay", out, "--json").stdout)
    assert details["first"]["step"] == 4 and details["reasons"]


def test_what_cannot_be_repeated_ends_in_code_2(treesim, tmp_path):
    robot = library.load("ur5")
    run = library.Simulation(robot, controller=lambda t, q, v: [0.0] * 6).run(0.002)
    for path in (run.save(tmp_path / "run.npz"), tmp_path / "none.npz"):
        refused = treesim("replay", path)
        assert refused.exit_code == 2 and refused.stderr


def test_a_changed_urdf_is_told(treesim, robot, tmp_path):
    out = tmp_path / "run.csv"
    treesim("simulate", robot, *FIXED, "--duration", 0.01, "--out", out)
    with open(robot, "a") as stream:
        stream.write("<!-- changed -->")
    again = treesim("replay", out, "--source", robot)
    assert again.exit_code == 0 and "has changed" in again.stdout
    assert "has changed" not in treesim("replay", out).stdout
