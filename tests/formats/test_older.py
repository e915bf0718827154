"""Files of older versions, whose fields had other names, are read."""

from pathlib import Path

import numpy as np
import pytest

from treesim import Trajectory

OLDER = Path(__file__).parent / "older"


@pytest.mark.parametrize("suffix", [".npz", ".nc"])
def test_fields_that_were_renamed_are_read(suffix: str) -> None:
    pytest.importorskip("xarray" if suffix == ".nc" else "numpy")
    run = Trajectory.load(OLDER / f"crate{suffix}")
    assert run.mimic_joints == {"right_hinge": ("left_hinge", -1.0, 0.1)} and len(run) == 5
    assert run.contact is not None and run.contact.bodies == ("crate",)
    force = run.contact.wrench["crate"][:-1, 2]
    assert (force > 0).all() and (run.contact.solver_info[:-1, 3] == 4).all(), "four corners of the crate press"
    assert np.isfinite(run.q).all() and run.metadata["energy_range"] > 0


def test_simulations_of_older_files_are_replayed() -> None:
    from treesim import replay

    repetition = replay(Trajectory.load(OLDER / "crate.npz"))
    np.testing.assert_allclose(repetition.trajectory.q, Trajectory.load(OLDER / "crate.npz").q, atol=1e-9)
