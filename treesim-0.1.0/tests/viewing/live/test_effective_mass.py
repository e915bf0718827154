"""The mass that is felt at a frame: it is Λ of the frame's origin, and what a force there accelerates."""

import math

import numpy as np
import pytest

import treesim
from tests.viewing.live.driven import ROBOT, Driven
from treesim.errors import UnknownNameError
from treesim.viewing.live import effective_mass as module
from treesim.viewing.live.effective_mass import effective_mass

Q = np.array([0.3, -1.0, 1.1, 0.2, 0.5, 0.1])


def test_it_is_the_operational_space_inertia_along_its_axes():
    felt = effective_mass(ROBOT, Q, "ee_link")
    axes = np.array(felt["axes"])
    space = treesim.operational_space(ROBOT, Q, np.zeros(6), treesim.FrameTask("ee_link", "linear"))
    np.testing.assert_allclose(axes * felt["masses"] @ axes.T, space.inertia, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(axes.T @ axes, np.eye(3), atol=1e-12)
    assert np.linalg.det(axes) == pytest.approx(1) and felt["masses"] == sorted(felt["masses"], reverse=True)
    np.testing.assert_allclose(felt["at"], treesim.frame_pose(ROBOT, Q, "ee_link")[:3, 3])


def test_a_force_along_an_axis_accelerates_that_mass_that_way():
    felt = effective_mass(ROBOT, Q, "ee_link")
    J = treesim.frame_jacobian(ROBOT, Q, "ee_link")[:3]
    for mass, axis in zip(felt["masses"], np.transpose(felt["axes"]), strict=True):
        qdd = treesim.forward_dynamics(ROBOT, Q, np.zeros(6), J.T @ axis, gravity=(0, 0, 0))
        np.testing.assert_allclose(J @ qdd, axis / mass, atol=1e-9)


def test_a_pendulum_is_felt_across_its_rod_alone():
    hinge, length = treesim.Joint("hinge", "revolute", axis=(0, 1, 0)), 0.5
    body = treesim.Body("rod", 0, hinge, treesim.Inertia(2.0, (0, 0, -length)))
    tip = treesim.Frame("tip", 1, treesim.Placement.from_xyz_rpy((0, 0, -length)))
    robot = treesim.Tree("pendulum", [body], frames=[tip])
    felt = effective_mass(robot, np.array([0.4]), "tip")
    assert felt["masses"][:2] == [None, None] and felt["masses"][2] == pytest.approx(2.0)
    axis = np.array(felt["axes"])[:, 2]
    assert abs(axis @ [math.cos(0.4), 0, -math.sin(0.4)]) == pytest.approx(1)


def test_a_page_chooses_the_frame():
    driven = Driven()
    assert driven.state["effective_mass"] is None and "ee_link" in driven.screen.panels[-1]["frames"]
    assert driven.set(frame="ee_link") == []
    assert driven.state["effective_mass"] == effective_mass(ROBOT, driven.player.q, "ee_link")
    (reply,) = driven.set(frame="nose")
    assert "nose" in reply and driven.state["frame"] == "ee_link"
    with pytest.raises(UnknownNameError):
        effective_mass(ROBOT, Q, "nose")


def test_an_axis_of_rounding_alone_has_no_mass(monkeypatch):
    mobility = np.diag([0.96e-9, 1.04e-9, 1, 0, 0, 0])
    monkeypatch.setattr(module, "inverse_operational_inertia", lambda robot, q, frame: mobility)
    assert effective_mass(ROBOT, Q, "ee_link")["masses"] == [None, pytest.approx(1 / 1.04e-9), 1]
