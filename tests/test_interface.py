"""The public interface: names of the package, warnings, and how many arguments may be positional."""

import importlib
import inspect
import pkgutil
import subprocess
import sys
import warnings

import pytest

import treesim

POSITIONAL = 6  # forward_dynamics_hessian_vector(robot, q, v, tau, weights, direction)
# Body(name, parent, joint, inertia), sweep(robot, q0, v0, control), rollout(robot, q0, v0, control, dt, steps); results
EXEMPT = {"rollout", "Audit", "ContactReport", "ConstrainedAcceleration", "Diagnosis", "OperationalSpace", "Repaired"}
EXEMPT |= {"Body", "ConstrainedDynamicsDerivatives", "sweep", "Repetition", "Report", "Rollouts", "State", "Trajectory"}
EXEMPT |= {"rollout_vjp"}


def test_every_name_that_is_listed_exists():
    assert [name for name in dir(treesim) if not hasattr(treesim, name)] == []
    assert set(treesim.__all__) < set(dir(treesim))
    assert [name for name in dir(treesim) if name.startswith("_") and name != "__version__"] == []


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="'treesim' has no attribute 'forward_dynamic'"):
        _ = treesim.forward_dynamic


OF_OTHERS = {"rnea": "inverse_dynamics", "aba": "forward_dynamics", "crba": "mass_matrix"}
OF_OTHERS |= {"forward_kinematics": "frame_poses", "simulate": "Simulation"}


@pytest.mark.parametrize(("name", "call"), OF_OTHERS.items())
def test_names_of_other_libraries_are_answered_with_the_call(name, call):
    with pytest.raises(AttributeError, match=rf"'treesim' has no attribute '{name}': use treesim\.{call}\("):
        getattr(treesim, name)
    assert hasattr(treesim, call)


@pytest.mark.parametrize(
    "name", ["compare", "control", "errors", "formats", "live", "measures", "numbers", "policies", "testing"]
)
def test_modules_list_their_public_names_only(name):
    module = getattr(treesim, name)
    assert len(dir(module)) > 5 and [each for each in dir(module) if inspect.ismodule(getattr(module, each))] == []
    assert [each for each in dir(module) if each.startswith("_")] == []


def test_robots_list_no_internal_tables():
    robot = treesim.load("ur5")
    assert not {"ints", "reals", "spanning_tables"} & set(dir(robot)) and {"nq", "joints", "neutral"} < set(dir(robot))


def test_unknown_attributes_of_robots_are_answered_with_similar_ones():
    robot = treesim.load("ur5")
    with pytest.raises(AttributeError, match=r"no attribute 'njoints': did you mean n_joints "):
        _ = robot.njoints
    with pytest.raises(AttributeError, match=r"no attribute 'xyzzy'$"):
        _ = robot.xyzzy


def test_names_are_loaded_at_their_first_use():
    program = """
import sys, treesim
print(*sorted(name for name in sys.modules if "numpy" in name or "treesim." in name))
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ended.stdout.split() == ["treesim.system", "treesim.system.interrupts"]
    assert treesim.model is sys.modules["treesim.model"], "packages that the stub does not list are found as well"


def classes_of_warnings():
    for found in pkgutil.walk_packages(treesim.__path__, "treesim."):
        if not found.name.endswith("__main__"):
            yield from vars(importlib.import_module(found.name)).values()


def test_every_warning_is_exported_and_of_one_family():
    ours = {
        value
        for value in classes_of_warnings()
        if inspect.isclass(value) and issubclass(value, Warning) and value.__module__.startswith("treesim")
    }
    assert len(ours) > 10
    assert [kind for kind in ours if not issubclass(kind, treesim.TreesimWarning)] == []
    assert [kind for kind in ours if getattr(treesim, kind.__name__, None) is not kind] == []
    with (
        warnings.catch_warnings(record=True) as caught,
        warnings.catch_warnings(action="ignore", category=treesim.TreesimWarning),
    ):
        for kind in ours:
            warnings.warn("text", kind, stacklevel=1)
    assert caught == []


@pytest.mark.parametrize("name", sorted(set(treesim.__all__) - EXEMPT))
def test_few_arguments_are_positional(name):
    value = getattr(treesim, name)
    if not callable(value) or (inspect.isclass(value) and issubclass(value, Exception)):
        return
    positional = [p for p in inspect.signature(value).parameters.values() if p.kind == p.POSITIONAL_OR_KEYWORD]
    required = [p for p in positional if p.default is p.empty]
    assert len(positional) <= POSITIONAL
    assert len(positional) <= max(len(required), 3), "what is optional is given by name"
