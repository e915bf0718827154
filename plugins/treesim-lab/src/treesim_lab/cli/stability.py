"""`treesim bench energy`: energy drift of integrators in passive motion, and duration until failure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

from treesim.cli.common import (
    JsonOption,
    SeedOption,
    SubstepsOption,
    checked_seconds,
    examples,
    guarded,
    output,
    print_json,
)
from treesim.errors import ArgumentError, listed, named
from treesim.system.progress import progress_bar

from .census import AnyRobots
from .tables import new_table

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from treesim.types import Base

    from ..bench.stability import Stability


class Defaults(NamedTuple):
    """Default duration [s], time steps and integrators."""

    duration: float
    dt: str
    integrators: str


IN_FREE_MOTION = Defaults(60.0, "1e-3,2e-3,5e-3", "implicit_midpoint")
ON_GROUND = Defaults(1.0, "1e-3", "implicit_midpoint,semi_implicit_euler")
WRONG = 0.01  # of the energy range; larger drifts are printed in red


@guarded
@examples(
    "treesim bench energy ur5 --duration 10",
    "treesim bench energy go2 --against mujoco",
    "treesim bench energy --ground",
)
def stability(
    robots: AnyRobots = None,
    ground: bool = False,
    duration: float | None = None,
    dt: str | None = None,
    integrator: str | None = None,
    substeps: SubstepsOption = None,
    base: str = "both",
    against: str | None = None,
    seed: SeedOption = 0,
    json: JsonOption = False,
) -> None:
    """Measure the energy drift of integrators on robots in free motion, from rest and from three random states.

    The table contains the time of a step. It also contains the largest gain and loss of energy, relative to the energy
    that could become joint motion. The column "finite" shows whether states stay finite. With --ground, robots with a
    floating base make three motions on a plane. The robots stand with stiff joints, are pushed by half their weight for
    0.1 s, or fall without control. Robots with a fixed base fall from a random configuration onto a plane within reach.

    Options
    -------
    --ground
        Measure the accuracy of contact on a plane, instead of free motion.
    --duration
        Duration of each motion (s). Default: 60, or 1 with --ground.
    --dt
        Time steps (s), separated by commas. Default: 1e-3,2e-3,5e-3, or 1e-3 with --ground.
    --integrator
        Integrators, separated by commas (`treesim plugins` lists all integrators). By default implicit_midpoint. With
        --ground, the default also includes semi_implicit_euler.
    --base
        fixed, floating, or both.
    --against
        Engine whose integrators are also tested: mujoco. The robots then have no damping, friction and armature.
    """
    from treesim import plugins
    from treesim.compare.engines import find_engine

    from ..bench.stability import of_robots

    defaults = ON_GROUND if ground else IN_FREE_MOTION
    duration = checked_seconds("--duration", defaults.duration if duration is None else duration)
    dts = [checked_seconds("--dt", _number(text)) for text in (dt or defaults.dt).split(",")]
    names = (integrator or defaults.integrators).split(",")
    for name in names:
        plugins.get("integrators", name)
    if base not in ("fixed", "floating", "both"):
        raise ArgumentError(f"--base must be fixed, floating or both, not {base!r}")
    bases: tuple[Base, ...] = ("fixed", "floating") if base == "both" else (cast("Base", base),)
    if ground:
        _on_ground(robots, bases[::-1], duration, dts, names, substeps, seed, against, json)
        return
    engine = None if against is None else find_engine(against)
    with progress_bar("simulating"):
        rows, notes = of_robots(
            robots or _installed(), bases, engine,
            integrators=names, dts=dts, duration=duration, seed=seed, substeps=substeps,
        )  # fmt: skip
    if json:
        print_json({"duration": duration, "stability": [row._asdict() for row in rows], "notes": notes})
        return
    output().print(_table(rows, duration))
    output().print(_summary(rows), soft_wrap=True)
    for note in notes:
        output().print(f"- {note}", soft_wrap=True)


def _on_ground(
    robots: list[str] | None,
    bases: tuple[Base, ...],
    duration: float,
    dts: list[float],
    integrators: list[str],
    substeps: int | None,
    seed: int,
    against: str | None,
    json: bool,
) -> None:
    from treesim.kernels.stepping.rules import CONTACT_RULES
    from treesim.simulation.durations import step_count

    from ..bench.contact_runs import ContactSettings
    from .stability_ground import show_on_ground

    if against is not None:
        raise ArgumentError("--against does not go with --ground: leave one of them out")
    for name in integrators:
        if name not in CONTACT_RULES:
            known = listed(list(CONTACT_RULES))
            raise ArgumentError(f"integrator {name!r} does not simulate contact: with --ground take {known}")
    for dt in dts:
        step_count(duration, dt, ("--duration", "--dt"))
    if not robots:
        _installed()  # raises where there is none
    settings = ContactSettings(tuple(integrators), tuple(dts), duration, substeps, seed)
    show_on_ground(robots, bases, settings, json)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ArgumentError(f"--dt must be numbers separated by commas, not {text!r}") from None


def _installed() -> list[str]:
    from treesim.urdf import installed_robots

    found = [entry.name for entry in installed_robots()]
    if not found:
        raise ArgumentError("no robot is installed; `python -m pip install example-robot-data` brings some")
    return found


def _table(rows: Sequence[Stability], duration: float) -> Table:
    from rich.text import Text

    table = new_table(f"passive motion of {duration:g} s: energy errors over the energy range")
    for heading in ("robot", "base", "by", "integrator"):
        table.add_column(heading, no_wrap=True)
    for heading in ("dt [ms]", "parts", "gained [%]", "lost [%]", "range [J]", "finite", "us a step", "x real time"):
        table.add_column(heading, justify="right")
    for row in rows:
        table.add_row(
            named(row.robot), row.base, row.engine, row.integrator, f"{1e3 * row.dt:g}", str(row.substeps),
            _share(row.gained), _share(row.lost),
            "" if row.energy_range is None else f"{row.energy_range:.3g}",
            "to the end" if row.finite_until is None else Text(f"< {row.finite_until:.3g} s", "red"),
            f"{1e6 * row.step_s:.1f}", f"{row.dt / row.step_s:.0f}",
        )  # fmt: skip
    return table


def _share(part: float | None) -> Text:
    from rich.text import Text

    return Text() if part is None else Text(f"{100 * part:.2g}", "red" if part > WRONG else "")


def _summary(rows: Sequence[Stability]) -> str:
    """Return for each integrator the number of robots with an energy drift within WRONG to the end."""
    lines = []
    for key in dict.fromkeys((row.engine, row.integrator, row.dt) for row in rows):
        own = [row for row in rows if (row.engine, row.integrator, row.dt) == key]
        whole = [row for row in own if row.finite_until is None]
        good = [row for row in whole if max(row.gained or 0.0, row.lost or 0.0) <= WRONG]
        lines.append(
            f"{key[0]}, {key[1]}, dt {1e3 * key[2]:g} ms: {len(good)} of {len(own)} within {100 * WRONG:g} % of the "
            f"energy range, {len(whole)} finite to the end"
        )
    return "\n".join(lines)
