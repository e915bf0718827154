"""Contracts: faults name the file, line and key, and what would be right."""

import re

import numpy as np
import pytest

import treesim
from tests.policies.contracts import GO2, JOINTS, changed, linear, with_terms
from treesim.errors import ArgumentError, TreesimError
from treesim.policies import Contract, load
from treesim.policies.toml_tables import parsed


@pytest.fixture(scope="module")
def go2():
    return treesim.load("go2", base="floating")


def test_the_contract_of_the_go2():
    contract = Contract.from_toml(GO2.encode())
    assert contract.joints == tuple(JOINTS) and contract.dt == 0.005
    assert contract.default == (0.1, -0.1, 0.1, -0.1, 0.8, 0.8, 1.0, 1.0, -1.5, -1.5, -1.5, -1.5)
    assert repr(contract) == "<Contract: 48 numbers of 7 terms to 12 joint positions at 50 Hz>"
    assert contract == Contract.from_toml(GO2.encode())
    assert contract != Contract.from_toml(GO2.replace("0.25", "0.5").encode())


OF_FILE = {
    "a range without its name": (
        (('["vx", "vy", "wz"]', '["vx", "vy", "wz"], range = {vz = [0, 1]}'),),
        "line 15: observation.terms[3].range.vz is wrong: unknown key 'vz'"),
    "a range of nothing": (
        (('["vx", "vy", "wz"]', '["vx", "vy", "wz"], range = {vx = [1, 1]}'),),
        "line 15: observation.terms[3].range.vx must be two increasing numbers [low, high], got"),
    "unknown key": ((("rate = 50.0", "rates = 50.0"),), "line 4: rates is wrong: unknown key 'rates': did you mean"),
    "unknown key of a table": (
        (("dt = 0.005\n", "dts = 0.005\n"),), "line 6: physics.dts is wrong: unknown key 'dts': did you mean 'dt'?"),
    "version": ((("policy = 1", "policy = 2"),), "line 2: policy is the version of the format, which must be 1, got 2"),
    "missing key": ((("rate = 50.0\n", ""),), "the contract: the key 'rate' is missing"),
    "unknown term": (
        (('"joint_velocity"', '"joint_speed"'),), "line 17: observation.terms[5].term is wrong: unknown term"),
    "term that is not computed": (
        (('"joint_velocity"', '"height_scan"'),), "line 17: observation.terms[5].term 'height_scan' is not supported"),
    "joint twice": ((("'FR_hip_joint'", "'FL_hip_joint'"),), "line 8: joints.order[1] lists 'FL_hip_joint' again"),
    "number": ((("scale = 0.25", "scale = nan"),), "line 22: action.scale must be a finite number, or an array of 12"),
    "count": ((("scale = 0.25", "scale = [1, 2]"),), "line 22: action.scale has 2 numbers, but 12 are needed"),
    "not positive": ((("rate = 50.0", "rate = -50"),), "line 4: rate must be a positive number, got -50"),
    "pattern without a joint": ((("F*_thigh_joint", "F*_knee"),), "line 9: joints.default.F*_knee matches no joint"),
    "joint without a number": (
        ((', "*_calf_joint" = -1.5', ""),), "line 9: joints.default has no number for joint 'FL_calf_joint'"),
    "order of a quaternion": (
        (('"joint_velocity",', '"joint_velocity", order = "wxyz",'),),
        "line 17: observation.terms[5].order is the order of a quaternion or of a history, and this term has none"),
    "delay": (
        (('"joint_velocity",', '"joint_velocity", delay = 0.03,'),), "must be a whole multiple of 0.02 s, the period"),
    "delay of a servo": (
        (("kd = 0.5", "kd = 0.5, delay = -0.01"),), "actuators.*.delay is wrong: delay of PositionServo must be"),
    "period of implicit gains": (
        (('gains = "explicit", ', ""),), "line 25: actuators.* is wrong: PositionServo: period is that of a digital"),
    "key of an actuator": ((("kd = 0.5", "kd = 0.5, gear = 2"),), "actuators.*.gear is wrong: unknown key 'gear'"),
    "gain": ((("kd = 0.5, ", ""),), "line 25: actuators.* lacks the key 'kd'"),
    "kind": (
        (('"joint_position"\n', '"joint_speed"\n'),), "line 21: action.kind is wrong: unknown kind 'joint_speed'"),
    "actuator": (
        (('"PositionServo"', '"Motor"'),),
        "line 25: actuators.*.type must be 'PositionServo' for actions 'joint_position', got 'Motor'"),
    "joint without an actuator": (
        (('[actuators]\n"*"', '[actuators]\n"*_hip_joint"'),), "actuators has no actuator for joint 'FL_thigh_joint'"),
    "clip": ((("scale = 0.25", "scale = 0.25\nclip = [1, -1]"),), "line 23: action.clip must be two increasing num"),
    "observed link": (
        (('"base_linear_velocity",', '"base_linear_velocity", of = "imu",'),), "terms[0].of is not supported: veloc"),
    "text": ((("[physics]", "[physics"),), "the contract is not a TOML file: "),
}  # fmt: skip


