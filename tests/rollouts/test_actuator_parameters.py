"""Parameters of actuators of each rollout: as worlds with these actuators, and what cannot differ."""

from dataclasses import replace

import numpy as np
import pytest

import treesim
from treesim import ArgumentError, BatchStepper, DCMotor, Motor, PositionServo, UnsupportedError, VelocityServo, World

UR5 = treesim.load("ur5")
NAMES = UR5.joint_names
ACTUATORS = dict(zip(NAMES, (
    Motor(gear=20, rotor_inertia=1e-4, velocity_limit=3, effort_limit=50), Motor(gear=3, delay=0.004, lag=0.01),
    PositionServo(80, 8, delay=0.004, effort_limit=20, velocity_limit=4), VelocityServo(5, rate_limit=10.0),
    DCMotor(resistance=0.5, torque_constant=0.05, back_emf=0.06, voltage_limit=24, current_limit=20, gear=30),
    PositionServo(20, 1, rotor_inertia=0.02),
), strict=True))  # fmt: skip
VALUES = {
    "gear": {0: (10.0, 30.0), 4: (20.0, 40.0)}, "rotor_inertia": {0: (0.0, 3e-4), 5: (0.01, 0.05)},
    "velocity_limit": {0: (1.0, 6.0), 2: (0.5, 8.0)}, "delay": {1: (0.0, 0.0031), 2: (0.002, 0.004)},
    "lag": {1: (0.0, 0.05)}, "rate_limit": {3: (1.0, 1e4)}, "resistance": {4: (0.3, 1.0)},
    "torque_constant": {4: (0.02, 0.1)}, "back_emf": {4: (0.01, 0.2)}, "voltage_limit": {4: (5.0, 48.0)},
    "current_limit": {4: (1.0, 50.0)},
}  # fmt: skip
RNG = np.random.default_rng(0)
Q0, V0, U = RNG.uniform(-1, 1, 6), RNG.normal(size=6), 3 * RNG.normal(size=(30, 6))
RULES = ("implicit_midpoint", "semi_implicit_euler")


def given(values):
    return {f"actuator_{name}": {NAMES[k]: np.array(x) for k, x in own.items()} for name, own in values.items()}


def alone(changes, b, rule, **options):
    """Return the last state of a rollout in a world whose actuators have the values of rollout b."""
    actuators = dict(ACTUATORS)
    for name, own in changes.items():
        for k, values in own.items():
            new = float(values[b])
            actuators[NAMES[k]] = replace(actuators[NAMES[k]], **{name: new if new or name != "lag" else 0.0})
    return treesim.rollout(World(UR5, actuators=actuators), Q0, V0, U, integrator=rule, **options).q[0, -1]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", [*VALUES, "all"])
def test_each_rollout_is_that_of_a_world_with_its_actuators(name, rule):
    changes = VALUES if name == "all" else {name: VALUES[name]}
    runs = treesim.rollout(
        World(UR5, actuators=ACTUATORS), Q0, V0, U, integrator=rule, model_parameters=given(changes), substeps=2
    )
    for b in range(2):
        assert np.allclose(runs.q[b, -1], alone(changes, b, rule, substeps=2), rtol=0, atol=1e-10)
    assert abs(runs.q[0, -1] - runs.q[1, -1]).max() > 1e-6, "the values matter"


def test_strength_multiplies_laws():
    world = World(UR5, actuators={"*": PositionServo(50, 5)})
    parameters = {"actuator_strength": np.array([[0.5] * 6, [1.0] * 6])}
    runs = treesim.rollout(world, Q0, V0, U, model_parameters=parameters)
    weak = treesim.rollout(World(UR5, actuators={"*": PositionServo(25, 2.5)}), Q0, V0, U)
    assert np.allclose(runs.q[0], weak.q[0], rtol=0, atol=1e-10)
    assert np.allclose(runs.q[1], treesim.rollout(world, Q0, V0, U).q[0], rtol=0, atol=1e-10)


