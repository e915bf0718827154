"""Λ⁻¹ by every method against its definition J H⁻¹ Jᵀ."""

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treesim
from tests import golden, sensitivity, trees
from tests.trees import CATALOGUE, random_state
from treesim import plugins
from treesim.dynamics.operational.base import CompiledMethod
from treesim.engine.interpreter import run
from treesim.errors import UnknownNameError

METHODS = treesim.available("operational")
every_method = pytest.mark.parametrize("method", METHODS)


def matrix_and_rows(robot, q, frames, reference):
    """H and J."""
    rows = [treesim.frame_jacobian(robot, q, frame, reference=reference) for frame in frames]
    return treesim.mass_matrix(robot, q), np.concatenate([np.empty((0, robot.nv)), *rows])


def assert_definition(inverse, robot, q, frames, method, reference="world"):
    """Λ⁻¹ is J H⁻¹ Jᵀ, as far as rounding H and J, and the method's own losses, let it; both sides err."""
    H, J = matrix_and_rows(robot, q, frames, reference)
    loses = plugins.get("dynamics", method).capabilities.error_factor if method.startswith("constraint_force") else 1
    bound = (1 + loses) * sensitivity.of_inverse_inertia(H, J)
    assert sensitivity.farthest(inverse, J @ np.linalg.solve(H, J.T)) < bound


