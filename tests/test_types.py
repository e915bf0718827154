"""Public types: the names they list are those that are known, and a type checker refuses what is no array or name."""

import inspect
import re
from pathlib import Path
from typing import get_args

import pytest

import treesim
from treesim import plugins, types
from treesim.cli.common import BASES
from treesim.dynamics.inverse_dynamics import INVERSE_DYNAMICS
from treesim.dynamics.mass_matrix import MASS_MATRIX
from treesim.dynamics.operational.frames import REFERENCES, SPATIAL
from treesim.dynamics.operational.rows import ROWS
from treesim.engine.call.evaluate import ENGINES
from treesim.model.shapes import SIZES
from treesim.urdf.repairs import ALL_UNAMBIGUOUS, REPAIRS

KNOWN = {
    types.Engine: ENGINES,
    types.Reference: REFERENCES,
    types.Base: BASES,
    types.InverseDynamicsMethod: INVERSE_DYNAMICS,
    types.MassMatrixMethod: MASS_MATRIX,
    types.JacobianReference: (*REFERENCES, SPATIAL),
    types.RowNames: ROWS,
    types.PluginKind: plugins.BUILT_IN,
    types.CollisionKind: SIZES,
    types.Repair: [ALL_UNAMBIGUOUS, *REPAIRS],
}

PROGRAM = """
import numpy as np
import treesim
from treesim import FrameConstraint, FrameTask, Inertia, Joint, Placement, Simulation, Tree

robot = treesim.load("panda")
q, v = [0.0] * robot.nv, np.zeros(robot.nv, np.float32)
bound = treesim.Dynamics(robot, engine="generic", gravity=(0, 0, -1), dtype="float32")
treesim.forward_dynamics(robot, q, v, tuple(q), f_ext=None, gravity=[0, 0, 1], armature=v, engine="specialized")
treesim.frame_jacobian(robot, q, "hand", reference="local")
treesim.rollout(robot, q, v, lambda t, q, v, p, u: None, policy_parameters=[1], kp=3)
Simulation(robot, controller=lambda t, q, v: [0.0] * 9, gravity=[0, 0, 0]).run(1.0, q0=q)
treesim.ltdl(robot.dof_parent, treesim.mass_matrix(robot, q))
robot.joint("panda_joint1").lower[0], robot.joints["panda_joint1"].axis.sum()
Simulation(robot, integrator="of_a_plugin", backend="rjk").run(1.0).contact.wrench["floor"]
FrameTask("hand", "linear", "local")
FrameConstraint("hand", rows=[[1, 0, 0, 0, 0, 0]], target=[0.0], reference="local")
Inertia(1.0, com=(0, 0, 1)), Placement(translation=[0, 0, 1]), Joint("a", "revolute", axis=np.eye(3)[0], lower=[1])

treesim.forward_dynamics(robot, None, v, v)  # wrong
treesim.forward_dynamics(robot, q, v, None)  # wrong
treesim.forward_dynamics(robot, q, v, v, engine="fast")  # wrong
treesim.mass_matrix(robot, None)  # wrong
treesim.mass_matrix(robot, q, method="rnea")  # wrong
treesim.frame_jacobian(robot, q, "hand", reference="body")  # wrong
treesim.load("panda", base="free")  # wrong
treesim.load("panda", mimic="refused")  # wrong
treesim.available("backends")  # wrong
treesim.rollout(robot, None, v)  # wrong
bound.forward_dynamics(q, v, None)  # wrong
bound.mass_matrix(q, out=[1.0])  # wrong
FrameTask("hand", reference="body")  # wrong
treesim.ltdl(robot.dof_parent, None)  # wrong
Joint("a", "revolute", lower=None)  # wrong
Simulation(robot, integrator=4)  # wrong
"""


OF_PLUGINS = {
    types.BackendName: "dynamics",
    types.OperationalMethod: "operational",
    types.ConstrainedMethod: "constrained",
    types.IntegratorName: "integrators",
    types.ContactSolverName: "contact_solvers",
}


@pytest.mark.parametrize(("names", "kind"), OF_PLUGINS.items(), ids=OF_PLUGINS.values())
def test_names_of_implementations_are_completed_and_others_allowed(names, kind):
    own, others = get_args(names)
    assert get_args(own) == tuple(plugins.BUILT_IN[kind]) and others is str


@pytest.mark.parametrize(("names", "known"), KNOWN.items(), ids=map(str, KNOWN))
def test_names_are_those_that_are_known(names, known):
    assert get_args(names) == tuple(known)


def arguments():
    """Every argument of public functions, classes and their methods: what has it, its name, and its type."""
    for name in treesim.__all__:
        thing = getattr(treesim, name)
        functions = (
            [thing] if inspect.isfunction(thing) else [f for _, f in inspect.getmembers(thing, inspect.isfunction)]
        )
        for function in functions:
            if function.__name__ == "__init__" or not function.__name__.startswith("_"):
                yield from ((name, p.name, p.annotation) for p in inspect.signature(function).parameters.values())


def test_arguments_have_types():
    """But for the results that a class of results is made of, what a user keeps with a trajectory, another library's
    client or model, and what is handed on."""
    untyped = {(name, argument) for name, argument, kind in arguments() if re.search(r"\bAny\b", str(kind))}
    assert untyped == {
        ("OperationalSpace", "rank"), ("Trajectory", "metadata"), ("Trajectory", "entries"), ("sweep", "client"),
        ("convert_state", "model"), ("Tree", "changes"),
    }  # fmt: skip


@pytest.mark.slow
def test_a_type_checker_accepts_what_is_right_and_refuses_what_is_wrong(tmp_path):
    api = pytest.importorskip("mypy.api")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    settings = Path(__file__).parent.parent / "pyproject.toml"
    details, problems, _ = api.run([str(program), "--config-file", str(settings), "--cache-dir", str(tmp_path)])
    found = {int(line) for line in re.findall(r"^.*program\.py:(\d+): error", details, re.MULTILINE)}
    wrong = {k for k, line in enumerate(PROGRAM.split("\n"), 1) if line.endswith("# wrong")}
    assert (found, problems) == (wrong, ""), details