def test_a_stepper_of_many_states_replaces_them():
    world, parameters = World(UR5, actuators=ACTUATORS), given(VALUES)
    runs = treesim.rollout(world, Q0, V0, U, model_parameters=parameters)
    stepper = BatchStepper(world, 2, model_parameters=parameters)
    swapped = {name: {joint: x[::-1] for joint, x in own.items()} for name, own in parameters.items()}
    for now, order in ((parameters, [0, 1]), (swapped, [1, 0])):
        stepper.put(slice(None), Q0, V0, model_parameters=now)
        for u in U:
            stepper.step(u)
        assert np.allclose(stepper.q, runs.q[order, -1], rtol=0, atol=1e-12)


def test_sweeps_vary_them(tmp_path):
    world = World(UR5, actuators=ACTUATORS)
    vary = {
        "actuator_delay[elbow_joint]": treesim.sweeps.Uniform(0, 0.004),
        "actuator_gear": treesim.sweeps.scale(treesim.sweeps.Uniform(0.5, 2)),
    }
    study = treesim.sweep(
        world, samples=5, steps=30, vary=vary, control=U, keep="last", workers=1, store=tmp_path / "s.zarr"
    )
    assert study.done == 5 and np.unique(study.replay(3).q[0, -1]).size == 6
    gears = study.plan.inputs(np.arange(5)).physics["actuator_gear"]
    assert np.allclose(gears[:, 0] / 20, gears[:, 4] / 30) and not gears[:, [2, 3, 5]].any()


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"actuator_delay": {NAMES[1]: [0.005]}}, ArgumentError, "has a delay= of 0.004 s, the largest"),
        ({"actuator_delay": {NAMES[0]: [0.001]}}, ArgumentError, "has no actuator with this parameter"),
        ({"actuator_gear": np.ones((2, 6))}, ArgumentError, "has no actuator with this parameter: its value must be 0"),
        ({"actuator_gear": {NAMES[0]: [0.0]}}, ArgumentError, "needs values above 0, got 0"),
        ({"actuator_lag": {NAMES[1]: [-1.0]}}, ArgumentError, "actuator_lag"),
        ({"actuator_lag": {NAMES[1]: [np.nan]}}, treesim.NonFiniteError, "actuator_lag"),
        ({"actuator_weight": {NAMES[1]: [1.0]}}, treesim.UnknownNameError, "actuator_weight"),
        ({"actuator_rotor_inertia": {NAMES[0]: [1.0]}, "armature": {NAMES[0]: [1.0]}}, ArgumentError, "rotors"),
    ],
)  # fmt: skip
def test_invalid_parameters(parameters, error, message):
    with pytest.raises(error, match=message):
        treesim.rollout(World(UR5, actuators=ACTUATORS), Q0, V0, U, model_parameters=parameters)


@pytest.mark.parametrize(
    ("actuator", "field", "message"),
    [
        (Motor(delay=(0.0, 0.01)), "actuator_delay", "draws its delay"),
        (DCMotor(resistance=1, torque_constant=1, inductance=1), "actuator_resistance", "has inductance"),
        (
            PositionServo(1, 1, gains="explicit", period=0.001, velocity_limit=1, effort_limit=1),
            "actuator_velocity_limit", "has a period",
        ),
    ],
)  # fmt: skip
def test_what_cannot_differ(actuator, field, message):
    world = World(UR5, actuators={NAMES[0]: actuator})
    with pytest.raises((ArgumentError, UnsupportedError), match=message):
        treesim.rollout(world, Q0, V0, U, model_parameters={field: {NAMES[0]: [0.5]}})


def test_they_have_no_gradients():
    with pytest.raises(UnsupportedError, match=r"actuator_gear.*rollouts have no gradients in it"):
        treesim.rollout_vjp(
            World(UR5, actuators=ACTUATORS), Q0, V0, U, model_parameters={"actuator_gear": {NAMES[0]: [2.0]}}
        )
