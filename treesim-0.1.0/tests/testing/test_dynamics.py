"""The conformance check of backends: all of treesim's pass, and each way to break a promise is found."""

import numpy as np
import pytest

import treesim
from tests import sensitivity
from treesim import testing
from treesim.dynamics.base import Capabilities
from treesim.model import generators as make

ROBOTS = [make.tree_1(), make.chain(3, ("floating", "revolute", "spherical"))]


# one of each kind; the check itself needs a second for each
EVERYDAY = ("aba", "crba_ltdl", "constraint_force", "divide_and_conquer", "conjugate_gradient", "reference")


@pytest.mark.parametrize(
    "backend",
    [pytest.param(name, marks=[pytest.mark.slow] * (name not in EVERYDAY)) for name in treesim.available("dynamics")],
)
def test_every_backend_keeps_its_promises(backend):
    def bound(*given, **options):
        return sensitivity.of_forward_dynamics(*given, backend, **options)

    report = testing.check_dynamics(backend, bound=bound)
    assert not report.failures
    assert {finding.robot for finding in report.findings} >= {robot.name for robot in testing.sample_robots()}


class Backend:
    """Articulated bodies under another name, to be broken."""

    name = "mine"
    capabilities = Capabilities(cost="O(N)", source="this file")

    def forward_dynamics(self, robot, q, v, tau, f_ext=None, gravity=None, armature=None):
        return treesim.forward_dynamics(robot, q, v, tau, f_ext=f_ext, gravity=gravity, armature=armature)


def broken(**members):
    return type("Broken", (Backend,), members)()


def changed(change):
    """A backend whose results are changed."""

    def forward_dynamics(self, robot, *given, **options):
        return change(robot, Backend.forward_dynamics(self, robot, *given, **options), given)

    return broken(forward_dynamics=forward_dynamics)


def without(**replaced):
    """A backend that does not hear of some arguments."""

    def forward_dynamics(self, robot, q, v, tau, f_ext=None, gravity=None, armature=None):
        options = {"f_ext": f_ext, "gravity": gravity, "armature": armature} | replaced
        return Backend.forward_dynamics(self, robot, q, v, tau, **options)

    return broken(forward_dynamics=forward_dynamics)


def written_to(robot, qdd, given):
    given[0][...] = 0
    return qdd


def any_shape(self, robot, q, v, tau, **options):
    n = robot.nv
    return Backend.forward_dynamics(self, robot, np.resize(q, robot.nq), np.resize(v, n), np.resize(tau, n), **options)


def raw_error(self, robot, q, v, tau, **options):
    if np.shape(q)[-1:] != (robot.nq,):
        raise IndexError("out of range")
    return Backend.forward_dynamics(self, robot, q, v, tau, **options)


RESULT = []


def one_array(robot, qdd, given):
    if not RESULT or RESULT[0].shape != qdd.shape:
        RESULT[:] = [qdd]
    RESULT[0][...] = qdd
    return RESULT[0]


BROKEN = {
    "less exact than it declares": (changed(lambda robot, qdd, given: qdd * (1 + 1e-6)), "solves the equation"),
    "deaf to external forces": (without(f_ext=None), "solves external forces"),
    "deaf to gravity": (without(gravity=None), "solves another gravity"),
    "deaf to armature": (without(armature=None), "solves another armature"),
    "a list": (changed(lambda robot, qdd, given: qdd.tolist()), "not a numpy array"),
    "single precision": (changed(lambda robot, qdd, given: qdd.astype(np.float32)), "float32"),
    "one state only": (changed(lambda robot, qdd, given: qdd.reshape(-1)[: robot.nv]), "batches"),
    "the same array always": (changed(one_array), "shares memory"),
    "writes to its arguments": (changed(written_to), "leaves arguments alone"),
    "takes any shape": (broken(forward_dynamics=any_shape), "refuses q of a wrong shape"),
    "a raw error": (broken(forward_dynamics=raw_error), "IndexError"),
    "no cost": (broken(capabilities=Capabilities()), "cost and its source"),
    "no name": (broken(name=None), "attribute 'name'"),
    "no capabilities": (broken(capabilities={"cost": "O(N)"}), "attribute 'capabilities'"),
}


def test_one_that_is_whole_passes():
    assert not testing.check_dynamics(Backend(), ROBOTS).failures


@pytest.mark.parametrize("backend, why", BROKEN.values(), ids=BROKEN)
def test_a_broken_promise_is_found_and_named(backend, why):
    with pytest.raises(testing.ConformanceError, match=why) as caught:
        testing.check_dynamics(backend, ROBOTS)
    assert caught.value.report.failures


def test_what_is_not_declared_is_not_asked_for():
    capabilities = Capabilities(
        joint_types=("revolute",), external_forces=False, armature=False, cost="O(N)", source="this file"
    )
    modest = without(f_ext=None, armature=None)
    modest.capabilities = capabilities
    report = testing.check_dynamics(modest, ROBOTS)
    assert {finding.robot for finding in report.findings} == {"", "tree_1"}


def test_a_report_shows_itself():
    report = testing.check_dynamics("aba", ROBOTS[:1])
    assert repr(report) == f"<Conformance of forward-dynamics backend 'aba': {len(report.findings)} requirements met>"
    assert str(report.findings[-1]) == "refuses tau of NaN [tree_1]: met"
    assert "solves external forces" in report._repr_html_()


def test_nan_in_a_result_is_not_near_anything():
    with pytest.raises(testing.ConformanceError, match="not finite"):
        testing.check_dynamics(changed(lambda robot, qdd, given: qdd * np.nan), ROBOTS[:1])


@pytest.mark.parametrize(
    ("capabilities", "options", "refused"),
    [
        (Capabilities(joint_types=("spherical",)), {}, "revolute joint"),
        (Capabilities(external_forces=False), {"f_ext": np.zeros((7, 6))}, "f_ext"),
        (Capabilities(armature=False), {"armature": np.ones(7)}, "armature"),
    ],
)
def test_forward_dynamics_refuses_what_a_backend_does_not_declare(capabilities, options, refused):
    robot, zero = ROBOTS[0], np.zeros(7)
    with pytest.raises(treesim.UnsupportedError, match=f"'mine' does not support .*{refused}"):
        treesim.forward_dynamics(robot, zero, zero, zero, backend=broken(capabilities=capabilities), **options)
