"""HTML page of a comparison: one file that loads nothing else, light or dark as the reader's system."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lxml import etree, html
from lxml.html.builder import CLASS, E

from ...system.files import write_whole
from . import plots

if TYPE_CHECKING:
    from ...compare import Comparison, Report
    from ...compare.report import Row

STYLE = """
:root { color-scheme: light dark; --ground: #ffffff; --text: #1c2330; --faint: #667085; --line: #d9dee7;
  --card: #f6f8fb; --good: #18794e; --bad: #c62a2f; }
@media (prefers-color-scheme: dark) { :root { --ground: #12161d; --text: #e4e9f1; --faint: #98a2b3; --line: #2c3442;
  --card: #1a2029; --good: #4cc38a; --bad: #ff7b72; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 76rem; background: var(--ground); color: var(--text);
  font: 15px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; margin: 0.5rem 0; } h2 { font-size: 1.2rem; margin: 2rem 0 0.5rem; } h3 { font-size: 1rem; }
section { border-top: 1px solid var(--line); }
.summary { padding: 0.7rem 1rem; border-radius: 0.5rem; background: var(--card); border-left: 4px solid var(--good); }
.summary.bad { border-color: var(--bad); }
.good { color: var(--good); } .bad { color: var(--bad); } .faint { color: var(--faint); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.87rem; width: 100%; }
th, td { text-align: left; padding: 0.25rem 0.7rem 0.25rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top; overflow-wrap: normal; }
th { color: var(--faint); font-weight: 600; white-space: nowrap; }
td.number { font-variant-numeric: tabular-nums; white-space: nowrap; }
td.remark { min-width: 14rem; }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); gap: 1rem; }
.overview { max-width: 44rem; }
figure { margin: 0; padding: 0.5rem; background: var(--card); border-radius: 0.5rem; }
figcaption { font-size: 0.87rem; color: var(--faint); padding: 0.3rem 0.5rem; }
svg { width: 100%; height: auto; display: block; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.1rem 1rem; font-size: 0.9rem; }
dt { color: var(--faint); } dd { margin: 0; }
@media (max-width: 34rem) { dl { grid-template-columns: 1fr; } dd { margin-bottom: 0.4rem; } }
"""
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def write_page(found: Comparison, path: Path) -> Path:
    """Write the page of a comparison to a file atomically, and return its path.

    Raises ArgumentError without matplotlib, and if the file cannot be written.
    """
    text = page(found).encode()
    return write_whole(Path(path), lambda stream: stream.write(text))


def page(found: Comparison) -> str:
    """Return the page of a comparison as HTML; names in it are escaped. Raises ArgumentError without matplotlib."""
    title = f"{found.robot} compared with {', '.join(found.engines) or 'no engine'}"
    head = E.head(
        E.meta(charset="utf-8"),
        E.meta(name="viewport", content="width=device-width, initial-scale=1"),
        E.meta({"http-equiv": "Content-Security-Policy", "content": POLICY}),
        E.title(title),
        E.style(STYLE),
    )
    body = E.body(E.h1(title), *_header(found), *(_report(report) for report in found.reports))
    return html.tostring(E.html(head, body, lang="en"), encoding="unicode", doctype="<!DOCTYPE html>")


def _header(found: Comparison) -> Iterator[Any]:
    first = found.reports[0] if found.reports else None
    facts = {
        "outcome": "passed" if found.passed else "not passed",
        "base": found.base,
        **({"gravity": f"{list(first.gravity)} m/s²", "sha256 of the file": first.sha256 or "none"} if first else {}),
        "versions": ", ".join(f"{name} {number}" for name, number in found.versions.items()),
        "random states": f"{found.states}, seed {found.seed}",
        "trajectory": f"{found.steps} steps of {1e3 * found.dt:g} ms",
    }
    yield _repr_fields(facts)
    for engine, why in found.refused.items():
        yield E.p(E.b(engine), f" was not compared: {why}")
    if any(report.rows for report in found.reports):
        caption = "Largest errors as parts of their tolerances: what is left of the dashed line passes."
        yield E.div(_figure(plots.overview(found), caption), CLASS("overview"))


def _report(report: Report) -> Any:
    return E.section(
        E.h2(f"Compared with {report.engine} {report.versions.get(report.engine, '')}"),
        E.p(report.summary, CLASS("summary" if report.passed else "summary bad")),
        *_listed("How it failed", {f"{level} level": why for level, why in report.failures.items()}),
        *_points("What would explain it", report.explanations),
        *_quantities(report.rows),
        *_motion(report),
        *_controls(report),
        *_listed("Changed for the comparison", {level: "; ".join(all_) for level, all_ in report.changes.items()}),
        *_listed("Not compared", {what.replace("_", " "): why for what, why in report.skipped.items()}),
    )


def _quantities(rows: Sequence[Row]) -> Iterator[Any]:
    if rows:
        headings = ("quantity", "level", "states", "largest error", "median", "tolerance", "", "worst at, note")
        yield E.h3("Model, statics, trajectory and scenes")
        yield _table(headings, [(_cells(row), row.accepted) for row in rows])


def _cells(row: Row) -> list[str]:
    remark = ", ".join(part for part in (row.where, row.note) if part)
    numbers = [str(row.states), f"{row.largest:.1e}", f"{row.median:.1e}", f"{row.tolerance:.0e}"]
    return [row.quantity.replace("_", " "), row.level, *numbers, row.outcome, remark]


def _motion(report: Report) -> Iterator[Any]:
    drawn = []
    if report.trajectory is not None:
        drawn.append(_figure(plots.trajectory(report), "The same integrator in both engines, and a run of treesim with "
                             "its initial velocity changed by 1e-15."))  # fmt: skip
    if (found := report.convergence) is not None:
        caption = (
            f"{'ok' if found.passed else 'FAIL'}: the end after {1e3 * found.horizon:g} ms against an accurate "
            f"integrator; orders {found.order} ± {found.tolerance:g} and, extrapolated, {found.order + 1} ± "
            f"{found.extrapolated_tolerance:g} are expected."
        )
        drawn.append(_figure(plots.convergence(report), caption))
    for what in ("energy", "linear_momentum", "angular_momentum"):
        runs = [run for run in report.conservation if getattr(run, what)]
        if runs:
            part = "the energy range" if what == "energy" else "the largest"
            caption = f"Error of {what.replace('_', ' ')}, relative to {part}: reported only, since integrators differ."
            drawn.append(_figure(plots.conservation(runs, what, report.engine), caption))
    if drawn:
        yield E.h3("Free motion")
        yield E.div(CLASS("plots"), *drawn)


def _controls(report: Report) -> Iterator[Any]:
    if report.controls:
        yield E.h3("Negative controls")
        yield E.p("Each is made wrong on purpose, and must be noticed.", CLASS("faint"))
        cells = [
            ([control.name, "noticed" if control.noticed else "missed" if control.applies else "-", control.found],
             control.passed)
            for control in report.controls
        ]  # fmt: skip
        yield _table(("made wrong", "", "found"), cells)


def _table(headings: Iterable[str], rows: Iterable[tuple[list[str], bool]]) -> Any:
    head = E.tr(*(E.th(heading) for heading in headings))
    return E.div(CLASS("wide"), E.table(E.thead(head), E.tbody(*(_line(*row) for row in rows))))


def _line(cells: list[str], passed: bool) -> Any:
    classes = [*["number"] * (len(cells) - 1), "remark"]
    line = E.tr(*(E.td(cell, CLASS(name)) for cell, name in zip(cells, classes, strict=True)))
    if not passed:
        line.set("class", "bad")
    return line


def _listed(title: str, entries: Mapping[str, str]) -> Iterator[Any]:
    if entries:
        yield E.h3(title)
        yield _repr_fields(entries)


def _points(title: str, entries: Sequence[str]) -> Iterator[Any]:
    if entries:
        yield E.h3(title)
        yield E.ul(*(E.li(entry) for entry in entries))


def _repr_fields(entries: Mapping[str, str]) -> Any:
    pairs = ((E.dt(name), E.dd(text)) for name, text in entries.items())
    return E.dl(*(part for pair in pairs for part in pair))


def _figure(svg: str, caption: str) -> Any:
    return E.figure(etree.fromstring(svg), E.figcaption(caption))
