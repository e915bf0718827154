"""`treesim readers`: how other programs read a robot's file."""

from __future__ import annotations

from typing import Any

import typer

from treesim.cli.common import FAILED, JsonOption, RobotArgument, examples, guarded, output, print_json

from . import Examination, Place, Reading, Verification

MOST_PLACES = 3  # that a cell of the table names


@guarded
@examples(
    "treesim readers my_robot.urdf",
    "treesim readers go2 --json",
)
def readers(
    robot: RobotArgument,
    reader: list[str] | None = None,
    verify: bool = False,
    json: JsonOption = False,
) -> None:
    """List how other programs change or refuse ROBOT's file, and a fix for each case.

    The command predicts the changes by rules; the page "How other programs read a URDF" lists them. The exit code is
    1 if a program refuses the file, or if --verify finds a difference that no rule predicts.

    Options
    -------
    --reader
        Program to check: pybullet, mujoco, pinocchio, drake, gazebo, newton or isaac. May be repeated. Default: all.
    --verify
        Load the file in the installed programs, and compare the result with the predictions.
    """
    from . import examine

    found = examine(robot, reader or None, verify)
    if json:
        print_json([_row(each) for each in found])
    else:
        for each in found:
            _print(each)
    if any(each.refused or (each.verification and each.verification.differences) for each in found):
        raise typer.Exit(FAILED)


def _row(each: Examination) -> dict[str, Any]:
    from dataclasses import asdict

    return {
        "reader": each.reader.name,
        "refuses": each.refused,
        "readings": [_reading(each, reading) for reading in each.readings],
        "verification": None if each.verification is None else asdict(each.verification),
    }


def _reading(each: Examination, reading: Reading) -> dict[str, Any]:
    rule = reading.rule
    return {
        "code": rule.code, "action": rule.action, "when": rule.when, "does": rule.effect, "effect": reading.effect,
        "fix": rule.fix, "evidence": each.reader.evidence(rule),
        "places": [{"file": place.file, "line": place.line, "name": place.name} for place in reading.places],
    }  # fmt: skip


def _print(each: Examination) -> None:
    from rich.table import Table

    console = output()
    console.print(_heading(each), style="bold", soft_wrap=True)
    if not each.readings:
        console.print("  no rule applies")
        return
    table = Table("rule", "what it does", "where", "here", "fix")
    for reading in each.readings:
        rule = reading.rule
        does = f"{rule.action}: {rule.when}: {rule.effect}"
        table.add_row(rule.code, does, _where(reading.places), reading.effect, rule.fix)
    console.print(table)


def _heading(each: Examination) -> str:
    remark = " refuses this file" if each.refused else ""
    asked = "" if each.verification is None else f"; {_verification_text(each.verification)}"
    return f"{each.reader.title} ({each.reader.call}){remark}{asked}"


def _verification_text(verification: Verification) -> str:
    agrees = "otherwise than predicted" if verification.differences else "as predicted"
    if verification.error:
        return f"asked: it does not load it, {agrees}: {verification.error.splitlines()[0]}"
    return f"asked ({verification.version}): nv {verification.nv}, {verification.mass:.6g} kg, {agrees}"


def _where(places: tuple[Place, ...]) -> str:
    more = [f"and {len(places) - MOST_PLACES} more"] if len(places) > MOST_PLACES else []
    return "\n".join([*(f"line {place.line}: {place.name}" for place in places[:MOST_PLACES]), *more])
