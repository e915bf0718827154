"""Conformance checks of a file format (`treesim.simulation.files.Format`)."""

from __future__ import annotations

import tempfile
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from ..contact.bodies import free_body
from ..contact.ground import Ground
from ..errors import TreesimError
from ..model.generators import random_tree
from ..model.tree import Tree
from ..simulation.simulation import Simulation
from ..simulation.trajectory import Trajectory
from ..simulation.world import World
from ..system.files import DAMAGED
from .report import Conformance, begin, demand
from .samples import on_floating_base

ARRAYS = ("t", "q", "v", "tau", "energy", "work")
OF_CONTACT = ("wrench", "solver_info", "pair_wrench")
FACTS = ("robot_name", "joint_names", "joint_types", "metadata", "mimic_joints")


def sample_runs() -> dict[str, Trajectory]:
    """Return short trajectories: of joints of all types, with contact, and of a robot without joints."""
    robot = on_floating_base(random_tree(np.random.default_rng(1), 5, ("revolute", "spherical", "prismatic")))
    box = free_body("box", "box", (0.2, 0.2, 0.2), 1.0)
    above = np.array([0, 0, 0.1, 0, 0, 0, 1.0])
    return {
        "a floating tree": Simulation(robot).run(0.005),
        "a box on the ground": Simulation(World(box, ground=Ground())).run(0.005, above),
        "a robot without joints": Simulation(Tree("still", [])).run(0.002),
    }


def check_format(form: str | Any) -> Conformance:
    """Check that a file format meets the protocol `Format`.

    Trajectories with and without contact must be read as they were written: with all numbers, names and metadata. The
    format may refuse robots without joints. A truncated file, or a file of another program, must raise ValueError,
    OSError or an error of treesim.

    Parameters
    ----------
    form : str or Format
        Name in `available("formats")`, or an object.

    Returns
    -------
    Conformance
        All requirements, which are met.

    Raises
    ------
    ConformanceError
        If a requirement is not met. The message lists all such requirements.

    Examples
    --------
    >>> from treesim import testing
    >>> testing.check_format("npz").failures
    ()
    """
    form, checks = begin("formats", form)
    for method in ("write", "read"):
        with checks.require(f"has the function {method!r}"):
            demand(callable(getattr(form, method, None)), "it has none")
    if any(finding.problem for finding in checks.findings):
        return checks.report()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run"
        for name, run in sample_runs().items():
            with checks.require("reads what it wrote, or refuses to write it", name):
                if _is_written(form, run, path):
                    _demand_same(form.read(path), run)
        with checks.require("refuses a file that is cut off"):
            content = path.read_bytes()
            path.write_bytes(content[: len(content) // 2])
            _demand_refused(form, path, "half of a file")
        with checks.require("refuses a file of another program"):
            path.write_bytes(b"\x00treesim did not write this\n" * 9)
            _demand_refused(form, path, "a file of another program")
    return checks.report()


def _is_written(form: Any, run: Trajectory, path: Path) -> bool:
    """Write a trajectory; return False if the format refuses one without joints by an error of treesim."""
    stream = BytesIO()
    try:
        form.write(run, stream)
    except TreesimError:
        if run.joint_names:
            raise
        return False
    path.write_bytes(stream.getvalue())
    return True


def _demand_same(found: Any, run: Trajectory) -> None:
    """Require a trajectory equal to the bit."""
    demand(isinstance(found, Trajectory), f"read() returns a {type(found).__name__}")
    for name in ARRAYS:
        _demand_equal(name, getattr(found, name), getattr(run, name))
    for name in FACTS:
        demand(getattr(found, name) == getattr(run, name), f"{name} is {getattr(found, name)!r}")
    demand((found.contact is None) == (run.contact is None), f"contact is {found.contact!r}")
    if run.contact is not None:
        for name in OF_CONTACT:
            _demand_equal(f"contact.{name}", getattr(found.contact, name), getattr(run.contact, name))


def _demand_equal(name: str, found: np.ndarray, expected: np.ndarray) -> None:
    same = found.shape == expected.shape and np.array_equal(found, expected, equal_nan=True)
    # a lost sign of zero compares as equal; that of NaN means nothing
    same = same and not (np.signbit(found) != np.signbit(expected))[~np.isnan(expected)].any()
    demand(same, f"{name} is not equal to the bit")


def _demand_refused(form: Any, path: Path, what: str) -> None:
    try:
        form.read(path)
    except (*DAMAGED, OSError, TreesimError):
        return
    demand(False, f"{what} is read")
