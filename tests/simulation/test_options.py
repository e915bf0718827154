"""Options of a step: one object for simulations, steppers and rollouts."""

import copy
import inspect
import pickle
from dataclasses import fields, replace

import numpy as np
import pytest

import treesim
from treesim.model import generators
from treesim.simulation.options import StepOptions

ROBOT = generators.chain(2)
FRONTS = treesim.Simulation, treesim.Stepper, treesim.BatchStepper, treesim.rollout


@pytest.mark.parametrize("front", FRONTS, ids=lambda front: front.__name__)
def test_defaults_are_those_of_the_options(front):
    parameters, options = (
        inspect.signature(front).parameters,
        {field.name: field.default for field in fields(StepOptions)},
    )
    shared = options.keys() & parameters.keys()
    assert shared >= {"dt", "integrator", "backend", "engine", "substeps", "contact_solver"}
    assert {name: parameters[name].default for name in shared} == {name: options[name] for name in shared}


@pytest.mark.parametrize(
    "name, value", [("dt", 0.0), ("gravity", (0, 0)), ("threads", 0), ("engine", "fast"), ("contact_solver", "none")]
)
def test_invalid_options_are_named_when_they_are_made(name, value):
    with pytest.raises(treesim.ArgumentError, match=name.replace("_", ".")):
        StepOptions(**{name: value})


def test_options_that_differ_in_threads_alone_are_equal():
    options = StepOptions(kp=(1.0, 2.0), threads=1)
    assert options == replace(options, threads=2) != replace(options, dt=2e-3)
    assert hash(options) == hash(replace(options, threads=2))


def test_copies_keep_gravity_and_gains_of_their_own():
    gravity, kp = np.array([0.0, 0.0, -1.0]), np.ones(2)
    options = StepOptions(gravity=gravity, kp=kp)
    own = options.copied("threads")
    gravity[2], kp[0] = 5.0, 5.0
    assert options.gravity[2] == -1 and own["kp"][0] == 1 and "threads" not in own
    for other in (copy.deepcopy(options), pickle.loads(pickle.dumps(options))):
        assert np.array_equal(other.gravity, options.gravity) and other.dt == options.dt


def test_a_copy_of_a_stepper_has_the_gains_of_its_construction():
    kp = np.full(2, 50.0)
    stepper = treesim.Stepper(ROBOT, kp=kp)
    kp[:] = 0.0
    assert np.array_equal(copy.copy(stepper).settings.table, stepper.settings.table)
