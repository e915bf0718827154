"""The example plugin, as if it were installed: each of its kinds keeps the promises of its protocol."""

from __future__ import annotations

import importlib
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

import treesim
from tests.optional import need
from treesim import plugins, testing
from treesim.cli.main import app

FOLDER = Path(__file__).parent.parent / "examples" / "plugin"
PROJECT = tomllib.loads((FOLDER / "pyproject.toml").read_text())["project"]
POINTS = {group.removeprefix("treesim."): names for group, names in PROJECT["entry-points"].items()}


def forget() -> None:
    plugins._entry_points.cache_clear()
    plugins._found.cache_clear()
    importlib.invalidate_caches()


@pytest.fixture(scope="module", autouse=True)
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The distribution's metadata and sources on the path, as an editable installation puts them there."""
    folder = tmp_path_factory.mktemp("site")
    info = folder / f"{PROJECT['name'].replace('-', '_')}-{PROJECT['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {PROJECT['name']}\nVersion: {PROJECT['version']}\n")
    groups = [
        f"[treesim.{kind}]\n" + "".join(f"{k} = {v}\n" for k, v in names.items()) for kind, names in POINTS.items()
    ]
    (info / "entry_points.txt").write_text("\n".join(groups))
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(FOLDER / "src")
        patch.syspath_prepend(folder)
        forget()
        yield
    forget()
    for name in [name for name in sys.modules if name.partition(".")[0] == "treesim_example"]:
        del sys.modules[name]


def imported() -> list[str]:
    return [name for name in sys.modules if name.partition(".")[0] == "treesim_example"]


def test_a_plugin_is_imported_when_it_is_named_and_not_before():
    for name in imported():
        del sys.modules[name]
    forget()
    listed = {kind: treesim.available(kind) for kind in plugins.BUILT_IN}
    assert all(set(names) <= set(listed[kind]) for kind, names in POINTS.items()) and not imported()
    treesim.mass_matrix(treesim.load("ur5"), [0.5] * 6)
    assert not imported()
    plugins.get("dynamics", next(iter(POINTS["dynamics"])))
    assert imported()


def test_all_kinds_but_those_of_few_are_shown():
    assert set(plugins.BUILT_IN) - set(POINTS) == {"operational", "constrained", "importers", "plots", "policies"}


def test_they_are_listed_with_their_origin():
    rows = [plugin for plugin in plugins.listing() if plugin.origin == "treesim-example 0.1.0"]
    assert {(row.kind, row.name) for row in rows} == {(kind, name) for kind, names in POINTS.items() for name in names}
    assert all(row.problem is None for row in rows)


def test_the_backend_keeps_its_promises():
    assert testing.check_dynamics("dense").failures == ()


def test_the_integrator_keeps_its_promises():
    assert testing.check_integrator("heun").failures == ()


def test_the_contact_solver_keeps_its_promises():
    assert testing.check_contact_solver("sweeps").failures == ()


def test_the_format_keeps_its_promises(tmp_path):
    assert testing.check_format("json").failures == ()
    run = treesim.Simulation(treesim.load("ur5")).run(0.003)
    assert (treesim.Trajectory.load(run.save(tmp_path / "run.json")).q == run.q).all()


def test_the_viewer_keeps_its_promises():
    assert testing.check_viewer("text").failures == ()


def test_the_engine_keeps_its_promises():
    assert testing.check_engine("dense").failures == ()


def test_the_command_runs():
    need("example-robot-data")
    result = CliRunner().invoke(app, ["mass", "ur5"])
    assert result.exit_code == 0 and result.stdout == f"{treesim.load('ur5').mass:.6g} kg\n"
    unknown = CliRunner().invoke(app, ["mass", "no such robot"])
    assert unknown.exit_code == 2 and "no such robot" in unknown.stderr