@pytest.mark.parametrize("name", OF_FILE)
def test_faults_of_a_file(name):
    pairs, message = OF_FILE[name]
    with pytest.raises(ArgumentError, match=re.escape(message)):
        Contract.from_toml(changed(*pairs))


OF_ROBOT = {
    "joint": (
        (("'FR_hip_joint'", "'FR_hip'"), ('"*R_hip_joint"', '"*R_hip*"')),
        "line 8: joints.order[1] is wrong: unknown joint 'FR_hip' of 'go2_description': did you mean 'FR_hip_joint'"),
    "robot": ((("go2_d", "go1_d"),), "line 3: robot is 'go1_description', but the robot is 'go2_description'"),
    "joint without an action": (
        (("scale = 0.25", f"scale = 0.25\njoints = {JOINTS[:11]}"),), "hold has no entry for joint 'RR_calf_joint'"),
    "state": ((("[action]", '[network]\nstate = {h_in = "h_out"}\n[action]'),), "unknown state 'h_in' of the network"),
}  # fmt: skip


@pytest.mark.parametrize("name", OF_ROBOT)
def test_faults_of_a_contract_for_a_robot(name, go2):
    pairs, message = OF_ROBOT[name]
    with pytest.raises(ArgumentError, match=re.escape(message)):
        load(linear(47, 11) if name == "joint without an action" else linear(48), changed(*pairs), go2)


def test_sizes_of_the_network(go2):
    with pytest.raises(ArgumentError) as caught:
        load(linear(45), GO2.encode(), go2)
    shown = str(caught.value)
    assert "line 11: observation.terms have 48 numbers, but the network takes 45: obs (45)" in shown
    assert re.search(r"projected_gravity +3  6 to 8\n", shown) and re.search(r"last_action +12  36 to 47$", shown)
    with pytest.raises(ArgumentError, match=r"line 20: action is for 12 joints, but the network has 4 actions"):
        load(linear(48, 4), GO2.encode(), go2)


def test_a_fixed_base_has_no_terms_of_the_base():
    with pytest.raises(ArgumentError, match=r"terms\[0\] base_height needs a floating base: load .* base='floating'"):
        load(linear(1), with_terms('{term = "base_height"}'), treesim.load("go2", base="fixed"))


def test_files_are_read_and_refused(tmp_path):
    file = tmp_path / "p.toml"
    file.write_bytes(GO2.encode())
    assert Contract.from_toml(file) == Contract.from_toml(GO2.encode())
    file.write_bytes(b"\n\nrate = 0\npolicy = 1")
    with pytest.raises(ArgumentError, match=re.escape(f"{file}, line 3: rate must be a positive number")):
        Contract.from_toml(file)
    for content in (b"\xff", b"a = " + b"[" * 5000, b"a." * 200000 + b"a = 1", b"#" * (1 << 20) + b"#"):
        with pytest.raises(ArgumentError, match=r"is not a TOML file|at most"):
            Contract.from_toml(content)
    for given in (3, None):
        with pytest.raises(ArgumentError, match="contract must be the name of a file, or bytes"):
            Contract.from_toml(given)


def test_lines_of_all_forms_of_toml():
    text = (
        b'a = 1 # x = 2\n"b.c" = """\n[no]\n"""\n[t."u v"]\nd.e = [\n 1,\n {f = \'}\', g = [2, 3]},\n]\n'
        b"[[s]]\nh = 1979-05-27 07:32:00\n[[s]]\n[s.k]\nm = -1e3"
    )
    assert {key: line for key, line in parsed(text, "x").source.lines.items() if not isinstance(key[-1], int)} == {
        ("a",): 1, ("b.c",): 2, ("t", "u v"): 5, ("t", "u v", "d", "e"): 6, ("t", "u v", "d", "e", 1, "f"): 8,
        ("t", "u v", "d", "e", 1, "g"): 8, ("s", 0, "h"): 11, ("s", 1, "k"): 13, ("s", 1, "k", "m"): 14,
    }  # fmt: skip


def test_mutants_of_contracts_are_read_or_refused(go2):
    """Errors of treesim only, whatever a value or a line becomes."""
    random, network, lines = np.random.default_rng(0), linear(48), GO2.split("\n")
    values = [match.span() for match in re.finditer(r'(?<== )("[^"]*"|[\d.]+|\[[^\]\n]*\])', GO2)]
    others = ("3", "-1", "nan", '""', "[]", "{}", "true", "1979-05-27", "[[1]]", "1e400", "9" * 400, '["x"]', "[{}]")
    refused = 0
    for k in range(300):
        start, end = values[random.integers(len(values))]
        line, place = random.integers(len(lines)), random.integers(len(GO2))
        text = (
            GO2[:start] + others[random.integers(len(others))] + GO2[end:],
            "\n".join(lines[:line] + lines[line + 1 :]),
            GO2[:place] + '[]{}",=.\n#'[random.integers(10)] + GO2[place + random.integers(3) :],
        )[k % 3]
        try:
            load(network, text.encode(), go2)
        except TreesimError:
            refused += 1
    assert 200 < refused < 300
