"""`treesim bench`: microseconds of single calls from Python, beside Pinocchio's in the same run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from ..errors import TreesimError
from .common import (
    BaseOption,
    JsonOption,
    MimicOption,
    RobotArgument,
    guarded,
    load_robot,
    messages,
    output,
    print_json,
)

if TYPE_CHECKING:
    import numpy as np
    from rich.table import Table

    from ..model.tree import Tree
    from .peer import PinocchioPeer
    from .timing import Timing

Call = Callable[[], "np.ndarray"]


class Row(NamedTuple):
    """One line of the table: what we call, what the peer calls, and whether the result is over degrees of freedom."""

    name: str
    call: Call
    peer: str
    over_dofs: bool = True


@guarded
def bench(
    robot: RobotArgument,
    base: BaseOption = "fixed",
    mimic: MimicOption = None,
    repeats: Annotated[int, typer.Option(min=1, help="Rounds in which every call has its turn.")] = 50,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random state.")] = 0,
    cold: Annotated[bool, typer.Option("--cold", help="Also time a first call with an empty kernel cache.")] = False,
    batch: Annotated[int, typer.Option(min=0, help="Time batches of so many states instead of single calls.")] = 0,
    json: JsonOption = False,
) -> None:
    """Time single calls on ROBOT: every backend, inverse dynamics, mass matrix, Λ⁻¹ and the whole operational space of
    leaf bodies far apart; and a new process's first call. Or, with --batch, many states at once."""
    tree = load_robot(robot, base, mimic)
    notes: list[str] = []
    if batch:
        _bench_batches(tree, robot, base, batch, repeats, seed, json)
        return
    with messages().status("preparing kernels and timing ..."):
        rows = _measure(tree, robot, repeats, seed, notes)
        from .timing import first_result

        starts = {"warm cache": first_result(robot, base, mimic, cold=False)}
        if cold:
            starts["empty cache"] = first_result(robot, base, mimic, cold=True)
    if json:
        facts = {"robot": tree.name, "base": base, "nv": tree.nv, "repeats": repeats}
        print_json({**facts, "calls": rows, "new_process": starts, "notes": notes})
        return
    console = output()
    console.print(_call_table(f"{tree.name}, {base} base, {tree.nv} degrees of freedom", rows))
    console.print(_start_table(starts))
    for note in notes:
        console.print(f"note: {note}", soft_wrap=True)


def _bench_batches(tree: Tree, source: str, base: str, count: int, repeats: int, seed: int, json: bool) -> None:
    from ..engine.threads import thread_count
    from .bench_batches import batch_rows

    notes: list[str] = []
    with messages().status("preparing kernels and timing ..."):
        rows = batch_rows(tree, _peer(tree, source, notes), count, repeats, seed)
    facts = {"robot": tree.name, "base": base, "nv": tree.nv, "states": count, "threads": thread_count()}
    if json:
        print_json({**facts, "batches": rows, "notes": notes})
        return
    output().print(_batch_table(f"{tree.name}, {base} base, {count} states, {thread_count()} threads", rows))
    for note in notes:
        output().print(f"note: {note}", soft_wrap=True)


def _batch_table(title: str, rows: list[dict[str, Any]]) -> Table:
    from rich.table import Table

    table = Table(
        "call", "numbers", title=f"{title}: nanoseconds per state, of rollouts per step", title_justify="left"
    )
    for heading in ("min [ns]", "median [ns]", "error", "Pinocchio", "min [ns]", "ratio"):
        table.add_column(heading, justify="left" if heading == "Pinocchio" else "right")
    for row in rows:
        error = "" if row["error"] is None else f"{row['error']:.0e}"
        cells = [row["call"], row["numbers"], f"{row['min_ns']:.0f}", f"{row['median_ns']:.0f}", error]
        if "peer" in row:
            cells += [row["peer"]["call"], f"{row['peer']['min_ns']:.0f}", f"{row['ratio']:.1f}x"]
        table.add_row(*cells)
    return table


def _measure(tree: Tree, source: str, repeats: int, seed: int, notes: list[str]) -> list[dict[str, Any]]:
    import numpy as np

    from .timing import interleaved

    rng = np.random.default_rng(seed)
    q, (v, a) = tree.random(rng), rng.standard_normal((2, tree.nv))
    rows = _our_rows(tree, q, v, a, notes)
    theirs: dict[str, Call] = {}
    peer = _peer(tree, source, notes)
    if peer is not None:
        known = _their_calls(peer, tree, q, v, a)
        theirs = {row.peer: known[row.peer] for row in rows}
    timings = interleaved({**{row.name: row.call for row in rows}, **theirs}, repeats)
    return [_result(row, timings, theirs, peer) for row in rows]


