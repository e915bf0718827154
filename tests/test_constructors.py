"""What users build robots and worlds from: whatever is given in the place of an argument is taken right, or named."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import treesim
from treesim import TreesimError

HINGE = treesim.Joint("hinge", "revolute")
POLE = treesim.Body("pole", 0, HINGE, treesim.Inertia(1.0))
PLACE = treesim.Placement()
ARM = treesim.Tree("arm", [POLE], frames=[treesim.Frame("tip", 1)])
CRATE = treesim.free_body("crate", "box", (0.1, 0.1, 0.1), 1.0)
FRAMES: dict[str, Any] = {"frame": "tip"}
MADE: dict[str, dict[str, Any]] = {  # what makes a right one of each
    "Body": {"name": "pole", "parent": 0, "joint": HINGE},
    "CenterOfMassTask": {},
    "CollisionShape": {"body": 1, "placement": PLACE, "kind": "sphere", "size": (0.1,)},
    "ExternalForce": {"link": "hand"},
    "Frame": {"name": "tip", "body": 1},
    "FrameConstraint": FRAMES,
    "FrameTask": FRAMES,
    "ContactForce": {"link": "pole"},
    "ForceTorque": {"joint": "hinge"},
    "FramePose": {"frame": "tip"},
    "IKTarget": {"task": "tip", "value": [0.0, 0.0, 0.0]},
    "Imu": {"frame": "tip"},
    "Waypoints": {"times": [0.0, 1.0], "positions": np.zeros((2, 3))},
    "DCMotor": {"resistance": 0.5, "torque_constant": 0.05},
    "Motor": {},
    "PositionServo": {"kp": 10.0, "kd": 1.0},
    "VelocityServo": {"kd": 1.0},
    "Conveyor": {"velocity": (1.0, 0.0, 0.0)},
    "JointTorque": {},
    "SensorErrors": {},
    "Ground": {},
    "HeightField": {"heights": np.zeros((3, 3))},
    "Inertia": {},
    "Joint": {"name": "hinge", "type": "revolute"},
    "Loop": {"name": "pin", "first": "tip", "second": "pole"},
    "LoopConstraint": {"first": "tip", "second": "pole"},
    "Mimic": {"joint": "hinge"},
    "PD": {"robot": ARM, "posture": [0.0], "kp": 1.0, "kd": 1.0},
    "Placement": {},
    "Pushed": {"controller": None, "robot": CRATE, "force": (1, 0, 0)},
    "RelativeTask": {"first": "tip", "second": "pole"},
    "StaticBox": {"size": (1, 1, 1)},
    "StaticMesh": {"vertices": np.eye(3), "triangles": [[0, 1, 2]]},
    "Surface": {},
    "Topology": {"parent": [0]},
    "Trajectory": {
        "robot_name": "arm", "t": [0.0], "q": [[0.0]], "v": [[0.0]], "tau": [[0.0]], "energy": [0.0],
        "joint_names": ("hinge",), "joint_types": ("revolute",),
    },
    "Tree": {"name": "arm", "bodies": [POLE]},
    "Weld": {"link": "gripper", "joint": "mount", "parent": "hand", "joints": ("finger",)},
    "Visual": {"body": 1, "placement": PLACE, "kind": "sphere", "size": (0.1,)},
    "World": {"robot": CRATE},
    "free_body": {"name": "crate", "kind": "box", "size": (1, 1, 1), "mass": 1.0},
}  # fmt: skip
RESULTS = {  # which treesim's functions return
    "Articulated", "ConstrainedAcceleration", "ConstrainedDynamicsDerivatives", "ContactReport", "ConvexParts",
    "Diagnosis", "Equilibrium", "Factorization", "ForwardDynamicsDerivatives", "FrameAccelerationDerivatives",
    "HessianVector", "IKResult", "InverseDynamicsDerivatives", "Linearization", "OperationalSpace", "Repaired",
    "Repetition", "Report", "RolloutGradient", "Rollouts", "SparseJacobian", "State", "StepGradient", "View",
}  # fmt: skip
MACHINES = {  # whose arguments have tests of their own
    "BatchFunction", "BatchStepper", "Dynamics", "Player", "Simulation", "Stepper",
}  # fmt: skip


class Odd:
    """An object without a text."""

    def __repr__(self) -> str:
        raise RuntimeError("no text")


NEVER: dict[str, Callable[[], Any]] = {  # what is no argument of any of them
    "bytes": lambda: b"bytes",
    "complex": lambda: 1j,
    "objects": lambda: np.array([1, "a", None], object),
    "ragged": lambda: [[1.0], [2.0, 3.0]],
    "too large": lambda: 10**400,
    "no digits": lambda: 10**5000,
    "nan": lambda: np.nan,
    "dictionary": lambda: {"a": 1},
    "set": lambda: {1, 2},
    "texts": lambda: ["a", b"b", None],
    "nones": lambda: [None] * 3,
    "complex numbers": lambda: [1j] * 3,
    "large numbers": lambda: [10**400] * 3,
    "nans": lambda: [np.nan] * 3,
    "flags": lambda: np.ones(3, bool),
    "object": object,
    "class": lambda: object,
    "odd": Odd,
    "masked": lambda: np.ma.masked_array([1.0, 2.0, 3.0], mask=[0, 1, 0]),
    "date": lambda: np.datetime64("2020-01-01"),
    "surrogate": lambda: "\ud800",
}
SOMETIMES: dict[str, Callable[[], Any]] = {
    "none": lambda: None,
    "text": lambda: "1",
    "empty": str,
    "long": lambda: "a" * 10**5,
    "true": lambda: True,
    "infinite": lambda: np.inf,
    "far": lambda: -1e308,
    "whole": lambda: -(2**70),
    "negative": lambda: -1,
    "zero": lambda: 0,
    "single": lambda: np.float32(1),
    "generator": lambda: (x for x in (1.0, 2.0)),
    "nothing": dict,
    "list": list,
    "three": lambda: range(3),
    "far numbers": lambda: [1e308, -1e308, 1e308],
    "zeros": lambda: np.zeros((3, 3)),
    "far matrix": lambda: np.full((3, 3), 1e308),
    "no rows": lambda: np.zeros((0, 3)),
    "unit": lambda: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
}
ANYTHING = {("Tree", "notes"), ("Trajectory", "provenance"), ("Trajectory", "metadata")}
# names of files may hold what is no Unicode
FILES = {("Visual", "file"), ("Visual", "texture"), ("CollisionShape", "file")}
NAN_TELLS = {("Trajectory", name) for name in ("t", "q", "v", "tau", "energy", "work")}  # of states that diverged


def parameters() -> Iterator[Any]:
    for name, right in MADE.items():
        for parameter in inspect.signature(getattr(treesim, name)).parameters:
            yield pytest.param(name, right, parameter, id=f"{name}-{parameter}")


def numbers_of(made: Any) -> Iterator[np.ndarray]:
    """The arrays, and numbers, among an object's attributes."""
    for label in getattr(type(made), "__slots__", None) or vars(made):
        value = getattr(made, label, None)
        if isinstance(value, float | np.ndarray) and np.asarray(value).dtype.kind == "f":
            yield np.asarray(value)