def frames_of(robot):
    """Leaves and inner bodies in no order, two of them on one path where the tree has such."""
    names = robot.body_names
    return [names[-1], names[0], robot.frame_names[-1], names[len(names) // 2]]


@pytest.mark.paper("F10 eq. 7", "F10 eq. 20, 21", "F10 eq. 22, 23")
@pytest.mark.parametrize("reference", ["world", "local"])
@pytest.mark.parametrize("name", CATALOGUE)
@every_method
def test_inverse_inertia_is_what_the_mass_matrix_and_the_jacobian_say(method, name, reference):
    robot = trees.tree(name)
    q = random_state(robot).q
    inverse = treesim.inverse_operational_inertia(robot, q, frames_of(robot), method=method, reference=reference)
    assert_definition(inverse, robot, q, frames_of(robot), method, reference)
    assert np.array_equal(inverse, inverse.T)


@pytest.mark.paper(
    "F10 eq. 7",
    "F10 eq. 27",
    "F10 eq. 31",
    "F10 section 8, ancest",
    "F10 section 8, ancest",
    "F10 appendix B, propagators",
    "F10 Figure 14",
    "F10 appendix B, Ω",
    "FF13 abstract, Λ⁻¹",
    "FF13 abstract, Λ⁻¹, serial",
)
@every_method
@given(trees.random_trees(armature=0.5), st.integers(0, 1000), st.data())
def test_inverse_inertia_on_random_trees_and_frames(method, robot, seed, data):
    frames = data.draw(st.lists(st.sampled_from(robot.frame_names), min_size=1, max_size=4))
    q = random_state(robot, seed).q
    inverse = treesim.inverse_operational_inertia(robot, q, frames, method=method)
    assert_definition(inverse, robot, q, frames, method)


@pytest.mark.parametrize("first_joint, case", [("revolute", "tree_1_revolute"), ("floating", "tree_1_free")])
@every_method
def test_golden_inverse_inertia_of_bodies_4_and_7(method, first_joint, case):
    expected, robot = golden.load(case), golden.worked_tree_1(first_joint)
    q = robot.neutral()
    q[-6:] = 0.1 * np.arange(2, 8)
    q[0] = 0.1 if first_joint == "revolute" else 0.0
    inverse = treesim.inverse_operational_inertia(robot, q, ["body_4", "body_7"], method=method, reference="local")
    diagonal = np.diag(golden.swap_halves(inverse, first=12))
    assert np.abs(diagonal - expected["LambdaInv_diag"]).max() < 6e-9  # printed to 8 digits
    assert np.trace(inverse) == pytest.approx(expected["trace_LambdaInv_4_7"], rel=1e-12)


@every_method
def test_a_frame_that_does_not_exist_is_named(method):
    robot = trees.tree("tree_1")
    with pytest.raises(UnknownNameError, match="bod_7"):
        treesim.inverse_operational_inertia(robot, robot.neutral(), ["bod_7"], method=method)


@every_method
def test_a_name_that_is_no_name_is_refused(method):
    robot = trees.tree("tree_1")
    with pytest.raises(UnknownNameError, match="frame"):
        treesim.inverse_operational_inertia(robot, robot.neutral(), [["body_7"]], method=method)


@pytest.mark.parametrize(
    "frames",
    [
        ["right_leg_ankle_roll", "tool", "left_front_finger", "bench"],
        ["bench"],
        pytest.param([], marks=pytest.mark.slow),
    ],
)
def test_all_methods_agree_to_forty_digits(frames):
    tool = treesim.Placement(translation=np.array([0.1, 0.2, 0.3]))
    frames_besides = [treesim.Frame("tool", 12, tool), treesim.Frame("bench", 0)]
    robot = treesim.Tree("asimo_at_work", trees.tree("asimo").bodies, frames=frames_besides)
    shape = (6 * len(frames),) * 2
    with mpmath.workdps(40):
        found = [plugins.get("operational", method) for method in METHODS]
        entries = [(type(x).entry, x.constants(robot, frames, "local")) for x in found if isinstance(x, CompiledMethod)]
        results = [run(*entry, (random_state(robot).q,), [shape], mpmath.mpf) for entry in entries]
        for (result,) in results[1:]:
            assert all(abs(x - y) < 1e-30 for x, y in zip(result.ravel(), results[0][0].ravel(), strict=True))
    compiled = treesim.inverse_operational_inertia(robot, random_state(robot).q, frames, reference="local")
    bound = sensitivity.of_inverse_inertia(*matrix_and_rows(robot, random_state(robot).q, frames, "local"))
    assert sensitivity.farthest(compiled, results[0][0].astype(float).reshape(shape)) <= bound


@pytest.mark.paper("F10 Figure 14", "F10 Figure 15")
@every_method
def test_deeper_branches_numbered_first(method):
    """The case in which Figure 15 of Featherstone 2010, as printed, marks blocks that Figure 14 never computes."""
    bodies = [
        treesim.Body(body.name, parent, body.joint, body.inertia)
        for body, parent in zip(trees.random_tree(0, 7).bodies, (0, 1, 2, 3, 4, 1, 1), strict=True)
    ]
    robot = treesim.Tree("deep_branch_first", bodies)
    q = random_state(robot).q
    for frames in (["body_5", "body_6"], ["body_6", "body_5"], ["body_7", "body_5", "body_6"]):
        inverse = treesim.inverse_operational_inertia(robot, q, frames, method=method)
        assert_definition(inverse, robot, q, frames, method)


@pytest.mark.paper("F10 section 2, bases", "F10 section 8, several robots")
@every_method
def test_frames_of_different_trees_and_of_the_base_do_not_couple(method):
    bodies = trees.tree("random_a").bodies
    robot = treesim.Tree("with_base_frame", bodies, frames=[treesim.Frame("bench", 0)])
    first, second = np.flatnonzero(robot.parent == 0)[:2]
    frames = [robot.body_names[first], "bench", robot.body_names[second]]
    inverse = treesim.inverse_operational_inertia(robot, random_state(robot).q, frames, method=method)
    blocks = inverse.reshape(3, 6, 3, 6).transpose(0, 2, 1, 3)
    coupled = np.array([[block.any() for block in row] for row in blocks])
    assert (coupled == np.diag([True, False, True])).all()


@every_method
def test_a_frame_asked_twice_gives_the_same_block_four_times(method):
    robot = trees.tree("random_b")
    inverse = treesim.inverse_operational_inertia(robot, random_state(robot).q, ["tool_6", "tool_6"], method=method)
    blocks = inverse.reshape(2, 6, 2, 6).transpose(0, 2, 1, 3).reshape(4, 6, 6)
    assert blocks[0].any() and np.allclose(blocks, blocks[0], rtol=1e-12, atol=1e-13)
