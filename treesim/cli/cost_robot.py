"""`treesim cost ROBOT`: formula, counted operations and time of every algorithm on one robot, and the advice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import TreesimError
from .common import messages, output, print_json
from .sparsity import picture

if TYPE_CHECKING:
    from rich.table import Table

    from ..bench.timing import Timing
    from ..cost.robot import Entry
    from ..dynamics.advice import Advice
    from ..model.tree import Tree

TITLES = {"part": "parts", "dynamics": "forward dynamics", "operational": "inverse operational inertia"}


def show_robot(
    robot: Tree, base: str, frames: Sequence[str] | None, repeats: int, plot: Path | None, json: bool
) -> None:
    """Print the costs on `robot`, as text or as JSON; draw the sparsity to `plot`."""
    facts = robot_costs(robot, base, frames, repeats)
    if plot is not None:
        from ..plotting.cost import save_sparsity

        save_sparsity(plot, robot)
    if json:
        print_json(facts)
        return
    console = output()
    console.print(
        f"{robot.name}, {base} base: {facts['n_bodies']} bodies, nv {facts['nv']}, D1 {facts['D1']}, ", end=""
    )
    console.print(f"D2 {facts['D2']}; mass matrix, where it can differ from zero:")
    console.print(picture(robot.topology.sparsity()), soft_wrap=True)
    kinds = ("parts", "dynamics", "operational")
    for kind in kinds:
        if facts[kind]:
            console.print(_table(facts[kind], facts["frames"]))
    traced = [row for kind in kinds for row in facts[kind] if row["specialized"] is not None]
    if traced:
        console.print(_specialized_table(traced))
    for purpose, advised in facts["advice"].items():
        console.print(f"advised for {purpose}: {advised['name']}: {advised['reason']}", soft_wrap=True)
    for note in facts["notes"]:
        console.print(f"note: {note}", soft_wrap=True)
    if plot is not None:
        console.print(f"wrote {plot}", soft_wrap=True)


def robot_costs(robot: Tree, base: str, frames: Sequence[str] | None, repeats: int) -> dict[str, Any]:
    """Return what `treesim cost ROBOT --json` prints."""
    from ..cost import robot as costs
    from ..dynamics import advice as dynamics_advice
    from ..operational import advice as operational_advice

    tree = robot.topology
    chosen = [robot.body_names[i - 1] for i in costs.limb_tips(tree)] if frames is None else list(frames)
    with messages().status("counting and timing ..."):
        parts, dynamics = costs.parts(robot), costs.dynamics(robot)
        operational = costs.operational(robot, chosen)
        timings, failures = _timings(robot, (*parts, *dynamics, *operational), chosen, repeats)
    advised = {
        "forward dynamics": dynamics_advice.advise(robot),
        "forward dynamics with the mass matrix": dynamics_advice.advise(robot, "mass_matrix"),
        "inverse operational inertia": operational_advice.advise(robot, chosen),
    }
    dynamics_name, _, operational_name = (advice.name for advice in advised.values())
    return {
        "robot": robot.name,
        "base": base,
        "n_bodies": tree.n_bodies,
        "nv": tree.n_dofs,
        "D1": tree.D1,
        "D2": tree.D2,
        "nonzeros": int(tree.sparsity().sum()),
        "frames": chosen,
        "parts": [_row(entry, timings, "") for entry in parts],
        "dynamics": [_row(entry, timings, dynamics_name) for entry in dynamics],
        "operational": [_row(entry, timings, operational_name) for entry in operational],
        "advice": {purpose: _advice(advice) for purpose, advice in advised.items()},
        "notes": [*failures, *costs.differences([*parts, *dynamics]), *costs.assumptions(tree)],
    }


def _advice(advice: Advice) -> dict[str, str]:
    return {"name": advice.name, "reason": advice.reason}


def _row(entry: Entry, timings: dict[tuple[str, str], Timing], advised: str) -> dict[str, Any]:
    timing = timings.get((entry.kind, entry.name))
    seconds: dict[str, float | None] = {"seconds": None, "seconds_median": None}
    if timing is not None:
        seconds = {"seconds": 1e-6 * timing.min_us, "seconds_median": 1e-6 * timing.median_us}
    return {**entry.as_dict(), **seconds, "advised": entry.name == advised}


def _timings(
    robot: Tree, entries: Sequence[Entry], frames: Sequence[str], repeats: int
) -> tuple[dict[tuple[str, str], Timing], list[str]]:
    """Times by kind and name, and what could not be called."""
    from ..bench.timing import interleaved

    if repeats == 0:
        return {}, []
    calls, failures = {}, []
    for key, call in _calls(robot, entries, frames).items():
        try:
            call()
        except TreesimError as error:
            failures.append(f"{key[1]!r} is not timed: {error}")
        else:
            calls[" ".join(key)] = (key, call)
    timed = interleaved({label: call for label, (_, call) in calls.items()}, repeats)
    return {key: timed[label] for label, (key, _) in calls.items()}, failures


def _calls(robot: Tree, entries: Sequence[Entry], frames: Sequence[str]) -> dict[tuple[str, str], Callable[[], object]]:
    import numpy as np

    import treesim

    from ..cost.factorization import sparse_factors

    if robot.nv == 0:
        return {}
    rng = np.random.default_rng(0)
    q, (v, a) = robot.random(rng), rng.normal(size=(2, robot.nv))
    tau = treesim.inverse_dynamics(robot, q, v, a)
    calls: dict[tuple[str, str], Callable[[], object]] = {
        ("part", "mass_matrix"): lambda: treesim.mass_matrix(robot, q),
        ("part", "bias_forces"): lambda: treesim.bias_forces(robot, q, v),
    }
    for name in ("ltdl", "ltl"):
        factors = sparse_factors(robot, q, name)
        calls["part", name] = factors.factorize
        calls["part", f"{name} solve"] = factors.solve
    for entry in entries:
        if entry.kind == "dynamics":
            call = partial(treesim.forward_dynamics, robot, q, v, tau, backend=entry.name)
            calls[entry.kind, entry.name] = call
        elif entry.kind == "operational":
            call = partial(treesim.inverse_operational_inertia, robot, q, frames, method=entry.name)
            calls[entry.kind, entry.name] = call
    return calls


def _table(rows: Sequence[dict[str, Any]], frames: Sequence[str]) -> Table:
    from rich.table import Table

    kind = rows[0]["kind"]
    title = TITLES[kind] + (f" of {', '.join(frames)}" if kind == "operational" else "")
    table = Table("", title=f"{title}: formula, then our kernels' own count", title_justify="left")
    headings = ("mul", "add", "div", "mul", "add", "div", "sqrt", "trig", "depth", "min [us]", "median [us]")
    for heading in headings:
        table.add_column(heading, justify="right")
    table.add_column("formula's source, notes")
    for row in rows:
        name = f"{row['name']} (advised)" if row["advised"] else row["name"]
        table.add_row(name, *_operations(row), *_times(row), "; ".join(filter(None, (row["source"], row["note"]))))
    return table


def _specialized_table(rows: Sequence[dict[str, Any]]) -> Table:
    """What has straight-line code: its operations, and how large a part of the kernel's own these are."""
    from rich.table import Table

    title = "code specialized for this robot: operations on every state, and the share of the above counts"
    table = Table("", title=title, title_justify="left")
    for heading in ("mul", "add", "div", "sqrt", "trig", "depth", "operations", "share"):
        table.add_column(heading, justify="right")
    for row in rows:
        own, folded = (sum(row[key].values()) - row[key]["depth"] for key in ("counted", "specialized"))
        share = f"{folded / own:.0%}" if own else "-"
        name = f"{row['name']}, Λ⁻¹" if row["kind"] == "operational" else row["name"]
        table.add_row(name, *map(str, row["specialized"].values()), str(folded), share)
    return table


def _operations(row: dict[str, Any]) -> list[str]:
    formula, counted = row["formula"], row["counted"]
    cells = ["-"] * 3 if formula is None else [str(formula[key]) for key in ("mul", "add", "div")]
    return cells + (["-"] * 6 if counted is None else [str(count) for count in counted.values()])


def _times(row: dict[str, Any]) -> list[str]:
    seconds = (row["seconds"], row["seconds_median"])
    return ["-" if value is None else f"{1e6 * value:.2f}" for value in seconds]