def test_every_public_class_is_listed() -> None:
    public = {name for name in treesim.__all__ if inspect.isclass(getattr(treesim, name))}
    raised = {name for name in public if issubclass(getattr(treesim, name), BaseException)}
    assert public - raised == {name for name in MADE if name != "free_body"} | RESULTS | MACHINES


@pytest.mark.parametrize(("name", "right", "parameter"), list(parameters()))
def test_what_is_given_is_taken_right_or_named(name: str, right: dict[str, Any], parameter: str) -> None:
    make = getattr(treesim, name)
    assert make(**right) is not None
    for label, value in (NEVER | SOMETIMES).items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", treesim.ShapeWarning)
            try:
                made = make(**{**right, parameter: value()})
            except TreesimError as error:
                assert parameter in str(error), (label, str(error))
                assert len(str(error)) < 1000
                continue
        if (name, parameter) in ANYTHING:
            continue
        if label in NEVER:
            known = {"nan": NAN_TELLS, "nans": NAN_TELLS, "surrogate": FILES}
            assert (name, parameter) in known.get(label, ()), label
        assert type(made).__name__ in repr(made)
        if name != "Trajectory":
            assert not any(np.isnan(array).any() for array in numbers_of(made)), label


@pytest.mark.parametrize("multiplier", [1e308, -1e200])
def test_multipliers_that_overflow_are_named(multiplier: float) -> None:
    mimic_joint = treesim.Joint("twin", "revolute", mimic=treesim.Mimic("hinge", multiplier), damping=1.0)
    with pytest.raises(treesim.ModelError, match=r"'twin' mimics 'hinge' by a multiplier .* too large"):
        treesim.Tree("arm", [POLE, treesim.Body("second", 1, mimic_joint)])


@pytest.mark.parametrize("limits", [{"lower": np.inf}, {"upper": -np.inf}])
def test_limits_that_leave_no_position_are_refused(limits: dict[str, float]) -> None:
    with pytest.raises(treesim.ModelError, match=r"'slide': (lower limit|limits) .*inf"):
        treesim.Joint("slide", "prismatic", **limits)  # type: ignore[arg-type]


def test_no_rotation_is_taken_for_one_because_its_products_overflow() -> None:
    for matrix in (np.full((3, 3), 1e308), [[1e308, 1, 0], [-1e308, 1, 0], [0, 0, 1]], -np.eye(3)):
        with pytest.raises(treesim.ModelError, match="not a rotation"):
            treesim.Placement(matrix)


def test_a_plane_s_normal_may_have_any_length() -> None:
    for length in (1e308, 1e-308, 5e-324):
        assert treesim.Ground(normal=(0, length, 0)).normal == (0.0, 1.0, 0.0)


def test_steps_of_no_length_are_refused() -> None:
    far = treesim.Joint("second", "revolute", placement=treesim.Placement(translation=(1e308, 0, 0)), axis=(0, 1, 0))
    robot = treesim.Tree("arm", [POLE, treesim.Body("second", 1, far, treesim.Inertia(1.0, (1, 0, 1)))])
    with pytest.raises(treesim.TreesimError, match=r"joint 'second' moves no inertia|substeps of"):
        treesim.Simulation(robot)
