"""Names of rows, which tasks and constraints share."""

import numpy as np
import pytest

import treesim
from treesim import ArgumentError, FrameConstraint, FrameTask, LoopConstraint, NonFiniteError, RelativeTask
from treesim.dynamics.constrained.constraints import constraint_tables
from treesim.dynamics.operational.rows import ROWS

ROBOT = treesim.load("ur5")
Q = np.full(6, 0.5)
KINDS = {
    "task": lambda rows: FrameTask("ee_link", rows=rows),
    "relative task": lambda rows: RelativeTask("forearm_link", "ee_link", rows=rows),
    "constraint": lambda rows: FrameConstraint("ee_link", rows=rows),
    "loop": lambda rows: LoopConstraint("ee_link", "forearm_link", rows=rows),
}


@pytest.mark.parametrize("rows, expected", [(None, np.eye(6)), *ROWS.items()], ids=["None", *ROWS])
def test_tasks_and_constraints_have_the_same_words(rows, expected):
    J = treesim.frame_jacobian(ROBOT, Q, "ee_link")
    task = treesim.operational_space(ROBOT, Q, np.zeros(6), KINDS["task"](rows))
    np.testing.assert_allclose(task.jacobian, expected @ J, atol=1e-15)
    assert np.array_equal(constraint_tables(ROBOT, [KINDS["constraint"](rows)]).rows, expected)
    assert KINDS["relative task"](rows).count == len(constraint_tables(ROBOT, [KINDS["loop"](rows)]).rows)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "rows, error, message",
    [
        ("linaer", treesim.UnknownNameError, "did you mean 'linear'"),
        (np.ones(6), ArgumentError, "rows"),
        (np.ones((2, 5)), ArgumentError, "rows"),
        (np.full((1, 6), np.nan), NonFiniteError, "rows"),
    ],
)
def test_other_rows_are_refused(kind, rows, error, message):
    with pytest.raises(error, match=message):
        KINDS[kind](rows)


def test_rows_of_the_center_of_mass():
    assert np.array_equal(treesim.CenterOfMassTask("all").matrix, treesim.CenterOfMassTask().matrix)
    with pytest.raises(treesim.UnknownNameError, match="known are: all"):
        treesim.CenterOfMassTask("linear")
