"""Survey of installed robots: which load and can be simulated, after which repair, compared with Pinocchio."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from importlib.util import find_spec
from itertools import combinations
from pathlib import Path
from subprocess import TimeoutExpired
from typing import NamedTuple, cast, get_args

import numpy as np

from treesim.dynamics.forward_dynamics import forward_dynamics
from treesim.errors import TreesimError, UrdfError, UrdfWarning, named
from treesim.model.tree import Tree
from treesim.system.progress import counted
from treesim.system.subprocesses import python_command, run
from treesim.types import Base
from treesim.urdf import REPAIRS, Finding, RobotEntry, load
from treesim.urdf.repairs import ALL_UNAMBIGUOUS, UNAMBIGUOUS

STEPS, DT = 100, 1e-3  # semi-implicit Euler steps [s] from rest in the neutral configuration, without torques
NO_PINOCCHIO = "not installed"
LONGEST = 60  # [s] time limit of Pinocchio
CHANGED = "U314"

_PINOCCHIO = f"""
import json, sys
import numpy as np, pinocchio as pin
def steps(*root):
    model = pin.buildModelFromUrdf(sys.argv[1], *root)
    data, q, v = model.createData(), pin.neutral(model), np.zeros(model.nv)
    for k in range({STEPS}):
        v = v + {DT} * pin.aba(model, data, q, v, np.zeros(model.nv))
        q = pin.integrate(model, q, {DT} * v)
        if not np.isfinite([*q, *v]).all():
            return k
    return {STEPS}
try:
    print(json.dumps([steps(), steps(pin.JointModelFreeFlyer())]))
except (ValueError, RuntimeError) as error:
    print(json.dumps(["refuses it"] * 2))
"""


class LoadResult(NamedTuple):
    """Result of loading and simulating a robot on a base.

    result: "loads", "warning", "repaired" if it is simulated, else "refused" or "stops". repairs: names of the
    repairs that it needs. codes: of warnings and errors in the file. why: reason why it is not simulated.
    pinocchio: "simulates", "stops at step k", "refuses it", "crashes" or "not installed".
    """

    robot: str
    package: str
    base: str
    result: str
    repairs: tuple[str, ...]
    codes: tuple[str, ...]
    why: str
    pinocchio: str


def tried(entries: Sequence[RobotEntry]) -> list[LoadResult]:
    """Return a result for each robot, one per file, on a fixed and on a floating base.

    A robot is simulated if 100 steps of 1 ms from rest in its neutral configuration are finite. Takes about
    1 s for each.
    """
    files: dict[Path, RobotEntry] = {}
    for entry in entries:
        files.setdefault(entry.path, entry)
    return [outcome for entry in counted(list(files.values()), _name) for outcome in _outcomes(entry)]


def _name(entry: RobotEntry) -> str:
    return named(entry.name)


def _outcomes(entry: RobotEntry) -> Iterator[LoadResult]:
    bases: tuple[Base, ...] = get_args(Base)
    for base, pinocchio in zip(bases, pinocchio_outcomes(entry.path), strict=True):
        robot, codes, why = _tried(entry.path, base, ())
        result, repairs = ("warning" if codes else "loads"), tuple[str, ...]()
        if why:
            result = "refused" if robot is None else "stops"
            found = repairs_needed(entry.path, base)
            if found:
                result, repairs, why = "repaired", found, ""
        yield LoadResult(entry.name, entry.package, base, result, repairs, codes, why, pinocchio)


def repairs_needed(path: Path, base: Base) -> tuple[str, ...]:
    """Return the fewest repairs after which a robot is simulated, () if none suffice.

    At most two of the repairs that must be named are tried, in addition to the unambiguous ones.
    """
    named = [name for name in REPAIRS if name not in UNAMBIGUOUS]
    for more in (subset for count in range(3) for subset in combinations(named, count)):
        robot, _, why = _tried(path, base, (ALL_UNAMBIGUOUS, *more))
        if robot is not None and not why:
            hints = [note.hint for note in _notes(robot) if note.code == CHANGED]
            used = {name for hint in hints for name in re.findall(r'repair="(\w+)"', hint)}
            needless = {name for name in used if not _tried(path, base, tuple(used - {name}))[2]}
            return tuple(name for name in REPAIRS if name in used - needless) or tuple(sorted(used))
    return ()


def _tried(path: Path, base: Base, repairs: tuple[str, ...]) -> tuple[Tree | None, tuple[str, ...], str]:
    """Return the robot, if it loads, the codes of its findings, and the reason if it is not simulated."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UrdfWarning)
            robot = load(path, base=base, repair=repairs)  # type: ignore[arg-type]
    except UrdfError as error:
        errors = cast(tuple[Finding, ...], error.findings)
        return None, _codes(errors), errors[0].message
    return robot, _codes(note for note in _notes(robot) if note.severity == "warning"), _stop(robot)


def _notes(robot: Tree) -> tuple[Finding, ...]:
    return cast(tuple[Finding, ...], robot.notes)


def _codes(findings: Iterable[Finding]) -> tuple[str, ...]:
    return tuple(sorted({finding.code for finding in findings}))


def _stop(robot: Tree) -> str:
    """Return why the robot is not simulated; empty if it is."""
    q, v = robot.neutral(), np.zeros(robot.nv)
    for k in range(STEPS):
        try:
            v = v + DT * forward_dynamics(robot, q, v, np.zeros(robot.nv), engine="generic")
            q = robot.integrate(q, DT * v)
        except TreesimError as error:
            return str(error).partition(";")[0] if k == 0 else f"stops at step {k}"
    return ""


def pinocchio_outcomes(path: Path) -> tuple[str, str]:
    """Return Pinocchio's results for a file with a fixed and with a floating base, from a process of its own."""
    if find_spec("pinocchio") is None:
        return NO_PINOCCHIO, NO_PINOCCHIO
    try:
        ended = run(python_command(_PINOCCHIO, str(path)), timeout=LONGEST)
    except TimeoutExpired:
        return "hangs", "hangs"
    if ended.failed:
        return "crashes", "crashes"
    fixed, floating = json.loads(ended.output.splitlines()[-1])
    return _steps_text(fixed), _steps_text(floating)


def _steps_text(steps: int | str) -> str:
    if isinstance(steps, str):
        return steps
    return "simulates" if steps == STEPS else f"stops at step {steps}"
