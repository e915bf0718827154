"""Verification of the rules' predictions by running a program on a file, in a process of its own."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import TimeoutExpired
from typing import Any

from lxml import etree

from treesim.errors import listed, shortened
from treesim.system.subprocesses import file_command, run
from treesim.urdf.document import Document

from .outcome import Outcome

ENGINES = Path(__file__).with_name("engines.py")
EXPANDED = "U105"  # the finding's code
TOLERANCE = 1e-6  # relative, of masses: single precision in some programs
TIME_LIMIT = 60.0  # s


@dataclass(frozen=True)
class Verification:
    """Result of a program for a file, compared with the rules' predictions.

    reader: its name. version: of the program; "" if it refused. error: its message when it refused the file, or
    how its process ended; "" if it loaded the file. nv, mass: of its model. differences: what the rules do not
    predict.

    Example:
        >>> from treesim_importers import verifications
        >>> (found,) = verifications('<robot name="fan"><link name="base"/></robot>', ["pinocchio"])
        >>> found.nv, found.mass, found.differences
        (0, 0.0, ())
    """

    reader: str
    version: str
    error: str
    nv: int
    mass: float
    differences: tuple[str, ...]


def verify(reader: str, outcome: Outcome, time_limit: float = TIME_LIMIT) -> Verification:
    """Return the result of a reader's program for the import result's description; time_limit: [s]."""
    with _file_of(outcome.description) as path:
        answer = _asked(reader, path, time_limit)
    dofs, masses = answer.get("dofs", {}), answer.get("masses", {})
    return Verification(
        reader, answer.get("version", ""), answer.get("error", ""), sum(dofs.values()), sum(masses.values()),
        tuple(_differences(outcome, answer)),
    )  # fmt: skip


@contextmanager
def _file_of(description: Document) -> Iterator[Path]:
    """Context with the description's file, or a temporary one for text and expanded xacro.

    Relative names of meshes do not resolve in the temporary folder.
    """
    if description.path is not None and EXPANDED not in description.codes:
        yield description.path.resolve()
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "robot.urdf"
        path.write_bytes(etree.tostring(description.root))
        yield path


def _asked(reader: str, path: Path, time_limit: float) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "answer.json"
        try:
            done = run(file_command(ENGINES, reader, str(path), str(answer)), timeout=time_limit)
        except TimeoutExpired:
            return {"error": f"not finished in {time_limit:g} s"}
        if not answer.is_file():
            return {"error": f"the process ended: {done.failed or 'it wrote no answer'}"}
        return json.loads(answer.read_text(encoding="utf-8"))


def _differences(outcome: Outcome, answer: dict[str, Any]) -> Iterator[str]:
    if "error" in answer:
        if not outcome.refused:
            yield f"it does not load the file, which no rule predicts: {shortened(answer['error'], 200)}"
        return
    if outcome.refused:
        yield "it loads the file, although a rule predicts a refusal"
        return
    yield from _different_dofs(outcome.dofs, answer["dofs"])
    yield from _different_masses(outcome.masses, answer["masses"])


def _different_dofs(predicted: dict[str, int], found: dict[str, int]) -> Iterator[str]:
    links = [link for link in {**predicted, **found} if predicted.get(link, 0) != found.get(link, 0)]
    if links:
        details = ", ".join(f"{link!r} {found.get(link, 0)} instead of {predicted.get(link, 0)}" for link in links[:3])
        yield f"nv is {sum(found.values())}, {sum(predicted.values())} predicted: {details}"


def _different_masses(predicted: dict[str, float], found: dict[str, float]) -> Iterator[str]:
    for text, names in (
        ("bodies that no rule predicts", found.keys() - predicted.keys()),
        ("bodies that are missing", predicted.keys() - found.keys()),
    ):
        if names:
            yield f"{text}: {listed(sorted(names))}"
    wrong = [name for name in predicted.keys() & found.keys() if not _same(predicted[name], found[name])]
    for name in sorted(wrong)[:3]:
        yield f"body {name!r} weighs {found[name]:.6g} kg, {predicted[name]:.6g} predicted"


def _same(predicted: float, found: float) -> bool:
    return math.isnan(predicted) or abs(predicted - found) <= TOLERANCE * max(abs(predicted), abs(found), 1e-3)
