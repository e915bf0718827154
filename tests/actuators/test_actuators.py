"""Records of actuators: their laws, limits and torque-speed lines, and invalid parameters."""

import pickle

import numpy as np
import pytest

import treesim
from treesim import ArgumentError, DCMotor, Motor, PositionServo, VelocityServo
from treesim.actuators.base import Law, Line

WINDING = {"resistance": 0.5, "torque_constant": 0.05}

NO_CURVES = (
    3, "curve", [], [(0, 1)], ((0, 1), (0, 2)), ((0, 1), (1, np.inf)), [(0, 3), (1, 2, 0), (2, 1)],
    [(0, 3), (2, 2), (1, 1)], [(0, 3), (1, 2), (1, 1)], [(0, 3), (1, 3), (2, 0)], [(0, 3), (1, 1), (2, 2)],
    [(0, 3), (1, 2), (2, -1)], [(-1, 3), (1, 2), (2, 0)], [(0, 3), (1, np.nan), (2, 0)], [(0, 3), (np.nan, 2), (2, 0)],
    [(k, 9 - k) for k in range(9)],
)  # fmt: skip


def test_laws_are_affine():
    assert Motor(gear=10)._law == Law(gain=10)
    assert PositionServo(20, 2)._law == Law(kp=20, kd=2) and PositionServo(20, 2, gains="explicit")._law.explicit
    assert VelocityServo(3)._law == Law(gain=3, kd=3)
    law = DCMotor(**WINDING, back_emf=0.06, gear=20)._law
    assert (law.gain, law.kd) == pytest.approx((20 * 0.05 / 0.5, 20**2 * 0.05 * 0.06 / 0.5))


def test_limits():
    """Lines end at a speed, go through points of a curve, or are those of the largest voltage."""
    assert Motor()._lines(5.0) == [] and Motor()._effort(5.0) == 5.0 and Motor(effort_limit=3)._effort(5.0) == 3.0
    assert Motor(velocity_limit=10)._lines(5.0) == [Line(0, 5.0, 0.5)]
    assert Motor(curve=[(2, 8), (10, 0)])._lines(5.0) == [Line(2, 10.0, 1.0)]
    motor = Motor(curve=[(0, 10), (2, 8), (4, 4), (5, 0)])
    assert motor._lines(5.0) == [Line(0, 10, 1), Line(2, 12, 2), Line(4, 20, 4)]
    motor = DCMotor(**WINDING, gear=20, voltage_limit=24, current_limit=30)
    assert motor._effort(1e3) == pytest.approx(30) and motor._effort(10.0) == 10
    assert motor._lines(30.0)[0] == pytest.approx((0, 48, 2)), "its no-load speed is 24 V / (20 * 0.05 V s)"
    assert Motor(gear=10, rotor_inertia=0.1)._armature == pytest.approx(10)
    assert PositionServo(1, 1, rotor_inertia=0.1)._armature == 0.1


@pytest.mark.parametrize(
    "actuator",
    [
        Motor(gear=2, curve=((0, 3), (4, 0))), Motor(curve=((0, 3), (2, 2), (4, 0))), DCMotor(**WINDING),
        PositionServo(1, 2, gains="explicit"),
        VelocityServo(1, damping=3, joint_friction=1),
    ],
)  # fmt: skip
def test_records_are_values(actuator):
    same = pickle.loads(pickle.dumps(actuator))
    assert same == actuator and hash(same) == hash(actuator) and repr(same) == repr(actuator)
    with pytest.raises(AttributeError):
        actuator.damping = 1.0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Motor(gear=0), "gear of Motor must be a number, finite, above 0"),
        (lambda: Motor(gear="ten"), "gear of Motor must be a number.*got 'ten'"),
        (lambda: Motor(rotor_inertia=-1), "rotor_inertia of Motor must be a number, finite, not negative"),
        (lambda: Motor(damping=np.nan), "damping of Motor must be a number, finite"),
        (lambda: Motor(effort_limit=-1), "effort_limit of Motor"),
        (lambda: Motor(velocity_limit=0), "velocity_limit of Motor must be a number, finite, above 0"),
        (lambda: Motor(velocity_limit=1)._lines(1e30), "velocity_limit needs an effort_limit"),
        (lambda: Motor(velocity_limit=1, curve=((0, 1), (1, 0))), "curve replaces the line to velocity_limit"),
        *((lambda curve=curve: Motor(curve=curve), "curve of Motor must be two to 8 points") for curve in NO_CURVES),
        (lambda: PositionServo(-1, 1), "kp of PositionServo"),
        (lambda: PositionServo(1, [1, 2]), "kd of PositionServo"),
        (lambda: PositionServo(1, 1, gains="both"), "gains must be 'implicit' or 'explicit', got 'both'"),
        (lambda: VelocityServo(np.inf), "kd of VelocityServo"),
        (lambda: DCMotor(resistance=0, torque_constant=1), "resistance of DCMotor"),
        (lambda: DCMotor(**WINDING, voltage_limit=-1), "voltage_limit of DCMotor"),
        (lambda: Motor(gear=None), "gear of Motor"),
        (lambda: PositionServo(None, 1), "kp of PositionServo"),
    ],
)
def test_invalid_parameters(make, message):
    with pytest.raises(ArgumentError, match=message):
        make()


def test_names_are_public():
    assert {"Motor", "DCMotor", "PositionServo", "VelocityServo"} <= set(treesim.__all__)
