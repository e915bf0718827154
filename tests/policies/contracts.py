"""Contracts and networks for tests."""

import numpy as np

from treesim.policies import Port
from treesim.policies.layers import Layers

# Isaac Lab's order: breadth-first
JOINTS = [f"{leg}_{part}_joint" for part in ("hip", "thigh", "calf") for leg in ("FL", "FR", "RL", "RR")]
DEFAULT = [0.1, -0.1, 0.1, -0.1, 0.8, 0.8, 1.0, 1.0, -1.5, -1.5, -1.5, -1.5]
REST = '"F*_thigh_joint" = 0.8, "R*_thigh_joint" = 1.0, "*_calf_joint" = -1.5'
EXPLICIT = 'gains = "explicit", period = 0.005, effort_limit = 23.5, velocity_limit = 30.0'
GO2 = f"""
policy = 1
robot = "go2_description"
rate = 50.0
[physics]
dt = 0.005
[joints]
order = {JOINTS}
default = {{"*L_hip_joint" = 0.1, "*R_hip_joint" = -0.1, {REST}}}
[observation]
terms = [
  {{term = "base_linear_velocity", noise = 0.1}},   # comment
  {{term = "base_angular_velocity", noise = 0.2}},
  {{term = "projected_gravity", noise = 0.05}},
  {{term = "command", names = ["vx", "vy", "wz"]}},
  {{term = "joint_position", noise = 0.01}},
  {{term = "joint_velocity", noise = 1.5}},
  {{term = "last_action"}},
]
[action]
kind = "joint_position"
scale = 0.25
offset = "default"
[actuators]
"*" = {{type = "PositionServo", kp = 25.0, kd = 0.5, {EXPLICIT}}}
"""
GO2_IMPLICIT = GO2.replace(EXPLICIT, 'gains = "implicit"')


def changed(*pairs, text=GO2):
    """The contract with parts of its text replaced, each of which occurs once."""
    for old, new in pairs:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text.encode()


def with_terms(*terms):
    """The Go2's contract with other terms, each an inline table."""
    begin, end = GO2.index("terms = ["), GO2.index("[action]")
    return (GO2[:begin] + f"terms = [{', '.join(terms)}]\n" + GO2[end:]).encode()


def linear(n_in, n_out=12, weight=None, bias=None):
    """The network weight @ x + bias; zeros by default."""
    layers = Layers()
    W = np.zeros((n_out, n_in)) if weight is None else weight
    y = layers.dense(layers.inputs(n_in)[None], W, np.zeros(n_out) if bias is None else bias)
    return layers.network([Port("obs", n_in)], [], Port("actions", n_out), ["Gemm"], [y])
