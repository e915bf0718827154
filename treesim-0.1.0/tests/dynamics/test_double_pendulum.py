"""One robot three ways: equations of motion written by hand, a tree built in Python, and URDF text."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treesim
from tests import sensitivity
from treesim import Body, Inertia, Joint, Placement, Tree

M1, M2, L1, C1, C2, I1, I2, G = 1.2, 0.8, 0.5, 0.2, 0.3, 0.03, 0.02, 9.81  # kg, m, kg m^2 about the mass centres

URDF = f"""
<robot name="double_pendulum">
  <link name="support"/>
  <link name="upper">
    <inertial><origin xyz="0 0 {-C1}"/><mass value="{M1}"/>
      <inertia ixx="0.05" iyy="{I1}" izz="0.04" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <link name="lower">
    <inertial><origin xyz="0 0 {-C2}"/><mass value="{M2}"/>
      <inertia ixx="0.03" iyy="{I2}" izz="0.03" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <joint name="shoulder" type="continuous">
    <parent link="support"/><child link="upper"/><axis xyz="0 1 0"/>
  </joint>
  <joint name="elbow" type="continuous">
    <parent link="upper"/><child link="lower"/><origin xyz="0 0 {-L1}"/><axis xyz="0 1 0"/>
  </joint>
</robot>
"""


def by_hand() -> Tree:
    elbow = Joint("elbow", "continuous", placement=Placement(translation=np.array([0, 0, -L1])), axis=(0, 1, 0))
    upper = Inertia(M1, (0, 0, -C1), np.diag([0.05, I1, 0.04]))
    lower = Inertia(M2, (0, 0, -C2), np.diag([0.03, I2, 0.03]))
    return Tree("double_pendulum", [
        Body("upper", 0, Joint("shoulder", "continuous", axis=(0, 1, 0)), upper),
        Body("lower", 1, elbow, lower),
    ])  # fmt: skip


def mass_matrix(q2):
    coupling = M2 * L1 * C2 * np.cos(q2)
    h22 = I2 + M2 * C2**2
    h12 = h22 + coupling
    return np.array([[I1 + M1 * C1**2 + M2 * L1**2 + h22 + 2 * coupling, h12], [h12, h22]])


def bias(q, v):
    h = M2 * L1 * C2 * np.sin(q[1])
    lower_weight = M2 * C2 * G * np.sin(q[0] + q[1])
    weight = np.array([(M1 * C1 + M2 * L1) * G * np.sin(q[0]) + lower_weight, lower_weight])
    return np.array([-h * (2 * v[0] * v[1] + v[1] ** 2), h * v[0] ** 2]) + weight


ROBOTS = [by_hand, lambda: treesim.load(URDF)]
pairs = st.tuples(st.floats(-4, 4), st.floats(-4, 4)).map(np.array)


@pytest.mark.paper("J91 eq. 17")
@pytest.mark.nojit
@pytest.mark.parametrize("make", ROBOTS, ids=["by_hand", "urdf"])
@given(q=pairs, v=pairs, tau=pairs)
def test_equations_of_motion(make, q, v, tau):
    robot = make()
    assert np.allclose(treesim.mass_matrix(robot, q), mass_matrix(q[1]), rtol=1e-14, atol=1e-15)
    assert np.allclose(treesim.bias_forces(robot, q, v), bias(q, v), rtol=1e-12, atol=1e-13)
    expected = np.linalg.solve(mass_matrix(q[1]), tau - bias(q, v))
    for backend in treesim.available("dynamics"):
        a = treesim.forward_dynamics(robot, q, v, tau, backend=backend)
        bound = 2 * sensitivity.of_forward_dynamics(robot, q, v, tau, expected, backend)  # both err
        assert np.abs(a - expected).max() <= bound * np.abs(expected).max()


@pytest.mark.parametrize("make", ROBOTS, ids=["by_hand", "urdf"])
@given(q=pairs, v=pairs)
def test_energies_and_tip(make, q, v):
    robot = make()
    kinetic, potential = treesim.energy(robot, q, v)
    assert kinetic == pytest.approx(v @ mass_matrix(q[1]) @ v / 2, rel=1e-12, abs=1e-15)
    heights = -(M1 * C1 + M2 * L1) * np.cos(q[0]) - M2 * C2 * np.cos(q[0] + q[1])
    _, at_rest = treesim.energy(robot, np.zeros(2), np.zeros(2))
    assert potential - at_rest == pytest.approx(G * (heights + M1 * C1 + M2 * (L1 + C2)), abs=1e-12)
    elbow = treesim.frame_pose(robot, q, "lower")
    assert np.allclose(elbow[:3, 3], [-L1 * np.sin(q[0]), 0, -L1 * np.cos(q[0])], atol=1e-15)
