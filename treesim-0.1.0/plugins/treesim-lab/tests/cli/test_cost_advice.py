"""`treesim cost --advice`: advised and fastest algorithms."""

from treesim_lab.bench.advice import compared

import treesim
from treesim.dynamics.advice import advise
from treesim.model import generators as make


def test_rows_hold_the_advised_and_the_fastest():
    robot = make.balanced_binary_tree(3)
    forward, one_frame, four_frames = compared("binary", robot, 1)
    assert (forward["task"], one_frame["task"], four_frames["task"]) == (
        "forward dynamics",
        "Λ⁻¹, m = 6",
        "Λ⁻¹, m = 24",
    )
    assert forward["advised"] == advise(robot).name
    for row, kind in ((forward, "dynamics"), (one_frame, "operational"), (four_frames, "operational")):
        assert set(row["times_us"]) == set(treesim.available(kind)) - {"auto"}
        assert (
            row["fastest_us"] == min(row["times_us"].values()) <= row["advised_us"] == row["times_us"][row["advised"]]
        )
        assert (row["nv"], row["depth"]) == (7, 3)