def _torque(tree: Tree, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    """The torque that gives acceleration a: a state in which no joint flies apart."""
    import treesim

    return treesim.inverse_dynamics(tree, q, v, a)


def _our_rows(tree: Tree, q: np.ndarray, v: np.ndarray, a: np.ndarray, notes: list[str]) -> list[Row]:
    import treesim

    tau = _torque(tree, q, v, a)

    def forward(backend: str) -> Call:
        return lambda: treesim.forward_dynamics(tree, q, v, tau, backend=backend)

    rows = []
    for backend in treesim.available("dynamics"):
        try:
            forward(backend)()
        except TreesimError as error:
            notes.append(f"backend {backend!r} left out: {error}")
        else:
            rows.append(Row(f"forward_dynamics, {backend}", forward(backend), "pin.aba"))
    rows.append(Row("inverse_dynamics", lambda: treesim.inverse_dynamics(tree, q, v, a), "pin.rnea"))
    rows.append(Row("mass_matrix", lambda: treesim.mass_matrix(tree, q), "pin.crba"))
    rows.append(Row("solve_mass_matrix", lambda: treesim.solve_mass_matrix(tree, q, tau), "pin.crba, cholesky"))
    return rows + _operational_rows(tree, q, v)


def _operational_rows(tree: Tree, q: np.ndarray, v: np.ndarray) -> list[Row]:
    from .operational_rows import our_calls

    rows = []
    for name, call in our_calls(tree, q, v).items():
        m, whole = name.split()[1], name.startswith("operational_space")
        peer = f"pin.computeMinverse, numpy, {m}" if whole else f"pin.computeDelassusMatrix, {m}"
        rows.append(Row(name, call, peer, over_dofs=whole))
    return rows


def _peer(tree: Tree, source: str, notes: list[str]) -> PinocchioPeer | None:
    from .peer import PinocchioPeer, urdf_text

    try:
        return PinocchioPeer(tree, urdf_text(source))
    except TreesimError as error:
        notes.append(str(error))
        return None


def _their_calls(peer: PinocchioPeer, tree: Tree, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> dict[str, Call]:
    from .operational_rows import their_calls

    pin, model, data = peer.pin, peer.model, peer.data
    tau = peer.velocity(_torque(tree, q, v, a))
    q, v, a = peer.configuration(q), peer.velocity(v), peer.velocity(a)

    def solve() -> np.ndarray:
        pin.crba(model, data, q)
        pin.cholesky.decompose(model, data)
        return pin.cholesky.solve(model, data, tau)

    return {
        **their_calls(peer, tree, q, v),
        "pin.crba, cholesky": solve,
        "pin.aba": lambda: pin.aba(model, data, q, v, tau),
        "pin.rnea": lambda: pin.rnea(model, data, q, v, a),
        "pin.crba": lambda: pin.crba(model, data, q),
    }


def _result(
    row: Row, timings: dict[str, Timing], theirs: dict[str, Call], peer: PinocchioPeer | None
) -> dict[str, Any]:
    ours = timings[row.name]
    result: dict[str, Any] = {"call": row.name, "treesim": asdict(ours), "peer": None}
    if peer is not None:
        timing = timings[row.peer]
        result["peer"] = {"call": row.peer, **asdict(timing)}
        result["ratio_min"] = timing.min_us / ours.min_us
        result["ratio_median"] = timing.median_us / ours.median_us
        result["difference"] = peer.difference(row.call(), theirs[row.peer](), row.over_dofs)
    return result


def _call_table(title: str, rows: list[dict[str, Any]]) -> Table:
    from rich.table import Table

    table = Table("call", title=title, title_justify="left")
    for heading in ("min [us]", "median [us]", "Pinocchio", "min [us]", "median [us]", "ratio", "difference"):
        table.add_column(heading, justify="left" if heading == "Pinocchio" else "right")
    for row in rows:
        cells = [row["call"], f"{row['treesim']['min_us']:.2f}", f"{row['treesim']['median_us']:.2f}"]
        if row["peer"] is not None:
            peer = row["peer"]
            cells += [peer["call"], f"{peer['min_us']:.2f}", f"{peer['median_us']:.2f}"]
            cells += [f"{row['ratio_min']:.2f}x", f"{row['difference']:.1e}"]
        table.add_row(*cells)
    return table


def _start_table(starts: dict[str, dict[str, float]]) -> Table:
    from rich.table import Table

    table = Table("new process", title="from a new process to its first forward dynamics", title_justify="left")
    columns = {
        "import [s]": "import_s",
        "load [s]": "load_s",
        "load again [s]": "load_again_s",
        "first call [s]": "first_call_s",
        "in all [s]": "total_s",
    }
    for heading in columns:
        table.add_column(heading, justify="right")
    for label, seconds in starts.items():
        table.add_row(label, *(f"{seconds[key]:.3f}" for key in columns.values()))
    return table
